// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An unusable setting is one clear error, which names the setting and what to do. A setting that is
// left to auto is chosen. Both elements have this from their common base.
#include <gst/integralhist/gstintegralhist.h>
#include <kernels/inthist.hpp>
#include <kernels/registry.hpp>

#include "frames.hpp"
#include "test.hpp"

static GError *error_of (GstElement *pipeline)
{
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  g_autoptr (GstMessage) message = gst_bus_timed_pop_filtered (
      bus, 20 * GST_SECOND, GstMessageType (GST_MESSAGE_ERROR | GST_MESSAGE_EOS));
  GError *error = nullptr;
  fail_unless (message);
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, &error, nullptr);
  return error;
}

/// Each bad setting of either element is exactly one error, of the right kind, that names the
/// setting and what to do.
TEST_EACH (bad_settings, 2)
{
  const char *element = kElements[__i__];
  struct Case {
    const char *properties, *culprit, *remedy;
  };
  const Case cases[] = {
    { "bins=0", "bins=0", "1 to 256" },
    { "bins=257", "bins=257", "1 to 256" },
    { "cuda-device-id=-2", "cuda-device-id=-2", "-1 to" },
    { "async-depth=0", "async-depth=0", "1 to 64" },
    { "async-depth=65", "async-depth=65", "1 to 64" },
    { "interval=0", "interval=0", "1 to" },
    { "tuning-time=60001", "tuning-time=60001", "0 to 60000" },
    { "backend=cpu regions=1;2", "number is missing at \";2\"", "x,y,width,height" },
    { "backend=cpu regions=1,2,3", "\"1,2,3\": a number is missing at the end",
      "x,y,width,height" },
    { "backend=cpu regions=1,2,3.5,4", "\"3.5\" is not a whole number", "x,y,width,height" },
    { "backend=cpu regions=1,2,3|4", "\"3|4\" is not a whole number", "x,y,width,height" },
    { "backend=cpu regions=a", "number", "x,y,width,height" },
    { "backend=cpu regions=1,2,3,4,5", "more than four", "x,y,width,height" },
    { "backend=cpu regions=10", "number is missing at the end", "x,y,width,height" },
    { "backend=cpu regions=1,2,99999999999,4", ": 99999999999 is out of range", "to 2147483647" },
    { "backend=cpu regions=1,2,0,4", "empty", "at least 1" },
    { "backend=cpu regions=64,0,4,4", "64,0,4,4", "64x48" },
    { "backend=cpu regions=0,0,4,4;-9,0,4,4", "-9,0,4,4", "64x48" },
  };
  for (const Case &c : cases) {
    if (g_str_has_prefix (c.properties, "bins") && __i__ == 1)
      continue;  // one element's own
    g_autofree char *line =
        g_strdup_printf ("videotestsrc num-buffers=3 ! video/x-raw,format=GRAY8,width=64,height=48 "
                         "! %s name=hist %s ! fakesink",
                         element, c.properties);
    g_autoptr (GstElement) pipeline = gst_parse_launch (line, nullptr);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
    int errors = 0;
    GstMessage *message;
    while ((message = gst_bus_timed_pop_filtered (bus, errors ? 100 * GST_MSECOND : 10 * GST_SECOND,
                                                  GST_MESSAGE_ERROR))) {
      GError *error = nullptr;
      gst_message_parse_error (message, &error, nullptr);
      if (g_strcmp0 (GST_OBJECT_NAME (GST_MESSAGE_SRC (message)), "hist") == 0) {
        errors++;
        fail_unless (g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS),
                     "%s: %s", c.properties, error->message);
        expect_parts (error->message, { c.culprit, c.remedy }, c.properties);
      }
      g_error_free (error);
      gst_message_unref (message);
    }
    fail_unless (errors == 1, "%s: %d errors", c.properties, errors);
    gst_element_set_state (pipeline, GST_STATE_NULL);
  }
}

/// A failed setting can be corrected on the same element.
TEST (mended_setting)
{
  g_autoptr (GstElement) element = gst_element_factory_make ("cudaintegralhist", nullptr);
  g_object_set (element, "bins", 300, nullptr);
  fail_unless (gst_element_set_state (element, GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE);
  gst_element_set_state (element, GST_STATE_NULL);
  g_object_set (element, "bins", 256, nullptr);
  fail_unless (gst_element_set_state (element, GST_STATE_PAUSED) == GST_STATE_CHANGE_SUCCESS);
  gst_element_set_state (element, GST_STATE_NULL);
}

TEST (no_such_device)
{
  // without a device the message says why; with a device it lists the devices
  const bool cuda = starts ("cuda");
  for (const char *backend : { "cuda", "auto" }) {
    g_autofree char *line = g_strdup_printf (
        "videotestsrc num-buffers=2 ! cudaintegralhist backend=%s cuda-device-id=99 ! fakesink",
        backend);
    g_autoptr (GstElement) pipeline = gst_parse_launch (line, nullptr);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    g_autoptr (GError) error = error_of (pipeline);
    fail_unless (error
                 && g_error_matches (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND));
    expect_parts (error->message, { "99", cuda ? "or to -1" : "cuda-device-id=-1" });
    fail_unless ((strstr (error->message, "backend=auto") != nullptr)
                     == (!cuda && backend[0] == 'c'),
                 "%s", error->message);
    gst_element_set_state (pipeline, GST_STATE_NULL);
  }
}

/// A tensor of a tebibyte is an error before the frame is read.
BACKEND_TEST (too_large)
{
  Harness h ("cudaintegralhist compute=eager bins=256 backend=" + std::string (backend),
             "video/x-raw,format=GRAY8,width=32768,height=32768,framerate=1/1");
  expect_parts (h.error_of (gst_buffer_new_allocate (nullptr, 32768 * 32768, nullptr),
                            GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT),
                { "1.00 TiB", "bins", "counter=u8-tiled" });
}

/// Without measuring, auto takes the strategy that is preferred on the device.
TEST (backend_auto)
{
  const bool cuda = starts ("cuda");
  Harness h ("cudaintegralhist tuning-time=0",
             "video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1");
  const GstVideoInfo info = gray (64, 48);
  gst_buffer_unref (gst_harness_push_and_pull (h, noise (info, 1)));
  g_autoptr (GstElement) element = gst_harness_find_element (h, "cudaintegralhist");
  g_autoptr (GstStructure) stats = nullptr;
  g_object_get (element, "stats", &stats, nullptr);
  fail_unless_equals_uint64 (stat_of (element, "frames"), 1);
  fail_unless_equals_string (gst_structure_get_string (stats, "backend"), cuda ? "cuda" : "cpu");
  fail_unless_equals_string (gst_structure_get_string (stats, "strategy"), cuda ? "strip" : "rows");
}

/// Either element lists the strategies that can serve it, after auto; each runs on its own backend,
/// and says so on the other.
TEST_EACH (strategy_and_backend, 2)
{
  g_autoptr (GstElement) any = gst_element_factory_make (kElements[__i__], nullptr);
  GParamSpec *spec = g_object_class_find_property (G_OBJECT_GET_CLASS (any), "strategy");
  GEnumClass *strategies = G_ENUM_CLASS (g_type_class_ref (spec->value_type));
  fail_unless_equals_string (strategies->values[0].value_nick, "auto");
  int started = 0;
  for (guint i = 0; i < strategies->n_values; i++)
    for (const char *backend : kBackends) {
      g_autoptr (GstElement) element = gst_element_factory_make (kElements[__i__], nullptr);
      gst_util_set_object_arg (G_OBJECT (element), "strategy", strategies->values[i].value_nick);
      int value;
      g_object_get (element, "strategy", &value, nullptr);
      fail_unless_equals_int (value, strategies->values[i].value);
      gst_util_set_object_arg (G_OBJECT (element), "backend", backend);
      started += gst_element_set_state (element, GST_STATE_PAUSED) == GST_STATE_CHANGE_SUCCESS;
      gst_element_set_state (element, GST_STATE_NULL);
    }
  // exactly the strategies that can compute such a tensor, with any counter
  const bool bins = __i__ == 0;
  const auto example = [bins] (inthist::Type counter) {
    return inthist::Shape{ 640, 480, bins ? 32 : 1, counter,
                           bins ? inthist::Content::bins : inthist::Content::sums };
  };
  for (const inthist::Strategy &strategy : inthist::strategies ())
    fail_unless ((g_enum_get_value_by_nick (strategies, strategy.name) != nullptr)
                     == (inthist::accepts (strategy, example (inthist::Type::u32))
                         || inthist::accepts (strategy, example (inthist::Type::u8_tiled))),
                 "%s", strategy.name);
  // auto starts on each backend that is here, every other strategy on one
  const bool cuda = starts ("cuda");
  int cuda_strategies = 0;
  for (guint i = 0; i < strategies->n_values; i++) {
    const char *description = strategies->values[i].value_name;
    cuda_strategies += strstr (description, "CUDA:") != nullptr;
    if (g_str_equal (strategies->values[i].value_nick, "multi-pixel-scan"))
      expect_parts (description, { "(limit: ", "8192" });
  }
  fail_unless_equals_int (started, int (strategies->n_values) - cuda_strategies
                                       + (cuda ? 1 + cuda_strategies : 0));
  g_type_class_unref (strategies);
}

/// The first frame of GRAY8 of this width ends in a wrong setting, whose words hold the limit and
/// the remedy.
static void refuses_width (const std::string &launch, int width, const char *limit,
                           const char *remedy)
{
  const std::string caps =
      "video/x-raw,format=GRAY8,height=2,framerate=1/1,width=" + std::to_string (width);
  Harness h (launch, caps.c_str ());
  expect_parts (h.error_of (gst_buffer_new_allocate (nullptr, 2 * width, nullptr),
                            GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS),
                { limit, remedy });
}

/// A strategy says which shapes it cannot take, and names a strategy that can.
TEST_EACH (unsupported_shape, 2)
{
  if (!inthist::find_strategy ("multi-pixel-scan"))
    g_print ("SKIP: unsupported_shape: built without the published strategies of CUDA\n");
  else if (have ("cuda"))
    refuses_width (std::string (kElements[__i__]) + " backend=cuda strategy=multi-pixel-scan",
                   10000, "8192", "strategy=auto or ");
}

TEST (too_wide_for_tiles)
{
  refuses_width ("cudaintegralhist backend=cpu counter=u8-tiled bins=2", (1 << 20) + 1, "1048576",
                 "counter=u16 or u32");
}

/// A strategy makes either tiles or the other counters.
TEST (tiles_and_strategy)
{
  for (const inthist::Strategy &strategy : inthist::strategies ())
    if (strategy.device == inthist::Device::cpu) {
      const std::string launch =
          std::string ("cudaintegralhist backend=cpu strategy=") + strategy.name + " counter=";
      refuses_width (launch + (strategy.makes_tiles ? "u32" : "u8-tiled"), 64,
                     strategy.makes_tiles ? "u8-tiled" : "takes no counter=u8-tiled",
                     strategy.makes_tiles ? "strategy=auto or rows" : "strategy=auto or byte-rows");
    }
}
