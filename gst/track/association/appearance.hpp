// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The appearance of a box, to tell people apart: the histograms of six stripes, one below the
// other, such as of hair, a face, a shirt and trousers. Only the middle of the box's width counts,
// because the sides show more of the background. The square roots of a histogram's shares form a
// vector of length 1, so that the product of two vectors is their Bhattacharyya coefficient (A.
// Bhattacharyya, "On a measure of divergence between two statistical populations", 1943).
//
// All boxes that a camera sees have something in common: the ground, the light, trousers. Most of
// this common part, the mean of all appearances, is subtracted before two are compared.
#pragma once

#include <span>
#include <vector>

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/gstintegralhist.h>
#include <gst/track/base/target_box.hpp>

namespace integralhist {

/// The appearance of a box: for each of six stripes, the square roots of the shares of the stripe's
/// pixels that lie in each bin. Empty if the appearance is unknown.
using Appearance = std::vector<float>;

Expected<std::vector<Appearance>> appearances_of (GstIntegralHistogram *histogram,
                                                  std::span<const TargetBox> boxes);

/// The running mean of appearances. After `memory` appearances, older ones fade.
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
  unsigned n () const { return n_; }

private:
  unsigned memory_, n_ = 0;
  Appearance mean_;
};

/// Subtracts from a box's appearance a share (0 to 1) of `common`, the mean of all appearances, and
/// scales the result to length 1. The result is empty if the two have different numbers of bins.
Appearance subtract_common (const Appearance &appearance, const Appearance &common, double share);

/// Returns how alike two appearances are: the dot product of two results of subtract_common (),
/// from -1 to 1. It is 0 if one of them is empty.
double likeness (const Appearance &a, const Appearance &b);

}  // namespace integralhist
