// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The code that all consumers (elements that read histograms) share. It chooses one of a frame's
// histograms, lets a flush or a stop end a wait, and limits how many frames may lack a histogram.
#pragma once

#include <optional>
#include <string>

#include <gst/base/gstbasetransform.h>

#include <kernels/inthist.hpp>

#include <gst/frame/video_formats.hpp>
#include <gst/integralhist/base/cancel.hpp>
#include <gst/integralhist/gstintegralhistogrammeta.h>
#include <gst/properties/properties.hpp>
#include <gst/track/correlation/correlation_tensors.hpp>

namespace integralhist {

inline constexpr char kFeatureBlurb[] =
    "Feature of the integral histogram to use, such as "
    "\"hue\"; empty = the first that counts pixels, and cudatrackfeatures last";

/// The property `feature` of a consumer: the nick of a feature, or empty for any feature.
using FeatureText = ParsedText<std::optional<inthist::Feature>>;

class HistogramConsumer {
public:
  void start ();
  /// Forgets the chosen and the missing histograms: the element now needs other ones.
  void forget_choice ();
  /// Notes an event from upstream before the element handles it. At the end of a stream, warns if
  /// the element needed histograms and no frame had one.
  void handle_event (GstBaseTransform *element, GstEvent *event);
  void handle_transition (GstStateChange transition);

  /// Returns the first histogram that a frame carries of `feature`, or null. If `feature` is empty,
  /// the order is that of Rank. Later frames need the same feature as long as an element upstream
  /// computes it, because a frame that this element leaves out may have other elements' histograms;
  /// only a better rank replaces the choice. If the only histogram has just a range of its bins,
  /// and no earlier frame had a usable one, returns an error for users.
  Expected<GstIntegralHistogramMeta *> find (GstBaseTransform *element, GstBuffer *buffer,
                                             const FeatureText &feature);
  /// Returns the nick of the feature that find () has chosen; empty before the first choice.
  const char *feature_nick () const
  {
    return chosen_ ? inthist::info_of (chosen_->feature).nick : "";
  }
  /// Returns true once if find () has chosen the colours of cudatrackfeatures, and no feature was
  /// set: comparing these many bins takes long, and a warning should say so.
  bool take_cost_warning ();
  /// Refuses a histogram that is not for the frame's size: NVIDIA's converter copies metas
  /// unchanged when it scales frames.
  Expected<> check_size (GstBuffer *buffer, const GstIntegralHistogramMeta *meta) const;

  void note_found () { has_found_ = true; }
  /// Waits for the tensor of a histogram, and notes that a frame had a histogram. The caller must
  /// hold a cancel_scope (), which ends the wait on a flush or a stop.
  Expected<> await (GstIntegralHistogram *histogram);
  bool has_found () const { return has_found_; }
  /// While the returned scope lives, a flush or a stop of the element ends this thread's waits.
  CancelScope cancel_scope () const { return CancelScope (cancel_.flag ()); }

  /// Counts a frame without a histogram. Returns an error that shows a working launch line, unless
  /// earlier frames had a histogram or a producer upstream leaves frames out (property interval).
  Expected<> note_missing (GstBaseTransform *element);
  /// Counts a frame that lacks some of the tensors of kCorrelationSettings. Returns whether later
  /// frames may have them: if earlier frames had all, or if producers upstream of all tensors leave
  /// frames out.
  bool note_incomplete (GstBaseTransform *element);

private:
  /// The order in which histograms are chosen if the property feature is empty: those that count
  /// pixels, those of weights, and then those of cudatrackfeatures, which are made for a tracker.
  enum class Rank { counts, weights, tracker_colours, tracker_weights };
  struct Choice {
    Rank rank;
    inthist::Feature feature;
    bool has_weights;

    bool operator== (const Choice &) const = default;
    bool is_better_than (const Choice &other) const { return rank < other.rank; }
  };
  struct Found {
    GstIntegralHistogramMeta *meta = nullptr;
    std::optional<Choice> choice = {};  // of the meta
  };
  static Choice choice_of (const GstIntegralHistogramMeta *meta,
                           const CorrelationMetas &tracker_metas, bool is_wanted);
  Found best_of (GstBuffer *buffer, std::optional<inthist::Feature> wanted) const;

  CancelSource cancel_;
  FrameFormat input_;
  std::string feature_;                             // the feature for which find () was last called
  std::optional<Choice> chosen_;                    // the histogram that find () found last
  const char *producer_name_ = "cudaintegralhist";  // the element that makes the needed histograms
  bool has_found_ = false, cost_noted_ = false;
  guint missing_ = 0;  // frames without a histogram
};

}  // namespace integralhist
