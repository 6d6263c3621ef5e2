// SPDX-License-Identifier: LGPL-2.1-or-later
//
// first-bin and n-bins: messages and errors about a range of the bins, and elements that refuse a
// range.
#include <functional>
#include <tuple>

#include "bin_ranges.hpp"

namespace {

/// Returns what the element posts for a frame.
GstStructure *message_of (const std::string &properties)
{
  Pipeline pipeline ("videotestsrc num-buffers=1 pattern=snow ! video/x-raw,format=I420,width=64,"
                     "height=48,framerate=30/1 ! cudaintegralhist tuning-time=0 regions=\"0,0,64,"
                     "48;3,4,20,10\" "
                     + properties + " ! fakesink");
  pipeline.set_state (GST_STATE_PLAYING);
  g_autoptr (GstMessage) message = pipeline.message (GST_MESSAGE_ELEMENT);
  return gst_structure_copy (gst_message_get_structure (message));
}

/// Returns the numbers of a message, region by region.
std::vector<std::vector<guint64>> numbers_of (const GstStructure *structure, const char *field)
{
  std::vector<std::vector<guint64>> numbers;
  const GValue *const regions = gst_structure_get_value (structure, field);
  fail_unless (regions, "no %s", field);
  for (guint i = 0; i < gst_value_array_get_size (regions); i++) {
    const GValue *const bins = gst_value_array_get_value (regions, i);
    auto &of_region = numbers.emplace_back ();
    for (guint b = 0; b < gst_value_array_get_size (bins); b++) {
      const GValue *const value = gst_value_array_get_value (bins, b);
      of_region.push_back (G_VALUE_HOLDS_UINT (value) ? g_value_get_uint (value)
                                                      : g_value_get_uint64 (value));
    }
  }
  return numbers;
}

}  // namespace

/// Messages of two ranges have the counts of the whole histogram, and say which bins they have.
RANGE_TEST (messages)
{
  for (const auto &[properties, field, bins] :
       { std::tuple ("bins=8", "counts", 8u),
         std::tuple ("feature=hsv quantization=4,2,2", "counts", 16u),
         std::tuple ("feature=gradient bins=9 weight=gradient soft=true", "weights", 9u) }) {
    const std::string settings = on (backend, properties);
    g_autoptr (GstStructure) whole = message_of (settings);
    g_autoptr (GstStructure) first = message_of (settings + " n-bins=3");
    g_autoptr (GstStructure) second = message_of (settings + " first-bin=3");
    fail_unless (!gst_structure_has_field (whole, "first-bin")
                 && !gst_structure_has_field (whole, "all-bins"));
    for (const auto &[message, from] : { std::pair (first, 0u), std::pair (second, 3u) }) {
      guint first_bin = 99, all_bins = 99;
      fail_unless (gst_structure_get (message, "first-bin", G_TYPE_UINT, &first_bin, "all-bins",
                                      G_TYPE_UINT, &all_bins, nullptr));
      fail_unless (first_bin == from && all_bins == bins);
    }
    auto joined = numbers_of (first, field);
    const auto rest = numbers_of (second, field);
    for (gsize i = 0; i < joined.size (); i++)
      joined[i].insert (joined[i].end (), rest[i].begin (), rest[i].end ());
    fail_unless (joined == numbers_of (whole, field) && joined.size () == 2
                     && joined[0].size () == bins,
                 "%s", settings.c_str ());
  }
}

/// A range answers counts. It refuses to compare histograms, and names the remedy.
RANGE_TEST (questions)
{
  const Histogram part = Counter (on (backend, "bins=32 first-bin=8 n-bins=4")).count ("GRAY8");
  const GstVideoRectangle rectangle = { 1, 2, 20, 10 };
  const GstIntegralHistogramGrid grid = { .window_width = 9,
                                          .window_height = 7,
                                          .x = 0,
                                          .y = 0,
                                          .step_x = 5,
                                          .step_y = 3,
                                          .columns = 4,
                                          .rows = 4 };
  const gfloat model[4] = { 1, 2, 3, 4 };
  gfloat values[16];
  gint32 medians[16];
  const GstIntegralHistogramSearch search = { grid, &rectangle, 1, model, 0 };
  constexpr auto kMeasure = GST_INTEGRAL_HISTOGRAM_MEASURE_INTERSECTION;
  const std::function<gboolean (GError **)> asks[] = {
    [&] (GError **error) {
      return gst_integral_histogram_likelihoods (part.get (), &rectangle, 1, model, kMeasure,
                                                 values, nullptr, error);
    },
    [&] (GError **error) {
      return gst_integral_histogram_likelihood_maps (part.get (), &grid, 1, model, kMeasure, values,
                                                     nullptr, error);
    },
    [&] (GError **error) {
      return gst_integral_histogram_quantile_maps (part.get (), &grid, 1, 0.5, medians, error);
    },
    [&] (GError **error) {
      return gst_integral_histogram_vote_maps (part.get (), &search, 1, kMeasure, values, nullptr,
                                               error);
    },
  };
  for (const auto &ask : asks) {
    g_autoptr (GError) error = nullptr;
    fail_unless (!ask (&error));
    fail_unless (g_error_matches (error, GST_INTEGRAL_HISTOGRAM_ERROR,
                                  GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION),
                 "%s", error->message);
    expect_parts (error->message, { "bins 8 to 11 of 32", "set first-bin=0 n-bins=0" });
  }
}

/// An element that needs the histogram of a feature never gets only some of its bins.
RANGE_TEST (of_feature)
{
  const std::string some = on (backend, "feature=hue bins=18 first-bin=3 n-bins=4"),
                    all = on (backend, "feature=hue bins=18");
  const Buffer alone = Counter (some).pass ("RGB", kWidth, kHeight, 3);
  fail_unless (!gst_buffer_get_integral_histogram_meta_of_feature (
      alone.get (), GST_INTEGRAL_HISTOGRAM_FEATURE_HUE));
  fail_unless (gst_buffer_get_integral_histogram_meta (alone.get ()));
  const Buffer both =
      Counter (some + " ! cudaintegralhist tuning-time=0 " + all).pass ("RGB", kWidth, kHeight, 3);
  const GstIntegralHistogramMeta *const found = gst_buffer_get_integral_histogram_meta_of_feature (
      both.get (), GST_INTEGRAL_HISTOGRAM_FEATURE_HUE);
  fail_unless (found);
  check_range (found->histogram, { 0, 18 }, 18, "the whole");
}

/// Returns the beginning of the first error of an element; empty if the stream ends without one.
static std::string error_of (const std::string &elements)
{
  const std::string line = "videotestsrc num-buffers=3 ! video/x-raw,format=I420,width=64,"
                           "height=48,framerate=30/1 ! "
                           + elements + " ! fakesink";
  Pipeline pipeline (line);
  pipeline.set_state (GST_STATE_PLAYING);
  g_autoptr (GstMessage) message = pipeline.message (GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS)
    return "";
  g_autoptr (GError) error = nullptr;
  gst_message_parse_error (message, &error, nullptr);
  return error->message;
}

/// Elements that compare histograms refuse a range at once, and take all bins, wherever they are.
RANGE_TEST (consumers)
{
  const std::string hist = std::string ("cudaintegralhist tuning-time=0 backend=") + backend + " ",
                    some = hist + "bins=16 n-bins=8 ! ", all = hist + "bins=16 ! ";
  std::vector<std::string> consumers = {
    "integralhistlikelihood", "integralhistlikelihood feature=luma",
    "integralhisttrack method=fragments targets=5,6,20,15",
    "integralhisttrack method=fragments feature=luma targets=5,6,20,15"
  };
  if (there_is ("integralhistoverlay", "bin_range_messages")) {
    consumers.push_back ("integralhistoverlay regions=5,6,20,15");
    consumers.push_back ("integralhistoverlay regions=5,6,20,15 feature=luma");
    expect_none (error_of (some + "integralhistoverlay"));  // nothing to draw
    expect_none (error_of (some + "integralhistoverlay regions=5,6,20,15 histograms=false"));
  }
  for (const std::string &consumer : consumers) {
    expect_parts (error_of (some + consumer),
                  { "bins 0 to 7 of 16", "set first-bin=0 n-bins=0 of cudaintegralhist" },
                  consumer);
    // some frames may have all bins, others not
    for (const std::string &before :
         { some + all, all + some, hist + "bins=16 interval=2 ! " + some }) {
      expect_none (error_of (before + consumer), before + consumer);
    }
  }
  // for the features that the correlation filter needs
  const std::string gradients = hist + "feature=signed-gradient bins=18 weight=gradient soft=true ",
                    hsv = hist + "feature=hsv ",
                    luma = std::string ("cudaintegralimage tuning-time=0 backend=") + backend
                           + " ! integralhisttrack targets=5,6,20,15";
  for (const auto &[line, bins] :
       { std::pair (gradients + "! " + hsv + "first-bin=128 ! " + luma, "bins 128 to 255 of 256"),
         std::pair (gradients + "n-bins=17 ! " + hsv + "! " + luma, "bins 0 to 16 of 18") }) {
    expect_parts (error_of (line), { bins }, line);
  }
  expect_none (error_of (gradients + "! " + hsv + "! " + luma));
}

TEST_TIMEOUT (240);

/// A range outside of the bins is one error when the element starts.
TEST (wrong_ranges)
{
  struct Wrong {
    const char *properties, *culprit, *remedy;
  };
  for (const auto &[properties, culprit, remedy] :
       { Wrong{ "first-bin=32", "first-bin=32 is beyond bins=32", "set first-bin=31 or less" },
         Wrong{ "bins=8 first-bin=8 n-bins=1", "beyond bins=8", "set first-bin=7 or less" },
         Wrong{ "bins=8 first-bin=5 n-bins=4", "first-bin=5 n-bins=4 reach beyond bins=8",
                "set n-bins=3 or less, or 0 for all from first-bin on" },
         Wrong{ "n-bins=33", "reach beyond bins=32", "set n-bins=32 or less" },
         Wrong{ "n-bins=257", "n-bins=257", "0 to 256" },
         Wrong{ "first-bin=256", "first-bin=256", "0 to 255" },
         Wrong{ "feature=hsv quantization=4,2,2 first-bin=16",
                "first-bin=16 is beyond feature=hsv quantization=4,2,2 (16 bins)",
                "set first-bin=15 or less" },
         Wrong{ "feature=rgb first-bin=200 n-bins=17",
                "reach beyond feature=rgb quantization=6,6,6 (216 bins)", "set n-bins=16" },
         Wrong{ "feature=uniform-lbp first-bin=59", "beyond feature=uniform-lbp (59 bins)",
                "set first-bin=58" },
         Wrong{ "bins=4 lut=0,1,2,3 first-bin=2 n-bins=3", "reach beyond bins=4",
                "set n-bins=2 or less" } }) {
    g_autoptr (GError) parse_error = nullptr;
    const std::string line = std::string ("cudaintegralhist backend=cpu ") + properties;
    g_autoptr (GstElement) element = gst_parse_launch (line.c_str (), &parse_error);
    fail_unless (element && !parse_error, "%s", properties);
    expect_parts (settings_error (element), { culprit, remedy }, properties);
  }
}
