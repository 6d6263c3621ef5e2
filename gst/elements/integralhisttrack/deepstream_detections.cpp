// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reads the detections of NVIDIA's DeepStream, which nvinfer puts into the meta that nvstreammux
// attaches (NvDsBatchMeta). Nothing from NVIDIA is needed: the layout, that of DeepStream 5.0 to
// 9.1, comes from the documentation and headers (docs/deepstream.md).
#include <gst/track/base/target_frame.hpp>

#include "frame_boxes.hpp"

namespace integralhist {
namespace {

// The layouts of DeepStream's metas, such as NvDsBatchMeta, up to the last field that is read.

/// The fields with which each of DeepStream's metas begins.
struct Base {
  void *batch;  // the batch of frames that the meta belongs to
  gint32 type;
  gpointer context, copy, release;
};
static_assert (sizeof (Base) == 40);

struct Object {
  Base base;
  gpointer parent;
  gint32 component, class_id;
  guint64 object_id;
  gfloat detector_box[4], tracker_box[4];
  gfloat confidence, tracker_confidence;
  struct {
    gfloat left, top, width, height;
  } box;
};
static_assert (offsetof (Object, class_id) == 52 && offsetof (Object, confidence) == 96
               && offsetof (Object, box) == 104);

struct Frame {
  Base base;
  guint64 numbers[8];  // the frame's pad, time and size, which are not read
  GList *objects;
};
static_assert (offsetof (Frame, objects) == 104);

struct Batch {
  Base base;
  guint32 most_frames, n_frames;
  gpointer pools[6];
  GList *frames, *user_metas;
  GRecMutex mutex;
};
static_assert (offsetof (Batch, frames) == 96 && offsetof (Batch, mutex) == 112);

/// The GstMeta of a buffer that points to DeepStream's batch of frames.
struct Holder {
  GstMeta meta;
  gpointer data, user_data;
  gint32 type;
};
static_assert (offsetof (Holder, type) == 32);

constexpr gint32 kBatchType = 4097;
constexpr gint kMostObjects = 10000;  // per frame

Batch *batch_of (GstBuffer *buffer)
{
  const GType api = g_type_from_name ("NvDsMetaAPI");  // which NVIDIA's library registers
  if (!api)
    return nullptr;
  gpointer state = nullptr;
  while (GstMeta *meta = gst_buffer_iterate_meta_filtered (buffer, &state, api))
    if (const auto *const holder = reinterpret_cast<const Holder *> (meta);
        holder->type == kBatchType)
      return static_cast<Batch *> (holder->data);
  return nullptr;
}

Detection detection_of (const Object &object, gint number)
{
  const auto &[left, top, width, height] = object.box;
  const gint x = round_to_pixel (left), y = round_to_pixel (top);
  Detection detection = { number,
                          { x, y, round_to_pixel (double (left) + double (width)) - x,
                            round_to_pixel (double (top) + double (height)) - y },
                          std::to_string (object.class_id),
                          std::nullopt };
  set_confidence (detection, object.confidence);
  if (detection.confidence.value_or (0) < 0)  // DeepStream's -0.1 means an unknown confidence
    detection.confidence.reset ();
  return detection;
}

}  // namespace

void read_deepstream_detections (GstBuffer *buffer, std::vector<Detection> &detections)
{
  Batch *const batch = batch_of (buffer);
  // A batch that does not begin with a pointer to itself has another, unknown layout.
  if (!batch || batch->base.batch != batch)
    return;
  g_rec_mutex_lock (&batch->mutex);
  const auto *const frame =
      batch->n_frames == 1 && batch->frames ? static_cast<Frame *> (batch->frames->data) : nullptr;
  gint number = 0;
  const bool is_known = frame && frame->base.batch == batch;
  for (const GList *item = is_known ? frame->objects : nullptr; item && number < kMostObjects;
       item = item->next) {
    const auto *const object = static_cast<const Object *> (item->data);
    if (!object || object->base.batch != batch)
      break;
    detections.push_back (detection_of (*object, number++));
  }
  g_rec_mutex_unlock (&batch->mutex);
}

}  // namespace integralhist
