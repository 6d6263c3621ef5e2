// SPDX-License-Identifier: LGPL-2.1-or-later
#include "host_model.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include <gst/integralhist/base/in_parallel.hpp>

#include "frame_windows.hpp"

namespace integralhist {

using namespace inthist::correlation;

void HostModel::queue_square (const FrameTensors &frame, const CellGrid &square)
{
  CellEdges edges = CellEdges::of (square, frame.width (), frame.height ());
  queries.gradients.grids.push_back (edges);
  queries.luma.grids.push_back (std::move (edges));
}

void HostModel::queue_sizes (const FrameTensors &frame, const CentreBox &box)
{
  for (const CellGrid &grid : sizes.cells ().grids (box))
    queries.sizes.grids.push_back (CellEdges::of (grid, frame.width (), frame.height ()));
}

void HostModel::queue_search (const FrameTensors &frame, const ModelRequest &request,
                              const Centre &middle)
{
  const std::size_t first =
      square_searches_.size () == n_earlier_
          ? 0
          : square_searches_.back ().first_score + square_searches_.back ().scores.n_cells ();
  ScoreMap scores (score_cells (request.box, middle), frame.width (), frame.height ());
  square_searches_.push_back ({ middle, {}, std::move (scores), first });
  queue_square (frame, square_around (middle.x, middle.y, request.box.side ()));
  square_searches_.back ().scores.queue_cells (colours.scores (), queries.scores);
}

void HostModel::queue_frame_search (const FrameTensors &frame, const CentreBox &box)
{
  const FrameWindows windows = FrameWindows::of (box, frame.width (), frame.height ());
  frame_search_ = { ScoreMap (windows.cells, frame.width (), frame.height ()), windows.x (),
                    windows.y () };
  frame_search_.scores.queue_cells (colours.scores (), queries.scores);
}

void HostModel::queue (const FrameTensors &frame, const ModelRequest &request)
{
  queries.clear ();
  const CentreBox &box = request.box;
  const CellGrid square = square_around (box.x, box.y, box.side ());
  switch (request.stage) {
    case Stage::done: break;
    case Stage::start:
      example.reset ();
      if (request.restarts_size_filter)
        sizes.start (box.width, box.height);
      queue_square (frame, square);
      queue_sizes (frame, box);
      queries.boxes = ColourModel::boxes (box);
      break;
    case Stage::search: square_searches_.clear (); [[fallthrough]];
    case Stage::search_elsewhere:
      n_earlier_ = square_searches_.size ();
      for (const Centre &middle : request.middles)
        queue_search (frame, request, middle);
      if (request.whole_frame)
        queue_frame_search (frame, box);
      break;
    case Stage::learn_filter:
      if (!request.shift)
        queue_square (frame, square);
      queries.boxes = ColourModel::boxes (box);
      break;
    case Stage::find_size: queue_sizes (frame, box); break;
    case Stage::learn_size:
      if (!request.factor)
        queue_sizes (frame, box);
      queries.boxes = ColourModel::boxes (box);
      break;
  }
}

/// Returns the spectra of a square of cells, from the sums in grid number `which` of the queries.
ComplexArray HostModel::spectra_of_square (const FrameTensors &frame, const CellGrid &square,
                                           std::size_t which) const
{
  static thread_local std::vector<float> channels;
  const auto sums_of_square = [which] (const TargetCellsQuery &query) {
    const std::size_t n = query.sums.size () / query.grids.size ();
    return std::span (query.sums).subspan (which * n, n);
  };
  compute_channels (frame, square, sums_of_square (queries.gradients),
                    sums_of_square (queries.luma), channels);
  return spectra_of (channels);
}

SizeFilter::Sample HostModel::sample (const FrameTensors &frame, const CentreBox &box) const
{
  return sizes.sample (frame, sizes.cells ().grids (box), queries.sizes.sums);
}

/// Returns the responses of the filter to the shifts that are searched, combined with the scores of
/// the colours there.
static std::vector<double> combine_responses (const ScoreMap &map, const Centre &middle,
                                              const ModelRequest &request,
                                              const ShiftWeights &weights,
                                              std::span<const float> response)
{
  const CentreBox &box = request.box;
  std::vector<double> xs, ys;
  for (int shift = -kSearchRadius; shift <= kSearchRadius; shift++) {
    xs.push_back (middle.x + shift * box.cell ());
    ys.push_back (middle.y + shift * box.cell ());
  }
  const std::vector<double> scores = map.scores (xs, ys, box.width, box.height);
  const double *score = scores.data ();
  std::vector<double> combined (kFilterCells);
  for (int down = -kSearchRadius; down <= kSearchRadius; down++)
    for (int right = -kSearchRadius; right <= kSearchRadius; right++) {
      const int i = index_of (down, right);
      combined[std::size_t (i)] =
          weights.of (i)
          * combined_response (response[std::size_t (i)], request.per_peak, *score++);
    }
  return combined;
}

/// Returns the best place for the target's box in a searched square, number `which` of the stage.
Match HostModel::best_match (const FrameTensors &frame, const ModelRequest &request,
                             SquareSearch &searched, std::size_t which) const
{
  const CentreBox &box = request.box;
  const auto [x, y] = searched.middle;
  if (!queries.scores.grids.empty ())
    searched.scores.set_sums (
        std::span (queries.scores.sums).subspan (searched.first_score, searched.scores.n_cells ()));
  searched.spectra = spectra_of_square (frame, square_around (x, y, box.side ()), which);
  const std::vector<float> response = filter.respond (searched.spectra);
  const ShiftWeights weights = shift_weights (request);
  const std::vector<double> combined =
      combine_responses (searched.scores, searched.middle, request, weights, response);
  const int best = int (std::ranges::max_element (combined) - combined.begin ());
  const int row = best / kGrid, column = best % kGrid;
  // If a detector runs (`spread` is not 0), the filter has recently learned the exact place. Then
  // only the filter's response refines the shift within a cell: uneven colours would pull the box
  // aside.
  const CellShift shift = peak_near (row, column, [&] (int i) {
    if (request.spread > 0)
      return is_searched (i) ? weights.of (i) * response[std::size_t (i)] : 0.0;
    return combined[std::size_t (i)];
  });
  Match match{};
  match.x = x + box.cell () * shift.right;
  match.y = y + box.cell () * shift.down;
  match.peak = response[std::size_t (best)];
  match.sharpness = sharpness_of (response.data (), row, column);
  match.score = searched.scores.sums ().mean (match.x, match.y, box.width, box.height);
  return match;
}

/// Returns the places of the frame with the highest scores of colours, none near another one. Of
/// equal scores the first counts.
std::vector<Centre> HostModel::find_candidates (const CentreBox &box)
{
  auto &[map, xs, ys] = frame_search_;
  if (!queries.scores.grids.empty ())
    map.set_sums (std::span (queries.scores.sums).last (map.n_cells ()));
  const std::vector<double> scores = map.scores (xs, ys, box.width, box.height);
  const double min_distance = candidate_distance (box);
  std::vector<Centre> chosen;
  const auto is_near = [&] (double x, double y) {
    return std::ranges::any_of (chosen, [&] (const Centre &other) {
      return std::fabs (other.x - x) < min_distance && std::fabs (other.y - y) < min_distance;
    });
  };
  while (chosen.size () < kMaxCandidates) {
    std::optional<Centre> best;
    double highest = 0;
    const double *next = scores.data ();
    for (const double y : ys)
      for (const double x : xs)
        if (const double score = *next++; (!best || score > highest) && !is_near (x, y)) {
          best = { x, y };
          highest = score;
        }
    if (!best)
      break;
    chosen.push_back (*best);
  }
  return chosen;
}

Expected<> HostModel::search (const FrameTensors &frame, ModelRequest &request)
{
  const int n = int (request.middles.size ());
  request.answer.matches.resize (std::size_t (n));
  TRY (in_parallel (n, [&] (int i) -> Expected<> {
    const std::size_t which = std::size_t (i);
    request.answer.matches[which] =
        best_match (frame, request, square_searches_[n_earlier_ + which], which);
    return {};
  }));
  request.answer.candidates =
      request.whole_frame ? find_candidates (request.box) : std::vector<Centre> ();
  return {};
}

void HostModel::start (const FrameTensors &frame, const ModelRequest &request)
{
  const CentreBox &box = request.box;
  colours.learn (queries.counts, 1);
  CorrelationFilter fresh;
  fresh.start (spectra_of_square (frame, square_around (box.x, box.y, box.side ()), 0),
               filter_box (box));
  if (filter.has_started ())
    fresh.remember (filter, request.kept_share);
  filter = std::move (fresh);
  sizes.learn (sample (frame, box), 1);
}

/// Returns the spectra from which the filter will learn: of a new square around the target, or of a
/// searched square, shifted so that the target is in its middle.
ComplexArray HostModel::example_spectra (const FrameTensors &frame, const ModelRequest &request)
{
  const CentreBox &box = request.box;
  if (!request.shift)
    return spectra_of_square (frame, square_around (box.x, box.y, box.side ()), 0);
  const auto searched = std::ranges::find_if (square_searches_, [&] (const SquareSearch &other) {
    return other.middle.x == request.searched_centre.x
           && other.middle.y == request.searched_centre.y;
  });
  assert (searched != square_searches_.end ());
  shift_spectra (searched->spectra, request.shift->right, request.shift->down);
  return std::move (searched->spectra);
}

Expected<> HostModel::answer (const FrameTensors &frame, ModelRequest &request)
{
  switch (request.stage) {
    case Stage::done: break;
    case Stage::start: start (frame, request); break;
    case Stage::search:
    case Stage::search_elsewhere: TRY (search (frame, request)); break;
    case Stage::learn_filter:
      colours.learn (queries.counts, request.rate);
      example = { example_spectra (frame, request), request.rate };
      break;
    case Stage::find_size:
      sample_ = sample (frame, request.box);
      request.answer.size_factor = sizes.find (sample_);
      break;
    case Stage::learn_size:
      colours.learn (queries.counts, request.rate);
      if (request.factor)
        SizeFilter::enlarge_sample (sample_, *request.factor);
      else
        sample_ = sample (frame, request.box);
      sizes.learn (sample_, request.rate);
      break;
  }
  return {};
}

}  // namespace integralhist
