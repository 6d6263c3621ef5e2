// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tests of strategy=auto share the cache's file, in a folder of the program's own, what is
// written in it, and an element that takes its choice from there.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>

#include <dlfcn.h>
#include <sys/stat.h>

#include <glib/gstdio.h>
#include <gst/integralhist/gstintegralhist.h>
#include <gst/integralhist/engine/tuning_cache.hpp>
#include <kernels/fingerprint.hpp>
#include <kernels/tuner.hpp>

#include "frames.hpp"

namespace fs = std::filesystem;

constexpr int kWidth = 64, kHeight = 48;

inline fs::path file ()
{
  return fs::path (g_get_user_cache_dir ()) / "gst-integralhist" / "tuning.ini";
}

/// Each test begins without a cache.
inline void setup ()
{
  fs::remove_all (file ().parent_path ());
}

inline std::string content ()
{
  std::ifstream stream (file (), std::ios::binary);
  return std::string (std::istreambuf_iterator<char> (stream), {});
}

inline void write (const std::string &text)
{
  fs::create_directories (file ().parent_path ());
  std::ofstream (file (), std::ios::binary) << text;
}

/// Says what kElements[element] computes by default.
inline inthist::Shape shape (int element)
{
  if (element == 0)
    return { kWidth, kHeight, 32, inthist::Type::u32, inthist::Content::bins, inthist::Type::u8 };
  return { kWidth, kHeight, 1, inthist::Type::u32, inthist::Content::powers, inthist::Type::u8 };
}

inline std::string key (int element)
{
  return element == 0 ? "64x48x32-bins-u8-u32" : "64x48x1-powers-u8-u32";
}

inline inthist::Device device_of (const std::string &backend)
{
  return backend == "cuda" ? inthist::Device::cuda : inthist::Device::cpu;
}

inline std::string device (const char *backend = "cpu")
{
  return inthist::device_fingerprint (device_of (backend));
}

/// Size and time of the library's file, with something added.
inline std::string build (int bytes = 0, int seconds = 0)
{
  Dl_info info;
  struct stat status;
  fail_unless (dladdr (reinterpret_cast<void *> (gst_integral_histogram_region_sums), &info) != 0
               && stat (info.dli_fname, &status) == 0);
  return std::to_string (status.st_size + bytes) + " " + std::to_string (status.st_mtime + seconds);
}

inline std::string group (const char *backend = "cpu")
{
  return device (backend) + " / " PACKAGE_VERSION " " + build ();
}

using Fields = std::vector<std::string>;

/// Makes the fields as if all candidates had been tried.
inline Fields fields_of (const inthist::Choice &choice)
{
  return { choice.strategy->name, std::to_string (choice.tuning.tile),
           std::to_string (choice.tuning.threads), "1.5", "0" };
}

inline std::string joined (const Fields &fields)
{
  std::string text;
  for (const std::string &field : fields)
    text += field + ";";
  return text;
}

inline std::string entry (const inthist::Choice &choice)
{
  return joined (fields_of (choice));
}

/// A file with one group.
inline std::string ini (const std::string &of, const std::string &key, const std::string &value)
{
  return "[" + of + "]\n" + key + "=" + value + "\n";
}

/// A candidate with a tile that is not the default.
inline inthist::Choice another (int element)
{
  const auto candidates = inthist::candidates (inthist::Device::cpu, shape (element));
  const auto first = inthist::default_choice (inthist::Device::cpu, shape (element));
  for (const auto &choice : candidates)
    if (choice.strategy != first.strategy && choice.tuning.tile)
      return choice;
  fail ("there is nothing to choose from");
  return {};
}

struct Outcome {
  std::string tuning, strategy;
  int tile, threads;
  bool operator== (const Outcome &) const = default;
};

inline Outcome outcome_of (GstElement *element)
{
  g_autoptr (GstStructure) stats = nullptr;
  g_object_get (element, "stats", &stats, nullptr);
  Outcome outcome = { gst_structure_get_string (stats, "tuning"),
                      gst_structure_get_string (stats, "strategy"), -1, -1 };
  fail_unless (gst_structure_get (stats, "tile", G_TYPE_INT, &outcome.tile, "threads", G_TYPE_INT,
                                  &outcome.threads, nullptr));
  return outcome;
}

/// One frame through an element; whatever the choice, what comes out is right.
inline Outcome run (int element, const std::string &properties = "", const char *backend = "cpu")
{
  g_autofree char *caps = g_strdup_printf (
      "video/x-raw,format=GRAY8,width=%d,height=%d,framerate=25/1", kWidth, kHeight);
  Harness h (std::string (kElements[element]) + " compute=eager backend=" + backend + " "
                 + properties,
             caps);
  GstVideoInfo info;
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  GstBuffer *in = noise (info, 1);
  guint64 wanted = 0;
  for (guint8 value : luma (info, in, 0, 0))
    wanted += element == 0 ? 1 : value;
  g_autoptr (GstBuffer) out = gst_harness_push_and_pull (h, in);
  std::vector<guint64> sums (32);
  fail_unless (
      gst_integral_histogram_region_sums (gst_buffer_get_integral_histogram_meta (out)->histogram,
                                          0, 0, kWidth, kHeight, sums.data (), nullptr));
  guint64 sum = 0;
  for (guint64 one : sums)
    sum += one;
  fail_unless_equals_uint64 (sum, wanted);
  g_autoptr (GstElement) self = gst_harness_find_element (h, kElements[element]);
  const Outcome outcome = outcome_of (self);
  return outcome;
}

/// A cache of the tests' own. It is there before GLib looks for one.
struct OwnCache {
  OwnCache ()
  {
    if (g_mkdtemp (folder.data ()))
      g_setenv ("XDG_CACHE_HOME", folder.c_str (), TRUE);
    else
      g_error ("no folder %s: %s", folder.c_str (), g_strerror (errno));
  }
  ~OwnCache () { fs::remove_all (folder); }

  std::string folder = (fs::temp_directory_path () / "inthist-tuning-XXXXXX").string ();
};
