// SPDX-License-Identifier: LGPL-2.1-or-later
//
// All other strategies are compared with the reference. Here the reference is compared with pixels
// that are counted one by one.
//
// Environment: devices.hpp
#include <cerrno>
#include <random>

#include <kernels/published/reference.hpp>
#include <kernels/query.hpp>

#include "devices.hpp"
#include "pixel_sums.hpp"
#include "test.hpp"

/// Algorithm 1 equals its definition: in small images everywhere, in larger ones (u16 overflows) at
/// some elements.
TEST (reference_counts_pixels)
{
  static constexpr int kSizes[][2] = { { 1, 1 }, { 1, 9 }, { 9, 1 }, { 13, 11 }, { 300, 301 } };
  static constexpr Pattern kPatterns[] = { Pattern::zeros,        Pattern::full,   Pattern::noise,
                                           Pattern::checkerboard, Pattern::across, Pattern::down };
  std::mt19937 random (seed ());
  for (const auto &[width, height] : kSizes)
    for (const int bins : { 1, 2, 3, 17, 256 })
      for (const Type counter : { Type::u32, Type::u16 })
        for (const Pattern pattern : kPatterns) {
          if (width > 100 && bins > 17)
            continue;
          Case c = case_of ({ width, height, bins, counter }, pattern);
          c.own_layout = true;
          c.row_gap = 16;
          c.plane_gap = 32;
          const Bytes image = picture_of (c), tensor = right_tensor (Input (c));
          const bool whole = width * height <= 1000;
          for (int i = 0; i < (whole ? width * height : 10); i++) {
            const int at = whole    ? i
                           : i == 0 ? width * height - 1
                                    : int (random () % (width * height));
            const int x1 = at % width, y1 = at / width;
            const Sums counts = count_pixels (image, width, Region{ 0, 0, x1 + 1, y1 + 1 }, bins);
            for (int b = 0; b < bins; b++) {
              std::uint32_t is = 0;
              memcpy (&is,
                      &tensor[b * c.layout ().plane_pitch + y1 * c.layout ().row_pitch
                              + x1 * bytes_of (counter)],
                      bytes_of (counter));
              const std::uint32_t must =
                  std::uint32_t (counter == Type::u32 ? counts[b] : counts[b] % 65536);
              fail_unless (is == must, "%s: (%d, %d, %d) is %u, must be %u", c.name ().c_str (), b,
                           y1, x1, is, must);
            }
          }
        }
}

/// Tensors of floats, which the recursion would round elsewhere, and of tiles are refused and stay
/// as they are.
TEST (reference_refuses_floats_and_tiles)
{
  for (const auto &[pixel, counter] :
       { std::pair{ Type::u8, Type::f32 }, std::pair{ Type::f32, Type::f32 },
         std::pair{ Type::f64, Type::f64 }, std::pair{ Type::f32x4, Type::f32x4 },
         std::pair{ Type::u8, Type::u8_tiled } }) {
    const Content content = counter == Type::u8_tiled ? Content::bins : Content::sums;
    const Shape shape = { 3, 2, 1, counter, content, pixel };
    fail_unless (is_valid (shape));
    const Layout layout = layout_of (shape);
    Bytes pixels (256, 1), tensor (layout.plane_pitch, 0xa5);
    const Bytes before = tensor;
    fail_unless_equals_int (reference ({ shape, layout, { pixels.data (), 64 }, tensor.data () }),
                            EINVAL);
    fail_unless (tensor == before);
  }
}
