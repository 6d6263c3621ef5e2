// SPDX-License-Identifier: LGPL-2.1-or-later
#include "overlay_painter.hpp"

#include <algorithm>
#include <numeric>

namespace integralhist {
namespace {

/// The most pixels per side of a picture that cairo draws at once; cairo's limit is 32767.
constexpr gint64 kTile = 2048;
/// The same for trails: small, because most of a large picture around a thin line is empty.
constexpr gint64 kTrailTile = 64;
constexpr double kFar = 1e6;  // pixels; the limit of cairo's coordinates is eight million
constexpr Colour kBlack = { 0, 0, 0 }, kPanel = { 0.2, 0.2, 0.2 };

double stretch_of (const GstVideoInfo &info)
{
  const int n = GST_VIDEO_INFO_PAR_N (&info), d = GST_VIDEO_INFO_PAR_D (&info);
  return n > 0 && d > 0 ? std::clamp (double (d) / n, 0.125, 8.0) : 1;
}

cairo_scaled_font_t *new_font (double size, double stretch)
{
  cairo_font_face_t *face =
      cairo_toy_font_face_create ("sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_BOLD);
  cairo_font_options_t *options = cairo_font_options_create ();
  cairo_font_options_set_antialias (options, CAIRO_ANTIALIAS_GRAY);
  cairo_matrix_t scale, identity;
  cairo_matrix_init_scale (&scale, size * stretch, size);
  cairo_matrix_init_identity (&identity);
  cairo_scaled_font_t *font = cairo_scaled_font_create (face, &scale, &identity, options);
  cairo_font_options_destroy (options);
  cairo_font_face_destroy (face);
  return font;
}

void set_colour (cairo_t *cr, const Colour &colour, double opacity = 1)
{
  cairo_set_source_rgba (cr, colour.red, colour.green, colour.blue, opacity);
}

/// Moves a box's side of `size` pixels at `at` into the frame; returns the new position.
gint64 inside (gint64 at, gint64 size, gint64 frame_size)
{
  return std::max<gint64> (std::min (at, frame_size - size), 0);
}

bool overlap (const Box &a, const Box &b)
{
  return a.x < b.right () && b.x < a.right () && a.y < b.bottom () && b.y < a.bottom ();
}

/// The most bars of a chart. A bar is then at least a sixteenth as wide as the chart is high, wide
/// enough to tell it from its neighbours.
constexpr gint64 kMaxBars = 32;

/// A bar of a chart: the mean count of neighbouring bins, and the bin with the largest count.
struct Bar {
  double height;
  std::size_t bin;
};

/// Returns the bars of a chart. With more counts than `columns` allow, a bar is a mean of counts.
std::vector<Bar> bars_of (std::span<const guint64> counts, gint64 columns)
{
  std::vector<Bar> bars (std::min (counts.size (), std::size_t (std::min (columns, kMaxBars))));
  for (std::size_t i = 0; i < bars.size (); i++) {
    const std::size_t first = i * counts.size () / bars.size (),
                      end = (i + 1) * counts.size () / bars.size ();
    const auto part = counts.subspan (first, end - first);
    bars[i] = { std::accumulate (part.begin (), part.end (), 0.0) / double (part.size ()),
                first + std::size_t (std::ranges::max_element (part) - part.begin ()) };
  }
  return bars;
}

/// Returns the place of a row of charts: along the lower edge of the frame, or along the upper edge
/// if that hides fewer boxes.
Box row_of_charts (std::span<const Box> boxes, gint64 width, gint64 height, gint64 frame_height)
{
  const auto n_hidden = [&] (const Box &row) {
    return std::ranges::count_if (boxes, [&] (const Box &box) { return overlap (row, box); });
  };
  const Box upper = { 0, 0, width, height }, lower = { 0, frame_height - height, width, height };
  return n_hidden (upper) < n_hidden (lower) ? upper : lower;
}

/// A piece of a trail, and the box in which it is drawn.
struct Segment {
  Point from, to;
  double opacity;
  Box box;
};

/// Returns the pieces of a trail of lines that are `line` pixels wide. The oldest one is faintest.
std::vector<Segment> segments_of (std::span<const Point> points, gint64 line, double opacity)
{
  const auto near = [] (const Point &p) {
    return Point{ std::clamp (p.x, -kFar, kFar), std::clamp (p.y, -kFar, kFar) };
  };
  std::vector<Segment> segments;
  for (std::size_t i = 1; i < points.size (); i++) {
    const Point from = near (points[i - 1]), to = near (points[i]);
    const gint64 x = std::llround (std::min (from.x, to.x)) - line,
                 right = std::llround (std::max (from.x, to.x)) + line + 1;
    const gint64 y = std::llround (std::min (from.y, to.y)) - line,
                 bottom = std::llround (std::max (from.y, to.y)) + line + 1;
    segments.push_back ({ from,
                          to,
                          opacity * double (i) / double (points.size () - 1),
                          { x, y, right - x, bottom - y } });
  }
  return segments;
}

Box united (const Box &a, const Box &b)
{
  const gint64 x = std::min (a.x, b.x), y = std::min (a.y, b.y);
  return { x, y, std::max (a.right (), b.right ()) - x, std::max (a.bottom (), b.bottom ()) - y };
}

/// Calls `visit` for boxes of at most `size` pixels per side that together cover `box`.
template <class Visit>
void each_tile (const Box &box, gint64 size, Visit &&visit)
{
  for (gint64 y = box.y; y < box.bottom (); y += size)
    for (gint64 x = box.x; x < box.right (); x += size)
      visit (Box{ x, y, std::min (box.right () - x, size), std::min (box.bottom () - y, size) });
}

}  // namespace

Box visible (const Box &box, gint64 frame_width, gint64 frame_height)
{
  const gint64 x = std::max<gint64> (box.x, 0), y = std::max<gint64> (box.y, 0);
  const gint64 width = std::min (box.right (), frame_width) - x,
               height = std::min (box.bottom (), frame_height) - y;
  return width > 0 && height > 0 ? Box{ x, y, width, height } : Box{};
}

OverlayPainter::OverlayPainter (OverlayCanvas &canvas, const GstVideoInfo &info,
                                const GstVideoRectangle &area, unsigned line_width)
    : canvas_ (canvas), area_ (area), width_ (area.w), height_ (area.h),
      stretch_ (stretch_of (info)),
      line_ (line_width ? line_width : std::max (std::lround (height_ / 360.0), 2l)),
      font_size_ (std::max (std::round (height_ / 45.0), 11.0)),
      font_ (nullptr, cairo_scaled_font_destroy)
{
}

void OverlayPainter::outline (const Box &box, const Colour &colour)
{
  const gint64 across = line_, along = in_width (line_);
  const Box within = { box.x + along, box.y + across, box.width - 2 * along,
                       box.height - 2 * across };
  frame (box, line_, colour, 1);
  frame (within, (line_ + 1) / 2, kBlack, 0.5);  // a dark seam sets the box off from the picture
}

void OverlayPainter::frame (const Box &box, gint64 across, const Colour &colour, double opacity)
{
  const gint64 along = in_width (across);
  if (box.width <= 2 * along || box.height <= 2 * across)
    return fill (box, colour, opacity);
  fill ({ box.x, box.y, box.width, across }, colour, opacity);
  fill ({ box.x, box.bottom () - across, box.width, across }, colour, opacity);
  fill ({ box.x, box.y + across, along, box.height - 2 * across }, colour, opacity);
  fill ({ box.right () - along, box.y + across, along, box.height - 2 * across }, colour, opacity);
}

Expected<> OverlayPainter::charts (std::span<const Box> boxes, bool has_captions,
                                   const std::string &note,
                                   const std::function<Expected<Chart> (std::size_t)> &chart_of)
{
  const gint64 bar_height = std::max<gint64> (height_ / 15, 16), margin = bar_height / 16;
  const auto caption = has_captions ? measure ("0") : std::nullopt;
  const gint64 width = in_width (2 * bar_height) + 2 * in_width (margin),
               height = bar_height + 2 * margin + (caption ? caption->height : 0);
  const gint64 pitch = width + in_width (2 * margin), room = (width_ + pitch - width) / pitch;
  if (boxes.empty () || room == 0 || height > height_)
    return {};

  const std::size_t fit = std::min (boxes.size (), std::size_t (room));
  const std::size_t drawn = fit < boxes.size () && fit > 1 ? fit - 1 : fit;
  Box place = row_of_charts (boxes, gint64 (fit) * pitch, height, height_);
  place.width = width;
  for (std::size_t i = 0; i < drawn; i++) {
    chart (place, TRY (chart_of (i)), bar_height);
    taken_.push_back (place);
    place.x += pitch;
  }
  write_note (place, drawn < boxes.size () ? joined ("+", boxes.size () - drawn) : "", note);
  return {};
}

/// Writes how many charts are missing, `more`, and a note at the place after the last chart; only
/// `more` if there is no room for both.
void OverlayPainter::write_note (const Box &place, const std::string &more, const std::string &note)
{
  std::string text = joined (more, more.empty () || note.empty () ? "" : " ", note);
  auto size = measure (text);
  if (size && place.x + size->width > width_) {
    text = more;
    size = measure (text);
  }
  if (!size)
    return;
  const Box at = { inside (place.x, size->width, width_), place.bottom () - size->height,
                   size->width, size->height };
  paint (at, [&] (cairo_t *cr) {
    set_colour (cr, kPanel, 0.7);
    cairo_paint (cr);
    set_colour (cr, kWhite);
    write (cr, at, text);
  });
  taken_.push_back (at);
}

void OverlayPainter::chart (const Box &place, const Chart &chart, gint64 bar_height)
{
  const gint64 margin = bar_height / 16, columns = in_width (2 * bar_height);
  const std::vector<Bar> bars = bars_of (chart.counts, columns);
  std::string caption = chart.caption;
  if (const auto size = measure (caption); size && size->width > place.width)
    caption.erase (0, caption.rfind (' ') + 1);
  double highest = 1;
  for (const Bar &bar : bars)
    highest = std::max (highest, bar.height);
  paint (place, [&] (cairo_t *cr) {
    set_colour (cr, kPanel, 0.7);
    cairo_paint (cr);
    const gint64 n = gint64 (bars.size ()), x = place.x + in_width (margin),
                 bottom = place.bottom () - margin;
    for (gint64 i = 0; i < n; i++) {
      const gint64 left = i * columns / n, right = (i + 1) * columns / n;
      const Bar &bar = bars[std::size_t (i)];
      const gint64 height = std::llround (bar.height / highest * double (bar_height));
      const auto fill_to = [&] (gint64 rows, const Colour &colour) {
        cairo_rectangle (cr, double (x + left), double (bottom - height), double (right - left),
                         double (rows));
        set_colour (cr, colour);
        cairo_fill (cr);
      };
      fill_to (height, chart.bins.empty () ? chart.colour : chart.bins[bar.bin]);
      if (!chart.bins.empty ())
        fill_to (std::min (margin, height), chart.colour);  // dark bins stay visible
    }
    set_colour (cr, chart.colour);
    if (measure (caption))
      write (cr, place, caption);
  });
}

void OverlayPainter::label (const Box &box, const Colour &colour, const std::string &text)
{
  const auto size = measure (text);
  if (!size)
    return;
  const Box seen = visible (box, width_, height_);
  const auto at = [&] (gint64 y) {
    return Box{ inside (seen.x, size->width, width_), y, size->width, size->height };
  };
  const Box wishes[] = { at (box.y - size->height), at (box.bottom ()), at (seen.y),
                         at (seen.bottom () - size->height) };
  const auto wish =
      std::ranges::find_if (wishes, [this] (const Box &place) { return is_free (place); });
  std::optional<Box> place;
  if (wish != std::end (wishes))
    place = *wish;
  else if (size->width < too_wide_)
    place = free_place (at (inside (box.y - size->height, size->height, height_)));
  if (!place) {
    too_wide_ = std::min (too_wide_, size->width);
    return;
  }
  taken_.push_back (*place);
  const bool bright = 0.3 * colour.red + 0.6 * colour.green + 0.1 * colour.blue > 0.4;
  paint (*place, [&] (cairo_t *cr) {
    set_colour (cr, colour);
    cairo_paint (cr);
    set_colour (cr, bright ? kBlack : kWhite);
    write (cr, *place, text);
  });
}

/// Returns whether a place for a label is free and inside the frame. A label that is wider than the
/// frame starts at the left border.
bool OverlayPainter::is_free (const Box &place) const
{
  return place.y >= 0 && place.bottom () <= height_ && (place.right () <= width_ || place.x == 0)
         && std::ranges::none_of (taken_, [&] (const Box &t) { return overlap (t, place); });
}

std::optional<Box> OverlayPainter::free_place (const Box &wish) const
{
  for (gint64 away = 0; away < height_; away += std::max<gint64> (wish.height / 2, 1))
    for (const gint64 y : { wish.y + away, wish.y - away }) {
      Box place = { wish.x, y, wish.width, wish.height };
      // Moves a label past what is in the way, first to the right and then to the left.
      for (const bool right : { true, false }) {
        place.x = wish.x;
        const auto in_the_way = [&] {
          return std::ranges::find_if (taken_, [&] (const Box &t) { return overlap (t, place); });
        };
        for (auto t = in_the_way (); t != taken_.end () && place.x >= 0 && place.x < width_;
             t = in_the_way ())
          place.x = right ? t->right () : t->x - place.width;
        if (place.x >= 0 && is_free (place))
          return place;
      }
    }
  return {};
}

std::optional<OverlayPainter::TextSize> OverlayPainter::measure (const std::string &text)
{
  if (text.empty ())
    return {};
  if (!font_)
    font_.reset (new_font (font_size_, stretch_));
  cairo_font_extents_t font;
  cairo_text_extents_t extents;
  cairo_scaled_font_extents (font_.get (), &font);
  cairo_scaled_font_text_extents (font_.get (), text.c_str (), &extents);
  if (cairo_scaled_font_status (font_.get ()) != CAIRO_STATUS_SUCCESS)
    return {};
  return TextSize{ std::llround (std::min (extents.x_advance, kFar) + 2 * text_margin ()),
                   std::llround (font.ascent + font.descent) };
}

void OverlayPainter::write (cairo_t *cr, const Box &place, const std::string &text) const
{
  cairo_font_extents_t font;
  cairo_scaled_font_extents (font_.get (), &font);
  cairo_set_scaled_font (cr, font_.get ());
  cairo_move_to (cr, double (place.x) + text_margin (),
                 double (place.y) + std::round (font.ascent));
  cairo_show_text (cr, text.c_str ());
}

void OverlayPainter::trail (std::span<const Point> points, const Colour &colour, double opacity)
{
  if (points.size () < 2)
    return;
  const std::vector<Segment> segments = segments_of (points, line_, opacity);
  Box all = segments.front ().box;
  for (const Segment &s : segments)
    all = united (all, s.box);
  each_tile (visible (all, width_, height_), kTrailTile, [&] (const Box &tile) {
    const auto touches = [&] (const Segment &s) { return overlap (s.box, tile); };
    if (std::ranges::none_of (segments, touches))
      return;
    paint (tile, [&] (cairo_t *cr) {
      cairo_set_line_width (cr, double (line_));
      cairo_set_line_cap (cr, CAIRO_LINE_CAP_ROUND);
      // If pieces of a trail overlap, the newer one is drawn, not the sum of both.
      cairo_set_operator (cr, CAIRO_OPERATOR_SOURCE);
      for (const Segment &s : segments)
        if (touches (s)) {
          set_colour (cr, colour, s.opacity);
          cairo_move_to (cr, s.from.x, s.from.y);
          cairo_line_to (cr, s.to.x, s.to.y);
          cairo_stroke (cr);
        }
    });
  });
}

gint64 OverlayPainter::in_width (gint64 rows) const
{
  return std::max (std::llround (double (rows) * stretch_), 1ll);
}

void OverlayPainter::fill (const Box &box, const Colour &colour, double opacity)
{
  paint (box, [&] (cairo_t *cr) {
    set_colour (cr, colour, opacity);
    cairo_paint (cr);
  });
}

void OverlayPainter::paint (const Box &box, const Draw &draw)
{
  each_tile (visible (box, width_, height_), kTile, [&] (const Box &tile) {
    if (outcome_)
      outcome_ = paint_tile (tile, draw);
  });
}

Expected<> OverlayPainter::paint_tile (const Box &tile, const Draw &draw)
{
  const int width = int (tile.width), height = int (tile.height), stride = 4 * width;
  std::vector<inthist::Argb> pixels (gsize (width) * gsize (height));
  cairo_surface_t *surface = cairo_image_surface_create_for_data (
      reinterpret_cast<guint8 *> (pixels.data ()), CAIRO_FORMAT_ARGB32, width, height, stride);
  cairo_t *cr = cairo_create (surface);
  cairo_translate (cr, -double (tile.x), -double (tile.y));
  draw (cr);
  const cairo_status_t status = cairo_status (cr);
  cairo_destroy (cr);
  cairo_surface_destroy (surface);
  if (status != CAIRO_STATUS_SUCCESS)
    return error (Error::Kind::failed, "cairo cannot draw ", width, "x", height,
                  " pixels: ", cairo_status_to_string (status));
  return canvas_.blend (pixels, { int (tile.x) + area_.x, int (tile.y) + area_.y, width, height });
}

}  // namespace integralhist
