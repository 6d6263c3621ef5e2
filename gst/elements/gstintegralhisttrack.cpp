// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-integralhisttrack
 * @title: integralhisttrack
 *
 * Follows targets from frame to frame by the histograms of their fragments (Adam, Rivlin and
 * Shimshoni, CVPR 2006), which it asks of the integral histogram that `cudaintegralhist` has
 * attached. With a histogram on a GPU the search is done there.
 *
 * A target starts from the property #integralhisttrack:targets, from each
 * #GstVideoRegionOfInterestMeta or object detection of GstAnalytics that no target covers yet, or
 * from a box that is drawn with the mouse in a video window; a click drops the target under it,
 * until upstream detects it again. Every frame with an integral histogram then carries, for each
 * target, a #GstVideoRegionOfInterestMeta of the type `track` with the target's id, the id of what
 * it was started from as its parent, and a parameter `track` with a field `confidence`; where
 * GstAnalytics is there, a tracking mtd with an object detection of the type `track` as well. And
 * for each frame with targets there is an element message `integral-histogram-track` with
 * `timestamp`, `stream-time`, `running-time`, `duration` and `tracks`, an array of structures with
 * `id`, `parent`, `x`, `y`, `width`, `height`, `confidence` and `lost`.
 *
 * A lost target has no region of interest, and its message says so, with the place where it was
 * last; it is searched for in a growing area, and starts again where a detection covers it. After a
 * seek the targets of the property start again, and the others are gone.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=video.mp4 ! decodebin ! videoconvert ! \
 *     cudaintegralhist bins=16 ! integralhisttrack targets="210,117,30,100" ! \
 *     integralhistoverlay ! videoconvert ! autovideosink
 * ]| follows what is in the box in the first frame.
 */
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <gst/video/navigation.h>

#include <kernels/region.hpp>

#include "consumer_element.hpp"
#include "fragments_tracker.hpp"
#include "frame_boxes.hpp"
#include "messages.hpp"
#include "parse.hpp"
#include "properties.hpp"

using namespace integralhist;

GST_DEBUG_CATEGORY_STATIC (category);
#define GST_CAT_DEFAULT category

namespace {

constexpr guint kMaxTargets = 1000;
// Shares of both boxes, or of the smaller one, from which on a detection is a target's.
constexpr double kCovers = 0.3, kContains = 0.7;
constexpr GstClockTime kContinues = GST_SECOND;  // no seek: segments are nearer than this
constexpr double kLeastDrag = 4;                 // pixels each way; less is a click

struct TrackProperties {
  std::string targets;
  bool detections = true, navigation = true;
  guint forget_after = 100;
  TrackOptions track;
};

PropertyTable<TrackProperties> make_table ()
{
  PropertyTable<TrackProperties> table;
  table.text ("targets", FIELD (targets), kPlaying,
              "Boxes \"x,y,width,height;...\" in pixels of the first frame to follow from there, "
              "as far as they lie in it; one outside is an error. When it is set later, the "
              "targets that it gave before are dropped, and these start in the next frame",
              [] (const std::string &text) { return parse_regions (text, "targets"); });
  table.flag ("detections", FIELD (detections), kPlaying,
              "Follow each region of interest, and object detection of GstAnalytics, of a frame "
              "that no target covers yet");
  table.flag ("navigation", FIELD (navigation), kPlaying,
              "Follow what the mouse draws a box around in a video window; a click on a target "
              "drops it, until upstream detects it again");
  table.choice ("measure", FIELD (track.measure), GST_TYPE_INTEGRAL_HISTOGRAM_MEASURE, kPlaying,
                "How to compare a patch and its model");
  table.number<double> ("quantile", FIELD (track.quantile), 0, 1, kPlaying,
                        "Which of the patches' distances, from 0 for the least to 1 for the "
                        "largest, is that of a position; the patches above it may be hidden");
  table.number<guint> ("search-range", FIELD (track.search_range), 1, 256, kPlaying,
                       "How far a target moves at most from frame to frame, in pixels each way");
  table.number<guint> ("strips", FIELD (track.strips), 1, 32, kPlaying,
                       "How many strips of patches a box is cut into along each side, each of two "
                       "patches; for targets that start from now on");
  table.number<double> ("update-rate", FIELD (track.update_rate), 0, 1, kPlaying,
                        "How much of a patch's histogram goes into its model with each frame, for "
                        "patches that agree, and none while the target may be hidden; 0 keeps the "
                        "first frame's models, as the paper does, 0.1 follows slow changes");
  table.flag ("scale-search", FIELD (track.scale_search), kPlaying,
              "Look for the target 5 % smaller and larger, too");
  table.number<guint> ("lost-after", FIELD (track.lost_after), 0, 1000, kPlaying,
                       "After how many bad frames in a row a target is lost; 0 for never");
  table.number<guint> ("forget-after", FIELD (forget_after), 0, G_MAXUINT, kPlaying,
                       "After how many frames a lost target is given up, unless it is one of the "
                       "property targets; 0 for never");
  table.number<double> ("min-confidence", FIELD (track.min_confidence), 0, 1, kPlaying,
                        "Below which confidence a frame is bad; confidence is how much less the "
                        "best position costs than half of those nearby, 0 to 1. Where all "
                        "positions are the same, as of a flat target on a flat ground, it is 0 and "
                        "the frame is not bad: the target stays where it is");
  return table;
}

/// A target, and what the element knows of it.
struct Followed {
  Target target;
  bool configured;  // by the property
  GstClockTime first_seen, last_seen;
  guint lost_frames = 0;
};

struct Point {
  double x, y;
};

struct State {
  TrackProperties properties;  // guarded by the object lock

  HistogramConsumer consumer;

  // of the streaming thread
  std::vector<std::unique_ptr<Followed>> followed;
  std::optional<std::string> configured;  // properties.targets of the last frame
  guint next_id = 1;
  GstClockTime last_stream_time = GST_CLOCK_TIME_NONE;
  bool excess_warned = false;  // of targets

  std::mutex mutex;  // guards the mouse, which comes from downstream
  std::optional<Point> pressed;
  std::vector<GstVideoRectangle> drawn;
  std::vector<Point> clicked;
};

}  // namespace

G_DECLARE_FINAL_TYPE (GstIntegralHistTrack, gst_integral_hist_track, GST, INTEGRAL_HIST_TRACK,
                      GstBaseTransform)
struct _GstIntegralHistTrack {
  GstBaseTransform parent;

  State *state;
};

#define gst_integral_hist_track_parent_class parent_class
G_DEFINE_FINAL_TYPE (GstIntegralHistTrack, gst_integral_hist_track, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE (integralhisttrack, "integralhisttrack", GST_RANK_NONE,
                             gst_integral_hist_track_get_type ())

using Element = ConsumerElement<GstIntegralHistTrack, State, make_table>;

// frames

namespace {

/// A scale from pixels of the frame to those of the tensor, which may have another size.
struct Scale {
  double x, y;
};

TargetBox in_tensor (const GstVideoRectangle &box, const Scale &scale)
{
  return { box.x * scale.x, box.y * scale.y, box.w * scale.x, box.h * scale.y };
}

/// Returns the nearest whole pixel, clamped far outside of any frame: differences stay integers.
gint pixel (double at)
{
  constexpr double kFar = 1e9;
  return std::isnan (at) ? 0 : gint (std::lround (std::clamp (at, -kFar, kFar)));
}

GstVideoRectangle in_frame (const TargetBox &box, const Scale &scale)
{
  const auto edge = [] (double at, double by) { return pixel (at / by); };
  const gint x = edge (box.x, scale.x), y = edge (box.y, scale.y);
  return { x, y, std::max (1, edge (box.x + box.width, scale.x) - x),
           std::max (1, edge (box.y + box.height, scale.y) - y) };
}

double area_of (const GstVideoRectangle &box)
{
  return double (box.w) * box.h;
}

/// Returns the area that two boxes share, in pixels.
double shared (const GstVideoRectangle &a, const GstVideoRectangle &b)
{
  const double w = std::min (a.x + double (a.w), b.x + double (b.w)) - std::max (a.x, b.x);
  const double h = std::min (a.y + double (a.h), b.y + double (b.h)) - std::max (a.y, b.y);
  return w > 0 && h > 0 ? w * h : 0;
}

bool is_covered (const GstVideoRectangle &detection, const GstVideoRectangle &target)
{
  const double both = shared (detection, target), a = area_of (detection), b = area_of (target);
  return both > kCovers * (a + b - both) || both > kContains * std::min (a, b);
}

class TrackedFrame {
public:
  TrackedFrame (GstIntegralHistTrack *self, State &state, GstBuffer *buffer,
                const GstIntegralHistogramMeta *meta)
      : self_ (self), state_ (state), buffer_ (buffer), histogram_ (meta->histogram),
        width_ (int (meta->width)), height_ (int (meta->height)), scale_{
          gst_integral_histogram_get_width (histogram_) / double (width_),
          gst_integral_histogram_get_height (histogram_) / double (height_)
        }
  {
  }

  Expected<> follow_all (const TrackProperties &properties)
  {
    if (state_.configured != properties.targets)
      TRY (configure (properties.targets));
    if (properties.detections)
      for (const Detection &detection : read_detections (buffer_))
        detect (detection);
    take_mouse ();
    std::vector<Target *> targets;
    for (const auto &followed : state_.followed)
      targets.push_back (&followed->target);
    const Interruptible asking = state_.consumer.interruptible ();
    TRY (state_.consumer.await (histogram_));
    TRY (follow (histogram_, properties.track, targets));
    forget (properties.forget_after);
    for (const auto &followed : state_.followed)
      if (!followed->target.is_lost ())
        followed->last_seen = GST_BUFFER_PTS (buffer_);
    return {};
  }

  void write () const
  {
    if (state_.followed.empty ())
      return;
    GstStructure *message = frame_message ("integral-histogram-track",
                                           FrameTimes::of (GST_BASE_TRANSFORM (self_), buffer_));
    set_array (message, "tracks", state_.followed.size (), [this] (std::size_t i) {
      const Track track = track_of (*state_.followed[i]);
      write_track (buffer_, track);
      GstStructure *structure = gst_structure_new (
          "track", "id", G_TYPE_UINT, track.id, "parent", G_TYPE_INT, track.parent, "x", G_TYPE_INT,
          track.box.x, "y", G_TYPE_INT, track.box.y, "width", G_TYPE_INT, track.box.w, "height",
          G_TYPE_INT, track.box.h, "confidence", G_TYPE_DOUBLE, track.confidence, "lost",
          G_TYPE_BOOLEAN, track.lost, nullptr);
      return gvalue<gconstpointer> (GST_TYPE_STRUCTURE, g_value_take_boxed, structure);
    });
    post_message (self_, message);
  }

private:
  /// Returns the part of a box inside the frame; empty where there is none.
  GstVideoRectangle in_picture (const GstVideoRectangle &box) const
  {
    const inthist::Region part =
        inthist::clip ({ box.x, box.y, box.w, box.h }, inthist::Shape{ width_, height_ });
    return { part.x, part.y, part.width, part.height };
  }

  bool is_in_frame (const GstVideoRectangle &box) const { return in_picture (box).w > 0; }

  /// Starts a target from a detection, or restarts a lost one that it covers, unless one is there.
  void detect (const Detection &detection)
  {
    const GstVideoRectangle box = in_picture (detection.box);
    Followed *lost = nullptr;
    for (const auto &followed : state_.followed)
      if (is_covered (box, in_frame (followed->target.box (), scale_))) {
        if (!followed->target.is_lost ())
          return;
        lost = followed.get ();
      }
    if (box.w == 0)
      return;
    if (lost)
      lost->target.restart (in_tensor (box, scale_));
    else
      add (box, detection.id, false);
  }

  /// Drops targets that were not configured and have been lost for so many frames.
  void forget (guint frames)
  {
    std::erase_if (state_.followed, [&] (const auto &followed) {
      followed->lost_frames = followed->target.is_lost () ? followed->lost_frames + 1 : 0;
      return frames > 0 && !followed->configured && followed->lost_frames > frames;
    });
  }

  void add (const GstVideoRectangle &box, gint parent, bool configured)
  {
    if (state_.followed.size () >= kMaxTargets) {
      if (!std::exchange (state_.excess_warned, true))
        GST_WARNING_OBJECT (self_, "%u targets are the most: others are not followed", kMaxTargets);
      return;
    }
    const guint id = state_.next_id++;
    GST_INFO_OBJECT (self_, "target %u starts at %d,%d %dx%d", id, box.x, box.y, box.w, box.h);
    state_.followed.push_back (std::make_unique<Followed> (
        Followed{ Target (id, parent, in_tensor (box, scale_)), configured,
                  GST_BUFFER_PTS (buffer_), GST_BUFFER_PTS (buffer_) }));
  }

  /// Replaces the property's former targets by those of the text.
  Expected<> configure (const std::string &text)
  {
    const auto boxes = TRY (parse_regions (text, "targets"));
    std::erase_if (state_.followed, [] (const auto &followed) { return followed->configured; });
    for (const GstVideoRectangle &box : boxes) {
      if (!is_in_frame (box))
        return error (Error::Kind::bad_setting, "targets=\"", text, "\": ", box.x, ",", box.y, ",",
                      box.w, ",", box.h, " lies outside of the ", width_, "x", height_,
                      " frame: set targets that lie in it, x,y,width,height");
      add (box, -1, true);
    }
    state_.configured = text;
    return {};
  }

  void take_mouse ()
  {
    std::vector<GstVideoRectangle> drawn;
    std::vector<Point> clicked;
    {
      const std::lock_guard lock (state_.mutex);
      drawn.swap (state_.drawn);
      clicked.swap (state_.clicked);
    }
    for (const Point &point : clicked)
      std::erase_if (state_.followed, [&] (const auto &followed) {
        const GstVideoRectangle box = in_frame (followed->target.box (), scale_);
        return point.x >= box.x && point.x < box.x + box.w && point.y >= box.y
               && point.y < box.y + box.h;
      });
    for (const GstVideoRectangle &box : drawn)
      if (is_in_frame (box))
        add (box, -1, false);
  }

  Track track_of (const Followed &followed) const
  {
    const Target &target = followed.target;
    return { target.id,
             target.parent,
             in_frame (target.box (), scale_),
             target.confidence (),
             target.is_lost (),
             followed.first_seen,
             followed.last_seen };
  }

  GstIntegralHistTrack *const self_;
  State &state_;
  GstBuffer *const buffer_;
  GstIntegralHistogram *const histogram_;
  const int width_, height_;
  const Scale scale_;
};

}  // namespace

/// Lets the next frame start the configured targets.
static void restart (State &state)
{
  state.followed.clear ();
  state.configured.reset ();
  state.last_stream_time = GST_CLOCK_TIME_NONE;
}

// GstBaseTransform

static gboolean gst_integral_hist_track_stop (GstBaseTransform *trans)
{
  State &state = Element::state_of (trans);
  restart (state);
  state.next_id = 1;
  const std::lock_guard lock (state.mutex);
  state.pressed.reset ();
  state.drawn.clear ();
  state.clicked.clear ();
  return TRUE;
}

static Expected<> track_frame (GstIntegralHistTrack *self, GstBuffer *buffer)
{
  GstBaseTransform *const trans = GST_BASE_TRANSFORM (self);
  State &state = *self->state;
  const GstIntegralHistogramMeta *meta =
      gst_buffer_get_integral_histogram_meta_of (buffer, GST_INTEGRAL_HISTOGRAM_CONTENT_BINS);
  if (!meta)
    return GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_GAP)
               ? Expected<> ()
               : state.consumer.note_missing (
                   trans, "... ! cudaintegralhist bins=16 ! integralhisttrack ! ...");
  const TrackProperties current = Element::properties_of (self);
  TRY (Element::table ().check (current));
  TrackedFrame frame (self, state, buffer, meta);
  TRY (frame.follow_all (current));
  frame.write ();
  if (trans->segment.format == GST_FORMAT_TIME && GST_BUFFER_PTS_IS_VALID (buffer))
    state.last_stream_time =
        gst_segment_to_stream_time (&trans->segment, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer));
  return {};
}

static GstFlowReturn gst_integral_hist_track_transform_ip (GstBaseTransform *trans,
                                                           GstBuffer *buffer)
{
  const auto tracked = track_frame (GST_INTEGRAL_HIST_TRACK (trans), buffer);
  if (tracked)
    return GST_FLOW_OK;
  return post_error_of_consumer (trans, buffer, tracked.error (), "Tracking failed: ");
}

static gboolean gst_integral_hist_track_sink_event (GstBaseTransform *trans, GstEvent *event)
{
  State &state = Element::state_of (trans);
  const GstSegment *segment;
  state.consumer.take_event (event);
  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_STREAM_START:
    case GST_EVENT_FLUSH_STOP: restart (state); break;
    case GST_EVENT_SEGMENT:
      // a segment may go on where the last one ended
      gst_event_parse_segment (event, &segment);
      if (!(segment->format == GST_FORMAT_TIME && GST_CLOCK_TIME_IS_VALID (state.last_stream_time)
            && std::llabs (gint64 (segment->time) - gint64 (state.last_stream_time))
                   < gint64 (kContinues)))
        restart (state);
      break;
    default: break;
  }
  return GST_BASE_TRANSFORM_CLASS (parent_class)->sink_event (trans, event);
}

/// Takes the mouse, in pixels of the output frames.
static void take_navigation (State &state, GstEvent *event)
{
  gint button;
  Point point;
  switch (gst_navigation_event_get_type (event)) {
    case GST_NAVIGATION_EVENT_MOUSE_BUTTON_PRESS:
      if (gst_navigation_event_parse_mouse_button_event (event, &button, &point.x, &point.y)
          && button == 1) {
        const std::lock_guard lock (state.mutex);
        state.pressed = point;
      }
      break;
    case GST_NAVIGATION_EVENT_MOUSE_BUTTON_RELEASE:
      if (gst_navigation_event_parse_mouse_button_event (event, &button, &point.x, &point.y)
          && button == 1) {
        const std::lock_guard lock (state.mutex);
        if (!state.pressed)
          break;
        const Point from = *state.pressed;
        state.pressed.reset ();
        const double width = std::fabs (point.x - from.x), height = std::fabs (point.y - from.y);
        if (width < kLeastDrag && height < kLeastDrag)
          state.clicked.push_back (point);
        else
          state.drawn.push_back ({ pixel (std::floor (std::min (point.x, from.x))),
                                   pixel (std::floor (std::min (point.y, from.y))),
                                   std::max (1, pixel (std::floor (width))),
                                   std::max (1, pixel (std::floor (height))) });
      }
      break;
    default: break;
  }
}

static gboolean gst_integral_hist_track_src_event (GstBaseTransform *trans, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_NAVIGATION && Element::properties_of (trans).navigation)
    take_navigation (Element::state_of (trans), event);
  return GST_BASE_TRANSFORM_CLASS (parent_class)->src_event (trans, event);
}

// GObject

static void gst_integral_hist_track_init (GstIntegralHistTrack *self)
{
  self->state = new State;
  gst_base_transform_set_in_place (GST_BASE_TRANSFORM (self), TRUE);
  gst_base_transform_set_gap_aware (GST_BASE_TRANSFORM (self), TRUE);
}

static void gst_integral_hist_track_class_init (GstIntegralHistTrackClass *klass)
{
  GST_DEBUG_CATEGORY_INIT (category, "integralhisttrack", 0, "tracking by integral histograms");

  g_autoptr (GstCaps) caps = gst_caps_from_string ("video/x-raw(ANY)");
  Element::init_class (klass,
                       { "Integral histogram tracker", "Filter/Analyzer/Video",
                         "Follows targets by the integral histogram that cudaintegralhist attaches",
                         caps, caps });
  auto *trans_class = GST_BASE_TRANSFORM_CLASS (klass);
  trans_class->stop = GST_DEBUG_FUNCPTR (gst_integral_hist_track_stop);
  trans_class->transform_ip = GST_DEBUG_FUNCPTR (gst_integral_hist_track_transform_ip);
  trans_class->sink_event = GST_DEBUG_FUNCPTR (gst_integral_hist_track_sink_event);
  trans_class->src_event = GST_DEBUG_FUNCPTR (gst_integral_hist_track_src_event);
}
