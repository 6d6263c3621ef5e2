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
  /// Starts from the evidence (confidence.hpp) of a frame that shows the target, `age` frames after
  /// the target's first frame.
  void start (const Evidence &evidence, unsigned age = 0)
  {
    usual_ = logs_of (evidence);
    age_ = age;
    frames_ = 0;
  }
  /// Compares the evidence of the next frame with the running means of the last frames.
  void note (const Evidence &evidence)
  {
    constexpr double kRate = 0.3;     // of the running means
    constexpr unsigned kMinAge = 20;  // the responses of a new filter fall for some frames
    constexpr double kGone = -1.4;    // ln 0.25: with a lower product, the target has disappeared
    constexpr double kBack = -0.7;    // ln 0.5: with a higher product, the target is back
    const auto now = logs_of (evidence);
    // only a lower score of the colours is a sign: other objects may have more of the target's
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
  /// Returns for how many frames the target has been gone; 0 if it is visible.
  unsigned frames () const { return frames_; }
  /// Returns for how many frames the target has been followed, without those in which it was lost.
  unsigned age () const { return age_; }

private:
  using Logs = std::array<double, 3>;
  static Logs logs_of (const Evidence &evidence)
  {
    return { std::log (std::max (evidence.sharpness, 0.1)),
             std::log (std::max (evidence.peak_ratio, 1e-3)),
             std::log (std::max (evidence.colour_ratio, 1e-3)) };
  }

  Logs usual_ = {};      // running means
  unsigned age_ = 0;     // in frames
  unsigned frames_ = 0;  // without the target
};

}  // namespace integralhist
