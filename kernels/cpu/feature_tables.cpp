// SPDX-License-Identifier: LGPL-2.1-or-later
#include "feature_tables.hpp"

#include <mutex>
#include <new>

#include "../features/soft.hpp"

namespace inthist::cpu {
namespace {

// Tables of gradients are never freed: threads may still compute while the process ends.

template <class Feature>
void fill (GradientTable &table, const PixelFormat &format)
{
  const Sectors sectors = sectors_of (format);
  Pixel pixel = { {}, {}, format.quantization, sectors };
  const SoftBins bins = SoftBins::of (format.feature, format.quantization[0]);
  for (int dy = -255; dy <= 255; dy++)
    for (int dx = -255; dx <= 255; dx++) {
      pixel.luma[1][2] = dx, pixel.luma[2][1] = dy;
      const int i = GradientTable::index_of (dx, dy);
      table.values[i] = Feature::value_of (pixel);
      table.from_middles[i] =
          dx == 0 && dy == 0 ? 0 : std::uint16_t (from_first_middle<Feature> (pixel, bins));
    }
}

/// Returns the table of a gradient feature and a number of sectors. The first call makes it with
/// fill (table). Returns null if there is no memory.
template <class Table, class Fill>
const Table *kept_table (const PixelFormat &format, Fill &&fill)
{
  static std::mutex mutex;
  static Table *tables[2][Sectors::kMax + 1];
  const std::lock_guard lock (mutex);
  auto &table = tables[format.feature == Feature::signed_gradient][format.quantization[0]];
  if (!table && (table = new (std::nothrow) Table ()))
    fill (*table);
  return table;
}

const GradientTable *gradients_of (const PixelFormat &format)
{
  return kept_table<GradientTable> (format, [&] (GradientTable &table) {
    if (format.feature == Feature::signed_gradient)
      fill<Gradient<true>> (table, format);
    else
      fill<Gradient<false>> (table, format);
  });
}

/// Returns the table with each gradient's WeightedPixel word. Returns null if a pixel's word
/// depends on more than the gradient, or if there is no memory.
const WeightTable *weights_of (const GradientTable &gradients, const PixelFormat &format)
{
  const SoftBins &bins = format.soft;
  if (format.pixel_weight != Weight::gradient || bins.n != format.quantization[0])
    return nullptr;
  return kept_table<WeightTable> (format, [&] (WeightTable &table) {
    const Lut to_themselves = uniform_lut (256);
    for (int dy = -255; dy <= 255; dy++)
      for (int dx = -255; dx <= 255; dx++)
        if (const int i = GradientTable::index_of (dx, dy); gradients.values[i] < bins.values)
          table[i] = shared_between_bins (gradients.from_middles[i], length_of_gradient (dx, dy),
                                          bins, to_themselves.data ())
                         .word;
  });
}

}  // namespace

bool FeatureTables::prepare (const Binning &binning)
{
  const PixelFormat &format = binning.image.format;
  if (info_of (format.feature).is_gradient) {
    gradients = gradients_of (format);
    if (gradients && binning.lut == uniform_lut (256))
      weighted = weights_of (*gradients, format);
    return gradients != nullptr;
  }
  for (int value = 0; value < format.soft.values; value++)
    from_middles[value] = std::uint16_t (from_first_middle_of_value (value, format.soft));
  return true;
}

}  // namespace inthist::cpu
