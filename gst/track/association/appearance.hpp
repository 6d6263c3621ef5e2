// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The appearance of a box, to tell people apart: the histograms of six stripes, one below the
// other, as of hair, a face, a shirt and trousers. Only the middle of the box's width counts, which
// shows less of the ground. The roots of a histogram's shares are a vector of length 1, so that the
// product of two is their Bhattacharyya coefficient (A. Bhattacharyya, "On a measure of divergence
// between two statistical populations", 1943).
//
// All boxes of a camera have something in common: the ground, the light, trousers. Their
// mean is what they share. Most of it is taken from each before they are compared: by what is left,
// the right one of several people is found more often.
#pragma once

#include <span>
#include <vector>

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/gstintegralhist.h>
#include <gst/track/base/target_box.hpp>

namespace integralhist {

/// Roots of the shares of bins, stripe by stripe; empty if nothing is known.
using Appearance = std::vector<float>;

/// Asks a tensor, once for all boxes.
Expected<std::vector<Appearance>> appearances_of (GstIntegralHistogram *histogram,
                                                  std::span<const TargetBox> boxes);

/// The mean of appearances: of all, or of about the last `memory` ones.
class MeanAppearance {
public:
  explicit MeanAppearance (unsigned memory) : memory_ (memory) {}
  void add (const Appearance &appearance);
  void clear ()
  {
    mean_.clear ();
    n_ = 0;
  }
  const Appearance &mean () const { return mean_; }
  /// Returns of how many appearances it is the mean.
  unsigned n () const { return n_; }

private:
  unsigned memory_, n_ = 0;
  Appearance mean_;
};

/// Returns an appearance without a share, 0 to 1, of what is common to all, with length 1; empty if
/// either is unknown, or they have different bins.
Appearance distinct (const Appearance &appearance, const Appearance &common, double share);

/// Returns how alike two distinct appearances are: -1 to 1; 0 if one is empty.
double likeness (const Appearance &a, const Appearance &b);

}  // namespace integralhist
