// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-integralhistkeepmetas
 * @title: integralhistkeepmetas
 *
 * Runs elements that drop metas, and puts these on what comes out: `cudaupload`, `cudadownload`,
 * `cudaconvert`, `cudascale`, `gldownload` and others hand on no meta that is about places in the
 * picture. Those are integral histograms, #GstVideoRegionOfInterestMeta and the relations of
 * GstAnalytics; and tensors, which GStreamer 1.26 does not copy.
 *
 * It is a bin around #integralhistkeepmetas:element, an element or several as in `gst-launch-1.0`,
 * that show the whole picture, as it is or scaled. A frame that comes out belongs to the one that
 * went in with its timestamp. Of scaled frames the metas are scaled; where the aspect ratio changes
 * there may be borders, and they are dropped, but for tensors, which never follow. A kind of meta
 * that the elements hand on by themselves stays as they made it.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=video.mp4 ! qtdemux ! h264parse ! nvh264dec ! cudaintegralhist !
 * \
 *     integralhisttrack method=fragments targets="210,117,30,100" ! \
 *     integralhistkeepmetas element=cudadownload ! integralhistoverlay ! videoconvert ! \
 *     autovideosink
 * ]| tracks on the GPU and draws in system memory.
 */
#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

#include <gst/integralhist/placed.hpp>
#include <gst/video/video.h>

#include "element_plumbing.hpp"
#include "messages.hpp"
#include "properties.hpp"
#include "tensor_metas.hpp"

using namespace integralhist;

GST_DEBUG_CATEGORY_STATIC (category);
#define GST_CAT_DEFAULT category

namespace {

/// Frames that may be inside at once; older ones are taken for dropped.
constexpr std::size_t kMostInside = 256;

struct KeepProperties {
  std::string element;
};

PropertyTable<KeepProperties> make_table ()
{
  PropertyTable<KeepProperties> table;
  table.text ("element", FIELD (element), kReady,
              "The element that drops metas, or several as in gst-launch-1.0, such as "
              "\"cudadownload\" or \"cudascale ! video/x-raw(memory:CUDAMemory),width=640\"; they "
              "show the whole picture, as it is or scaled",
              [] (const KeepProperties &) -> Expected<> { return {}; });
  return table;
}

struct FreeBuffer {
  void operator() (GstBuffer *buffer) const { gst_buffer_unref (buffer); }
};

/// A frame that went in.
struct Inside {
  GstClockTime pts;
  GstVideoInfo info;
  std::unique_ptr<GstBuffer, FreeBuffer> metas;  // without memory, which others may want back
};

struct State {
  KeepProperties properties;    // guarded by the object lock
  GstElement *inner = nullptr;  // owned by the bin

  std::mutex mutex;  // guards what follows
  GstVideoInfo in = {}, out = {};
  std::deque<Inside> inside;  // the oldest in front
};

/// Returns whether a meta is about places in the picture, and not about the memory.
bool is_about_places (GType api)
{
  const auto has = [api] (const char *tag) {
    return gst_meta_api_type_has_tag (api, g_quark_from_string (tag));
  };
  return !has (GST_META_TAG_MEMORY_STR)
         && (has (GST_META_TAG_VIDEO_SIZE_STR) || has (GST_META_TAG_VIDEO_ORIENTATION_STR));
}

/// Calls `visit` for each meta about places, and for tensors.
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

bool same_size (const GstVideoInfo &a, const GstVideoInfo &b)
{
  return a.width == b.width && a.height == b.height;
}

/// Puts what the frame had on what became of it.
void put_metas (GstBuffer *to, const Inside &frame, GstVideoInfo out)
{
  GstBuffer *const from = frame.metas.get ();
  std::vector<GType> theirs;
  each_meta (to, [&] (GstMeta *meta) { theirs.push_back (meta->info->api); });
  GstVideoInfo in = frame.info;
  GstVideoMetaTransform scale = { &in, &out };
  const bool is_scaled = in.finfo && out.finfo && !same_size (in, out),
             has_borders = is_scaled && !same_aspect (in, out);
  if (has_borders)
    GST_INFO ("%dx%d to %dx%d changes the aspect ratio, so there may be borders: metas about "
              "places are dropped",
              in.width, in.height, out.width, out.height);
  each_meta (from, [&] (GstMeta *meta) {
    if (std::ranges::count (theirs, meta->info->api))
      return;
    if (!is_scaled || has_tensors (meta))
      copy_meta (to, meta, from);
    else if (!has_borders && meta->info->transform_func)
      meta->info->transform_func (to, meta, from, gst_video_meta_transform_scale_get_quark (),
                                  &scale);
  });
}

/// Returns why an element may show another picture, or nothing.
std::string refusal_of (GstElement *element)
{
  const auto has = [element] (const char *name) {
    return g_object_class_find_property (G_OBJECT_GET_CLASS (element), name);
  };
  if (has ("left") && has ("right") && has ("top") && has ("bottom"))
    return "crops the picture, or adds to it";
  if (GST_IS_VIDEO_DIRECTION (element)) {
    GstVideoOrientationMethod method;
    g_object_get (element, "video-direction", &method, nullptr);
    if (method != GST_VIDEO_ORIENTATION_IDENTITY)
      return "turns the picture";
  }
  return "";
}

}  // namespace

G_DECLARE_FINAL_TYPE (GstIntegralHistKeepMetas, gst_integral_hist_keep_metas, GST,
                      INTEGRAL_HIST_KEEP_METAS, GstBin)
struct _GstIntegralHistKeepMetas {
  GstBin parent;

  State *state;
};

#define gst_integral_hist_keep_metas_parent_class parent_class
G_DEFINE_FINAL_TYPE (GstIntegralHistKeepMetas, gst_integral_hist_keep_metas, GST_TYPE_BIN)
GST_ELEMENT_REGISTER_DEFINE (integralhistkeepmetas, "integralhistkeepmetas", GST_RANK_NONE,
                             gst_integral_hist_keep_metas_get_type ())

namespace {

struct Element : ElementPlumbing<Element> {
  static const auto &table_of (gpointer)
  {
    static const auto table = make_table ();
    return table;
  }
  static State &state_of (gpointer element)
  {
    return *static_cast<GstIntegralHistKeepMetas *> (element)->state;
  }
  static void take_transition (gpointer, GstStateChange) {}
};

// frames

void take_in (State &state, GstBuffer *buffer)
{
  std::unique_ptr<GstBuffer, FreeBuffer> metas (gst_buffer_new ());
  each_meta (buffer, [&] (GstMeta *meta) { copy_meta (metas.get (), meta, buffer); });
  const std::lock_guard lock (state.mutex);
  state.inside.push_back ({ GST_BUFFER_PTS (buffer), state.in, std::move (metas) });
  if (state.inside.size () > kMostInside)
    state.inside.pop_front ();
}

GstBuffer *let_out (State &state, GstBuffer *buffer)
{
  const std::lock_guard lock (state.mutex);
  const auto frame = std::ranges::find (state.inside, GST_BUFFER_PTS (buffer), &Inside::pts);
  if (frame == state.inside.end ())
    return buffer;
  // those before it were dropped; none is kept longer, as its histograms are
  const Inside its = std::move (*frame);
  state.inside.erase (state.inside.begin (), frame + 1);
  bool some = false;
  each_meta (its.metas.get (), [&] (GstMeta *) { some = true; });
  if (!some)
    return buffer;
  buffer = gst_buffer_make_writable (buffer);
  put_metas (buffer, its, state.out);
  return buffer;
}

/// Calls `change` for the buffers of a probe, which it may replace.
template <class Change>
void each_buffer (GstPadProbeInfo *info, Change &&change)
{
  if (GST_PAD_PROBE_INFO_TYPE (info) & GST_PAD_PROBE_TYPE_BUFFER) {
    info->data = change (GST_PAD_PROBE_INFO_BUFFER (info));
  } else {
    GstBufferList *const list =
        gst_buffer_list_make_writable (GST_PAD_PROBE_INFO_BUFFER_LIST (info));
    gst_buffer_list_foreach (
        list,
        [] (GstBuffer **buffer, guint, gpointer change) -> gboolean {
          *buffer = (*static_cast<std::remove_reference_t<Change> *> (change)) (*buffer);
          return TRUE;
        },
        &change);
    info->data = list;
  }
}

bool is_event (GstPadProbeInfo *info)
{
  return GST_PAD_PROBE_INFO_TYPE (info)
         & (GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM | GST_PAD_PROBE_TYPE_EVENT_FLUSH);
}

/// Takes the caps of an event, or forgets all frames at a flush.
void take_event (State &state, GstEvent *event, GstVideoInfo &info)
{
  const std::lock_guard lock (state.mutex);
  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP)
    state.inside.clear ();
  if (GST_EVENT_TYPE (event) != GST_EVENT_CAPS)
    return;
  GstCaps *caps;
  gst_event_parse_caps (event, &caps);
  if (!gst_video_info_from_caps (&info, caps))
    info = {};
}

GstPadProbeReturn at_sink (GstPad *, GstPadProbeInfo *info, gpointer element)
{
  State &state = Element::state_of (element);
  if (is_event (info))
    take_event (state, GST_PAD_PROBE_INFO_EVENT (info), state.in);
  else
    each_buffer (info, [&] (GstBuffer *buffer) {
      take_in (state, buffer);
      return buffer;
    });
  return GST_PAD_PROBE_OK;
}

GstPadProbeReturn at_src (GstPad *, GstPadProbeInfo *info, gpointer element)
{
  State &state = Element::state_of (element);
  if (is_event (info))
    take_event (state, GST_PAD_PROBE_INFO_EVENT (info), state.out);
  else
    each_buffer (info, [&] (GstBuffer *buffer) { return let_out (state, buffer); });
  return GST_PAD_PROBE_OK;
}

// the elements inside

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

/// Returns whether a line ends in caps, behind which GStreamer's parser wants an element.
bool ends_in_caps (const std::string &description)
{
  const std::size_t begin = description.find_first_not_of (" \"", description.rfind ('!') + 1);
  if (begin == std::string::npos)
    return false;
  const std::string type =
      description.substr (begin, description.find_first_of (" ,(;", begin) - begin);
  return type.find ('/') != std::string::npos && type.find ('=') == std::string::npos;
}

/// Puts the elements inside, in place of others.
Expected<> fill (GstIntegralHistKeepMetas *self, const std::string &description)
{
  State &state = Element::state_of (self);
  if (state.inner) {
    gst_element_set_state (state.inner, GST_STATE_NULL);
    gst_bin_remove (GST_BIN (self), std::exchange (state.inner, nullptr));
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
      return error (Error::Kind::bad_setting, "element=\"", description,
                    "\" cannot be made: ", why);
    }
    state.inner = inner;
    gst_bin_add (GST_BIN (self), inner);
  }
  set_target (self, "sink");
  set_target (self, "src");
  return {};
}

Expected<> check_inside (GstIntegralHistKeepMetas *self)
{
  State &state = Element::state_of (self);
  const std::string description = Element::properties_of (self).element;
  if (!state.inner)
    TRY (fill (self, description));  // says why there is none
  if (!state.inner)
    return error (Error::Kind::bad_setting,
                  "There is nothing to run: set element to what drops metas, as in "
                  "integralhistkeepmetas element=cudadownload");
  for (const char *name : { "sink", "src" }) {
    g_autoptr (GstPad) pad = gst_element_get_static_pad (state.inner, name);
    if (!pad)
      return error (Error::Kind::bad_setting, "element=\"", description, "\" has no ", name,
                    " pad that is always there: name elements that take frames and give them");
  }
  std::string refusal;
  g_autoptr (GstIterator) all = gst_bin_iterate_recurse (GST_BIN (state.inner));
  while (gst_iterator_foreach (
             all,
             [] (const GValue *item, gpointer to) {
               auto *element = GST_ELEMENT (g_value_get_object (item));
               const std::string why = refusal_of (element);
               if (!why.empty ())
                 *static_cast<std::string *> (to) = joined (GST_OBJECT_NAME (element), " ", why);
             },
             &refusal)
         == GST_ITERATOR_RESYNC)
    gst_iterator_resync (all);
  if (!refusal.empty ())
    return error (Error::Kind::bad_setting, "element=\"", description, "\": ", refusal,
                  ", and metas would say wrong places: put it outside of integralhistkeepmetas");
  return {};
}

}  // namespace

// GObject

static void gst_integral_hist_keep_metas_set_property (GObject *object, guint id,
                                                       const GValue *value, GParamSpec *)
{
  if (GST_STATE (object) > GST_STATE_READY)
    return;  // the elements inside run
  GST_OBJECT_LOCK (object);
  Element::table_of (object).set (Element::state_of (object).properties, id, value);
  GST_OBJECT_UNLOCK (object);
  // what goes wrong is reported when the elements are wanted
  (void) fill (GST_INTEGRAL_HIST_KEEP_METAS (object), Element::properties_of (object).element);
}

static GstStateChangeReturn gst_integral_hist_keep_metas_change_state (GstElement *element,
                                                                       GstStateChange transition)
{
  auto *self = GST_INTEGRAL_HIST_KEEP_METAS (element);
  // the property may be set in READY
  if (transition == GST_STATE_CHANGE_NULL_TO_READY
      || transition == GST_STATE_CHANGE_READY_TO_PAUSED)
    if (const auto valid = check_inside (self); !valid) {
      post_error (self, valid.error ());
      return GST_STATE_CHANGE_FAILURE;
    }
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS (parent_class)->change_state (element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) {
    const std::lock_guard lock (self->state->mutex);
    self->state->inside.clear ();
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
  auto *element_class = GST_ELEMENT_CLASS (klass);
  element_class->change_state = gst_integral_hist_keep_metas_change_state;
  for (const auto &[name, direction] :
       { std::pair ("sink", GST_PAD_SINK), std::pair ("src", GST_PAD_SRC) }) {
    g_autoptr (GstCaps) caps = gst_caps_from_string ("video/x-raw(ANY)");
    gst_element_class_add_pad_template (
        element_class, gst_pad_template_new (name, direction, GST_PAD_ALWAYS, caps));
  }
  gst_element_class_set_static_metadata (
      element_class, "Keeper of metas", "Filter/Video",
      "Runs elements that drop metas about places, and puts these on what comes out",
      "The gst-integralhist authors");
}
