// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The model of a target in the host's memory. For each stage (model_request.hpp) the model prepares
// queries, which run together with those of other targets, and then reads their results.
#pragma once

#include <optional>
#include <vector>

#include <kernels/correlation/cpu/filter.hpp>

#include "cells.hpp"
#include "colour.hpp"
#include "model_request.hpp"
#include "size_filter.hpp"
#include "target_queries.hpp"

namespace integralhist {

using inthist::correlation::CorrelationFilter;

/// Returns a target's box in units of the cells of the square around the target.
inline inthist::correlation::FilterBox filter_box (const CentreBox &box)
{
  return { box.width / box.cell (), box.height / box.cell () };
}

class HostModel {
public:
  // The learned state of a target. `example` is set while the filter still has to learn from it.
  struct Example {
    ComplexArray spectra;
    double rate;
  };
  CorrelationFilter filter;
  std::optional<Example> example;
  SizeFilter sizes;
  ColourModel colours;

  TargetQueries queries;

  /// Prepares the queries to a frame's tensors that the answer to a request needs.
  void queue (const FrameTensors &frame, const ModelRequest &request);
  /// Answers a request, or learns, from the results of the queries that queue () has prepared.
  Expected<> answer (const FrameTensors &frame, ModelRequest &request);
  /// Frees what is needed only within a frame, such as the spectra of searched squares.
  void end_frame () { square_searches_.clear (); }

  /// Lets the filter learn from the example, also while another thread answers requests to this
  /// model. After both, renew () must be called.
  void learn () { filter.learn (example->spectra, example->rate); }
  void renew ()
  {
    filter.renew ();
    example.reset ();
  }

private:
  struct SquareSearch {
    Centre middle;
    ComplexArray spectra;
    ScoreMap scores;
    std::size_t first_score;  // first sum in queries.scores.sums
  };
  struct FrameSearch {
    ScoreMap scores;
    std::vector<double> x, y;  // middles of boxes in the frame
  };

  void queue_square (const FrameTensors &frame, const CellGrid &square);
  void queue_sizes (const FrameTensors &frame, const CentreBox &box);
  void queue_search (const FrameTensors &frame, const ModelRequest &request, const Centre &middle);
  void queue_frame_search (const FrameTensors &frame, const CentreBox &box);
  ComplexArray spectra_of_square (const FrameTensors &frame, const CellGrid &square,
                                  std::size_t which) const;
  SizeFilter::Sample sample (const FrameTensors &frame, const CentreBox &box) const;
  Match best_match (const FrameTensors &frame, const ModelRequest &request, SquareSearch &searched,
                    std::size_t which) const;
  std::vector<Centre> find_candidates (const CentreBox &box);
  ComplexArray example_spectra (const FrameTensors &frame, const ModelRequest &request);
  void start (const FrameTensors &frame, const ModelRequest &request);
  Expected<> search (const FrameTensors &frame, ModelRequest &request);

  std::vector<SquareSearch> square_searches_;
  std::size_t n_earlier_ = 0;  // squares of earlier stages
  FrameSearch frame_search_;
  SizeFilter::Sample sample_;  // of the last found or learned size
};

}  // namespace integralhist
