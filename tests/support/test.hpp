// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tests of gst-check that register themselves. A program has the tests of many files; main () runs
// those of the files that its arguments name, "computed" for computed.cpp, or of all:
//
//   TEST (name) { ... }
//   TEST_EACH (name, n) { ... }              for each __i__ from 0 up to n
//   TEST_RANGE (name, first, end) { ... }    from first up to end
//   TEST_TIMEOUT (seconds);                  of each test of the file, instead of 120
//   TEST_FIXTURE (before, after);            functions to call around each test, or nullptr
//   TEST_ENVIRONMENT (Type);                 an object made before GStreamer starts, destroyed when
//                                            all tests have ended
//
// GST_CHECKS=name,... and GST_CHECKS_IGNORE pick tests; CK_FORK=no keeps them in one process.
// Names that only one file uses are static or in an unnamed namespace, as other files have such
// names.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <gst/check/gstcheck.h>  // last: it has macros with names of the standard library

// gst-check writes to a file at each assertion that holds, to say after a crash which was the last.
// In tests that compare numbers one by one this takes most of the time.
#define _mark_point(file, line) void ()

/// Returns INTHIST_SEED, for all random numbers of a test; a fixed number by default.
inline unsigned seed ()
{
  const char *const text = g_getenv ("INTHIST_SEED");
  return text ? unsigned (g_ascii_strtoull (text, nullptr, 0)) : 20250;
}

/// Fails unless a text, which may be an error's, has all these parts.
inline void expect_parts (const std::string &text, std::initializer_list<std::string> parts,
                          const std::string &what = "")
{
  for (const std::string &part : parts)
    fail_unless (text.find (part) != text.npos, "%s: no \"%s\" in: %s", what.c_str (),
                 part.c_str (), text.c_str ());
}

/// Fails if there is a text, such as a complaint or an error.
inline void expect_none (const std::string &text, const std::string &what = "")
{
  fail_unless (text.empty (), "%s: %s", what.c_str (), text.c_str ());
}

/// Returns whether the first element of a launch line is installed. If not, prints a line "SKIP".
inline bool there_is (const std::string &launch_line, const char *test)
{
  const std::string name = launch_line.substr (0, launch_line.find (' '));
  g_autoptr (GstElementFactory) factory = gst_element_factory_find (name.c_str ());
  fail_unless (factory || name == "integralhistoverlay"
                   || !(name.starts_with ("cuda") || name.starts_with ("integralhist")),
               "there is no %s", name.c_str ());
  if (!factory)
    printf ("SKIP: %s: there is no %s\n", test, name.c_str ());
  return factory != nullptr;
}

namespace testing {

struct Test {
  const char *name;
  TFun function;
  int first;
  int (*end) ();  // called once GStreamer has started
};

/// The tests of a file, and what holds for all of them.
struct File {
  std::string name;
  std::vector<Test> tests = {};
  double timeout = 120;
  SFun before = nullptr, after = nullptr;
  std::shared_ptr<void> (*make_environment) () = nullptr;
};

/// Returns the tests of a source file by its path.
File &file_of (const char *path);

}  // namespace testing

// __BASE_FILE__ is the source file, also for tests of a header.
#define TEST_RANGE(name, first, end) \
  static void name##_body (int __i__); \
  static void name (int __i__) \
  { \
    GST_DEBUG ("test start"); \
    tcase_fn_start (#name, __FILE__, __LINE__); \
    name##_body (__i__); \
    gst_task_cleanup_all (); \
  } \
  static const auto name##_registered = \
      (testing::file_of (__BASE_FILE__) \
           .tests.push_back ({ #name, name, first, [] { return int (end); } }), \
       true); \
  static void name##_body ([[maybe_unused]] int __i__)
#define TEST_EACH(name, n) TEST_RANGE (name, 0, n)
#define TEST(name) TEST_RANGE (name, 0, 1)

#define TEST_TIMEOUT(seconds) \
  static const auto test_timeout = testing::file_of (__BASE_FILE__).timeout = seconds
#define TEST_FIXTURE(first, last) \
  static const auto test_fixture = (testing::file_of (__BASE_FILE__).before = first, \
                                    testing::file_of (__BASE_FILE__).after = last)
#define TEST_ENVIRONMENT(Type) \
  static const auto test_environment = (testing::file_of (__BASE_FILE__).make_environment = [] { \
    return std::shared_ptr<void> (std::make_shared<Type> ()); \
  })
