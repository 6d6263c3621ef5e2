// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-integralhistlikelihood
 * @title: integralhistlikelihood
 *
 * Shows where a frame looks like a model. For every position, the element compares the histogram of
 * the window around it with the model's. The output is a picture of the frame's size, the brighter
 * the more alike. The frame must carry a #GstIntegralHistogramMeta, which cudaintegralhist
 * attaches; a frame without it shows the last map again.
 *
 * The model is the histogram of a region of the first frame, or a list of numbers. It is taken
 * again after a flush, with a new stream, when it is set, and when `bins` changes. A histogram
 * whose feature, quantization or table differs from the model's is an error.
 *
 * A window is centred on its pixel: its first column is width / 2 before the pixel. Only pixels
 * inside the frame count. Windows lie `step` pixels apart, and every pixel shows the nearest one.
 * If the frame was scaled after cudaintegralhist, windows are those of the original.
 *
 * Frames in CUDA memory and NVMM are drawn on in place, in their own format: with mode=gray and
 * mode=heat the map covers them.
 *
 * With mode=blend the colours are laid over the frame: the more alike, the stronger. With
 * mode=blend and mode=heat a small bar shows which colour is 0 and which is 1.
 *
 * The brightness of a pixel is 0 to 1 for every measure:
 *
 * - A similarity (intersection, correlation, linear) is the brightness itself, clipped to 0 to 1.
 * - A distance d with a bound gives 1 - d / bound. The bound is 1 for bhattacharyya and
 *   kolmogorov-smirnov, 2 for l1, the root of 2 for l2, 4 for chi-square-alt, and one less than the
 *   number of bins for emd.
 * - A distance d without a bound (chi-square, kullback-leibler) gives 1 / (1 + d).
 *
 * With measure=linear the model has a weight for each bin, and the value of a window is the mean
 * weight of its pixels. `histogram` then takes any numbers, also below 0. If the model is a region,
 * the weights are the region's histogram, scaled so that the largest bin is 1: the map is the mean
 * of the histogram's back projection (Swain and Ballard 1991).
 *
 * With `messages`, the element posts each map's best window as an element message
 * `integral-histogram-likelihood`: `timestamp`, `stream-time`, `running-time`, `duration`
 * (#guint64), `x`, `y`, `width`, `height` (#gint, in pixels of the frame; the window may extend
 * over the border), `value` (#gdouble, of the measure).
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc pattern=ball ! video/x-raw,format=I420,width=640,height=480 ! \
 *     cudaintegralhist ! integralhistlikelihood model=300,220,40,40 ! videoconvert ! autovideosink
 * ]| shows where the ball is, wherever it goes.
 */
#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include <gst/video/gstvideofilter.h>

#include <gst/elements/base/messages.hpp>
#include <gst/elements/base/parse.hpp>
#include <gst/elements/base/tensor_metas.hpp>
#include <gst/elements/consumer/consumer_element.hpp>
#include <gst/elements/drawing/canvas_drawing.hpp>
#include <gst/elements/drawing/overlay_canvas.hpp>
#include <gst/frame/mapped_frame.hpp>
#include <gst/frame/video_formats.hpp>
#include <gst/integralhist/api/c_api.hpp>
#include <gst/integralhist/meta/placed.hpp>
#include <gst/properties/properties.hpp>

#include "likelihood_model.hpp"
#include "likelihood_picture.hpp"
#include "map_grid.hpp"
#include "map_memory.hpp"

using namespace integralhist;

GST_DEBUG_CATEGORY_STATIC (category);
#define GST_CAT_DEFAULT category

namespace {

enum class Mode { gray, heat, blend };

/// The property `histogram`, parsed as counts, and as weights of any sign for measure=linear.
struct WrittenNumbers {
  Expected<WrittenHistogram> counts, weights;
};

struct LikelihoodProperties {
  Mode mode = Mode::blend;
  FeatureText feature;
  ModelText model;
  ParsedText<WrittenNumbers> histogram;
  guint window_width = 0, window_height = 0, step = 2;
  GstIntegralHistogramMeasure measure = GST_INTEGRAL_HISTOGRAM_MEASURE_BHATTACHARYYA;
  double opacity = 0.9;
  bool scale = true, messages = false;

  guint64 model_changes () const { return model.set_count + histogram.set_count; }
};

struct State {
  std::shared_ptr<const LikelihoodProperties> properties =
      std::make_shared<LikelihoodProperties> ();
  HistogramConsumer consumer;

  // used by the streaming thread
  LikelihoodModel model;
  guint64 known_changes = 0;  // how often the model had been set when it was made
  MapMemory memory;
  LikelihoodPicture picture;
  FrameFormat input;
  CanvasDrawing canvas;      // draws on frames that are not in system memory
  bool size_warned = false;  // whether a warning of windows larger than the frame was posted

  void handle_event (GstEvent *event)
  {
    if (GST_EVENT_TYPE (event) == GST_EVENT_STREAM_START
        || GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP)
      model = {};
  }
  void stop ()
  {
    model = {};
    memory.clear ();
    picture = {};
    canvas.clear ();
    size_warned = false;
  }
};

GType mode_get_type ()
{
  static constexpr GEnumValue values[] = {
    { int (Mode::gray), "The map in gray (GRAY8); bright means alike", "gray" },
    { int (Mode::heat),
      "The map in colours (BGRx), from dark blue to green to yellow, which means alike", "heat" },
    { int (Mode::blend), "The colours of heat over the frame (BGRx), more opaque if more alike",
      "blend" },
  };
  return enum_type<values> ("GstIntegralHistLikelihoodMode");
}

Expected<WrittenHistogram> written_histogram (const LikelihoodProperties &properties)
{
  const WrittenNumbers &numbers = *properties.histogram.value;
  return properties.measure == GST_INTEGRAL_HISTOGRAM_MEASURE_LINEAR ? numbers.weights
                                                                     : numbers.counts;
}

PropertyTable<LikelihoodProperties> make_table ()
{
  PropertyTable<LikelihoodProperties> table;
  table.choice ("mode", FIELD (mode), mode_get_type (), kPlaying, "Picture to show");
  table.parsed ("feature", FIELD (feature), kPlaying, kFeatureBlurb, parse_feature);
  table.parsed ("model", FIELD (model), kPlaying,
                "Region of the next frame to look for, \"x,y,width,height\" in pixels; empty = in "
                "the middle, a quarter as wide and high as the frame",
                parse_model);
  table.parsed (
      "histogram", FIELD (histogram), kPlaying,
      "Histogram to look for, a number for each bin, separated by commas; empty = that of model; "
      "see docs/properties.md",
      [] (const std::string &text) -> Expected<WrittenNumbers> {
        return WrittenNumbers{ parse_histogram (text), parse_histogram (text, true) };
      },
      [] (const LikelihoodProperties &properties) -> Expected<> {
        TRY (written_histogram (properties));
        return {};
      });
  table.number<guint> ("window-width", FIELD (window_width), 0, G_MAXINT, kPlaying,
                       "Width of a window in pixels; 0 = that of model, scaled with the frame");
  table.number<guint> ("window-height", FIELD (window_height), 0, G_MAXINT, kPlaying,
                       "Height of a window in pixels; 0 = that of model, scaled with the frame");
  table.number<guint> (
      "step", FIELD (step), 1, 64, kPlaying,
      "Pixels from one window to the next; twice the step takes a quarter of the time");
  table.choice ("measure", FIELD (measure), GST_TYPE_INTEGRAL_HISTOGRAM_MEASURE, kPlaying,
                "How to compare windows with the model; docs/tracking.md says how a value becomes "
                "brightness");
  table.number<double> ("opacity", FIELD (opacity), 0, 1, kPlaying,
                        "Opacity of the colours in places that are wholly alike, with mode=blend; "
                        "0 = show only the frame");
  table.flag (
      "scale", FIELD (scale), kPlaying,
      "Draw the scale of colours, with mode=heat and mode=blend, in frames of at least 160x120");
  table.flag ("messages", FIELD (messages), kPlaying,
              "Post the best window of each map as a message integral-histogram-likelihood");
  return table;
}

}  // namespace

INTEGRALHIST_ELEMENT (GstIntegralHistLikelihood, gst_integral_hist_likelihood,
                      INTEGRAL_HIST_LIKELIHOOD, GstVideoFilter, GST_TYPE_VIDEO_FILTER,
                      integralhistlikelihood, State *state;)

using Element = ConsumerElement<GstIntegralHistLikelihood, make_table>;

static void report (GstIntegralHistLikelihood *self, GstBuffer *buffer,
                    const GstVideoRectangle &window, double value)
{
  GstStructure *structure = frame_message ("integral-histogram-likelihood",
                                           FrameTimes::of (GST_BASE_TRANSFORM (self), buffer));
  gst_structure_set (structure, "x", G_TYPE_INT, window.x, "y", G_TYPE_INT, window.y, "width",
                     G_TYPE_INT, window.w, "height", G_TYPE_INT, window.h, "value", G_TYPE_DOUBLE,
                     value, nullptr);
  post_message (self, structure);
}

static const char *nick_of (GstIntegralHistogramMeasure measure)
{
  static auto *const klass =
      static_cast<GEnumClass *> (g_type_class_ref (GST_TYPE_INTEGRAL_HISTOGRAM_MEASURE));
  return g_enum_get_value (klass, measure)->value_nick;
}

/// Returns the grid of windows of a likelihood map. Windows have the size that the properties give,
/// or the size of the model for a property that is 0.
static MapGrid grid_of (const LikelihoodProperties &properties, const LikelihoodModel &model,
                        GstIntegralHistogram *histogram, int width, int height)
{
  const auto window = [] (guint wanted, double part, int pixels) {
    return wanted > 0 ? wanted
                      : guint (std::clamp<gint64> (std::llround (part * pixels), 1, G_MAXINT));
  };
  const guint window_width = window (properties.window_width, model.width, width),
              window_height = window (properties.window_height, model.height, height);
  return {
    width,
    height,
    window_width,
    window_height,
    { int (gst_integral_histogram_get_width (histogram)), width, window_width, properties.step },
    { int (gst_integral_histogram_get_height (histogram)), height, window_height, properties.step }
  };
}

/// Makes a new model for a frame of this size, unless the present model was made from the same
/// properties and has as many bins as the frame's histogram.
static Expected<> renew_model (State &state, const LikelihoodProperties &properties,
                               GstIntegralHistogramMeta *meta, int width, int height)
{
  const gsize bins = gst_integral_histogram_get_bins (meta->histogram);
  const bool is_new =
      state.model.bins.empty () || state.known_changes != properties.model_changes ();
  if (!is_new)
    TRY (check_feature (state.model, meta->histogram));
  if (is_new || state.model.bins.size () != bins) {
    state.model = TRY (
        make_model (properties.model, TRY (written_histogram (properties)), meta, width, height));
    state.known_changes = properties.model_changes ();
  }
  return {};
}

/// Computes the likelihood of each window of the grid, and gives the map to the picture.
static Expected<> fill_map (State &state, const LikelihoodProperties &properties,
                            GstIntegralHistogram *histogram, const MapGrid &grid, GstBuffer *values,
                            GstIntegralHistogramBest *best)
{
  GstMapInfo map;
  if (!values || !gst_buffer_map (values, &map, GST_MAP_WRITE))
    return error (Error::Kind::no_memory, "a likelihood map of ", grid.size (),
                  " windows: set step to a larger number");
  const auto fill = [&] (gfloat *likelihoods) -> Expected<> {
    const GstIntegralHistogramGrid windows = grid.in_tensor ();
    GError *problem = nullptr;
    if (!gst_integral_histogram_likelihood_maps (histogram, &windows, 1, state.model.bins.data (),
                                                 properties.measure, likelihoods, best, &problem))
      return take_gerror (problem, "The likelihood map failed: ");
    state.picture.set_map (grid.x, grid.y, std::span (likelihoods, grid.size ()),
                           properties.measure, int (gst_integral_histogram_get_bins (histogram)));
    return {};
  };
  auto filled = fill (reinterpret_cast<gfloat *> (map.data));
  gst_buffer_unmap (values, &map);
  return filled;
}

/// Warns once of windows with both sides larger than the frame, because their values are alike.
static void warn_of_size (GstIntegralHistLikelihood *self, const MapGrid &grid)
{
  const bool fits =
      grid.window_width <= guint (grid.width) || grid.window_height <= guint (grid.height);
  if (fits || std::exchange (self->state->size_warned, true))
    return;
  GST_ELEMENT_WARNING (self, RESOURCE, SETTINGS,
                       ("window-width=%u window-height=%u: such windows are larger than the %dx%d "
                        "frame, so that the map shows hardly anything. Set at most %d and %d.",
                        grid.window_width, grid.window_height, grid.width, grid.height, grid.width,
                        grid.height),
                       (nullptr));
}

/// Warns once if the map compares the colours of cudatrackfeatures, which have many bins.
static void warn_of_cost (GstIntegralHistLikelihood *self, const GstIntegralHistogramMeta *meta)
{
  if (self->state->consumer.take_cost_warning ())
    GST_ELEMENT_WARNING (
        self, RESOURCE, SETTINGS,
        ("The map compares the %u bins of the colours of cudatrackfeatures, which takes many times "
         "as long as 16 bins: put cudaintegralhist bins=16 before %s, or set feature=hsv.",
         gst_integral_histogram_get_bins (meta->histogram), GST_OBJECT_NAME (self)),
        (nullptr));
}

/// Makes the model if the frame needs a new one, computes the likelihood map of the frame, attaches
/// the map to the buffer `out`, and posts the best window as a message.
static Expected<> compute (GstIntegralHistLikelihood *self, const LikelihoodProperties &properties,
                           GstBuffer *buffer, GstBuffer *out, GstIntegralHistogramMeta *meta,
                           int width, int height)
{
  State &state = *self->state;
  const CancelScope scope = state.consumer.cancel_scope ();
  TRY (state.consumer.await (meta->histogram));
  TRY (renew_model (state, properties, meta, width, height));
  const MapGrid grid = grid_of (properties, state.model, meta->histogram, width, height);
  warn_of_size (self, grid);
  g_autoptr (GstBuffer) values = state.memory.take (grid.size () * sizeof (gfloat));
  GstIntegralHistogramBest best;
  TRY (fill_map (state, properties, meta->histogram, grid, values,
                 properties.messages ? &best : nullptr));
  attach_map_tensors (out, values, grid.in_frame (), nick_of (properties.measure));
  if (properties.messages)
    report (self, buffer, grid.place_of (best), best.value);
  return {};
}

/// Computes the likelihood map of a frame that carries a histogram; other frames show the last map.
/// Returns false if there is no map to show yet.
static Expected<bool> make_map (GstIntegralHistLikelihood *self,
                                const LikelihoodProperties &properties, GstBuffer *buffer,
                                GstBuffer *out, const GstVideoRectangle &area)
{
  State &state = *self->state;
  GstIntegralHistogramMeta *const meta =
      TRY (state.consumer.find (GST_BASE_TRANSFORM (self), buffer, properties.feature));
  if (meta)
    warn_of_cost (self, meta);
  if (meta && !shows_all (meta))
    return error (Error::Kind::no_histogram,
                  "The frames were cropped, mirrored, turned or got borders behind "
                  "cudaintegralhist: put ",
                  GST_OBJECT_NAME (self), " before the element that does that");
  if (meta)
    TRY (compute (self, properties, buffer, out, meta, area.w, area.h));
  else
    TRY (state.consumer.note_missing (GST_BASE_TRANSFORM (self)));
  return state.picture.has_map ();
}

static bool shows_scale (const LikelihoodProperties &properties)
{
  const bool is_frame_alone = properties.mode == Mode::blend && properties.opacity == 0;
  return properties.scale && properties.mode != Mode::gray && !is_frame_alone;
}

static Expected<GstFlowReturn> show_map (GstIntegralHistLikelihood *self, GstVideoFrame *in,
                                         GstVideoFrame *out)
{
  State &state = *self->state;
  const auto snapshot = Element::properties_of (self);
  const LikelihoodProperties &properties = *snapshot;
  const GstVideoRectangle area = TRY (frame_area (in->buffer, state.input));
  if (!TRY (make_map (self, properties, in->buffer, out->buffer, area)))
    return GST_BASE_TRANSFORM_FLOW_DROPPED;
  // The caps decide between gray and colours, because the property mode may just have changed.
  if (GST_VIDEO_FRAME_FORMAT (out) == GST_VIDEO_FORMAT_GRAY8) {
    state.picture.paint_gray (*out);
    return GST_FLOW_OK;
  }
  if (properties.mode == Mode::heat)
    state.picture.paint_heat (*out);
  else
    TRY (state.picture.paint_blend (*in, area, properties.opacity, *out));
  if (shows_scale (properties))
    LikelihoodPicture::draw_scale (*out);
  return GST_FLOW_OK;
}

/// Draws the likelihood map over a frame in CUDA memory or NVMM, in place.
static Expected<GstFlowReturn> draw_map (GstIntegralHistLikelihood *self, GstBuffer *buffer)
{
  State &state = *self->state;
  const auto snapshot = Element::properties_of (self);
  const LikelihoodProperties &properties = *snapshot;
  const GstVideoRectangle area = TRY (frame_area (buffer, state.input));
  if (!TRY (make_map (self, properties, buffer, buffer, area)))
    return GST_BASE_TRANSFORM_FLOW_DROPPED;
  const LevelColours colours = properties.mode == Mode::gray   ? gray_levels ()
                               : properties.mode == Mode::heat ? heat_levels ()
                                                               : blend_levels (properties.opacity);
  const LevelPicture map = state.picture.over (area, colours);
  DrawingList list;
  if (const auto scale = LevelScale::of (area.w, area.h); scale && shows_scale (properties)) {
    GstVideoRectangle place = scale->place;
    place.x += area.x;
    place.y += area.y;
    TRY (list.blend (scale->pixels, place));
  }
  TRY (state.canvas.draw (buffer, state.input, &map, list.drawings ()));
  return GST_FLOW_OK;
}

static GstFlowReturn gst_integral_hist_likelihood_transform_frame (GstVideoFilter *filter,
                                                                   GstVideoFrame *in,
                                                                   GstVideoFrame *out)
{
  const auto flow = show_map (GST_INTEGRAL_HIST_LIKELIHOOD (filter), in, out);
  return flow ? *flow : post_consumer_error (filter, in->buffer, flow.error ());
}

/// Refuses a frame that contradicts the caps or cannot be mapped. GstVideoFilter would only warn,
/// and push a picture without pixels.
static GstFlowReturn gst_integral_hist_likelihood_transform (GstBaseTransform *trans, GstBuffer *in,
                                                             GstBuffer *out)
{
  if (!has_picture (in))
    return GST_FLOW_OK;  // a gap without a picture passes unchanged
  if (post_error_if_failed (trans,
                            MappedFrame::map (in, Element::state_of (trans).input, GST_MAP_READ)))
    return GST_FLOW_ERROR;
  return GST_BASE_TRANSFORM_CLASS (Element::parent_class ())->transform (trans, in, out);
}

static GstFlowReturn gst_integral_hist_likelihood_transform_ip (GstBaseTransform *trans,
                                                                GstBuffer *buffer)
{
  if (!has_picture (buffer))
    return GST_FLOW_OK;
  const auto flow = draw_map (GST_INTEGRAL_HIST_LIKELIHOOD (trans), buffer);
  return flow ? *flow : post_consumer_error (trans, buffer, flow.error ());
}

static gboolean gst_integral_hist_likelihood_set_info (GstVideoFilter *filter, GstCaps *in_caps,
                                                       GstVideoInfo *, GstCaps *, GstVideoInfo *)
{
  const auto input = frame_format_of (in_caps);
  if (post_error_if_failed (filter, input))
    return FALSE;
  State &state = Element::state_of (filter);
  state.input = *input;
  state.picture.forget_formats ();
  gst_base_transform_set_in_place (GST_BASE_TRANSFORM (filter),
                                   input->memory != FrameMemory::system);
  return TRUE;
}

/// Frames in system memory become GRAY8 or BGRx; others keep their format, and are drawn on.
static GstCaps *gst_integral_hist_likelihood_transform_caps (GstBaseTransform *trans,
                                                             GstPadDirection direction,
                                                             GstCaps *caps, GstCaps *filter)
{
  const char *format = Element::properties_of (trans)->mode == Mode::gray ? "GRAY8" : "BGRx";
  GstCaps *other = gst_caps_new_empty (), *in_place = gst_caps_new_empty ();
  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    GstCaps *const one = gst_caps_copy_nth (caps, i);
    gst_caps_append (memory_of (one) == FrameMemory::system ? other : in_place, one);
  }
  if (direction == GST_PAD_SRC) {
    g_autoptr (GstCaps) made =
        gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING, format, nullptr);
    gst_caps_take (&other, gst_caps_make_writable (
                               gst_caps_intersect_full (other, made, GST_CAPS_INTERSECT_FIRST)));
  }
  for (guint i = 0; i < gst_caps_get_size (other); i++) {
    GstStructure *structure = gst_caps_get_structure (other, i);
    gst_structure_remove_fields (structure, "format", "colorimetry", "chroma-site", nullptr);
    if (direction == GST_PAD_SINK)
      gst_structure_set (structure, "format", G_TYPE_STRING, format, nullptr);
  }
  gst_caps_append (in_place, other);
  if (filter)
    gst_caps_take (&in_place, gst_caps_intersect_full (filter, in_place, GST_CAPS_INTERSECT_FIRST));
  return in_place;
}

/// Offers no pool for NVMM frames, because the elements that make such frames have their own.
static gboolean gst_integral_hist_likelihood_propose_allocation (GstBaseTransform *trans,
                                                                 GstQuery *decide_query,
                                                                 GstQuery *query)
{
  GstCaps *caps = nullptr;
  gst_query_parse_allocation (query, &caps, nullptr);
  const bool is_nvmm_query = caps && is_nvmm (caps);
  auto *const klass =
      is_nvmm_query ? g_type_class_peek (GST_TYPE_BASE_TRANSFORM) : Element::parent_class ();
  return GST_BASE_TRANSFORM_CLASS (klass)->propose_allocation (trans, decide_query, query);
}

static GstFlowReturn gst_integral_hist_likelihood_prepare_output_buffer (GstBaseTransform *trans,
                                                                         GstBuffer *in,
                                                                         GstBuffer **out)
{
  if (has_picture (in)) {
    const auto &input = Element::state_of (trans).input;
    if (post_error_if_failed (trans, check_alone (in, input, GST_OBJECT_NAME (trans))))
      return GST_FLOW_ERROR;
    return prepare_with_tensors (trans, in, out);
  }
  *out = in;
  return GST_FLOW_OK;
}

/// Keeps metas about places in the frame, because the output picture shows the same places.
static gboolean gst_integral_hist_likelihood_transform_meta (GstBaseTransform *trans,
                                                             GstBuffer *out, GstMeta *meta,
                                                             GstBuffer *in)
{
  if (meta->info->api == GST_VIDEO_CROP_META_API_TYPE)
    return FALSE;  // the output picture shows only what the crop leaves
  static const char *const kept[] = { GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                      GST_META_TAG_VIDEO_ORIENTATION_STR, nullptr };
  const gchar *const *tags = gst_meta_api_type_get_tags (meta->info->api);
  while (tags && *tags && g_strv_contains (kept, *tags))
    tags++;
  return !tags || !*tags
         || GST_BASE_TRANSFORM_CLASS (Element::parent_class ())
                ->transform_meta (trans, out, meta, in);
}

static void gst_integral_hist_likelihood_set_property (GObject *object, guint id,
                                                       const GValue *value, GParamSpec *spec)
{
  (void) Element::take_property (object, id, value, spec);
  if (g_str_equal (spec->name, "mode"))
    gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (object));
}

static void gst_integral_hist_likelihood_init (GstIntegralHistLikelihood *self)
{
  Element::init (self);
}

static void gst_integral_hist_likelihood_class_init (GstIntegralHistLikelihoodClass *klass)
{
  GST_DEBUG_CATEGORY_INIT (category, "integralhistlikelihood", 0, "likelihood maps as pictures");

  g_autoptr (GstCaps) sink_caps =
      with_canvas_caps (gst_caps_from_string (GST_VIDEO_CAPS_MAKE (GST_VIDEO_FORMATS_ALL)));
  g_autoptr (GstCaps) src_caps =
      with_canvas_caps (gst_caps_from_string (GST_VIDEO_CAPS_MAKE ("{ BGRx, GRAY8 }")));
  Element::init_class (
      klass, { "Integral histogram likelihood", "Filter/Effect/Video",
               "Shows where video frames look like a model; needs cudaintegralhist before it",
               sink_caps, src_caps });
  G_OBJECT_CLASS (klass)->set_property = gst_integral_hist_likelihood_set_property;
  auto *trans_class = GST_BASE_TRANSFORM_CLASS (klass);
  trans_class->transform_caps = GST_DEBUG_FUNCPTR (gst_integral_hist_likelihood_transform_caps);
  trans_class->transform_meta = GST_DEBUG_FUNCPTR (gst_integral_hist_likelihood_transform_meta);
  trans_class->propose_allocation =
      GST_DEBUG_FUNCPTR (gst_integral_hist_likelihood_propose_allocation);
  trans_class->prepare_output_buffer =
      GST_DEBUG_FUNCPTR (gst_integral_hist_likelihood_prepare_output_buffer);
  trans_class->transform = GST_DEBUG_FUNCPTR (gst_integral_hist_likelihood_transform);
  trans_class->transform_ip = GST_DEBUG_FUNCPTR (gst_integral_hist_likelihood_transform_ip);
  auto *filter_class = GST_VIDEO_FILTER_CLASS (klass);
  filter_class->set_info = GST_DEBUG_FUNCPTR (gst_integral_hist_likelihood_set_info);
  filter_class->transform_frame = GST_DEBUG_FUNCPTR (gst_integral_hist_likelihood_transform_frame);
}
