// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_identity.hpp"

#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <gst/frame/nvmm_surface.hpp>

#include "probed_buffers.hpp"

namespace integralhist {
namespace {

/// The mark of a frame: a meta of its buffers. `bin` is the number of the GstBin that made it.
struct MarkMeta {
  GstMeta meta;
  guint64 bin;
  FrameMetasRef *frame;
};

GType mark_api ()
{
  static const gchar *none[] = { nullptr };
  static const GType type = gst_meta_api_type_register ("GstIntegralHistKeptFrameMetaAPI", none);
  return type;
}

void add_mark (GstBuffer *buffer, guint64 bin, FrameMetasRef frame);

const GstMetaInfo *mark_info ()
{
  const auto init = [] (GstMeta *meta, gpointer, GstBuffer *) -> gboolean {
    auto *const mark = reinterpret_cast<MarkMeta *> (meta);
    mark->frame = new FrameMetasRef;
    return TRUE;
  };
  const auto free = [] (GstMeta *meta, GstBuffer *) {
    delete reinterpret_cast<MarkMeta *> (meta)->frame;
  };
  const auto transform = [] (GstBuffer *to, GstMeta *meta, GstBuffer *, GQuark type,
                             gpointer data) -> gboolean {
    const auto *const mark = reinterpret_cast<const MarkMeta *> (meta);
    const bool is_part = GST_META_TRANSFORM_IS_COPY (type)
                         && static_cast<const GstMetaTransformCopy *> (data)->region;
    if (!is_part)
      add_mark (to, mark->bin, *mark->frame);
    return TRUE;
  };
  static const GstMetaInfo *const info = gst_meta_register (
      mark_api (), "GstIntegralHistKeptFrameMeta", sizeof (MarkMeta), init, free, transform);
  return info;
}

void add_mark (GstBuffer *buffer, guint64 bin, FrameMetasRef frame)
{
  auto *const mark =
      reinterpret_cast<MarkMeta *> (gst_buffer_add_meta (buffer, mark_info (), nullptr));
  mark->bin = bin;
  *mark->frame = std::move (frame);
}

/// Returns the frame of a buffer's marks; null if there is no mark, or marks of several frames.
FrameMetasRef frame_of (GstBuffer *buffer, guint64 bin)
{
  FrameMetasRef frame;
  gpointer state = nullptr;
  while (GstMeta *meta = gst_buffer_iterate_meta_filtered (buffer, &state, mark_api ()))
    if (const auto *const mark = reinterpret_cast<const MarkMeta *> (meta); mark->bin == bin) {
      if (frame && frame != *mark->frame)
        return nullptr;
      frame = *mark->frame;
    }
  return frame;
}

/// Returns the frame that all buffers of a list belong to; null if there are several frames.
FrameMetasRef frame_of (GstBufferList *list, guint64 bin)
{
  FrameMetasRef frame;
  for (guint i = 0; i < gst_buffer_list_length (list); i++) {
    const FrameMetasRef next = frame_of (gst_buffer_list_get (list, i), bin);
    if (!next || (frame && next != frame))
      return nullptr;
    frame = next;
  }
  return frame;
}

GstClockTime pts_of (GstBufferList *list)
{
  return gst_buffer_list_length (list) > 0 ? GST_BUFFER_PTS (gst_buffer_list_get (list, 0))
                                           : GST_CLOCK_TIME_NONE;
}

bool has_mark (GstBuffer *buffer, guint64 bin)
{
  gpointer state = nullptr;
  while (GstMeta *meta = gst_buffer_iterate_meta_filtered (buffer, &state, mark_api ()))
    if (reinterpret_cast<const MarkMeta *> (meta)->bin == bin)
      return true;
  return false;
}

GstBuffer *without_marks (GstBuffer *buffer, guint64 bin)
{
  if (!has_mark (buffer, bin))
    return buffer;
  buffer = make_writable (buffer);
  gst_buffer_foreach_meta (
      buffer,
      [] (GstBuffer *, GstMeta **meta, gpointer bin) -> gboolean {
        if ((*meta)->info->api == mark_api ()
            && reinterpret_cast<const MarkMeta *> (*meta)->bin
                   == *static_cast<const guint64 *> (bin))
          *meta = nullptr;
        return TRUE;
      },
      &bin);
  return buffer;
}

/// The state of one watched element, which may lose the marks of frames. A frame goes into the
/// element as one buffer of raw video, or as several packets in a row.
///
///   the element has ...           has_frame  has_given  current    held
///   taken a frame                 true       false      the frame  the frame
///   given the frame               true       true       the frame  the frame
///   given it out of the GstBin    true       true       the frame  null
///   taken a buffer without mark   false      false      null       null
///   taken a flush or an event     false      false      null       null
struct Watch {
  explicit Watch (GstElement *of) : element (GST_OBJECT_NAME (of)) {}

  const std::string element;
  bool is_trusted = true;  // so far the element has given each frame at once
  bool takes_raw = false;

  bool has_frame = false;  // the last buffer that entered the element had a mark
  bool has_given = false;  // the element has given the frame of its last buffer
  std::weak_ptr<const FrameMetas> current;
  FrameMetasRef held;  // keeps `current` until it has left the GstBin
  GstClockTime pts = GST_CLOCK_TIME_NONE;
  std::thread::id thread;  // the thread that brought the last buffer or event

  /// Forgets the last buffer of the element, because a flush may have discarded it.
  void drop ()
  {
    has_frame = has_given = false;
    held = nullptr;
    current.reset ();
  }
  /// Notes that an element which has not given the last frame yet does not give frames at once.
  void end_input ()
  {
    if (has_frame && !has_given)
      is_trusted = false;
    drop ();
    thread = std::this_thread::get_id ();
  }
  void note_input (FrameMetasRef frame, GstClockTime timestamp)
  {
    if (takes_raw || !frame || current.lock () != frame)
      end_input ();
    thread = std::this_thread::get_id ();
    pts = timestamp;
    has_frame = bool (frame);
    current = frame;
    held = std::move (frame);
  }
  /// Returns the frame of a buffer that leaves the watched element; null if unknown. `marked` is
  /// the frame that the buffer's mark (a meta) names, or null. A buffer without a mark belongs to
  /// the last frame that went in, if its timestamp is the same and the element is trusted. A buffer
  /// from another thread or of another frame ends the trust.
  FrameMetasRef note_output (const FrameMetasRef &marked, GstClockTime timestamp)
  {
    const FrameMetasRef last = current.lock ();
    if (thread != std::this_thread::get_id () || (marked && marked != last))
      is_trusted = false;
    const bool is_last = !marked && is_trusted && timestamp == pts;
    const FrameMetasRef frame = is_last ? last : marked;
    has_given = has_given || (frame && frame == last);
    return frame;
  }
};

}  // namespace

struct FrameIdentity::Watches {
  static inline std::atomic<guint64> n_bins = 0;
  const guint64 bin = ++n_bins;

  mutable std::mutex mutex;  // guards the members below
  std::vector<std::shared_ptr<Watch>> all;
  std::string losing_element;
};

struct FrameIdentity::Probe {
  const std::shared_ptr<Watches> watches;
  const std::shared_ptr<Watch> watch;

  static GstPadProbeReturn input (GstPad *, GstPadProbeInfo *info, gpointer data)
  {
    const auto &[watches, watch] = *static_cast<const Probe *> (data);
    const std::lock_guard lock (watches->mutex);
    if (GST_PAD_PROBE_INFO_TYPE (info) & GST_PAD_PROBE_TYPE_BUFFER) {
      GstBuffer *const buffer = GST_PAD_PROBE_INFO_BUFFER (info);
      watch->note_input (frame_of (buffer, watches->bin), GST_BUFFER_PTS (buffer));
    } else if (GST_PAD_PROBE_INFO_TYPE (info) & GST_PAD_PROBE_TYPE_BUFFER_LIST) {
      // Elements may split a list, so a list of several raw frames counts as an unknown frame.
      GstBufferList *const list = GST_PAD_PROBE_INFO_BUFFER_LIST (info);
      const bool are_frames = watch->takes_raw && gst_buffer_list_length (list) > 1;
      watch->note_input (are_frames ? nullptr : frame_of (list, watches->bin), pts_of (list));
    } else if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_FLUSH_STOP) {
      watch->drop ();
      watch->is_trusted = true;  // the flush has discarded late frames
    } else if (gst_event_type_get_flags (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)))
               & GST_EVENT_TYPE_SERIALIZED) {
      watch->end_input ();
      if (GST_EVENT_TYPE (GST_PAD_PROBE_INFO_EVENT (info)) == GST_EVENT_CAPS) {
        GstCaps *caps;
        gst_event_parse_caps (GST_PAD_PROBE_INFO_EVENT (info), &caps);
        watch->takes_raw = gst_structure_has_name (gst_caps_get_structure (caps, 0), "video/x-raw");
      }
    }
    return GST_PAD_PROBE_OK;
  }

  static GstPadProbeReturn output (GstPad *, GstPadProbeInfo *info, gpointer data)
  {
    const auto &[watches, watch] = *static_cast<const Probe *> (data);
    change_buffers (info, [&] (GstBuffer *buffer) {
      const std::lock_guard lock (watches->mutex);
      const FrameMetasRef marked = frame_of (buffer, watches->bin),
                          frame = watch->note_output (marked, GST_BUFFER_PTS (buffer));
      std::string &losing = watches->losing_element;
      if (!frame && losing.empty () && (watch->has_frame || !watch->is_trusted))
        losing = watch->element;
      else if (frame && losing == watch->element)
        losing.clear ();  // only a header had no mark: no frame was lost
      if (frame != marked) {
        buffer = make_writable (buffer);
        add_mark (buffer, watches->bin, frame);
      }
      return buffer;
    });
    return GST_PAD_PROBE_OK;
  }

  void add_to (GstPad *pad, GstPadProbeType type, GstPadProbeCallback callback) const
  {
    gst_pad_add_probe (pad, type, callback, new Probe (*this),
                       [] (gpointer data) { delete static_cast<Probe *> (data); });
  }
};

static GstPad *only_pad (const GList *pads)
{
  return pads && !pads->next ? GST_PAD (pads->data) : nullptr;
}

FrameIdentity::FrameIdentity () : watches_ (std::make_shared<Watches> ()) {}

void FrameIdentity::watch (GstElement *element)
{
  GstPad *const sink = only_pad (element->sinkpads), *const src = only_pad (element->srcpads);
  if (!sink || !src || GST_IS_BIN (element))
    return;
  const Probe probe = { watches_, std::make_shared<Watch> (element) };
  constexpr int kBuffers = GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST,
                kEvents = GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM | GST_PAD_PROBE_TYPE_EVENT_FLUSH;
  probe.add_to (sink, GstPadProbeType (kBuffers | kEvents), Probe::input);
  probe.add_to (src, GstPadProbeType (kBuffers), Probe::output);
  const std::lock_guard lock (watches_->mutex);
  watches_->all.push_back (probe.watch);
}

void FrameIdentity::forget_elements ()
{
  const std::lock_guard lock (watches_->mutex);
  watches_->all.clear ();
}

void FrameIdentity::reset ()
{
  const std::lock_guard lock (watches_->mutex);
  for (const auto &watch : watches_->all) {
    watch->drop ();
    watch->is_trusted = true;
  }
  watches_->losing_element.clear ();
}

GstBuffer *FrameIdentity::mark (GstBuffer *buffer, FrameMetasRef frame)
{
  buffer = make_writable (buffer);
  add_mark (buffer, watches_->bin, std::move (frame));
  return buffer;
}

FrameMetasRef FrameIdentity::take (GstBuffer **buffer)
{
  FrameMetasRef frame = frame_of (*buffer, watches_->bin);
  *buffer = without_marks (*buffer, watches_->bin);
  const std::lock_guard lock (watches_->mutex);
  for (const auto &watch : watches_->all)
    if (watch->held == frame)
      watch->held = nullptr;
  return frame;
}

std::string FrameIdentity::losing_element () const
{
  const std::lock_guard lock (watches_->mutex);
  return watches_->losing_element;
}

}  // namespace integralhist
