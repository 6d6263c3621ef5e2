// SPDX-License-Identifier: LGPL-2.1-or-later
#include "colour.hpp"

#include <algorithm>

#include <kernels/correlation/colours.hpp>

#include <gst/track/base/target_frame.hpp>

namespace integralhist {

using namespace inthist::correlation;

static GstVideoRectangle box_around (double x, double y, double width, double height)
{
  const int x0 = round_to_pixel (x - width / 2), y0 = round_to_pixel (y - height / 2);
  return { x0, y0, std::max (1, round_to_pixel (x + width / 2) - x0),
           std::max (1, round_to_pixel (y + height / 2) - y0) };
}

/// Moves the learned share of each colour by `rate`, 0 to 1, towards its share of the counts.
static void approach (std::vector<double> &shares, std::span<const double> counts, double rate)
{
  double sum = 0;
  for (const double count : counts)
    sum += count;
  shares.resize (counts.size ());
  for (std::size_t i = 0; i < counts.size (); i++)
    shares[i] = moved_share (shares[i], counts[i], sum, rate);
}

/// Returns the edges of cells along an axis, in whole pixels inside the frame, without repetitions.
static std::vector<int> pixel_edges_of (double first, double cell_size, int n_cells, int frame_size)
{
  std::vector<int> edges (std::size_t (n_cells) + 1);
  edges.resize (
      std::size_t (write_pixel_edges (first, cell_size, n_cells, frame_size, edges.data ())));
  return edges;
}

std::vector<GstVideoRectangle> ColourModel::boxes (const CentreBox &box)
{
  const auto &[x, y, width, height] = box;
  const double side = (width + height) / 2;
  // the inner part leaves out the box's border, where pixels may belong to the surroundings
  const auto inner = [&] (double length) { return std::max (length - 0.2 * side, length / 2); };
  return { box_around (x, y, inner (width), inner (height)), box_around (x, y, width, height),
           box_around (x, y, width + side, height + side) };
}

void ColourModel::learn (std::span<const guint32> counts, double rate)
{
  const std::size_t bins = counts.size () / 3;
  std::vector<double> target (counts.begin (), counts.begin () + std::ptrdiff_t (bins)), background;
  if (std::ranges::all_of (target, [] (double count) { return count == 0; }))
    return;
  for (std::size_t i = 0; i < bins; i++)
    background.push_back (double (counts[2 * bins + i]) - counts[bins + i]);
  auto &[target_shares, background_shares, scores] = learned_;
  const double share = target_shares.empty () ? 1 : rate * kColourRate;
  approach (target_shares, target, share);
  approach (background_shares, background, share);
  scores.assign (bins, 0);
  for (std::size_t i = 0; i < bins; i++)
    scores[i] = colour_score (target_shares[i], background_shares[i]);
}

ScoreMap::ScoreMap (const CellGrid &grid, int frame_width, int frame_height)
    : x_ (pixel_edges_of (grid.x, grid.width, grid.columns, frame_width)),
      y_ (pixel_edges_of (grid.y, grid.height, grid.rows, frame_height)),
      sums_ (x_.size () * y_.size ())
{
}

void ScoreMap::queue_cells (std::span<const std::uint8_t> scores, TargetCellsQuery &query) const
{
  const auto in_parts = [] (std::vector<int> edges) {
    for (int &edge : edges)
      edge *= inthist::kCellParts;
    return edges;
  };
  if (scores.empty () || n_cells () == 0)
    return;
  query.grids.push_back ({ in_parts (x_), in_parts (y_) });
  query.scores = scores;
}

void ScoreMap::set_sums (std::span<const std::int64_t> cell_sums)
{
  if (cell_sums.empty ())
    return;
  const std::size_t columns = x_.size ();
  const std::int64_t *cell = cell_sums.data ();
  for (std::size_t j = 1; j < y_.size (); j++) {
    double row = 0;
    for (std::size_t i = 1; i < columns; i++)
      sums_[j * columns + i] = (row += double (*cell++) / kCellUnit) + sums_[(j - 1) * columns + i];
  }
}

std::vector<double> ScoreMap::scores (std::span<const double> x, std::span<const double> y,
                                      double width, double height) const
{
  const ScoreSums all = sums ();
  std::vector<EdgeRange> columns;
  for (const double middle : x)
    columns.push_back (all.columns_of (middle, width));
  std::vector<double> scores;
  scores.reserve (x.size () * y.size ());
  for (const double middle : y) {
    const EdgeRange rows = all.rows_of (middle, height);
    for (const EdgeRange &range : columns)
      scores.push_back (all.mean (range, rows, width, height));
  }
  return scores;
}

}  // namespace integralhist
