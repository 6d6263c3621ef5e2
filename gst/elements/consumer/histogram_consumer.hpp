// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What consumers share: which of a frame's histograms they use, waits, which a flush or a stop
// ends, and a limit on frames without a histogram.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <gst/base/gstbasetransform.h>

#include <kernels/inthist.hpp>

#include <gst/integralhist/base/cancel.hpp>
#include <gst/integralhist/gstintegralhistogrammeta.h>
#include <gst/properties/properties.hpp>

namespace integralhist {

/// Of the property `feature`.
inline constexpr char kFeatureBlurb[] =
    "Which of the frame's integral histograms to use, where cudaintegralhist elements in a row "
    "attach several: the nick of its feature, as \"hue\". Empty takes the first, of pixels rather "
    "than of weights";

/// The property `feature`: the nick of one, or empty for any.
using FeatureText = ParsedText<std::optional<inthist::Feature>>;

class HistogramConsumer {
public:
  /// Resets the counts at the start of a stream.
  void start ();
  /// Does so where something else is wanted from now on.
  void start_again ();
  /// Notes an event from upstream before it is handled, or a change of state. Warns at the end of a
  /// stream that wanted histograms and had none.
  void take_event (GstBaseTransform *element, GstEvent *event);
  void take_transition (GstStateChange transition);

  /// Returns the frame's first histogram of the feature with this nick; of any where that is empty,
  /// of pixels rather than of weights. Null where there is none; an error for users where there are
  /// but some of its bins, and frames before had no more.
  Expected<GstIntegralHistogramMeta *> find (GstBuffer *buffer, const FeatureText &feature);

  /// Waits for the tensor, within a cancel_scope ().
  Expected<> await (GstIntegralHistogram *histogram);
  /// Returns whether a frame had what is wanted, since the start.
  bool has_found () const { return found_; }
  /// Lets a flush or a stop cancel what this thread asks, as long as the result lives.
  CancelScope cancel_scope () const { return CancelScope (cancel_.flag ()); }

  /// Counts a frame in which `find` found none. Returns an error with a launch
  /// line, unless frames had one before or a producer upstream leaves frames out.
  Expected<> note_missing (GstBaseTransform *element);
  /// What a producer attaches.
  struct Wanted {
    const char *feature;
    inthist::Content content;
  };
  /// Counts a frame that lacks some of several tensors, likewise. Returns whether later ones may
  /// have all: frames had before, or a producer of each is upstream and leaves frames out.
  bool may_come (GstBaseTransform *element, std::span<const Wanted> all);

private:
  CancelSource cancel_;
  std::string feature_;  // last looked for
  bool found_ = false;
  guint missing_ = 0;  // frames since the start
};

}  // namespace integralhist
