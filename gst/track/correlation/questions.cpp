// SPDX-License-Identifier: LGPL-2.1-or-later
#include "questions.hpp"

#include <functional>

#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/base/tasks.hpp>

#include "device_filters.hpp"

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

Expected<> ask_boxes (GstIntegralHistogram *colours, std::span<Questions *const> questions)
{
  std::vector<GstVideoRectangle> boxes;
  for (const Questions *const its : questions)
    boxes.insert (boxes.end (), its->boxes.begin (), its->boxes.end ());
  const guint bins = gst_integral_histogram_get_bins (colours);
  std::vector<guint32> counts (boxes.size () * bins);
  GError *problem = nullptr;
  if (!gst_integral_histogram_regions (colours, boxes.data (), guint (boxes.size ()),
                                       counts.data (), &problem))
    return take_gerror (problem);
  auto from = counts.begin ();
  for (Questions *const its : questions) {
    const auto to = from + std::ptrdiff_t (its->boxes.size ()) * bins;
    its->counts.assign (from, to);
    from = to;
  }
  return {};
}

/// Has filters on a GPU do what is asked of them.
Expected<> ask_filters (const FrameTensors &frame, std::span<Questions *const> questions)
{
  std::vector<MoveQuestion *> moves;
  std::vector<FilterQuestion *> examples, responses;
  for (Questions *const its : questions) {
    if (!its->move.turns.empty ())
      moves.push_back (&its->move);
    if (its->filter.square)
      (its->filter.makes_example ? examples : responses).push_back (&its->filter);
  }
  DeviceFilters &filters = *frame.filters;
  if (!moves.empty ())
    TRY (filters.move (moves));
  if (!examples.empty ())
    TRY (filters.make_examples (frame, examples));
  return responses.empty () ? Expected<> () : filters.respond (frame, responses);
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
  std::vector<Questions *> with_boxes, with_filters;
  std::vector<SampleQuestion *> samples;
  for (Questions *const its : questions)
    if (!its->sample.grids.empty ())
      samples.push_back (&its->sample);
  if (!samples.empty ())
    asking.push_back ([&] { return frame.filters->sample (frame, samples); });
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
