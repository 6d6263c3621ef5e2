// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A template for GstMetas with rectangles of a frame, such as regions and tracks. The rectangles
// follow crops, scaling and turns of the frame. The metas can be sent to other processes as bytes.
#pragma once

#include <utility>

#include <gst/integralhist/api/c_api.hpp>
#include <gst/integralhist/base/log.hpp>

#include "meta_bytes.hpp"
#include "placed.hpp"

namespace integralhist {

using BadBytes = tl::unexpected<const char *>;

/// The object behind `priv` of the C struct Meta, { GstMeta meta; gpointer priv; }. Content is a
/// class for the rectangles and their data. It has
///   kName, kWhat             name of the meta, and of the content in error messages,
///   get_api, get_info        functions of the C API for the meta,
///   width, height            size of the frame that the rectangles are in; 1x1 by default,
///   kLatest, version ()      latest version of the bytes, and the version of this content: only
///                            content that older readers would misread has a later version,
///   write (writer, placed)   writes the bytes, with rectangles in the frame that carries the meta,
///   read (reader, version)   returns a Content from such bytes, or the reason why they are bad,
///   arrive (buffer)          optional: adds further metas to a buffer after reading.
template <class Meta, class Content>
struct PlacedMeta {
  Content content;
  Placement placed;

  static PlacedMeta &of (const Meta *meta) { return *static_cast<PlacedMeta *> (meta->priv); }

  GstVideoRectangle in_frame (const GstVideoRectangle &r) const
  {
    return placed.geometry_of (content.width, content.height).in_frame (r);
  }

  static Meta *add (GstBuffer *buffer, Content content)
  {
    const Placement all = { guint (content.width), guint (content.height), std::nullopt };
    return add (buffer, PlacedMeta{ std::move (content), all });
  }

  static Meta *get (GstBuffer *buffer)
  {
    return cast (gst_buffer_get_meta (buffer, Content::get_api ()));
  }

  static GBytes *to_bytes (const Meta *meta, GError **error)
  {
    const auto bytes = [meta] () -> Expected<GBytes *> {
      return to_gbytes (TRY (bytes_of (of (meta))));
    };
    return to_c (bytes (), error);
  }

  static Meta *add_from_bytes (GstBuffer *buffer, GBytes *bytes, GError **error)
  {
    return to_c (read (buffer, span_of (bytes)), error);
  }

  static GType register_api ()
  {
    static const gchar *tags[] = { GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                   GST_META_TAG_VIDEO_ORIENTATION_STR, nullptr };
    return gst_meta_api_type_register (joined (Content::kName, "API").c_str (), tags);
  }

  static const GstMetaInfo *register_meta ()
  {
#if GST_CHECK_VERSION(1, 24, 0)
    auto *const info = const_cast<GstMetaInfo *> (
        gst_meta_info_new (Content::get_api (), Content::kName, sizeof (Meta)));
    info->init_func = init;
    info->free_func = free;
    info->transform_func = transform;
    info->serialize_func = serialize;
    info->deserialize_func = deserialize;
    return gst_meta_info_register (info);
#else
    return gst_meta_register (Content::get_api (), Content::kName, sizeof (Meta), init, free,
                              transform);
#endif
  }

private:
  static Meta *cast (GstMeta *meta)
  {
    return reinterpret_cast<Meta *> (meta);
  }

  static Meta *add (GstBuffer *buffer, PlacedMeta value)
  {
    return cast (gst_buffer_add_meta (buffer, Content::get_info (), &value));
  }

  static Expected<Bytes> bytes_of (const PlacedMeta &meta)
  {
    ByteWriter writer;
    writer.add (meta.content.version ());
    TRY (meta.content.write (writer, meta.placed));
    return writer.take ();
  }

  static Expected<Meta *> read (GstBuffer *buffer, std::span<const guint8> bytes)
  {
    ByteReader reader (bytes);
    const auto version = reader.take<guint8> ();
    auto content = version < 1                  ? BadBytes ("no known version")
                   : version > Content::kLatest ? BadBytes ("they are of a later version")
                                                : Content::read (reader, version);
    if (content && !reader.is_done ())
      content = BadBytes ("they are cut off, or too many");
    if (!content)
      return error (Error::Kind::bad_question, "these bytes are not ", Content::kWhat, ": ",
                    content.error (), "; pass all bytes that to_bytes has returned");
    if constexpr (requires { content->arrive (buffer); })
      content->arrive (buffer);
    return add (buffer, std::move (*content));
  }

  /// Initializes a meta with a PlacedMeta from add (). A meta that other code adds is empty.
  static gboolean init (GstMeta *meta, gpointer value, GstBuffer *)
  {
    cast (meta)->priv = value ? new PlacedMeta (std::move (*static_cast<PlacedMeta *> (value)))
                              : new PlacedMeta{ {}, { 1, 1, std::nullopt } };
    return TRUE;
  }

  static void free (GstMeta *meta, GstBuffer *)
  {
    delete static_cast<PlacedMeta *> (std::exchange (cast (meta)->priv, nullptr));
  }

  static gboolean transform (GstBuffer *target, GstMeta *meta, GstBuffer *, GQuark type,
                             gpointer data)
  {
    const auto &[content, before] = of (cast (meta));
    const auto placed = transformed (before, content.width, content.height, type, data);
    if (!placed)
      return FALSE;
    add (target, PlacedMeta{ content, *placed });
    return TRUE;
  }

#if GST_CHECK_VERSION(1, 24, 0)
  static gboolean serialize (const GstMeta *meta, GstByteArrayInterface *data, guint8 *version)
  {
    const PlacedMeta &sent = of (reinterpret_cast<const Meta *> (meta));
    const auto bytes = bytes_of (sent);
    if (!bytes) {
      GST_WARNING ("a meta is left out of what is sent: %s", bytes.error ().message.c_str ());
      return FALSE;
    }
    *version = sent.content.version ();
    return gst_byte_array_interface_append_data (data, bytes->data (), bytes->size ());
  }

  static GstMeta *deserialize (const GstMetaInfo *, GstBuffer *buffer, const guint8 *data,
                               gsize size, guint8)
  {
    const auto added = read (buffer, { data, size });
    if (added)
      return &(*added)->meta;
    GST_WARNING ("a meta that was received is left out: %s", added.error ().message.c_str ());
    return nullptr;
  }
#endif
};

}  // namespace integralhist

/// Defines the functions of the C API that all such metas have, for Meta, a PlacedMeta.
#define PLACED_META_API(Object, name, Meta) \
  GType gst_integral_histogram_##name##_meta_api_get_type (void) \
  { \
    static const GType type = Meta::register_api (); \
    return type; \
  } \
  const GstMetaInfo *gst_integral_histogram_##name##_meta_get_info (void) \
  { \
    static const GstMetaInfo *const info = Meta::register_meta (); \
    return info; \
  } \
  Object *gst_buffer_get_integral_histogram_##name##_meta (GstBuffer *buffer) \
  { \
    g_return_val_if_fail (GST_IS_BUFFER (buffer), nullptr); \
    return Meta::get (buffer); \
  } \
  GBytes *gst_integral_histogram_##name##_meta_to_bytes (Object *meta, GError **error) \
  { \
    g_return_val_if_fail (meta, nullptr); \
    return Meta::to_bytes (meta, error); \
  } \
  Object *gst_buffer_add_integral_histogram_##name##_meta_from_bytes ( \
      GstBuffer *buffer, GBytes *bytes, GError **error) \
  { \
    g_return_val_if_fail (GST_IS_BUFFER (buffer) && bytes, nullptr); \
    g_return_val_if_fail (gst_buffer_is_writable (buffer), nullptr); \
    return Meta::add_from_bytes (buffer, bytes, error); \
  }
