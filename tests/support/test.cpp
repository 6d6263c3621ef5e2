// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "test.hpp"  // last: it has macros with names of the standard library

namespace testing {
namespace {

std::vector<File> &files ()
{
  static std::vector<File> all;
  return all;
}

}  // namespace

File &file_of (const char *path)
{
  const std::string name = std::filesystem::path (path).stem ();
  const auto found = std::ranges::find (files (), name, &File::name);
  return found != files ().end () ? *found : files ().emplace_back (File{ name });
}

}  // namespace testing

/// PROGRAM [FILE...] runs the tests of these files, or of all; PROGRAM --list prints the files.
int main (int argc, char **argv)
{
  std::vector<testing::File> files = testing::files ();
  const std::vector<std::string> wanted (argv + 1, argv + argc);
  if (wanted == std::vector<std::string>{ "--list" }) {
    for (const testing::File &file : files)
      printf ("%s\n", file.name.c_str ());
    return 0;
  }
  for (const std::string &name : wanted)
    if (std::ranges::find (files, name, &testing::File::name) == files.end ()) {
      fprintf (stderr, "there are no tests of %s here; --list has those that there are\n",
               name.c_str ());
      return 2;
    }
  if (!wanted.empty ())
    std::erase_if (files, [&] (const testing::File &file) {
      return std::ranges::find (wanted, file.name) == wanted.end ();
    });

  std::vector<std::shared_ptr<void>> environments;
  for (const testing::File &file : files)
    if (file.make_environment)
      environments.push_back (file.make_environment ());
  argc = 1;
  gst_check_init (&argc, &argv);
  setvbuf (stdout, nullptr, _IOLBF, 0);  // a test that fails ends its process without a flush
  printf ("INTHIST_SEED=%u\n", seed ());
  const std::string name = files.size () == 1 ? files[0].name : g_get_prgname ();
  Suite *const suite = suite_create (name.c_str ());
  for (const testing::File &file : files) {
    TCase *const tests = tcase_create (file.name.c_str ());
    suite_add_tcase (suite, tests);
    tcase_set_timeout (tests, file.timeout);
    tcase_add_checked_fixture (tests, file.before, file.after);
    for (const testing::Test &test : file.tests)
      _tcase_add_test (tests, test.function, test.name, 0, 0, test.first, test.end ());
  }
  return gst_check_run_suite (suite, name.c_str (), name.c_str ());
}
