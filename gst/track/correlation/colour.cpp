// SPDX-License-Identifier: LGPL-2.1-or-later
#include "colour.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace integralhist {
namespace {

constexpr double kRate = 0.04;

int lround_of (double at)
{
  return int (std::lround (at));
}

GstVideoRectangle box_around (double x, double y, double width, double height)
{
  const int x0 = lround_of (x - width / 2), y0 = lround_of (y - height / 2);
  return { x0, y0, std::max (1, lround_of (x + width / 2) - x0),
           std::max (1, lround_of (y + height / 2) - y0) };
}

/// Moves shares by a rate towards those of the counts.
void approach (std::vector<double> &shares, std::span<const double> counts, double rate)
{
  double sum = 0;
  for (const double count : counts)
    sum += count;
  shares.resize (counts.size ());
  for (std::size_t i = 0; i < counts.size (); i++)
    shares[i] += rate * ((sum > 0 ? counts[i] / sum : 0) - shares[i]);
}

/// Returns the edges of cells in whole pixels inside of the frame, in order, each once.
std::vector<int> pixel_edges_of (double first, double cell_size, int n_cells, int frame_size)
{
  std::vector<int> edges;
  for (int i = 0; i <= n_cells; i++)
    if (const int edge = std::clamp (lround_of (first + i * cell_size), 0, frame_size);
        edges.empty () || edges.back () < edge)
      edges.push_back (edge);
  return edges;
}

}  // namespace

std::vector<GstVideoRectangle> ColourModel::boxes (double x, double y, double width, double height)
{
  const double side = (width + height) / 2;
  // away from the border, where pixels may be of the surroundings
  const auto inner = [&] (double length) { return std::max (length - 0.2 * side, length / 2); };
  return { box_around (x, y, inner (width), inner (height)), box_around (x, y, width, height),
           box_around (x, y, width + side, height + side) };
}

void ColourModel::learn (std::span<const guint32> counts, double rate)
{
  const std::size_t bins = counts.size () / 3;
  std::vector<double> target (counts.begin (), counts.begin () + std::ptrdiff_t (bins)), around;
  if (std::ranges::all_of (target, [] (double count) { return count == 0; }))
    return;
  for (std::size_t i = 0; i < bins; i++)
    around.push_back (double (counts[2 * bins + i]) - counts[bins + i]);
  const double share = target_.empty () ? 1 : rate * kRate;
  approach (target_, target, share);
  approach (around_, around, share);
  scores_.assign (bins, 0);
  for (std::size_t i = 0; i < bins; i++)
    if (const double sum = target_[i] + around_[i]; sum > 0)
      scores_[i] = std::uint8_t (std::lround (255 * target_[i] / sum));
}

ScoreMap::ScoreMap (const CellGrid &grid, int frame_width, int frame_height)
    : x_ (pixel_edges_of (grid.x, grid.width, grid.columns, frame_width)),
      y_ (pixel_edges_of (grid.y, grid.height, grid.rows, frame_height)),
      sums_ (x_.size () * y_.size ())
{
}

void ScoreMap::queue_cells (std::span<const std::uint8_t> scores, CellGridQuery &query) const
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

ScoreMap::EdgePosition ScoreMap::position_of (const std::vector<int> &edges, double at)
{
  if (edges.size () < 2 || at <= edges.front ())
    return { 0, 0 };
  if (at >= edges.back ())
    return { edges.size () - 2, 1 };
  const std::size_t edge = std::size_t (std::ranges::upper_bound (edges, at) - edges.begin ()) - 1;
  return { edge, (at - edges[edge]) / (edges[edge + 1] - edges[edge]) };
}

double ScoreMap::sum_before (const EdgePosition &x, const EdgePosition &y) const
{
  const std::size_t columns = x_.size ();
  const double *const at = &sums_[y.edge * columns + x.edge];
  return (1 - y.share) * ((1 - x.share) * at[0] + x.share * at[1])
         + y.share * ((1 - x.share) * at[columns] + x.share * at[columns + 1]);
}

std::vector<double> ScoreMap::scores (std::span<const double> x, std::span<const double> y,
                                      double width, double height) const
{
  std::vector<double> scores (x.size () * y.size ());
  if (x_.size () < 2 || y_.size () < 2)
    return scores;
  std::vector<std::pair<EdgePosition, EdgePosition>> columns;
  for (const double middle : x)
    columns.push_back (
        { position_of (x_, middle - width / 2), position_of (x_, middle + width / 2) });
  double *score = scores.data ();
  for (const double middle : y) {
    const EdgePosition y0 = position_of (y_, middle - height / 2),
                       y1 = position_of (y_, middle + height / 2);
    for (const auto &[x0, x1] : columns)
      *score++ =
          (sum_before (x1, y1) - sum_before (x0, y1) - sum_before (x1, y0) + sum_before (x0, y0))
          / (255 * width * height);
  }
  return scores;
}

}  // namespace integralhist
