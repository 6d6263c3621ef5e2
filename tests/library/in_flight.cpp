// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element still reads buffers that it has pushed, and drawing on them does no harm. A frame
// takes little time, and little memory stays in use.
#include <cstdio>
#include <cstring>
#include <fstream>

#include <unistd.h>
#if INTHIST_CUDA
#include <cuda_runtime.h>
#endif

#include "offered_buffers.hpp"
#include "test.hpp"

namespace {

constexpr int kDepth = 3;

}  // namespace

/// An element downstream paints over each frame at once, as a filter that works in place does. The
/// histogram is that of the frame before, and after the first few frames nothing is copied for it.
SETUP_TEST (painted_over)
{
  Random random (seed ());
  const std::string caps = kSlowed ? caps_of ("GRAY8", 640, 360) : caps_of ("GRAY8", 1920, 1080);
  const GstVideoInfo info = info_of (caps);
  struct Painted {
    Histogram histogram;
    Picture picture;
  };
  std::vector<Painted> all;
  Harness harness (line_of (setup, "async-depth=" + std::to_string (kDepth)));
  harness.set_caps (caps);
  Pool pool (harness, caps, 0);
  int first_copied = -1;
  for (int i = 0; i < 12; i++) {
    GstBuffer *frame = pool.frame (random);
    Picture picture = picture_of (frame, info);
    GstBuffer *out = harness.pass (frame).release ();
    // a frame may have been read by the time that it comes here; the element learns from the first
    // that was not
    if (first_copied < 0 && !gst_buffer_is_writable (out))
      first_copied = i;
    fail_unless (first_copied < 0 || i < first_copied + 2 || gst_buffer_is_writable (out),
                 "frame %d would be copied, as frame %d was", i, first_copied);
    out = gst_buffer_make_writable (out);
    GstMapInfo map;
    fail_unless (gst_buffer_map (out, &map, GST_MAP_WRITE));
    for (int y = info.height - 1; y >= 0; y--)  // the rows that are read last come first
      std::memset (map.data + y * info.width, 255, gsize (info.width));
    gst_buffer_unmap (out, &map);
    GstIntegralHistogramMeta *meta = gst_buffer_get_integral_histogram_meta (out);
    fail_unless (meta);
    all.push_back (
        { Histogram (gst_integral_histogram_ref (meta->histogram)), std::move (picture) });
    gst_buffer_unref (out);
  }
  for (std::size_t i = 0; i < all.size (); i++) {
    expect_none (complaint (all[i].histogram.get (), all[i].picture, random),
                 "frame " + std::to_string (i));
  }
}

/// The next frame needs the buffer of the last one, which comes back without another call.
SETUP_TEST (one_buffer)
{
  Random random (seed ());
  const std::string caps = caps_of ("GRAY8", 640, 480);
  const GstVideoInfo info = info_of (caps);
  Harness harness (line_of (setup, "async-depth=" + std::to_string (kDepth)));
  harness.set_caps (caps);
  Pool pool (harness, caps, 1);
  for (int i = 0; i < 30; i++) {
    GstBuffer *frame = pool.frame (random);
    const Picture picture = picture_of (frame, info);
    Histogram histogram;
    {
      const Buffer out = harness.pass (frame);
      histogram.reset (gst_integral_histogram_ref (histogram_of (out)));
    }
    expect_none (i % 2 == 0 ? complaint (histogram.get (), picture, random) : "",
                 "frame " + std::to_string (i));
  }
}

/// The device has room for one tensor, and a lent buffer keeps it: the next frame waits for it.
SETUP_TEST_FROM (room_for_one, 1)
{
#if INTHIST_CUDA
  constexpr int kWidth = 8192;
  constexpr std::size_t kBins = 256;
  std::size_t room = 0, total = 0;
  fail_unless (cudaMemGetInfo (&room, &total) == cudaSuccess);
  const int height = int (std::min<std::size_t> (room / 10 * 6 / (kWidth * kBins * 4), 16000));
  if (double (height) * kWidth * kBins * 4 < 0.55 * double (room)) {
    printf ("SKIP: room for one tensor: this device has room for more\n");
    return;
  }
  Random random (seed ());
  const std::string caps = caps_of ("GRAY8", kWidth, height);
  const Setup many_bins = { setup.element, "bins=256", "", setup.backend };
  Harness harness (line_of (many_bins, "tuning-time=0 async-depth=" + std::to_string (kDepth)));
  harness.set_caps (caps);
  Pool pool (harness, caps, 0);
  std::vector<GstBuffer *> frames;  // made before, so that one comes while the last is still read
  for (int i = 0; i < 4; i++)
    frames.push_back (pool.frame (random));
  const Picture picture = picture_of (frames.back (), info_of (caps));
  for (GstBuffer *frame : frames) {
    const bool last = frame == frames.back ();
    const Buffer out = harness.pass (frame);
    expect_none (last ? complaint (histogram_of (out), picture, random) : std::string ());
  }
#endif
}

/// With one tensor and no copy, frames follow each other as fast as they are computed. A CPU lends
/// nothing.
SETUP_TEST_FROM (one_tensor, 1)
{
  constexpr int kFrames = 60;
  Random random (seed ());
  const std::string caps = caps_of ("GRAY8", 1920, 1080);
  Harness harness (
      line_of (setup, "max-tensors=1 tuning-time=0 async-depth=" + std::to_string (kDepth)));
  harness.set_caps (caps);
  Pool pool (harness, caps, 0);
  std::vector<GstBuffer *> frames;
  for (int i = 0; i < kFrames; i++)
    frames.push_back (pool.frame (random));
  harness.pass (pool.frame (random));
  const gint64 start = g_get_monotonic_time ();
  for (GstBuffer *frame : frames)
    harness.pass (frame);
  const gint64 took = g_get_monotonic_time () - start;
  fail_unless (took < 500 * kFrames, "%d frames took %d us", kFrames, int (took));
}

/// On a GPU a live frame leaves within a millisecond, and is ready within another.
SETUP_TEST_FROM (latency, 1)
{
  struct Times {
    gint64 in = 0;
    std::vector<gint64> inside, until_ready;
    int frames = 0;
  } times;
  Pipeline pipeline (std::string ("videotestsrc is-live=true num-buffers=91 ! "
                                  "video/x-raw,format=GRAY8,width=640,height=480,framerate=30/1 ! ")
                     + setup.element + " name=hist " + setup.properties
                     + " backend=" + setup.backend + " ! fakesink");
  g_autoptr (GstElement) element = pipeline.element ("hist");
  const auto probe = [&] (const char *name, GstPadProbeCallback callback) {
    g_autoptr (GstPad) pad = gst_element_get_static_pad (element, name);
    gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, callback, &times, nullptr);
  };
  probe ("sink", [] (GstPad *, GstPadProbeInfo *, gpointer t) {
    static_cast<Times *> (t)->in = g_get_monotonic_time ();
    return GST_PAD_PROBE_OK;
  });
  probe ("src", [] (GstPad *, GstPadProbeInfo *info, gpointer t) {
    auto *const times = static_cast<Times *> (t);
    const gint64 out = g_get_monotonic_time ();
    const GstIntegralHistogramMeta *meta =
        gst_buffer_get_integral_histogram_meta (GST_PAD_PROBE_INFO_BUFFER (info));
    if (!meta || !gst_integral_histogram_wait (meta->histogram, GST_CLOCK_TIME_NONE, nullptr))
      return GST_PAD_PROBE_DROP;
    if (times->frames++ > 0) {  // the first frame measures strategies, and makes all objects
      times->until_ready.push_back (g_get_monotonic_time () - out);
      times->inside.push_back (out - times->in);
    }
    return GST_PAD_PROBE_OK;
  });
  pipeline.set_state (GST_STATE_PLAYING);
  pipeline.wait_for_eos ();
  fail_unless_equals_int (times.frames, 91);
  for (const auto &[what, list] : { std::pair ("inside", &times.inside),
                                    std::pair ("from there until ready", &times.until_ready) }) {
    std::ranges::sort (*list);
    const auto at = [&] (int percent) { return int ((*list)[list->size () * percent / 100]); };
    printf ("latency, us %s: median %d, 95 %% %d, most %d\n", what, at (50), at (95),
            int (list->back ()));
    fail_unless (at (95) < 1000, "%d us %s", at (95),
                 what);  // the machine may be busy with something else
  }
}

/// Pipelines that do not know each other compute in one context of a device.
SETUP_TEST_FROM (one_context, 1)
{
  const std::string caps = caps_of ("GRAY8", 64, 48);
  Harness first (line_of (setup, "cuda-device-id=0")), second (line_of (setup, "cuda-device-id=0"));
  gpointer contexts[2] = {};
  Harness *const harnesses[] = { &first, &second };
  for (int i = 0; i < 2; i++) {
    harnesses[i]->set_caps (caps);
    const Buffer out = harnesses[i]->pass (noise (info_of (caps), 1));
    contexts[i] = gst_integral_histogram_get_cuda_context (histogram_of (out));
  }
  fail_unless (contexts[0] && contexts[0] == contexts[1]);
}

/// Bytes of memory that this process uses.
static gsize resident ()
{
  std::ifstream statm ("/proc/self/statm");
  gsize all = 0, pages = 0;
  statm >> all >> pages;
  return pages * gsize (sysconf (_SC_PAGESIZE));
}

/// Tensors that a consumer held for a while are freed once it has held fewer for some time.
SETUP_TEST (bounded)
{
  if (g_str_equal (setup.backend, "cuda"))
    return;  // the pool is the same, and this looks at host memory
  constexpr int kHeld = 120,
                kLater = 700;  // so many that what a sanitizer does not give back at once is little
  constexpr gsize kTensor = 320 * 240 * 32 * 4;
  const std::string caps = caps_of ("GRAY8", 320, 240);
  const GstVideoInfo info = info_of (caps);
  Harness harness (line_of (setup, "compute=eager"));
  harness.set_caps (caps);
  harness.pass (noise (info, 0));
  const gsize before = resident ();
  std::vector<Buffer> held;
  for (int i = 0; i < kHeld; i++)
    held.push_back (harness.pass (noise (info, unsigned (i))));
  const gsize most = resident ();
  fail_unless (most - before > kHeld / 2 * kTensor, "the tensors are not in memory");
  held.clear ();
  for (int i = 0; i < kLater; i++)
    harness.pass (noise (info, unsigned (i)));
  fail_unless (resident () < most - kHeld / 2 * kTensor, "%zu MB stay of %zu", resident () >> 20,
               most >> 20);
}
