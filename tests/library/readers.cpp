// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An application's own stream reads a tensor slowly, no reference to the histogram is left, and the
// next frame has no other memory. The frame waits for the reader if the application called
// gst_integral_histogram_add_reader(), and only then.
#include <cstring>
#include <memory>

#if INTHIST_CUDA
#include <gst/integralhist/api/histogram.hpp>
#include <gst/integralhist/engine/device_feature_image.hpp>

#include "device_words.hpp"
#include "slow_reader.hpp"
#endif

#include "alone.hpp"
#include "test.hpp"

namespace {

constexpr int kWidth = 640, kHeight = 480, kBins = 16, kPixels = kWidth * kHeight;

/// A frame of one value, so that one bin has all pixels.
GstBuffer *even (guint8 value)
{
  return ::even (gray (kWidth, kHeight), value);
}

std::string line (const char *backend, const std::string &more)
{
  return std::string ("cudaintegralhist bins=16 tuning-time=0 download=never backend=") + backend
         + " " + more;
}

}  // namespace

/// A tensor in host memory, or in several shards, has no readers on a stream.
BACKEND_TEST (refusals)
{
  const bool cpu = strcmp (backend, "cpu") == 0;
  struct Case {
    const char *properties, *why;
  };
  for (const Case &c : { Case{ "", cpu ? "host memory" : nullptr },
                         Case{ "cuda-device-ids=0 task-bins=16", cpu ? "host memory" : nullptr },
                         Case{ "cuda-device-ids=0 task-bins=4", "shards" },
                         Case{ "max-device-memory=9000000 download=lazy", "host memory" } }) {
    Alone alone (line (backend, c.properties), caps_of ("GRAY8", kWidth, kHeight));
    g_autoptr (GstBuffer) out = alone.pass (even (1));
    g_autoptr (GError) error = nullptr;
    const bool added = gst_integral_histogram_add_reader (histogram_of (out), nullptr, &error);
    fail_unless (added == !c.why, "%s: %s", c.properties, error ? error->message : "no error");
    fail_unless (!c.why || strstr (error->message, c.why), "%s: %s", c.properties,
                 c.why ? error->message : "");
  }
}

#if INTHIST_CUDA

namespace {

gsize tensor_bytes (GstIntegralHistogram *histogram)
{
  return gst_integral_histogram_get_plane_pitch (histogram)
         * gst_integral_histogram_get_bins (histogram);
}

/// Enqueues a slow copy of the tensor behind what computes it.
void read_slowly (GstIntegralHistogram *histogram, const DeviceStream &stream,
                  const DeviceWords &to, int milliseconds)
{
  const guint64 pointer = gst_integral_histogram_get_device_pointer (histogram);
  fail_unless (pointer != 0);
  check_cuda (cudaStreamWaitEvent (
      stream.get (), static_cast<cudaEvent_t> (gst_integral_histogram_get_cuda_event (histogram)),
      0));
  check_cuda (slow_copy (reinterpret_cast<const void *> (pointer), to.data,
                         tensor_bytes (histogram), milliseconds, stream.get ()));
}

void add_reader (GstIntegralHistogram *histogram, const DeviceStream &stream)
{
  expect_answer (gst_integral_histogram_add_reader, histogram, stream.get ());
}

/// Counts the rows and bins in which a copied tensor is not that of an even frame of this value;
/// `first_bin` is its first.
int wrong (const std::vector<guint32> &tensor, GstIntegralHistogram *like, guint8 value,
           int first_bin = 0)
{
  const gsize row = gst_integral_histogram_get_row_pitch (like) / 4,
              plane = gst_integral_histogram_get_plane_pitch (like) / 4;
  int wrong = 0;
  for (guint b = 0; b < gst_integral_histogram_get_bins (like); b++)
    for (int y = 0; y < kHeight; y++) {
      const guint32 wanted =
          int (b) + first_bin == value * kBins / 256 ? guint32 (kWidth * (y + 1)) : 0;
      wrong += tensor[b * plane + gsize (y) * row + kWidth - 1] != wanted;
    }
  return wrong;
}

}  // namespace

/// One slow reader: with add_reader () its copy is the first frame's tensor. Without, it is not,
/// which shows that the next frame writes to the memory during the copy.
TEST (slow)
{
  if (!have ("cuda"))
    return;
  for (const char *properties : { "max-tensors=1", "max-tensors=1 async-depth=1" })
    for (const bool said : { true, false }) {
      Alone alone (line ("cuda", properties), caps_of ("GRAY8", kWidth, kHeight));
      const DeviceStream stream;
      GstBuffer *out = alone.pass (even (0));  // so that nothing is loaded or allocated later
      const DeviceWords copy (tensor_bytes (histogram_of (out)) / 4);
      read_slowly (histogram_of (out), stream, copy, 0);
      stream.wait ();
      gst_buffer_unref (out);

      out = alone.pass (even (10));
      const guint64 pointer = gst_integral_histogram_get_device_pointer (histogram_of (out));
      read_slowly (histogram_of (out), stream, copy, 50);
      if (said)
        add_reader (histogram_of (out), stream);
      gst_buffer_unref (out);
      out = alone.pass (even (200));
      fail_unless (gst_integral_histogram_get_device_pointer (histogram_of (out)) == pointer,
                   "the next frame has other memory");
      // the next frame's own numbers are right in any case
      guint32 counts[kBins];
      expect_answer (gst_integral_histogram_region, histogram_of (out), 0, 0, kWidth, kHeight,
                     counts);
      fail_unless (counts[200 * kBins / 256] == kPixels && counts[0] == 0);
      stream.wait ();
      const int n = wrong (copy.read (), histogram_of (out), 10);
      if (said)
        fail_unless (n == 0, "%s: %d rows of the copy are wrong", properties, n);
      else
        fail_unless (n > 0, "%s: without add_reader nothing is wrong: the test says nothing",
                     properties);
      gst_buffer_unref (out);
    }
}

/// Many readers on several streams read some frames each, and all of them are right.
TEST (many)
{
  if (!have ("cuda"))
    return;
  constexpr int kStreams = 5, kFrames = 12;
  Alone alone (line ("cuda", "max-tensors=1"), caps_of ("GRAY8", kWidth, kHeight));
  GstBuffer *const like = alone.pass (even (0));
  const gsize bytes = tensor_bytes (histogram_of (like));
  std::vector<std::unique_ptr<DeviceStream>> streams;
  std::vector<std::unique_ptr<DeviceWords>> copies;
  for (int i = 0; i < kStreams; i++)
    streams.push_back (std::make_unique<DeviceStream> ());
  for (int i = 0; i < kStreams * kFrames; i++)
    copies.push_back (std::make_unique<DeviceWords> (bytes / 4));
  gst_buffer_unref (like);
  for (int frame = 0; frame < kFrames; frame++) {
    g_autoptr (GstBuffer) out = alone.pass (even (guint8 (20 * frame)));
    for (int i = 0; i < kStreams; i++)
      for (int twice = 0; twice < 2; twice++) {
        read_slowly (histogram_of (out), *streams[gsize (i)], *copies[gsize (frame * kStreams + i)],
                     twice ? 0 : (i + frame) % 7);
        add_reader (histogram_of (out), *streams[gsize (i)]);
      }
  }
  for (const auto &stream : streams)
    stream->wait ();
  g_autoptr (GstBuffer) out = alone.pass (even (0));
  for (int i = 0; i < kStreams * kFrames; i++) {
    const int n =
        wrong (copies[gsize (i)]->read (), histogram_of (out), guint8 (20 * (i / kStreams)));
    fail_unless (n == 0, "frame %d, stream %d: %d rows are wrong", i / kStreams, i % kStreams, n);
  }
}

/// Questions that answer on a stream add themselves as readers.
TEST (questions)
{
  if (!have ("cuda"))
    return;
  Alone alone (line ("cuda", "max-tensors=1"), caps_of ("GRAY8", kWidth, kHeight));
  const DeviceStream stream, other;
  const DeviceWords counts (kBins), map (1), copy (1 << 18);
  for (int frame = 0; frame < 4; frame++) {
    const guint8 value = guint8 (60 * frame + 5);
    GstBuffer *out = alone.pass (even (value));
    GstIntegralHistogram *const histogram = histogram_of (out);
    const GstVideoRectangle all = { 0, 0, kWidth, kHeight };
    const GstIntegralHistogramGrid grid = { kWidth, kHeight, 0, 0, 1, 1, 1, 1 };
    for (const DeviceStream *each : { &stream, &other })
      check_cuda (slow_copy (copy.data, copy.data + (1 << 17), 4, 40, each->get ()));
    expect_answer (gst_integral_histogram_regions_on_stream, histogram, &all, 1, counts.data,
                   stream.get ());
    expect_answer (gst_integral_histogram_quantile_maps_on_stream, histogram, &grid, 1, 0.5,
                   reinterpret_cast<gint32 *> (map.data), other.get ());
    gst_buffer_unref (out);
    out = alone.pass (even (guint8 (value + 60)));
    fail_unless (gst_integral_histogram_wait (histogram_of (out), GST_CLOCK_TIME_NONE, nullptr));
    stream.wait ();
    other.wait ();
    const auto answers = counts.read ();
    for (int b = 0; b < kBins; b++)
      fail_unless (answers[gsize (b)] == (b == value * kBins / 256 ? guint32 (kPixels) : 0),
                   "frame %d, bin %d: %u", frame, b, answers[gsize (b)]);
    fail_unless_equals_int (map.read ()[0], value * kBins / 256);
    gst_buffer_unref (out);
  }
}

/// A shard is read like a tensor in one piece, and keeps its memory from the next frame.
TEST (shards)
{
  if (!have ("cuda"))
    return;
  Alone alone (line ("cuda", "max-tensors=1 cuda-device-ids=0 task-bins=4"),
               caps_of ("GRAY8", kWidth, kHeight));
  const DeviceStream stream;
  gst_buffer_unref (alone.pass (even (0)));
  GstBuffer *out = alone.pass (even (70));
  std::vector<std::unique_ptr<DeviceWords>> copies;
  for (guint i = 0; i < 4; i++) {
    g_autoptr (GstIntegralHistogram) shard =
        gst_integral_histogram_get_shard (histogram_of (out), i, nullptr);
    fail_unless (shard != nullptr);
    copies.push_back (std::make_unique<DeviceWords> (tensor_bytes (shard) / 4));
    read_slowly (shard, stream, *copies.back (), 20);
    add_reader (shard, stream);
  }
  gst_buffer_unref (out);
  for (int i = 0; i < 3; i++)
    gst_buffer_unref (alone.pass (even (200)));
  stream.wait ();
  out = alone.pass (even (200));
  for (guint i = 0; i < 4; i++) {
    guint first_bin = 99;
    g_autoptr (GstIntegralHistogram) shard =
        gst_integral_histogram_get_shard (histogram_of (out), i, &first_bin);
    const int n = wrong (copies[i]->read (), shard, 70, int (first_bin));
    fail_unless (n == 0, "shard %u: %d rows are wrong", i, n);
  }
  gst_buffer_unref (out);
}

/// The memory is not freed under a reader either, when the element goes.
TEST (freed)
{
  if (!have ("cuda"))
    return;
  const DeviceStream stream;
  std::unique_ptr<DeviceWords> copy;
  {
    Alone alone (line ("cuda", ""), caps_of ("GRAY8", kWidth, kHeight));
    g_autoptr (GstBuffer) out = alone.pass (even (130));
    copy = std::make_unique<DeviceWords> (tensor_bytes (histogram_of (out)) / 4);
    read_slowly (histogram_of (out), stream, *copy, 50);
    add_reader (histogram_of (out), stream);
  }
  stream.wait ();
  Alone other (line ("cuda", ""), caps_of ("GRAY8", kWidth, kHeight));
  g_autoptr (GstBuffer) like = other.pass (even (0));
  fail_unless_equals_int (wrong (copy->read (), histogram_of (like), 130), 0);
}

namespace {

/// A frame that grows brighter to the right, or downwards.
GstBuffer *ramp (bool downwards)
{
  GstBuffer *const buffer = gst_buffer_new_allocate (nullptr, kPixels, nullptr);
  GstMapInfo map;
  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  for (int y = 0; y < kHeight; y++)
    for (int x = 0; x < kWidth; x++)
      map.data[y * kWidth + x] = guint8 ((downwards ? y : x) / 4);
  gst_buffer_unmap (buffer, &map);
  return buffer;
}

}  // namespace

/// A frame on demand is copied to the GPU late, and its consumer does not wait for the copy. The
/// next frame, in the same memory, waits.
TEST (late_copies)
{
  if (!have ("cuda"))
    return;
  Alone alone ("cudaintegralhist feature=gradient bins=16 backend=cuda compute=on-demand "
               "max-tensors=1",
               caps_of ("GRAY8", kWidth, kHeight));
  const DeviceStream stream;
  const DeviceWords window (4), counts (kBins);
  const inthist::Region all = { 0, 0, kWidth, kHeight };
  check_cuda (cudaMemcpy (window.data, &all, sizeof all, cudaMemcpyHostToDevice));
  check_cuda (cudaDeviceSynchronize ());  // other streams do not wait for the copy
  guint32 wanted[kBins];
  cudaEvent_t read;
  check_cuda (cudaEventCreateWithFlags (&read, cudaEventDisableTiming));
  integralhist::DeviceFeatureImage *image = nullptr;
  for (const bool is_late : { false, true }) {
    g_autoptr (GstBuffer) out = alone.pass (ramp (false));
    if (is_late)
      check_cuda (slow_copy (counts.data, counts.data, 4, 50, image->stream ()));
    auto prepared = integralhist::tensor_of (histogram_of (out)).prepare ({ &all, 1 });
    fail_unless (prepared.has_value () && *prepared && (!image || image == *prepared));
    image = *prepared;
    if (!is_late)
      expect_answer (gst_integral_histogram_region, histogram_of (out), 0, 0, kWidth, kHeight,
                     wanted);
    else {
      fail_unless (image
                       ->count_on (stream.get (), reinterpret_cast<inthist::Region *> (window.data),
                                   1, counts.data)
                       .has_value ());
      check_cuda (cudaEventRecord (read, stream.get ()));
      fail_unless (image->add_reader (read).has_value ());
    }
  }
  g_autoptr (GstBuffer) next = alone.pass (ramp (true));
  stream.wait ();
  const auto got = counts.read ();
  for (int b = 0; b < kBins; b++)
    fail_unless_equals_int (got[gsize (b)], wanted[b]);
  check_cuda (cudaEventDestroy (read));
}

#else

TEST (slow)
{
  printf ("SKIP: readers: this build has no CUDA\n");
}

#endif
