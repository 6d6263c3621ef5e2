// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Cells of the correlation tracker are compared with the weighted sum over each pixel's share.
#include <gst/track/correlation/cells.hpp>

#include <algorithm>
#include <cmath>

#include <gst/integralhist/api/histogram.hpp>

#include "correlation_frames.hpp"
#include "test.hpp"

using namespace integralhist;
using inthist::correlation::kChannels;
using inthist::correlation::kDirections;

namespace {

/// Returns the area of each cell inside the frame, in 1/kCellUnit pixel.
std::vector<std::int64_t> areas_of (const CellGrid &grid, int width, int height)
{
  const CellEdges edges = CellEdges::of (grid, width, height);
  std::vector<std::int64_t> areas;
  for (int row = 0; row < grid.rows; row++)
    for (int column = 0; column < grid.columns; column++)
      areas.push_back (std::int64_t (edges.x[column + 1] - edges.x[column])
                       * (edges.y[row + 1] - edges.y[row]));
  return areas;
}

constexpr int kWidth = 61, kHeight = 47;

/// Returns the amount of each pixel in each bin.
std::vector<guint64> pixels_of (GstIntegralHistogram *histogram)
{
  std::vector<GstVideoRectangle> pixels;
  for (int y = 0; y < kHeight; y++)
    for (int x = 0; x < kWidth; x++)
      pixels.push_back ({ x, y, 1, 1 });
  std::vector<guint64> sums (pixels.size () * gst_integral_histogram_get_bins (histogram));
  fail_unless (gst_integral_histogram_regions_sums (histogram, pixels.data (),
                                                    guint (pixels.size ()), sums.data (), nullptr));
  return sums;
}

std::vector<std::int64_t> cells_of (GstIntegralHistogram *histogram,
                                    std::span<const CellGrid> grids)
{
  const int width = int (gst_integral_histogram_get_width (histogram)),
            height = int (gst_integral_histogram_get_height (histogram));
  std::vector<CellEdges> edges;
  std::vector<inthist::Cells> all;
  edges.reserve (grids.size ());
  std::size_t n = 0;
  for (const CellGrid &grid : grids) {
    const CellEdges &its = edges.emplace_back (CellEdges::of (grid, width, height));
    all.push_back ({ its.x, its.y });
    n += grid.size () * gst_integral_histogram_get_bins (histogram);
  }
  std::vector<std::int64_t> cells (n);
  const CellsQuery query = { all, {}, cells.data () };
  fail_unless (tensor_of (histogram).ask_cells ({ &query, 1 }).has_value ());
  return cells;
}

double overlap (double a0, double a1, double b0, double b1)
{
  return std::max (0.0, std::min (a1, b1) - std::max (a0, b0));
}

/// Returns a cell's amount of a bin, each pixel by its share of the area. If all values are 1, that
/// is the area.
double sum_of (const CellGrid &grid, int column, int row, const std::vector<guint64> &pixels,
               unsigned bins, unsigned bin)
{
  const double x = grid.x + column * grid.width, y = grid.y + row * grid.height;
  double sum = 0;
  for (int j = 0; j < kHeight; j++)
    for (int i = 0; i < kWidth; i++)
      sum += overlap (x, x + grid.width, i, i + 1) * overlap (y, y + grid.height, j, j + 1)
             * double (pixels[std::size_t (j * kWidth + i) * bins + bin]);
  return sum;
}

}  // namespace

TEST (anywhere)
{
  Frames frames (kWidth, kHeight);
  const FrameTensors frame = frames.of (squares (kWidth, kHeight, 1, 0, 255));
  const CellGrid grids[] = {
    { 3, 5, 4, 4, 6, 5 },                       // whole pixels
    { 7.3, 2.71, 3.37, 5.9, 7, 6 },             // no whole pixels
    { 10.1, 11.7, 0.23, 0.31, 9, 8 },           // several cells in a pixel
    { -20.6, -9.2, 5.5, 3.3, 16, 20 },          // over all borders
    { 500, -300, 2, 2, 3, 3 },                  // outside
    CellGrid::around (30.5, 20, 40, 9, 32, 3),  // by the middle
  };
  for (GstIntegralHistogram *histogram : { frame.gradients, frame.luma, frame.colours }) {
    const unsigned bins = gst_integral_histogram_get_bins (histogram);
    const auto pixels = pixels_of (histogram);
    const auto cells = cells_of (histogram, grids);
    const std::int64_t *got = cells.data ();
    for (const CellGrid &grid : grids)
      for (int row = 0; row < grid.rows; row++)
        for (int column = 0; column < grid.columns; column++)
          for (unsigned bin = 0; bin < bins; bin++, got++) {
            if (bins > 18 && bin % 37 != 0)
              continue;  // it takes long
            // edges are rounded to 1/256 pixel: half of that, at four sides
            const double wanted = sum_of (grid, column, row, pixels, bins, bin);
            const double most = bins == 256 ? 1 : bins == 1 ? 255 : 2885;
            const double exact = (grid.width + grid.height + 2) * most / 256 + 1e-6;
            fail_unless (std::fabs (double (*got) / kCellUnit - wanted) <= exact,
                         "cell %d, %d of %gx%g, bin %u: %g, must be %g", column, row, grid.width,
                         grid.height, bin, double (*got) / kCellUnit, wanted);
          }
    fail_unless (got == cells.data () + cells.size ());
  }
}

// edges at 1/256 pixel are exact
TEST (exact)
{
  Frames frames (kWidth, kHeight);
  const FrameTensors frame = frames.of (squares (kWidth, kHeight, 2, 0, 255));
  const CellGrid grid = { 5.25, 3.375, 4.0625, 2.125, 6, 7 };
  const auto pixels = pixels_of (frame.gradients);
  const auto cells = cells_of (frame.gradients, std::span (&grid, 1));
  const std::int64_t *got = cells.data ();
  for (int row = 0; row < grid.rows; row++)
    for (int column = 0; column < grid.columns; column++)
      for (unsigned bin = 0; bin < kDirections; bin++)
        fail_unless (double (*got++) / kCellUnit
                     == sum_of (grid, column, row, pixels, kDirections, bin));
}

// edges of large cells are whole pixels
TEST (large)
{
  Frames frames (kWidth, kHeight);
  const FrameTensors frame = frames.of (squares (kWidth, kHeight, 3, 0, 255));
  const CellGrid grid = { -3.4, 5.7, 10.3, 8.2, 7, 5 };
  const auto edge = [] (double first, double cell, int i, int most) {
    return int (std::clamp (std::round (first + i * cell), 0.0, double (most)));
  };
  const auto cells = cells_of (frame.gradients, std::span (&grid, 1));
  const auto areas = areas_of (grid, kWidth, kHeight);
  const std::int64_t *got = cells.data (), *area = areas.data ();
  for (int row = 0; row < grid.rows; row++)
    for (int column = 0; column < grid.columns; column++) {
      const int x0 = edge (grid.x, grid.width, column, kWidth),
                x1 = edge (grid.x, grid.width, column + 1, kWidth),
                y0 = edge (grid.y, grid.height, row, kHeight),
                y1 = edge (grid.y, grid.height, row + 1, kHeight);
      guint64 sums[kDirections] = {};
      if (x1 > x0 && y1 > y0)
        fail_unless (gst_integral_histogram_region_sums (frame.gradients, x0, y0, x1 - x0, y1 - y0,
                                                         sums, nullptr));
      fail_unless (double (*area++) / kCellUnit == (x1 - x0) * (y1 - y0));
      for (const guint64 sum : sums)
        fail_unless (double (*got++) / kCellUnit == double (sum));
    }
}

TEST (outside)
{
  Frames frames (kWidth, kHeight);
  const FrameTensors frame = frames.of (squares (kWidth, kHeight, 3, 0, 255));
  for (const CellGrid &grid :
       { CellGrid{ 500, 10, 2, 2, 3, 4 }, CellGrid{ 5, -300.5, 20, 12, 3, 4 } }) {
    const auto cells = cells_of (frame.gradients, std::span (&grid, 1));
    fail_unless (cells.size () == grid.size () * kDirections
                 && std::ranges::all_of (cells, [] (std::int64_t sum) { return sum == 0; }));
  }
}

// counts from pixels, and scores, equal the sums over rectangles of whole pixels
TEST (by_rectangles)
{
  Frames frames (kWidth, kHeight);
  const FrameTensors frame = frames.of (squares (kWidth, kHeight, 4, 0, 255));
  std::vector<std::uint8_t> scores (256);
  for (std::size_t bin = 0; bin < scores.size (); bin++)
    scores[bin] = std::uint8_t (bin * 37 + 11);
  const std::vector<int> x = { 0, 0, 77, 256, 300, 1024, 1025, 9000, kWidth * 256 },
                         y = { 130, 131, 700, 768, 5000, 5000, kHeight * 256 - 3 },
                         right = { 2560, 5120, 7680 }, below = { 0, 256 * kHeight };
  const inthist::Cells grids[] = { { x, y }, { right, below }, { x, below } };
  const std::size_t n = grids[0].size () + grids[1].size () + grids[2].size ();
  const auto expect_alike = [&] (GstIntegralHistogram *histogram, inthist::Scores its) {
    Tensor &tensor = tensor_of (histogram);
    const std::size_t planes = its.empty () ? std::size_t (tensor.shape.bins) : 1;
    std::vector<std::int64_t> got (n * planes, -1), wanted (n * planes, -2);
    const CellsQuery query = { grids, its, got.data () }, same = { grids, its, wanted.data () };
    fail_unless (ask_cells_by_rectangles (tensor, { &same, 1 }).has_value ());
    fail_unless (tensor.ask_cells ({ &query, 1 }).has_value ());
    fail_unless (got == wanted);
    fail_unless (std::ranges::any_of (got, [] (std::int64_t sum) { return sum > 0; }));
  };
  expect_alike (frame.gradients, {});
  expect_alike (frame.luma, {});
  expect_alike (frame.colours, scores);
  expect_alike (frame.colours, std::span (scores).first (5));
}

TEST (areas)
{
  const CellGrid grid = { -2.5, 40.25, 4, 3.5, 20, 3 };
  const auto areas = areas_of (grid, kWidth, kHeight);
  const std::vector<guint64> ones (kWidth * kHeight, 1);
  for (int row = 0; row < grid.rows; row++)
    for (int column = 0; column < grid.columns; column++)
      fail_unless (double (areas[std::size_t (row * grid.columns + column)]) / kCellUnit
                   == sum_of (grid, column, row, ones, 1, 0));
}

// In a picture with one edge, from dark to bright to the right, only direction 0 and its other
// neighbour have a channel; each channel is at most the sum of four clipped shares.
TEST (channels)
{
  Frames frames (128, 128);
  RgbPicture picture (128, 128);
  for (int y = 0; y < 128; y++)
    for (int x = 0; x < 128; x++)
      std::fill_n (picture.at (x, y), 3, x < 64 ? 50 : 200);
  const FrameTensors frame = frames.of (picture);
  const CellGrid square = square_around (64, 64, 64);
  std::vector<float> channels;
  compute_channels (frame, square, cells_of (frame.gradients, { &square, 1 }),
                    cells_of (frame.luma, { &square, 1 }), channels);
  fail_unless (channels.size () == kGrid * kGrid * kChannels);
  const auto at = [&] (int x, int y, int channel) {
    return channels[std::size_t (y * kGrid + x) * kChannels + channel];
  };
  for (int y = 0; y < kGrid; y++)
    for (int x = 0; x < kGrid; x++) {
      for (int c = 0; c < kChannels - 1; c++) {
        const bool of_edge = c == 0 || c == 17 || c == 18 || c == 26 || c >= 27;
        fail_unless (at (x, y, c) >= 0 && at (x, y, c) <= 0.4001F * (c < 27 ? 1 : 2));
        fail_unless (of_edge || at (x, y, c) == 0, "channel %d at %d, %d", c, x, y);
      }
      fail_unless ((at (x, y, kChannels - 1) < 0) == (x < 16), "luma at %d, %d", x, y);
    }
  fail_unless (at (15, 15, 0) > 0.3F && at (16, 15, 0) > 0.3F && at (4, 15, 0) == 0);
  // faded out towards the border, alike on both sides
  fail_unless (at (15, 0, 0) < 0.01F && std::fabs (at (15, 0, 0) - at (16, 31, 0)) < 1e-5);
}
