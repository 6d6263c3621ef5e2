// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-integralhistkeepmetas
 * @title: integralhistkeepmetas
 *
 * Runs elements that drop metas, and puts the metas back on their output: `cudaupload`,
 * `cudadownload`, `cudaconvert`, `cudascale`, `gldownload` and others drop metas about places in
 * the picture. Such metas are integral histograms, #GstVideoRegionOfInterestMeta, the relations of
 * GstAnalytics, and tensors, which GStreamer 1.26 does not copy.
 *
 * The bin runs #integralhistkeepmetas:element: one element, or several as in `gst-launch-1.0`, that
 * show the whole picture, unchanged or scaled. They may queue frames, drop them, repeat them and
 * change their timestamps. A frame is recognised by a meta without tags, which most elements copy.
 * An element that copies no such meta must push each frame before it takes the next. Frames that
 * are not recognised get no metas, and a warning says so once per stream. The metas of scaled
 * frames are scaled. If the aspect ratio changes, there may be borders, and metas are dropped,
 * except for tensors, which are never scaled. Metas that the elements copy themselves stay
 * unchanged, unless NVMM frames are scaled, because NVIDIA's converter does not scale metas.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=video.mp4 ! qtdemux ! h264parse ! nvh264dec ! \
 *     cudaintegralhist ! \
 *     integralhisttrack method=fragments targets="210,117,30,100" ! \
 *     integralhistkeepmetas element=cudadownload ! integralhistoverlay ! videoconvert ! \
 *     autovideosink
 * ]| tracks on the GPU and draws in system memory.
 */
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

#include <gst/video/video.h>

#include <gst/elements/base/element_plumbing.hpp>
#include <gst/elements/base/messages.hpp>
#include <gst/elements/base/tensor_metas.hpp>
#include <gst/frame/nvmm_surface.hpp>
#include <gst/frame/video_formats.hpp>
#include <gst/integralhist/meta/placed.hpp>
#include <gst/properties/properties.hpp>

#include "frame_identity.hpp"
#include "probed_buffers.hpp"

using namespace integralhist;

GST_DEBUG_CATEGORY_STATIC (category);
#define GST_CAT_DEFAULT category

namespace {

struct KeepProperties {
  std::string element;
};

PropertyTable<KeepProperties> make_table ()
{
  PropertyTable<KeepProperties> table;
  table.text ("element", FIELD (element), kReady,
              "Elements that drop metas, written as in gst-launch-1.0, such as \"cudadownload\"; "
              "they must not crop or pad");
  return table;
}

struct State {
  std::shared_ptr<const KeepProperties> properties = std::make_shared<KeepProperties> ();
  GstElement *inner = nullptr;  // owned by the bin

  FrameIdentity identity;

  std::mutex mutex;  // guards the members below
  FrameFormat in, out;
  bool has_metas = false;    // a frame of this stream had metas
  bool loss_warned = false;  // the warning about unknown frames was posted
};

/// Returns whether metas of a type are about places in the picture, and not about the memory.
bool is_about_places (GType api)
{
  const auto has = [api] (const char *tag) {
    return gst_meta_api_type_has_tag (api, g_quark_from_string (tag));
  };
  return !has (GST_META_TAG_MEMORY_STR)
         && (has (GST_META_TAG_VIDEO_SIZE_STR) || has (GST_META_TAG_VIDEO_ORIENTATION_STR));
}

/// Calls `visit` for each meta of a buffer that is about places in the picture or has tensors.
template <class Visit>
void each_meta (GstBuffer *buffer, Visit &&visit)
{
  gpointer state = nullptr;
  while (GstMeta *meta = gst_buffer_iterate_meta (buffer, &state))
    if (is_about_places (meta->info->api) || has_tensors (meta))
      visit (meta);
}

void copy_meta (GstBuffer *to, GstMeta *meta, GstBuffer *from)
{
  if (has_tensors (meta)) {
    copy_tensors (to, meta);
    return;
  }
  GstMetaTransformCopy whole = { FALSE, 0, gsize (-1) };
  if (meta->info->transform_func)
    meta->info->transform_func (to, meta, from, g_quark_from_static_string ("gst-copy"), &whole);
}

/// Drops those metas about places in the picture whose kind the input frame also had: NVIDIA's
/// converter copies such metas unchanged when it scales, so they are wrong.
void drop_copies (GstBuffer *buffer, GstBuffer *frame)
{
  gst_buffer_foreach_meta (
      buffer,
      [] (GstBuffer *, GstMeta **meta, gpointer frame) -> gboolean {
        const GType api = (*meta)->info->api;
        if (is_about_places (api) && gst_buffer_get_meta (static_cast<GstBuffer *> (frame), api))
          *meta = nullptr;
        return TRUE;
      },
      frame);
}

/// Puts the metas of the input frame on the output buffer, scaled like the frame.
void put_metas (GstBuffer *to, const FrameMetas &frame, const FrameFormat &output)
{
  GstBuffer *const from = frame.metas.get ();
  GstVideoInfo in = frame.format.info, out = output.info;
  GstVideoMetaTransform scale = { &in, &out };
  const bool is_scaled =
                 in.finfo && out.finfo && (in.width != out.width || in.height != out.height),
             has_borders = is_scaled && !same_aspect (in, out);
  if (is_scaled && (frame.format.memory == FrameMemory::nvmm || output.memory == FrameMemory::nvmm))
    drop_copies (to, from);
  std::vector<GType> present;
  each_meta (to, [&] (GstMeta *meta) { present.push_back (meta->info->api); });
  if (has_borders)
    GST_INFO ("%dx%d to %dx%d changes the aspect ratio, so there may be borders: metas about "
              "places are dropped",
              in.width, in.height, out.width, out.height);
  each_meta (from, [&] (GstMeta *meta) {
    if (std::ranges::count (present, meta->info->api))
      return;
    if (!is_scaled || has_tensors (meta))
      copy_meta (to, meta, from);
    else if (!has_borders && meta->info->transform_func)
      meta->info->transform_func (to, meta, from, gst_video_meta_transform_scale_get_quark (),
                                  &scale);
  });
}

/// Returns why an element may show another picture than its input, such as a cropped one, or "".
std::string refusal_of (GstElement *element)
{
  const auto has = [element] (const char *name) {
    return g_object_class_find_property (G_OBJECT_GET_CLASS (element), name);
  };
  if (has ("left") && has ("right") && has ("top") && has ("bottom"))
    return "crops the picture, or adds to it";
  for (const char *const crop : { "src-crop", "dest-crop" })  // of nvvideoconvert
    if (const GParamSpec *const spec = has (crop); spec && G_IS_PARAM_SPEC_STRING (spec)) {
      g_autofree gchar *sides = nullptr;
      g_object_get (element, crop, &sides, nullptr);
      if (sides && std::strpbrk (sides, "123456789"))
        return "crops the picture, or adds to it";
    }
  if (const GParamSpec *const flip = has ("flip-method"); flip && G_IS_PARAM_SPEC_ENUM (flip)) {
    gint method = 0;
    g_object_get (element, "flip-method", &method, nullptr);
    if (method != 0)
      return "turns the picture";
  }
  if (GST_IS_VIDEO_DIRECTION (element)) {
    GstVideoOrientationMethod method;
    g_object_get (element, "video-direction", &method, nullptr);
    if (method != GST_VIDEO_ORIENTATION_IDENTITY)
      return "turns the picture";
  }
  return "";
}

}  // namespace

INTEGRALHIST_ELEMENT (GstIntegralHistKeepMetas, gst_integral_hist_keep_metas,
                      INTEGRAL_HIST_KEEP_METAS, GstBin, GST_TYPE_BIN, integralhistkeepmetas,
                      State *state;)

namespace {

using Element = ElementPlumbing<ElementAccess<GstIntegralHistKeepMetas, make_table>>;

bool has_metas (GstBuffer *buffer)
{
  bool some = false;
  each_meta (buffer, [&] (GstMeta *) { some = true; });
  return some;
}

GstBuffer *enter (State &state, GstBuffer *buffer)
{
  // Copies metas to a buffer without memory, so that the frame's memory can return to its pool.
  auto frame = std::make_shared<FrameMetas> (
      FrameMetas{ {}, { gst_buffer_new (), [] (GstBuffer *metas) { gst_buffer_unref (metas); } } });
  each_meta (buffer, [&] (GstMeta *meta) { copy_meta (frame->metas.get (), meta, buffer); });
  {
    const std::lock_guard lock (state.mutex);
    frame->format = state.in;
    state.has_metas = state.has_metas || has_metas (frame->metas.get ());
  }
  return state.identity.mark (buffer, std::move (frame));
}

/// Warns once per stream that frames leave the GstBin without their metas.
void warn_of_loss (GstIntegralHistKeepMetas *self)
{
  State &state = *self->state;
  {
    const std::lock_guard lock (state.mutex);
    if (!state.has_metas || std::exchange (state.loss_warned, true))
      return;
  }
  const std::string name = state.identity.losing_element ();
  GST_ELEMENT_WARNING (
      self, STREAM, FAILED,
      ("Frames pass without their metas: %s does not make one new buffer for each "
       "frame, at once and with the frame's timestamp. Attach the metas after it, or remove it "
       "from the property element.",
       name.empty () ? "An element inside" : name.c_str ()),
      (nullptr));
}

GstBuffer *leave (GstIntegralHistKeepMetas *self, GstBuffer *buffer)
{
  State &state = *self->state;
  const FrameMetasRef frame = state.identity.take (&buffer);
  if (!frame) {
    warn_of_loss (self);
    return buffer;
  }
  if (!has_metas (frame->metas.get ()))
    return buffer;
  FrameFormat out;
  {
    const std::lock_guard lock (state.mutex);
    out = state.out;
  }
  buffer = make_writable (buffer);
  put_metas (buffer, *frame, out);
  return buffer;
}

/// Changes the buffers of a pad probe with `change`. If a CAPS event passes, sets the `format` of
/// the frames to come.
template <class Change>
GstPadProbeReturn handle (GstPadProbeInfo *info, State &state, FrameFormat &format, Change &&change)
{
  if (GST_PAD_PROBE_INFO_TYPE (info)
      & (GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST)) {
    change_buffers (info, change);
    return GST_PAD_PROBE_OK;
  }
  GstEvent *const event = GST_PAD_PROBE_INFO_EVENT (info);
  if (GST_EVENT_TYPE (event) != GST_EVENT_CAPS)
    return GST_PAD_PROBE_OK;
  const std::lock_guard lock (state.mutex);
  GstCaps *caps;
  gst_event_parse_caps (event, &caps);
  format = { .memory = memory_of (caps) };
  if (!gst_video_info_from_caps (&format.info, caps))
    format.info = {};
  return GST_PAD_PROBE_OK;
}

GstPadProbeReturn at_sink (GstPad *, GstPadProbeInfo *info, gpointer element)
{
  State &state = Element::state_of (element);
  return handle (info, state, state.in, [&] (GstBuffer *buffer) { return enter (state, buffer); });
}

GstPadProbeReturn at_src (GstPad *, GstPadProbeInfo *info, gpointer element)
{
  State &state = Element::state_of (element);
  return handle (info, state, state.out, [&] (GstBuffer *buffer) {
    return leave (GST_INTEGRAL_HIST_KEEP_METAS (element), buffer);
  });
}

void add_pad (GstIntegralHistKeepMetas *self, const char *name, GstPadProbeCallback at)
{
  GstPad *pad = gst_ghost_pad_new_no_target_from_template (
      name, gst_element_class_get_pad_template (GST_ELEMENT_GET_CLASS (self), name));
  gst_pad_add_probe (pad,
                     GstPadProbeType (GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST
                                      | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM
                                      | GST_PAD_PROBE_TYPE_EVENT_FLUSH),
                     at, self, nullptr);
  gst_element_add_pad (GST_ELEMENT (self), pad);
}

void set_target (GstIntegralHistKeepMetas *self, const char *name)
{
  State &state = Element::state_of (self);
  g_autoptr (GstPad) pad = gst_element_get_static_pad (GST_ELEMENT (self), name);
  g_autoptr (GstPad) target =
      state.inner ? gst_element_get_static_pad (state.inner, name) : nullptr;
  gst_ghost_pad_set_target (GST_GHOST_PAD (pad), target);
}

/// Returns whether a launch line ends in caps; GStreamer's parser needs an element after caps.
bool ends_in_caps (const std::string &description)
{
  const std::size_t begin = description.find_first_not_of (" \"", description.rfind ('!') + 1);
  if (begin == std::string::npos)
    return false;
  const std::string type =
      description.substr (begin, description.find_first_of (" ,(;", begin) - begin);
  return type.find ('/') != std::string::npos && type.find ('=') == std::string::npos;
}

/// Calls `visit` for each element in a GstBin, also nested ones; starts again if elements change.
template <class Visit>
void each_inside (GstElement *bin, Visit &&visit)
{
  g_autoptr (GstIterator) all = gst_bin_iterate_recurse (GST_BIN (bin));
  while (gst_iterator_foreach (
             all,
             [] (const GValue *item, gpointer visit) {
               (*static_cast<std::remove_reference_t<Visit> *> (visit)) (
                   GST_ELEMENT (g_value_get_object (item)));
             },
             &visit)
         == GST_ITERATOR_RESYNC)
    gst_iterator_resync (all);
}

/// Puts the elements that a launch line describes into the GstBin, in place of the old elements.
Expected<> fill (GstIntegralHistKeepMetas *self, const std::string &description)
{
  State &state = Element::state_of (self);
  if (state.inner) {
    gst_element_set_state (state.inner, GST_STATE_NULL);
    gst_bin_remove (GST_BIN (self), std::exchange (state.inner, nullptr));
    state.identity.forget_elements ();
  }
  if (!description.empty ()) {
    GError *problem = nullptr;
    GstElement *inner = gst_parse_bin_from_description (
        (description + (ends_in_caps (description) ? " ! identity" : "")).c_str (), TRUE, &problem);
    if (!inner || problem) {
      if (inner)
        gst_object_unref (gst_object_ref_sink (inner));
      const std::string why = problem ? problem->message : "it is none";
      g_clear_error (&problem);
      return error (Error::Kind::bad_setting, "element=\"", description, "\" cannot be made: ", why,
                    "; write elements as in gst-launch-1.0, and install what is missing");
    }
    state.inner = inner;
    gst_bin_add (GST_BIN (self), inner);
    each_inside (inner, [&] (GstElement *element) { state.identity.watch (element); });
  }
  set_target (self, "sink");
  set_target (self, "src");
  return {};
}

Expected<> check_inside (GstIntegralHistKeepMetas *self)
{
  State &state = Element::state_of (self);
  const std::string description = Element::properties_of (self)->element;
  if (!state.inner)
    TRY (fill (self, description));  // returns the error
  if (!state.inner)
    return error (Error::Kind::bad_setting,
                  "element=\"\" names no element: set element to one that drops metas, such as "
                  "integralhistkeepmetas element=cudadownload");
  for (const char *name : { "sink", "src" }) {
    g_autoptr (GstPad) pad = gst_element_get_static_pad (state.inner, name);
    if (!pad)
      return error (Error::Kind::bad_setting, "element=\"", description, "\" has no ", name,
                    " pad that always exists: name elements that take frames and give frames");
  }
  std::string refusal;
  each_inside (state.inner, [&] (GstElement *element) {
    if (const std::string why = refusal_of (element); !why.empty ())
      refusal = joined (GST_OBJECT_NAME (element), " ", why);
  });
  if (!refusal.empty ())
    return error (
        Error::Kind::bad_setting, "element=\"", description, "\": ", refusal,
        ", so the places in metas would be wrong: put it outside of integralhistkeepmetas");
  return {};
}

}  // namespace

static void gst_integral_hist_keep_metas_set_property (GObject *object, guint id,
                                                       const GValue *value, GParamSpec *spec)
{
  if (!Element::take_property (object, id, value, spec))
    return;  // the elements inside run
  // Errors of the property `element` are reported when the GstBin goes to READY or PAUSED.
  (void) fill (GST_INTEGRAL_HIST_KEEP_METAS (object), Element::properties_of (object)->element);
}

static GstStateChangeReturn gst_integral_hist_keep_metas_change_state (GstElement *element,
                                                                       GstStateChange transition)
{
  auto *self = GST_INTEGRAL_HIST_KEEP_METAS (element);
  // Checks the elements inside at both changes: the property `element` may also be set in READY.
  if (transition == GST_STATE_CHANGE_NULL_TO_READY
      || transition == GST_STATE_CHANGE_READY_TO_PAUSED)
    if (post_error_if_failed (self, check_inside (self)))
      return GST_STATE_CHANGE_FAILURE;
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS (Element::parent_class ())->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) {
    self->state->identity.reset ();
    const std::lock_guard lock (self->state->mutex);
    self->state->has_metas = self->state->loss_warned = false;
  }
  return result;
}

static void gst_integral_hist_keep_metas_init (GstIntegralHistKeepMetas *self)
{
  self->state = new State;
  add_pad (self, "sink", at_sink);
  add_pad (self, "src", at_src);
}

static void gst_integral_hist_keep_metas_class_init (GstIntegralHistKeepMetasClass *klass)
{
  GST_DEBUG_CATEGORY_INIT (category, "integralhistkeepmetas", 0, "metas across other elements");
  Element::init_class (klass);
  Element::install_properties (klass, Element::table_of (nullptr));
  G_OBJECT_CLASS (klass)->set_property = gst_integral_hist_keep_metas_set_property;
  GST_ELEMENT_CLASS (klass)->change_state = gst_integral_hist_keep_metas_change_state;
  g_autoptr (GstCaps) caps = gst_caps_from_string ("video/x-raw(ANY)");
  set_texts_and_pads (
      klass, { "Meta keeper", "Filter/Video",
               "Runs elements that drop metas, such as tracks, and puts the metas on the output",
               caps, caps });
}
