// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A file that a property or a cache names is read as it was written, and anything else of that name
// is refused at once. The FIFO has no writer, so a reader that waits runs into the test's timeout.
#include <chrono>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>

#include <gst/integralhist/base/regular_file.hpp>

#include "alone.hpp"
#include "must.hpp"
#include "test.hpp"

using namespace integralhist;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMax = 1000;

class Folder {
public:
  Folder () : path_ (must_make ()) {}
  ~Folder () { fs::remove_all (path_); }
  std::string operator/ (const char *name) const { return path_ / name; }

private:
  static fs::path must_make ()
  {
    g_autofree char *made = g_dir_make_tmp ("regular_file.XXXXXX", nullptr);
    fail_unless (made != nullptr);
    return made;
  }

  const fs::path path_;
};

std::string written (const std::string &name, const std::string &text)
{
  std::ofstream (name, std::ios::binary) << text;
  return name;
}

}  // namespace

TEST (texts)
{
  const Folder folder;
  for (const std::string &text : { std::string (), std::string ("1,2,3\n"), std::string (3, '\0'),
                                   std::string (kMax, 'x') }) {
    const auto read = must (read_regular_file (written (folder / "file", text), kMax));
    fail_unless (read && *read == text, "%zu bytes", text.size ());
  }
  fs::create_symlink (folder / "file", folder / "link");
  fail_unless (must (read_regular_file (folder / "link", kMax)) == std::string (kMax, 'x'));
  fail_unless (!must (read_regular_file (folder / "none", kMax)));
}

TEST (refusals)
{
  const Folder folder;
  fail_unless (mkfifo ((folder / "fifo").c_str (), 0600) == 0);
  fs::create_symlink (folder / "loop", folder / "loop");
  fs::create_symlink (folder / "fifo", folder / "to-fifo");
  const struct {
    std::string name, why;
  } cases[] = {
    { folder / "fifo", "not a regular file" },
    { folder / "to-fifo", "not a regular file" },
    { folder / ".", "not a regular file" },
    { "/dev/zero", "not a regular file" },
    { "/dev/null", "not a regular file" },
    { folder / "loop", "" },
    { written (folder / "large", std::string (kMax + 1, 'x')), "more than 1000 bytes" },
  };
  for (const auto &[name, why] : cases) {
    const auto read = read_regular_file (name, kMax);
    fail_unless (!read && read.error ().message.find (why) != std::string::npos, "%s",
                 name.c_str ());
  }
}

/// Files of the kernel are regular and have no size. Reading /proc/kmsg would take messages from
/// the system's log, and wait for the next one.
TEST (kernel_files)
{
  const auto start = std::chrono::steady_clock::now ();
  for (const char *name : { "/proc/kmsg", "/proc/self/mem", "/proc/uptime" }) {
    const auto read = read_regular_file (name, kMax);
    fail_unless (!read || !*read || (*read)->empty (), "%s", name);
  }
  fail_unless (std::chrono::steady_clock::now () - start < std::chrono::seconds (5));
}
