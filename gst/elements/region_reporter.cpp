// SPDX-License-Identifier: LGPL-2.1-or-later
#include "region_reporter.hpp"

#include <algorithm>
#include <array>

#include <gst/integralhist/histogram.hpp>
#include <gst/integralhist/interruptible.hpp>

#include "counted.hpp"

namespace integralhist {

Expected<std::unique_ptr<RegionReporter>>
RegionReporter::start (GstElement *element, unsigned limit, std::atomic<bool> &error_posted)
{
  std::unique_ptr<RegionReporter> reporter (new RegionReporter (element, limit, error_posted));
  reporter->thread_ =
      TRY (Thread::start ("integralhist-regions", [r = reporter.get ()] { r->work (); }));
  return reporter;
}

RegionReporter::~RegionReporter ()
{
  {
    const std::lock_guard lock (mutex_);
    stopping_ = true;
    refusing_ = true;
    queue_.clear ();
    changed_.notify_all ();
  }
  thread_.join ();
}

void RegionReporter::set_flushing (bool flushing)
{
  const std::lock_guard lock (mutex_);
  flushing_ = flushing;
  refusing_ = flushing || stopping_;
  if (flushing) {
    flushes_++;
    queue_.clear ();
  } else {
    failed_ = false;
  }
  changed_.notify_all ();
}

void RegionReporter::push (Frame frame)
{
  std::unique_lock lock (mutex_);
  changed_.wait (lock, [this] { return flushing_ || failed_ || queue_.size () < limit_; });
  if (flushing_ || failed_)
    return;
  queue_.push_back (std::move (frame));
  changed_.notify_all ();
}

void RegionReporter::drain ()
{
  std::unique_lock lock (mutex_);
  changed_.wait (lock, [this] { return flushing_ || (queue_.empty () && !busy_); });
}

void RegionReporter::work ()
{
  const Interruptible asking (refusing_);
  std::unique_lock lock (mutex_);
  for (;;) {
    changed_.wait (lock, [this] { return stopping_ || !queue_.empty (); });
    if (queue_.empty ())
      return;
    Frame frame = std::move (queue_.front ());
    queue_.pop_front ();
    busy_ = true;
    const guint flushes = flushes_;
    lock.unlock ();
    const bool posted = !await (frame, flushes) || post (frame, flushes);
    frame.histogram.reset ();
    lock.lock ();
    if (!posted) {
      failed_ = true;  // one error is enough
      queue_.clear ();
    }
    busy_ = false;
    changed_.notify_all ();
  }
}

bool RegionReporter::await (const Frame &frame, guint flushes)
{
  for (;;) {
    const auto done = tensor_of (frame.histogram.get ()).wait (20 * GST_MSECOND);
    const std::lock_guard lock (mutex_);
    if (flushes != flushes_ || stopping_)
      return false;
    if (done || done.error ().kind != Error::Kind::timeout)
      return true;
  }
}

namespace {

using Regions = std::vector<GstVideoRectangle>;

/// Adds what the bins are of: the feature, and the parts of a joint one.
void add_feature (GstStructure *structure, const Counted &counted)
{
  gst_structure_set (structure, "feature", G_TYPE_STRING, inthist::info_of (counted.feature).nick,
                     nullptr);
  const auto &parts = counted.quantization;
  if (const auto n = std::size_t (std::ranges::count_if (parts, [] (int p) { return p > 0; })))
    set_array (structure, "quantization", n, [&] (std::size_t i) {
      return gvalue<gint> (G_TYPE_INT, g_value_set_int, parts[i]);
    });
}

Expected<> add_counts (GstStructure *structure, GstIntegralHistogram *histogram,
                       const Regions &regions)
{
  const std::size_t bins = gst_integral_histogram_get_bins (histogram);
  std::vector<guint32> counts (bins * regions.size ());
  GError *problem = nullptr;
  if (!gst_integral_histogram_regions (histogram, regions.data (), guint (regions.size ()),
                                       counts.data (), &problem))
    return take_gerror (problem);
  set_array (structure, "counts", regions.size (), [&] (std::size_t i) {
    return gvalue_array (bins, [&] (std::size_t b) {
      return gvalue<guint> (G_TYPE_UINT, g_value_set_uint, counts[i * bins + b]);
    });
  });
  return {};
}

/// Asks what regions add up to, in each plane of each.
Expected<std::vector<guint64>> sums_of (GstIntegralHistogram *histogram, const Regions &regions)
{
  std::vector<guint64> sums (gst_integral_histogram_get_bins (histogram) * regions.size ());
  GError *problem = nullptr;
  if (!gst_integral_histogram_regions_sums (histogram, regions.data (), guint (regions.size ()),
                                            sums.data (), &problem))
    return take_gerror (problem);
  return sums;
}

Expected<> add_weights (GstStructure *structure, GstIntegralHistogram *histogram,
                        const Regions &regions)
{
  const std::size_t bins = gst_integral_histogram_get_bins (histogram);
  const std::vector<guint64> sums = TRY (sums_of (histogram, regions));
  set_array (structure, "weights", regions.size (), [&] (std::size_t i) {
    return gvalue_array (bins, [&] (std::size_t b) {
      return gvalue<guint64> (G_TYPE_UINT64, g_value_set_uint64, sums[i * bins + b]);
    });
  });
  gst_structure_set (structure, "weight-unit", G_TYPE_UINT,
                     gst_integral_histogram_get_weight_unit (histogram), nullptr);
  return {};
}

Expected<> add_sums (GstStructure *structure, GstIntegralHistogram *histogram,
                     const Regions &regions)
{
  const std::size_t planes = gst_integral_histogram_get_bins (histogram);
  const std::vector<guint64> sums = TRY (sums_of (histogram, regions));
  const auto add_u64 = [&] (const char *field, std::size_t plane) {
    set_array (structure, field, regions.size (), [&] (std::size_t i) {
      return gvalue<guint64> (G_TYPE_UINT64, g_value_set_uint64, sums[i * planes + plane]);
    });
  };
  // returns the mean of region i's values or squares
  const auto mean = [&] (std::size_t i, std::size_t plane) {
    return double (sums[i * planes + plane]) / (double (regions[i].w) * regions[i].h);
  };
  const auto add_double = [&] (const char *field, auto &&number) {
    set_array (structure, field, regions.size (), [&] (std::size_t i) {
      return gvalue<double> (G_TYPE_DOUBLE, g_value_set_double, number (i));
    });
  };
  add_u64 ("sum", 0);
  if (planes > 1)
    add_u64 ("sum-of-squares", 1);
  add_double ("mean", [&] (std::size_t i) { return mean (i, 0); });
  if (planes > 1)
    add_double ("variance", [&] (std::size_t i) {
      return std::max (mean (i, 1) - mean (i, 0) * mean (i, 0), 0.0);
    });
  return {};
}

}  // namespace

bool RegionReporter::post (const Frame &frame, guint flushes)
{
  GstIntegralHistogram *const histogram = frame.histogram.get ();
  const GstIntegralHistogramContent content = gst_integral_histogram_get_content (histogram);
  const bool bins = content != GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS;
  GstStructure *structure =
      frame_message (bins ? "integral-histogram" : "integral-image", frame.times);
  gst_structure_set (structure, "frame", G_TYPE_UINT64, frame.number, nullptr);
  if (bins)
    add_feature (structure, counted_of (histogram));
  set_array (structure, "rectangles", frame.regions.size (), [&] (std::size_t i) {
    const GstVideoRectangle &r = frame.regions[i];
    return gvalue_array (4, [&] (std::size_t n) {
      return gvalue<gint> (G_TYPE_INT, g_value_set_int, std::array{ r.x, r.y, r.w, r.h }[n]);
    });
  });
  const auto add = !bins                                               ? add_sums
                   : content == GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS ? add_weights
                                                                       : add_counts;
  const auto added = add (structure, histogram, frame.regions);
  std::unique_lock lock (mutex_);
  const bool is_stale = flushes != flushes_ || stopping_;
  lock.unlock ();
  if (is_stale) {
    gst_structure_free (structure);
    return true;
  }
  if (!added) {
    gst_structure_free (structure);
    if (tensor_of (histogram).flags->failure_reported)
      return true;
    if (!error_posted_.exchange (true))
      post_error (element_, added.error (),
                  joined ("The integral ", bins ? "histogram" : "image", " of frame ", frame.number,
                          " failed: ")
                      .c_str ());
    return false;
  }
  post_message (element_, structure);
  return true;
}

}  // namespace integralhist
