// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The code that all consumers share. It chooses one of a frame's histograms, lets a flush or a stop
// end a wait, and limits the number of frames without a histogram.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <gst/base/gstbasetransform.h>

#include <kernels/inthist.hpp>

#include <gst/frame/video_formats.hpp>
#include <gst/integralhist/base/cancel.hpp>
#include <gst/integralhist/gstintegralhistogrammeta.h>
#include <gst/properties/properties.hpp>

namespace integralhist {

/// The blurb of the property `feature`.
inline constexpr char kFeatureBlurb[] = "Feature of the integral histogram to use, such as "
                                        "\"hue\"; empty = the first histogram of pixels";

/// The property `feature`: the nick of a feature, or empty for any.
using FeatureText = ParsedText<std::optional<inthist::Feature>>;

class HistogramConsumer {
public:
  /// Resets the counts at the start of a stream.
  void start ();
  /// Resets the counts because the element now needs other histograms.
  void start_again ();
  /// Notes an event from upstream before it is handled, or a change of state. Warns at the end of a
  /// stream if histograms were needed and no frame had one.
  void take_event (GstBaseTransform *element, GstEvent *event);
  void take_transition (GstStateChange transition);

  /// Returns the frame's first histogram of the feature with this nick, or of any feature if the
  /// nick is empty; a histogram of pixels comes before one of weights. If the nick is empty, later
  /// frames need the same feature as long as an element upstream computes it: a frame that this
  /// element leaves out may carry the histogram of another element. Returns null if there is no
  /// such histogram. If there is one with only a range of its bins, and no frame has had the needed
  /// histogram so far, returns an error for users.
  Expected<GstIntegralHistogramMeta *> find (GstBaseTransform *element, GstBuffer *buffer,
                                             const FeatureText &feature);
  /// Refuses a histogram whose size differs from the frame's: NVIDIA's converter copies metas
  /// unchanged when it scales.
  Expected<> check_size (GstBuffer *buffer, const GstIntegralHistogramMeta *meta) const;

  /// Notes that a frame has the needed histogram.
  void note_found () { found_ = true; }
  /// Calls note_found (), and waits for the tensor. The caller must hold a cancel_scope ().
  Expected<> await (GstIntegralHistogram *histogram);
  /// Returns whether a frame has had the needed histogram since the start.
  bool has_found () const { return found_; }
  /// While the result lives, a flush or a stop cancels the queries of this thread.
  CancelScope cancel_scope () const { return CancelScope (cancel_.flag ()); }

  /// Counts a frame in which `find` found nothing. Returns an error that shows a working launch
  /// line, unless earlier frames had a histogram or a producer upstream leaves frames out.
  Expected<> note_missing (GstBaseTransform *element);
  /// A tensor that the consumer needs: its feature and its content.
  struct Wanted {
    const char *feature;
    inthist::Content content;
  };
  /// Counts a frame that lacks some of these tensors, as note_missing () does. Returns whether
  /// later frames may have all of them: either earlier frames had them, or each has a producer
  /// upstream that leaves frames out.
  bool note_incomplete (GstBaseTransform *element, std::span<const Wanted> all);

private:
  CancelSource cancel_;
  FrameFormat input_;
  std::string feature_;                     // the feature of the last find ()
  std::optional<inthist::Feature> chosen_;  // the feature of the histogram found last
  bool found_ = false;
  guint missing_ = 0;  // frames since the start
};

}  // namespace integralhist
