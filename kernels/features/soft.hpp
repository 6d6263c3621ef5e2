// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The weight of a pixel in a histogram, and how two neighbouring bins share the weight.
#pragma once

#include "../binning.hpp"
#include "with_feature.hpp"

namespace inthist {

HOST_DEVICE inline int weight_of (const Pixel &pixel, const PixelFormat &format)
{
  return format.pixel_weight == Weight::gradient ? length_of_gradient (pixel.dx (), pixel.dy ())
                                                 : unit_of (Weight::one, format.soft.n > 0);
}

/// Returns the distance from the middle of the first bin to a position on the axis of values, in
/// 1/256 of a bin. Before this middle it is the distance all the way round if bins are cyclic, or
/// 0.
HOST_DEVICE inline int from_first_middle_of_position (int position, const SoftBins &bins)
{
  const int from_middle = position - 128;
  return from_middle >= 0 ? from_middle : bins.is_cyclic ? from_middle + 256 * bins.n : 0;
}

HOST_DEVICE inline int from_first_middle_of_value (int value, const SoftBins &bins)
{
  return from_first_middle_of_position ((2 * value + 1) * bins.n * 128 / bins.values, bins);
}

/// Returns the distance from the middle of the first bin to a pixel, in 1/256 of a bin. A pixel
/// lies at the middle of its value, or at the angle of its gradient.
template <class Feature>
HOST_DEVICE int from_first_middle (const Pixel &pixel, const SoftBins &bins)
{
  if constexpr (requires { Feature::position_of (pixel, 1); })
    return from_first_middle_of_position (Feature::position_of (pixel, bins.n), bins);
  else
    return from_first_middle_of_value (Feature::value_of (pixel), bins);
}

/// Divides a pixel's weight between the two bins between whose middles the pixel lies. `lut`
/// (lut_of_bins ()) renumbers the frame's bins; bins that are not wanted become kNoValue.
HOST_DEVICE inline WeightedPixel shared_between_bins (int from_middle, int weight,
                                                      const SoftBins &bins, const std::uint8_t *lut)
{
  const int bin = from_middle >> 8, next = bin + 1 < bins.n ? bin + 1 : 0;
  const int share = next > 0 || bins.is_cyclic ? from_middle & 255 : 0,
            to_next = (weight * share + 128) >> 8;
  const int first = lut[bin], second = lut[next];
  if (first == kNoValue)
    return second == kNoValue ? WeightedPixel{} : WeightedPixel::of (second, to_next, 0);
  return WeightedPixel::of (first, weight - to_next, second == kNoValue ? 0 : to_next);
}

/// Returns what a pixel adds to its one or two bins, by the format's weight and soft bins.
template <class Feature>
HOST_DEVICE WeightedPixel weighted (const Pixel &pixel, const PixelFormat &format,
                                    const std::uint8_t *lut)
{
  const int value = Feature::value_of (pixel), weight = weight_of (pixel, format);
  if (format.soft.n == 0)
    return WeightedPixel::of (lut[value], weight, 0);
  if (value >= format.soft.values)
    return {};
  return shared_between_bins (from_first_middle<Feature> (pixel, format.soft), weight, format.soft,
                              lut);
}

}  // namespace inthist
