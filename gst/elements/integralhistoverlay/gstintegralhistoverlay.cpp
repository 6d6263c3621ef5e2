// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-integralhistoverlay
 * @title: integralhistoverlay
 *
 * Draws on raw video, in place, also in CUDA memory and NVMM. Each #GstVideoRegionOfInterestMeta of
 * a frame becomes a box with its type, its id and the confidence of a tracker; a trail shows where
 * each track has been recently. If the frame carries a #GstIntegralHistogramMeta, bar charts of the
 * boxes' histograms stand side by side along an edge; bars of hue, hue-saturation, hsv, rgb and
 * ycbcr have the colours of their bins. A frame with nothing to draw passes unchanged.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc ! video/x-raw,format=I420,width=640,height=480 ! cudaintegralhist ! \
 *     integralhistoverlay regions="100,100,64,128;300,40,200,200" ! videoconvert ! autovideosink
 * ]| shows the histograms of two rectangles.
 */
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include <gst/elements/base/messages.hpp>
#include <gst/elements/base/parse.hpp>
#include <gst/elements/base/plugin_queries.hpp>
#include <gst/elements/consumer/consumer_element.hpp>
#include <gst/elements/drawing/canvas_drawing.hpp>
#include <gst/elements/drawing/overlay_canvas.hpp>
#include <gst/frame/mapped_frame.hpp>
#include <gst/frame/video_formats.hpp>
#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/base/number.hpp>
#include <gst/integralhist/meta/tracks.hpp>
#include <gst/properties/properties.hpp>

#include "overlay_painter.hpp"

using namespace integralhist;

GST_DEBUG_CATEGORY_STATIC (category);
#define GST_CAT_DEFAULT category

namespace {

struct OverlayProperties {
  FeatureText feature;
  ParsedText<std::vector<GstVideoRectangle>> regions;
  guint trail = 30, line_width = 0;
  bool labels = true, histograms = true;
};

PropertyTable<OverlayProperties> make_table ()
{
  PropertyTable<OverlayProperties> table;
  table.parsed ("feature", FIELD (feature), kPlaying, kFeatureBlurb, parse_feature);
  table.parsed ("regions", FIELD (regions), kPlaying,
                "Rectangles to draw on every frame, \"x,y,width,height;...\" in pixels",
                [] (const std::string &text) { return parse_regions (text); });
  table.number<guint> ("trail", FIELD (trail), 0, 1000, kPlaying,
                       "Length of each track's trail in frames; 0 = draw none");
  table.flag (
      "labels", FIELD (labels), kPlaying,
      "Write type, id and confidence at regions of interest, and numbers at rectangles of regions");
  table.flag ("histograms", FIELD (histograms), kPlaying,
              "Draw a bar chart of each region's histogram along the lower or upper edge; see "
              "docs/tracking.md");
  table.number<guint> ("line-width", FIELD (line_width), 0, 32, kPlaying,
                       "Width of lines in pixels; 0 = by the height of the frame, at least 2");
  return table;
}

/// The last centres of a tracked target's box, the newest last.
struct Trail {
  std::vector<Point> points;
  guint64 seen = 0;  // number of the last frame with this track
};

struct DrawnBox {
  Box box;
  Colour colour;
  std::string name, label;  // title of the chart, and text at the box
};

struct State {
  std::shared_ptr<const OverlayProperties> properties = std::make_shared<OverlayProperties> ();
  HistogramConsumer consumer;

  // used by the streaming thread
  FrameFormat input;
  CanvasDrawing canvas;          // draws on frames that are not in system memory
  std::map<gint, Trail> trails;  // by id
  guint64 frames = 0;
  bool absence_logged = false;  // that frames have no histogram
  bool outside_warned = false;  // whether a warning of regions outside the frame was posted
  int undrawn = 0;              // frames without a drawing since the start
  bool regions_seen = false;    // one of them had regions of a producer

  // The drawings that plan () has chosen for the current frame.
  bool draws = false;
  GstVideoRectangle area = {};  // the visible frame within the picture
  std::shared_ptr<const OverlayProperties> current;
  std::vector<DrawnBox> boxes;

  void handle_event (GstEvent *event)
  {
    // Ends trails: a new segment, also after a flush, may come from another place of the stream.
    if (GST_EVENT_TYPE (event) == GST_EVENT_SEGMENT)
      trails.clear ();
  }
  void stop ()
  {
    trails.clear ();
    absence_logged = outside_warned = false;
    undrawn = 0;
    regions_seen = false;
    canvas.clear ();
  }
};

// Colours of boxes: Okabe and Ito's without black, which colour-blind viewers can tell apart.
constexpr Colour kPalette[] = { { 0.90, 0.62, 0.00 }, { 0.34, 0.71, 0.91 }, { 0.00, 0.62, 0.45 },
                                { 0.94, 0.89, 0.26 }, { 0.00, 0.45, 0.70 }, { 0.84, 0.37, 0.00 },
                                { 0.80, 0.47, 0.65 } };

const Colour &colour_of (gint id)
{
  return kPalette[guint (id) % std::size (kPalette)];
}

}  // namespace

INTEGRALHIST_ELEMENT (GstIntegralHistOverlay, gst_integral_hist_overlay, INTEGRAL_HIST_OVERLAY,
                      GstBaseTransform, GST_TYPE_BASE_TRANSFORM, integralhistoverlay, State *state;)

using Element = ConsumerElement<GstIntegralHistOverlay, make_table>;

/// Returns the box of a region of interest. A region that extends over the left or upper border has
/// negative coordinates in an unsigned field.
static Box box_of (const GstVideoRegionOfInterestMeta *roi)
{
  return { gint (roi->x), gint (roi->y), roi->w, roi->h };
}

static std::string name_of (GstVideoRegionOfInterestMeta *roi)
{
  const char *type = g_quark_to_string (roi->roi_type);
  return joined (valid_utf8 (type ? type : ""), " ", roi->id);
}

/// Returns the label of a region of interest: its name, and the confidence of a tracker. A
/// confidence of 1 is left out, because targets start with it.
static std::string label_of (GstVideoRegionOfInterestMeta *roi)
{
  const GstStructure *track = gst_video_region_of_interest_meta_get_param (roi, kTrackType);
  const auto confidence =
      number_of (track ? gst_structure_get_value (track, "confidence") : nullptr);
  if (!confidence || *confidence >= 1)
    return name_of (roi);
  return joined (name_of (roi), " ", std::lround (std::max (*confidence, 0.0) * 100), "%");
}

static void update_trails (State &state, GstBuffer *buffer)
{
  const guint limit = state.current->trail;
  const guint64 now = ++state.frames;
  if (limit > 0)
    each_roi (buffer, [&] (const GstVideoRegionOfInterestMeta *roi) {
      if (!is_track (roi))
        return;
      Trail &trail = state.trails[roi->id];
      if (trail.seen == now)
        return;
      trail.seen = now;
      const Box box = box_of (roi);
      trail.points.push_back (
          { double (box.x) + double (box.width) / 2, double (box.y) + double (box.height) / 2 });
    });
  std::erase_if (state.trails,
                 [&] (const auto &entry) { return now - entry.second.seen >= limit; });
  for (auto &[id, trail] : state.trails)
    if (trail.points.size () > limit)
      trail.points.erase (trail.points.begin (), trail.points.end () - limit);
}

static bool is_in_frame (const State &state, const Trail &trail)
{
  return trail.points.size () > 1 && std::ranges::any_of (trail.points, [&] (const Point &p) {
           return p.x >= 0 && p.y >= 0 && p.x < state.area.w && p.y < state.area.h;
         });
}

/// Warns once of a rectangle of the property regions that lies outside of the frame.
static void warn_of_outside (GstIntegralHistOverlay *self, const GstVideoRectangle &region)
{
  State &state = *self->state;
  const Box box = { region.x, region.y, region.w, region.h };
  if (visible (box, state.area.w, state.area.h).width > 0
      || std::exchange (state.outside_warned, true))
    return;
  GST_ELEMENT_WARNING (self, RESOURCE, SETTINGS,
                       ("regions=...%d,%d,%d,%d... has a rectangle that lies outside of the %dx%d "
                        "frame, and is not drawn: set rectangles that overlap it.",
                        region.x, region.y, region.w, region.h, state.area.w, state.area.h),
                       (nullptr));
}

/// Decides what to draw on a frame: boxes, labels, trails. Returns false if there is nothing.
static Expected<bool> plan (GstIntegralHistOverlay *self, GstBuffer *buffer)
{
  State &state = *self->state;
  state.boxes.clear ();
  state.current = Element::properties_of (self);
  state.area = TRY (frame_area (buffer, state.input));
  const auto &regions = *state.current->regions.value;
  const auto add = [&] (const Box &box, const Colour &colour, const std::string &name,
                        const std::string &label) {
    if (visible (box, state.area.w, state.area.h).width <= 0)
      return;
    const bool labels = state.current->labels;
    state.boxes.push_back ({ box, colour, labels ? name : "", labels ? label : "" });
  };
  for (std::size_t i = 0; i < regions.size (); i++) {
    const GstVideoRectangle &r = regions[i];
    const std::string name = joined ("region ", i + 1);
    warn_of_outside (self, r);
    add ({ r.x, r.y, r.w, r.h }, kWhite, name, name);
  }
  each_roi (buffer, [&] (GstVideoRegionOfInterestMeta *roi) {
    add (box_of (roi), colour_of (roi->id), name_of (roi), label_of (roi));
  });
  update_trails (state, buffer);
  return !state.boxes.empty () || std::ranges::any_of (state.trails, [&] (const auto &entry) {
    return is_in_frame (state, entry.second);
  });
}

/// Returns the note after the charts: the feature, except luma, and whether bins are weights.
static std::string note_of (const HistogramSpec &spec)
{
  const char *const nick = inthist::info_of (spec.feature).nick;
  if (spec.weight != inthist::Weight::one || spec.soft)
    return joined (nick, " weights");
  return spec.feature == inthist::Feature::luma ? "" : nick;
}

static Expected<> draw_charts (GstIntegralHistOverlay *self, OverlayPainter &painter,
                               GstBuffer *buffer)
{
  State &state = *self->state;
  const auto found =
      state.consumer.find (GST_BASE_TRANSFORM (self), buffer, state.current->feature);
  if (!found && state.boxes.empty ())
    return {};  // no chart would be drawn
  GstIntegralHistogramMeta *const meta = TRY (found);
  if (!meta) {
    if (!state.current->feature.text.empty () && !state.boxes.empty ())
      return state.consumer.note_missing (GST_BASE_TRANSFORM (self));
    if (!std::exchange (state.absence_logged, true))
      GST_DEBUG_OBJECT (self, "no histograms to draw: the frame has no integral histogram; put "
                              "cudaintegralhist before this element");
    return {};
  }
  const CancelScope scope = state.consumer.cancel_scope ();
  if (!state.boxes.empty ())
    TRY (state.consumer.await (meta->histogram));
  std::vector<Box> boxes;
  for (const DrawnBox &drawn : state.boxes)
    boxes.push_back (drawn.box);
  const HistogramSpec &spec = spec_of (meta->histogram);
  const std::string name = state.current->labels ? note_of (spec) : "";
  const auto chart_of = [&] (std::size_t i) -> Expected<Chart> {
    const DrawnBox &drawn = state.boxes[i];
    const Box box = visible (drawn.box, state.area.w, state.area.h);
    gsize n = 0;
    GError *problem = nullptr;
    g_autofree guint64 *counts = gst_integral_histogram_meta_region_sums (
        meta, int (box.x), int (box.y), int (box.width), int (box.height), &n, &problem);
    if (!counts)
      return take_gerror (problem, "The histogram of a region failed: ");
    return Chart{ drawn.colour, drawn.name, { counts, counts + n }, bin_colours (spec, int (n)) };
  };
  return painter.charts (boxes, state.current->labels, name, chart_of);
}

static Expected<> paint (GstIntegralHistOverlay *self, OverlayCanvas &canvas, GstBuffer *buffer)
{
  State &state = *self->state;
  OverlayPainter painter (canvas, state.input.info, state.area, state.current->line_width);
  for (const auto &[id, trail] : state.trails)
    if (is_in_frame (state, trail))
      painter.trail (trail.points, colour_of (id),
                     1 - double (state.frames - trail.seen) / state.current->trail);
  for (const DrawnBox &drawn : state.boxes)
    painter.outline (drawn.box, drawn.colour);
  if (state.current->histograms)
    TRY (draw_charts (self, painter, buffer));
  for (const DrawnBox &drawn : state.boxes)
    painter.label (drawn.box, drawn.colour, drawn.label);
  return painter.outcome ();
}

static Expected<> draw (GstIntegralHistOverlay *self, GstBuffer *buffer)
{
  State &state = *self->state;
  if (state.input.memory != FrameMemory::system) {
    DrawingList list;
    TRY (paint (self, list, buffer));
    return state.canvas.draw (buffer, state.input, nullptr, list.drawings ());
  }
  MappedFrame frame = TRY (MappedFrame::map (buffer, state.input, GST_MAP_READWRITE));
  TRY (check_planes (frame.video ()));
  SystemCanvas canvas (frame.video ());
  return paint (self, canvas, buffer);
}

static gboolean gst_integral_hist_overlay_set_caps (GstBaseTransform *trans, GstCaps *in_caps,
                                                    GstCaps *)
{
  State &state = Element::state_of (trans);
  const auto input = frame_format_of (in_caps);
  if (post_error_if_failed (trans, input))
    return FALSE;
  if (!state.input.info.finfo || !gst_video_info_is_equal (&input->info, &state.input.info))
    state.trails.clear ();
  state.input = *input;
  return TRUE;
}

// Frames with nothing to draw before advise () runs; a detector may find nothing in some.
constexpr int kFramesBeforeAdvice = 30;

/// Warns if a tracker comes after the overlay, which then cannot draw the tracks, or if only the
/// producer of a frame has regions.
static void advise (GstBaseTransform *trans, bool has_regions)
{
  if (finds_tracker (GST_BASE_TRANSFORM_SRC_PAD (trans))
      && !finds_tracker (GST_BASE_TRANSFORM_SINK_PAD (trans)))
    GST_ELEMENT_WARNING (
        trans, STREAM, FAILED,
        ("%s has nothing to draw, because integralhisttrack comes after it. Put %s "
         "after integralhisttrack.",
         GST_OBJECT_NAME (trans), GST_OBJECT_NAME (trans)),
        (nullptr));
  else if (has_regions && !finds_tracker (GST_BASE_TRANSFORM_SINK_PAD (trans)))
    GST_ELEMENT_WARNING (trans, RESOURCE, SETTINGS,
                         ("%s has nothing to draw: regions of the elements before it are not "
                          "drawn. To draw them, set the property regions of %s too.",
                          GST_OBJECT_NAME (trans), GST_OBJECT_NAME (trans)),
                         (nullptr));
}

/// Plans the drawing before the output buffer is made: a frame without drawings is not copied.
static GstFlowReturn gst_integral_hist_overlay_prepare_output_buffer (GstBaseTransform *trans,
                                                                      GstBuffer *in,
                                                                      GstBuffer **out)
{
  auto *self = GST_INTEGRAL_HIST_OVERLAY (trans);
  State &state = *self->state;
  state.draws = false;
  if (has_picture (in)) {
    const auto planned = plan (self, in);
    const auto alone =
        planned && *planned ? check_alone (in, state.input, GST_OBJECT_NAME (self)) : Expected<> ();
    if (post_error_if_failed (self, planned) || post_error_if_failed (self, alone))
      return GST_FLOW_ERROR;
    state.draws = *planned;
  }
  state.regions_seen =
      state.regions_seen || gst_buffer_get_meta (in, GST_INTEGRAL_HISTOGRAM_REGIONS_META_API_TYPE);
  if (state.draws)
    state.undrawn = kFramesBeforeAdvice;  // after a drawing, advise () need not run
  else if (state.undrawn < kFramesBeforeAdvice && ++state.undrawn == kFramesBeforeAdvice)
    advise (trans, state.regions_seen);
  if (state.draws)
    return prepare_with_tensors (trans, in, out);
  *out = in;
  return GST_FLOW_OK;
}

static GstFlowReturn gst_integral_hist_overlay_transform_ip (GstBaseTransform *trans,
                                                             GstBuffer *buffer)
{
  auto *self = GST_INTEGRAL_HIST_OVERLAY (trans);
  const auto drawn = self->state->draws ? draw (self, buffer) : Expected<> ();
  return drawn ? GST_FLOW_OK : post_consumer_error (self, buffer, drawn.error ());
}

static void gst_integral_hist_overlay_init (GstIntegralHistOverlay *self)
{
  Element::init (self);
  gst_base_transform_set_in_place (GST_BASE_TRANSFORM (self), TRUE);
}

static GstCaps *paintable_caps ()
{
  std::vector<GstVideoFormat> formats;
  guint n;
  const GstVideoFormat *all = gst_video_formats_raw (&n);
  std::copy_if (all, all + n, std::back_inserter (formats), can_paint);
  return with_canvas_caps (gst_video_make_raw_caps (formats.data (), guint (formats.size ())));
}

static void gst_integral_hist_overlay_class_init (GstIntegralHistOverlayClass *klass)
{
  GST_DEBUG_CATEGORY_INIT (category, "integralhistoverlay", 0,
                           "drawing of regions, tracks and histograms");

  g_autoptr (GstCaps) caps = paintable_caps ();
  Element::init_class (
      klass,
      { "Integral histogram overlay", "Filter/Editor/Video",
        "Draws regions, tracks and, behind cudaintegralhist, their histograms on video frames",
        caps, caps });
  auto *trans_class = GST_BASE_TRANSFORM_CLASS (klass);
  trans_class->set_caps = GST_DEBUG_FUNCPTR (gst_integral_hist_overlay_set_caps);
  trans_class->prepare_output_buffer =
      GST_DEBUG_FUNCPTR (gst_integral_hist_overlay_prepare_output_buffer);
  trans_class->transform_ip = GST_DEBUG_FUNCPTR (gst_integral_hist_overlay_transform_ip);
}
