// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The appearance of a box, to tell people apart: the histograms of six stripes, one below the
// other, such as of hair, a face, a shirt and trousers. Only the middle of the box's width counts,
// because it shows less of the ground. The roots of a histogram's shares form a vector of length 1,
// so that the product of two vectors is their Bhattacharyya coefficient (A. Bhattacharyya, "On a
// measure of divergence between two statistical populations", 1943).
//
// All boxes of a camera have something in common: the ground, the light, trousers. The mean of all
// appearances is that common part. Most of it is subtracted from each appearance before two are
// compared: then the right one of several people is found more often.
#pragma once

#include <span>
#include <vector>

#include <gst/integralhist/base/error.hpp>
#include <gst/integralhist/gstintegralhist.h>
#include <gst/track/base/target_box.hpp>

namespace integralhist {

/// Roots of the shares of bins, stripe by stripe; empty if unknown.
using Appearance = std::vector<float>;

/// Computes the appearances of boxes, with one query to the tensor.
Expected<std::vector<Appearance>> appearances_of (GstIntegralHistogram *histogram,
                                                  std::span<const TargetBox> boxes);

/// The mean of appearances: of all, or of about the last `memory` appearances.
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

/// Subtracts the share `share`, 0 to 1, of what is common to all from an appearance. The result has
/// length 1; it is empty if either is unknown, or if they have different bins.
Appearance distinct (const Appearance &appearance, const Appearance &common, double share);

/// Returns how alike two distinct appearances are, from -1 to 1; 0 if one is empty.
double likeness (const Appearance &a, const Appearance &b);

}  // namespace integralhist
