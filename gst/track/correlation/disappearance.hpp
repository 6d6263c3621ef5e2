// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Detects that a target has suddenly disappeared, such as behind an object or with a cut of the
// film. A target changes little by little, and the filter learns that. Another object in the
// target's place differs at once. So the evidence of each frame is compared with that of the last
// frames, by the product of three ratios: of the peak's sharpness, of the peak's height, and of the
// score of the colours.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "confidence.hpp"

namespace integralhist {

class Disappearance {
public:
  /// Starts from the evidence of a frame that shows the target, `age` frames after its box was
  /// given.
  void start (const Evidence &evidence, unsigned age = 0)
  {
    usual_ = logs_of (evidence);
    age_ = age;
    frames_ = 0;
  }
  /// Notes the evidence of the next frame.
  void note (const Evidence &evidence)
  {
    constexpr double kRate = 0.3;     // of the running means
    constexpr unsigned kMinAge = 20;  // a new filter's responses fall for some frames
    constexpr double kGone = -1.4;    // ln 0.25: below it the target has disappeared
    constexpr double kBack = -0.7;    // ln 0.5: above it the target is visible again
    const auto now = logs_of (evidence);
    // for colours, only a lower score is a sign: other objects may have more of the target's
    // colours
    const double ratio =
        now[0] - usual_[0] + now[1] - usual_[1] + std::min (0.0, now[2] - usual_[2]);
    age_++;
    if (frames_ > 0 ? ratio <= kBack : age_ >= kMinAge && ratio < kGone) {
      frames_++;
      return;
    }
    frames_ = 0;
    for (std::size_t i = 0; i < usual_.size (); i++)
      usual_[i] += kRate * (now[i] - usual_[i]);
  }
  /// Returns the number of frames in a row in which the target has been gone; 0 if it is visible.
  unsigned frames () const { return frames_; }
  /// Returns how many frames have been compared since a box was given.
  unsigned age () const { return age_; }

private:
  using Logs = std::array<double, 3>;
  static Logs logs_of (const Evidence &evidence)
  {
    return { std::log (std::max (evidence.sharpness, 0.1)),
             std::log (std::max (evidence.share, 1e-3)),
             std::log (std::max (evidence.colour_share, 1e-3)) };
  }

  Logs usual_ = {};      // running means
  unsigned age_ = 0;     // in frames, without those in which the target was lost
  unsigned frames_ = 0;  // in a row without the target
};

}  // namespace integralhist
