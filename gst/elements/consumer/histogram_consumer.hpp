// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The code that all consumers (elements that read histograms) share. It chooses one of a frame's
// histograms, lets a flush or a stop end a wait, and limits how many frames may lack a histogram.
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

inline constexpr char kFeatureBlurb[] =
    "Feature of the integral histogram to use, such as "
    "\"hue\"; empty = the first that counts pixels, and cudatrackfeatures last";

/// The property `feature` of a consumer: the nick of a feature, or empty for any feature.
using FeatureText = ParsedText<std::optional<inthist::Feature>>;

class HistogramConsumer {
public:
  void start ();
  /// Counts frames without a histogram from 0 again: the element now needs other histograms.
  void start_again ();
  /// Notes an event from upstream before the element handles it. At the end of a stream, warns if
  /// the element needed histograms and no frame had one.
  void take_event (GstBaseTransform *element, GstEvent *event);
  void take_transition (GstStateChange transition);

  /// Returns the first histogram that a frame carries of `feature`, or null. If `feature` is empty,
  /// histograms that count pixels come before the colours of cudatrackfeatures and before
  /// histograms of weights, and later frames need the same feature while an element upstream
  /// computes it, because other elements' histograms may be on a frame that this element leaves
  /// out. If the only histogram has just a range of its bins, and no earlier frame had a usable
  /// one, returns an error for users.
  Expected<GstIntegralHistogramMeta *> find (GstBaseTransform *element, GstBuffer *buffer,
                                             const FeatureText &feature);
  /// Returns true once if `meta` has the colours of cudatrackfeatures, and no feature was set: then
  /// comparing its many bins takes long, and a warning should say so.
  bool is_costly (GstBuffer *buffer, const GstIntegralHistogramMeta *meta);
  /// Refuses a histogram that is not for the frame's size: NVIDIA's converter copies metas
  /// unchanged when it scales frames.
  Expected<> check_size (GstBuffer *buffer, const GstIntegralHistogramMeta *meta) const;

  void note_found () { found_ = true; }
  /// Waits for the tensor of a histogram, and notes that a frame had a histogram. The caller must
  /// hold a cancel_scope (), which ends the wait on a flush or a stop.
  Expected<> await (GstIntegralHistogram *histogram);
  bool has_found () const { return found_; }
  /// While the returned scope lives, a flush or a stop of the element ends this thread's waits.
  CancelScope cancel_scope () const { return CancelScope (cancel_.flag ()); }

  /// Counts a frame without a histogram. Returns an error that shows a working launch line, unless
  /// earlier frames had a histogram or a producer upstream leaves frames out (property interval).
  Expected<> note_missing (GstBaseTransform *element);
  struct Wanted {
    const char *feature;
    inthist::Content content;
  };
  /// Counts a frame that lacks some of the tensors `all`. Returns whether later frames may have
  /// them: if earlier frames had all, or if producers upstream of all tensors leave frames out.
  bool note_incomplete (GstBaseTransform *element, std::span<const Wanted> all);

private:
  CancelSource cancel_;
  FrameFormat input_;
  std::string feature_;                     // the feature for which find () was last called
  std::optional<inthist::Feature> chosen_;  // the feature of the last histogram that find () found
  const char *producer_ = "cudaintegralhist";  // the element that makes the needed histograms
  bool found_ = false, cost_noted_ = false;
  guint missing_ = 0;  // frames without a histogram
};

}  // namespace integralhist
