// SPDX-License-Identifier: LGPL-2.1-or-later
#include <gst/integralhist/gstintegralhistogramtracksmeta.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include <gst/integralhist/base/number.hpp>

#include "placed_meta.hpp"
#include "tracks.hpp"

using namespace integralhist;

namespace {

/// Bits of the byte of flags that each track has in a serialised GstIntegralHistogramTracksMeta.
enum : guint8 { kIsLost = 1, kHasDetectionConfidence = 2 };

bool is_valid (const Track &track)
{
  return is_place (track.box) && is_class_name (track.class_name)
         && std::isfinite (track.confidence)
         && std::isfinite (track.detection_confidence.value_or (0));
}

void add_detection (GstStructure *structure, const Track &track)
{
  if (!track.class_name.empty ())
    gst_structure_set (structure, "class", G_TYPE_STRING, track.class_name.c_str (), nullptr);
  if (track.detection_confidence)
    gst_structure_set (structure, "detection-confidence", G_TYPE_DOUBLE,
                       *track.detection_confidence, nullptr);
  if (track.former_id > 0)
    gst_structure_set (structure, "former-id", G_TYPE_UINT, track.former_id, nullptr);
}

void add_region (GstBuffer *buffer, const Track &track)
{
  const GstVideoRectangle &box = track.box;
  auto *const roi = gst_buffer_add_video_region_of_interest_meta (
      buffer, kTrackType, guint (box.x), guint (box.y), guint (box.w), guint (box.h));
  roi->id = gint (track.id);
  roi->parent_id = track.parent;
  GstStructure *const param =
      gst_structure_new (kTrackType, "confidence", G_TYPE_DOUBLE, track.confidence, nullptr);
  add_detection (param, track);
  gst_video_region_of_interest_meta_add_param (roi, param);
}

std::unordered_set<guint> ids_of_regions (GstBuffer *buffer)
{
  std::unordered_set<guint> ids;
  each_roi (buffer, [&] (const GstVideoRegionOfInterestMeta *roi) {
    if (is_track (roi))
      ids.insert (guint (roi->id));
  });
  return ids;
}

/// The tracks in a GstIntegralHistogramTracksMeta. docs/pipelines.md has the format of the bytes.
struct Tracks {
  static constexpr char kName[] = "GstIntegralHistogramTracksMeta", kWhat[] = "tracks";
  static constexpr auto get_api = gst_integral_histogram_tracks_meta_api_get_type;
  static constexpr auto get_info = gst_integral_histogram_tracks_meta_get_info;
  static constexpr guint8 kWithFormerIds = 2, kLatest = kWithFormerIds;

  int width = 1, height = 1;
  std::vector<Track> all;

  guint8 version () const
  {
    return std::ranges::any_of (all, &Track::former_id) ? kWithFormerIds : 1;
  }

  Expected<> write (ByteWriter &writer, const Placement &placed) const
  {
    const FrameGeometry geometry = placed.geometry_of (width, height);
    const bool has_former_ids = version () >= kWithFormerIds;
    writer.add (guint32 (placed.width));
    writer.add (guint32 (placed.height));
    writer.add (guint32 (all.size ()));
    for (const Track &track : all) {
      const GstVideoRectangle box = geometry.in_frame (track.box);
      writer.add (guint32 (track.id));
      for (const gint number : { track.parent, box.x, box.y, box.w, box.h })
        writer.add (number);
      writer.add (track.confidence);
      writer.add (guint8 ((track.is_lost ? kIsLost : 0)
                          | (track.detection_confidence ? kHasDetectionConfidence : 0)));
      writer.add (track.detection_confidence.value_or (0));
      writer.add (track.class_name);
      if (has_former_ids)
        writer.add (guint32 (track.former_id));
    }
    return {};
  }

  static inthist::Expected<Tracks, const char *> read (ByteReader &reader, guint8 version)
  {
    const guint32 width = reader.take<guint32> (), height = reader.take<guint32> (),
                  n = reader.take<guint32> ();
    if (!is_size (width, height))
      return BadBytes ("a number is out of its range");
    Tracks tracks = { int (width), int (height), {} };
    for (guint32 i = 0; i < n && !reader.is_short (); i++) {
      Track track;
      track.id = reader.take<guint32> ();
      for (gint *const number :
           { &track.parent, &track.box.x, &track.box.y, &track.box.w, &track.box.h })
        *number = reader.take<gint32> ();
      track.confidence = reader.take_double ();
      const guint8 flags = reader.take<guint8> ();
      track.is_lost = flags & kIsLost;
      track.detection_confidence = reader.take_double ();
      track.class_name = reader.take_text ();
      if (version >= kWithFormerIds)
        track.former_id = reader.take<guint32> ();
      if (!is_valid (track) || (flags & ~(kIsLost | kHasDetectionConfidence)) != 0)
        return BadBytes ("a track is out of its range");
      if (!(flags & kHasDetectionConfidence))
        track.detection_confidence.reset ();
      tracks.all.push_back (std::move (track));
    }
    return tracks;
  }

  /// Adds a region of interest for each visible track of a received meta, unless the track has one,
  /// because GStreamer does not send regions of interest.
  void arrive (GstBuffer *buffer) const
  {
    const auto present = ids_of_regions (buffer);
    for (const Track &track : all)
      if (const GstVideoRectangle &box = track.box; !track.is_lost && !present.contains (track.id)
                                                    && box.x < width && box.y < height
                                                    && box.x + box.w > 0 && box.y + box.h > 0)
        add_region (buffer, track);
  }
};

using TracksMeta = PlacedMeta<GstIntegralHistogramTracksMeta, Tracks>;

}  // namespace

bool integralhist::is_class_name (const std::string &class_name)
{
  constexpr std::size_t kLongest = 1024;
  return class_name.size () <= kLongest
         && g_utf8_validate (class_name.data (), gssize (class_name.size ()), nullptr);
}

GstIntegralHistogramTracksMeta *integralhist::add_tracks (GstBuffer *buffer, int width, int height,
                                                          std::vector<Track> tracks)
{
  for (const Track &track : tracks)
    if (!track.is_lost)
      add_region (buffer, track);
  return TracksMeta::add (buffer, Tracks{ width, height, std::move (tracks) });
}

PLACED_META_API (GstIntegralHistogramTracksMeta, tracks, TracksMeta)

GstIntegralHistogramTracksMeta *
gst_buffer_add_integral_histogram_tracks_meta (GstBuffer *buffer, guint width, guint height)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer), nullptr);
  g_return_val_if_fail (gst_buffer_is_writable (buffer), nullptr);
  g_return_val_if_fail (is_size (width, height), nullptr);
  return TracksMeta::add (buffer, Tracks{ int (width), int (height), {} });
}

gboolean gst_integral_histogram_tracks_meta_add_track (GstIntegralHistogramTracksMeta *meta,
                                                       const GstStructure *track)
{
  g_return_val_if_fail (meta && track, FALSE);
  Track known;
  const auto field = [track] (const char *name) { return gst_structure_get_value (track, name); };
  const auto id = integer_of<guint> (field ("id"));
  if (!id)
    return FALSE;
  known.id = *id;
  for (const auto &[name, number] :
       { std::pair ("x", &known.box.x), std::pair ("y", &known.box.y),
         std::pair ("width", &known.box.w), std::pair ("height", &known.box.h) })
    if (const auto given = integer_of<gint> (field (name)))
      *number = *given;
    else
      return FALSE;
  known.parent = integer_of<gint> (field ("parent")).value_or (-1);
  known.detection_confidence = number_of (field ("detection-confidence"));
  const auto confidence = number_of (field ("confidence"));
  if ((field ("confidence") && !confidence)
      || (field ("detection-confidence") && !known.detection_confidence))
    return FALSE;
  known.confidence = confidence.value_or (0);
  const auto former_id = integer_of<guint> (field ("former-id"));
  if (field ("former-id") && !former_id)
    return FALSE;
  known.former_id = former_id.value_or (0);
  gboolean is_lost = FALSE;
  (void) gst_structure_get_boolean (track, "lost", &is_lost);
  known.is_lost = is_lost;
  if (const char *const class_name = gst_structure_get_string (track, "class"))
    known.class_name = class_name;
  if (!is_valid (known))
    return FALSE;
  TracksMeta::of (meta).content.all.push_back (std::move (known));
  return TRUE;
}

guint gst_integral_histogram_tracks_meta_get_n_tracks (GstIntegralHistogramTracksMeta *meta)
{
  g_return_val_if_fail (meta, 0);
  return guint (TracksMeta::of (meta).content.all.size ());
}

GstStructure *gst_integral_histogram_tracks_meta_get_track (GstIntegralHistogramTracksMeta *meta,
                                                            guint index)
{
  g_return_val_if_fail (meta, nullptr);
  const TracksMeta &tracks = TracksMeta::of (meta);
  if (index >= tracks.content.all.size ())
    return nullptr;
  const Track &track = tracks.content.all[index];
  const GstVideoRectangle box = tracks.in_frame (track.box);
  GstStructure *const structure =
      gst_structure_new ("track", "id", G_TYPE_UINT, track.id, "parent", G_TYPE_INT, track.parent,
                         "x", G_TYPE_INT, box.x, "y", G_TYPE_INT, box.y, "width", G_TYPE_INT, box.w,
                         "height", G_TYPE_INT, box.h, "confidence", G_TYPE_DOUBLE, track.confidence,
                         "lost", G_TYPE_BOOLEAN, track.is_lost, nullptr);
  add_detection (structure, track);
  return structure;
}
