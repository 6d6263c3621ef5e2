/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ctrl-C, once: what is written ends properly. Twice: the demo gives up.
 */
#pragma once

#include <signal.h>

extern volatile sig_atomic_t interrupted; /* how often it was pressed */

void count_interrupts (void);
