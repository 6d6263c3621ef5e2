// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element reads CUDA memory of cudaupload and of nvh264dec where it lies. The histograms are
// those that it computes on the CPU from the same frames after cudadownload.
//
//   INTHIST_TEST_DATA=folder  gpu_pipelines.hpp
//   INTHIST_TEST_FRAMES=file  frames of 768x576 GRAY8 to take instead of vtest.avi, for hosts that
//   cannot decode it
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#if INTHIST_CUDA
#include <cuda_runtime.h>
#endif

#include <glib/gstdio.h>

#include "gpu_pipelines.hpp"
#include "test.hpp"

namespace {

// all of the frame, or a box of it: that begins at an odd column, at the border of a vector, and
// one that ends in the frame's last corner
constexpr const char *kRegions[] = { "100,100,64,128;0,0,1,1;-20,-20,3000,3000;300,200,5,7",
                                     "101,33,16,12;151,60,8,30", "100,100,64,128",
                                     "448,178,64,64" };

/// The numbers of an element's message, as text; empty for any other message.
std::string numbers (GstMessage *message)
{
  std::string text;
  if (gst_message_has_name (message, "integral-histogram")
      || gst_message_has_name (message, "integral-image"))
    for (const char *field : { "counts", "weights", "sum", "sum-of-squares" })
      if (const GValue *value =
              gst_structure_get_value (gst_message_get_structure (message), field)) {
        g_autofree char *part = gst_value_serialize (value);
        text += part;
      }
  return text;
}

/// Runs `source`, which ends in CUDA memory, and compares the messages of `on_gpu` and of `on_cpu`,
/// elements with properties, frame by frame. Returns the number of frames.
std::size_t compare (const std::string &source, const std::string &on_gpu,
                     const std::string &on_cpu, const char *regions = kRegions[0])
{
  const std::string line = source + " ! video/x-raw(memory:CUDAMemory) ! tee name=t  t. ! queue ! "
                           + on_gpu + " name=gpu backend=cuda regions=" + regions
                           + " ! fakesink  t. ! queue ! cudadownload ! " + on_cpu
                           + " name=cpu backend=cpu regions=" + regions + " ! fakesink";
  GError *error = nullptr;
  g_autoptr (GstElement) pipeline = gst_parse_launch (line.c_str (), &error);
  fail_unless (!error, "%s", error ? error->message : "");
  std::vector<std::string> counts[2];
  g_autoptr (GstBus) bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (bool done = false; !done;) {
    g_autoptr (GstMessage) message = gst_bus_timed_pop_filtered (
        bus, 60 * GST_SECOND,
        GstMessageType (GST_MESSAGE_ELEMENT | GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    fail_unless (message, "%s: stuck", line.c_str ());
    if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
      gst_message_parse_error (message, &error, nullptr);
      fail ("%s: %s", line.c_str (), error->message);
    }
    done = GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS;
    const std::string text = done ? "" : numbers (message);
    if (!text.empty ())
      counts[g_str_equal (GST_OBJECT_NAME (GST_MESSAGE_SRC (message)), "cpu")].push_back (text);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  fail_unless_equals_uint64 (counts[0].size (), counts[1].size ());
  for (std::size_t i = 0; i < counts[0].size (); i++)
    fail_unless (counts[0][i] == counts[1][i], "%s: frame %zu: CUDA %s, CPU %s", source.c_str (), i,
                 counts[0][i].c_str (), counts[1][i].c_str ());
  return counts[0].size ();
}

/// Elements for the GPU and for the CPU, which are compared.
constexpr const char *kElements[][2] = {
  { "cudaintegralhist", "cudaintegralhist" },
  { "cudaintegralhist counter=u16", "cudaintegralhist" },
  { "cudaintegralhist compute=on-demand", "cudaintegralhist" },
  { "cudaintegralimage compute=on-demand squared=true", "cudaintegralimage squared=true" },
  { "cudaintegralimage squared=true", "cudaintegralimage squared=true" },
  { "cudaintegralhist feature=gradient weight=gradient bins=9",
    "cudaintegralhist feature=gradient weight=gradient bins=9" },
  { "cudaintegralhist compute=on-demand weight=gradient soft=true",
    "cudaintegralhist weight=gradient soft=true" },
  { "cudaintegralhist feature=hue soft=true bins=17 task-bins=5",
    "cudaintegralhist feature=hue soft=true bins=17" },
  // scores: 200 of nearly no colour, 100 of red
  { "cudaintegralimage feature=hue-saturation quantization=2,2 lut=200,100",
    "cudaintegralimage feature=hue-saturation quantization=2,2 lut=200,100" },
  { "cudaintegralimage compute=on-demand feature=luma lut=9,8,7,6,5,4,3,2,1,255",
    "cudaintegralimage feature=luma lut=9,8,7,6,5,4,3,2,1,255" },
};

}  // namespace

TEST (formats)
{
  if (!have ("formats in CUDA memory", { "cudaupload", "cudadownload" }))
    return;
  for (const char *format :
       { "NV12", "NV21", "I420", "YV12", "Y42B", "Y444", "RGBA", "BGRA", "RGBx", "BGRx", "ARGB",
         "ABGR", "RGB", "BGR", "YUY2", "UYVY", "RGB10A2_LE", "BGR10A2_LE" })
    for (const char *size : { "width=640,height=480", "width=322,height=242" }) {
      const std::string source =
          std::string (
              "videotestsrc num-buffers=4 pattern=snow ! videoconvert ! video/x-raw,format=")
          + format + "," + size + " ! cudaupload";
      for (const auto &[on_gpu, on_cpu] : kElements)
        fail_unless_equals_uint64 (compare (source, on_gpu, on_cpu), 4);
    }
}

/// Boxes of frames that are kept.
TEST (boxes)
{
  if (!have ("boxes in CUDA memory", { "cudaupload", "cudadownload" }))
    return;
  for (const char *const regions : { kRegions[1], kRegions[2], kRegions[3] })
    for (const auto &[on_gpu, on_cpu] : kElements)
      fail_unless_equals_uint64 (
          compare ("videotestsrc num-buffers=4 pattern=snow ! "
                   "video/x-raw,format=NV12,width=512,height=242 ! cudaupload",
                   on_gpu, on_cpu, regions),
          4);
}

TEST (surveillance_video)
{
  if (!have ("video in CUDA memory", { "cudaupload", "cudadownload" }))
    return;
  std::string source = "filesrc location=" + data ("vtest.avi") + " ! decodebin";
  if (const char *frames = g_getenv ("INTHIST_TEST_FRAMES"))
    source = std::string ("filesrc blocksize=442368 location=") + frames
             + " ! rawvideoparse width=768 height=576 format=gray8 framerate=10/1";
  else if (!g_file_test (data ("vtest.avi").c_str (), G_FILE_TEST_EXISTS)) {
    printf ("SKIP: video in CUDA memory: no %s; set INTHIST_TEST_DATA to a folder with it (package "
            "opencv-doc)\n",
            data ("vtest.avi").c_str ());
    return;
  }
  for (const auto &[on_gpu, on_cpu] : kElements)
    fail_unless (
        compare (source + " ! videoconvert ! video/x-raw,format=I420 ! cudaupload", on_gpu, on_cpu)
        >= 60);
}

/// Frames on any one device are divided over all devices, and computed in rounds.
TEST (shared_out)
{
  if (!have ("frames shared out from CUDA memory", { "cudaupload", "cudadownload" }))
    return;
  int devices = 0;
#if INTHIST_CUDA
  fail_unless (cudaGetDeviceCount (&devices) == cudaSuccess);
#endif
  std::string all;
  for (int d = 0; d < devices; d++)
    all.append (d > 0 ? "," : "").append (std::to_string (d));
  for (int d = 0; d < devices; d++)
    for (const char *format : { "NV12", "RGBA" }) {
      const std::string source =
          std::string (
              "videotestsrc num-buffers=6 pattern=snow ! videoconvert ! video/x-raw,format=")
          + format + ",width=322,height=242 ! cudaupload cuda-device-id=" + std::to_string (d);
      for (const char *how :
           { " task-bins=3", " max-device-memory=3000000", " max-device-memory=900000" })
        fail_unless_equals_uint64 (
            compare (source, "cudaintegralhist cuda-device-ids=" + all + how, "cudaintegralhist"),
            6);
    }
}

/// Frames of another process, which GStreamer 1.24 and newer can share.
TEST (other_process)
{
  // forked before this process knows CUDA, which a child cannot inherit
  g_autofree gchar *address =
      g_strdup_printf ("%s/inthist-%d.sock", g_get_tmp_dir (), int (getpid ()));
  const std::string sink = std::string ("cudaipcsink address=") + address;
  int go[2];
  fail_unless_equals_int (pipe (go), 0);
  const pid_t child = fork ();
  fail_unless (child >= 0);
  if (child == 0) {
    char wanted = 0;
    if (read (go[0], &wanted, 1) != 1 || !wanted)
      _exit (0);
    GstElement *pipeline = gst_parse_launch (
        ("videotestsrc is-live=true pattern=snow ! "
         "video/x-raw,format=NV12,width=640,height=480,framerate=60/1 ! cudaupload ! "
         + sink)
            .c_str (),
        nullptr);
    gst_element_set_state (pipeline, GST_STATE_PLAYING);
    pause ();  // until the test ends it
    _exit (0);
  }
  const bool can =
      have ("frames of another process", { "cudaupload", "cudadownload", "cudaipcsink" });
  const char wanted = can;
  fail_unless_equals_int (write (go[1], &wanted, 1), 1);
  if (can) {
    for (int i = 0; i < 200 && !g_file_test (address, G_FILE_TEST_EXISTS); i++)
      g_usleep (50000);
    const std::string source = std::string ("cudaipcsrc num-buffers=30 address=") + address;
    for (const int i : { 0, 2 })
      fail_unless_equals_uint64 (compare (source, kElements[i][0], kElements[i][1]), 30);
  }
  kill (child, SIGKILL);  // it has the handlers of the test
  waitpid (child, nullptr, 0);
  g_unlink (address);
}

/// The decoder's own surfaces, which it takes back as soon as the frame is released.
TEST (hardware_decoder)
{
  const std::string source = decoded_on_gpu ("woman.mp4");
  if (source.empty ())
    return;
  for (const auto &[on_gpu, on_cpu] : kElements)
    fail_unless_equals_uint64 (compare (source, on_gpu, on_cpu), 596);
}
