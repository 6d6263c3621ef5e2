// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sums of cells (kernels/cells.hpp) from a tensor, which knows only whole pixels. Pixel boundaries
// around the cell edges cut the frame into rectangles that do not overlap. A cell's sum adds up the
// sums of rectangles, each times the share of the rectangle that lies in the cell.
#include <algorithm>
#include <vector>

#include "tensor.hpp"

namespace integralhist {
namespace {

using inthist::kCellParts;

/// A strip of pixel columns or rows, and the share of its width that lies in a given cell.
struct Share {
  std::size_t strip;
  std::int64_t share;  // in 1/kCellParts
};

/// The pixel boundaries that cut an axis into strips, and for each cell its shares of the strips.
struct Axis {
  std::vector<int> boundaries;
  std::vector<std::vector<Share>> cells;

  explicit Axis (std::span<const int> edges)
  {
    for (const int edge : edges)
      for (int at = edge / kCellParts; at <= inthist::divide_up (edge, kCellParts); at++)
        if (boundaries.empty () || boundaries.back () < at)
          boundaries.push_back (at);
    std::size_t strip = 0;
    for (std::size_t i = 0; i + 1 < edges.size (); i++) {
      std::vector<Share> &cell = cells.emplace_back ();
      while (strip > 0 && boundaries[strip] * kCellParts > edges[i])
        strip--;
      for (std::size_t k = strip; k < strips (); k++) {
        const int first = boundaries[k] * kCellParts, end = boundaries[k + 1] * kCellParts,
                  inside = std::min (end, edges[i + 1]) - std::max (first, edges[i]);
        if (first >= edges[i + 1])
          break;
        // An edge inside a pixel cuts a strip of one pixel, so `inside` is the share itself.
        if (inside > 0)
          cell.push_back ({ k, inside == end - first ? kCellParts : inside });
        strip = k;
      }
    }
  }
  std::size_t strips () const { return boundaries.size () - 1; }
};

struct Axes {
  Axis x, y;
  explicit Axes (const Cells &cells) : x (cells.x), y (cells.y) {}

  std::size_t size () const { return x.strips () * y.strips (); }
  void add_rectangles (std::vector<Region> &to) const
  {
    for (std::size_t j = 0; j < y.strips (); j++)
      for (std::size_t i = 0; i < x.strips (); i++)
        to.push_back ({ x.boundaries[i], y.boundaries[j], x.boundaries[i + 1] - x.boundaries[i],
                        y.boundaries[j + 1] - y.boundaries[j] });
  }
};

/// Adds the `n` sums of a strip, times the strip's `share`, to the `n` sums of a cell. Most
/// strips lie wholly in the cell: `share` is the constant kCellParts, and multiplying is a shift.
template <class Number>
void add_share (const Number *__restrict from, std::int64_t share, std::size_t n,
                std::int64_t *__restrict to)
{
  if (share == kCellParts)
    for (std::size_t i = 0; i < n; i++)
      to[i] += std::int64_t (from[i]) * kCellParts;
  else
    for (std::size_t i = 0; i < n; i++)
      to[i] += std::int64_t (from[i]) * share;
}

std::int64_t *write_cells (const Axes &axes, const guint64 *sums, std::size_t planes,
                           std::int64_t *to)
{
  const std::size_t across = axes.x.strips () * planes;
  std::vector<std::int64_t> row (across);
  for (const auto &of_row : axes.y.cells) {
    std::ranges::fill (row, 0);
    for (const auto &[j, share] : of_row)
      add_share (sums + j * across, share, across, row.data ());
    for (const auto &of_column : axes.x.cells) {
      std::fill_n (to, planes, 0);
      for (const auto &[i, share] : of_column)
        add_share (&row[i * planes], share, planes, to);
      to += planes;
    }
  }
  return to;
}

Expected<> ask_sums (Tensor &tensor, const std::vector<Region> &rectangles, guint64 *sums)
{
  const Query query = {
    .kind = QueryKind::sums,
    .windows = { .list = rectangles.data (), .n = int (rectangles.size ()), .grid = {} },
    .answers = sums
  };
  return tensor.ask ({ &query, 1 });
}

/// Queries at most kAtOnce histograms at a time, to limit the memory.
Expected<> ask_scores (Tensor &tensor, const std::vector<Region> &rectangles,
                       inthist::Scores scores, guint64 *sums)
{
  constexpr std::size_t kAtOnce = 4096;
  const std::size_t bins = std::size_t (tensor.shape.bins), n = rectangles.size (),
                    n_scores = std::min (bins, scores.size ());
  std::vector<guint32> counts (std::min (n, kAtOnce) * bins);
  for (std::size_t first = 0; first < n; first += kAtOnce) {
    const std::size_t some = std::min (kAtOnce, n - first);
    const Query query = { .kind = QueryKind::counts,
                          .windows = { .list = &rectangles[first], .n = int (some), .grid = {} },
                          .answers = counts.data () };
    TRY (tensor.ask ({ &query, 1 }));
    for (std::size_t i = 0; i < some; i++) {
      guint64 sum = 0;
      for (std::size_t b = 0; b < n_scores; b++)
        sum += guint64 (counts[i * bins + b]) * scores[b];
      sums[first + i] = sum;
    }
  }
  return {};
}

Expected<> ask_by_rectangles (Tensor &tensor, const CellsQuery &query)
{
  std::vector<Axes> all;
  std::vector<Region> rectangles;
  for (const Cells &cells : query.grids) {
    all.emplace_back (cells);
    all.back ().add_rectangles (rectangles);
  }
  const std::size_t planes = query.planes (tensor.shape);
  std::vector<guint64> sums (rectangles.size () * planes);
  if (!rectangles.empty ())  // without rectangles, all cells are empty
    TRY (query.scores.empty () ? ask_sums (tensor, rectangles, sums.data ())
                               : ask_scores (tensor, rectangles, query.scores, sums.data ()));
  const guint64 *from = sums.data ();
  std::int64_t *to = query.sums;
  for (const Axes &axes : all) {
    to = write_cells (axes, from, planes, to);
    from += axes.size () * planes;
  }
  return {};
}

}  // namespace

Expected<> ask_cells_by_rectangles (Tensor &tensor, std::span<const CellsQuery> queries)
{
  for (const CellsQuery &query : queries)
    TRY (ask_by_rectangles (tensor, query));
  return {};
}

}  // namespace integralhist
