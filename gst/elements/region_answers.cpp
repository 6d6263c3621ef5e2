// SPDX-License-Identifier: LGPL-2.1-or-later
#include "region_answers.hpp"

#include <algorithm>

#include <gst/integralhist/interruptible.hpp>

#include "counted.hpp"

namespace integralhist {

RegionAnswers::RegionAnswers (GstIntegralHistogram *histogram,
                              std::vector<GstVideoRectangle> of_frame)
    : regions (std::move (of_frame)), counted (counted_of (histogram)),
      content (gst_integral_histogram_get_content (histogram)),
      planes (gst_integral_histogram_get_bins (histogram)),
      weight_unit (gst_integral_histogram_get_weight_unit (histogram)),
      histogram_ (gst_integral_histogram_ref (histogram))
{
}

Expected<> RegionAnswers::ask ()
{
  std::unique_lock lock (mutex_);
  TRY (Interruptible::wait (changed_, lock, [this] { return state_ != State::asking; }));
  if (state_ == State::answered)
    return {};
  state_ = State::asking;
  lock.unlock ();
  const auto asked = ask_once ();
  HistogramRef done;  // dropped without the lock
  if (asked)
    done = std::move (histogram_);
  lock.lock ();
  state_ = asked ? State::answered : State::open;
  changed_.notify_all ();
  lock.unlock ();
  return asked;
}

Expected<> RegionAnswers::ask_once ()
{
  GError *problem = nullptr;
  const std::size_t n = planes * regions.size ();
  if (content == GST_INTEGRAL_HISTOGRAM_CONTENT_BINS) {
    counts_.resize (n);
    if (!gst_integral_histogram_regions (histogram_.get (), regions.data (),
                                         guint (regions.size ()), counts_.data (), &problem))
      return take_gerror (problem);
    return {};
  }
  sums_.resize (n);
  if (!gst_integral_histogram_regions_sums (histogram_.get (), regions.data (),
                                            guint (regions.size ()), sums_.data (), &problem))
    return take_gerror (problem);
  if (content == GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS) {
    weights_.resize (n);
    std::ranges::transform (sums_, weights_.begin (),
                            [this] (guint64 sum) { return double (sum) / weight_unit; });
  }
  return {};
}

}  // namespace integralhist
