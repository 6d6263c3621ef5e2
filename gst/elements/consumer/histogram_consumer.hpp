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

#include <gst/frame/video_formats.hpp>
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

  /// Returns the frame's first histogram of the feature with this nick, or of any feature if the
  /// nick is empty; a histogram of pixels comes before one of weights. Returns null if there is
  /// none, and an error for users if it has only some of its bins and earlier frames had no more.
  Expected<GstIntegralHistogramMeta *> find (GstBuffer *buffer, const FeatureText &feature);
  /// Refuses a histogram of another size than the frame: NVIDIA's converter copies metas as they
  /// are when it scales.
  Expected<> check_size (GstBuffer *buffer, const GstIntegralHistogramMeta *meta) const;

  /// Notes that a frame has what is wanted.
  void note_found () { found_ = true; }
  /// Notes that, and waits for the tensor, within a cancel_scope ().
  Expected<> await (GstIntegralHistogram *histogram);
  /// Returns whether a frame had what is wanted, since the start.
  bool has_found () const { return found_; }
  /// Lets a flush or a stop cancel what this thread asks, as long as the result lives.
  CancelScope cancel_scope () const { return CancelScope (cancel_.flag ()); }

  /// Counts a frame in which `find` found none. Returns an error with a launch
  /// line, unless frames had one before or a producer upstream leaves frames out.
  Expected<> note_missing (GstBaseTransform *element);
  /// A tensor that the consumer needs: of which feature, and with which content.
  struct Wanted {
    const char *feature;
    inthist::Content content;
  };
  /// Counts a frame that lacks some of these tensors, as note_missing () does. Returns whether
  /// later frames may have all of them: because earlier frames had, or because a producer of each
  /// is upstream and leaves frames out.
  bool note_incomplete (GstBaseTransform *element, std::span<const Wanted> all);

private:
  CancelSource cancel_;
  FrameFormat input_;
  std::string feature_;  // last looked for
  bool found_ = false;
  guint missing_ = 0;  // frames since the start
};

}  // namespace integralhist
