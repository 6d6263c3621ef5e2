// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tensor as an array of DLPack: its fields, refusals, and the work of its deleter, also while a
// stream still reads slowly.
#include <cstring>
#include <memory>
#include <thread>

#include <gst/integralhist/api/dlpack.hpp>

#if INTHIST_CUDA
#include "device_words.hpp"
#include "slow_reader.hpp"
#endif

#include "alone.hpp"
#include "test.hpp"

namespace {

using namespace integralhist::dlpack;

constexpr int kWidth = 101, kHeight = 67, kBins = 16;

/// A frame of one value, so that one bin has all pixels.
GstBuffer *even (guint8 value, int width = kWidth, int height = kHeight)
{
  return ::even (gray (width, height), value);
}

int references (GstIntegralHistogram *histogram)
{
  return GST_MINI_OBJECT_REFCOUNT_VALUE (histogram);
}

std::string line (const char *backend, const std::string &more)
{
  return std::string ("cudaintegralhist bins=16 tuning-time=0 backend=") + backend + " " + more;
}

/// A histogram that its buffer holds.
struct Frame {
  Alone alone;
  GstBuffer *buffer;

  Frame (const char *backend, const std::string &more)
      : alone (line (backend, more), caps_of ("GRAY8", kWidth, kHeight)),
        buffer (alone.pass (even (100)))
  {
  }
  ~Frame () { gst_buffer_unref (buffer); }
  GstIntegralHistogram *histogram () const { return histogram_of (buffer); }
};

template <class Managed>
Managed *array_of (GstIntegralHistogram *histogram, int flags, gint64 stream = 1)
{
  g_autoptr (GError) error = nullptr;
  if (std::is_same_v<Managed, Unversioned>)
    flags |= GST_INTEGRAL_HISTOGRAM_DLPACK_UNVERSIONED;
  gpointer array = gst_integral_histogram_get_dlpack (
      histogram, GstIntegralHistogramDLPackFlags (flags), stream, &error);
  fail_unless (array != nullptr, "%s", error ? error->message : "no error");
  return static_cast<Managed *> (array);
}

void check_array (GstIntegralHistogram *histogram, const Array &array, const DataType &type)
{
  const int bytes = type.bits / 8;
  fail_unless_equals_int (array.n_dimensions, 3);
  fail_unless (array.shape[0] == kBins && array.shape[1] == kHeight && array.shape[2] == kWidth);
  fail_unless_equals_int (array.strides[0] * bytes,
                          gst_integral_histogram_get_plane_pitch (histogram));
  fail_unless_equals_int (array.strides[1] * bytes,
                          gst_integral_histogram_get_row_pitch (histogram));
  fail_unless_equals_int (array.strides[2], 1);
  fail_unless_equals_int (array.byte_offset, 0);
  fail_unless (array.type.code == type.code && array.type.bits == type.bits
               && array.type.lanes == 1);
}

void refuse (GstIntegralHistogram *histogram, int flags, gint64 stream, const char *why)
{
  g_autoptr (GError) error = nullptr;
  const int before = references (histogram);
  gpointer array = gst_integral_histogram_get_dlpack (
      histogram, GstIntegralHistogramDLPackFlags (flags), stream, &error);
  fail_unless (array == nullptr, "not refused: %s", why);
  fail_unless (strstr (error->message, why), "%s: %s", why, error->message);
  fail_unless (g_error_matches (error, GST_INTEGRAL_HISTOGRAM_ERROR,
                                GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION));
  fail_unless_equals_int (references (histogram), before);
}

}  // namespace

BACKEND_TEST (fields)
{
  const bool cpu = strcmp (backend, "cpu") == 0;
  struct Case {
    const char *properties;
    int bits;
  };
  for (const Case &c : { Case{ "", 32 }, Case{ "compute=eager", 32 }, Case{ "counter=u16", 16 },
                         Case{ "weight=gradient feature=signed-gradient", 32 } })
    for (const bool is_signed : { false, true }) {
      Frame frame (backend, c.properties);
      const DataType type = { is_signed ? signed_integer : unsigned_integer, guint8 (c.bits), 1 };
      const int flags = is_signed ? GST_INTEGRAL_HISTOGRAM_DLPACK_SIGNED : 0;
      g_autoptr (GError) error = nullptr;
      int id = 99;
      const int device = gst_integral_histogram_get_dlpack_device (frame.histogram (), &id, &error);
      fail_unless (device == (cpu ? DeviceType::cpu : DeviceType::cuda) && id == 0, "%s: %s",
                   c.properties, error ? error->message : "");
      const int before = references (frame.histogram ());

      auto *versioned = array_of<Versioned> (frame.histogram (), flags);
      fail_unless_equals_int (versioned->version.major, 1);
      fail_unless_equals_int (versioned->flags, Versioned::kReadOnly);
      fail_unless_equals_int (versioned->array.device.type, device);
      check_array (frame.histogram (), versioned->array, type);
      auto *unversioned = array_of<Unversioned> (frame.histogram (), flags, -1);
      fail_unless_equals_int (unversioned->array.device.type, device);
      check_array (frame.histogram (), unversioned->array, type);
      fail_unless (unversioned->array.data == versioned->array.data);
      auto *host =
          array_of<Versioned> (frame.histogram (), flags | GST_INTEGRAL_HISTOGRAM_DLPACK_HOST);
      fail_unless_equals_int (host->array.device.type, DeviceType::cpu);
      check_array (frame.histogram (), host->array, type);

      // the values of the array
      g_autoptr (GstBuffer) buffer =
          gst_integral_histogram_get_buffer (frame.histogram (), nullptr);
      GstMapInfo map;
      fail_unless (gst_buffer_map (buffer, &map, GST_MAP_READ));
      fail_unless (host->array.data == map.data);
      gst_buffer_unmap (buffer, &map);
      gst_clear_buffer (&buffer);

      fail_unless_equals_int (references (frame.histogram ()), before + 3);
      std::thread ([&] { versioned->deleter (versioned); }).join ();
      unversioned->deleter (unversioned);
      host->deleter (host);
      fail_unless_equals_int (references (frame.histogram ()), before);
    }
}

BACKEND_TEST (refusals)
{
  for (const char *properties : { "", "compute=eager", "counter=u16" }) {
    Frame frame (backend, properties);
    refuse (frame.histogram (), 0, 0, "there is no stream 0");
    refuse (frame.histogram (), GST_INTEGRAL_HISTOGRAM_DLPACK_UNVERSIONED, -2, "no stream -2");
  }
  Frame tiled (backend, "counter=u8-tiled");
  refuse (tiled.histogram (), 0, 1, "set counter to u32 or u16");
  refuse (tiled.histogram (), GST_INTEGRAL_HISTOGRAM_DLPACK_HOST, 1, "ask regions ()");
  if (strcmp (backend, "cpu") == 0)
    return;
  Frame shards (backend, "cuda-device-ids=0 task-bins=4");
  refuse (shards.histogram (), 0, 1, "get_shard ()");
  g_autoptr (GError) error = nullptr;
  fail_unless_equals_int (
      gst_integral_histogram_get_dlpack_device (shards.histogram (), nullptr, &error), 0);
  fail_unless (strstr (error->message, "in 4 shards"), "%s", error->message);
  auto *whole = array_of<Versioned> (shards.histogram (), GST_INTEGRAL_HISTOGRAM_DLPACK_HOST);
  whole->deleter (whole);
  g_autoptr (GstIntegralHistogram) shard =
      gst_integral_histogram_get_shard (shards.histogram (), 3, nullptr);
  auto *part = array_of<Versioned> (shard, 0);
  fail_unless (part->array.device.type == cuda && part->array.shape[0] == 4);
  part->deleter (part);
}

/// An array outlives buffer, element and plugin's state, and its deleter runs in any thread.
BACKEND_TEST (outlives)
{
  Versioned *array;
  {
    Frame frame (backend, "");
    array = array_of<Versioned> (frame.histogram (), GST_INTEGRAL_HISTOGRAM_DLPACK_HOST);
  }
  const auto *const tensor = static_cast<const guint32 *> (array->array.data);
  const gint64 *const strides = array->array.strides;
  for (int b = 0; b < kBins; b++)
    fail_unless_equals_int (tensor[b * strides[0] + (kHeight - 1) * strides[1] + kWidth - 1],
                            b == 100 * kBins / 256 ? kWidth * kHeight : 0);
  std::thread ([&] { array->deleter (array); }).join ();
}

#if INTHIST_CUDA

/// A stream reads slowly when the array is dropped, and may itself be destroyed. The next frame
/// waits for the stream. If only the reference is dropped it does not wait, which shows that the
/// test can fail.
TEST (slow)
{
  if (!have ("cuda"))
    return;
  constexpr int kColumns = 640, kRows = 480;
  for (const bool by_deleter : { true, false })
    for (const bool gone : { false, true }) {
      Alone alone (line ("cuda", "max-tensors=1 download=never"),
                   caps_of ("GRAY8", kColumns, kRows));
      gst_buffer_unref (alone.pass (even (0, kColumns, kRows)));
      GstBuffer *out = alone.pass (even (10, kColumns, kRows));
      GstIntegralHistogram *histogram = gst_integral_histogram_ref (histogram_of (out));
      gst_buffer_unref (out);
      const gsize bytes = gst_integral_histogram_get_plane_pitch (histogram) * kBins;
      const DeviceWords copy (bytes / 4);
      auto stream = std::make_unique<DeviceStream> (), other = std::make_unique<DeviceStream> ();
      auto *array = array_of<Versioned> (histogram, 0, gint64 (stream->get ()));
      // another stream reads, such as that of a consumer that has several
      cudaEvent_t exchanged;
      check_cuda (cudaEventCreateWithFlags (&exchanged, cudaEventDisableTiming));
      check_cuda (cudaEventRecord (exchanged, stream->get ()));
      check_cuda (cudaStreamWaitEvent (other->get (), exchanged, 0));
      check_cuda (slow_copy (array->array.data, copy.data, bytes, 50, other->get ()));
      if (gone) {
        stream.reset ();
        other.reset ();
      }
      if (by_deleter)
        array->deleter (array);
      else
        gst_integral_histogram_unref (histogram);  // that of the array, which stays
      gst_integral_histogram_unref (histogram);
      out = alone.pass (even (200, kColumns, kRows));
      fail_unless (gst_integral_histogram_wait (histogram_of (out), GST_CLOCK_TIME_NONE, nullptr));
      check_cuda (cudaDeviceSynchronize ());
      const std::vector<guint32> values = copy.read ();
      const gsize row = gst_integral_histogram_get_row_pitch (histogram_of (out)) / 4,
                  plane = gst_integral_histogram_get_plane_pitch (histogram_of (out)) / 4;
      int wrong = 0;
      for (int b = 0; b < kBins; b++)
        for (int y = 0; y < kRows; y++)
          wrong += values[gsize (b) * plane + gsize (y) * row + kColumns - 1]
                   != (b == 10 * kBins / 256 ? guint32 (kColumns * (y + 1)) : 0);
      if (by_deleter)
        fail_unless (wrong == 0, "%d rows of the copy are wrong", wrong);
      else
        fail_unless (wrong > 0, "without the deleter nothing is wrong: the test says nothing");
      gst_buffer_unref (out);
      check_cuda (cudaEventDestroy (exchanged));
    }
}

#else

TEST (slow)
{
  printf ("SKIP: dlpack: slow readers: this build has no CUDA\n");
}

#endif
