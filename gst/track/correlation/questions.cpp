// SPDX-License-Identifier: LGPL-2.1-or-later
#include "questions.hpp"

#include <functional>

#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/base/tasks.hpp>

#include "asked.hpp"

namespace integralhist {
namespace {

/// Asks those of these questions that have grids.
Expected<> ask_cells (GstIntegralHistogram *histogram, std::span<CellQuestion *const> questions)
{
  Tensor &tensor = tensor_of (histogram);
  std::vector<std::vector<inthist::Cells>> grids;
  std::vector<CellsQuery> queries;
  grids.reserve (questions.size ());
  for (CellQuestion *const question : questions) {
    auto &its = grids.emplace_back ();
    std::size_t n = 0;
    for (const CellEdges &edges : question->grids)
      n += its.emplace_back (inthist::Cells{ edges.x, edges.y }).size ();
    question->cells.resize (n * (question->scores.empty () ? std::size_t (tensor.shape.bins) : 1));
    queries.push_back ({ its, question->scores, question->cells.data () });
  }
  return tensor.ask_cells (queries);
}

Expected<> ask_samples (const FrameTensors &frame, std::span<Questions *const> questions)
{
  std::vector<std::vector<inthist::Cells>> grids;
  std::vector<SizesQuery> queries;
  grids.reserve (questions.size ());
  for (Questions *const its : questions) {
    SampleQuestion &asked = its->sample;
    auto &all = grids.emplace_back ();
    std::size_t n = 0;
    for (const CellEdges &edges : asked.grids)
      n += all.emplace_back (inthist::Cells{ edges.x, edges.y }).size ();
    asked.sample.resize (n * kOrientations);
    queries.push_back ({ all, asked.scales, asked.sample.data () });
  }
  return frame.filters->sample (tensor_of (frame.gradients), queries);
}

Expected<> ask_boxes (GstIntegralHistogram *colours, std::span<Questions *const> questions)
{
  std::vector<GstVideoRectangle> boxes;
  for (const Questions *const its : questions)
    boxes.insert (boxes.end (), its->boxes.begin (), its->boxes.end ());
  const auto counts = TRY (counts_of (colours, boxes));
  auto from = counts.begin ();
  for (Questions *const its : questions) {
    const auto to =
        from + std::ptrdiff_t (its->boxes.size ()) * gst_integral_histogram_get_bins (colours);
    its->counts.assign (from, to);
    from = to;
  }
  return {};
}

/// Has filters on a GPU do what is asked of them.
Expected<> ask_filters (const FrameTensors &frame, std::span<Questions *const> questions)
{
  std::vector<FilterQuery> queries[2];  // for responses, and for examples
  std::vector<FilterMove> moves;
  for (Questions *const its : questions) {
    if (!its->move.turns.empty ())
      moves.push_back ({ its->move.filter,
                         { reinterpret_cast<const double *> (its->move.turns.data ()),
                           2 * its->move.turns.size () } });
    if (FilterQuestion &its_filter = its->filter; its_filter.square) {
      its_filter.response.resize (std::size_t (kGrid) * kGrid);
      queries[its_filter.makes_example].push_back ({ its_filter.filter,
                                                     { its_filter.square->x, its_filter.square->y },
                                                     its_filter.scale.per_length,
                                                     its_filter.scale.per_luma,
                                                     its_filter.response.data (),
                                                     its_filter.mu,
                                                     its_filter.rho });
    }
  }
  Tensor &gradients = tensor_of (frame.gradients), &luma = tensor_of (frame.luma);
  if (!moves.empty ())
    TRY (frame.filters->move (moves));
  if (!queries[1].empty ())
    TRY (frame.filters->make_examples (gradients, luma, queries[1]));
  return queries[0].empty () ? Expected<> () : frame.filters->respond (gradients, luma, queries[0]);
}

}  // namespace

Expected<> ask (const FrameTensors &frame, std::span<Questions *const> questions)
{
  std::vector<std::function<Expected<> ()>> asking;
  const auto add = [&] (GstIntegralHistogram *histogram,
                        std::initializer_list<CellQuestion Questions::*> kinds) {
    std::vector<CellQuestion *> its;
    for (Questions *const of_target : questions)
      for (const auto kind : kinds)
        if (!(of_target->*kind).grids.empty ())
          its.push_back (&(of_target->*kind));
    if (!its.empty ())
      asking.push_back ([histogram, its] { return ask_cells (histogram, its); });
  };
  add (frame.gradients, { &Questions::gradients, &Questions::sizes });
  add (frame.colours, { &Questions::scores });
  add (frame.luma, { &Questions::luma });
  std::vector<Questions *> with_boxes, with_filters, with_samples;
  for (Questions *const its : questions)
    if (!its->sample.grids.empty ())
      with_samples.push_back (its);
  if (!with_samples.empty ())
    asking.push_back ([&] { return ask_samples (frame, with_samples); });
  for (Questions *const its : questions)
    if (its->filter.square || !its->move.turns.empty ())
      with_filters.push_back (its);
  if (!with_filters.empty ())
    asking.push_back ([&] { return ask_filters (frame, with_filters); });
  for (Questions *const its : questions)
    if (!its->boxes.empty ())
      with_boxes.push_back (its);
  if (!with_boxes.empty ())
    asking.push_back ([&] { return ask_boxes (frame.colours, with_boxes); });
  return in_parallel (int (asking.size ()), [&] (int i) { return asking[std::size_t (i)](); });
}

}  // namespace integralhist
