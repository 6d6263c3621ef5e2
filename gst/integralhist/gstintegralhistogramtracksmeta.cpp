// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstintegralhistogramtracksmeta.h"

#include <cmath>

#include "c_api.hpp"
#include "log.hpp"
#include "meta_bytes.hpp"
#include "placed.hpp"

using namespace integralhist;

namespace {

constexpr guint8 kVersion = 1;
constexpr std::size_t kLongestClass = 1024;  // of a class, in bytes

struct KnownTrack {
  guint id;
  gint parent = -1;
  GstVideoRectangle box;  // in the frame that was tracked
  double confidence = 0;
  bool is_lost = false;
  std::string kind;  // may be empty
  std::optional<double> detection_confidence;
};

/// Bits of a track's flags in the bytes.
enum : guint8 { kIsLost = 1, kHasDetectionConfidence = 2 };

struct Tracks {
  int width, height;  // of the frame that was tracked
  std::vector<KnownTrack> all;
  Placed placed;

  GstVideoRectangle in_frame (const KnownTrack &track) const
  {
    return placed.geometry_of (width, height).in_frame (track.box);
  }
};

GstIntegralHistogramTracksMeta *cast (GstMeta *meta)
{
  return reinterpret_cast<GstIntegralHistogramTracksMeta *> (meta);
}

Tracks &tracks_of (const GstIntegralHistogramTracksMeta *meta)
{
  return *static_cast<Tracks *> (meta->priv);
}

GstIntegralHistogramTracksMeta *add (GstBuffer *buffer, Tracks tracks)
{
  auto *const meta =
      cast (gst_buffer_add_meta (buffer, gst_integral_histogram_tracks_meta_get_info (), nullptr));
  meta->priv = new Tracks (std::move (tracks));
  return meta;
}

gboolean init (GstMeta *meta, gpointer, GstBuffer *)
{
  cast (meta)->priv = nullptr;
  return TRUE;
}

void free (GstMeta *meta, GstBuffer *)
{
  delete static_cast<Tracks *> (std::exchange (cast (meta)->priv, nullptr));
}

gboolean transform (GstBuffer *target, GstMeta *meta, GstBuffer *, GQuark type, gpointer data)
{
  const Tracks &tracks = tracks_of (cast (meta));
  const auto placed = transformed (tracks.placed, tracks.width, tracks.height, type, data);
  if (!placed)
    return FALSE;
  Tracks copy = tracks;
  copy.placed = *placed;
  add (target, std::move (copy));
  return TRUE;
}

/// Returns whether the frame has a region of interest of a track.
bool has_region (GstBuffer *buffer, const KnownTrack &track)
{
  gpointer state = nullptr;
  while (GstMeta *meta = gst_buffer_iterate_meta_filtered (
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
    if (const auto *roi = reinterpret_cast<const GstVideoRegionOfInterestMeta *> (meta);
        roi->roi_type == g_quark_from_static_string ("track") && guint (roi->id) == track.id)
      return true;
  return false;
}

void add_detection (GstStructure *structure, const KnownTrack &track)
{
  if (!track.kind.empty ())
    gst_structure_set (structure, "class", G_TYPE_STRING, track.kind.c_str (), nullptr);
  if (track.detection_confidence)
    gst_structure_set (structure, "detection-confidence", G_TYPE_DOUBLE,
                       *track.detection_confidence, nullptr);
}

/// Adds the region of interest that integralhisttrack had added.
void add_region (GstBuffer *buffer, const KnownTrack &track)
{
  const GstVideoRectangle &box = track.box;
  auto *const roi = gst_buffer_add_video_region_of_interest_meta (
      buffer, "track", guint (box.x), guint (box.y), guint (box.w), guint (box.h));
  roi->id = gint (track.id);
  roi->parent_id = track.parent;
  GstStructure *const param =
      gst_structure_new ("track", "confidence", G_TYPE_DOUBLE, track.confidence, nullptr);
  add_detection (param, track);
  gst_video_region_of_interest_meta_add_param (roi, param);
}

bool is_class (const std::string &kind)
{
  return kind.size () <= kLongestClass
         && g_utf8_validate (kind.data (), gssize (kind.size ()), nullptr);
}

tl::unexpected<Error> bad_bytes (const char *why)
{
  return error (Error::Kind::bad_question, "these bytes are no tracks: ", why);
}

/// The bytes of the meta: see docs/pipelines.md.
struct Portable {
  static Expected<Bytes> bytes_of (const GstMeta *meta)
  {
    const Tracks &tracks =
        tracks_of (reinterpret_cast<const GstIntegralHistogramTracksMeta *> (meta));
    ByteWriter writer;
    writer.add (kVersion);
    writer.add (guint32 (tracks.placed.width));
    writer.add (guint32 (tracks.placed.height));
    writer.add (guint32 (tracks.all.size ()));
    for (const KnownTrack &track : tracks.all) {
      const GstVideoRectangle box = tracks.in_frame (track);
      writer.add (guint32 (track.id));
      for (const gint number : { track.parent, box.x, box.y, box.w, box.h })
        writer.add (number);
      writer.add (track.confidence);
      writer.add (guint8 ((track.is_lost ? kIsLost : 0)
                          | (track.detection_confidence ? kHasDetectionConfidence : 0)));
      writer.add (track.detection_confidence.value_or (0));
      writer.add (track.kind);
    }
    return writer.take ();
  }

  static Expected<GstMeta *> add (GstBuffer *buffer, std::span<const guint8> bytes)
  {
    ByteReader reader (bytes);
    if (const auto version = reader.take<guint8> (); version != kVersion)
      return bad_bytes (version > kVersion ? "they are of a later version" : "no known version");
    const guint32 width = reader.take<guint32> (), height = reader.take<guint32> ();
    const guint32 n = reader.take<guint32> ();
    if (width < 1 || width > guint32 (kMostPixels) || height < 1 || height > guint32 (kMostPixels))
      return bad_bytes ("a number is out of its range");
    Tracks tracks = { int (width), int (height), {}, { width, height, std::nullopt } };
    for (guint32 i = 0; i < n && !reader.is_short (); i++) {
      KnownTrack track;
      track.id = reader.take<guint32> ();
      for (gint *const number :
           { &track.parent, &track.box.x, &track.box.y, &track.box.w, &track.box.h })
        *number = reader.take<gint32> ();
      track.confidence = reader.take_double ();
      const guint8 flags = reader.take<guint8> ();
      track.is_lost = flags & kIsLost;
      const double detection_confidence = reader.take_double ();
      if (flags & kHasDetectionConfidence)
        track.detection_confidence = detection_confidence;
      track.kind = reader.take_text ();
      if (!is_place (track.box) || !is_class (track.kind) || !std::isfinite (track.confidence)
          || !std::isfinite (detection_confidence)
          || (flags & ~(kIsLost | kHasDetectionConfidence)) != 0)
        return bad_bytes ("a track is out of its range");
      tracks.all.push_back (std::move (track));
    }
    if (!reader.is_done ())
      return bad_bytes ("they are cut off, or too many");
    for (const KnownTrack &track : tracks.all)
      if (!track.is_lost && !has_region (buffer, track))
        add_region (buffer, track);
    return &::add (buffer, std::move (tracks))->meta;
  }
};

}  // namespace

GType gst_integral_histogram_tracks_meta_api_get_type (void)
{
  static const gchar *tags[] = { GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                 GST_META_TAG_VIDEO_ORIENTATION_STR, nullptr };
  static const GType type = gst_meta_api_type_register ("GstIntegralHistogramTracksMetaAPI", tags);
  return type;
}

const GstMetaInfo *gst_integral_histogram_tracks_meta_get_info (void)
{
  static const GstMetaInfo *const info = register_portable<Portable> (
      { GST_INTEGRAL_HISTOGRAM_TRACKS_META_API_TYPE, "GstIntegralHistogramTracksMeta",
        sizeof (GstIntegralHistogramTracksMeta), init, free, transform });
  return info;
}

GstIntegralHistogramTracksMeta *
gst_buffer_add_integral_histogram_tracks_meta (GstBuffer *buffer, guint width, guint height)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer), nullptr);
  g_return_val_if_fail (gst_buffer_is_writable (buffer), nullptr);
  g_return_val_if_fail (width > 0 && width <= guint (kMostPixels), nullptr);
  g_return_val_if_fail (height > 0 && height <= guint (kMostPixels), nullptr);
  return add (buffer, { int (width), int (height), {}, { width, height, std::nullopt } });
}

GstIntegralHistogramTracksMeta *gst_buffer_get_integral_histogram_tracks_meta (GstBuffer *buffer)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer), nullptr);
  return cast (gst_buffer_get_meta (buffer, GST_INTEGRAL_HISTOGRAM_TRACKS_META_API_TYPE));
}

gboolean gst_integral_histogram_tracks_meta_add_track (GstIntegralHistogramTracksMeta *meta,
                                                       const GstStructure *track)
{
  g_return_val_if_fail (meta && track, FALSE);
  KnownTrack known;
  if (!gst_structure_get (track, "id", G_TYPE_UINT, &known.id, "x", G_TYPE_INT, &known.box.x, "y",
                          G_TYPE_INT, &known.box.y, "width", G_TYPE_INT, &known.box.w, "height",
                          G_TYPE_INT, &known.box.h, nullptr))
    return FALSE;
  (void) gst_structure_get_int (track, "parent", &known.parent);
  (void) gst_structure_get_double (track, "confidence", &known.confidence);
  gboolean is_lost = FALSE;
  (void) gst_structure_get_boolean (track, "lost", &is_lost);
  known.is_lost = is_lost;
  if (const char *const kind = gst_structure_get_string (track, "class"))
    known.kind = kind;
  if (double confidence; gst_structure_get_double (track, "detection-confidence", &confidence))
    known.detection_confidence = confidence;
  if (!is_place (known.box) || !is_class (known.kind) || !std::isfinite (known.confidence)
      || !std::isfinite (known.detection_confidence.value_or (0)))
    return FALSE;
  tracks_of (meta).all.push_back (std::move (known));
  return TRUE;
}

guint gst_integral_histogram_tracks_meta_get_n_tracks (GstIntegralHistogramTracksMeta *meta)
{
  g_return_val_if_fail (meta, 0);
  return guint (tracks_of (meta).all.size ());
}

GstStructure *gst_integral_histogram_tracks_meta_get_track (GstIntegralHistogramTracksMeta *meta,
                                                            guint index)
{
  g_return_val_if_fail (meta, nullptr);
  const Tracks &tracks = tracks_of (meta);
  if (index >= tracks.all.size ())
    return nullptr;
  const KnownTrack &track = tracks.all[index];
  const GstVideoRectangle box = tracks.in_frame (track);
  GstStructure *const structure =
      gst_structure_new ("track", "id", G_TYPE_UINT, track.id, "parent", G_TYPE_INT, track.parent,
                         "x", G_TYPE_INT, box.x, "y", G_TYPE_INT, box.y, "width", G_TYPE_INT, box.w,
                         "height", G_TYPE_INT, box.h, "confidence", G_TYPE_DOUBLE, track.confidence,
                         "lost", G_TYPE_BOOLEAN, track.is_lost, nullptr);
  add_detection (structure, track);
  return structure;
}

GBytes *gst_integral_histogram_tracks_meta_to_bytes (GstIntegralHistogramTracksMeta *meta,
                                                     GError **error)
{
  g_return_val_if_fail (meta, nullptr);
  const auto bytes = Portable::bytes_of (&meta->meta);
  if (bytes)
    return to_gbytes (*bytes);
  set_gerror (error, bytes.error ());
  return nullptr;
}

GstIntegralHistogramTracksMeta *
gst_buffer_add_integral_histogram_tracks_meta_from_bytes (GstBuffer *buffer, GBytes *bytes,
                                                          GError **error)
{
  g_return_val_if_fail (GST_IS_BUFFER (buffer) && bytes, nullptr);
  g_return_val_if_fail (gst_buffer_is_writable (buffer), nullptr);
  return cast (
      to_c (Portable::add (buffer, span_of (bytes)), static_cast<GstMeta *> (nullptr), error));
}
