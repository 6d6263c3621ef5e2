/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interrupt.h"

volatile sig_atomic_t interrupted;

static void on_interrupt (int signum)
{
  (void) signum;
  interrupted++;
}

void count_interrupts (void)
{
  signal (SIGINT, on_interrupt);
}
