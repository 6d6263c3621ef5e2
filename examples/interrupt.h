/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ctrl-C pressed once ends files properly. Pressed twice, it ends the demo at once.
 */
#pragma once

#include <signal.h>

extern volatile sig_atomic_t interrupted; /* how often it was pressed */

void count_interrupts (void);
