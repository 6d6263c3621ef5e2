// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tuning_cache.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <thread>
#include <unistd.h>

#include <glib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <kernels/fingerprint.hpp>

#include <gst/integralhist/base/log.hpp>
#include <gst/integralhist/base/regular_file.hpp>

namespace integralhist {
namespace {

using inthist::Choice;
using inthist::Device;
using inthist::Shape;

using KeyFile = std::unique_ptr<GKeyFile, void (*) (GKeyFile *)>;
using Strings = std::unique_ptr<gchar *, void (*) (gchar **)>;

constexpr std::size_t kMostBytes = 1 << 20;  // of the file
constexpr int kMostGroups = 8;               // of a device
constexpr double kLeastMicroseconds = 1e-3;  // of a frame; no device is faster
constexpr int kMostTurns = 20;               // of other processes that measure, to wait for

std::string file_name ()
{
  g_autofree char *name =
      g_build_filename (g_get_user_cache_dir (), "gst-integralhist", "tuning.ini", nullptr);
  return name;
}

std::string printable (std::string text)
{
  std::ranges::replace_if (
      text, [] (char c) { return c < ' ' || c > '~'; }, '_');
  return text;
}

/// Returns the size and time of this library's file, which tell builds apart.
std::string build ()
{
  Dl_info info;
  struct stat file;
  if (!dladdr (reinterpret_cast<void *> (plan_for), &info) || stat (info.dli_fname, &file) != 0)
    return "";
  return joined (file.st_size, " ", file.st_mtime);
}

/// Returns the group's name. GKeyFile refuses brackets, control characters and anything but UTF-8.
std::string group_of (const std::string &fingerprint)
{
  std::string group = printable (fingerprint + " / " PACKAGE_VERSION " " + build ());
  std::ranges::replace_if (
      group, [] (char c) { return c == '[' || c == ']'; }, '_');
  return group;
}

/// Returns the device's name, which ends at the first comma or semicolon. The rest changes with
/// driver, build and version.
std::string device_of (const std::string &group)
{
  return group.substr (0, std::min (group.find_first_of (",;"), group.rfind (" / ")));
}

/// Returns a key such as 1920x1080x32-bins-u8-u32.
std::string key_of (const Shape &shape)
{
  return joined (shape.width, "x", shape.height, "x", shape.bins,
                 shape.content == inthist::Content::bins      ? "-bins-"
                 : shape.content == inthist::Content::weights ? "-weights-"
                                                              : "-powers-",
                 inthist::name_of (shape.pixel), "-", inthist::name_of (shape.counter));
}

class File {
public:
  explicit File (int fd) : fd_ (fd) {}
  ~File ()
  {
    if (fd_ >= 0)
      close (fd_);
  }
  File (const File &) = delete;
  File &operator= (const File &) = delete;
  int operator* () const { return fd_; }

private:
  const int fd_;
};

/// Writes a new file and renames it over whatever was there. It skips fsync, which may take
/// seconds: lost entries are measured again.
Expected<> write_file (const std::string &name, const std::string &text)
{
  std::string other = name + ".XXXXXX";
  const File file (mkostemp (other.data (), O_CLOEXEC));
  const auto fail = [&] {
    const int reason = errno;
    if (*file >= 0)
      unlink (other.c_str ());
    return error (Error::Kind::failed, name, ": ", g_strerror (reason));
  };
  if (*file < 0)
    return fail ();
  for (std::size_t n = 0; n < text.size ();) {
    const ssize_t put = write (*file, &text[n], text.size () - n);
    if (put < 0 && errno != EINTR)
      return fail ();
    n += std::size_t (std::max<ssize_t> (put, 0));
  }
  if (rename (other.c_str (), name.c_str ()) != 0)
    return fail ();
  return {};
}

KeyFile no_keys ()
{
  return KeyFile (g_key_file_new (), g_key_file_unref);
}

Expected<KeyFile> parsed (std::string_view text)
{
  KeyFile keys = no_keys ();
  g_autoptr (GError) refusal = nullptr;
  if (text.empty ()
      || g_key_file_load_from_data (keys.get (), text.data (), text.size (), G_KEY_FILE_NONE,
                                    &refusal))
    return keys;
  return error (Error::Kind::failed, printable (refusal->message).substr (0, 200));
}

/// Returns a number from 0 to 1e9; none for other texts.
template <class T>
std::optional<T> number_in (const char *text)
{
  T number;
  const char *end = text + std::strlen (text);
  const auto [after, error] = std::from_chars (text, end, number);
  if (error == std::errc () && after == end && number >= 0 && number <= 1e9)  // false for NaN
    return number;
  return std::nullopt;
}

struct Entry {
  Choice choice;
  unsigned unfinished;  // the milliseconds that were too few to try all, or 0
};

/// Returns an entry whose choice is a candidate; none for others.
std::optional<Entry> entry_of (Device device, const Shape &shape, const Strings &fields,
                               std::size_t n)
{
  if (n != 5)
    return std::nullopt;
  const auto tile = number_in<int> (fields.get ()[1]), threads = number_in<int> (fields.get ()[2]);
  const auto microseconds = number_in<double> (fields.get ()[3]);
  const auto unfinished = number_in<unsigned> (fields.get ()[4]);
  if (!tile || !threads || !microseconds || *microseconds < kLeastMicroseconds || !unfinished)
    return std::nullopt;
  for (Choice choice : inthist::candidates (device, shape))
    if (std::strcmp (choice.strategy->name, fields.get ()[0]) == 0
        && choice.tuning == inthist::Tuning{ *tile, *threads }) {
      choice.seconds = *microseconds / 1e6;
      return Entry{ choice, *unfinished };
    }
  return std::nullopt;
}

/// Returns the file's choice; none without an entry.
Expected<std::optional<Choice>> load (const std::string &file, const std::string &group,
                                      Device device, const Shape &shape, unsigned milliseconds)
{
  const auto text = TRY (read_regular_file (file, kMostBytes));
  return choice_in (text.value_or (""), group, device, shape, milliseconds);
}

/// Adds the choice to the file's current text.
Expected<> store (const std::string &file, const std::string &group, const Shape &shape,
                  const Choice &choice, unsigned milliseconds)
{
  const auto before = read_regular_file (file, kMostBytes).value_or (std::nullopt);
  const std::string text = text_with (before.value_or (""), group, shape, choice, milliseconds);
  g_autofree char *folder = g_path_get_dirname (file.c_str ());
  if (g_mkdir_with_parents (folder, 0700) != 0)
    return error (Error::Kind::failed, folder, ": ", g_strerror (errno));
  return write_file (file, text);
}

/// Locks measuring: two measurements at once would both be wrong. The lock is not owned where
/// `cancelled` was set first.
std::unique_lock<std::mutex> turn (const std::atomic<bool> *cancelled)
{
  static std::mutex mutex;
  std::unique_lock lock (mutex, std::try_to_lock);
  while (!lock.owns_lock () && !inthist::is_set (cancelled)) {
    std::this_thread::sleep_for (std::chrono::milliseconds (2));
    (void) lock.try_lock ();
  }
  return lock;
}

/// Locks the file's folder against other processes: two that measure at once would both be wrong,
/// and each would write over what the other has stored. Waits for `milliseconds` at most, and until
/// `cancelled` is set. Without the lock, as where the folder cannot be written, measuring goes on.
File locked_folder (const std::string &file, unsigned milliseconds,
                    const std::atomic<bool> *cancelled)
{
  using namespace std::chrono;
  g_autofree char *folder = g_path_get_dirname (file.c_str ());
  g_mkdir_with_parents (folder, 0700);
  const int fd = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto until = steady_clock::now () + std::chrono::milliseconds (milliseconds);
  while (fd >= 0 && flock (fd, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR)
         && steady_clock::now () < until && !inthist::is_set (cancelled))
    std::this_thread::sleep_for (std::chrono::milliseconds (2));
  return File (fd);
}

}  // namespace

Expected<std::optional<Choice>> choice_in (std::string_view text, const std::string &group,
                                           Device device, const Shape &shape, unsigned milliseconds)
{
  const KeyFile keys = TRY (parsed (text));
  const std::string key = key_of (shape);
  gsize n = 0;
  const Strings fields (
      g_key_file_get_string_list (keys.get (), group.c_str (), key.c_str (), &n, nullptr),
      g_strfreev);
  if (!fields) {
    if (g_key_file_has_key (keys.get (), group.c_str (), key.c_str (), nullptr))
      return error (Error::Kind::failed, key, " is no list");
    return std::nullopt;
  }
  const auto entry = entry_of (device, shape, fields, n);
  if (!entry)
    return error (Error::Kind::failed, "what it says of ", key, " is no candidate of this build");
  if (entry->unfinished > 0 && milliseconds > entry->unfinished)
    return error (Error::Kind::failed, key,
                  " was measured in too short a time to try all strategies");
  return entry->choice;
}

std::string text_with (std::string_view text, const std::string &group, const Shape &shape,
                       const Choice &choice, unsigned milliseconds)
{
  gchar microseconds[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_formatd (microseconds, sizeof microseconds, "%.6g", choice.seconds * 1e6);
  const std::string entry =
      joined (choice.strategy->name, ";", choice.tuning.tile, ";", choice.tuning.threads, ";",
              microseconds, ";", choice.complete ? 0 : milliseconds, ";");

  const auto with_rest = [&] (std::string_view rest) {
    const KeyFile keys = parsed (rest).value_or (no_keys ());
    // the group is moved behind all others
    std::vector<std::pair<std::string, std::string>> own;
    gsize n = 0;
    const Strings names (g_key_file_get_keys (keys.get (), group.c_str (), &n, nullptr),
                         g_strfreev);
    for (gsize i = 0; i < n; i++) {
      g_autofree char *value =
          g_key_file_get_value (keys.get (), group.c_str (), names.get ()[i], nullptr);
      if (value)
        own.emplace_back (names.get ()[i], value);
    }
    g_key_file_remove_group (keys.get (), group.c_str (), nullptr);
    const Strings groups (g_key_file_get_groups (keys.get (), &n), g_strfreev);
    for (int kept = 1; n > 0; n--)
      if (const char *const other = groups.get ()[n - 1];
          device_of (other) == device_of (group) && ++kept > kMostGroups)
        g_key_file_remove_group (keys.get (), other, nullptr);
    for (const auto &[name, value] : own)
      g_key_file_set_value (keys.get (), group.c_str (), name.c_str (), value.c_str ());
    g_key_file_set_value (keys.get (), group.c_str (), key_of (shape).c_str (), entry.c_str ());
    gsize bytes;
    g_autofree char *data = g_key_file_to_data (keys.get (), &bytes, nullptr);
    return std::string (data, bytes);
  };
  // GKeyFile may refuse the new order, as of the key Encoding in the first group.
  const std::string all = with_rest (text);
  return all.size () <= kMostBytes && parsed (all) ? all : with_rest ("");
}

static Expected<Plan> find_plan (Device device, const Shape &shape, const inthist::Strategy *set,
                                 unsigned milliseconds, int slots, void *tensor,
                                 const std::atomic<bool> *cancelled)
{
  if (set)
    return Plan{ { set, {}, 0 }, "set", "as set" };
  const Choice built_in = inthist::default_choice (device, shape);
  if (!built_in.strategy)
    return error (Error::Kind::failed, "no strategy computes ", describe (shape),
                  shape.counter == inthist::Type::u8_tiled ? ": set counter=u16" : "");
  if (milliseconds == 0)
    return Plan{ built_in, "default", "built-in" };

  const auto flushing = [] {
    return error (Error::Kind::flushing, "stopped while strategies were measured");
  };
  const auto lock = turn (cancelled);
  if (!lock.owns_lock () || inthist::is_set (cancelled))
    return flushing ();
  const std::string file = file_name (), fingerprint = inthist::device_fingerprint (device),
                    group = group_of (fingerprint);
  Expected<std::optional<Choice>> cached;
  const auto find_cached = [&] {
    if (!fingerprint.empty ())
      cached = load (file, group, device, shape, milliseconds);
    return cached && *cached;
  };
  const auto from_cache = [&] { return Plan{ **cached, "cached", "from the cache " + file }; };
  if (find_cached ())
    return from_cache ();
  const File folder = locked_folder (file, kMostTurns * milliseconds, cancelled);
  if (find_cached ())  // another process may have measured it
    return from_cache ();
  const auto start = std::chrono::steady_clock::now ();
  const auto choice = inthist::tune (device, shape, inthist::layout_of (shape), tensor,
                                     milliseconds / 1e3, slots, cancelled);
  if (!choice && choice.error ().cancelled)
    return flushing ();
  if (!choice)
    return Plan{ built_in, "default",
                 "built-in, because measuring failed: " + choice.error ().why };
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds> (
      std::chrono::steady_clock::now () - start);
  Plan plan = { *choice, "measured", joined ("measured in ", took.count (), " ms") };
  if (!cached)
    plan.description += "; the cache " + file + " was of no use: " + cached.error ().message;
  if (fingerprint.empty ())
    plan.description += "; not kept, as the device has no name to know it by";
  else if (const auto stored = store (file, group, shape, plan.choice, milliseconds); !stored)
    plan.description += "; the cache could not be written: " + stored.error ().message;
  return plan;
}

Expected<Plan> plan_for (Device device, const Shape &shape, const inthist::Strategy *set,
                         unsigned milliseconds, int slots, void *tensor,
                         const std::atomic<bool> *cancelled)
{
  auto plan = find_plan (device, shape, set, milliseconds, slots, tensor, cancelled);
  if (plan)
    GST_DEBUG ("%s: strategy %s, tile %d, threads %d: %s", describe (shape).c_str (),
               plan->choice.strategy->name, plan->choice.tuning.tile, plan->choice.tuning.threads,
               plan->description.c_str ());
  return plan;
}

}  // namespace integralhist
