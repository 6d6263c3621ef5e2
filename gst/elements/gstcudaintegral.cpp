// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstcudaintegral.h"

#include <region.hpp>

#include <gst/integralhist/engine.hpp>
#include <gst/integralhist/gstintegralhist.h>

#include "allocation.hpp"
#include "backend.hpp"
#include "messages.hpp"
#include "pixel_format.hpp"
#include "region_reporter.hpp"
#include "settings.hpp"

using namespace integralhist;

namespace {

struct State {
  Settings settings;  // guarded by the object lock

  // set in start and stop, used by the streaming thread
  Settings started;      // what the element runs with: only sync, interval and regions change on the way
  inthist::Shape shape;  // without the frame's size
  GstVideoInfo info = {};
  inthist::PixelFormat format;
  guint64 frames = 0;
  std::string parsed_text;                 // settings.regions as of the last frame,
  std::vector<GstVideoRectangle> regions;  // parsed and clipped
  ComputeDevices devices;
  std::atomic<bool> told = false;  // of what went wrong with the engine: one error is enough

  std::mutex mutex;  // guards what follows, for flushes and the stats; taken last
  std::shared_ptr<Engine> engine;
  std::unique_ptr<RegionReporter> reporter;  // there from start to stop
  bool flushing = false, stopping = false;   // either ends a wait for a tensor
};

}  // namespace

struct GstCudaIntegralPrivate {
  State *state;
};

#define gst_cuda_integral_parent_class parent_class
G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (GstCudaIntegral, gst_cuda_integral, GST_TYPE_BASE_TRANSFORM)

#define INFO(self, ...) GST_CAT_INFO_OBJECT (GST_CUDA_INTEGRAL_GET_CLASS (self)->category, self, __VA_ARGS__)

static State &
state_of (gpointer element)
{
  return *static_cast<GstCudaIntegralPrivate *> (gst_cuda_integral_get_instance_private (GST_CUDA_INTEGRAL (element)))->state;
}

static Settings
settings_of (gpointer element)
{
  GST_OBJECT_LOCK (element);
  Settings settings = state_of (element).settings;
  GST_OBJECT_UNLOCK (element);
  return settings;
}

static std::shared_ptr<Engine>
engine_of (State &state)
{
  const std::lock_guard lock (state.mutex);
  return state.engine;
}

// device and engine

/// Lets the engine finish; the next frame gets a new one.
static void
drop_engine (State &state)
{
  const auto last = engine_of (state);
  const std::lock_guard lock (state.mutex);
  state.engine = nullptr;
}

static void
forget_frame_size (State &state)
{
  drop_engine (state);
  state.told = false;
  state.parsed_text.clear ();
  state.regions.clear ();
}

/// Makes an engine for the negotiated caps. Throws.
static void
make_engine (GstCudaIntegral *self)
{
  State &state = state_of (self);
  inthist::Shape shape = state.shape;
  shape.width = GST_VIDEO_INFO_WIDTH (&state.info);
  shape.height = GST_VIDEO_INFO_HEIGHT (&state.info);
  Options options = state.started.options;
  if (shape.counter == inthist::Type::u16_anchored && !inthist::is_valid (shape))
    throw std::invalid_argument ("counter=u16-anchored takes frames of at most 65535 columns, not " + std::to_string (shape.width)
                                 + ": set counter=u16 or u32");
  if (options.strategy && !inthist::accepts (*options.strategy, shape)) {
    const inthist::Strategy *other = inthist::preferred_strategy (options.strategy->device, shape);
    throw std::invalid_argument (std::string ("strategy=") + options.strategy->name + " does not compute " + describe (shape) + " ("
                                 + options.strategy->limit + "): set strategy=auto" + (other ? std::string (" or ") + other->name : ""));
  }
  // a table's pixels are the values themselves
  const inthist::Lut lut = inthist::uniform_lut (shape.content == inthist::Content::bins ? shape.bins : 256);
  options.still_waiting = [self, wanted = options.max_tensors, memory = options.max_device_memory > 0] (unsigned most) {
    const bool set = wanted == most;
    g_autofree char *allowed = set ? g_strdup_printf ("max-tensors=%u allows", most)
                                   : g_strdup_printf ("fits %s (%u)", memory ? "max-device-memory" : "the devices", most);
    GST_ELEMENT_WARNING (self, RESOURCE, BUSY,
                         ("Every tensor that %s is held downstream: waiting for one. A sink keeps its last frame; set its "
                          "enable-last-sample=false, or %s.",
                          allowed,
                          set      ? "raise max-tensors"
                          : memory ? "raise max-device-memory, or lower it so that tensors go to host memory"
                                   : "lower bins"),
                         (nullptr));
  };
  options.failed = [self, &state] (const Error &error) { guarded_once (state.told, self, false, [&] () -> bool { throw error; }); };

  const auto make = [&] { return state.devices.make_engine (shape, lut, options, state.format.bytes); };
  std::shared_ptr<Engine> engine;
  try {
    engine = make ();
  } catch (const Error &error) {
    if (error.code != GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY || options.strategy || options.tuning_time == 0)
      throw;
    options.tuning_time = 0;  // what was measured to be faster may take more memory than the built-in choice
    engine = make ();
  }
  const Plan &plan = engine->plan ();
  INFO (self, "strategy %s, tile %d, threads %d: %s", plan.choice.strategy->name, plan.choice.tuning.tile, plan.choice.tuning.threads,
        engine->story ().c_str ());
  state.told = false;
  const std::lock_guard lock (state.mutex);
  engine->set_flushing (state.flushing || state.stopping);
  state.reporter->set_flushing (state.flushing || state.stopping);  // it may have given up on the last one
  state.engine = engine;
}

/// Parses and clips the regions where they or the frame have changed. Throws std::invalid_argument.
static void
update_regions (State &state, const std::string &text)
{
  if (text == state.parsed_text)
    return;
  const int width = GST_VIDEO_INFO_WIDTH (&state.info), height = GST_VIDEO_INFO_HEIGHT (&state.info);
  auto regions = parse_regions (text.c_str ());
  for (GstVideoRectangle &r : regions) {
    const inthist::Region clipped = inthist::clip ({ r.x, r.y, r.w, r.h }, inthist::Shape{ width, height });
    if (clipped.width == 0) {
      g_autofree char *message =
          g_strdup_printf ("regions=\"%s\": %d,%d,%d,%d lies outside of the %dx%d frame", text.c_str (), r.x, r.y, r.w, r.h, width, height);
      throw std::invalid_argument (message);
    }
    r = { clipped.x, clipped.y, clipped.width, clipped.height };
  }
  state.regions = std::move (regions);
  state.parsed_text = text;
}

/// Sets flushing or stopping, and lets everybody know whom the streaming thread may wait for.
static void
set_refusal (State &state, bool State::*flag, bool value)
{
  const std::lock_guard lock (state.mutex);
  state.*flag = value;
  if (state.engine)
    state.engine->set_flushing (state.flushing || state.stopping);
  if (state.reporter)
    state.reporter->set_flushing (state.flushing || state.stopping);
}

// GstBaseTransform

static gboolean
gst_cuda_integral_start (GstBaseTransform *trans)
{
  auto *self = GST_CUDA_INTEGRAL (trans);
  State &state = state_of (self);
  return guarded (self, FALSE, [&] () -> gboolean {
    state.started = settings_of (self);
    state.started.check ();
    state.shape = GST_CUDA_INTEGRAL_GET_CLASS (self)->shape (self);
    std::string description;
    if (!state.devices.open (GST_ELEMENT (self), state.started, &description))
      return FALSE;
    INFO (self, "backend: %s", description.c_str ());
    state.frames = 0;
    state.told = false;
    {
      auto reporter = std::make_unique<RegionReporter> (GST_ELEMENT (self), state.started.options.async_depth, state.told);
      const std::lock_guard lock (state.mutex);
      state.reporter = std::move (reporter);
    }
    set_refusal (state, &State::flushing, false);
    set_refusal (state, &State::stopping, false);
    return TRUE;
  });
}

static gboolean
gst_cuda_integral_stop (GstBaseTransform *trans)
{
  State &state = state_of (trans);
  std::unique_ptr<RegionReporter> reporter;
  {
    const std::lock_guard lock (state.mutex);
    reporter = std::move (state.reporter);
  }
  reporter = nullptr;
  forget_frame_size (state);
  state.devices.close ();
  return TRUE;
}

static gboolean
gst_cuda_integral_set_caps (GstBaseTransform *trans, GstCaps *in_caps, GstCaps *)
{
  auto *self = GST_CUDA_INTEGRAL (trans);
  State &state = state_of (self);
  GstVideoInfo info;
  if (!gst_video_info_from_caps (&info, in_caps)) {
    GST_ELEMENT_ERROR (self, STREAM, FORMAT, ("These caps are no video."), ("%" GST_PTR_FORMAT, in_caps));
    return FALSE;
  }
  // the first frame shows whether the new size works, so that it fails once and not at every attempt to negotiate
  const inthist::PixelFormat format = pixel_format (info);
  if (GST_VIDEO_INFO_WIDTH (&info) != GST_VIDEO_INFO_WIDTH (&state.info)
      || GST_VIDEO_INFO_HEIGHT (&info) != GST_VIDEO_INFO_HEIGHT (&state.info) || format.bytes > state.format.bytes)
    forget_frame_size (state);  // larger pixels may want another share of the memory
  state.info = info;
  state.format = format;
  return TRUE;
}

#if INTHIST_CUDA
/// Goes on in the context of the buffer's CUDA memory, as the property allows.
static void
follow_context (GstCudaIntegral *self, GstBuffer *buffer, int device_id)
{
  State &state = state_of (self);
  ComputeDevices &devices = state.devices;
  if (!devices.context || devices.are_several ())
    return;
  if (const auto context = devices.cuda.follow (buffer, device_id)) {
    INFO (self, "following the input to CUDA device %d", context->device ());
    drop_engine (state);
    devices.context = context;
  }
}
#endif

static std::string
unmappable (const GstVideoInfo &info, GstBuffer *buffer)
{
  g_autofree char *text =
      g_strdup_printf ("the frame could not be mapped: its buffer has %" G_GSIZE_FORMAT " bytes, %s of %dx%d has %" G_GSIZE_FORMAT
                       " with rows of %d bytes; other strides need a GstVideoMeta",
                       gst_buffer_get_size (buffer), GST_VIDEO_INFO_NAME (&info), GST_VIDEO_INFO_WIDTH (&info),
                       GST_VIDEO_INFO_HEIGHT (&info), GST_VIDEO_INFO_SIZE (&info), GST_VIDEO_INFO_PLANE_STRIDE (&info, 0));
  return text;
}

/// Hands the frame's pixels to the engine. Null when flushing.
static std::shared_ptr<Tensor>
submit (GstCudaIntegral *self, Engine &engine, GstBuffer *buffer)
{
  State &state = state_of (self);
  Frame frame;
  int flags = int (GST_MAP_READ) | int (GST_VIDEO_FRAME_MAP_FLAG_NO_REF);
#if INTHIST_CUDA
  const auto &[cuda, context] = std::tie (state.devices.cuda, state.devices.context);
  if (context && state.devices.are_several ())
    frame.context = CudaDevice::context_of (buffer);
  const bool on_device = frame.context || (context && cuda.owns (buffer));
  if (on_device)
    flags |= kMapCuda;
#endif
  GstVideoFrame video;
  if (!gst_video_frame_map (&video, &state.info, buffer, GstMapFlags (flags)))
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, unmappable (state.info, buffer));
  // unmapped on every way out
  const std::unique_ptr<GstVideoFrame, void (*) (GstVideoFrame *)> unmap (&video, gst_video_frame_unmap);
  frame.image = { GST_VIDEO_FRAME_PLANE_DATA (&video, 0), std::size_t (GST_VIDEO_FRAME_PLANE_STRIDE (&video, 0)), state.format };
#if INTHIST_CUDA
  const std::size_t rows_before_last = std::size_t (GST_VIDEO_FRAME_HEIGHT (&video) - 1),
                    bytes = frame.image.stride * rows_before_last + std::size_t (GST_VIDEO_FRAME_WIDTH (&video)) * state.format.bytes;
  if (on_device) {
    frame.place = Place::device;
    frame.producer = CudaDevice::producer_stream (buffer);
  } else if (context && is_pinned (gst_buffer_peek_memory (buffer, 0), frame.image.data, bytes)) {
    frame.place = Place::pinned;
  }
#endif
  return engine.submit (frame);
}

static void
report (GstCudaIntegral *self, GstBuffer *buffer, GstIntegralHistogram *histogram, guint64 number)
{
  State &state = state_of (self);
  const GstSegment *segment = &GST_BASE_TRANSFORM (self)->segment;
  const GstClockTime pts = GST_BUFFER_PTS (buffer);
  const bool timed = segment->format == GST_FORMAT_TIME;
  state.reporter->push ({ gst_integral_histogram_ref (histogram), number, pts,
                          timed ? gst_segment_to_stream_time (segment, GST_FORMAT_TIME, pts) : GST_CLOCK_TIME_NONE,
                          timed ? gst_segment_to_running_time (segment, GST_FORMAT_TIME, pts) : GST_CLOCK_TIME_NONE,
                          GST_BUFFER_DURATION (buffer), state.regions });
}

static GstFlowReturn
gst_cuda_integral_transform_ip (GstBaseTransform *trans, GstBuffer *buffer)
{
  auto *self = GST_CUDA_INTEGRAL (trans);
  State &state = state_of (self);
  const Settings settings = settings_of (self);
  return guarded_once (state.told, self, GST_FLOW_ERROR, [&] {
    if (settings.interval == 0)
      settings.check ();
    const guint64 number = state.frames++;
    if (number % settings.interval != 0 || GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_GAP))
      return GST_FLOW_OK;
    update_regions (state, settings.regions);
#if INTHIST_CUDA
    follow_context (self, buffer, state.started.first_device ());
#endif
    if (!engine_of (state))
      make_engine (self);
    const auto engine = engine_of (state);
    const auto tensor = submit (self, *engine, buffer);
    if (!tensor)
      return GST_FLOW_FLUSHING;
    if (settings.sync)
      try {
        tensor->wait (GST_CLOCK_TIME_NONE);
      } catch (...) {
        engine->hold (buffer, *tensor);  // where one device has failed, others may still read
        throw;
      }
    g_autoptr (GstIntegralHistogram) histogram = new_histogram (tensor);
    gst_buffer_add_integral_histogram_meta (buffer, histogram);
    if (!state.regions.empty ())
      report (self, buffer, histogram, number);
    engine->hold (buffer, *tensor);
    return GST_FLOW_OK;
  });
}

static gboolean
gst_cuda_integral_sink_event (GstBaseTransform *trans, GstEvent *event)
{
  State &state = state_of (trans);
  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_FLUSH_START: set_refusal (state, &State::flushing, true); break;
    case GST_EVENT_FLUSH_STOP:
      set_refusal (state, &State::flushing, false);
      if (const auto engine = engine_of (state); engine && engine->has_failed ())
        drop_engine (state);
      state.told = false;
      break;
    case GST_EVENT_EOS:
      if (state.reporter)
        state.reporter->drain ();  // the messages of all frames come before EOS
      guarded_once (state.told, trans, FALSE, [&] () -> gboolean {
        if (const auto engine = engine_of (state))
          engine->finish ();
        return TRUE;
      });
      break;
    default: break;
  }
  return GST_BASE_TRANSFORM_CLASS (parent_class)->sink_event (trans, event);
}

static gboolean
gst_cuda_integral_propose_allocation (GstBaseTransform *trans, GstQuery *decide_query, GstQuery *query)
{
  const gboolean answered = GST_BASE_TRANSFORM_CLASS (parent_class)->propose_allocation (trans, decide_query, query);
#if INTHIST_CUDA
  State &state = state_of (trans);
  if (state.devices.context) {
    propose_buffers (query, state.devices.cuda, state.devices.context, state.started.options.async_depth);
    return TRUE;
  }
#endif
  return answered;
}

static gboolean
gst_cuda_integral_query (GstBaseTransform *trans, GstPadDirection direction, GstQuery *query)
{
#if INTHIST_CUDA
  if (GST_QUERY_TYPE (query) == GST_QUERY_CONTEXT && state_of (trans).devices.cuda.answer_query (GST_ELEMENT (trans), query))
    return TRUE;
#endif
  return GST_BASE_TRANSFORM_CLASS (parent_class)->query (trans, direction, query);
}

// GstElement

static void
gst_cuda_integral_set_context (GstElement *element, GstContext *context)
{
#if INTHIST_CUDA
  state_of (element).devices.cuda.set_context (element, context, settings_of (element).first_device ());
#endif
  GST_ELEMENT_CLASS (parent_class)->set_context (element, context);
}

static GstStateChangeReturn
gst_cuda_integral_change_state (GstElement *element, GstStateChange transition)
{
  // the streaming thread may wait for a tensor; the pads can only be deactivated when it does not
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    set_refusal (state_of (element), &State::stopping, true);
  return GST_ELEMENT_CLASS (parent_class)->change_state (element, transition);
}

// GObject

static GstStructure *
make_stats (GstCudaIntegral *self)
{
  State &state = state_of (self);
  std::unique_lock lock (state.mutex);  // and no reference, which might be the last one then, in whatever thread
  const Stats stats = state.engine ? state.engine->stats () : Stats ();
  const Plan plan = state.engine ? state.engine->plan () : Plan ();
  lock.unlock ();
  const char *strategy = plan.choice.strategy ? plan.choice.strategy->name : "none";
  GstStructure *structure = gst_structure_new (
      "stats", "frames", G_TYPE_UINT64, stats.frames, "in-flight", G_TYPE_UINT64, stats.in_flight, "backend", G_TYPE_STRING, stats.backend,
      "strategy", G_TYPE_STRING, strategy, "tile", G_TYPE_INT, plan.choice.tuning.tile, "threads", G_TYPE_INT, plan.choice.tuning.threads,
      "tuning", G_TYPE_STRING, plan.tuning, "device", G_TYPE_INT, stats.device, "bytes-up", G_TYPE_UINT64, stats.bytes_up, "bytes-down",
      G_TYPE_UINT64, stats.bytes_down, "bytes-staged", G_TYPE_UINT64, stats.bytes_staged, nullptr);
  const auto add = [&] (const char *mean, const char *max, const Duration &duration) {
    gst_structure_set (structure, mean, G_TYPE_DOUBLE, duration.count ? duration.sum / 1e3 / duration.count : 0.0, max, G_TYPE_DOUBLE,
                       duration.max / 1e3, nullptr);
  };
  add ("upload-us-mean", "upload-us-max", stats.upload);
  add ("compute-us-mean", "compute-us-max", stats.compute);
  add ("download-us-mean", "download-us-max", stats.download);
  if (!stats.shares.empty ()) {
    GValue devices = G_VALUE_INIT, parts = G_VALUE_INIT;
    for (GValue *array : { &devices, &parts })
      gst_value_array_init (array, guint (stats.shares.size ()));
    for (const Stats::Share &share : stats.shares) {
      GValue device = G_VALUE_INIT, n = G_VALUE_INIT;
      g_value_set_int (g_value_init (&device, G_TYPE_INT), share.device);
      g_value_set_uint64 (g_value_init (&n, G_TYPE_UINT64), share.parts);
      gst_value_array_append_and_take_value (&devices, &device);
      gst_value_array_append_and_take_value (&parts, &n);
    }
    gst_structure_take_value (structure, "devices", &devices);
    gst_structure_take_value (structure, "parts", &parts);
  }
  return structure;
}

static void
gst_cuda_integral_set_property (GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  GST_OBJECT_LOCK (object);
  const bool known = state_of (object).settings.set (id, value);
  GST_OBJECT_UNLOCK (object);
  if (!known)
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
}

static void
gst_cuda_integral_get_property (GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  if (id == PROP_STATS)
    g_value_take_boxed (value, make_stats (GST_CUDA_INTEGRAL (object)));
  else if (!settings_of (object).get (id, value))
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
}

static void
gst_cuda_integral_finalize (GObject *object)
{
  delete &state_of (object);
  G_OBJECT_CLASS (parent_class)->finalize (object);
}

static void
gst_cuda_integral_init (GstCudaIntegral *self)
{
  static_cast<GstCudaIntegralPrivate *> (gst_cuda_integral_get_instance_private (self))->state = new State;
  gst_base_transform_set_in_place (GST_BASE_TRANSFORM (self), TRUE);
  gst_base_transform_set_gap_aware (GST_BASE_TRANSFORM (self), TRUE);
}

static void
gst_cuda_integral_class_init (GstCudaIntegralClass *klass)
{
  auto *object_class = G_OBJECT_CLASS (klass);
  object_class->set_property = gst_cuda_integral_set_property;
  object_class->get_property = gst_cuda_integral_get_property;
  object_class->finalize = gst_cuda_integral_finalize;
  install_properties (object_class);
  gst_type_mark_as_plugin_api (GST_TYPE_CUDA_INTEGRAL, GstPluginAPIFlags (0));

  auto *element_class = GST_ELEMENT_CLASS (klass);
  element_class->set_context = GST_DEBUG_FUNCPTR (gst_cuda_integral_set_context);
  element_class->change_state = GST_DEBUG_FUNCPTR (gst_cuda_integral_change_state);
  const char *caps_string =
#if HAVE_GSTCUDA
      GST_VIDEO_CAPS_MAKE_WITH_FEATURES (GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY, INTEGRALHIST_CUDA_FORMATS) ";"
#endif
      GST_VIDEO_CAPS_MAKE (INTEGRALHIST_SYSTEM_FORMATS);
  g_autoptr (GstCaps) caps = gst_caps_from_string (caps_string);
  gst_element_class_add_pad_template (element_class, gst_pad_template_new ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_element_class_add_pad_template (element_class, gst_pad_template_new ("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));

  auto *trans_class = GST_BASE_TRANSFORM_CLASS (klass);
  trans_class->start = GST_DEBUG_FUNCPTR (gst_cuda_integral_start);
  trans_class->stop = GST_DEBUG_FUNCPTR (gst_cuda_integral_stop);
  trans_class->set_caps = GST_DEBUG_FUNCPTR (gst_cuda_integral_set_caps);
  trans_class->transform_ip = GST_DEBUG_FUNCPTR (gst_cuda_integral_transform_ip);
  trans_class->sink_event = GST_DEBUG_FUNCPTR (gst_cuda_integral_sink_event);
  trans_class->propose_allocation = GST_DEBUG_FUNCPTR (gst_cuda_integral_propose_allocation);
  trans_class->query = GST_DEBUG_FUNCPTR (gst_cuda_integral_query);
}
