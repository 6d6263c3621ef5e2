// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.hpp"

#include <cstdio>
#include <vector>

namespace testing {
namespace {

std::vector<Test> &tests ()
{
  static std::vector<Test> all;
  return all;
}

}  // namespace

Registration::Registration (const Test &test)
{
  tests ().push_back (test);
}

Settings &settings ()
{
  static Settings of_program;
  return of_program;
}

int run_all ()
{
  const char *const program = g_get_prgname ();
  setvbuf (stdout, nullptr, _IOLBF, 0);  // a test that fails ends its process without a flush
  printf ("INTHIST_SEED=%u\n", seed ());
  Suite *const suite = suite_create (program);
  TCase *const all = tcase_create ("general");
  suite_add_tcase (suite, all);
  tcase_set_timeout (all, settings ().timeout);
  tcase_add_checked_fixture (all, settings ().before, settings ().after);
  for (const Test &test : tests ())
    _tcase_add_test (all, test.function, test.name, 0, 0, test.first, test.end);
  return gst_check_run_suite (suite, program, program);
}

}  // namespace testing
