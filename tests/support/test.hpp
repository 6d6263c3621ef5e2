// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tests of gst-check that register themselves. The support library has main (), which runs those of
// its program:
//
//   TEST (name) { ... }
//   TEST_EACH (name, n) { ... }              for each __i__ from 0 up to n
//   TEST_RANGE (name, first, end) { ... }    from first up to end
//   TEST_TIMEOUT (seconds);                  of each test of the program, instead of 120
//   TEST_FIXTURE (before, after);            functions to call around each test, or nullptr
//
// GST_CHECKS=name,... and GST_CHECKS_IGNORE pick tests; CK_FORK=no keeps them in one process.
#pragma once

#include <gst/check/gstcheck.h>  // last: it has macros with names of the standard library

// gst-check writes to a file at each assertion that holds, to say after a crash which was the last.
// That takes most of the time of tests that compare numbers one by one.
#define _mark_point(file, line) void ()

/// Returns INTHIST_SEED, of whatever is random in a test; a fixed one by default.
inline unsigned seed ()
{
  const char *const text = g_getenv ("INTHIST_SEED");
  return text ? unsigned (g_ascii_strtoull (text, nullptr, 0)) : 20250;
}

namespace testing {

struct Test {
  const char *name;
  TFun function;
  int first, end;
};

struct Registration {
  explicit Registration (const Test &test);
};

struct Settings {
  double timeout = 120;
  SFun before = nullptr, after = nullptr;
};
Settings &settings ();

/// Runs the registered tests, after gst_check_init (). Returns what main () returns.
int run_all ();

}  // namespace testing

#define TEST_RANGE(name, first, end) \
  static void name##_body (int __i__); \
  static void name (int __i__) \
  { \
    GST_DEBUG ("test start"); \
    tcase_fn_start (#name, __FILE__, __LINE__); \
    name##_body (__i__); \
    gst_task_cleanup_all (); \
  } \
  static const testing::Registration name##_registration ({ #name, name, first, int (end) }); \
  static void name##_body ([[maybe_unused]] int __i__)
#define TEST_EACH(name, n) TEST_RANGE (name, 0, n)
#define TEST(name) TEST_RANGE (name, 0, 1)

#define TEST_TIMEOUT(seconds) \
  static const auto test_timeout = testing::settings ().timeout = seconds
#define TEST_FIXTURE(first, last) \
  static const auto test_fixture = \
      (testing::settings ().before = first, testing::settings ().after = last)
