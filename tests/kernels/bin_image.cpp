// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pixels of every format become the bins that slow and obvious code finds. bin_image makes them, or
// a strategy that takes pixels, of noise and of real video.
//
// Environment: devices.hpp, and
//   INTHIST_TEST_DATA=folder  where vtest.avi is (package opencv-doc has it, in
//   /usr/share/doc/opencv-doc/examples/data)
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <random>

#include <gst/app/gstappsink.h>
#include <kernels/query.hpp>
#include <kernels/registry.hpp>

#include "devices.hpp"

namespace {

struct NamedFormat {
  const char *name;
  PixelFormat format;
  int value_byte;        // where a value lies in a pixel, in bytes; -1: 10 bits from bit 0
  int red, green, blue;  // or the three of them
};

std::vector<NamedFormat> formats ()
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
  static constexpr double kMatrices[][2] = {
    { 0.299, 0.114 }, { 0.2126, 0.0722 }
  };  // BT.601 and BT.709: red and blue
  for (const auto &order : kOrders)
    for (const auto &[red, blue] : kMatrices) {
      const auto fixed = [] (double weight) {
        return std::uint32_t (std::lround (weight * 65536));
      };
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

int plain_value (const std::uint8_t *pixel, const NamedFormat &f)
{
  if (f.format.channels == 1)
    return f.value_byte >= 0 ? pixel[f.value_byte] : (pixel[1] * 256 + pixel[0]) / 4 % 256;
  const double sum = double (f.format.weight[0]) * pixel[f.red]
                     + double (f.format.weight[1]) * pixel[f.green]
                     + double (f.format.weight[2]) * pixel[f.blue];
  return int (std::floor (sum / 65536 + 0.5));
}

void run_bin_image (Device device)
{
  static constexpr int kSizes[][2] = { { 1, 1 },   { 3, 5 },    { 127, 9 },   { 130, 66 },
                                       { 256, 3 }, { 641, 67 }, { 70001, 2 }, { 2, 70001 } };
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
      const std::size_t bytes = f.format.bytes, stride = width * bytes + kGaps[turn % 4],
                        shift = turn / 4 % 3;
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
      Block source (device, image.size (), shift, !small_cases ()),
          bins (device, bins_stride * height, turn % 4 * 16, !small_cases ());
      source.put (image.data (), image.size ());
      bins.poison ();
      const Image input{ source.data, std::ptrdiff_t (stride), f.format };
      const PixelPlane output{ bins.data, bins_stride };
#if INTHIST_CUDA
      if (device == Device::cuda)
        fail_unless (cuda::bin_image ({ input, lut }, width, height, output, queue.stream) == 0);
#endif
      if (device == Device::cpu)
        fail_unless_equals_int (cpu::bin_image ({ input, lut }, width, height, output), 0);
      queue.wait ();

      const Bytes got = bins.get ();
      for (std::size_t y = 0; y < std::size_t (height); y++)
        for (int x = 0; x < int (bins_stride); x++) {
          const int is = got[bins.front + y * bins_stride + x],
                    must = x < width ? lut[plain_value (&image[y * stride + x * bytes], f)] : 0;
          if (is != must)
            ck_abort_msg ("%s %dx%d, stride %zu: (%zu, %d) is %d, must be %d, INTHIST_SEED=%u",
                          f.name, width, height, stride, y, x, is, must, seed ());
        }
      fail_unless (bins.guards_hold (), "%s %dx%d: wrote outside the plane", f.name, width, height);
    }
}

/// Pixels of a format with a LUT, and the bins, or a table's scores, and the tensor that they make.
struct Picture {
  Shape shape;
  Binning binning;
  Bytes image, plane, tensor;

  Picture (const Shape &s, const NamedFormat &f, std::size_t gap, std::mt19937 &random)
      : shape (s), binning{ { nullptr, std::ptrdiff_t (s.width * f.format.bytes + gap), f.format },
                            {} }
  {
    const std::size_t bytes = f.format.bytes, stride = binning.image.stride,
                      bins_stride = bin_stride (shape.width);
    image.resize (stride * (shape.height - 1) + shape.width * bytes);
    for (auto &byte : image)
      byte = std::uint8_t (random () >> 24);
    if (shape.content == Content::powers)
      for (auto &score : binning.lut)
        score = std::uint8_t (random () >> 24);
    else if (shape.bins % 5 != 0)
      binning.lut = uniform_lut (int (std::bit_floor (
          unsigned (shape.bins))));  // a shift, for which strategies may have a way of their own
    else
      for (auto &entry : binning.lut)
        entry = std::uint8_t (random () % (shape.bins + shape.bins / 4 + 1));  // some in no bin
    plane.resize (bins_stride * shape.height);
    for (int y = 0; y < shape.height; y++)
      for (int x = 0; x < shape.width; x++)
        plane[y * bins_stride + x] = binning.lut[plain_value (&image[y * stride + x * bytes], f)];
    tensor.assign (tensor_bytes (shape, layout_of (shape)), kPoison);
    make_right ({ shape, layout_of (shape), { plane.data (), bins_stride }, tensor.data () });
  }
};

/// Strategies that are given pixels instead of bins: the tensor must be the one that they make, and
/// the bins must be there afterwards unless the strategy sees to them itself.
void run_binning (Device device)
{
  static constexpr int kSizes[][2] = { { 4, 1 },    { 3, 5 },     { 128, 40 }, { 130, 66 },
                                       { 640, 67 }, { 324, 700 }, { 2052, 3 }, { 2308, 30 } };
  // bytes that the stride has more than the width, and that the picture is off 256: aligned to 8,
  // to 4, to neither
  static constexpr std::size_t kLayouts[][2] = { { 0, 0 }, { 64, 0 }, { 60, 4 }, { 1, 2 } };
  static constexpr Type kCounters[] = { Type::u32, Type::u16, Type::u16_anchored, Type::u8_tiled };
  std::mt19937 random (seed ());
  Queue queue (device);
  int number = 0;
  const auto check = [&] (const NamedFormat &f, const Shape &shape) {
    const auto &[gap, shift] = kLayouts[number++ / 2 % 4];
    const Picture picture (shape, f, gap, random);
    for (const Strategy &strategy : strategies ()) {
      if (strategy.device != device || !accepts (strategy, shape)
          || (strategy.slow && shape.width * shape.height * shape.bins > 100000)
          || (small_cases () && (strategy.slow || shape.width * shape.height * shape.bins > 50000))
          || (!strategy.bins_itself && number % 3 != 0))
        continue;
      Block source (device, picture.image.size (), shift, !small_cases ()),
          pixels (device, picture.plane.size ()), tensor (device, picture.tensor.size ()),
          workspace (device, strategy.workspace_bytes (shape, {}));
      source.put (picture.image.data (), picture.image.size ());
      pixels.poison ();
      tensor.poison ();
      workspace.poison ();
      Binning binning = picture.binning;
      binning.image.data = source.data;
      fail_unless (inthist::run (strategy, { shape,
                                             layout_of (shape),
                                             { pixels.data, bin_stride (shape.width) },
                                             tensor.data,
                                             workspace.data,
                                             queue.stream,
                                             {},
                                             nullptr,
                                             &binning })
                   == 0);
      queue.wait ();
      const std::string what = std::string (strategy.name) + ", " + f.name + ", " + name_of (shape)
                               + ", INTHIST_SEED=" + std::to_string (seed ());
      const Bytes got_pixels = pixels.get (), got = tensor.get ();
      for (int y = 0; y < shape.height && !strategy.bins_itself; y++)
        fail_unless (memcmp (&got_pixels[pixels.front + y * bin_stride (shape.width)],
                             &picture.plane[y * bin_stride (shape.width)], shape.width)
                         == 0,
                     "%s: bins of row %d", what.c_str (), y);
      fail_unless (memcmp (&got[tensor.front], picture.tensor.data (), picture.tensor.size ()) == 0,
                   "%s: the tensor", what.c_str ());
      fail_unless (pixels.guards_hold () && tensor.guards_hold () && workspace.guards_hold (),
                   "%s: wrote outside", what.c_str ());
    }
  };
  for (const NamedFormat &f : { formats ()[0], formats ()[1], formats ().back () })
    for (const auto &[width, height] : kSizes) {
      for (const int bins : { 5, 130, 1, 64, 36 })
        for (const Type counter : kCounters)
          check (f, { width, height, bins, counter });
      for (const Shape &table : { Shape{ width, height, 1, Type::u32, Content::powers },
                                  Shape{ width, height, 2, Type::u32, Content::powers },
                                  Shape{ width, height, 1, Type::s32, Content::powers } })
        for (int times = 0; times < 3; times++)  // in layouts of their own
          check (f, table);
    }
}

/// Frames one behind the other on a stream, none waited for, in one workspace and one plane of
/// bins: none may disturb the one before.
void run_in_a_row (Device device)
{
  const int frames = small_cases () ? 3 : 12;
  std::mt19937 random (seed ());
  Queue queue (device);
  for (const NamedFormat &f : { formats ()[0], formats ()[1] })
    for (const Shape &shape : { Shape{ 640, 480, 25 }, Shape{ 640, 480, 32 }, Shape{ 128, 96, 25 },
                                Shape{ 128, 96, 4 } }) {
      if (small_cases () && shape.width > 200)
        continue;
      const Picture pictures[] = { { shape, f, 0, random }, { shape, f, 0, random } };
      for (const Strategy &strategy : strategies ()) {
        if (strategy.device != device || strategy.slow || !accepts (strategy, shape))
          continue;
        std::vector<std::unique_ptr<Block>> sources, tensors;
        std::vector<Binning> binnings;
        for (const Picture &picture : pictures) {
          sources.push_back (std::make_unique<Block> (device, picture.image.size ()));
          sources.back ()->put (picture.image.data (), picture.image.size ());
          binnings.push_back (picture.binning);
          binnings.back ().image.data = sources.back ()->data;
        }
        const Block plane (device, pictures[0].plane.size ()),
            workspace (device, strategy.workspace_bytes (shape, {}));
        for (int i = 0; i < frames; i++) {
          tensors.push_back (std::make_unique<Block> (device, pictures[0].tensor.size ()));
          tensors.back ()->poison ();
        }
        for (int i = 0; i < frames; i++)
          fail_unless (inthist::run (strategy, { shape,
                                                 layout_of (shape),
                                                 { plane.data, bin_stride (shape.width) },
                                                 tensors[i]->data,
                                                 workspace.data,
                                                 queue.stream,
                                                 {},
                                                 nullptr,
                                                 &binnings[i % 2] })
                       == 0);
        queue.wait ();
        for (int i = 0; i < frames; i++) {
          const Bytes got = tensors[i]->get ();
          fail_unless (memcmp (&got[tensors[i]->front], pictures[i % 2].tensor.data (),
                               pictures[i % 2].tensor.size ())
                           == 0,
                       "%s, %s, %s: frame %d in a row, INTHIST_SEED=%u", strategy.name, f.name,
                       name_of (shape).c_str (), i, seed ());
        }
      }
    }
}

struct Video {
  int width = 0, height = 0;
  std::vector<Bytes> frames;
};

Video decode (const std::string &file, int n)
{
  Video video;
  gchar *const text = g_strdup_printf (
      "filesrc location=\"%s\" ! decodebin ! videoconvert ! video/x-raw,format=GRAY8 ! "
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

/// Real frames all the way: pixels with a wide stride, bin_image, every strategy.
void run_video (Device device)
{
  if (small_cases ())
    return;
  constexpr int kBins = 32;
  const char *folder = g_getenv ("INTHIST_TEST_DATA");
  const std::string file =
      std::string (folder ? folder : SOURCE_ROOT "/../shared/data") + "/vtest.avi";
  Video video;
  if (g_file_test (file.c_str (), G_FILE_TEST_EXISTS))
    video = decode (file, 3);
  if (video.frames.empty ()) {
    printf ("SKIP: video frames: no frame from %s; set INTHIST_TEST_DATA to a folder with "
            "vtest.avi (package opencv-doc)\n",
            file.c_str ());
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
    for (const Type counter : { Type::u32, Type::u16 }) {
      Case c = case_of ({ width, height, kBins, counter }, Pattern::video);
      c.video = std::make_shared<Bytes> (image);
      const Input in (c);
      Frame frame (device, in, true);
      frame.pixels.poison ();
      const Image input{ source.data, std::ptrdiff_t (stride), {} };
      const PixelPlane bins{ frame.pixels.data, bin_stride (width) };
#if INTHIST_CUDA
      if (device == Device::cuda)
        fail_unless (
            cuda::bin_image ({ input, uniform_lut (kBins) }, width, height, bins, queue.stream)
            == 0);
#endif
      if (device == Device::cpu)
        fail_unless_equals_int (
            cpu::bin_image ({ input, uniform_lut (kBins) }, width, height, bins), 0);
      for (const Strategy &strategy : strategies ()) {
        if (strategy.device != device || !accepts (strategy, c.shape))
          continue;
        const Block workspace (device, strategy.workspace_bytes (c.shape, {}));
        frame.poison ();
        fail_unless (inthist::run (strategy, frame.job (workspace, queue)) == 0);
        queue.wait ();
        const std::string wrong = frame.wrong ();
        fail_unless (wrong.empty (), "%s, %s: %s", strategy.name, c.name ().c_str (),
                     wrong.c_str ());
      }
    }
  }
}

/// Where the colours of a pixel lie, in planes that follow each other.
struct Planes {
  const char *name;
  int n;
  Channel channel[3];
};

constexpr Planes kPlanes[] = {
  { "gray", 1, { { 0, 1, 1 } } },
  { "16-bit gray", 1, { { 0, 2, 2, 0, 8 } } },
  { "NV12", 2, { { 0, 1, 1 }, { 1, 1, 2, 0, 0, 1, 1 }, { 1, 1, 2, 1, 0, 1, 1 } } },
  { "YV12", 3, { { 0, 1, 1 }, { 2, 1, 1, 0, 0, 1, 1 }, { 1, 1, 1, 0, 0, 1, 1 } } },
  { "P010", 2, { { 0, 2, 2, 0, 8 }, { 1, 2, 4, 0, 8, 1, 1 }, { 1, 2, 4, 2, 8, 1, 1 } } },
  { "Y42B", 3, { { 0, 1, 1 }, { 1, 1, 1, 0, 0, 1 }, { 2, 1, 1, 0, 0, 1 } } },
  { "YUY2", 1, { { 0, 1, 2 }, { 0, 1, 4, 1, 0, 1 }, { 0, 1, 4, 3, 0, 1 } } },
  { "BGRx", 1, { { 0, 1, 4, 2 }, { 0, 1, 4, 1 }, { 0, 1, 4, 0 } } },
  { "RGB10A2", 1, { { 0, 4, 4, 0, 2 }, { 0, 4, 4, 0, 12 }, { 0, 4, 4, 0, 22 } } },
};

/// An image of noise, and the bytes that it has.
struct NoiseImage {
  Image image;
  Bytes bytes;
  std::size_t at[3] = {};  // of the planes

  NoiseImage (const Planes &planes, Feature feature, int width, int height, std::mt19937 &random)
  {
    PixelFormat &format = image.format;
    format.feature = feature;
    format.quantization = info_of (feature).quantization;
    if (info_of (feature).reads == Reads::luma_3x3)
      format.quantization[0] = std::uint8_t (1 + random () % 180);
    const Channel &first = planes.channel[0];
    format.bytes = first.step;
    format.shift[0] = first.shift + 8 * first.offset;
    if (first.bytes == 4 || planes.channel[1].step == 4 * first.bytes) {
      format.channels = 3;
      for (int c = 0; c < 3; c++)
        format.shift[c] = planes.channel[c].shift + 8 * planes.channel[c].offset;
      format.weight[0] = 19595, format.weight[1] = 38470, format.weight[2] = 7471;
    }
    image.rows = height;
    if (format.reads_colours ()) {
      format.n_planes = planes.n;
      std::copy (planes.channel, planes.channel + 3, format.channel);
      format.transform.is_identity = random () % 2;
      for (int i = 0; i < 3; i++) {
        for (std::int32_t &factor : format.transform.factor[i])
          factor = std::int32_t (random () % (4 << 16)) - (2 << 16);
        format.transform.offset[i] = std::int32_t (random () % (256 << 16));
      }
      image.left = random () % 2, image.top = random () % 2;
    }
    for (int plane = 0; plane < format.n_planes; plane++) {
      std::size_t row = std::size_t (width) * format.bytes;
      int rows = height;
      if (format.reads_colours ()) {
        row = 0;
        for (const Channel &c : format.channel)
          if (c.bytes > 0 && c.plane == plane) {
            row = std::max<std::size_t> (row, ((image.left + width - 1) >> c.right) * c.step
                                                  + c.offset + c.bytes);
            rows = ((image.top + height - 1) >> c.down) + 1;
          }
        if (plane == 0) {  // luma, for weights
          row = std::max<std::size_t> (row, std::size_t (image.left + width) * format.bytes);
          rows = image.top + height;
        }
      }
      const std::size_t stride = row + random () % 7;
      at[plane] = bytes.size ();
      if (plane == 0)
        image.stride = std::ptrdiff_t (stride);
      else
        image.chroma[plane - 1].stride = std::ptrdiff_t (stride);
      bytes.resize (bytes.size () + stride * (rows - 1) + row);
    }
    for (auto &byte : bytes)
      byte = std::uint8_t (random () >> 24);
  }

  Image in (const std::uint8_t *memory) const
  {
    Image there = image;
    there.data = memory;
    for (int plane = 1; plane < image.format.n_planes; plane++)
      there.chroma[plane - 1].data = memory + at[plane];
    return there;
  }
};

/// Makes bins, or weighted pixels, of some rows of an image that lies on the device.
void bin_rows (Device device, Image image, const Lut &lut, int width, int first, int rows,
               PixelPlane out, [[maybe_unused]] const Queue &queue)
{
  if (image.format.reads_pixels ())
    image.data = static_cast<const std::uint8_t *> (image.data) + first * image.stride;
  else
    image.first_row = first;
#if INTHIST_CUDA
  if (device == Device::cuda)
    fail_unless (cuda::bin_image ({ image, lut }, width, rows, out, queue.stream) == 0);
#endif
  if (device == Device::cpu)
    fail_unless_equals_int (cpu::bin_image ({ image, lut }, width, rows, out), 0);
}

/// Regions alone are made as in the whole frame, and nothing beside them.
void check_regions (const Binning &binning, int width, int height, std::size_t bytes,
                    const Bytes &wanted, std::size_t stride, const char *what, std::mt19937 &random)
{
  const int x = int (random () % unsigned (width)), y = int (random () % unsigned (height)),
            right = 1 + int (random () % unsigned (width - x)),
            below = 1 + int (random () % unsigned (height - y));
  const Region regions[] = { { 0, 0, x, y }, { x, y, right, below } };
  Block plane (Device::cpu, stride * height, 0, !small_cases ());
  plane.poison ();
  const Bytes before = plane.get ();
  fail_unless_equals_int (
      cpu::bin_regions (binning, width, height, regions, { plane.data, stride }), 0);
  const Bytes got = plane.get ();
  for (int row = 0; row < height; row++)
    for (std::size_t i = 0; i < stride; i++) {
      const int column = int (i / bytes);
      const bool made = (column < x && row < y)
                        || (column >= x && column < x + right && row >= y && row < y + below);
      const std::size_t at = row * stride + i;
      fail_unless (got[plane.front + at] == (made ? wanted[at] : before[plane.front + at]),
                   "%s, %dx%d: byte %zu of row %d, with regions to and from %d,%d, %dx%d", what,
                   width, height, i, row, x, y, right, below);
    }
}

/// Every feature has the same value on every device, whether the frame's rows come at once or in
/// parts. tests/python/features.py says which value.
void run_features (Device device)
{
  static constexpr int kSizes[][2] = { { 1, 1 }, { 3, 5 }, { 33, 21 }, { 130, 66 }, { 641, 37 } };
  std::mt19937 random (seed ());
  Queue queue (device);
  const Lut identity = uniform_lut (256);
  for (int f = 0; f < int (std::size (kFeatures)); f++)
    for (const Planes &planes : kPlanes)
      for (const auto &[width, height] : kSizes) {
        if (small_cases () && width * height > 1000)
          continue;
        const NoiseImage noise (planes, Feature (f), width, height, random);
        const std::size_t stride = bin_stride (width);
        Bytes wanted (stride * height);
        fail_unless_equals_int (cpu::bin_image ({ noise.in (noise.bytes.data ()), identity }, width,
                                                height, { wanted.data (), stride }),
                                0);
        check_regions ({ noise.in (noise.bytes.data ()), identity }, width, height, 1, wanted,
                       stride, kFeatures[f].nick, random);
        Block source (device, noise.bytes.size (), 0, !small_cases ()),
            bins (device, stride * height, 0, !small_cases ());
        source.put (noise.bytes.data (), noise.bytes.size ());
        bins.poison ();
        for (int y = 0; y < height;) {
          const int rows = 1 + int (random () % unsigned (height - y));
          bin_rows (device, noise.in (source.data), identity, width, y, rows,
                    { bins.data + y * stride, stride }, queue);
          y += rows;
        }
        queue.wait ();
        const Bytes got = bins.get ();
        fail_unless (std::equal (wanted.begin (), wanted.end (), got.begin () + bins.front),
                     "%s of %s, %dx%d: other values, INTHIST_SEED=%u", kFeatures[f].nick,
                     planes.name, width, height, seed ());
        fail_unless (bins.guards_hold (), "%s: wrote outside the plane", kFeatures[f].nick);
      }
}

/// Weights are the same on every device, whether rows come at once or in parts, and bins in groups;
/// and all that adds them up agrees. tests/python/weights.py says which weights.
void check_weights (Device device, const NoiseImage &noise, const Lut &lut, int bins, int width,
                    int height, const char *what, Queue &queue, std::mt19937 &random)
{
  const Shape shape = { width, height, bins, Type::u32, Content::weights, Type::u32 };
  const Layout layout = layout_of (shape);
  const std::size_t stride = binned_stride (shape);
  const auto weigh = [&] (const Lut &with) {
    Bytes words (stride * height);
    bin_rows (Device::cpu, noise.in (noise.bytes.data ()), with, width, 0, height,
              { words.data (), stride }, queue);
    return words;
  };
  const Bytes words = weigh (lut);
  check_regions ({ noise.in (noise.bytes.data ()), lut }, width, height, sizeof (WeightedPixel),
                 words, stride, what, random);
  Block source (device, noise.bytes.size (), 0, !small_cases ()),
      in_parts (device, words.size (), 0, !small_cases ());
  source.put (noise.bytes.data (), noise.bytes.size ());
  in_parts.poison ();
  for (int y = 0; y < height;) {
    const int rows = 1 + int (random () % unsigned (height - y));
    bin_rows (device, noise.in (source.data), lut, width, y, rows,
              { in_parts.data + y * stride, stride }, queue);
    y += rows;
  }
  queue.wait ();
  const Bytes parts = in_parts.get ();
  fail_unless (std::equal (words.begin (), words.end (), parts.begin () + in_parts.front),
               "%s: other weights in parts of rows", what);
  fail_unless (in_parts.guards_hold (), "%s: wrote outside the plane", what);

  const auto tensor_of = [&] (const Strategy &strategy, const Shape &of, const Bytes &pixels) {
    Block plane (strategy.device, pixels.size ()),
        tensor (strategy.device, tensor_bytes (of, layout_of (of)), 0, !small_cases ()),
        workspace (strategy.device, strategy.workspace_bytes (of, {}));
    plane.put (pixels.data (), pixels.size ());
    tensor.poison ();
    workspace.poison ();
    fail_unless (inthist::run (strategy, { .shape = of,
                                           .layout = layout_of (of),
                                           .pixels = { plane.data, stride },
                                           .tensor = tensor.data,
                                           .workspace = workspace.data,
                                           .stream = queue.stream })
                 == 0);
    queue.wait ();
    fail_unless (tensor.guards_hold () && workspace.guards_hold (), "%s: wrote outside", what);
    const Bytes all = tensor.get ();
    return Bytes (all.begin () + tensor.front,
                  all.begin () + tensor.front + std::ptrdiff_t (tensor_bytes (of, layout_of (of))));
  };
  const auto same_rows = [&] (const Bytes &a, const Bytes &b, int first, int planes) {
    for (int p = 0; p < planes; p++)
      for (int y = 0; y < height; y++)
        if (memcmp (&a[(first + p) * layout.plane_pitch + y * layout.row_pitch],
                    &b[p * layout.plane_pitch + y * layout.row_pitch], 4 * std::size_t (width))
            != 0)
          return false;
    return true;
  };
  const Bytes wanted = tensor_of (*find_strategy ("serial"), shape, words);
  const int first = int (random () % unsigned (bins)),
            n = 1 + int (random () % unsigned (bins - first));
  Shape group = shape;
  group.bins = n;
  const Bytes of_group = weigh (lut_of_bins (lut, first, n));
  for (const Strategy &strategy : strategies ())
    if (strategy.device == device && strategy.takes_weights && accepts (strategy, shape)) {
      fail_unless (same_rows (wanted, tensor_of (strategy, shape, words), 0, bins),
                   "%s: %s is not serial", what, strategy.name);
      fail_unless (same_rows (wanted, tensor_of (strategy, group, of_group), first, n),
                   "%s: bins %d to %d are others by themselves, %s", what, first, first + n - 1,
                   strategy.name);
    }
  if (device != Device::cpu)
    return;

  std::vector<Region> windows = {
    { 0, 0, width, height }, { int (random () % unsigned (width)), -1, width, height / 2 + 1 }
  };
  for (int i = 0; i < 70; i++)  // small ones
    windows.push_back (
        { int (random () % unsigned (width)), int (random () % unsigned (height)), i % 9, i / 9 });
  std::vector<std::uint64_t> sums (windows.size () * std::size_t (bins)),
      from_pixels (sums.size ());
  Query query = { .question = Question::sums,
                  .windows = { windows.data (), int (windows.size ()), {} } };
  query.answers = sums.data ();
  fail_unless_equals_int (cpu::answer ({ shape, layout, wanted.data () }, query), 0);
  query.answers = from_pixels.data ();
  const Binning pixels = { { words.data (), std::ptrdiff_t (stride), {} }, lut };
  fail_unless_equals_int (cpu::answer_pixels (pixels, shape, query), 0);
  fail_unless (sums == from_pixels, "%s: pixels and tensor answer differently", what);
}

void run_weights (Device device)
{
  static constexpr int kSizes[][2] = { { 1, 1 }, { 3, 5 }, { 33, 21 }, { 130, 66 }, { 2060, 90 } };
  std::mt19937 random (seed ());
  Queue queue (device);
  for (int f = 0; f < int (std::size (kFeatures)); f++)
    for (const Planes &planes : kPlanes)
      for (const auto &[width, height] : kSizes)
        for (const Weight weight : { Weight::one, Weight::gradient })
          for (const bool soft : { false, true }) {
            const FeatureInfo &info = kFeatures[f];
            if ((weight == Weight::one && !soft) || (soft && !info.can_be_shared ())
                || (small_cases () && width > 33)
                || (width > 200 && (f % 5 != 0 || &planes != &kPlanes[f % 3])))
              continue;
            NoiseImage noise (planes, Feature (f), width, height, random);
            const int bins = info.bins          ? info.bins
                             : info.is_joint () ? 200
                                                : 1 + int (random () % unsigned (soft ? 40 : 180));
            PixelFormat &format = noise.image.format;
            format.pixel_weight = weight;
            if (info.is_gradient ())
              format.quantization[0] = std::uint8_t (bins);
            if (soft)
              format.soft = SoftBins::of (Feature (f), bins);
            const std::string what = std::string (info.nick) + " of " + planes.name + ", "
                                     + std::to_string (width) + "x" + std::to_string (height)
                                     + ", INTHIST_SEED=" + std::to_string (seed ());
            check_weights (device, noise,
                           soft ? uniform_lut (256) : lut_of_feature (Feature (f), bins), bins,
                           width, height, what.c_str (), queue, random);
          }
}

}  // namespace

DEVICE_TEST (bin_image)
DEVICE_TEST (binning)
DEVICE_TEST (in_a_row)
DEVICE_TEST (features)
DEVICE_TEST (weights)
DEVICE_TEST (video)

static Suite *bin_image_suite ()
{
  Suite *const suite = suite_create ("bin_image");
  TCase *const tcase = case_of_suite (suite, "bin_image");
  const int devices = int (std::size (kDevices));
  tcase_add_loop_test (tcase, bin_image, 0, devices);
  tcase_add_loop_test (tcase, binning, 0, devices);
  tcase_add_loop_test (tcase, in_a_row, 0, devices);
  tcase_add_loop_test (tcase, features, 0, devices);
  tcase_add_loop_test (tcase, weights, 0, devices);
  tcase_add_loop_test (tcase, video, 0, devices);
  return suite;
}

GST_CHECK_MAIN (bin_image)
