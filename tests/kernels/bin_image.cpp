// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pixels of every format become the bins that slow and obvious code finds. bin_image makes the
// bins, or a strategy that takes pixels, from noise and from real video.
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
#include "test.hpp"

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

}  // namespace

DEVICE_TEST (bin_image)
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

      const std::size_t bins_stride = padded_columns (width);
      Block source (device, image.size (), shift, !small_cases ()),
          bins (device, bins_stride * height, turn % 4 * 16, !small_cases ());
      source.put (image.data (), image.size ());
      bins.poison ();
      const Image input{ source.data, std::ptrdiff_t (stride), f.format };
      const PixelPlane output{ bins.data, bins_stride };
      make_bins (device, { input, lut }, width, height, output, queue);
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

namespace {

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
                      bins_stride = padded_columns (shape.width);
    image.resize (stride * (shape.height - 1) + shape.width * bytes);
    for (auto &byte : image)
      byte = std::uint8_t (random () >> 24);
    if (shape.content == Content::sums)
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
    tensor.assign (tensor_bytes (shape), kPoison);
    make_right ({ shape, layout_of (shape), { plane.data (), bins_stride }, tensor.data () });
  }
};

}  // namespace

/// Strategies that take pixels instead of bins make the same tensor, and the bins exist afterwards
/// unless the strategy bins pixels itself.
DEVICE_TEST (binning)
{
  static constexpr int kSizes[][2] = { { 4, 1 },    { 3, 5 },     { 128, 40 }, { 130, 66 },
                                       { 640, 67 }, { 324, 700 }, { 2052, 3 }, { 2308, 30 } };
  // bytes of the stride beyond the width, and of the picture's distance from a multiple of 256:
  // aligned to 8, to 4, to neither
  static constexpr std::size_t kLayouts[][2] = { { 0, 0 }, { 64, 0 }, { 60, 4 }, { 1, 2 } };
  static constexpr Type kCounters[] = { Type::u32, Type::u16, Type::u8_tiled };
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
                                             { pixels.data, padded_columns (shape.width) },
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
        fail_unless (memcmp (&got_pixels[pixels.front + y * padded_columns (shape.width)],
                             &picture.plane[y * padded_columns (shape.width)], shape.width)
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
      for (const Shape &table : { Shape{ width, height, 1, Type::u32, Content::sums },
                                  Shape{ width, height, 2, Type::u32, Content::sums },
                                  Shape{ width, height, 1, Type::s32, Content::sums } })
        for (int times = 0; times < 3; times++)  // in layouts of their own
          check (f, table);
    }
}

/// Frames follow each other on a stream without a wait, in one workspace and one plane of bins:
/// none may disturb the one before.
DEVICE_TEST (in_a_row)
{
  const int frames = small_cases () || device == Device::cpu ? 3 : 12;  // the CPU has no stream
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
                                                 { plane.data, padded_columns (shape.width) },
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

namespace {

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
  g_autoptr (GstElement) pipeline = gst_parse_launch (text, nullptr);
  g_free (text);
  if (!pipeline)
    return video;
  g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
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
  return video;
}

}  // namespace

/// Real frames all the way: pixels with a wide stride, bin_image, every strategy.
DEVICE_TEST (video)
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
      const PixelPlane bins{ frame.pixels.data, padded_columns (width) };
      make_bins (device, { input, uniform_lut (kBins) }, width, height, bins, queue);
      for (const Strategy &strategy : strategies ())
        if (strategy.device == device && accepts (strategy, c.shape))
          expect_right (strategy, c.shape, frame, queue, c.name ());
    }
  }
}
