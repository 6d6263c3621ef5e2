// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Every feature and weight of a pixel is the same on every device, whether a frame's rows come at
// once, in parts or as regions, and whether all bins are made or groups of them.
// tests/python/features.py and tests/python/weights.py compare the values with the truth.
#include <random>

#include <kernels/query.hpp>
#include <kernels/registry.hpp>

#include "devices.hpp"
#include "test.hpp"

namespace {

/// The places of a pixel's colours in planes that follow each other.
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
  { "interlaced NV12",
    2,
    { { 0, 1, 1 }, { 1, 1, 2, 0, 0, 1, 1, true }, { 1, 1, 2, 1, 0, 1, 1, true } } },
  { "interlaced YV12",
    3,
    { { 0, 1, 1 }, { 2, 1, 1, 0, 0, 1, 1, true }, { 1, 1, 1, 0, 0, 1, 1, true } } },
  { "Y42B", 3, { { 0, 1, 1 }, { 1, 1, 1, 0, 0, 1 }, { 2, 1, 1, 0, 0, 1 } } },
  { "YUY2", 1, { { 0, 1, 2 }, { 0, 1, 4, 1, 0, 1 }, { 0, 1, 4, 3, 0, 1 } } },
  { "BGRx", 1, { { 0, 1, 4, 2 }, { 0, 1, 4, 1 }, { 0, 1, 4, 0 } } },
  { "RGB10A2", 1, { { 0, 4, 4, 0, 2 }, { 0, 4, 4, 0, 12 }, { 0, 4, 4, 0, 22 } } },
};

/// An image of noise, with its bytes.
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
      image.left = random () % 2, image.top = random () % (format.is_interlaced () ? 4 : 2);
    }
    for (int plane = 0; plane < format.n_planes; plane++) {
      std::size_t row = std::size_t (width) * format.bytes;
      int rows = height;
      if (format.reads_colours ()) {
        row = 0;
        for (const Channel &c : format.channel)
          if (c.bytes > 0 && c.plane == plane) {
            row = std::max<std::size_t> (row,
                                         ((image.left + width - 1) >> c.log2_subsample_x) * c.step
                                             + c.offset + c.bytes);
            rows = c.rows_of (image.top + height);
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
               PixelPlane out, const Queue &queue)
{
  if (image.format.reads_single_pixel ())
    image.data = static_cast<const std::uint8_t *> (image.data) + first * image.stride;
  else
    image.first_row = first;
  make_bins (device, { image, lut }, width, rows, out, queue);
}

/// Regions by themselves are made as in the whole frame, and nothing outside of them.
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

}  // namespace

/// Every feature has the same value on every device, whether the frame's rows come at once or in
/// parts. tests/python/features.py compares the values with the truth.
DEVICE_TEST (features)
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
        const std::size_t stride = padded_columns (width);
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

namespace {

/// Weights are the same on every device, whether rows come at once or in parts, and bins in groups.
/// All functions that add weights up agree. tests/python/weights.py compares the weights with the
/// truth.
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
        tensor (strategy.device, tensor_bytes (of), 0, !small_cases ()),
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
                  all.begin () + tensor.front + std::ptrdiff_t (tensor_bytes (of)));
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
  Query query = { .kind = QueryKind::sums,
                  .windows = { windows.data (), int (windows.size ()), {} } };
  query.answers = sums.data ();
  fail_unless_equals_int (cpu::answer ({ shape, layout, wanted.data () }, query), 0);
  query.answers = from_pixels.data ();
  const Binning pixels = { { words.data (), std::ptrdiff_t (stride), {} }, lut };
  fail_unless_equals_int (cpu::answer_pixels (pixels, shape, query), 0);
  fail_unless (sums == from_pixels, "%s: pixels and tensor answer differently", what);
}

}  // namespace

DEVICE_TEST (weights)
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
                || (small_cases () && (width > 33 || (f + &planes - kPlanes) % 4 != 0))
                || (width > 200 && (f % 5 != 0 || &planes != &kPlanes[f % 3])))
              continue;
            NoiseImage noise (planes, Feature (f), width, height, random);
            const int bins = info.bins          ? info.bins
                             : info.is_joint () ? 200
                                                : 1 + int (random () % unsigned (soft ? 40 : 180));
            PixelFormat &format = noise.image.format;
            format.pixel_weight = weight;
            if (info.is_gradient)
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
