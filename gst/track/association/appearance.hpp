// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The appearance of a box, to tell people apart: the histograms of six stripes, one below the
// other, such as of hair, a face, a shirt and trousers. Only the middle of the box's width counts,
// because the sides show more of the background. The square roots of a histogram's shares form a
// vector of length 1, so that the product of two vectors is their Bhattacharyya coefficient (A.
// Bhattacharyya, "On a measure of divergence between two statistical populations", 1943).
//
// All boxes that a camera sees have something in common: the ground, the light, trousers. The mean
// of all appearances is this common part. Most of it is subtracted from each appearance before two
// are compared, which finds the right one of several people more often.
#pragma once

#include <span>
#include <vector>

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/gstintegralhist.h>
#include <gst/track/base/target_box.hpp>

namespace integralhist {

/// The square roots of the bins' shares, stripe by stripe; empty if the appearance is unknown.
using Appearance = std::vector<float>;

/// Computes the appearances of boxes, with one query to the tensor.
Expected<std::vector<Appearance>> appearances_of (GstIntegralHistogram *histogram,
                                                  std::span<const TargetBox> boxes);

/// The running mean of all appearances, or of about the last `memory` ones.
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
  /// Returns the number of appearances in the mean.
  unsigned n () const { return n_; }

private:
  unsigned memory_, n_ = 0;
  Appearance mean_;
};

/// Returns `appearance` minus `share` (0 to 1) times `common`, the mean of all appearances, scaled
/// to length 1. Returns an empty one if one of the two is empty, or if their bins differ.
Appearance distinct (const Appearance &appearance, const Appearance &common, double share);

/// Returns the likeness of two results of distinct (), from -1 to 1; 0 if one of them is empty.
double likeness (const Appearance &a, const Appearance &b);

}  // namespace integralhist
