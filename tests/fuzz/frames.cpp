// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames of every kind go through the elements, with gaps and changes of the caps. Every tensor is
// compared with the pixels; a frame that contradicts its description must be refused with one
// error.
#include <memory>

#include <gst/check/gstharness.h>
#include <gst/integralhist/gstintegralhist.h>

#include "frame_maker.hpp"
#include "frame_truth.hpp"
#include "program.hpp"

namespace {

std::string doing;  // for the message of a failure

/// Strategies of the CPU that an element has, and auto.
std::vector<std::string> strategies_of (const char *name)
{
  GstElement *const element = gst_element_factory_make (name, nullptr);
  REQUIRE (element, "there is no %s", name);
  GParamSpec *const spec = g_object_class_find_property (G_OBJECT_GET_CLASS (element), "strategy");
  const GEnumClass *const values = G_PARAM_SPEC_ENUM (spec)->enum_class;
  std::vector<std::string> names;
  for (guint i = 0; i < values->n_values; i++)
    if (!g_str_has_prefix (values->values[i].value_name, "CUDA"))
      names.push_back (values->values[i].value_nick);
  gst_object_unref (element);
  return names;
}

Setup make_setup (const std::string &backend, Random &random)
{
  static const auto of_histograms = strategies_of ("cudaintegralhist"),
                    of_tables = strategies_of ("cudaintegralimage");
  Setup setup;
  setup.tables = random.with (0.25);
  setup.interval = random.with (0.15) ? guint (random.between (2, 4)) : 1;
  setup.counter =
      setup.tables ? "u32" : random.one_of ({ "u32", "u16", "u16-anchored", "u8-tiled" });
  setup.strategy = random.with (0.4) && backend == "cpu"
                       ? random.one_of (setup.tables ? of_tables : of_histograms)
                       : "auto";
  setup.limited = !setup.tables && random.with (0.15);
  if (setup.tables) {
    setup.planes = random.with (0.5) ? 2 : 1;
    setup.line = format ("cudaintegralimage name=element squared=%d", setup.planes == 2);
  } else {
    setup.planes = guint (random.one_of ({ 1, 2, 3, 5, 8, 16, 31, 32, 64, 100, 255, 256 }));
    if (backend == "cpu" && random.with (0.3)) {
      setup.counter = "u32";
      setup.weighted = random.with (0.6);
      setup.soft = setup.planes < 256 && (!setup.weighted || random.with (0.6));
      if (setup.strategy != "auto")
        setup.strategy = random.one_of ({ "rows", "serial" });
    }
    setup.line = format ("cudaintegralhist name=element bins=%u counter=%s", setup.planes,
                         setup.counter.c_str ());
    if (setup.weighted || setup.soft)
      setup.line += format (" weight=%s soft=%d", setup.weighted ? "gradient" : "one", setup.soft);
    if (random.with (0.2))
      setup.line += format (" cuda-device-ids=0,1,2 task-bins=%d", random.between (0, 40));
    if (setup.limited)
      setup.line += format (" max-device-memory=%d", random.one_of ({ 30000, 400000, 3000000 }));
  }
  setup.line +=
      format (" backend=%s compute=%s tuning-time=0 strategy=%s interval=%u "
              "async-depth=%d sync=%d",
              backend.c_str (), random.one_of ({ "auto", "eager", "on-demand" }),
              setup.strategy.c_str (), setup.interval, random.between (1, 4), random.with (0.2));
  if (random.with (0.2) && !setup.tables)
    setup.line += random.one_of (
        { " ! integralhistlikelihood messages=true mode=gray",
          " ! integralhistlikelihood mode=blend step=5",
          " ! integralhisttrack method=fragments targets=0,0,9,9;0,0,200,100 update-rate=0.3",
          " ! integralhisttrack method=fragments targets=-1,-3,9,19 ! integralhistoverlay" });
  return setup;
}

/// An element, and maybe others behind it, that frames are pushed into.
class Stream {
public:
  explicit Stream (const Setup &setup)
      : setup_ (setup), harness_ (gst_harness_new_parse (setup.line.c_str ())),
        bus_ (gst_bus_new ())
  {
    gst_element_set_bus (harness_->element, bus_);
    gst_harness_push_event (harness_, gst_event_new_stream_start ("frames"));
    if (GST_IS_BIN (harness_->element))
      element_ = gst_bin_get_by_name (GST_BIN (harness_->element), "element");
    else
      element_ = GST_ELEMENT (gst_object_ref (harness_->element));
    REQUIRE (element_, "there is no element in %s", setup.line.c_str ());
  }
  ~Stream ()
  {
    gst_object_unref (element_);
    gst_element_set_bus (harness_->element, nullptr);
    gst_harness_teardown (harness_);
    gst_object_unref (bus_);
  }

  /// Pushes a frame and checks the result; returns false if that ended the stream.
  bool push (Frame &frame, Random &random)
  {
    if (frame.caps != caps_) {
      caps_ = frame.caps;
      g_autoptr (GstCaps) caps = gst_caps_from_string (caps_.c_str ());
      if (!gst_harness_push_event (harness_, gst_event_new_caps (caps)))
        return give_up (frame);  // who is behind does not take the format
      if (number_ == 0) {
        GstSegment segment;
        gst_segment_init (&segment, GST_FORMAT_TIME);
        gst_harness_push_event (harness_, gst_event_new_segment (&segment));
      }
    }
    Regions regions;
    if (random.with (0.3) && frame.expected == Expected::answer)
      regions = make_regions (frame.picture, random);
    g_object_set (element_, "regions", regions.text.c_str (), nullptr);
    if (random.with (0.1))
      GST_BUFFER_FLAG_SET (frame.buffer, GST_BUFFER_FLAG_GAP);
    const bool is_empty_gap = GST_BUFFER_FLAG_IS_SET (frame.buffer, GST_BUFFER_FLAG_GAP)
                              && gst_buffer_get_size (frame.buffer) == 0;
    const bool skipped = is_empty_gap || number_ % setup_.interval != 0;
    doing += format ("\n  regions=\"%s\"%s", regions.text.c_str (), skipped ? ", skipped" : "");
    GST_BUFFER_PTS (frame.buffer) = number_ * GST_MSECOND;
    const guint64 number = number_++;
    const GstFlowReturn flow = gst_harness_push (harness_, g_steal_pointer (&frame.buffer));

    if (flow != GST_FLOW_OK) {
      check_refusal (frame, regions, skipped);
      return false;
    }
    g_autoptr (GstBuffer) out = gst_harness_try_pull (harness_);
    if (skipped)
      return check_skipped (out);
    REQUIRE (frame.expected != Expected::refusal, "the frame is not refused");
    REQUIRE (regions.inside, "a region outside of the frame is not refused");
    if (frame.expected == Expected::anything)
      return true;
    REQUIRE (out, "no frame comes out");
    const GstIntegralHistogramMeta *const meta =
        gst_buffer_get_integral_histogram_meta_of (out, setup_.content ());
    REQUIRE (meta || !is_alone (), "the frame has no meta");
    if (meta)
      check_histogram (meta->histogram, frame.picture, setup_, random);
    if (!regions.rectangles.empty ())
      check_message (number, frame.picture, regions);
    return true;
  }

  /// Tells whether nothing is behind the element.
  bool is_alone () const { return setup_.line.find ('!') == std::string::npos; }

private:
  bool give_up (Frame &frame)
  {
    gst_clear_buffer (&frame.buffer);
    REQUIRE (!is_alone (), "the caps are not taken");
    return false;
  }

  bool check_skipped (GstBuffer *out) const
  {
    REQUIRE (!out || !gst_buffer_get_integral_histogram_meta (out) || !is_alone (),
             "a frame that is left out has a meta");
    return true;
  }

  /// Checks that there is one error, and that it is an expected one.
  void check_refusal (const Frame &frame, const Regions &regions, bool skipped) const
  {
    std::string messages;
    int n = 0;
    while (GstMessage *const message = gst_bus_pop_filtered (bus_, GST_MESSAGE_ERROR)) {
      g_autoptr (GError) error = nullptr;
      gst_message_parse_error (message, &error, nullptr);
      messages += format ("%s: %s\n", GST_OBJECT_NAME (GST_MESSAGE_SRC (message)), error->message);
      n++;
      gst_message_unref (message);
    }
    REQUIRE (n == 1, "%d errors: %s", n, messages.c_str ());
    const auto has = [&] (const char *text) { return messages.find (text) != std::string::npos; };
    const bool allowed =
        (frame.expected != Expected::answer && !skipped) || (!regions.inside && has ("outside"))
        || (setup_.strategy != "auto" && has ("strategy="))
        || (setup_.limited && has ("emory"))
        // a flat region has no gradient to look for
        || (!is_alone () && setup_.weighted && has ("no pixel in any bin"))
        || (!is_alone () && frame.lacks_a_row && has ("plane ") && has ("reaches past"))
        // an element behind maps the frames itself, and has GStreamer convert them, which takes
        // words
        || (!is_alone ()
            && (frame.expected != Expected::answer || has ("need a positive multiple")));
    REQUIRE (allowed, "%s", messages.c_str ());
  }

  /// The element message of this frame.
  void check_message (guint64 number, const Picture &picture, const Regions &regions) const
  {
    for (;;) {
      GstMessage *const message = gst_bus_timed_pop_filtered (
          bus_, 30 * GST_SECOND, GstMessageType (GST_MESSAGE_ELEMENT | GST_MESSAGE_ERROR));
      REQUIRE (message, "no message of the regions");
      const std::unique_ptr<GstMessage, void (*) (GstMessage *)> owner (message, gst_message_unref);
      const GstStructure *const structure = gst_message_get_structure (message);
      guint64 frame;
      REQUIRE (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ELEMENT,
               "an error instead of a message of the regions");
      if (!gst_structure_has_name (structure,
                                   setup_.tables ? "integral-image" : "integral-histogram")
          || !gst_structure_get_uint64 (structure, "frame", &frame) || frame != number)
        continue;
      const bool weights = setup_.content () == GST_INTEGRAL_HISTOGRAM_CONTENT_WEIGHTS;
      const GValue *const all = gst_structure_get_value (structure, setup_.tables ? "sum"
                                                                    : weights     ? "weights"
                                                                                  : "counts");
      REQUIRE (gst_value_array_get_size (all) == regions.rectangles.size (),
               "%u regions in the message", gst_value_array_get_size (all));
      for (guint i = 0; i < regions.rectangles.size (); i++) {
        const Sums truth = add_up (picture, setup_, regions.rectangles[i]);
        const GValue *const one = gst_value_array_get_value (all, i);
        if (setup_.tables)
          REQUIRE (g_value_get_uint64 (one) == truth[0], "the message has another sum of region %u",
                   i);
        for (guint b = 0; b < setup_.planes && !setup_.tables; b++) {
          const GValue *const sum = gst_value_array_get_value (one, b);
          REQUIRE ((weights ? g_value_get_uint64 (sum) : g_value_get_uint (sum)) == truth[b],
                   "the message has other counts of region %u, bin %u", i, b);
        }
      }
      return;
    }
  }

  const Setup &setup_;
  GstHarness *harness_;
  GstElement *element_;
  GstBus *bus_;
  std::string caps_;
  guint64 number_ = 0;
};

}  // namespace

int main (int argc, char **argv)
{
  const ProgramOptions options = read_options (argc, argv);
  gst_init (nullptr, nullptr);
  tell_at_the_end ([] { std::fprintf (stderr, "%s\n", doing.c_str ()); });
  Random random (options.seed);
  const auto end = end_of (options);
  int frames = 0, streams = 0;
  while (std::chrono::steady_clock::now () < end) {
    const Setup setup = make_setup (options.backend, random);
    Stream stream (setup);
    streams++;
    bool goes_on = true;
    for (int sizes = random.between (1, 4); sizes > 0 && goes_on; sizes--) {
      auto [width, height] = make_size (random);
      if (gint64 (width) * height * setup.planes > 12000000)
        width = 33, height = 21;
      Maker maker (width, height, !stream.is_alone (), random);
      for (int n = random.between (1, 4); n > 0 && goes_on; n--) {
        Frame frame = maker.make ();
        doing = setup.line + "\n  " + frame.caps + "\n  " + frame.description
                + format ("\n  frame %d of seed %" G_GUINT64_FORMAT, frames, options.seed);
        goes_on = stream.push (frame, random);
        frames++;
      }
    }
  }
  std::printf ("%d frames in %d streams\n", frames, streams);
  tell_at_the_end ([] {});
  std::fflush (stdout);
  gst_deinit ();
  return 0;
}
