// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tuning_cache.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include <dlfcn.h>
#include <glib/gstdio.h>

#include "engine.hpp"

namespace integralhist {
namespace {

using inthist::Choice;
using inthist::Device;
using inthist::Shape;

using KeyFile = std::unique_ptr<GKeyFile, void (*) (GKeyFile *)>;
using Strings = std::unique_ptr<gchar *, void (*) (gchar **)>;

std::string
file_name ()
{
  g_autofree char *name = g_build_filename (g_get_user_cache_dir (), "gst-integralhist", "tuning.ini", nullptr);
  return name;
}

std::string
printable (std::string text)
{
  std::ranges::replace_if (
      text, [] (char c) { return c < ' ' || c > '~'; }, '_');
  return text;
}

/// Size and time of the file that this code is in: another build is another library.
std::string
build ()
{
  Dl_info info;
  GStatBuf file;
  if (!dladdr (reinterpret_cast<void *> (plan_for), &info) || g_stat (info.dli_fname, &file) != 0)
    return "";
  return std::to_string (file.st_size) + " " + std::to_string (file.st_mtime);
}

/// GKeyFile takes no brackets and no control characters here, and only UTF-8.
std::string
group_of (const std::string &fingerprint)
{
  std::string group = printable (fingerprint + " / " PACKAGE_VERSION " " + build ());
  std::ranges::replace_if (
      group, [] (char c) { return c == '[' || c == ']'; }, '_');
  return group;
}

/// The device's own name opens its fingerprint, up to the first comma or semicolon; the rest changes with driver, build and version.
std::string
device_of (const std::string &group)
{
  return group.substr (0, std::min (group.find_first_of (",;"), group.rfind (" / ")));
}

/// 1920x1080x32-bins-u8-u32
std::string
key_of (const Shape &shape)
{
  return std::to_string (shape.width) + "x" + std::to_string (shape.height) + "x" + std::to_string (shape.bins)
         + (shape.content == inthist::Content::bins ? "-bins-" : "-powers-") + inthist::name_of (shape.pixel) + "-"
         + inthist::name_of (shape.counter);
}

/// An empty one where the file cannot be read; `why` gets the reason, but not that there is no file yet.
KeyFile
load (const std::string &file, std::string *why = nullptr)
{
  KeyFile keys (g_key_file_new (), g_key_file_unref);
  g_autoptr (GError) error = nullptr;
  if (g_key_file_load_from_file (keys.get (), file.c_str (), G_KEY_FILE_NONE, &error))
    return keys;
  if (why && !g_error_matches (error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
    *why = printable (error->message).substr (0, 200);
  return KeyFile (g_key_file_new (), g_key_file_unref);
}

template <class T>
bool
parse (const char *text, T *number)
{
  const char *end = text + std::strlen (text);
  const auto [after, error] = std::from_chars (text, end, *number);
  return error == std::errc () && after == end && *number >= 0 && *number <= 1e9;  // which no NaN is
}

/// The candidate that an entry names, and in `unfinished` the milliseconds that were too few to try all.
std::optional<Choice>
candidate (Device device, const Shape &shape, const Strings &fields, std::size_t n, unsigned *unfinished)
{
  inthist::Tuning tuning;
  double microseconds;
  if (n != 5 || !parse (fields.get ()[4], unfinished) || !parse (fields.get ()[1], &tuning.tile)
      || !parse (fields.get ()[2], &tuning.threads) || !parse (fields.get ()[3], &microseconds) || microseconds == 0)
    return std::nullopt;
  for (Choice choice : inthist::candidates (device, shape))
    if (std::strcmp (choice.strategy->name, fields.get ()[0]) == 0 && choice.tuning == tuning) {
      choice.seconds = microseconds / 1e6;
      return choice;
    }
  return std::nullopt;
}

/// Nothing where the cache does not know, or less than `milliseconds` would find out; `why` gets what is wrong with what it says.
std::optional<Choice>
look_up (const std::string &file, const std::string &group, Device device, const Shape &shape, unsigned milliseconds, std::string *why)
{
  const KeyFile keys = load (file, why);
  const std::string key = key_of (shape);
  gsize n = 0;
  const Strings fields (g_key_file_get_string_list (keys.get (), group.c_str (), key.c_str (), &n, nullptr), g_strfreev);
  if (!fields) {
    if (g_key_file_has_key (keys.get (), group.c_str (), key.c_str (), nullptr))
      *why = key + " is no list";
    return std::nullopt;
  }
  unsigned unfinished = 0;
  const auto choice = candidate (device, shape, fields, n, &unfinished);
  if (!choice)
    *why = "what it says of " + key + " is no candidate of this build";
  else if (unfinished > 0 && milliseconds > unfinished)
    *why = key + " was measured in too short a time to try all strategies";
  else
    return choice;
  return std::nullopt;
}

/// Adds the choice to what the file has by now, drops what was measured on this device with another driver or version, and returns what went wrong.
std::string
store (const std::string &file, const std::string &group, const Shape &shape, const Choice &choice, unsigned milliseconds)
{
  const KeyFile keys = load (file);
  const Strings groups (g_key_file_get_groups (keys.get (), nullptr), g_strfreev);
  for (gchar **other = groups.get (); *other; other++)
    if (group != *other && device_of (*other) == device_of (group))
      g_key_file_remove_group (keys.get (), *other, nullptr);

  gchar microseconds[G_ASCII_DTOSTR_BUF_SIZE];
  g_ascii_formatd (microseconds, sizeof microseconds, "%.1f", choice.seconds * 1e6);
  const std::string tile = std::to_string (choice.tuning.tile), threads = std::to_string (choice.tuning.threads);
  const std::string unfinished = std::to_string (choice.complete ? 0 : milliseconds);
  const gchar *fields[] = { choice.strategy->name, tile.c_str (), threads.c_str (), microseconds, unfinished.c_str () };
  g_key_file_set_string_list (keys.get (), group.c_str (), key_of (shape).c_str (), fields, G_N_ELEMENTS (fields));

  g_autofree char *folder = g_path_get_dirname (file.c_str ());
  gsize bytes;
  g_autofree char *text = g_key_file_to_data (keys.get (), &bytes, nullptr);
  g_autoptr (GError) error = nullptr;
  if (g_mkdir_with_parents (folder, 0700) != 0)
    return std::string (folder) + ": " + g_strerror (errno);
  return g_file_set_contents (file.c_str (), text, gssize (bytes), &error) ? "" : error->message;
}

}  // namespace

Plan
plan_for (Device device, const Shape &shape, const inthist::Strategy *set, unsigned milliseconds, int lanes, void *tensor)
{
  if (set)
    return { { set, {}, 0 }, "set", "as set" };
  const Choice built_in = inthist::default_choice (device, shape);
  if (!built_in.strategy)
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, "no strategy computes " + describe (shape));
  if (milliseconds == 0)
    return { built_in, "default", "built-in" };

  static std::mutex mutex;  // two measurements at once would both be wrong
  const std::lock_guard lock (mutex);
  const std::string file = file_name (), fingerprint = inthist::device_fingerprint (device), group = group_of (fingerprint);
  std::string complaint;
  if (!fingerprint.empty ())
    if (const auto choice = look_up (file, group, device, shape, milliseconds, &complaint))
      return { *choice, "cached", "from the cache " + file };
  Plan plan = { built_in, "measured", "" };
  const auto start = std::chrono::steady_clock::now ();
  try {
    plan.choice = inthist::tune (device, shape, inthist::layout_of (shape), tensor, milliseconds / 1e3, lanes);
  } catch (const std::exception &error) {
    return { built_in, "default", std::string ("built-in, because measuring failed: ") + error.what () };
  }
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds> (std::chrono::steady_clock::now () - start);
  plan.story = "measured in " + std::to_string (took.count ()) + " ms";
  if (!complaint.empty ())
    plan.story += "; the cache " + file + " was of no use: " + complaint;
  if (fingerprint.empty ())
    plan.story += "; not kept, as the device has no name to know it by";
  else if (const std::string failure = store (file, group, shape, plan.choice, milliseconds); !failure.empty ())
    plan.story += "; the cache could not be written: " + failure;
  return plan;
}

}  // namespace integralhist
