// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The settings of integralhistlikelihood: when they take effect, and that a bad one is one error.
#include <functional>
#include <set>

#include "maps.hpp"
#include "test.hpp"

/// The model is taken at certain times, from the first picture or the second.
TEST (taken)
{
  const Texture first (48, 36, 1), second (48, 36, 2);
  const Search s = { 48, 36, { 5, 4, 12, 9 }, 12, 9, 2 };
  const Truth kept = truth_of (second, s, first.histogram (s.model, s.bins)),
              anew = truth_of (second, s);
  using Act = std::function<void (Likelihood &)>;
  const auto flush = [] (Likelihood &likelihood) { likelihood.flush (); };
  const std::tuple<const char *, bool, Act> cases[] = {
    { "nothing", false, [] (Likelihood &) {} },
    { "a segment", false, [] (Likelihood &likelihood) { likelihood.push_segment (GST_SECOND); } },
    { "the same caps", false,
      [&] (Likelihood &likelihood) { likelihood.set_caps (first.caps ()); } },
    { "other properties", false,
      [] (Likelihood &likelihood) {
        likelihood.set ("opacity", 0.1, "messages", TRUE, "window-width", 12, "step", 2);
      } },
    { "a flush", true, flush },
    { "a stream", true,
      [] (Likelihood &likelihood) {
        gst_harness_push_event (likelihood.get (), gst_event_new_stream_start ("another"));
        likelihood.push_segment ();
      } },
    { "its region", true, [] (Likelihood &likelihood) { likelihood.set ("model", "5,4,12,9"); } },
    { "numbers that are taken away", true,
      [] (Likelihood &likelihood) { likelihood.set ("histogram", "1", "histogram", nullptr); } },
    { "READY", true,
      [&] (Likelihood &likelihood) {
        gst_element_set_state (likelihood.get ()->element, GST_STATE_READY);
        gst_harness_play (likelihood.get ());
        likelihood.set_caps (first.caps ());
        likelihood.push_segment ();
        expect_parts (
            likelihood.error_of (second.buffer (), GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED),
            { "cudaintegralhist" }, "the map of the run before");
      } },
  };
  for (const auto &[name, is_anew, act] : cases) {
    Likelihood likelihood ("mode=gray model=5,4,12,9", first.caps ());
    check_levels (likelihood.bytes (counted (first)), truth_of (first, s), 48, name);
    act (likelihood);
    check_levels (likelihood.bytes (counted (second)), is_anew ? anew : kept, 48, name);
  }
}

namespace {

/// A table for eight bins of luma, with the same bins as without a table.
std::string of_lut ()
{
  std::string text = "feature=luma lut=0";
  for (int value = 1; value < 256; value++)
    text += "," + std::to_string (value / 32);
  return text;
}

/// Ways to count a frame in eight bins. In gray pixels, value and the first hsv equal luma.
const std::string kLuma = "feature=luma", kOfLut = of_lut (), kValue = "feature=value",
                  kHsv = "feature=hsv quantization=1,1,8",
                  kOtherHsv = "feature=hsv quantization=2,1,4";

GstBuffer *counted_by (const Texture &picture, const std::string &settings, int bins = 8)
{
  return counted (picture.caps (), picture.buffer (), bins, " " + settings);
}

}  // namespace

/// A histogram of another feature than the model's is an error that names both, until the model is
/// taken again.
TEST (model_of_another_feature)
{
  const Texture first (48, 36, 1), second (48, 36, 2);
  const Search s = { 48, 36, { 5, 4, 12, 9 }, 12, 9, 2 };
  struct Case {
    std::string model, frame, of_model, of_frame;
  };
  for (const Case &c : { Case{ kLuma, kValue, kLuma, kValue }, Case{ kValue, kLuma, kValue, kLuma },
                         Case{ kLuma, kHsv, kLuma, kHsv }, Case{ kOtherHsv, kHsv, kOtherHsv, kHsv },
                         Case{ kOfLut, kLuma, "feature=luma and a lut", kLuma } })
    for (const bool is_new_stream : { false, true }) {
      Likelihood likelihood ("mode=gray model=5,4,12,9", first.caps ());
      gst_buffer_unref (likelihood.pass (counted_by (first, c.model)));
      if (is_new_stream) {
        gst_harness_push_event (likelihood.get (), gst_event_new_stream_start ("another"));
        likelihood.push_segment ();
      } else {
        expect_parts (likelihood.error_of (counted_by (second, c.frame)),
                      { "the model is of " + c.of_model + ", and",
                        "histogram is of " + c.of_frame + ": set cudaintegralhist to " + c.of_model
                            + ", or set model" });
        gst_buffer_unref (likelihood.pass (counted_by (first, c.model)));
        likelihood.set ("model", "5,4,12,9");
      }
      check_levels (likelihood.bytes (counted_by (second, c.frame)), truth_of (second, s), 48,
                    c.frame);
    }
  // a model of other bins of the same feature is always taken again
  Likelihood likelihood ("mode=gray model=5,4,12,9", first.caps ());
  gst_buffer_unref (likelihood.pass (counted_by (first, kLuma, 16)));
  check_levels (likelihood.bytes (counted_by (second, kLuma)), truth_of (second, s), 48, "bins");
}

/// Numbers that name their feature are used for that feature only; other numbers are used for the
/// feature of the first frame.
TEST (numbers_of_a_feature)
{
  const Texture picture (48, 36, 1);
  const Search s = { 48, 36, { 5, 4, 12, 9 }, 12, 9, 2 };
  std::string numbers;
  for (const double count : picture.histogram (s.model, s.bins))
    numbers.append (numbers.empty () ? "" : ",").append (std::to_string (count));
  struct Case {
    std::string header, frame, refusal;
  };
  for (const Case &c :
       { Case{ "luma:", kLuma, "" }, Case{ " value : ", kValue, "" }, Case{ "hsv:", kHsv, "" },
         Case{ "hsv 1,1,8: ", kHsv, "" }, Case{ "hsv  1 , 1 , 8 :", kHsv, "" },
         Case{ "", kValue, "" }, Case{ "luma:", kOfLut, "" },
         Case{ "luma:", kValue,
               "histogram is of feature=luma, and the frames' histograms are of "
               "feature=value: set cudaintegralhist to feature=luma, or write" },
         Case{ "hsv 2,1,4:", kHsv,
               "histogram is of feature=hsv quantization=2,1,4, and the frames' histograms are of "
               "feature=hsv quantization=1,1,8: set" },
         Case{ "hsv 1,1,8:", kLuma, "histogram is of feature=hsv quantization=1,1,8, and the" } }) {
    Likelihood likelihood ("mode=gray model=5,4,12,9", picture.caps ());
    likelihood.set ("histogram", (c.header + numbers).c_str ());
    if (!c.refusal.empty ()) {
      expect_parts (likelihood.error_of (counted_by (picture, c.frame)), { c.refusal });
    } else {
      check_levels (likelihood.bytes (counted_by (picture, c.frame)), truth_of (picture, s), 48,
                    c.header);
      expect_parts (likelihood.error_of (counted_by (picture, kOtherHsv)), { "the model is of " });
    }
  }
}

/// Every unusable setting is one error: at the start if no frame is needed to see it, and later
/// otherwise.
TEST (bad_settings)
{
  struct Case {
    const char *property, *value, *culprit, *remedy;
    bool at_start = true;
  };
  for (const Case &c :
       { Case{ "model", "1;2", "model=\"1;2\": a number is missing at \";2\"", "x,y,width,height" },
         Case{ "model", "a", "number", "x,y,width,height" },
         Case{ "model", "1,2,3,4;5,6,7,8", "2 regions", "x,y,width,height" },
         Case{ "model", "1,2,0,4", "empty", "at least 1" },
         Case{ "model", "1,2,99999999999,4", "99999999999 is out of range", "to 2147483647" },
         Case{ "model", "48,0,9,9", "outside of the 48x36 frame", "region inside", false },
         Case{ "model", "-9,0,9,9", "outside of the 48x36 frame", "region inside", false },
         Case{ "model", "0,36,2147483647,9", "outside of the 48x36 frame", "region inside", false },
         Case{ "histogram", "1,2,3", "3 numbers", "write 8 numbers", false },
         Case{ "histogram", "1,2,3,4,5,6,7,8,9", "9 numbers", "bins of cudaintegralhist to 9",
               false },
         Case{ "histogram", "1,2,", "number is missing at the end", "for each bin" },
         Case{ "histogram", "1,,2", "number is missing at \",2\"", "for each bin" },
         Case{ "histogram", "1 2", "comma is missing at \"2\"", "commas" },
         Case{ "histogram", "1,2x", "\"2x\" is not a number", "commas" },
         Case{ "histogram", "1;2", "comma is missing at \";2\"", "commas" },
         Case{ "histogram", "1,x", "missing at \"x\"", "0 or more" },
         Case{ "histogram", "1,-2", "-2 cannot be in a histogram unless measure=linear",
               "0 or more" },
         Case{ "histogram", "1,nan", "nan cannot be", "0 or more" },
         Case{ "histogram", "inf,1", "inf cannot be", "0 or more" },
         Case{ "histogram", "1,1e99", "1e99 is out of range", "0 or more" },
         Case{ "histogram", "0,0,0.0,0,0,0,0,0", "all of its numbers are 0", "0 or more" },
         Case{ "histogram", "hues: 1,2", "\"hues\" is not a feature", "hsv 16,4,4" },
         Case{ "histogram", ": 1,2", "\"\" is not a feature", "hsv 16,4,4" },
         Case{ "histogram", "luma:", "number is missing at the end", "for each bin" },
         Case{ "histogram", "luma: 1: 2", "comma is missing at \": 2\"", "for each bin" },
         Case{ "histogram", "luma: 1,2,3", "3 numbers", "write 8 numbers", false },
         Case{ "histogram", "hue 4,2: 1,2", "feature=hue is not joint",
               "leave quantization empty" },
         Case{ "histogram", "hsv 4,2: 1,2", "number is missing at the end", "three numbers" },
         Case{ "histogram", "hue: 1,2,3,4,5,6,7,8", "histogram is of feature=hue, and",
               "set cudaintegralhist to feature=hue, or write", false },
         Case{ "window-width", "2147483648", "window-width=2147483648", "0 to 2147483647" },
         Case{ "window-height", "4294967295", "window-height=4294967295", "0 to 2147483647" },
         Case{ "step", "0", "step=0", "1 to 64" },
         Case{ "step", "65", "step=65", "1 to 64" },
         Case{ "opacity", "1.5", "opacity=1.5", "0 to 1" },
         Case{ "opacity", "-0.1", "opacity=-0.1", "0 to 1" } }) {
    const Texture picture (48, 36, 1);
    Likelihood likelihood ("", picture.caps ());
    gst_buffer_unref (likelihood.pass (counted (picture)));
    likelihood.expect_wrong_setting (c.property, c.value, counted (picture),
                                     { c.culprit, c.remedy }, c.at_start);
  }
}

TEST (properties)
{
  fail_unless (
      live_properties ("integralhistlikelihood")
      == std::set<std::string> ({ "feature", "histogram", "measure", "messages", "mode", "model",
                                  "opacity", "scale", "step", "window-height", "window-width" }));
}
