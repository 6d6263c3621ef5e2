// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A device that is missing, or fails in mid-stream, is one error from one element, and nothing
// hangs. With the CPU the devices are simulated.
#if INTHIST_CUDA
#include <gst/integralhist/cuda/base/cuda_error.hpp>
#endif

#include "several_devices.hpp"
#include "test.hpp"

namespace {

bool is_ours (GstMessage *message)
{
  GstElementFactory *factory =
      GST_IS_ELEMENT (GST_MESSAGE_SRC (message))
          ? gst_element_get_factory (GST_ELEMENT (GST_MESSAGE_SRC (message)))
          : nullptr;
  return factory
         && g_strcmp0 (gst_plugin_feature_get_plugin_name (GST_PLUGIN_FEATURE (factory)),
                       "integralhist")
                == 0;
}

struct Posted {
  std::string text, debug;
};

/// The errors that elements of ours post until the pipeline is over. `properties` may go on with "!
/// element ..." .
std::vector<Posted> errors_of (const std::string &properties,
                               const std::string &size = "width=64,height=48", guint frames = 300)
{
  const std::string line = "videotestsrc num-buffers=" + std::to_string (frames)
                           + " ! video/x-raw,format=GRAY8,framerate=30/1," + size
                           + " ! cudaintegralhist " + properties + " ! fakesink sync=false";
  g_autoptr (GstElement) pipeline = gst_parse_launch (line.c_str (), nullptr);
  fail_unless (pipeline);
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  std::vector<Posted> errors;
  bool over = false;
  while (!over) {
    g_autoptr (GstMessage) message = gst_bus_timed_pop_filtered (
        bus, kLong, GstMessageType (GST_MESSAGE_ERROR | GST_MESSAGE_EOS));
    fail_unless (message, "%s: nothing happens", properties.c_str ());
    over = GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS || !is_ours (message);
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR && is_ours (message)) {
      g_autoptr (GError) error = nullptr;
      g_autofree char *debug = nullptr;
      gst_message_parse_error (message, &error, &debug);
      errors.push_back ({ error->message, debug });
      // no other error may follow, from any thread
      GstMessage *other;
      while ((other = gst_bus_timed_pop_filtered (bus, 300 * GST_MSECOND, GST_MESSAGE_ERROR))) {
        if (is_ours (other))
          errors.push_back (
              { std::string ("and another of ") + GST_OBJECT_NAME (GST_MESSAGE_SRC (other)), "" });
        gst_message_unref (other);
      }
      over = true;
    }
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  return errors;
}

/// Checks an error: users read the words; maintainers read the place in the source, if any.
void check_one_error (const std::string &properties, std::initializer_list<std::string> words,
                      const char *place = nullptr)
{
  const auto errors = errors_of (properties);
  fail_unless (errors.size () == 1, "%s: %zu errors", properties.c_str (), errors.size ());
  expect_parts (errors[0].text, words, properties);
  fail_unless ((errors[0].debug.find ('\n') != std::string::npos) == bool (place),
               "%s: a detail in: %s", properties.c_str (), errors[0].debug.c_str ());
  fail_unless (!place || errors[0].debug.find (std::string ("\n") + place) != std::string::npos,
               "%s: no \"%s\" in: %s", properties.c_str (), place, errors[0].debug.c_str ());
}

}  // namespace

TEST_TIMEOUT (300);

TEST (bad_settings)
{
  check_one_error ("backend=cpu cuda-device-ids=0,1,0", { "device 0 is listed twice" });
  check_one_error ("backend=cpu cuda-device-ids=0,,1",
                   { "a number is missing at \",1\"", "0,1,2,3" });
  check_one_error ("backend=cpu cuda-device-ids=0,-1", { "-1 is not a device number" });
  check_one_error ("backend=cpu cuda-device-ids=one", { "a number is missing at \"one\"" });
  check_one_error ("backend=cpu cuda-device-ids=\"0, 1 2\"", { "a comma is missing at \"2\"" });
  check_one_error ("backend=cpu cuda-device-ids=0,1 cuda-device-id=1", { "both set" });
  check_one_error ("backend=cpu task-bins=257", { "task-bins=257", "256" });
  check_one_error ("backend=cpu max-device-memory=1000",
                   { "one row", "max-device-memory is 1000 bytes", "raise max-device-memory" });
  check_one_error ("backend=cpu max-device-memory=100000 download=never",
                   { "552.00 KiB", "max-device-memory is 97.66 KiB", "download=lazy",
                     "raise max-device-memory" });
  const int devices = cuda_devices ();
  for (const char *backend : { "auto", "cuda" })
    check_one_error (
        std::string ("cuda-device-ids=0,77 backend=") + backend,
        { devices > 0 ? "CUDA device 77" : "no cuda-device-ids", devices > 0 ? "0.." : "0,77" });
}

/// A device fails in mid-stream: the first element to see it posts one error, and nothing hangs.
/// Pipelines on other devices go on.
BACKEND_TEST (fault)
{
  const bool cpu = strcmp (backend, "cpu") == 0;
  const std::string where = std::string (" backend=") + backend;
  const std::string ids = cpu ? "0,5,2" : device_list (backend, *std::make_unique<Random> (1));
  g_autofree char *fault = g_strdup_printf ("%c:3", cpu ? '5' : ids[0]);
  g_setenv ("INTEGRALHIST_FAULT", fault, TRUE);
  for (const char *how :
       { "task-bins=2", "task-bins=2 regions=0,0,9,9", "task-bins=3 max-device-memory=30000",
         "task-bins=1 sync=true regions=1,1,5,5", "task-bins=1 download=eager",
         // consumers of the histogram let its producer post the error
         "task-bins=2 ! integralhisttrack method=fragments targets=8,8,20,20",
         "task-bins=2 ! queue ! integralhistlikelihood",
         "task-bins=2 regions=3,3,9,9 ! integralhistoverlay regions=3,3,20,20" })
    check_one_error (where + " bins=16 cuda-device-ids=" + ids + " " + how,
                     { "device", "failed", "INTEGRALHIST_FAULT" }, "device_worker.cpp:");
  // the last frame fails: without this error the user would not learn of it
  {
    const auto errors =
        errors_of (where + " bins=7 task-bins=1 cuda-device-ids=" + ids.substr (cpu ? 2 : 0, 1),
                   "width=64,height=48", 1);
    fail_unless (errors.size () == 1, "%zu errors", errors.size ());
  }
  const auto others = errors_of (where + " bins=16 task-bins=2 max-device-memory=400000"
                                 + (cpu ? " cuda-device-ids=0,1,2" : ""));
  fail_unless (!cpu || others.empty (), "%s", others.empty () ? "" : others[0].text.c_str ());
  g_unsetenv ("INTEGRALHIST_FAULT");
  fail_unless (errors_of (where + " bins=16 task-bins=2 cuda-device-ids=" + ids).empty ());
}

/// A program that holds payloads of a failed frame gets the error, and may release them later.
TEST (held_fault)
{
  g_setenv ("INTEGRALHIST_FAULT", "1:2", TRUE);
  const std::string caps = caps_of ("GRAY8", 64, 48);
  auto h = std::make_unique<Harness> (
      "cudaintegralhist backend=cpu bins=8 task-bins=1 cuda-device-ids=1", caps);
  const GstVideoInfo info = info_of (caps);
  const Buffer out = h->pass (noise (info, 1));
  GstIntegralHistogram *histogram = histogram_of (out);
  g_autoptr (GError) error = nullptr;
  guint32 counts[8];
  fail_unless (!gst_integral_histogram_region (histogram, 0, 0, 9, 9, counts, &error));
  expect_parts (error->message, { "device 1 failed" });
  fail_unless_equals_int (int (gst_integral_histogram_get_n_shards (histogram)), 0);
  fail_unless_equals_int (gst_harness_push (*h, noise (info, 2)), GST_FLOW_ERROR);
  h.reset ();
  g_clear_error (&error);
  fail_unless (!gst_integral_histogram_wait (histogram, GST_CLOCK_TIME_NONE, &error));
  g_unsetenv ("INTEGRALHIST_FAULT");
}

#if INTHIST_CUDA
/// A CUDA call that fails says where it is, and not where it was checked for its caller.
TEST (call_sites)
{
  using integralhist::Error;
  const auto here = [] (int line) { return "device_errors.cpp:" + std::to_string (line); };
  const Error fault (inthist::cuda::check (cudaErrorIllegalAddress).error ());
  const int line = __LINE__ - 1;
  fail_unless_equals_string (fault.message.c_str (),
                             "CUDA: an illegal memory access was encountered");
  const std::string detail = "cudaErrorIllegalAddress at " + here (line);
  fail_unless_equals_string (fault.detail.c_str (), detail.c_str ());
  // without a device every call fails, and with one this event is of no use
  const Error event (inthist::cuda::make_event (~0u).error ());
  const int of_event = __LINE__ - 1;
  expect_parts (event.detail, { here (of_event) });
}
#endif
