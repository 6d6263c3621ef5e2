// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pictures of targets whose places are known, and a harness over integralhisttrack that reads what
// it says of them.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include <gst/integralhist/gstintegralhist.h>

#include "frames.hpp"

struct Place {
  int x, y, width, height;
  bool operator== (const Place &) const = default;
};

struct Seen {
  guint id;
  gint parent;
  Place box;
  double confidence;
  bool lost;
  guint former_id = 0;  // 0 without the field
  bool operator== (const Seen &) const = default;
};

/// Reads what a message says of its frame.
inline std::vector<Seen> tracks_of (const GstStructure *structure)
{
  std::vector<Seen> tracks;
  const GValue *array = gst_structure_get_value (structure, "tracks");
  for (guint i = 0; i < gst_value_array_get_size (array); i++) {
    const GstStructure *track = gst_value_get_structure (gst_value_array_get_value (array, i));
    Seen seen = {};
    gboolean lost;
    fail_unless (gst_structure_get (track, "id", G_TYPE_UINT, &seen.id, "parent", G_TYPE_INT,
                                    &seen.parent, "x", G_TYPE_INT, &seen.box.x, "y", G_TYPE_INT,
                                    &seen.box.y, "width", G_TYPE_INT, &seen.box.width, "height",
                                    G_TYPE_INT, &seen.box.height, "confidence", G_TYPE_DOUBLE,
                                    &seen.confidence, "lost", G_TYPE_BOOLEAN, &lost, nullptr));
    seen.lost = lost;
    (void) gst_structure_get_uint (track, "former-id", &seen.former_id);
    tracks.push_back (seen);
  }
  return tracks;
}

/// A scene of one size: a background of dim squares, and targets of bright ones.
class Scene {
public:
  Scene (int width, int height, int scale = 1)
      : width (width), height (height), scale_ (scale), background_ (squares (1, 20, 110))
  {
  }

  /// `seed` is which target it is.
  void draw (std::vector<guint8> &picture, const Place &at, unsigned seed) const
  {
    const auto texture = squares (seed, 90, 255);
    for (int y = 0; y < at.height; y++)
      for (int x = 0; x < at.width; x++)
        if (at.x + x >= 0 && at.x + x < width && at.y + y >= 0 && at.y + y < height)
          picture[std::size_t (at.y + y) * width + at.x + x] = texture[std::size_t (y) * width + x];
  }

  std::vector<guint8> background () const { return background_; }

  /// The background with one target.
  std::vector<guint8> with (const Place &at, unsigned seed = 7) const
  {
    auto picture = background_;
    draw (picture, at, seed);
    return picture;
  }

  const int width, height;

private:
  std::vector<guint8> squares (unsigned seed, int low, int high) const
  {
    constexpr int kSquare = 4;
    std::mt19937 random (seed);
    const int columns = width / (kSquare * scale_) + 1, rows = height / (kSquare * scale_) + 1;
    std::vector<guint8> values (columns * rows), picture (width * height);
    for (auto &value : values)
      value = guint8 (low + random () % (high - low));
    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++)
        picture[y * width + x] =
            guint8 (std::clamp (values[y / (kSquare * scale_) * columns + x / (kSquare * scale_)]
                                    + int (random () % 31) - 15,
                                0, 255));
    return picture;
  }

  const int scale_;
  const std::vector<guint8> background_;
};

/// Adds a detection as an element upstream does; without a confidence if that is below 0.
inline GstVideoRegionOfInterestMeta *add_detection (GstBuffer *buffer, const char *class_name,
                                                    const Place &at, double confidence)
{
  auto *const roi = gst_buffer_add_video_region_of_interest_meta (
      buffer, class_name, guint (at.x), guint (at.y), guint (at.width), guint (at.height));
  if (confidence >= 0)
    gst_video_region_of_interest_meta_add_param (
        roi, gst_structure_new ("detection", "confidence", G_TYPE_DOUBLE, confidence, nullptr));
  return roi;
}

/// Follows by fragments, unless the properties say otherwise.
class Tracking : public Harness {
public:
  explicit Tracking (const std::string &properties,
                     const std::string &producer = "cudaintegralhist bins=16 backend=cpu")
      : Harness (producer + (producer.empty () ? "" : " ! ")
                 + "integralhisttrack name=track method=fragments " + properties)
  {
  }

  /// Takes frames of this scene's size.
  template <class... Arguments>
  explicit Tracking (const Scene &scene, const Arguments &...arguments) : Tracking (arguments...)
  {
    set_caps (scene.width, scene.height);
  }

  void set_caps (int width, int height)
  {
    g_autofree char *caps = g_strdup_printf (
        "video/x-raw,format=GRAY8,width=%d,height=%d,framerate=25/1", width, height);
    if (width_ == 0)
      Harness::set_caps (caps);
    else if (g_autoptr (GstCaps) other = gst_caps_from_string (caps);
             other)  // nothing else changes
      gst_harness_push_event (get (), gst_event_new_caps (other));
    width_ = width;
  }

  /// The frame that comes out, or null after an error. `prepare` may add metas.
  GstBuffer *push (const std::vector<guint8> &picture,
                   const std::function<void (GstBuffer *)> &prepare = {})
  {
    const int height = int (picture.size ()) / width_, stride = GST_ROUND_UP_4 (width_);
    GstBuffer *buffer = gst_buffer_new_allocate (nullptr, gsize (stride) * height, nullptr);
    for (int y = 0; y < height; y++)
      gst_buffer_fill (buffer, gsize (y) * stride, &picture[std::size_t (y) * width_], width_);
    GST_BUFFER_PTS (buffer) = 40 * GST_MSECOND * frames_++;
    GST_BUFFER_DURATION (buffer) = 40 * GST_MSECOND;
    if (prepare)
      prepare (buffer);
    last_ = gst_harness_push (get (), buffer);
    return last_ == GST_FLOW_OK ? gst_harness_pull (get ()) : nullptr;
  }

  /// The tracks of the frame, from the message; its metas must say the same.
  std::vector<Seen> follow (const std::vector<guint8> &picture,
                            const std::function<void (GstBuffer *)> &prepare = {})
  {
    g_autoptr (GstBuffer) buffer = push (picture, prepare);
    fail_unless (buffer, "an error: %s", error ().c_str ());
    std::vector<Seen> tracks;
    if (GstMessage *message = pop_element ()) {
      const GstStructure *structure = gst_message_get_structure (message);
      fail_unless (gst_structure_has_name (structure, "integral-histogram-track"));
      guint64 timestamp, duration;
      fail_unless (gst_structure_get (structure, "timestamp", G_TYPE_UINT64, &timestamp, "duration",
                                      G_TYPE_UINT64, &duration, nullptr));
      fail_unless (timestamp == GST_BUFFER_PTS (buffer)
                   && duration == GST_BUFFER_DURATION (buffer));
      tracks = tracks_of (structure);
      gst_message_unref (message);
    }
    std::size_t metas = 0, found = 0;
    for (auto *const roi : rois_of (buffer)) {
      if (roi->roi_type != g_quark_from_string ("track"))
        continue;
      metas++;
      double confidence;
      const GstStructure *param = gst_video_region_of_interest_meta_get_param (roi, "track");
      fail_unless (param && gst_structure_get_double (param, "confidence", &confidence));
      for (const Seen &track : tracks)
        found += guint (roi->id) == track.id && roi->parent_id == track.parent && !track.lost
                 && confidence == track.confidence
                 && Place{ int (roi->x), int (roi->y), int (roi->w), int (roi->h) } == track.box;
    }
    fail_unless (found == metas, "regions of interest and message differ");
    fail_unless (metas == std::size_t (std::ranges::count_if (tracks, [] (const Seen &t) {
                   return !t.lost;
                 })));
    return tracks;
  }

  void set (const char *property, const char *value)
  {
    g_autoptr (GstElement) track = gst_bin_get_by_name (GST_BIN (get ()->element), "track");
    gst_util_set_object_arg (G_OBJECT (track), property, value);
  }

  /// The warnings so far, each on a line.
  std::string take_warnings () { return std::exchange (warnings_, ""); }

private:
  /// (transfer full): the next element message; warnings before it are kept.
  GstMessage *pop_element ()
  {
    constexpr auto kBoth = GstMessageType (GST_MESSAGE_ELEMENT | GST_MESSAGE_WARNING);
    while (GstMessage *message = this->message (kBoth)) {
      if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ELEMENT)
        return message;
      g_autoptr (GError) warning = nullptr;
      gst_message_parse_warning (message, &warning, nullptr);
      gst_message_unref (message);
      warnings_ += std::string (warning->message) + "\n";
    }
    return nullptr;
  }

  std::string warnings_;
  GstFlowReturn last_ = GST_FLOW_OK;
  int width_ = 0;
  guint64 frames_ = 0;
};

constexpr Place kFirst = { 40, 30, 24, 32 };

/// A target on its way, at most four pixels a frame each way.
inline Place way (int frame, const Place &first = kFirst)
{
  return { first.x + int (std::lround (30 * std::sin (frame * 0.12))), first.y + frame % 40,
           first.width, first.height };
}

/// Fails unless the warnings of a Tracking are one, with these parts.
inline void expect_one (const std::string &warnings, std::initializer_list<std::string> parts,
                        const std::string &what = "")
{
  fail_unless (std::ranges::count (warnings, '\n') == 1, "%s: %s", what.c_str (),
               warnings.c_str ());
  expect_parts (warnings, parts, what);
}

/// The area that two boxes share, over the area that they cover.
inline double overlap (const Place &a, const Place &b)
{
  const double w = std::min (a.x + a.width, b.x + b.width) - std::max (a.x, b.x),
               h = std::min (a.y + a.height, b.y + b.height) - std::max (a.y, b.y);
  const double both = w > 0 && h > 0 ? w * h : 0;
  return both / (double (a.width) * a.height + double (b.width) * b.height - both);
}

inline std::string text_of (const Place &place)
{
  g_autofree char *text =
      g_strdup_printf ("%d,%d,%d,%d", place.x, place.y, place.width, place.height);
  return text;
}

inline void expect_at (const std::vector<Seen> &tracks, std::size_t which, const Place &wanted,
                       int frame)
{
  fail_unless (tracks.size () > which, "frame %d: no track", frame);
  const Place &got = tracks[which].box;
  fail_unless (std::abs (got.x - wanted.x) <= 1 && std::abs (got.y - wanted.y) <= 1
                   && got.width == wanted.width && got.height == wanted.height,
               "frame %d: %s, must be %s", frame, text_of (got).c_str (),
               text_of (wanted).c_str ());
}
