// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.hpp"

int main (int argc, char **argv)
{
  gst_check_init (&argc, &argv);
  return testing::run_all ();
}
