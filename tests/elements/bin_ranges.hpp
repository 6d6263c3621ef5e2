// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Elements that count a range of the bins.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "several_devices.hpp"
#include "test.hpp"

constexpr int kWidth = 67, kHeight = 45;

struct Range {
  int first, n;
};

/// Properties of a range; 0 bins for all from the first on.
inline std::string text_of (const Range &range)
{
  return " first-bin=" + std::to_string (range.first) + " n-bins=" + std::to_string (range.n);
}

inline Histogram histogram_in (GstBuffer *buffer)
{
  GstIntegralHistogramMeta *const meta = gst_buffer_get_integral_histogram_meta (buffer);
  fail_unless (meta);
  return Histogram (gst_integral_histogram_ref (meta->histogram));
}

/// An element that runs.
class Counter {
public:
  explicit Counter (const std::string &properties)
      : properties_ (properties), harness_ ("cudaintegralhist tuning-time=0 " + properties)
  {
  }

  Buffer pass (const char *format, int width, int height, unsigned seed)
  {
    const std::string caps = caps_of (format, width, height);
    if (caps != caps_)
      harness_.set_caps (caps);
    caps_ = caps;
    GstBuffer *const out = gst_harness_push_and_pull (harness_, noise (info_of (caps), seed));
    fail_unless (out, "%s: %s", properties_.c_str (), caps.c_str ());
    return Buffer (out);
  }
  Histogram count (const char *format, int width = kWidth, int height = kHeight, unsigned seed = 3)
  {
    return histogram_in (pass (format, width, height, seed).get ());
  }

private:
  const std::string properties_;
  Harness harness_;
  std::string caps_;
};

/// Checks what a histogram says of its bins.
inline void check_range (GstIntegralHistogram *histogram, const Range &range, int all,
                         const std::string &what)
{
  const int n = range.n ? range.n : all - range.first;
  const std::array has = { int (gst_integral_histogram_get_first_bin (histogram)),
                           int (gst_integral_histogram_get_bins (histogram)),
                           int (gst_integral_histogram_get_all_bins (histogram)) };
  fail_unless (has == (std::array{ range.first, n, all }), "%s: bins from %d on, %d of %d",
               what.c_str (), has[0], has[1], has[2]);
}

/// Keeps the devices open. Otherwise each element would open them anew, which takes most of the
/// time.
class OpenDevices {
public:
  explicit OpenDevices (const char *backend)
  {
    // each takes the device that the fewest use
    for (int i = std::max (cuda_devices (), 1); i > 0; i--) {
      elements_.push_back (gst_element_factory_make ("cudaintegralhist", nullptr));
      gst_util_set_object_arg (G_OBJECT (elements_.back ()), "backend", backend);
      gst_element_set_state (elements_.back (), GST_STATE_PAUSED);
    }
  }
  ~OpenDevices ()
  {
    for (GstElement *const element : elements_) {
      gst_element_set_state (element, GST_STATE_NULL);
      gst_object_unref (element);
    }
  }
  OpenDevices (const OpenDevices &) = delete;
  OpenDevices &operator= (const OpenDevices &) = delete;

private:
  std::vector<GstElement *> elements_;
};

inline std::string on (const char *backend, const std::string &more)
{
  return std::string ("backend=") + backend + " " + more;
}

/// A test on each `backend`, whose devices stay open.
#define RANGE_TEST(name) \
  static void name##_while_open (const char *backend); \
  BACKEND_TEST (name) \
  { \
    const OpenDevices open (backend); \
    name##_while_open (backend); \
  } \
  static void name##_while_open (const char *backend)
