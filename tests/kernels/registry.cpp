// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Layouts and the uniform LUT are as documented, a shape is valid or not, and some strategy takes
// every valid shape. inthist-check checks the strategies themselves.
#include <cmath>

#include <kernels/registry.hpp>

#include "devices.hpp"
#include "test.hpp"

TEST (lut)
{
  for (int bins = 1; bins <= 256; bins++) {
    const Lut lut = uniform_lut (bins);
    for (int value = 0; value < 256; value++)
      fail_unless_equals_int (lut[value], int (std::floor (double (value) * bins / 256)));
  }
}

TEST (layout_and_table)
{
  for (const Type counter : { Type::u32, Type::u16, Type::f64, Type::f32x4 })
    for (int width = 1; width < 200; width++) {
      const Shape shape{ width, 7, 3, counter };
      const Layout layout = layout_of (shape);
      fail_unless (layout.row_pitch % 64 == 0 && layout.row_pitch >= width * bytes_of (counter)
                   && layout.row_pitch < width * bytes_of (counter) + 64);
      fail_unless (layout.plane_pitch == 7 * layout.row_pitch
                   && tensor_bytes (shape, layout) == 3 * layout.plane_pitch);
    }
  for (int width = 1; width < 200; width++) {
    const Shape shape{ width, 33, 3, Type::u8_tiled };
    const Layout layout = layout_of (shape);
    const std::size_t bytes = 288 * ((width + 15) / 16);
    fail_unless (layout.row_pitch % 64 == 0 && layout.row_pitch >= bytes
                 && layout.row_pitch < bytes + 64);
    fail_unless (layout.plane_pitch == 3 * layout.row_pitch
                 && tensor_bytes (shape, layout) == 3 * layout.plane_pitch);
    fail_unless (rows_of (shape).n == 3 && rows_of (shape).bytes == bytes);
  }
  for (const Strategy &strategy : strategies ())
    fail_unless (find_strategy (strategy.name) == &strategy, "two strategies are called %s",
                 strategy.name);
  fail_unless (find_strategy ("none such") == nullptr);
}

/// Compares every combination of types and planes with the list in the header.
TEST (valid_shapes)
{
  static constexpr Type kTypes[] = { Type::u8,       Type::u16, Type::u32, Type::s32,
                                     Type::u8_tiled, Type::f32, Type::f64, Type::f32x4 };
  fail_unless (is_valid ({ 1 << 20, 1 << 20, 2, Type::u8_tiled })
               && !is_valid ({ (1 << 20) + 1, 2, 2, Type::u8_tiled })
               && !is_valid ({ 2, (1 << 20) + 1, 2, Type::u8_tiled }));
  const std::vector<Shape> right = kinds ();
  for (const Content content : { Content::bins, Content::weights, Content::sums })
    for (const Type pixel : kTypes)
      for (const Type counter : kTypes)
        for (const int planes : { -1, 0, 1, 2, 3, 256, 257 }) {
          const bool must = std::ranges::any_of (right, [&] (const Shape &kind) {
            const bool any_number = content != Content::sums && planes >= 1 && planes <= 256;
            return kind == Shape{ 1, 1, any_number ? 1 : planes, counter, content, pixel };
          });
          for (const int width : { -1, 0, 1, 640 })
            for (const int height : { -1, 0, 1, 480 }) {
              const Shape shape{ width, height, planes, counter, content, pixel };
              fail_unless (is_valid (shape) == (must && width > 0 && height > 0),
                           "%s from %s, %d planes", name_of (shape).c_str (), name_of (pixel),
                           planes);
            }
        }
}

/// No strategy takes an invalid tensor, and auto finds a strategy for every valid one.
TEST (acceptance)
{
  for (const Strategy &strategy : strategies ()) {
    fail_unless (!accepts (strategy, {}), "%s takes nothing", strategy.name);
    fail_unless (!accepts (strategy, { 64, 64, 300 }), "%s takes 300 bins", strategy.name);
    fail_unless (!accepts (strategy, { 64, 64, 2, Type::f32, Content::sums, Type::f32 }),
                 "%s takes two planes of floats", strategy.name);
    fail_unless (!accepts (strategy, { 64, 64, 1 }, { -1, 0 })
                     && !accepts (strategy, { 64, 64, 1 }, { 0, -1 }),
                 "%s takes a negative parameter", strategy.name);
  }
  for (const Device device : kDevices)
    for (Shape shape : kinds ()) {
      shape.width = 641;
      shape.height = 479;
      const Strategy *const preferred = preferred_strategy (device, shape);
      fail_unless ((preferred != nullptr) == (device == Device::cpu || INTHIST_CUDA), "%s on %s",
                   name_of (shape).c_str (), name_of (device));
      if (preferred)
        fail_unless (preferred->device == device && accepts (*preferred, shape), "%s: %s",
                     name_of (shape).c_str (), preferred->name);
    }
}

/// The strategy that auto takes without a measurement needs little memory apart from the tensor.
/// The most is a row of u32 for 64 rows of u8-tiled, with one bin and 32 processors or more.
TEST (workspace)
{
  static constexpr int kSizes[][2] = { { 512, 512 },   { 640, 480 },   { 1280, 720 },
                                       { 1920, 1080 }, { 3840, 2160 }, { 8192, 8192 } };
  for (const Device device : kDevices)
    for (const auto &[width, height] : kSizes)
      for (const int bins : { 1, 32, 256 })
        for (const Type counter : { Type::u32, Type::u16, Type::u8_tiled }) {
          const Shape shape = { width, height, bins, counter };
          const Strategy *const strategy = preferred_strategy (device, shape);
          if (!strategy)
            continue;  // a build without CUDA
          const std::size_t tensor = tensor_bytes (shape),
                            bytes = strategy->workspace_bytes (shape, {});
          fail_unless (bytes <= tensor / 20, "%s, %s: %zu bytes beside %zu", strategy->name,
                       name_of (shape).c_str (), bytes, tensor);
        }
}
