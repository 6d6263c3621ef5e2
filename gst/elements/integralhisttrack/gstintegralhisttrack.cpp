// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-integralhisttrack
 * @title: integralhisttrack
 *
 * Follows targets from frame to frame by a correlation filter on cells of gradients, by their
 * colours, and by a filter of their size. `cudatrackfeatures` attaches the tensors that this needs.
 *
 * With #integralhisttrack:method `fragments` it follows targets by the histograms of their
 * fragments (Adam, Rivlin and Shimshoni, CVPR 2006). This needs one integral histogram, such as
 * `cudaintegralhist bins=16` attaches. If the histogram is on a GPU, the search runs there. If
 * several elements have attached histograms, #integralhisttrack:feature selects one.
 *
 * A target starts from the property #integralhisttrack:targets, from each
 * #GstVideoRegionOfInterestMeta or object detection of GstAnalytics that does not match a target
 * yet, or from a box that is drawn with the mouse in a video window. A click drops the target under
 * it, until upstream detects it again. Each later detection of a target, also of a lost one, gives
 * its place and size. A target without a detection continues as long as its box looks like it; if
 * it does not, it continues for up to 10 frames between two runs of the detector. It keeps its id
 * for #integralhisttrack:remember seconds.
 *
 * Every frame with an integral histogram then carries, for each target, a
 * #GstVideoRegionOfInterestMeta of the type `track` with the target's id, the id of the box that
 * started it as its parent, and a parameter `track` with a field `confidence`. If GstAnalytics is
 * available, the frame also carries a tracking mtd with an object detection of the type `track`.
 * For each frame with targets the element posts a message `integral-histogram-track` with
 * `timestamp`, `stream-time`, `running-time`, `duration` and `tracks`, an array of structures with
 * `id`, `parent`, `x`, `y`, `width`, `height`, `confidence` and `lost`. A target that was detected
 * also has the fields `class` and `detection-confidence` in both, from its last detection, if that
 * has them. With #integralhisttrack:reidentify a target may turn out to be a lost one that has come
 * back. It then has the id of the lost one, and the field `former-id` with its own until then.
 *
 * A lost target has no region of interest; its message says that it is lost, and where it was last.
 * The tracker searches for it in a growing area, and it starts again if it is detected. If it was
 * detected before, and the detector is still running, the tracker does not search for it. After a
 * seek the targets of the property start again, and all others are dropped. If the method, the
 * feature or the number of bins changes, targets start again where they are, and lost ones stay
 * lost until they are detected. A target without a pixel that counts, such as a gray target with
 * feature=hue, is lost from the start, and a warning says so.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=video.mp4 ! decodebin ! videoconvert ! \
 *     cudatrackfeatures ! integralhisttrack targets="210,117,30,100" ! \
 *     integralhistoverlay ! videoconvert ! autovideosink
 * ]| follows what is in the box in the first frame.
 */
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gst/video/navigation.h>

#include <gst/elements/base/messages.hpp>
#include <gst/elements/base/parse.hpp>
#include <gst/elements/base/plugin_queries.hpp>
#include <gst/elements/consumer/consumer_element.hpp>
#include <gst/frame/mapped_frame.hpp>
#include <gst/integralhist/api/c_api.hpp>
#include <gst/properties/properties.hpp>
#include <gst/track/base/log.hpp>
#include <gst/track/correlation/correlation_tensors.hpp>
#include <gst/track/stream_tracker.hpp>
#include <gst/track/track_options.hpp>

#include "frame_boxes.hpp"

#define GST_CAT_DEFAULT track_log ()

using namespace integralhist;

namespace {

constexpr GstClockTime kMaxSegmentGap = GST_SECOND;
constexpr double kMinDrag = 4;  // pixels each way; less is a click, not a drawn box

enum class Method { fragments, correlation };

// The start of the descriptions of properties that only method=fragments uses.
constexpr char kOfFragments[] = "method=fragments: ";

struct TrackProperties {
  Method method = Method::correlation;
  FeatureText feature;
  ParsedText<std::vector<GstVideoRectangle>> targets, area;
  bool detections = true, navigation = true;
  TrackOptions track;
  FragmentsSettings fragments;
};

GType method_get_type ()
{
  static constexpr GEnumValue values[] = {
    { int (Method::fragments),
      "By histograms of patches; needs an element such as cudaintegralhist bins=16 before it",
      "fragments" },
    { int (Method::correlation),
      "By correlation filters of gradients and sizes, and by colours; needs cudatrackfeatures "
      "before it",
      "correlation" },
  };
  return enum_type<values> ("GstIntegralHistTrackMethod");
}

PropertyTable<TrackProperties> make_table ()
{
  PropertyTable<TrackProperties> table;
  table.choice ("method", FIELD (method), method_get_type (), kPlaying,
                "How to follow targets; if you change it, targets start again where they are");
  table.parsed ("feature", FIELD (feature), kPlaying, joined (kOfFragments, kFeatureBlurb),
                parse_feature);
  table.parsed (
      "targets", FIELD (targets), kPlaying,
      "Boxes to follow from the next frame on, \"x,y,width,height;...\" in pixels, at most "
      "1000; a new value replaces them",
      [] (const std::string &text) { return parse_regions (text, "targets"); });
  table.flag ("detections", FIELD (detections), kPlaying,
              "Follow the detections that frames carry: regions of interest, and objects of "
              "GstAnalytics and DeepStream; a confidence of 0.85, or 0.6 twice, starts a target");
  table.part (track_properties (), FIELD (track));
  table.parsed ("area", FIELD (area), kPlaying,
                "Regions that must contain the middle of a target, else it is dropped: "
                "\"x,y,width,height;...\" in pixels; empty = the whole frame",
                [] (const std::string &text) { return parse_regions (text, "area"); });
  table.flag ("navigation", FIELD (navigation), kPlaying,
              "Follow boxes that the mouse draws in a video window; a click on a target drops it");
  table.part (fragments_properties (kOfFragments), FIELD (fragments));
  return table;
}

void warn (gpointer element, const TrackWarning &warning)
{
  const char *const text = warning.message.c_str (), *const detail = warning.detail.c_str ();
  if (warning.cause == TrackWarning::Cause::detections)
    GST_ELEMENT_WARNING (element, STREAM, FORMAT, ("%s", text), ("%s", detail));
  else
    GST_ELEMENT_WARNING (element, RESOURCE, SETTINGS, ("%s", text), ("%s", detail));
}

struct State {
  explicit State (gpointer element)
      : tracker (element, [element] (const TrackWarning &warning) { warn (element, warning); })
  {
  }

  std::shared_ptr<const TrackProperties> properties = std::make_shared<TrackProperties> ();

  HistogramConsumer consumer;

  // used by the streaming thread
  StreamTracker tracker;
  Method method = Method::correlation;  // of the last frame
  bool has_tracks = false;              // the last frame with a histogram had tracks
  bool ignored_checked = false;  // whether the method's first frame has checked ignored properties
  bool interval_warned = false;  // whether a warning of frames left out was posted
  GstClockTime last_stream_time = GST_CLOCK_TIME_NONE;

  std::mutex mutex;  // guards the mouse input; its events come from downstream
  std::optional<Point> pressed;
  std::vector<GstVideoRectangle> drawn;
  std::vector<Point> clicked;

  /// Forgets all targets; the next frame starts those of the property `targets`.
  void restart ()
  {
    tracker.clear ();
    last_stream_time = GST_CLOCK_TIME_NONE;
  }
  void handle_event (GstEvent *event);
  void stop ();
};

void State::handle_event (GstEvent *event)
{
  const GstEventType type = GST_EVENT_TYPE (event);
  bool restarts = type == GST_EVENT_STREAM_START || type == GST_EVENT_FLUSH_STOP;
  if (type == GST_EVENT_SEGMENT) {
    // A segment that begins within kMaxSegmentGap of the last frame's time is not a seek.
    const GstSegment *segment;
    gst_event_parse_segment (event, &segment);
    restarts = segment->format != GST_FORMAT_TIME || !GST_CLOCK_TIME_IS_VALID (last_stream_time)
               || std::llabs (gint64 (segment->time) - gint64 (last_stream_time))
                      >= gint64 (kMaxSegmentGap);
  }
  if (restarts)
    restart ();
}

void State::stop ()
{
  restart ();
  tracker.reset ();
  has_tracks = ignored_checked = interval_warned = false;
  const std::lock_guard lock (mutex);
  pressed.reset ();
  drawn.clear ();
  clicked.clear ();
}

}  // namespace

INTEGRALHIST_ELEMENT (GstIntegralHistTrack, gst_integral_hist_track, INTEGRAL_HIST_TRACK,
                      GstBaseTransform, GST_TYPE_BASE_TRANSFORM, integralhisttrack, State *state;)

using Element = ConsumerElement<GstIntegralHistTrack, make_table>;

/// Writes the tracks into the metas of the buffer, and posts the tracks as a message.
static void publish (GstBaseTransform *trans, GstBuffer *buffer, const TargetFrame &frame,
                     const std::vector<TrackedBox> &tracks,
                     const std::vector<Detection> &detections)
{
  if (tracks.empty ())
    return;
  std::vector<Track> all;
  for (const TrackedBox &box : tracks)
    all.push_back (box.track);
  auto *const meta = add_tracks (buffer, frame.width, frame.height, std::move (all));
  write_analytics (buffer, tracks, detections);
  GstStructure *message =
      frame_message ("integral-histogram-track", FrameTimes::of (trans, buffer));
  set_array (message, "tracks", tracks.size (), [&] (std::size_t i) {
    GValue track = G_VALUE_INIT;
    g_value_take_boxed (g_value_init (&track, GST_TYPE_STRUCTURE),
                        gst_integral_histogram_tracks_meta_get_track (meta, guint (i)));
    return track;
  });
  post_message (trans, message);
}

/// Returns the tracker's input besides pixels: properties, detections, and new mouse input.
static Expected<TrackerInput> tracker_input (State &state, const TrackProperties &properties,
                                             GstBuffer *buffer)
{
  TrackerInput input = { .options = properties.track.list };
  input.options.targets = TRY (properties.targets.value);
  input.options.area = TRY (properties.area.value);
  if (properties.detections)
    input.detections = read_detections (buffer);
  const std::lock_guard lock (state.mutex);
  input.drawn.swap (state.drawn);
  input.clicked.swap (state.clicked);
  return input;
}

/// Follows the targets in a frame. `method_input` is the input for the tracking method in use.
template <typename MethodInput>
static Expected<> follow_targets (GstBaseTransform *trans, State &state,
                                  const TrackProperties &properties, GstBuffer *buffer,
                                  const TargetFrame &frame, const MethodInput &method_input)
{
  const TrackerInput input = TRY (tracker_input (state, properties, buffer));
  const CancelScope scope = state.consumer.cancel_scope ();
  state.consumer.note_found ();
  TRY (state.tracker.track (frame, method_input, properties.track.lost_after, input));
  const std::vector<TrackedBox> tracks = state.tracker.tracks (frame);
  state.has_tracks = !tracks.empty ();
  publish (trans, buffer, frame, tracks, input.detections);
  if (trans->segment.format == GST_FORMAT_TIME && GST_BUFFER_PTS_IS_VALID (buffer))
    state.last_stream_time =
        gst_segment_to_stream_time (&trans->segment, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer));
  return {};
}

/// Warns once of a producer that leaves frames out, because targets are not followed in them.
static void warn_of_interval (GstBaseTransform *trans, State &state, const char *feature,
                              inthist::Content content = inthist::Content::bins)
{
  if (state.interval_warned || !state.has_tracks)
    return;
  const auto producer = find_producer (GST_BASE_TRANSFORM_SINK_PAD (trans), feature, content);
  if (!producer || producer->interval <= 1)
    return;
  state.interval_warned = true;
  GST_ELEMENT_WARNING (trans, RESOURCE, SETTINGS,
                       ("interval=%u leaves frames without a histogram, in which no target is "
                        "followed: set interval=1 before %s.",
                        producer->interval, GST_OBJECT_NAME (trans)),
                       (nullptr));
}

static void warn_of_ignored (GstBaseTransform *trans, const TrackProperties &properties)
{
  const std::string names = Element::table ().changed (properties, kOfFragments);
  if (!names.empty ())
    GST_ELEMENT_WARNING (trans, RESOURCE, SETTINGS,
                         ("method=correlation ignores these properties of method=fragments: %s. "
                          "Leave them out, or set method=fragments.",
                          names.c_str ()),
                         (nullptr));
}

/// Follows the targets with method=correlation. A frame that lacks one of the tensors is skipped if
/// the producers may leave frames out.
static Expected<> track_by_correlation (GstBaseTransform *trans, State &state,
                                        const TrackProperties &properties, GstBuffer *buffer)
{
  const CorrelationMetas metas = CorrelationMetas::of (buffer);
  if (!metas.are_complete ()) {
    for (const TensorSettings *const settings : kCorrelationSettings)
      warn_of_interval (trans, state, inthist::info_of (settings->spec.feature).nick,
                        settings->content);
    const MissingTensors missing = MissingTensors::of (buffer, metas);
    if (missing.range_meta && !state.consumer.has_found ())
      TRY (check_all_bins (missing.range_meta->histogram));
    if (state.consumer.note_incomplete (trans)
        && (state.consumer.has_found () || !missing.has_other ()))
      return {};
    return error (Error::Kind::no_histogram, "method=correlation: The frames carry ",
                  missing.names (), ": put ", kCorrelationProducer, " before ",
                  GST_OBJECT_NAME (trans),
                  missing.has_other () || missing.other_feature
                      ? ", and leave feature, bins, weight, soft and lut of the elements "
                        "inside it as they are"
                      : ", with nothing between them that drops it",
                  state.consumer.find (trans, buffer, properties.feature).value_or (nullptr)
                      ? "; or set method=fragments, which follows by one integral histogram"
                      : "");
  }
  TRY (state.consumer.check_size (buffer, metas.gradients));
  return follow_targets (trans, state, properties, buffer, TargetFrame (buffer, metas.gradients),
                         metas.tensors ());
}

/// Warns once if method=fragments uses the colours of cudatrackfeatures, which are meant for
/// method=correlation and have many bins.
static void warn_of_cost (GstBaseTransform *trans, State &state,
                          const GstIntegralHistogramMeta *meta)
{
  if (!state.consumer.take_cost_warning ())
    return;
  GST_ELEMENT_WARNING (
      trans, RESOURCE, SETTINGS,
      ("method=fragments compares the %u bins of the colours of cudatrackfeatures, which takes "
       "many times as long as 16 bins: put cudaintegralhist bins=16 in its place, or set "
       "method=correlation.",
       gst_integral_histogram_get_bins (meta->histogram)),
      (nullptr));
}

static Expected<> track_frame (GstIntegralHistTrack *self, GstBuffer *buffer)
{
  GstBaseTransform *const trans = GST_BASE_TRANSFORM (self);
  State &state = *self->state;
  const auto properties = Element::properties_of (self);
  const TrackProperties &current = *properties;
  if (!has_picture (buffer))
    return {};
  if (std::exchange (state.method, current.method) != current.method) {
    state.consumer.forget_choice ();
    state.ignored_checked = false;
  }
  const bool is_first = !std::exchange (state.ignored_checked, true);
  if (current.method == Method::correlation) {
    if (is_first)
      warn_of_ignored (trans, current);
    return track_by_correlation (trans, state, current, buffer);
  }
  const GstIntegralHistogramMeta *meta = TRY (state.consumer.find (trans, buffer, current.feature));
  if (!meta) {
    warn_of_interval (trans, state, state.consumer.feature_nick ());
    return state.consumer.note_missing (trans);
  }
  warn_of_cost (trans, state, meta);
  return follow_targets (trans, state, current, buffer, TargetFrame (buffer, meta),
                         current.fragments);
}

static GstFlowReturn gst_integral_hist_track_transform_ip (GstBaseTransform *trans,
                                                           GstBuffer *buffer)
{
  const auto tracked = track_frame (GST_INTEGRAL_HIST_TRACK (trans), buffer);
  return tracked ? GST_FLOW_OK
                 : post_consumer_error (trans, buffer, tracked.error (), "Tracking failed: ");
}

/// Reads a mouse event of a video window; the coordinates are pixels of the output frames.
static void handle_navigation (State &state, GstEvent *event)
{
  const GstNavigationEventType type = gst_navigation_event_get_type (event);
  const bool is_press = type == GST_NAVIGATION_EVENT_MOUSE_BUTTON_PRESS;
  if (!is_press && type != GST_NAVIGATION_EVENT_MOUSE_BUTTON_RELEASE)
    return;
  gint button;
  Point point;
  if (!gst_navigation_event_parse_mouse_button_event (event, &button, &point.x, &point.y)
      || button != 1)
    return;
  const std::lock_guard lock (state.mutex);
  const std::optional<Point> from =
      std::exchange (state.pressed, is_press ? std::optional (point) : std::nullopt);
  if (is_press || !from)
    return;
  const double width = std::fabs (point.x - from->x), height = std::fabs (point.y - from->y);
  if (width < kMinDrag && height < kMinDrag)
    state.clicked.push_back (point);
  else
    state.drawn.push_back ({ round_to_pixel (std::floor (std::min (point.x, from->x))),
                             round_to_pixel (std::floor (std::min (point.y, from->y))),
                             std::max (1, round_to_pixel (std::floor (width))),
                             std::max (1, round_to_pixel (std::floor (height))) });
}

static gboolean gst_integral_hist_track_src_event (GstBaseTransform *trans, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_NAVIGATION && Element::properties_of (trans)->navigation)
    handle_navigation (Element::state_of (trans), event);
  return GST_BASE_TRANSFORM_CLASS (Element::parent_class ())->src_event (trans, event);
}

static gboolean gst_integral_hist_track_query (GstBaseTransform *trans, GstPadDirection direction,
                                               GstQuery *query)
{
  return answer_tracker_query (query)
         || GST_BASE_TRANSFORM_CLASS (Element::parent_class ())->query (trans, direction, query);
}

static void gst_integral_hist_track_init (GstIntegralHistTrack *self)
{
  Element::init (self);
  gst_base_transform_set_in_place (GST_BASE_TRANSFORM (self), TRUE);
}

static void gst_integral_hist_track_class_init (GstIntegralHistTrackClass *klass)
{
  track_log ();  // for gst-launch-1.0 --gst-debug-help
  g_autoptr (GstCaps) caps = gst_caps_from_string ("video/x-raw(ANY)");
  Element::init_class (
      klass,
      { "Integral histogram tracker", "Filter/Analyzer/Video",
        "Follows targets, behind cudatrackfeatures. Posts integral-histogram-track, and attaches a "
        "GstVideoRegionOfInterestMeta of the type track and a GstIntegralHistogramTracksMeta",
        caps, caps });
  auto *trans_class = GST_BASE_TRANSFORM_CLASS (klass);
  trans_class->transform_ip = GST_DEBUG_FUNCPTR (gst_integral_hist_track_transform_ip);
  trans_class->query = GST_DEBUG_FUNCPTR (gst_integral_hist_track_query);
  trans_class->src_event = GST_DEBUG_FUNCPTR (gst_integral_hist_track_src_event);
}
