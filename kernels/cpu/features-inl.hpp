// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The values of features, some pixels of a row at a time. The loops are plain, and so short that
// the compiler makes vectors of them, for each instruction set.

// A guard for each instruction set, as Highway's own files have
#if defined(INTHIST_FEATURES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef INTHIST_FEATURES_INL
#undef INTHIST_FEATURES_INL
#else
#define INTHIST_FEATURES_INL
#endif

#include <algorithm>

#include <hwy/highway.h>

#include "../binning.hpp"
#include "../features/features.hpp"

HWY_BEFORE_NAMESPACE ();
namespace inthist::cpu {
namespace HWY_NAMESPACE {

inline constexpr int kBatch = 64;

/// Reads 8 bits of the i-th colour of `n` pixels from x on.
inline void read_channel (const RowReader &reader, int i, int x, int n, int *to)
{
  const Channel from = reader.format ().channel[i];
  const std::uint8_t *const at = reader.first (i, x);
  const int odd = (reader.left () + x) & 1;
  if (from.bytes == 1 && from.right == 0 && from.step == 1)
    for (int p = 0; p < n; p++)
      to[p] = at[p];
  else if (from.bytes == 1 && from.right == 0)
    for (int p = 0; p < n; p++)
      to[p] = at[p * from.step];
  else if (from.bytes == 1 && from.right == 1)
    for (int p = 0; p < n; p++)
      to[p] = at[((odd + p) >> 1) * from.step];
  else
    for (int p = 0; p < n; p++)
      to[p] = reader.channel (i, x + p);
}

/// Reads the luma of columns x - 1 to x + n in a row.
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

template <class Feature>
void bin_row_of (const Binning &binning, const Sectors &sectors, int width, int y,
                 std::uint8_t *bins)
{
  const Quantization parts = binning.image.format.quantization;
  const RowReader reader (binning.image, width, y);
  for (int x = 0; x < width; x += kBatch) {
    const int n = std::min (kBatch, width - x);
    std::uint8_t values[kBatch];
    if constexpr (Feature::kReads == Reads::luma_3x3) {
      int luma[3][kBatch + 2] = {};
      for (int row = 0; row < 3; row++)
        read_luma (reader, row, x, n, luma[row]);
      for (int p = 0; p < kBatch; p++) {
        Pixel pixel = { {}, {}, parts, sectors };
        for (int row = 0; row < 3; row++)
          for (int column = 0; column < 3; column++)
            pixel.luma[row][column] = luma[row][p + column];
        values[p] = Feature::value_of (pixel);
      }
    } else {
      int colour[3][kBatch] = {};
      read_colours (reader, x, n, colour);
      for (int p = 0; p < kBatch; p++)
        values[p] = Feature::value_of (
            { { colour[0][p], colour[1][p], colour[2][p] }, {}, parts, sectors });
    }
    for (int p = 0; p < n; p++)
      bins[x + p] = binning.lut[values[p]];
  }
}

/// Makes the bins of a row.
inline void bin_row (const Binning &binning, const Sectors &sectors, int width, int y,
                     std::uint8_t *bins)
{
  with_feature (binning.image.format.feature, [&]<class Feature> (Feature) {
    bin_row_of<Feature> (binning, sectors, width, y, bins);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace inthist::cpu
HWY_AFTER_NAMESPACE ();

#endif
