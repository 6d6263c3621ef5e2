// SPDX-License-Identifier: LGPL-2.1-or-later
#include "likelihood_model.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "region_reporter.hpp"

namespace integralhist {

std::vector<GstVideoRectangle>
parse_model (const std::string &text)
{
  auto regions = parse_regions (text.c_str (), "model");
  if (regions.size () > 1)
    throw std::invalid_argument ("model=\"" + text + "\" has " + std::to_string (regions.size ())
                                 + " regions, and a model is one: write x,y,width,height");
  return regions;
}

std::vector<gfloat>
parse_histogram (const std::string &text)
{
  std::vector<gfloat> numbers;
  const char *at = text.data (), *const end = at + text.size ();
  const auto skip_spaces = [&] {
    while (at < end && *at == ' ')
      at++;
  };
  const auto fail = [&] (const std::string &why) {
    throw std::invalid_argument ("histogram=\"" + text + "\": " + why + "; write a number of 0 or more for each bin, separated by commas");
  };
  const auto rest = [&] { return at < end ? std::string ("\"").append (at, end).append ("\"") : std::string ("the end"); };
  skip_spaces ();
  while (at < end) {
    gfloat number;
    const auto [after, error] = std::from_chars (at, end, number);
    if (error == std::errc::result_out_of_range)
      fail (std::string (at, after) + " is out of range");
    if (error != std::errc ())
      fail ("a number is missing at " + rest ());
    if (!(number >= 0) || !std::isfinite (number))
      fail (std::string (at, after) + " cannot be in a histogram");
    numbers.push_back (number);
    at = after;
    skip_spaces ();
    if (at == end)
      break;
    if (*at != ',')
      fail ("a comma is missing at " + rest ());
    at++;
    skip_spaces ();
    if (at == end)
      fail ("a number is missing at the end");
  }
  if (!numbers.empty () && std::ranges::all_of (numbers, [] (gfloat number) { return number == 0; }))
    fail ("it is empty, as all of its numbers are 0");
  return numbers;
}

/// The histogram of a region of the frame, of the part of it that is inside.
static std::vector<gfloat>
count_region (GstIntegralHistogramMeta *meta, const GstVideoRectangle &region)
{
  gsize n = 0;
  g_autoptr (GError) error = nullptr;
  g_autofree guint32 *counts = gst_integral_histogram_meta_region (meta, region.x, region.y, region.w, region.h, &n, &error);
  if (!counts)
    throw std::runtime_error (std::string ("The histogram of the model failed: ") + error->message);
  std::vector<gfloat> bins (counts, counts + n);
  if (std::ranges::all_of (bins, [] (gfloat count) { return count == 0; }))
    throw std::invalid_argument ("the model has no pixel of the frame before it was scaled: set model to a larger region");
  return bins;
}

Model
take_model (const std::string &text, const std::string &histogram, GstIntegralHistogramMeta *meta, int width, int height)
{
  const auto regions = parse_model (text);
  GstVideoRectangle region = { 0, 0, std::max (width / 4, 1), std::max (height / 4, 1) };
  region.x = (width - region.w) / 2;
  region.y = (height - region.h) / 2;
  if (!regions.empty ())
    region = regions[0];
  Model model = { parse_histogram (histogram) };
  if (model.bins.empty ()) {
    const gint64 right = std::min<gint64> (gint64 (region.x) + region.w, width),
                 bottom = std::min<gint64> (gint64 (region.y) + region.h, height);
    region.x = std::max (region.x, 0);
    region.y = std::max (region.y, 0);
    if (right <= region.x || bottom <= region.y)
      throw std::invalid_argument ("model=\"" + text + "\" lies outside of the " + std::to_string (width) + "x" + std::to_string (height)
                                   + " frame: set it to a region inside, x,y,width,height");
    region.w = int (right) - region.x;
    region.h = int (bottom) - region.y;
    model.bins = count_region (meta, region);
  } else if (const guint bins = gst_integral_histogram_get_bins (meta->histogram); model.bins.size () != bins) {
    throw std::invalid_argument ("histogram has " + std::to_string (model.bins.size ()) + " numbers, and the frames' histograms have "
                                 + std::to_string (bins) + " bins: write " + std::to_string (bins)
                                 + " numbers, or set bins of cudaintegralhist to " + std::to_string (model.bins.size ()));
  }
  model.width = double (region.w) / width;
  model.height = double (region.h) / height;
  return model;
}

}  // namespace integralhist
