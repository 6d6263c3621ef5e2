// SPDX-License-Identifier: LGPL-2.1-or-later
#include "region_reporter.hpp"

#include <charconv>
#include <cstring>
#include <stdexcept>

namespace integralhist {

std::vector<GstVideoRectangle>
parse_regions (const char *text)
{
  std::vector<GstVideoRectangle> regions;
  const char *at = text, *const end = text + std::strlen (text);
  const auto skip_spaces = [&] {
    while (at < end && *at == ' ')
      at++;
  };
  const auto fail = [&] (const std::string &why) {
    throw std::invalid_argument ("regions=\"" + std::string (text) + "\": " + why + " at \"" + at
                                 + "\"; write x,y,width,height;x,y,width,height");
  };
  skip_spaces ();
  while (at < end) {
    int numbers[4];
    for (int i = 0; i < 4; i++) {
      skip_spaces ();
      const auto [after, error] = std::from_chars (at, end, numbers[i]);
      if (error != std::errc ())
        fail ("a number is missing");
      at = after;
      skip_spaces ();
      if (i == 3)
        break;
      if (*at != ',')  // the text ends in a zero
        fail ("a comma is missing");
      at++;
    }
    if (*at == ';')
      at++;
    else if (at < end)
      fail ("a semicolon is missing");
    if (numbers[2] <= 0 || numbers[3] <= 0)
      throw std::invalid_argument ("regions=\"" + std::string (text) + "\": a region of " + std::to_string (numbers[2]) + "x"
                                   + std::to_string (numbers[3]) + " pixels is empty; width and height must be at least 1");
    regions.push_back ({ numbers[0], numbers[1], numbers[2], numbers[3] });
    skip_spaces ();
  }
  return regions;
}

RegionReporter::~RegionReporter ()
{
  {
    const std::lock_guard lock (mutex_);
    stopping_ = true;
    drop_queue ();
    changed_.notify_all ();
  }
  thread_.join ();
}

void
RegionReporter::drop_queue ()
{
  for (const Frame &frame : queue_)
    gst_integral_histogram_unref (frame.histogram);
  queue_.clear ();
}

void
RegionReporter::set_flushing (bool flushing)
{
  const std::lock_guard lock (mutex_);
  flushing_ = flushing;
  changed_.notify_all ();
}

void
RegionReporter::push (Frame frame)
{
  std::unique_lock lock (mutex_);
  changed_.wait (lock, [this] { return flushing_ || failed_ || queue_.size () < limit_; });
  if (flushing_ || failed_) {
    gst_integral_histogram_unref (frame.histogram);
    return;
  }
  queue_.push_back (std::move (frame));
  changed_.notify_all ();
}

void
RegionReporter::drain ()
{
  std::unique_lock lock (mutex_);
  changed_.wait (lock, [this] { return queue_.empty () && !busy_; });
}

void
RegionReporter::work ()
{
  std::unique_lock lock (mutex_);
  for (;;) {
    changed_.wait (lock, [this] { return stopping_ || !queue_.empty (); });
    if (queue_.empty ())
      return;
    const Frame frame = std::move (queue_.front ());
    queue_.pop_front ();
    busy_ = true;
    lock.unlock ();
    const bool posted = post (frame);
    gst_integral_histogram_unref (frame.histogram);
    lock.lock ();
    if (!posted) {
      failed_ = true;  // one error is enough
      drop_queue ();
    }
    busy_ = false;
    changed_.notify_all ();
  }
}

/// Moves a GstValueArray of `n` values of `type` behind the values of `array`.
template <class T>
static void
append_array (GValue *array, GType type, const T *values, std::size_t n, void (*set) (GValue *, T))
{
  GValue inner = G_VALUE_INIT;
  gst_value_array_init (&inner, guint (n));
  for (std::size_t i = 0; i < n; i++) {
    GValue value = G_VALUE_INIT;
    g_value_init (&value, type);
    set (&value, values[i]);
    gst_value_array_append_and_take_value (&inner, &value);
  }
  gst_value_array_append_and_take_value (array, &inner);
}

bool
RegionReporter::post (const Frame &frame)
{
  const std::size_t bins = gst_integral_histogram_get_bins (frame.histogram);
  std::vector<guint32> counts (bins * frame.regions.size ());
  g_autoptr (GError) error = nullptr;
  if (!gst_integral_histogram_regions (frame.histogram, frame.regions.data (), guint (frame.regions.size ()), counts.data (), &error)) {
    GST_ELEMENT_ERROR (element_, LIBRARY, FAILED, ("The integral histogram of frame %" G_GUINT64_FORMAT " failed.", frame.number),
                       ("%s", error->message));
    return false;
  }

  GValue rectangle_array = G_VALUE_INIT, count_array = G_VALUE_INIT;
  gst_value_array_init (&rectangle_array, guint (frame.regions.size ()));
  gst_value_array_init (&count_array, guint (frame.regions.size ()));
  for (std::size_t i = 0; i < frame.regions.size (); i++) {
    const GstVideoRectangle &r = frame.regions[i];
    const gint numbers[] = { r.x, r.y, r.w, r.h };
    append_array (&rectangle_array, G_TYPE_INT, numbers, 4, g_value_set_int);
    append_array (&count_array, G_TYPE_UINT, counts.data () + i * bins, bins, g_value_set_uint);
  }
  GstStructure *structure = gst_structure_new ("integral-histogram", "timestamp", G_TYPE_UINT64, frame.timestamp, "stream-time",
                                               G_TYPE_UINT64, frame.stream_time, "running-time", G_TYPE_UINT64, frame.running_time,
                                               "duration", G_TYPE_UINT64, frame.duration, "frame", G_TYPE_UINT64, frame.number, nullptr);
  gst_structure_take_value (structure, "rectangles", &rectangle_array);
  gst_structure_take_value (structure, "counts", &count_array);
  gst_element_post_message (element_, gst_message_new_element (GST_OBJECT (element_), structure));
  return true;
}

}  // namespace integralhist
