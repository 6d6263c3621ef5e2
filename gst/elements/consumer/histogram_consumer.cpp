// SPDX-License-Identifier: LGPL-2.1-or-later
#include "histogram_consumer.hpp"

#include <utility>

#include <gst/elements/base/parse.hpp>
#include <gst/elements/base/plugin_queries.hpp>
#include <gst/frame/mapped_frame.hpp>
#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/meta/placed.hpp>

namespace integralhist {

// A consumer gives up if the first kPatience frames have no histogram, they span kPatientIntervals
// intervals of the producer (frames per histogram), and the producer has attached kPatientIntervals
// histograms, which takes longer under load.
static constexpr guint kPatience = 100, kPatientIntervals = 10;

static bool has_attached_enough (const Producer &producer, guint frames)
{
  return producer.attached >= kPatientIntervals && frames >= kPatience
         && frames / kPatientIntervals >= producer.interval;
}

void HistogramConsumer::start ()
{
  cancel_.set_flushing (false);
  cancel_.set_stopping (false);
  cost_noted_ = false;
  forget_choice ();
}

void HistogramConsumer::forget_choice ()
{
  producer_name_ = "cudaintegralhist";
  has_found_ = false;
  chosen_.reset ();
  missing_ = 0;
}

void HistogramConsumer::handle_event (GstBaseTransform *element, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_EOS && !has_found_ && missing_ > 0)
    GST_ELEMENT_WARNING (
        element, STREAM, FAILED,
        ("The stream ended, and not one of its %u frames carried an integral histogram: an element "
         "before %s drops the meta, or interval of %s is too large for the stream. "
         "Put %s right after %s, or set interval=1.",
         std::exchange (missing_, 0), GST_OBJECT_NAME (element), producer_name_,
         GST_OBJECT_NAME (element), producer_name_),
        (nullptr));
  if (GST_EVENT_TYPE (event) == GST_EVENT_STREAM_START)
    chosen_.reset ();
  if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
    GstCaps *caps;
    gst_event_parse_caps (event, &caps);
    input_ = frame_format_of (caps).value_or (FrameFormat ());
  }
  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_START)
    cancel_.set_flushing (true);
  else if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP)
    cancel_.set_flushing (false);
}

void HistogramConsumer::handle_transition (GstStateChange transition)
{
  // Ends the waits of the streaming thread, during which GStreamer cannot deactivate the pads.
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    cancel_.set_stopping (true);
}

/// Returns whether a consumer can use the meta: a histogram of this feature, or of any.
static bool is_candidate (const GstIntegralHistogramMeta *meta,
                          std::optional<inthist::Feature> feature)
{
  return gst_integral_histogram_get_content (meta->histogram) != GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS
         && (!feature || spec_of (meta->histogram).feature == *feature);
}

/// Returns what tells the histograms of a frame apart. `is_wanted` is whether the property feature
/// names the feature of this one.
HistogramConsumer::Choice HistogramConsumer::choice_of (const GstIntegralHistogramMeta *meta,
                                                        const CorrelationMetas &tracker_metas,
                                                        bool is_wanted)
{
  const bool has_weights = gst_integral_histogram_get_content (meta->histogram)
                           == GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS;
  const bool is_of_tracker = tracker_metas.are_complete ()
                             && (meta == tracker_metas.colours || meta == tracker_metas.gradients);
  const Rank rank = is_of_tracker ? has_weights ? Rank::tracker_weights : Rank::tracker_colours
                    : has_weights && !is_wanted ? Rank::weights
                                                : Rank::counts;
  return { rank, spec_of (meta->histogram).feature, has_weights };
}

/// Returns the frame's histogram of the best rank; of several, the one that was chosen last, or
/// else the first. `wanted` is the property feature.
HistogramConsumer::Found HistogramConsumer::best_of (GstBuffer *buffer,
                                                     std::optional<inthist::Feature> wanted) const
{
  const CorrelationMetas tracker_metas = CorrelationMetas::of (buffer);
  Found best;
  find_meta (buffer, [&] (GstIntegralHistogramMeta *meta) {
    if (!is_candidate (meta, wanted) || spec_of (meta->histogram).range)
      return false;
    const Choice next = choice_of (meta, tracker_metas, wanted.has_value ());
    if (!best.meta || next.is_better_than (*best.choice)
        || (next.rank == best.choice->rank && next == chosen_ && best.choice != chosen_))
      best = { meta, next };
    return false;  // looks at all metas
  });
  return best;
}

bool HistogramConsumer::take_cost_warning ()
{
  return feature_.empty () && chosen_ && chosen_->rank == Rank::tracker_colours
         && !std::exchange (cost_noted_, true);
}

Expected<GstIntegralHistogramMeta *>
HistogramConsumer::find (GstBaseTransform *element, GstBuffer *buffer, const FeatureText &feature)
{
  if (feature.text != feature_) {
    feature_ = feature.text;
    forget_choice ();
  }
  const auto wanted = feature.value.value_or (std::nullopt);
  auto [found, choice] = best_of (buffer, wanted);
  // An element that leaves out this frame is waited for, unless another histogram is better.
  if (found && chosen_ && choice != chosen_ && !choice->is_better_than (*chosen_)
      && find_producer (GST_BASE_TRANSFORM_SINK_PAD (element),
                        inthist::info_of (chosen_->feature).nick))
    found = nullptr;
  // A histogram with only a range of its bins cannot be used; check_all_bins () returns the error.
  if (!found && !has_found_)
    if (const auto *const range_meta =
            find_meta (buffer, [&] (auto *meta) { return is_candidate (meta, wanted); }))
      TRY (check_all_bins (range_meta->histogram));
  if (found) {
    TRY (check_size (buffer, found));
    chosen_ = choice;
  }
  return found;
}

Expected<> HistogramConsumer::check_size (GstBuffer *buffer,
                                          const GstIntegralHistogramMeta *meta) const
{
  if (!input_.info.finfo)
    return {};  // the caps are not raw video, so the frame size is unknown
  const GstVideoRectangle area = TRY (frame_area (buffer, input_));
  if (meta->width == guint (area.w) && meta->height == guint (area.h))
    return {};
  return error (Error::Kind::no_histogram, "The frames are ", area.w, "x", area.h,
                ", and their integral histogram is for frames of ", meta->width, "x", meta->height,
                ": an element between has scaled them and copied the meta as it is, such as "
                "nvvideoconvert. Put it into integralhistkeepmetas element=\"nvvideoconvert\", "
                "or before cudaintegralhist");
}

Expected<> HistogramConsumer::await (GstIntegralHistogram *histogram)
{
  note_found ();
  return integralhist::await (tensor_of (histogram));
}

Expected<> HistogramConsumer::note_missing (GstBaseTransform *element)
{
  if (has_found_)
    return {};
  missing_++;
  GstElementFactory *const factory = gst_element_get_factory (GST_ELEMENT (element));
  const std::string name = GST_OBJECT_NAME (element),
                    setting = feature_.empty () ? "" : " feature=" + feature_;
  const auto producer = find_producer (GST_BASE_TRANSFORM_SINK_PAD (element), feature_);
  if (!producer) {
    const auto feature = parse_feature (feature_).value_or (std::nullopt);
    const bool is_own = feature && has_own_bins (*feature);  // its number of bins
    missing_ = 0;  // prevents a second warning about missing histograms
    return error (Error::Kind::no_histogram, "The frames carry no integral histogram",
                  feature_.empty () ? "" : " of", setting, ": put cudaintegralhist", setting,
                  " before ", name, ", such as \"... ! cudaintegralhist", setting,
                  is_own ? "" : " bins=16", " ! ",
                  factory ? GST_OBJECT_NAME (factory) : name.c_str (), setting,
                  " ! ...\", with nothing between them that drops it");
  }
  if (!has_attached_enough (*producer, missing_))
    return {};
  return error (Error::Kind::no_histogram, "Not one of ", std::exchange (missing_, 0),
                " frames carried an integral histogram, and cudaintegralhist has attached ",
                producer->attached, ": an element between it and ", name,
                " drops the meta, or the frames that carry it. Put ", name,
                " right after cudaintegralhist");
}

bool HistogramConsumer::note_incomplete (GstBaseTransform *element)
{
  if (has_found_)
    return true;
  producer_name_ = kCorrelationProducer;
  missing_++;
  for (const TensorSettings *const settings : kCorrelationSettings)
    if (const auto producer =
            find_producer (GST_BASE_TRANSFORM_SINK_PAD (element),
                           inthist::info_of (settings->spec.feature).nick, settings->content);
        !producer || has_attached_enough (*producer, missing_)) {
      missing_ = 0;  // prevents a second warning about missing histograms
      return false;
    }
  return true;
}

}  // namespace integralhist
