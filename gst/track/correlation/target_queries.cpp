// SPDX-License-Identifier: LGPL-2.1-or-later
#include "target_queries.hpp"

#include <functional>

#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/base/in_parallel.hpp>

namespace integralhist {

/// Runs queries for sums in cells, of one or many targets, as one query to the tensor.
static Expected<> query_cells (GstIntegralHistogram *histogram,
                               std::span<TargetCellsQuery *const> queries)
{
  Tensor &tensor = tensor_of (histogram);
  std::vector<std::vector<inthist::Cells>> grids;
  std::vector<CellsQuery> tensor_queries;
  grids.reserve (queries.size ());
  for (TargetCellsQuery *const query : queries) {
    auto &query_grids = grids.emplace_back ();
    std::size_t n = 0;
    for (const CellEdges &edges : query->grids)
      n += query_grids.emplace_back (inthist::Cells{ edges.x, edges.y }).size ();
    query->sums.resize (n * (query->scores.empty () ? std::size_t (tensor.shape.bins) : 1));
    tensor_queries.push_back ({ query_grids, query->scores, query->sums.data () });
  }
  return tensor.ask_cells (tensor_queries);
}

static Expected<> query_boxes (GstIntegralHistogram *colours,
                               std::span<TargetQueries *const> queries)
{
  std::vector<GstVideoRectangle> boxes;
  for (const TargetQueries *const target : queries)
    boxes.insert (boxes.end (), target->boxes.begin (), target->boxes.end ());
  const guint bins = gst_integral_histogram_get_bins (colours);
  std::vector<guint32> counts (boxes.size () * bins);
  GError *problem = nullptr;
  if (!gst_integral_histogram_regions (colours, boxes.data (), guint (boxes.size ()),
                                       counts.data (), &problem))
    return take_gerror (problem);
  auto from = counts.begin ();
  for (TargetQueries *const target : queries) {
    const auto to = from + std::ptrdiff_t (target->boxes.size ()) * bins;
    target->counts.assign (from, to);
    from = to;
  }
  return {};
}

Expected<> run_queries (const FrameTensors &frame, std::span<TargetQueries *const> queries)
{
  std::vector<std::function<Expected<> ()>> asking;
  const auto add = [&] (GstIntegralHistogram *histogram,
                        std::initializer_list<TargetCellsQuery TargetQueries::*> kinds) {
    std::vector<TargetCellsQuery *> cell_queries;
    for (TargetQueries *const target : queries)
      for (const auto kind : kinds)
        if (!(target->*kind).grids.empty ())
          cell_queries.push_back (&(target->*kind));
    if (!cell_queries.empty ())
      asking.push_back (
          [histogram, cell_queries] { return query_cells (histogram, cell_queries); });
  };
  add (frame.gradients, { &TargetQueries::gradients, &TargetQueries::sizes });
  add (frame.colours, { &TargetQueries::scores });
  add (frame.luma, { &TargetQueries::luma });
  std::vector<TargetQueries *> with_boxes;
  for (TargetQueries *const target : queries)
    if (!target->boxes.empty ())
      with_boxes.push_back (target);
  if (!with_boxes.empty ())
    asking.push_back ([&] { return query_boxes (frame.colours, with_boxes); });
  return in_parallel (int (asking.size ()), [&] (int i) { return asking[std::size_t (i)](); });
}

}  // namespace integralhist
