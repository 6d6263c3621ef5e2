// SPDX-License-Identifier: LGPL-2.1-or-later
#include "batch_frame.hpp"

#include <charconv>
#include <cstring>

namespace integralhist::nvmot {
namespace {

constexpr char kPlugin[] = "nvdsgst_tracker";

// In every release of DeepStream, the first frame of a batch has at least this many bytes. The
// release is recognised from these bytes only.
constexpr std::size_t kKnownBytes = sizeof (Frame80);
static_assert (kKnownBytes >= offsetof (Frame91, surfaces) + sizeof (void *));

template <class T>
T read_at (const void *frame, std::size_t offset)
{
  T value;
  std::memcpy (&value, static_cast<const std::byte *> (frame) + offset, sizeof value);
  return value;
}

#define READ(Layout, member) read_at<decltype (Layout::member)> (frame, offsetof (Layout, member))

bool is_side (guint32 pixels)
{
  return pixels >= 1 && pixels <= 1 << 16;
}

bool fits_91 (const void *frame)
{
  return READ (Frame91, time.number_again) == READ (Frame91, number)
         && is_side (READ (Frame91, width)) && is_side (READ (Frame91, height))
         && READ (Frame91, does_track) <= 1 && READ (Frame91, is_reset) <= 1;
}

bool fits_80 (const void *frame)
{
  return is_side (READ (Frame80, width)) && is_side (READ (Frame80, height))
         && READ (Frame80, has_time) <= 1 && READ (Frame80, does_track) <= 1
         && READ (Frame80, is_reset) <= 1;
}

template <class Layout>
bool has_surface (const void *frame)
{
  return READ (Layout, n_surfaces) == 1 && READ (Layout, surfaces);
}

template <class Layout>
BatchFrame read_frame (const void *frames, std::size_t index, InputList &input)
{
  Layout frame;
  std::memcpy (&frame, static_cast<const std::byte *> (frames) + index * sizeof frame,
               sizeof frame);
  BatchFrame read = { frame.stream, frame.number, GST_CLOCK_TIME_NONE, nullptr, {} };
  if constexpr (std::is_same_v<Layout, Frame91>)
    if (frame.time.is_valid != 0)
      read.time = frame.time.frame;
  if (frame.n_surfaces == 1 && frame.surfaces)
    read.surface = *frame.surfaces;
  input = frame.input;
  return read;
}

}  // namespace

Expected<std::optional<Release>> release_of_element ()
{
  GstPlugin *const plugin = gst_registry_find_plugin (gst_registry_get (), kPlugin);
  if (!plugin)
    return std::nullopt;
  const std::string version = gst_plugin_get_version (plugin);
  gst_object_unref (plugin);
  const char *const end = version.data () + version.size ();
  unsigned major = 0, minor = 0;
  const auto [dot, problem] = std::from_chars (version.data (), end, major);
  if (problem == std::errc () && dot != end)
    std::from_chars (dot + 1, end, minor);
  if (major < 8)
    return error (Error::Kind::bad_setting, "nvtracker is of DeepStream ", version,
                  ", and this library needs 8.0 or newer: use nvtracker of such a release");
  return major > 9 || (major == 9 && minor >= 1) ? Release::r91 : Release::r80;
}

Expected<Release> release_of_frame (const void *first, std::optional<Release> known)
{
  bool is_91 = fits_91 (first) && known != Release::r80,
       is_80 = fits_80 (first) && known != Release::r91;
  if (is_91 && is_80 && has_surface<Frame91> (first) != has_surface<Frame80> (first)) {
    is_91 = has_surface<Frame91> (first);
    is_80 = !is_91;
  }
  if (is_91 != is_80)
    return is_91 ? Release::r91 : Release::r80;
  return bad_batch ("its first frame is ", is_91 ? "like those of both layouts" : "not like those",
                    " of DeepStream 8.0 to 9.1: use one of these releases");
}

Expected<BatchFrame> BatchFrame::read (const void *frames, std::size_t index, Release release,
                                       guint max_targets)
{
  InputList input;
  BatchFrame frame = release == Release::r91 ? read_frame<Frame91> (frames, index, input)
                                             : read_frame<Frame80> (frames, index, input);
  if (!frame.surface)
    return bad_batch ("frame ", index, " has no surface: use DeepStream 8.0 to 9.1");
  if (input.n_filled > input.n_allocated || (input.n_filled > 0 && !input.objects))
    return bad_batch ("frame ", index, " says ", input.n_filled, " of ", input.n_allocated,
                      " objects: use DeepStream 8.0 to 9.1");
  if (input.n_filled > max_targets)
    return bad_batch ("frame ", index, " has ", input.n_filled, " objects, and at most ",
                      max_targets, " are possible: raise max-targets");
  frame.objects = { input.objects, input.n_filled };
  return frame;
}

}  // namespace integralhist::nvmot
