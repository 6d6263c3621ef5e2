// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Computes the bins of pixels from the values of features, for kBatch pixels of a row at a time.
// The compiler vectorises the short, plain loops, for each instruction set.
#include <algorithm>

#include "../binning.hpp"
#include "../features/soft.hpp"
#include "in_parallel.hpp"
#include "feature_tables.hpp"
#include "parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/bin_image.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE ();
namespace inthist::cpu {
namespace HWY_NAMESPACE {

inline constexpr int kBatch = 64;

/// Reads n bytes that are kStep apart, such as one colour of R, G, B. kStep is a template argument,
/// because loops with a constant step are faster.
template <int kStep>
HWY_INLINE void read_apart (const std::uint8_t *at, int n, int *to)
{
  for (int p = 0; p < n; p++)
    to[p] = at[p * kStep];
}

/// Reads a byte of subsampled chroma for each of n columns; two columns share a byte. If `odd` is
/// 1, the first pixel is the second one of its byte.
template <int kStep>
HWY_INLINE void read_shared (const std::uint8_t *at, int odd, int n, int *to)
{
  if (odd == 0 && n == kBatch) {  // the compiler vectorises loops of constant length better
    for (int p = 0; p < kBatch / 2; p++)
      to[2 * p] = to[2 * p + 1] = at[p * kStep];
    return;
  }
  for (int p = 0; p < n; p++)
    to[p] = at[((odd + p) >> 1) * kStep];
}

/// Reads one colour (number i), as 8 bits, of the n pixels of a row from column x on.
inline void read_channel (const RowReader &reader, int i, int x, int n, int *to)
{
  const Channel from = reader.format ().channel[i];
  const std::uint8_t *const at = reader.first (i, x);
  const int odd = (reader.left () + x) & 1;
  if (from.bytes == 1 && from.log2_subsample_x == 0 && from.step == 1)
    for (int p = 0; p < n; p++)
      to[p] = at[p];
  else if (from.bytes == 1 && from.log2_subsample_x == 0 && from.step == 3)
    read_apart<3> (at, n, to);
  else if (from.bytes == 1 && from.log2_subsample_x == 0 && from.step == 4)
    read_apart<4> (at, n, to);
  else if (from.bytes == 1 && from.log2_subsample_x == 0)
    for (int p = 0; p < n; p++)
      to[p] = at[p * from.step];
  else if (from.bytes == 1 && from.log2_subsample_x == 1 && from.step == 1)
    read_shared<1> (at, odd, n, to);
  else if (from.bytes == 1 && from.log2_subsample_x == 1 && from.step == 2)
    read_shared<2> (at, odd, n, to);
  else if (from.bytes == 1 && from.log2_subsample_x == 1)
    for (int p = 0; p < n; p++)
      to[p] = at[((odd + p) >> 1) * from.step];
  else
    for (int p = 0; p < n; p++)
      to[p] = reader.channel (i, x + p);
}

/// Reads the luma of columns x - 1 to x + n in a row, or in the row above or below.
inline void read_luma (const RowReader &reader, int row, int x, int n, int *to)
{
  if (!reader.format ().is_byte ()) {
    for (int p = 0; p < n + 2; p++)
      to[p] = reader.luma (row, x + p - 1);
    return;
  }
  const std::uint8_t *const at = reader.luma_row (row) + x;
  for (int p = 0; p < n; p++)
    to[p + 1] = at[p];
  to[0] = reader.luma (row, x - 1);
  to[n + 1] = reader.luma (row, x + n);
}

inline void read_colours (const RowReader &reader, int x, int n, int (&colour)[3][kBatch])
{
  for (int i = 0; i < 3; i++)
    read_channel (reader, i, x, n, colour[i]);
  const ColourTransform transform = reader.format ().transform;
  if (transform.is_identity)
    return;
  for (int p = 0; p < kBatch; p++) {
    const Colour to =
        RowReader::transformed ({ colour[0][p], colour[1][p], colour[2][p] }, transform);
    for (int i = 0; i < 3; i++)
      colour[i][p] = to.of[i];
  }
}

/// Returns the index in a GradientTable of the gradient of pixel p.
HWY_INLINE int gradient_index (const int (&luma)[3][kBatch + 2], int p)
{
  return GradientTable::index_of (luma[1][p + 2] - luma[1][p], luma[2][p + 1] - luma[0][p + 1]);
}

template <class Feature>
inline constexpr bool kIsGradient = requires (Pixel pixel)
{
  Feature::position_of (pixel, 1);
};

/// The colours and the luma of kBatch pixels of a row, as features read them.
struct PixelBatch {
  int colour[3][kBatch], luma[3][kBatch + 2];

  /// Reads the batch of pixels from column x on, of which n are in the row; with `neighbours`, also
  /// the luma of the pixels around them.
  template <class Feature>
  static PixelBatch of (const RowReader &reader, bool neighbours, int x, int n)
  {
    constexpr bool kColours = Feature::kReads == Reads::rgb || Feature::kReads == Reads::ycbcr;
    PixelBatch batch;
    if (n < kBatch)  // zeros, as features of pixels beyond the row are computed too
      batch = {};
    if constexpr (kColours)
      read_colours (reader, x, n, batch.colour);
    if (neighbours)
      for (int row = 0; row < 3; row++)
        read_luma (reader, row, x, n, batch.luma[row]);
    else if constexpr (!kColours)
      read_luma (reader, 1, x, n, batch.luma[1]);
    return batch;
  }

  template <class Store>
  HWY_INLINE void for_pixels (const Quantization &quantization, Store &&store) const
  {
    const Sectors none = {};  // unused: a table has the values of gradient features
    for (int p = 0; p < kBatch; p++) {
      Pixel pixel = { { colour[0][p], colour[1][p], colour[2][p] }, {}, quantization, none };
      for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++)
          pixel.luma[row][column] = luma[row][p + column];
      store (p, pixel);
    }
  }

  template <class Feature>
  HWY_INLINE void get_values (const FeatureTables &tables, const Quantization &quantization,
                              std::uint8_t *values, int *gradients) const
  {
    if constexpr (kIsGradient<Feature>) {
      for (int p = 0; p < kBatch; p++)
        gradients[p] = gradient_index (luma, p);
      for (int p = 0; p < kBatch; p++)
        values[p] = tables.gradients->values[gradients[p]];
    } else {
      for_pixels (quantization,
                  [&] (int p, const Pixel &pixel) { values[p] = Feature::value_of (pixel); });
    }
  }
};

inline void bin_row (const Binning &binning, const FeatureTables &tables, int width, int y,
                     ColumnRange columns, std::uint8_t *bins)
{
  const RowReader reader (binning.image, width, y);
  const Quantization quantization = binning.image.format.quantization;
  const std::uint8_t *const lut = binning.lut.data ();
  with_feature (binning.image.format.feature, [&]<class Feature> (Feature) {
    for (int x = columns.first; x < columns.end; x += kBatch) {
      const int n = std::min (kBatch, columns.end - x);
      std::uint8_t values[kBatch];
      int gradients[kBatch];
      PixelBatch::of<Feature> (reader, Feature::kReads == Reads::luma_3x3, x, n)
          .template get_values<Feature> (tables, quantization, values, gradients);
      std::uint8_t *const to = bins + x;
      for (int p = 0; p < n; p++)
        to[p] = lut[values[p]];
    }
  });
}

/// Looks up the weighted pixels of some columns of a row, if they depend on the gradients only.
inline void look_up_weights (const RowReader &reader, const FeatureTables &tables,
                             ColumnRange columns, std::uint32_t *words)
{
  const std::uint32_t *const all = tables.weighted->data ();
  for (int x = columns.first; x < columns.end; x += kBatch) {
    const int n = std::min (kBatch, columns.end - x);
    int luma[3][kBatch + 2], gradients[kBatch];
    for (int row = 0; row < 3; row++)
      read_luma (reader, row, x, n, luma[row]);
    for (int p = 0; p < n; p++)
      gradients[p] = gradient_index (luma, p);
    for (int p = 0; p < n; p++)
      words[x + p] = all[gradients[p]];
  }
}

inline void weigh_row (const Binning &binning, const FeatureTables &tables, int width, int y,
                       ColumnRange columns, std::uint8_t *row)
{
  auto *const words = reinterpret_cast<std::uint32_t *> (row);
  const RowReader reader (binning.image, width, y);
  const PixelFormat &format = binning.image.format;
  const SoftBins &bins = format.soft;
  if (tables.weighted)
    return look_up_weights (reader, tables, columns, words);
  with_feature (format.feature, [&]<class Feature> (Feature) {
    const bool neighbours =
        Feature::kReads == Reads::luma_3x3 || format.pixel_weight == Weight::gradient;
    for (int x = columns.first; x < columns.end; x += kBatch) {
      const int n = std::min (kBatch, columns.end - x);
      const PixelBatch batch = PixelBatch::of<Feature> (reader, neighbours, x, n);
      std::uint8_t values[kBatch];
      int gradients[kBatch], weights[kBatch];
      batch.template get_values<Feature> (tables, format.quantization, values, gradients);
      batch.for_pixels (format.quantization, [&] (int p, const Pixel &pixel) {
        weights[p] = weight_of (pixel, format);
      });
      if (bins.n == 0) {
        for (int p = 0; p < n; p++)
          words[x + p] = WeightedPixel::of (binning.lut[values[p]], weights[p], 0).word;
        continue;
      }
      for (int p = 0; p < n; p++) {
        int from_middle;
        if constexpr (kIsGradient<Feature>)
          from_middle = tables.gradients->from_middles[gradients[p]];
        else
          from_middle = tables.from_middles[values[p]];
        words[x + p] =
            values[p] < bins.values
                ? shared_between_bins (from_middle, weights[p], bins, binning.lut.data ()).word
                : 0;
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace inthist::cpu
HWY_AFTER_NAMESPACE ();

#if HWY_ONCE

namespace inthist::cpu {
namespace {

HWY_EXPORT (bin_row);
HWY_EXPORT (weigh_row);

/// Computes the bins of a row of pixels that only need one pixel of the first plane, such as luma.
void bin_pixels (const std::uint8_t *in, const PixelFormat &format, const Lut &lut,
                 ColumnRange columns, std::uint8_t *bins)
{
  if (format.bytes == 1)
    for (int x = columns.first; x < columns.end; x++)
      bins[x] = lut[in[x]];
  else
    for (int x = columns.first; x < columns.end; x++)
      bins[x] = lut[pixel_value (in + x * format.bytes, format)];
}

/// Calls for_rows (make_row), where make_row (y, columns, row) computes the bins or weighted pixels
/// of some columns in row y of a frame of this size, and writes them to `row`, the start of row y.
template <class ForRows>
int with_rows_of (Binning binning, int width, int height, ForRows &&for_rows)
{
  Image &image = binning.image;
  const PixelFormat &format = image.format;
  const auto make_rows = [&] (auto make) {
    if (format.reads_single_pixel ())
      image.rows = height;  // no neighbouring rows are read, so the image may end with the frame
    FeatureTables tables;
    if (!tables.prepare (binning))
      return ENOMEM;
    return for_rows ([&] (int y, ColumnRange columns, std::uint8_t *row) {
      make (binning, tables, width, image.first_row + y, columns, row);
    });
  };
  if (format.is_weighted ())
    return make_rows (HWY_DYNAMIC_DISPATCH (weigh_row));
  if (!format.reads_single_pixel ())
    return make_rows (HWY_DYNAMIC_DISPATCH (bin_row));
  return for_rows ([&] (int y, ColumnRange columns, std::uint8_t *bins) {
    bin_pixels (static_cast<const std::uint8_t *> (image.data) + y * image.stride, format,
                binning.lut, columns, bins);
  });
}

}  // namespace

int bin_image (const Binning &binning, int width, int height, PixelPlane out,
               const std::atomic<bool> *cancelled)
{
  const std::size_t bytes =
      width * (binning.image.format.is_weighted () ? sizeof (WeightedPixel) : 1);
  return with_rows_of (binning, width, height, [&] (auto &&make_row) {
    return for_each (height, 64, cancelled, [&] (int y) {
      std::uint8_t *const row = out.data + y * out.stride;
      make_row (y, ColumnRange{ 0, width }, row);
      std::fill (row + bytes, row + out.stride, 0);
    });
  });
}

int bin_regions (const Binning &binning, int width, int height, std::span<const Region> regions,
                 PixelPlane out, const std::atomic<bool> *cancelled)
{
  std::int64_t pixels = 0;
  for (const Region &region : regions)
    pixels += std::int64_t (region.width) * region.height;
  const int n = int (regions.size ()),
            grain = int (divide_up (n, std::max<std::int64_t> (1, pixels / kPixelsOfATask)));
  return with_rows_of (binning, width, height, [&] (auto &&make_row) {
    return for_each (n, grain, cancelled, [&] (int i) {
      const Region &region = regions[i];
      for (int y = region.y; y < region.y + region.height; y++)
        make_row (y, ColumnRange{ region.x, region.x + region.width }, out.data + y * out.stride);
    });
  });
}

}  // namespace inthist::cpu

#endif
