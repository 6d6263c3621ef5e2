// SPDX-License-Identifier: LGPL-2.1-or-later
#include "region_reporter.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/base/cancel.hpp>

namespace integralhist {

Expected<std::unique_ptr<RegionReporter>> RegionReporter::start (GstElement *element,
                                                                 unsigned limit,
                                                                 PostError post_error,
                                                                 const std::atomic<bool> &cancelled)
{
  std::unique_ptr<RegionReporter> reporter (
      new RegionReporter (element, limit, std::move (post_error), cancelled));
  reporter->thread_ =
      TRY (Thread::start ("integralhist-regions", [r = reporter.get ()] { r->work (); }));
  return reporter;
}

RegionReporter::~RegionReporter ()
{
  {
    const std::lock_guard lock (mutex_);
    stopping_ = true;
    queue_.clear ();
    changed_.notify_all ();
  }
  thread_.join ();
}

void RegionReporter::flush ()
{
  const std::lock_guard lock (mutex_);
  flushes_++;
  queue_.clear ();
  failed_ = false;
}

void RegionReporter::forget_failure ()
{
  const std::lock_guard lock (mutex_);
  failed_ = false;
}

void RegionReporter::push (Frame frame)
{
  std::unique_lock lock (mutex_);
  const auto room =
      CancelScope::wait (changed_, lock, [this] { return failed_ || queue_.size () < limit_; });
  if (!room || failed_)
    return;
  queue_.push_back (std::move (frame));
  changed_.notify_all ();
}

void RegionReporter::drain ()
{
  std::unique_lock lock (mutex_);
  (void) CancelScope::wait (changed_, lock, [this] { return queue_.empty () && !busy_; });
}

void RegionReporter::work ()
{
  const CancelScope scope (cancelled_);
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
    const bool posted = post (frame, flushes);
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

namespace {

void add_feature (GstStructure *structure, const HistogramSpec &spec)
{
  gst_structure_set (structure, "feature", G_TYPE_STRING, inthist::info_of (spec.feature).nick,
                     nullptr);
  const auto &parts = spec.quantization;
  if (const auto n = std::size_t (std::ranges::count_if (parts, [] (int p) { return p > 0; })))
    set_array (structure, "quantization", n,
               [&] (std::size_t i) { return gvalue<gint> (parts[i]); });
  if (const auto &range = spec.range)
    gst_structure_set (structure, "first-bin", G_TYPE_UINT, guint (range->first_bin), "all-bins",
                       G_TYPE_UINT, guint (range->all_bins), nullptr);
}

/// Adds to a message, for each region, an array with the numbers of the region's bins.
template <class T>
void add_planes (GstStructure *structure, const char *field, const RegionQuery &asked,
                 std::span<const guint64> values)
{
  set_array (structure, field, asked.regions.size (), [&] (std::size_t i) {
    return gvalue_array (asked.planes,
                         [&] (std::size_t b) { return gvalue (T (values[i * asked.planes + b])); });
  });
}

void add_sums (GstStructure *structure, const RegionQuery &asked, std::span<const guint64> values)
{
  const std::size_t planes = asked.planes, n = asked.regions.size ();
  const auto add_u64 = [&] (const char *field, std::size_t plane) {
    set_array (structure, field, n,
               [&] (std::size_t i) { return gvalue<guint64> (values[i * planes + plane]); });
  };
  const auto mean = [&] (std::size_t i, std::size_t plane) {
    return double (values[i * planes + plane]) / double (asked.pixels[i]);
  };
  const auto add_double = [&] (const char *field, auto &&number) {
    set_array (structure, field, n, [&] (std::size_t i) { return gvalue<double> (number (i)); });
  };
  add_u64 ("sum", 0);
  if (planes > 1)
    add_u64 ("sum-of-squares", 1);
  add_double ("mean", [&] (std::size_t i) { return mean (i, 0); });
  if (planes > 1)
    add_double ("variance", [&] (std::size_t i) {
      return std::max (mean (i, 1) - mean (i, 0) * mean (i, 0), 0.0);
    });
}

GstStructure *message_of (const RegionReporter::Frame &frame, std::span<const guint64> values)
{
  const RegionQuery &asked = frame.answers->asked;
  const bool is_histogram = asked.content != GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS;
  GstStructure *structure =
      frame_message (is_histogram ? "integral-histogram" : "integral-image", frame.times);
  gst_structure_set (structure, "frame", G_TYPE_UINT64, frame.number, nullptr);
  if (is_histogram)
    add_feature (structure, asked.spec);
  set_array (structure, "rectangles", asked.regions.size (), [&] (std::size_t i) {
    const GstVideoRectangle &r = asked.regions[i];
    return gvalue_array (4, [&] (std::size_t n) {
      return gvalue<gint> (std::array{ r.x, r.y, r.w, r.h }[n]);
    });
  });
  switch (asked.content) {
    case GST_INTEGRAL_HISTOGRAM_CONTENT_BINS:
      add_planes<guint> (structure, "counts", asked, values);
      break;
    case GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS:
      add_planes<guint64> (structure, "weights", asked, values);
      gst_structure_set (structure, "weight-unit", G_TYPE_UINT, asked.weight_unit, nullptr);
      break;
    case GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS: add_sums (structure, asked, values); break;
  }
  return structure;
}

}  // namespace

bool RegionReporter::post (const Frame &frame, guint flushes)
{
  const auto is_stale = [&] {
    const std::lock_guard lock (mutex_);
    return flushes != flushes_ || stopping_ || CancelScope::is_cancelled ();
  };
  (void) await (tensor_of (frame.histogram.get ()));  // the answers report a failure
  if (is_stale ())
    return true;
  const auto asked = frame.answers->ask ();
  GstStructure *const structure = asked ? message_of (frame, *asked) : nullptr;
  if (is_stale ()) {
    if (structure)
      gst_structure_free (structure);
    return true;
  }
  if (!asked) {
    if (tensor_of (frame.histogram.get ()).flags->failure_reported)
      return true;
    const bool is_histogram = frame.answers->asked.content != GST_INTEGRAL_HISTOGRAM_CONTENT_SUMS;
    post_error_ (asked.error (), joined ("The integral ", is_histogram ? "histogram" : "image",
                                         " of frame ", frame.number, " failed: ")
                                     .c_str ());
    return false;
  }
  post_message (element_, structure);
  return true;
}

}  // namespace integralhist
