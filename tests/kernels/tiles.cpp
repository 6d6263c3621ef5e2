// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tiles have their bytes at the places that tiles.hpp states, narrow tiles in frames up to the
// limits there and wide tiles beyond, and strategies fill all bits of both.
//
// Environment: devices.hpp
#include <hwy/targets.h>

#include <kernels/query.hpp>
#include <kernels/tensor_view.hpp>

#include "devices.hpp"
#include "test.hpp"

namespace {

/// Reads H of a frame of one tile, of 16x16 places.
std::uint32_t read (const Bytes &tile, bool wide, int i, int j)
{
  return TiledElements{ tile.data (), tile.size (), { 1, 1, wide } }(i, j);
}

/// Frames with few pixels that need many bits, and frames on either side of each limit. In those
/// full of one bin H is (y + 1) (x + 1).
constexpr struct {
  int width, height, bins;
  Pattern pattern;
  bool wide;
} kFrames[] = {
  { 4369, 40, 3, Pattern::noise, false },  { 4370, 40, 3, Pattern::noise, true },
  { 40, 4369, 3, Pattern::down, false },   { 40, 4370, 3, Pattern::noise, true },
  { 4369, 20, 1, Pattern::full, false },   { 20, 4369, 1, Pattern::full, false },
  { 70000, 20, 1, Pattern::full, true },    // bits 16..23 of left
  { 20, 70000, 1, Pattern::full, true },    // of top
  { 4112, 4096, 1, Pattern::full, false },  // a corner of 24 bits
  { 4097, 4097, 1, Pattern::full, true },   // and of 25
};

}  // namespace

DEVICE_TEST (frames)
{
  Queue queue (device);
  for (const auto &[width, height, bins, pattern, wide] : kFrames) {
    if (small_cases () && width * height > 100000)
      continue;
    Case c = case_of ({ width, height, bins, Type::u8_tiled }, pattern);
    fail_unless (tiles_of (c.shape).wide == wide, "%s", c.name ().c_str ());
    c.own_layout = true;
    c.row_gap = c.shift = 16;
    const Input input (c);
    Frame frame (device, input, !small_cases ());
    for (const Strategy &strategy : strategies ()) {
      if (strategy.device != device || !accepts (strategy, c.shape))
        continue;
      expect_right (strategy, c.shape, frame, queue, c.name ());
      if (pattern != Pattern::full)
        continue;
      const Bytes bytes = frame.tensor.get ();
      TensorView (c.shape, c.layout (), &bytes[frame.tensor.front])
          .with_planes ([&] (const auto &plane) {
            for (int y = 0; y < height; y += y < height - 20 ? 7 : 1)
              for (int x = 0; x < width; x++)
                fail_unless (plane (0) (y, x) == std::uint32_t (y + 1) * (x + 1), "%s: (%d, %d)",
                             c.name ().c_str (), y, x);
          });
    }
  }
}

/// Every byte of a tile counts where the format says, and nowhere else.
TEST (format)
{
  fail_unless_equals_int (Tiles{}.bytes (), 288);
  fail_unless_equals_int ((Tiles{ 1, 1, true }).bytes (), 320);
  for (const bool wide : { false, true }) {
    const int rows = wide ? 5 : 3;  // the line of row 1
    for (int line = 0; line < rows + 15; line++)
      for (int byte = 0; byte < 16; byte++) {
        if (wide && line == 4 && byte == 0)
          continue;  // always 0
        Bytes tile (wide ? 320 : 288);
        tile[16 * line + byte] = 0xa7;
        for (int i = 0; i < 16; i++)
          for (int j = 0; j < 16; j++) {
            int shift = -1;  // where the byte counts
            if (line < 2) {
              const int number = 8 * line + byte / 2;  // corner or top
              if (number == 0 || number == j)
                shift = byte % 2 * 8;
            } else if (line < rows) {
              const int of_corner[] = { 16, 24, -1 }, of_others[] = { 8, 16, 16 };
              if (byte == 0)
                shift = of_corner[line - 2];
              else if (byte == (line == 3 ? j : i))
                shift = of_others[line - 2];
            } else if (line - rows + 1 == i && (byte == 0 || byte == j)) {
              shift = 0;  // left or inside
            }
            fail_unless (read (tile, wide, i, j) == (shift < 0 ? 0 : 0xa7u << shift),
                         "byte %d of line %d at (%d, %d)", byte, line, i, j);
          }
      }
  }
}

/// The CPU makes the same tiles, and gives the same answers from them, with each instruction set of
/// this machine.
TEST (instruction_sets)
{
  static constexpr int kSizes[][2] = { { 17, 33 }, { 257, 65 }, { 641, 79 }, { 4400, 21 } };
  const Strategy &strategy = *find_strategy ("byte-rows");
  Queue queue (Device::cpu);
  for (const auto &[width, height] : kSizes) {
    const Shape shape = { width, height, 3, Type::u8_tiled };
    const Input input (case_of (shape, Pattern::noise));
    Frame frame (Device::cpu, input, !small_cases ());
    const std::vector<float> model = { 0.2f, 0.5f, 0.3f };
    std::vector<float> wanted;
    for (std::int64_t left = hwy::SupportedTargets () | HWY_SCALAR; left != 0; left &= left - 1) {
      const std::int64_t target = left & -left;
      if ((target & HWY_TARGETS) == 0)
        continue;  // not compiled
      hwy::SetSupportedTargetsForTest (target);
      hwy::GetChosenTarget ().Update (hwy::SupportedTargets ());
      expect_right (strategy, shape, frame, queue, hwy::TargetName (target));
      std::vector<float> got;
      for (const int step : { 1, 3 }) {
        const Grid grid = { 20, 9, -7, -3, step, 2, width / step + 9, height / 2 };
        std::vector<float> map (std::size_t (grid.columns) * grid.rows);
        Query query = { .kind = QueryKind::likelihoods,
                        .windows = { nullptr, 0, grid },
                        .models = model.data () };
        query.answers = map.data ();
        fail_unless_equals_int (
            cpu::answer ({ shape, layout_of (shape), frame.tensor.data }, query), 0);
        got.insert (got.end (), map.begin (), map.end ());
      }
      if (wanted.empty ())
        wanted = got;
      fail_unless (got == wanted, "%s: a map of %s", hwy::TargetName (target),
                   name_of (shape).c_str ());
    }
    hwy::SetSupportedTargetsForTest (0);
    hwy::GetChosenTarget ().Update (hwy::SupportedTargets ());
  }
}
