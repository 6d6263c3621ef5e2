// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The requests of a tracker's stages (single_target_tracker.cpp) to the model of its target: the
// learned correlation filter, filter of sizes and colours. A model is in the host's memory
// (host_model.hpp) or in a GPU's (cuda_model.hpp). Both give the same answers, to the bit.
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include <kernels/correlation/match.hpp>

namespace integralhist {

using inthist::correlation::CellShift;
using inthist::correlation::Centre;
using inthist::correlation::Match;

/// The middle and the size of a target's box, in pixels.
struct CentreBox {
  double x, y, width, height;

  /// Return the sides of the square that the filter searches around the box, and of its cells.
  double side () const
  {
    constexpr double kPadding = 4;  // side of the square, in sides of the target
    return kPadding * std::sqrt (width * height);
  }
  double cell () const { return side () / inthist::correlation::kGrid; }
};

enum class Stage { done, start, search, search_elsewhere, learn_filter, find_size, learn_size };

/// The answer of a model to Stage::search and Stage::search_elsewhere, and to Stage::find_size.
struct ModelAnswer {
  std::vector<Match> matches = {};      // of the searched squares
  std::vector<Centre> candidates = {};  // at most kMaxCandidates
  double size_factor = 1;               // how much larger the target is than its box
};

/// The request of a tracker's stage to the target's model, and the model's answer. For stages that
/// learn, `box` is where the target is now.
struct ModelRequest {
  Stage stage = Stage::done;
  CentreBox box = {};

  // Stage::start
  float kept_share = 0;               // share of the last filter
  bool restarts_size_filter = false;  // the box has another shape

  // Stage::search and Stage::search_elsewhere look for a box of the size of `box`.
  std::vector<Centre> middles = {};  // of the squares
  double spread = 0;                 // ExpectedMotion::spread
  double per_peak = 1;               // 1 / the usual peak
  bool whole_frame = false;          // also search the whole frame by colours

  // The learning rate of Stage::learn_filter and Stage::learn_size, above 0 and up to 1.
  double rate = 0;
  // Stage::learn_filter learns from the square around `box`. If `shift` is set, it learns from the
  // square that was searched around `searched_centre`, moved by `shift`: one of the `middles` of
  // this frame's search, of which a model learns once.
  Centre searched_centre = {};
  std::optional<CellShift> shift = {};
  // Stage::learn_size learns from the sample (size_filter.hpp) of `box`. If `factor` is set, it
  // learns from the sample of Stage::find_size, enlarged by this factor.
  std::optional<double> factor = {};

  ModelAnswer answer = {};
};

}  // namespace integralhist
