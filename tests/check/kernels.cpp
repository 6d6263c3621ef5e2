// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The kernel library against slow and obvious code: the reference against counted pixels, every strategy against the reference, and the
// functions round them against plain loops. On every device, integer for integer.
//
// Outputs are filled with a poison byte first, guards and gaps included, and compared as a whole with an equally poisoned buffer that
// the reference filled, so an element left out and a byte written too much both show.
//
// Environment:
//   INTHIST_SEED=n            the seed, printed at the start (a fixed one by default)
//   INTHIST_CASES=small       small frames only, and buffers without guards, so that compute-sanitizer or ASan sees the true sizes
//   INTHIST_TEST_DATA=folder  where vtest.avi is
//   INTHIST_TEST_FRAMES=file  frames of 768x576 GRAY8 to take instead, for hosts that cannot decode it
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gst/app/gstappsink.h>
#include <gst/check/gstcheck.h>

#include "inthist.hpp"

#if INTHIST_CUDA
#include <cuda_runtime.h>
#endif

using namespace inthist;

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint8_t kPoison = 0xa5;
constexpr Device kDevices[] = { Device::cpu, Device::cuda };

unsigned
seed ()
{
  const char *text = g_getenv ("INTHIST_SEED");
  return text ? unsigned (g_ascii_strtoull (text, nullptr, 0)) : 20250;
}

bool
small_cases ()
{
  return g_strcmp0 (g_getenv ("INTHIST_CASES"), "small") == 0;
}

#if INTHIST_CUDA
#define CHECK_CUDA(call) \
  G_STMT_START \
    { \
      const cudaError_t status_ = (call); \
      fail_unless (status_ == cudaSuccess, "%s: %s", #call, cudaGetErrorString (status_)); \
    } \
  G_STMT_END
#endif

/// Says loudly why, where the device is not to be had.
bool
have (Device device, const char *what)
{
  if (device == Device::cpu)
    return true;
#if INTHIST_CUDA
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount (&count);
  if (status == cudaSuccess && count > 0)
    return true;
  const char *reason = status == cudaSuccess ? "no device" : cudaGetErrorString (status);
#else
  const char *reason = "built without CUDA";
#endif
  printf ("SKIP: %s on CUDA: %s\n", what, reason);
  return false;
}

/// A queue of work: a CUDA stream, or nothing.
class Queue {
public:
  explicit Queue (Device device) : device_ (device)
  {
#if INTHIST_CUDA
    if (device_ == Device::cuda)
      CHECK_CUDA (cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking));
#endif
  }
  ~Queue ()
  {
#if INTHIST_CUDA
    if (stream)
      cudaStreamDestroy (stream);
#endif
  }
  Queue (const Queue &) = delete;

  void wait ()
  {
#if INTHIST_CUDA
    if (device_ == Device::cuda)
      CHECK_CUDA (cudaStreamSynchronize (stream));
#endif
  }

  Stream stream = nullptr;

private:
  const Device device_;
};

/// Memory of a device between two guards. The data lies `shift` bytes past a multiple of 256.
class Block {
public:
  Block (Device device, std::size_t bytes, std::size_t shift = 0)
      : front (256 + shift), total (front + bytes + (small_cases () ? 0 : 256)), bytes_ (bytes), device_ (device)
  {
#if INTHIST_CUDA
    if (device_ == Device::cuda)
      CHECK_CUDA (cudaMalloc (&memory_, total));
#endif
    if (device_ == Device::cpu)
      fail_unless (posix_memalign (&memory_, 256, total) == 0);
    data = static_cast<std::uint8_t *> (memory_) + front;
  }
  ~Block ()
  {
#if INTHIST_CUDA
    if (device_ == Device::cuda)
      cudaFree (memory_);
#endif
    if (device_ == Device::cpu)
      free (memory_);
  }
  Block (const Block &) = delete;

  void poison ()
  {
#if INTHIST_CUDA
    if (device_ == Device::cuda) {
      CHECK_CUDA (cudaMemset (memory_, kPoison, total));
      CHECK_CUDA (cudaDeviceSynchronize ());
    }
#endif
    if (device_ == Device::cpu)
      memset (memory_, kPoison, total);
  }

  void put (const void *from, std::size_t bytes)
  {
    g_assert (bytes <= bytes_);
#if INTHIST_CUDA
    if (device_ == Device::cuda) {
      CHECK_CUDA (cudaMemcpy (data, from, bytes, cudaMemcpyHostToDevice));
      CHECK_CUDA (cudaDeviceSynchronize ());
    }
#endif
    if (device_ == Device::cpu)
      memcpy (data, from, bytes);
  }

  /// All of it, guards included.
  Bytes get () const
  {
    Bytes all (total);
#if INTHIST_CUDA
    if (device_ == Device::cuda)
      CHECK_CUDA (cudaMemcpy (all.data (), memory_, total, cudaMemcpyDeviceToHost));
#endif
    if (device_ == Device::cpu)
      memcpy (all.data (), memory_, total);
    return all;
  }

  bool guards_hold () const
  {
    const Bytes all = get ();
    const auto is_poison = [] (std::uint8_t byte) { return byte == kPoison; };
    return std::all_of (all.begin (), all.begin () + front, is_poison)
           && std::all_of (all.begin () + front + bytes_, all.end (), is_poison);
  }

  const std::size_t front, total;
  std::uint8_t *data = nullptr;

private:
  const std::size_t bytes_;
  const Device device_;
  void *memory_ = nullptr;
};

enum Content { kZeros, kFull, kNoise, kCheckerboard, kAcross, kDown, kContents };
constexpr const char *kContentNames[] = { "all 0", "all 255", "noise", "checkerboard", "horizontal ramp", "vertical ramp" };

/// An 8-bit image without padding.
Bytes
picture (Content content, int width, int height, unsigned seed)
{
  std::mt19937 random (seed);
  Bytes image (std::size_t (width) * height);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      int value = 0;
      switch (content) {
        case kFull: value = 255; break;
        case kNoise: value = random () >> 24; break;
        case kCheckerboard: value = (x + y) % 2 * 255; break;
        case kAcross: value = int (std::int64_t (x) * 256 / width); break;
        case kDown: value = int (std::int64_t (y) * 256 / height); break;
        default: break;
      }
      image[std::size_t (y) * width + x] = std::uint8_t (value);
    }
  return image;
}

/// Bin indices with the stride that strategies get, and rubbish in the columns that mean nothing.
Bytes
bin_plane (const Bytes &image, const Shape &shape)
{
  const std::size_t stride = bin_stride (shape.width);
  Bytes plane (stride * shape.height);
  std::mt19937 random (1);
  for (int y = 0; y < shape.height; y++) {
    std::uint8_t *row = &plane[y * stride];
    for (int x = 0; x < shape.width; x++)
      row[x] = std::uint8_t (image[std::size_t (y) * shape.width + x] * shape.bins / 256);
    for (std::size_t x = shape.width; x < stride; x++)
      row[x] = std::uint8_t (random () % shape.bins);
  }
  return plane;
}

struct Case {
  Shape shape;
  std::size_t row_gap = 0, plane_gap = 0;  // bytes between rows and planes, in a layout of our own: rows on 16 bytes
  bool own_layout = false;                 // else layout_of
  std::size_t shift = 0;                   // of the tensor and the bin plane from a multiple of 256
  Content content = kNoise;
  unsigned seed = 0;

  Layout layout () const
  {
    if (!own_layout)
      return layout_of (shape);
    const std::size_t row = (shape.width * bytes_of (shape.counter) + 15) / 16 * 16 + row_gap;
    return { row, row * shape.height + plane_gap };
  }

  std::string name () const
  {
    const Layout at = layout ();
    char text[256];
    snprintf (text, sizeof text, "%dx%d, %d bins, %s, row_pitch %zu, plane_pitch %zu, shift %zu, %s, INTHIST_SEED=%u", shape.width,
              shape.height, shape.bins, shape.counter == Counter::u32 ? "u32" : "u16", at.row_pitch, at.plane_pitch, shift,
              kContentNames[content], ::seed ());
    return text;
  }
};

/// The list that every strategy runs through.
std::vector<Case>
cases ()
{
  static constexpr int kSizes[][2] = {
    { 1, 1 },    { 1, 37 },   { 37, 1 },    { 2, 2 },     { 15, 31 },  { 16, 32 },   { 17, 33 },   { 63, 63 },   { 64, 64 },   { 65, 65 },
    { 127, 63 }, { 128, 64 }, { 129, 65 },  { 255, 63 },  { 256, 64 }, { 257, 65 },  { 127, 129 }, { 128, 128 }, { 129, 127 }, { 101, 77 },
    { 3, 191 },  { 333, 97 }, { 1021, 41 }, { 511, 192 }, { 512, 95 }, { 640, 480 }, { 641, 479 }, { 70000, 3 }, { 3, 70000 },
  };
  static constexpr int kBins[] = { 1, 2, 3, 16, 17, 32, 255, 256 };
  const bool small = small_cases ();
  const std::size_t most_pixels = small ? 20000 : SIZE_MAX, most_elements = small ? 1 << 20 : 10 << 20;

  std::vector<Case> list;
  std::mt19937 random (seed ());
  const auto add = [&] (int width, int height, int bins, Content content) {
    for (const Counter counter : { Counter::u32, Counter::u16 }) {
      Case c{ { width, height, bins, counter } };
      c.own_layout = list.size () % 3 != 0;
      c.row_gap = list.size () / 3 % 4 * 16;
      c.plane_gap = list.size () / 5 % 3 * 48;
      c.shift = list.size () / 2 % 4 * 16;
      c.content = content;
      c.seed = random ();
      list.push_back (c);
    }
  };
  for (const auto &[width, height] : kSizes)
    for (const int bins : kBins) {
      const std::size_t pixels = std::size_t (width) * height, elements = std::size_t (std::max (width, 16)) * height * bins;
      if (pixels > most_pixels || elements > most_elements)
        continue;
      const bool all = !small && (elements <= 1 << 18 || bins == 2);
      const int turn = int (list.size () / 2 % kContents);
      for (int content = 0; content < kContents; content++)
        if (all || content == turn || (content == kNoise && elements <= 4 << 20))
          add (width, height, bins, Content (content));
    }
  for (int i = 0; i < (small ? 10 : 100); i++) {
    const int width = 1 + random () % (small ? 150 : 700), height = 1 + random () % (small ? 100 : 300);
    add (width, height, 1 + random () % std::min<std::size_t> (256, most_elements / 4 / width / height), Content (random () % kContents));
  }
  return list;
}

/// The first element or byte in which the buffers differ, for people.
std::string
difference (const Shape &shape, const Layout &layout, std::size_t front, const Bytes &got, const Bytes &wanted)
{
  const auto value = [&] (const Bytes &bytes, std::size_t at) {
    std::uint32_t value = 0;
    memcpy (&value, &bytes[at], bytes_of (shape.counter));
    return value;
  };
  char text[128] = "equal";
  for (int b = 0; b < shape.bins; b++)
    for (int y = 0; y < shape.height; y++)
      for (int x = 0; x < shape.width; x++) {
        const std::size_t at = front + b * layout.plane_pitch + y * layout.row_pitch + x * bytes_of (shape.counter);
        if (value (got, at) == value (wanted, at))
          continue;
        snprintf (text, sizeof text, "first wrong (bin, y, x) = (%d, %d, %d): %u, must be %u", b, y, x, value (got, at),
                  value (wanted, at));
        return text;
      }
  const auto [at, other] = std::mismatch (got.begin (), got.end (), wanted.begin ());
  if (at != got.end ())
    snprintf (text, sizeof text, "byte %td outside the elements (of a tensor of %zu) was written",
              at - got.begin () - std::ptrdiff_t (front), tensor_bytes (shape, layout));
  return text;
}

/// One frame's buffers on a device and what must come out.
struct Frame {
  const Shape shape;
  const Layout layout;
  Block bins, tensor;
  Bytes wanted;  // the tensor's block

  Frame (Device device, const Case &c, const Bytes &image)
      : shape (c.shape), layout (c.layout ()), bins (device, bin_stride (shape.width) * shape.height, c.shift),
        tensor (device, tensor_bytes (shape, layout), c.shift)
  {
    use (image);
  }

  void use (const Bytes &image)
  {
    Bytes plane = bin_plane (image, shape);
    bins.put (plane.data (), plane.size ());
    tensor.poison ();
    wanted.assign (tensor.total, kPoison);
    reference ({ shape, layout, { plane.data (), bin_stride (shape.width) }, wanted.data () + tensor.front });
  }

  Job job (Block &workspace, const Queue &queue)
  {
    return { shape, layout, { bins.data, bin_stride (shape.width) }, tensor.data, workspace.data, queue.stream };
  }
};

int failures = 0;

void
expect_equal (const char *what, const Case &c, const Frame &frame)
{
  const Bytes got = frame.tensor.get ();
  if (got == frame.wanted)
    return;
  printf ("FAIL: %s, %s: %s\n", what, c.name ().c_str (),
          difference (frame.shape, frame.layout, frame.tensor.front, got, frame.wanted).c_str ());
  fail_unless (++failures < 10, "too many failures");
}

void
setup ()
{
  failures = 0;
}

void
teardown ()
{
  fail_unless (failures == 0, "%d failures, see above", failures);
}

void
run_strategies (Device device)
{
  const auto list = cases ();
  Queue queue (device);
  int runs = 0, number = 0;
  for (const Case &c : list) {
    number++;
    Frame frame (device, c, picture (c.content, c.shape.width, c.shape.height, c.seed));
    for (const Strategy &strategy : strategies ()) {
      if (strategy.device != device || !strategy.supports (c.shape))
        continue;
      // compute-sanitizer takes its time for each launch, and cw-b has one for every line of every bin: all but the fastest share the smallest out
      if (small_cases () && &strategy != fastest_strategy (device)
          && (c.shape.bins * (c.shape.width + c.shape.height) > 3000 || (number + (&strategy - strategies ().data ())) % 4 != 0))
        continue;
      Block workspace (device, strategy.workspace_bytes (c.shape));
      if (!small_cases ())
        workspace.poison ();
      frame.tensor.poison ();
      const int status = strategy.run (frame.job (workspace, queue));
      fail_unless (status == 0, "%s, %s: error %d", strategy.name, c.name ().c_str (), status);
      queue.wait ();
      expect_equal (strategy.name, c, frame);
      if (!small_cases ())
        fail_unless (workspace.guards_hold (), "%s, %s: wrote outside its workspace", strategy.name, c.name ().c_str ());
      runs++;
    }
  }
  printf ("strategies on %s: %d runs, INTHIST_SEED=%u\n", device == Device::cpu ? "the CPU" : "CUDA", runs, seed ());
}

/// A strategy may refuse a shape, but not an ordinary one, and not without saying what it takes.
void
run_support ()
{
  for (const Strategy &strategy : strategies ()) {
    bool all = true;
    for (const Shape &shape :
         { Shape{ 1, 1, 1 }, Shape{ 641, 479, 32 }, Shape{ 1920, 1080, 256 }, Shape{ 70000, 3, 17 }, Shape{ 8192, 8192, 128 } })
      all = strategy.supports (shape) && all;
    for (const Shape &shape : { Shape{ 1, 1, 1 }, Shape{ 641, 479, 32 }, Shape{ 1920, 1080, 256 } })
      fail_unless (strategy.supports (shape), "%s refuses %dx%dx%d", strategy.name, shape.width, shape.height, shape.bins);
    fail_unless (all == (strategy.limit[0] == 0), "%s: its limit is \"%s\"", strategy.name, strategy.limit);
    fail_unless (find_strategy (strategy.name) == &strategy, "%s is in the table twice", strategy.name);
  }
  for (const Device device : kDevices)
    if (const Strategy *fastest = fastest_strategy (device))
      fail_unless (fastest->device == device && fastest->limit[0] == 0, "%s cannot be what auto takes", fastest->name);
}

/// One image, another, the first again, in the same buffers.
void
run_again (Device device)
{
  Queue queue (device);
  for (const Strategy &strategy : strategies ()) {
    if (strategy.device != device)
      continue;
    for (const Counter counter : { Counter::u32, Counter::u16 }) {
      Case c{ { 201, 133, small_cases () ? 4 : 19, counter } };
      Frame frame (device, c, picture (kNoise, 201, 133, seed ()));
      Block workspace (device, strategy.workspace_bytes (c.shape));
      for (int i = 0; i < 6; i++) {
        c.content = i / 2 % 2 ? kDown : kNoise;
        if (i % 2 == 0)
          frame.use (picture (c.content, 201, 133, seed ()));
        fail_unless (strategy.run (frame.job (workspace, queue)) == 0);
        queue.wait ();
        expect_equal (strategy.name, c, frame);
      }
    }
  }
}

/// Two queues of work side by side: streams on CUDA, threads on the CPU.
void
run_at_once (Device device)
{
  const int rounds = small_cases () ? 2 : 20;
  for (const Strategy &strategy : strategies ()) {
    if (strategy.device != device)
      continue;
    for (const Counter counter : { Counter::u32, Counter::u16 }) {
      Case a{ { 333, 197, small_cases () ? 5 : 32, counter } }, b{ { 517, 131, small_cases () ? 4 : 20, counter } };
      b.content = kAcross;
      Frame frame_a (device, a, picture (a.content, 333, 197, seed ())), frame_b (device, b, picture (b.content, 517, 131, seed ()));
      Block workspace_a (device, strategy.workspace_bytes (a.shape)), workspace_b (device, strategy.workspace_bytes (b.shape));
      Queue queue_a (device), queue_b (device);
      const Job job_a = frame_a.job (workspace_a, queue_a), job_b = frame_b.job (workspace_b, queue_b);
      int status[2] = {};
      if (device == Device::cpu) {
        const auto repeat = [&] (const Job &job, int &status) {
          for (int i = 0; i < rounds; i++)
            status |= strategy.run (job);
        };
        std::thread other (repeat, job_a, std::ref (status[0]));
        repeat (job_b, status[1]);
        other.join ();
      } else {
        for (int i = 0; i < rounds; i++) {
          status[0] |= strategy.run (job_a);
          status[1] |= strategy.run (job_b);
        }
        queue_a.wait ();
        queue_b.wait ();
      }
      fail_unless (status[0] == 0 && status[1] == 0);
      expect_equal (strategy.name, a, frame_a);
      expect_equal (strategy.name, b, frame_b);
    }
  }
}

struct NamedFormat {
  const char *name;
  PixelFormat format;
  int value_byte;        // where a value lies in a pixel, in bytes; -1: 10 bits from bit 0
  int red, green, blue;  // or the three of them
};

std::vector<NamedFormat>
formats ()
{
  std::vector<NamedFormat> list = {
    { "8-bit luma", { 1, 1, {}, {} }, 0, 0, 0, 0 },
    { "16-bit luma", { 2, 1, { 8 }, {} }, 1, 0, 0, 0 },
    { "10-bit luma in the low bits", { 2, 1, { 2 }, {} }, -1, 0, 0, 0 },
    { "YUY2", { 2, 1, { 0 }, {} }, 0, 0, 0, 0 },
    { "UYVY", { 2, 1, { 8 }, {} }, 1, 0, 0, 0 },
  };
  static constexpr struct {
    const char *name;
    int bytes, red, green, blue;
  } kOrders[] = {
    { "RGB", 3, 0, 1, 2 },  { "BGR", 3, 2, 1, 0 },  { "RGBx", 4, 0, 1, 2 },
    { "BGRx", 4, 2, 1, 0 }, { "xRGB", 4, 1, 2, 3 }, { "xBGR", 4, 3, 2, 1 },
  };
  static constexpr double kMatrices[][2] = { { 0.299, 0.114 }, { 0.2126, 0.0722 } };  // BT.601 and BT.709: red and blue
  for (const auto &order : kOrders)
    for (const auto &[red, blue] : kMatrices) {
      const auto fixed = [] (double weight) { return std::uint32_t (std::lround (weight * 65536)); };
      list.push_back ({ order.name,
                        { order.bytes,
                          3,
                          { 8 * order.red, 8 * order.green, 8 * order.blue },
                          { fixed (red), 65536 - fixed (red) - fixed (blue), fixed (blue) } },
                        0,
                        order.red,
                        order.green,
                        order.blue });
    }
  return list;
}

int
plain_value (const std::uint8_t *pixel, const NamedFormat &f)
{
  if (f.format.channels == 1)
    return f.value_byte >= 0 ? pixel[f.value_byte] : (pixel[1] * 256 + pixel[0]) / 4 % 256;
  const double sum = double (f.format.weight[0]) * pixel[f.red] + double (f.format.weight[1]) * pixel[f.green]
                     + double (f.format.weight[2]) * pixel[f.blue];
  return int (std::floor (sum / 65536 + 0.5));
}

void
run_bin_image (Device device)
{
  static constexpr int kSizes[][2] = { { 1, 1 }, { 3, 5 }, { 127, 9 }, { 130, 66 }, { 256, 3 }, { 641, 67 }, { 70001, 2 }, { 2, 70001 } };
  static constexpr std::size_t kGaps[] = { 0, 1, 37, 64 };  // of the stride
  std::mt19937 random (seed ());
  Queue queue (device);
  int turn = 0;
  for (const NamedFormat &f : formats ())
    for (const auto &[width, height] : kSizes) {
      if (small_cases () && width * height > 20000)
        continue;
      turn++;
      if (width * height > 100000 && turn % 5 != 0)
        continue;
      const std::size_t bytes = f.format.bytes, stride = width * bytes + kGaps[turn % 4], shift = turn / 4 % 3;
      Bytes image (stride * (height - 1) + width * bytes);
      for (auto &byte : image)
        byte = std::uint8_t (random () >> 24);
      if (f.value_byte < 0)
        for (std::size_t y = 0; y < std::size_t (height); y++)
          for (int x = 0; x < width; x++)
            image[y * stride + x * bytes + 1] &= 3;
      Lut lut;
      for (auto &entry : lut)
        entry = std::uint8_t (random () >> 24);

      const std::size_t bins_stride = bin_stride (width);
      Block source (device, image.size (), shift), bins (device, bins_stride * height, turn % 4 * 16);
      source.put (image.data (), image.size ());
      bins.poison ();
      const Image input{ source.data, stride, f.format };
      const BinPlane output{ bins.data, bins_stride };
#if INTHIST_CUDA
      if (device == Device::cuda)
        fail_unless (cuda::bin_image (input, lut, width, height, output, queue.stream) == 0);
#endif
      if (device == Device::cpu)
        cpu::bin_image (input, lut, width, height, output);
      queue.wait ();

      const Bytes got = bins.get ();
      for (std::size_t y = 0; y < std::size_t (height); y++)
        for (int x = 0; x < width; x++) {
          const int is = got[bins.front + y * bins_stride + x], must = lut[plain_value (&image[y * stride + x * bytes], f)];
          if (is != must)
            ck_abort_msg ("%s %dx%d, stride %zu: (%zu, %d) is %d, must be %d, INTHIST_SEED=%u", f.name, width, height, stride, y, x, is,
                          must, seed ());
        }
      fail_unless (bins.guards_hold (), "%s %dx%d: wrote outside the plane", f.name, width, height);
    }
}

/// Rectangles of every kind, not yet clipped.
std::vector<Region>
rectangles (int width, int height, int n)
{
  std::vector<Region> list = {
    { 0, 0, width, height },
    { -5, -7, width + 20, height + 20 },
    { 0, 0, 1, 1 },
    { width - 1, 0, 1, 1 },
    { 0, height - 1, 1, 1 },
    { width - 1, height - 1, 1, 1 },
    { 0, 0, 0, 0 },
    { width / 2, height / 2, 0, 3 },
    { width, 0, 5, 5 },
    { -5, -5, 5, 5 },
    { 0, 0, width, 1 },
    { 0, 0, 1, height },
    { 0, 0, width, (height + 1) / 2 },
    { width / 2, 0, width, height },
    { 1, 1, width, height },
  };
  std::mt19937 random (seed ());
  while (int (list.size ()) < n) {
    const int w = random () % (width + 3), h = random () % (height + 3);
    list.push_back ({ int (random () % (2 * width + 1)) - width / 2, int (random () % (2 * height + 1)) - height / 2, w, h });
  }
  return list;
}

void
run_count_regions (Device device)
{
  struct {
    int width, height, bins;
    Content content;
  } kFrames[] = {
    { 1, 1, 1, kZeros },     { 37, 23, 256, kNoise },  { 333, 97, 17, kNoise },  { 640, 480, 1, kZeros },
    { 640, 480, 2, kFull },  { 640, 480, 16, kNoise }, { 640, 480, 3, kAcross }, { 70000, 3, 2, kFull },
    { 70000, 3, 5, kNoise }, { 3, 70000, 2, kFull },   { 3, 70000, 5, kDown },
  };
  Queue queue (device);
  int turn = 0;
  for (const auto &[width, height, bins, content] : kFrames) {
    if (small_cases () && width * height > 1000)
      continue;
    const Bytes image = picture (content, width, height, seed ());
    std::vector<Region> regions;
    for (const Region &r : rectangles (width, height, 120))
      regions.push_back (clip (r, width, height));
    std::vector<std::uint32_t> wanted (regions.size () * bins);
    for (std::size_t i = 0; i < regions.size (); i++)
      for (int y = regions[i].y; y < regions[i].y + regions[i].height; y++)
        for (int x = regions[i].x; x < regions[i].x + regions[i].width; x++)
          wanted[i * bins + image[std::size_t (y) * width + x] * bins / 256]++;

    for (const Counter counter : { Counter::u32, Counter::u16 }) {
      Case c{ { width, height, bins, counter }, 16, 48, turn % 2 == 0, 16, content };
      Frame frame (device, c, image);
      frame.tensor.put (frame.wanted.data () + frame.tensor.front, tensor_bytes (frame.shape, frame.layout));
      Block list (device, regions.size () * sizeof (Region)), counts (device, wanted.size () * sizeof (std::uint32_t));
      list.put (regions.data (), regions.size () * sizeof (Region));
      counts.poison ();
      auto *const out = reinterpret_cast<std::uint32_t *> (counts.data);
      if (device == Device::cpu)
        cpu::count_regions (frame.shape, frame.layout, frame.tensor.data, regions, out);
#if INTHIST_CUDA
      if (device == Device::cuda) {
        void *pinned = nullptr;
        CHECK_CUDA (cudaHostAlloc (&pinned, regions.size () * sizeof (Region), cudaHostAllocDefault));
        memcpy (pinned, regions.data (), regions.size () * sizeof (Region));
        const auto *from = static_cast<const Region *> (turn % 4 < 2 ? pinned : list.data);
        fail_unless (cuda::count_regions (frame.shape, frame.layout, frame.tensor.data, from, 0, out, queue.stream) == 0);
        fail_unless (cuda::count_regions (frame.shape, frame.layout, frame.tensor.data, from, int (regions.size ()), out, queue.stream)
                     == 0);
        queue.wait ();
        CHECK_CUDA (cudaFreeHost (pinned));
      }
#endif
      turn++;
      const Bytes got = counts.get ();
      for (std::size_t i = 0; i < regions.size (); i++)
        for (int b = 0; b < bins; b++) {
          std::uint32_t is;
          memcpy (&is, &got[counts.front + (i * bins + b) * sizeof is], sizeof is);
          fail_unless (is == wanted[i * bins + b], "%s: region %d,%d %dx%d bin %d is %u, must be %u", c.name ().c_str (), regions[i].x,
                       regions[i].y, regions[i].width, regions[i].height, b, is, wanted[i * bins + b]);
        }
      fail_unless (counts.guards_hold (), "%s: wrote outside the counts", c.name ().c_str ());
    }
  }
}

struct Video {
  int width = 0, height = 0;
  std::vector<Bytes> frames;
};

Video
decode (const std::string &file, int n)
{
  Video video;
  gchar *const text = g_strdup_printf ("filesrc location=\"%s\" ! decodebin ! videoconvert ! video/x-raw,format=GRAY8 ! "
                                       "appsink name=sink sync=false",
                                       file.c_str ());
  GstElement *const pipeline = gst_parse_launch (text, nullptr);
  g_free (text);
  if (!pipeline)
    return video;
  GstElement *const sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  for (int i = 0; i < n; i++) {
    GstSample *const sample = gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 20 * GST_SECOND);
    if (!sample)
      break;
    const GstStructure *const s = gst_caps_get_structure (gst_sample_get_caps (sample), 0);
    gst_structure_get_int (s, "width", &video.width);
    gst_structure_get_int (s, "height", &video.height);
    GstMapInfo map;
    fail_unless (gst_buffer_map (gst_sample_get_buffer (sample), &map, GST_MAP_READ));
    const std::size_t stride = (video.width + 3) / 4 * 4;
    Bytes image;
    for (int y = 0; y < video.height; y++)
      image.insert (image.end (), map.data + y * stride, map.data + y * stride + video.width);
    gst_buffer_unmap (gst_sample_get_buffer (sample), &map);
    gst_sample_unref (sample);
    video.frames.push_back (image);
  }
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (sink);
  gst_object_unref (pipeline);
  return video;
}

Video
read_frames (const char *file, int n)
{
  Video video{ 768, 576, {} };
  std::ifstream in (file, std::ios::binary);
  for (Bytes image (768 * 576); n > 0 && in.read (reinterpret_cast<char *> (image.data ()), image.size ()); n--)
    video.frames.push_back (image);
  return video;
}

/// Real frames all the way: pixels with a wide stride, bin_image, every strategy.
void
run_video (Device device)
{
  if (small_cases ())
    return;
  Video video;
  const char *raw = g_getenv ("INTHIST_TEST_FRAMES"), *folder = g_getenv ("INTHIST_TEST_DATA");
  const std::string file = std::string (folder ? folder : SOURCE_ROOT "/../shared/data") + "/vtest.avi";
  if (raw)
    video = read_frames (raw, 3);
  else if (g_file_test (file.c_str (), G_FILE_TEST_EXISTS))
    video = decode (file, 3);
  if (video.frames.empty ()) {
    printf ("SKIP: video frames: no frame from %s\n", raw ? raw : file.c_str ());
    return;
  }

  const int width = video.width, height = video.height, stride = width + 32;
  Queue queue (device);
  for (const Bytes &image : video.frames) {
    Bytes padded (std::size_t (stride) * height);
    for (int y = 0; y < height; y++)
      memcpy (&padded[std::size_t (y) * stride], &image[std::size_t (y) * width], width);
    Block source (device, padded.size ());
    source.put (padded.data (), padded.size ());
    for (const Counter counter : { Counter::u32, Counter::u16 }) {
      const Case c{ { width, height, 32, counter } };
      Frame frame (device, c, image);
      const Image input{ source.data, std::size_t (stride), {} };
      const BinPlane bins{ frame.bins.data, bin_stride (width) };
      frame.bins.poison ();
#if INTHIST_CUDA
      if (device == Device::cuda)
        fail_unless (cuda::bin_image (input, uniform_lut (32), width, height, bins, queue.stream) == 0);
#endif
      if (device == Device::cpu)
        cpu::bin_image (input, uniform_lut (32), width, height, bins);
      for (const Strategy &strategy : strategies ()) {
        if (strategy.device != device || (small_cases () && &strategy != fastest_strategy (device)))
          continue;
        Block workspace (device, strategy.workspace_bytes (c.shape));
        frame.tensor.poison ();
        fail_unless (strategy.run (frame.job (workspace, queue)) == 0);
        queue.wait ();
        expect_equal (strategy.name, c, frame);
      }
    }
  }
}

}  // namespace

/// A test on each device; the loop's index is the device's.
#define DEVICE_TEST(name) \
  GST_START_TEST (name) \
  { \
    if (have (kDevices[__i__], #name)) \
      run_##name (kDevices[__i__]); \
  } \
  GST_END_TEST

DEVICE_TEST (strategies)
DEVICE_TEST (again)
DEVICE_TEST (at_once)
DEVICE_TEST (bin_image)
DEVICE_TEST (count_regions)
DEVICE_TEST (video)

/// Algorithm 1 against its definition. Small images wholly, larger ones (u16 overflows) at some elements.
GST_START_TEST (reference_counts_pixels)
{
  static constexpr int kSizes[][2] = { { 1, 1 }, { 1, 9 }, { 9, 1 }, { 13, 11 }, { 300, 301 } };
  std::mt19937 random (seed ());
  for (const auto &[width, height] : kSizes)
    for (const int bins : { 1, 2, 3, 17, 256 })
      for (const Counter counter : { Counter::u32, Counter::u16 })
        for (int content = 0; content < kContents; content++) {
          const Case c{ { width, height, bins, counter }, 16, 32, true, 0, Content (content) };
          if (width > 100 && bins > 17)
            continue;
          const Bytes image = picture (c.content, width, height, seed ());
          const Frame frame (Device::cpu, c, image);
          const bool whole = width * height <= 1000;
          for (int i = 0; i < (whole ? width * height : 10); i++) {
            const int at = whole ? i : i == 0 ? width * height - 1 : int (random () % (width * height));
            const int x1 = at % width, y1 = at / width;
            std::vector<std::uint32_t> counts (bins);
            for (int y = 0; y <= y1; y++)
              for (int x = 0; x <= x1; x++)
                counts[image[y * width + x] * bins / 256]++;
            for (int b = 0; b < bins; b++) {
              std::uint32_t is = 0;
              memcpy (
                  &is,
                  &frame.wanted[frame.tensor.front + b * frame.layout.plane_pitch + y1 * frame.layout.row_pitch + x1 * bytes_of (counter)],
                  bytes_of (counter));
              const std::uint32_t must = counter == Counter::u32 ? counts[b] : counts[b] % 65536;
              fail_unless (is == must, "%s: (%d, %d, %d) is %u, must be %u", c.name ().c_str (), b, y1, x1, is, must);
            }
          }
        }
}
GST_END_TEST

GST_START_TEST (support)
{
  run_support ();
}
GST_END_TEST

GST_START_TEST (lut)
{
  for (int bins = 1; bins <= 256; bins++) {
    const Lut lut = uniform_lut (bins);
    for (int value = 0; value < 256; value++)
      fail_unless_equals_int (lut[value], int (std::floor (double (value) * bins / 256)));
  }
}
GST_END_TEST

GST_START_TEST (clipping)
{
  std::mt19937 random (seed ());
  const auto some = [&] { return int (random () % 31) - 10; };
  for (int i = 0; i < 5000; i++) {
    const int width = 1 + random () % 12, height = 1 + random () % 12;
    const Region r{ some (), some (), some (), some () }, clipped = clip (r, width, height);
    int area = 0;
    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++) {
        const bool in = x >= r.x && x < r.x + r.width && y >= r.y && y < r.y + r.height;
        const bool in_clipped = x >= clipped.x && x < clipped.x + clipped.width && y >= clipped.y && y < clipped.y + clipped.height;
        fail_unless (in == in_clipped, "%d,%d %dx%d in %dx%d", r.x, r.y, r.width, r.height, width, height);
        area += in;
      }
    fail_unless_equals_int (clipped.width * clipped.height, area);
    if (area == 0)
      fail_unless (clipped.x == 0 && clipped.y == 0 && clipped.width == 0 && clipped.height == 0);
  }
  const Region far = clip ({ 5, 6, INT_MAX, INT_MAX }, 100, 50), nowhere = clip ({ INT_MAX, INT_MIN, INT_MAX, INT_MAX }, 100, 50);
  fail_unless (far.x == 5 && far.y == 6 && far.width == 95 && far.height == 44);
  fail_unless (nowhere.width == 0 && nowhere.height == 0);
}
GST_END_TEST

GST_START_TEST (layout_and_table)
{
  for (const Counter counter : { Counter::u32, Counter::u16 })
    for (int width = 1; width < 200; width++) {
      const Shape shape{ width, 7, 3, counter };
      const Layout layout = layout_of (shape);
      fail_unless (layout.row_pitch % 64 == 0 && layout.row_pitch >= width * bytes_of (counter)
                   && layout.row_pitch < width * bytes_of (counter) + 64);
      fail_unless (layout.plane_pitch == 7 * layout.row_pitch && tensor_bytes (shape, layout) == 3 * layout.plane_pitch);
    }
  for (const Strategy &strategy : strategies ()) {
    fail_unless (find_strategy (strategy.name) == &strategy, "two strategies are called %s", strategy.name);
    fail_unless (fastest_strategy (strategy.device) <= &strategy && fastest_strategy (strategy.device)->device == strategy.device);
  }
  fail_unless (find_strategy ("none such") == nullptr);
  fail_unless (fastest_strategy (Device::cpu) != nullptr);
  fail_unless ((fastest_strategy (Device::cuda) != nullptr) == bool (INTHIST_CUDA));
}
GST_END_TEST

static Suite *
kernels_suite ()
{
  Suite *const suite = suite_create ("kernels");
  TCase *const tcase = tcase_create ("kernels");
  setvbuf (stdout, nullptr, _IOLBF, 0);  // a test that fails ends its process without a flush
  printf ("INTHIST_SEED=%u%s\n", seed (), small_cases () ? ", small cases" : "");
  suite_add_tcase (suite, tcase);
  tcase_set_timeout (tcase, 600);
  tcase_add_checked_fixture (tcase, setup, teardown);
  tcase_add_test (tcase, layout_and_table);
  tcase_add_test (tcase, support);
  tcase_add_test (tcase, lut);
  tcase_add_test (tcase, clipping);
  tcase_add_test (tcase, reference_counts_pixels);
  const int devices = int (std::size (kDevices));
  tcase_add_loop_test (tcase, bin_image, 0, devices);
  tcase_add_loop_test (tcase, count_regions, 0, devices);
  tcase_add_loop_test (tcase, strategies, 0, devices);
  tcase_add_loop_test (tcase, again, 0, devices);
  tcase_add_loop_test (tcase, at_once, 0, devices);
  tcase_add_loop_test (tcase, video, 0, devices);
  return suite;
}

GST_CHECK_MAIN (kernels)
