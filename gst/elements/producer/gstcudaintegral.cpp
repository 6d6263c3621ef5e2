// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstcudaintegral.hpp"

#include <gst/elements/base/element_plumbing.hpp>
#include <gst/elements/base/messages.hpp>
#include <gst/elements/base/plugin_queries.hpp>
#include <gst/elements/base/tensor_metas.hpp>
#include <gst/frame/mapped_frame.hpp>
#include <gst/frame/video_formats.hpp>
#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/engine/picture_planes.hpp>

#include "producer_state.hpp"
#include "producer_stats.hpp"

using namespace integralhist;
using State = ProducerState;

struct GstCudaIntegralPrivate {
  State *state;
};

#define gst_cuda_integral_parent_class parent_class
G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (GstCudaIntegral, gst_cuda_integral, GST_TYPE_BASE_TRANSFORM)

static GstDebugCategory *category_of (gpointer element)
{
  return GST_CUDA_INTEGRAL_GET_CLASS (element)->category;
}

#define INFO(self, ...) GST_CAT_INFO_OBJECT (category_of (self), self, __VA_ARGS__)
#define DEBUG(self, ...) GST_CAT_DEBUG_OBJECT (category_of (self), self, __VA_ARGS__)
#define LOG(self, ...) GST_CAT_LOG_OBJECT (category_of (self), self, __VA_ARGS__)

static inthist::Content content_of (gpointer element)
{
  return GST_CUDA_INTEGRAL_GET_CLASS (element)->content;
}

namespace {

struct ProducerAccess {
  static State &state_of (gpointer element)
  {
    return *static_cast<GstCudaIntegralPrivate *> (
                gst_cuda_integral_get_instance_private (GST_CUDA_INTEGRAL (element)))
                ->state;
  }
  static const auto &table_of (gpointer element)
  {
    return producer_properties (content_of (element));
  }
  static void handle_transition (gpointer element, GstStateChange transition);
};

using Element = ElementPlumbing<ProducerAccess>;

}  // namespace

/// Posts an element error unless one was posted before: several threads may meet one failure.
static void post_error_once (GstCudaIntegral *self, const Error &error, const char *doing = "",
                             std::source_location from = std::source_location::current ())
{
  if (error.kind != Error::Kind::flushing && !Element::state_of (self).error_posted.exchange (true))
    post_error (self, error, doing, from);
}

static void report (GstCudaIntegral *self, const Expected<> &outcome,
                    std::source_location from = std::source_location::current ())
{
  if (!outcome)
    post_error_once (self, outcome.error (), "", from);
}

static Expected<> renew_engine (GstCudaIntegral *self)
{
  State &state = Element::state_of (self);
  const inthist::Shape &shape = state.shape;
  Options options = state.settings.options;
  TRY (state.settings.check_shape (shape));
  options.on_long_wait = [self, properties = state.settings] (unsigned most) {
    GST_ELEMENT_WARNING (self, RESOURCE, BUSY, ("%s", properties.describe_wait (most).c_str ()),
                         (nullptr));
  };
  options.on_failure = [self] (const Error &error) { post_error_once (self, error); };

  const std::shared_ptr<Engine> engine =
      TRY (make_engine (shape, state.lut, options, state.devices.all (), state.format));
  const StrategyPlan &plan = engine->plan ();
  INFO (self, "strategy %s, tile %d, threads %d: %s", plan.choice.strategy->name,
        plan.choice.tuning.tile, plan.choice.tuning.threads, engine->description ().c_str ());
  state.error_posted = false;
  state.reporter->forget_failure ();  // of the last engine
  const std::lock_guard lock (state.mutex);
  state.engine = engine;
  return {};
}

static Expected<> start (GstCudaIntegral *self)
{
  State &state = Element::state_of (self);
  state.settings = *Element::properties_of (self);
  TRY (state.settings.check (content_of (self)));
  const BinLut bin_lut = TRY (state.settings.lut_of_content (content_of (self)));
  state.range = content_of (self) == inthist::Content::bins ? state.settings.range () : BinRange ();
  // A range of bins (first-bin, n-bins) is computed like one device's share of a frame's bins.
  state.lut = lut_of_part (bin_lut.lut, { .bins = state.range.all_bins },
                           { .first_bin = state.range.first_bin, .bins = state.range.bins });
  if (bin_lut.n_outside > 0)
    INFO (self, "numbers of the lut that are bins=%u or more, whose values count nowhere: %d",
          state.settings.bins, bin_lut.n_outside);
  state.shape = state.settings.shape (content_of (self));
  const std::string description = TRY (state.devices.open (GST_ELEMENT (self), state.settings));
  INFO (self, "backend: %s", description.c_str ());
  if (const std::string ignored = state.settings.describe_ignored_bins (); !ignored.empty ())
    GST_ELEMENT_WARNING (self, RESOURCE, SETTINGS, ("%s", ignored.c_str ()), (nullptr));
  state.feature = int (state.settings.feature);
  state.gray_warned = false;
  state.regions = {};
  state.frames = state.attached = state.n_shed = 0;
  state.scores.start (state.settings, state.lut);
  state.error_posted = false;
  state.shedder.reset ();
  state.reporter = TRY (RegionReporter::start (
      GST_ELEMENT (self), state.settings.options.async_depth,
      [self] (const Error &error, const char *doing) { post_error_once (self, error, doing); },
      state.cancel.flag ()));
  state.cancel.set_flushing (false);
  state.cancel.set_stopping (false);
  return {};
}

static gboolean gst_cuda_integral_start (GstBaseTransform *trans)
{
  auto *self = GST_CUDA_INTEGRAL (trans);
  const auto started = start (self);
  if (started)
    return TRUE;
  post_error (self, started.error ());
  Element::state_of (self).feature = -1;
  Element::state_of (self).devices.close ();
  return FALSE;
}

static gboolean gst_cuda_integral_stop (GstBaseTransform *trans)
{
  State &state = Element::state_of (trans);
  state.cancel.set_stopping (true);
  state.reporter = nullptr;
  state.forget_frame_size ();
  state.devices.close ();
  state.feature = -1;
  return TRUE;
}

/// Returns the feature that a running element counts; before the start, the property `feature`.
static inthist::Feature feature_of (gpointer self)
{
  const int running = Element::state_of (self).feature;
  return running >= 0 ? inthist::Feature (running) : Element::properties_of (self)->feature;
}

static GstCaps *gst_cuda_integral_transform_caps (GstBaseTransform *trans,
                                                  GstPadDirection direction, GstCaps *caps,
                                                  GstCaps *filter)
{
  g_autoptr (GstCaps) same =
      GST_BASE_TRANSFORM_CLASS (parent_class)->transform_caps (trans, direction, caps, filter);
  g_autoptr (GstCaps) taken = caps_of (feature_of (trans));
  if (!same || !taken)
    return static_cast<GstCaps *> (g_steal_pointer (&same));
  return gst_caps_intersect_full (same, taken, GST_CAPS_INTERSECT_FIRST);
}

static gboolean gst_cuda_integral_set_caps (GstBaseTransform *trans, GstCaps *in_caps, GstCaps *)
{
  auto *self = GST_CUDA_INTEGRAL (trans);
  State &state = Element::state_of (self);
  const auto input = frame_format_of (in_caps);
  if (!input) {
    post_error_once (self, input.error ());
    return FALSE;
  }
  const GstVideoInfo &info = input->info;
  // Only the first frame tries a new size, so that an error is posted once, not per negotiation.
  const inthist::PixelFormat format = state.settings.format (content_of (self), info);
  const auto picture_bytes = [&shape = state.shape] (const inthist::PixelFormat &of) {
    return shape.width > 0 ? most_picture_bytes (of, shape.width, shape.height, shape.height) : 0;
  };
  if (GST_VIDEO_INFO_WIDTH (&info) != GST_VIDEO_INFO_WIDTH (&state.input.info)
      || GST_VIDEO_INFO_HEIGHT (&info) != GST_VIDEO_INFO_HEIGHT (&state.input.info)
      || picture_bytes (format) > picture_bytes (state.format))
    state.forget_frame_size ();  // larger pictures leave less memory
  if (const std::string warning = state.settings.describe_gray (info);
      !warning.empty () && !std::exchange (state.gray_warned, true))
    GST_ELEMENT_WARNING (self, STREAM, FORMAT, ("%s", warning.c_str ()), (nullptr));
  state.input = *input;
  state.format = format;
  return TRUE;
}

/// Reads the scores of a summed-area table from an event; they apply from the next frame on.
static gboolean read_scores_event (GstCudaIntegral *self, GstEvent *event)
{
  const auto taken = Element::state_of (self).scores.read_event (
      event, Element::properties_of (self)->lut.set_count);
  if (taken)
    DEBUG (self, "scores of event %u, from the next frame on", gst_event_get_seqnum (event));
  else
    GST_ELEMENT_WARNING (
        self, STREAM, FAILED,
        ("The scores of lut stay as they are: %s.", taken.error ().message.c_str ()), (nullptr));
  return bool (taken);
}

/// Measures how long the streaming thread spends in this element and downstream of it: only this
/// delay makes the element shed frames (let frames pass without a histogram).
static GstFlowReturn gst_cuda_integral_chain (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  auto *self = GST_CUDA_INTEGRAL (parent);
  State &state = Element::state_of (self);
  if (state.frames == 0)
    state.live = is_live (GST_BASE_TRANSFORM_SINK_PAD (self));
  if (state.leader || !Element::properties_of (self)->sheds (state.live))
    return state.transform_chain (pad, parent, buffer);
  const auto now = LoadShedder::Moment::now (GST_ELEMENT (self));
  const auto times = FrameTimes::of (GST_BASE_TRANSFORM (self), buffer);
  state.shedder.note_arrival (LoadShedder::Arrival::of (GST_ELEMENT (self), times, state.input.info,
                                                        state.latency, state.live, now),
                              now);
  const GstFlowReturn flow = state.transform_chain (pad, parent, buffer);
  state.is_shed = false;  // elements that follow have decided by now
  state.shedder.note_departure (LoadShedder::Moment::now (GST_ELEMENT (self)));
  return flow;
}

/// Returns whether a frame gets a tensor: every `interval`-th does, unless it is late or a gap.
static bool admit (GstCudaIntegral *self, const ProducerProperties &properties, GstBuffer *buffer)
{
  State &state = Element::state_of (self);
  const guint64 number = state.frames++;
  state.is_shed = false;
  if (number % properties.interval != 0 || !has_picture (buffer))
    return false;
  state.is_shed = state.leader ? Element::state_of (state.leader.get ()).is_shed.load ()
                               : properties.sheds (state.live) && state.shedder.decide_to_shed ();
  if (!state.is_shed)
    return true;
  state.n_shed++;
  LOG (self, "frame %" G_GUINT64_FORMAT " is late: it passes", number);
  return false;
}

/// Returns the engine for the size of the frame and the device that has the frame's pixels.
static Expected<std::shared_ptr<Engine>>
prepare_engine (GstCudaIntegral *self, const ProducerProperties &properties, GstBuffer *buffer)
{
  State &state = Element::state_of (self);
  const GstVideoRectangle area = TRY (frame_area (buffer, state.input));
  if (state.shape.width > 0 && (area.w != state.shape.width || area.h != state.shape.height))
    state.forget_frame_size ();
  state.shape.width = area.w;
  state.shape.height = area.h;
  TRY (state.regions.update (GST_ELEMENT (self), properties.regions, state.shape));
  if (const auto device =
          TRY (state.devices.switch_device (buffer, state.input, state.settings.first_device ()))) {
    INFO (self, "following the input to CUDA device %d", *device);
    state.drop_engine ();
  }
  if (!state.engine_in_use ()) {
    TRY (renew_engine (self));
    if (state.attached == 0)
      state.shedder.ignore_service ();  // the first tensor of the element takes longer
  }
  return state.engine_in_use ();
}

static Expected<SubmittedFrame> submit_frame (State &state, Engine &engine, GstBuffer *buffer,
                                              const FrameScores &scores)
{
  Frame frame;
  frame.lut = scores.lut;
  const MappedFrame mapped = TRY (state.devices.map (buffer, state.input, state.format, frame));
  return engine.submit (frame);
}

/// Attaches a tensor to a buffer, and the answers about regions, which are posted as well.
static void attach (GstCudaIntegral *self, GstBuffer *buffer, const std::shared_ptr<Tensor> &tensor,
                    const FrameScores &scores)
{
  State &state = Element::state_of (self);
  HistogramSpec spec = state.settings.spec ();
  spec.lut_seqnum = scores.seqnum;
  if (state.range.bins < state.range.all_bins)
    spec.range = state.range;
  g_autoptr (GstIntegralHistogram) histogram = new_histogram (tensor, spec);
  gst_buffer_add_integral_histogram_meta (buffer, histogram);
  state.attached++;
  if (const auto &regions = state.regions.all (); !regions.empty ()) {
    const auto answers = std::make_shared<RegionAnswers> (histogram, regions);
    add_regions_meta (buffer, answers);
    attach_region_tensors (buffer, answers);
    state.reporter->push ({ HistogramRef (gst_integral_histogram_ref (histogram)), state.frames - 1,
                            FrameTimes::of (GST_BASE_TRANSFORM (self), buffer), answers });
  }
}

static Expected<> process (GstCudaIntegral *self, GstBuffer *buffer)
{
  State &state = Element::state_of (self);
  const CancelScope scope (state.cancel.flag ());
  const auto properties = Element::properties_of (self);
  if (!admit (self, *properties, buffer))
    return {};
  const auto engine = TRY (prepare_engine (self, *properties, buffer));
  const FrameScores scores = content_of (self) == inthist::Content::bins
                                 ? FrameScores ()
                                 : TRY (state.scores.next (*properties));
  const auto [tensor, hold] = TRY (submit_frame (state, *engine, buffer, scores));
  const auto computed = properties->sync ? await (*tensor) : Expected<> ();
  if (computed)
    attach (self, buffer, tensor, scores);
  // Keeps the buffer until its pixels are read, also by devices that have not failed. In NVMM,
  // waits instead: downstream copies a held buffer, and the copy shares the pixels.
  auto held = hold (buffer, state.input.memory == FrameMemory::nvmm);
  return computed ? held : computed;
}

static GstFlowReturn gst_cuda_integral_transform_ip (GstBaseTransform *trans, GstBuffer *buffer)
{
  auto *self = GST_CUDA_INTEGRAL (trans);
  const auto done = process (self, buffer);
  report (self, done);
  return done ? GST_FLOW_OK : flow_of (done.error ());
}

static gboolean gst_cuda_integral_sink_event (GstBaseTransform *trans, GstEvent *event)
{
  auto *self = GST_CUDA_INTEGRAL (trans);
  State &state = Element::state_of (trans);
  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_FLUSH_START:
      DEBUG (self, "a flush starts: all waits end");
      state.cancel.set_flushing (true);
      break;
    case GST_EVENT_FLUSH_STOP:
      DEBUG (self, "a flush stops");
      state.flush ();
      break;
    case GST_EVENT_SEGMENT: state.shedder.forget_times (); break;
    case GST_EVENT_STREAM_START:
      // Checks what upstream can send: an element that finds no common caps sends no CAPS event.
      if (g_autoptr (GstCaps) caps =
              inthist::info_of (feature_of (self)).format
                  ? gst_pad_peer_query_caps (GST_BASE_TRANSFORM_SINK_PAD (trans), nullptr)
                  : nullptr)
        report (self, check_caps (caps, feature_of (self)));
      break;
    case GST_EVENT_EOS: report (self, state.finish ()); break;
    default: break;
  }
  return GST_BASE_TRANSFORM_CLASS (parent_class)->sink_event (trans, event);
}

static gboolean gst_cuda_integral_src_event (GstBaseTransform *trans, GstEvent *event)
{
  if (content_of (trans) == inthist::Content::sums
      && gst_event_has_name (event, GST_INTEGRAL_IMAGE_LUT_EVENT)) {
    const gboolean taken = read_scores_event (GST_CUDA_INTEGRAL (trans), event);
    gst_event_unref (event);
    return taken;
  }
  if (GST_EVENT_TYPE (event) == GST_EVENT_LATENCY) {
    GstClockTime latency;
    gst_event_parse_latency (event, &latency);
    Element::state_of (trans).latency = latency;
  } else if (GST_EVENT_TYPE (event) == GST_EVENT_QOS) {
    GstClockTimeDiff late;
    GstClockTime timestamp;
    gst_event_parse_qos (event, nullptr, nullptr, &late, &timestamp);
    Element::state_of (trans).shedder.note_qos (timestamp, late);
  }
  return GST_BASE_TRANSFORM_CLASS (parent_class)->src_event (trans, event);
}

static gboolean gst_cuda_integral_propose_allocation (GstBaseTransform *trans,
                                                      GstQuery *decide_query, GstQuery *query)
{
  const gboolean answered =
      GST_BASE_TRANSFORM_CLASS (parent_class)->propose_allocation (trans, decide_query, query);
  State &state = Element::state_of (trans);
  return state.devices.propose_allocation (query, state.settings.options.async_depth) || answered;
}

static gboolean gst_cuda_integral_query (GstBaseTransform *trans, GstPadDirection direction,
                                         GstQuery *query)
{
  if (direction == GST_PAD_SRC) {
    const auto properties = Element::properties_of (trans);
    if (answer_producer_query (
            query, content_of (trans), inthist::info_of (properties->feature).nick,
            { properties->interval, Element::state_of (trans).attached.load () }))
      return TRUE;
  }
  if (GST_QUERY_TYPE (query) == GST_QUERY_CONTEXT
      && Element::state_of (trans).devices.answer_query (GST_ELEMENT (trans), query,
                                                         *Element::properties_of (trans)))
    return TRUE;
  return GST_BASE_TRANSFORM_CLASS (parent_class)->query (trans, direction, query);
}

static void gst_cuda_integral_set_context (GstElement *element, GstContext *context)
{
  Element::state_of (element).devices.set_context (
      element, context, Element::properties_of (element)->first_device ());
  GST_ELEMENT_CLASS (parent_class)->set_context (element, context);
}

void ProducerAccess::handle_transition (gpointer element, GstStateChange transition)
{
  // Ends the waits of the streaming thread, during which GStreamer cannot deactivate pads.
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    state_of (element).cancel.set_stopping (true);
  // Resets the load shedder: a frame's wait in a paused sink does not make the stream late.
  if (transition == GST_STATE_CHANGE_PAUSED_TO_PLAYING
      || transition == GST_STATE_CHANGE_PLAYING_TO_PAUSED)
    state_of (element).shedder.reset ();
}

static GstStructure *stats_of (GstCudaIntegral *self)
{
  State &state = Element::state_of (self);
  // Takes no reference to the engine: dropping the last reference would wait for the engine.
  std::unique_lock lock (state.mutex);
  const Stats stats = state.engine ? state.engine->stats () : Stats ();
  const StrategyPlan plan = state.engine ? state.engine->plan () : StrategyPlan ();
  lock.unlock ();
  return producer_stats (stats, plan, state.n_shed);
}

static void gst_cuda_integral_get_property (GObject *object, guint id, GValue *value,
                                            GParamSpec *spec)
{
  if (G_PARAM_SPEC_VALUE_TYPE (spec) == GST_TYPE_STRUCTURE)
    g_value_take_boxed (value, stats_of (GST_CUDA_INTEGRAL (object)));
  else
    Element::get_property (object, id, value, spec);
}

static void gst_cuda_integral_init (GstCudaIntegral *self)
{
  static_cast<GstCudaIntegralPrivate *> (gst_cuda_integral_get_instance_private (self))->state =
      new State;
  gst_base_transform_set_in_place (GST_BASE_TRANSFORM (self), TRUE);
  gst_base_transform_set_gap_aware (GST_BASE_TRANSFORM (self), TRUE);
  Element::state_of (self).transform_chain = GST_PAD_CHAINFUNC (GST_BASE_TRANSFORM_SINK_PAD (self));
  gst_pad_set_chain_function (GST_BASE_TRANSFORM_SINK_PAD (self),
                              GST_DEBUG_FUNCPTR (gst_cuda_integral_chain));
  probe_caps (GST_BASE_TRANSFORM_SINK_PAD (self),
              [] (GstElement *element, const GstCaps *caps, const Expected<> &checked) {
                report (GST_CUDA_INTEGRAL (element), check_caps (caps, feature_of (element)));
                report (GST_CUDA_INTEGRAL (element), checked);
              });
}

void gst_cuda_integral_set_leader (GstCudaIntegral *self, GstCudaIntegral *leader)
{
  Element::state_of (self).leader = { GST_CUDA_INTEGRAL (gst_object_ref (leader)),
                                      gst_object_unref };
}

void gst_cuda_integral_class_setup (GstCudaIntegralClass *klass, inthist::Content content,
                                    GstDebugCategory *category, const char *name,
                                    const char *summary)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (kReadableCaps);
  set_texts_and_pads (klass, { name, "Filter/Analyzer/Video/Hardware", summary, caps, caps });
  klass->content = content;
  klass->category = category;
  const guint stats = Element::install_properties (klass, producer_properties (content));
  auto *object_class = G_OBJECT_CLASS (klass);
  object_class->get_property = gst_cuda_integral_get_property;
  g_object_class_install_property (object_class, stats, producer_stats_spec ());
}

static void gst_cuda_integral_class_init (GstCudaIntegralClass *klass)
{
  Element::init_class (klass);
  gst_type_mark_as_plugin_api (GST_TYPE_CUDA_INTEGRAL, GstPluginAPIFlags (0));

  auto *element_class = GST_ELEMENT_CLASS (klass);
  element_class->set_context = GST_DEBUG_FUNCPTR (gst_cuda_integral_set_context);

  auto *trans_class = GST_BASE_TRANSFORM_CLASS (klass);
  trans_class->start = GST_DEBUG_FUNCPTR (gst_cuda_integral_start);
  trans_class->stop = GST_DEBUG_FUNCPTR (gst_cuda_integral_stop);
  trans_class->transform_caps = GST_DEBUG_FUNCPTR (gst_cuda_integral_transform_caps);
  trans_class->set_caps = GST_DEBUG_FUNCPTR (gst_cuda_integral_set_caps);
  trans_class->prepare_output_buffer = GST_DEBUG_FUNCPTR (prepare_with_tensors);
  trans_class->transform_ip = GST_DEBUG_FUNCPTR (gst_cuda_integral_transform_ip);
  trans_class->sink_event = GST_DEBUG_FUNCPTR (gst_cuda_integral_sink_event);
  trans_class->src_event = GST_DEBUG_FUNCPTR (gst_cuda_integral_src_event);
  trans_class->propose_allocation = GST_DEBUG_FUNCPTR (gst_cuda_integral_propose_allocation);
  trans_class->query = GST_DEBUG_FUNCPTR (gst_cuda_integral_query);
}
