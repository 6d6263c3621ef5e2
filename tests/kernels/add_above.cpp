// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Every strategy computes a tensor in parts: groups of bins, each with a LUT of its own, and strips
// of rows, which add_above joins. Put together they are the whole tensor, bit for bit. Frames of
// tiles are not cut into strips.
//
// Environment: devices.hpp
#include <random>

#include <kernels/published/reference.hpp>
#include <kernels/registry.hpp>

#include "devices.hpp"
#include "test.hpp"

namespace {

using Random = std::mt19937;

/// A frame of 8-bit pixels, or of any pixels for a table, computed as a whole by Algorithm 1.
struct Whole {
  Case c;
  Lut lut = {};
  std::size_t stride;  // bytes
  Bytes pixels, tensor;

  Whole (const Case &what, Random &random)
      : c (what), stride (c.shape.width * bytes_of (c.shape.pixel))
  {
    const Shape &shape = c.shape;
    tensor.resize (tensor_bytes (shape));
    if (shape.content == Content::sums) {
      pixels = pixels_of (c);
      fail_unless_equals_int (
          reference ({ shape, layout_of (shape), { pixels.data (), stride }, tensor.data () }), 0);
      return;
    }
    pixels = picture_of (c);
    lut = uniform_lut (shape.bins);
    if (random () % 2)
      for (auto &entry : lut)
        entry = std::uint8_t (random () % std::min (256, shape.bins + shape.bins / 4 + 1));
    Bytes bins (padded_columns (shape.width) * shape.height);
    const PixelPlane plane = { bins.data (), padded_columns (shape.width) };
    fail_unless_equals_int (
        cpu::bin_image ({ { pixels.data (), std::ptrdiff_t (stride), {} }, lut }, shape.width,
                        shape.height, plane),
        0);
    make_right ({ shape, layout_of (shape), plane, tensor.data () });
  }

  const std::uint8_t *row (int plane, int y) const
  {
    return &tensor[plane * layout_of (c.shape).plane_pitch + y * layout_of (c.shape).row_pitch];
  }
};

/// 0, n, and some numbers between.
std::vector<int> cuts_of (int n, Random &random)
{
  std::vector<int> cuts = { 0 };
  while (cuts.back () < n)
    cuts.push_back (cuts.back () + 1 + int (random () % (n - cuts.back ())));
  return cuts;
}

/// The tensor of planes first_plane.. and rows first_row.. as it must lie in a block of memory,
/// with poison around the elements.
Bytes part_of (const Whole &whole, int first_plane, int first_row, const Case &part,
               const Block &block)
{
  Bytes bytes (block.total, kPoison);
  const Layout layout = part.layout ();
  const Rows rows = rows_of (part.shape);
  for (int p = 0; p < part.shape.bins; p++)
    for (int y = 0; y < rows.n; y++)
      memcpy (&bytes[block.front + p * layout.plane_pitch + y * layout.row_pitch],
              whole.row (first_plane + p, first_row + y), rows.bytes);
  return bytes;
}

/// Returns the memory above row `next_row` after add_above.
Bytes above_of (const Whole &whole, int first_plane, int planes, int next_row, const Block &block)
{
  Bytes bytes (block.total, kPoison);
  const std::size_t width = whole.c.shape.width, size = bytes_of (whole.c.shape.counter);
  memset (&bytes[block.front], 0, planes * width * sizeof (std::uint32_t));
  for (int p = 0; p < planes; p++)
    for (std::size_t x = 0; x < width; x++)
      memcpy (&bytes[block.front + (p * width + x) * sizeof (std::uint32_t)],
              whole.row (first_plane + p, next_row - 1) + x * size, size);
  return bytes;
}

void add_above (Device device, const Case &part, const Block &tensor, const Block &above,
                [[maybe_unused]] Stream stream)
{
  auto *const words = reinterpret_cast<std::uint32_t *> (above.data);
#if INTHIST_CUDA
  if (device == Device::cuda)
    fail_unless (cuda::add_above (part.shape, part.layout (), tensor.data, words, stream) == 0);
#endif
  if (device == Device::cpu)
    fail_unless_equals_int (cpu::add_above (part.shape, part.layout (), tensor.data, words), 0);
}

/// Computes the planes from first_plane on, strip after strip.
void compute_group (const Strategy &strategy, const Whole &whole, int first_plane, int planes,
                    Random &random)
{
  const Device device = strategy.device;
  const Shape &all = whole.c.shape;
  const bool guards = !small_cases (), bins = all.content == Content::bins,
             tiles = all.counter == Type::u8_tiled;
  Queue queue (device);
  Block pixels (device, whole.pixels.size ()),
      above (device, sizeof (std::uint32_t) * planes * all.width, random () % 4 * 4, guards);
  pixels.put (whole.pixels.data (), whole.pixels.size ());
  above.poison ();
  fill (device, above.data, 0, sizeof (std::uint32_t) * planes * all.width);
  const std::vector<int> cuts =
      tiles ? std::vector<int>{ 0, all.height } : cuts_of (all.height, random);
  for (std::size_t i = 0; i + 1 < cuts.size (); i++) {
    Case part = whole.c;
    part.shape.height = cuts[i + 1] - cuts[i];
    part.shape.bins = planes;
    part.own_layout = random () % 3 != 0;
    part.row_gap = random () % 3 * 16;
    part.plane_gap = random () % 3 * 16;
    const std::uint8_t *const first = pixels.data + cuts[i] * whole.stride;
    const Binning binning = { { first, std::ptrdiff_t (whole.stride), {} },
                              lut_of_bins (whole.lut, first_plane, planes) };
    const Block plane (device, bins ? padded_columns (all.width) * part.shape.height : 0),
        workspace (device, strategy.workspace_bytes (part.shape, {}));
    Block tensor (device, tensor_bytes (part.shape, part.layout ()), random () % 4 * 16, guards);
    tensor.poison ();
    Job job = { part.shape,  part.layout (), { const_cast<std::uint8_t *> (first), whole.stride },
                tensor.data, workspace.data, queue.stream };
    if (bins) {
      job.pixels = { plane.data, padded_columns (all.width) };
      job.binning = &binning;
    }
    fail_unless (inthist::run (strategy, job) == 0);
    if (!tiles)
      add_above (device, part, tensor, above, queue.stream);
    queue.wait ();
    const std::string what =
        text ("%s: %s of %s, planes from %d and rows from %d, INTHIST_SEED=%u", strategy.name,
              part.name ().c_str (), name_of (all).c_str (), first_plane, cuts[i], seed ());
    fail_unless (tensor.get () == part_of (whole, first_plane, cuts[i], part, tensor), "%s",
                 what.c_str ());
    fail_unless (tiles || above.get () == above_of (whole, first_plane, planes, cuts[i + 1], above),
                 "%s: what is above the next strip", what.c_str ());
  }
}

}  // namespace

DEVICE_TEST (in_parts)
{
  // counts and sums overflow in the second size
  static constexpr int kSizes[][2] = {
    { 1, 1 }, { 400, 250 }, { 5003, 9 }, { 3, 700 }, { 64, 64 }
  };
  const int frames = small_cases () ? 4 : 24;
  Random random (seed ());
  for (int i = 0; i < frames; i++)
    for (Shape shape : kinds ()) {
      const bool bins = shape.content == Content::bins;
      if (is_floating (shape.counter) || (!bins && i % 4 != 1)
          || shape.content == Content::weights)  // whose elements are those of u32
        continue;
      const bool listed = !small_cases () && i < int (std::size (kSizes));
      shape.width = listed ? kSizes[i][0] : 1 + int (random () % (small_cases () ? 40 : 300));
      shape.height = listed ? kSizes[i][1] : 1 + int (random () % (small_cases () ? 30 : 200));
      if (bins)
        shape.bins = 1
                     + int (random ()
                            % (small_cases () ? 6
                               : listed       ? 8
                               : i % 8 == 7   ? 256
                                              : 40));
      Case c = case_of (shape, Pattern (listed ? int (Pattern::full) : random () % 6));
      c.seed = random ();
      const Whole whole (c, random);
      for (const Strategy &strategy : strategies ()) {
        if (strategy.device != device || !accepts (strategy, shape)
            || (strategy.slow && small_cases ()))
          continue;
        const std::vector<int> cuts =
            bins ? cuts_of (shape.bins, random) : std::vector<int>{ 0, shape.bins };
        for (std::size_t group = 0; group + 1 < cuts.size (); group++)
          compute_group (strategy, whole, cuts[group], cuts[group + 1] - cuts[group], random);
      }
    }
}

/// The memory for the largest part is enough for any other.
DEVICE_TEST (workspaces)
{
  Random random (seed ());
  for (Shape shape : kinds ())
    for (int i = 0; i < 400; i++) {
      const bool bins = shape.content != Content::sums;
      shape.width = 1 + int (random () % 6000);
      shape.height = 1 + int (random () % 6000);
      if (bins)
        shape.bins = 1 + int (random () % 256);
      Shape part = shape;
      part.height = 1 + int (random () % shape.height);
      if (bins)
        part.bins = i % 2 ? std::max (1, shape.bins - 1) : 1 + int (random () % shape.bins);
      for (const Strategy &strategy : strategies ())
        if (strategy.device == device && accepts (strategy, shape) && accepts (strategy, part))
          fail_unless (strategy.workspace_bytes (part, {}) <= strategy.workspace_bytes (shape, {}),
                       "%s: %s takes more than %s", strategy.name, name_of (part).c_str (),
                       name_of (shape).c_str ());
    }
}

TEST (lut)
{
  Random random (seed ());
  for (int round = 0; round < 300; round++) {
    Lut lut = uniform_lut (1 + round % 256);
    if (round % 2)
      for (auto &entry : lut)
        entry = std::uint8_t (random () % (1 + random () % 256));
    const int first = int (random () % 256), bins = 1 + int (random () % (256 - first));
    const Lut group = lut_of_bins (lut, first, bins);
    for (int value = 0; value < 256; value++) {
      int must = 255;
      for (int b = 0; b < bins; b++)
        if (lut[value] == first + b)
          must = b;
      fail_unless_equals_int (group[value], must);
    }
    fail_unless (lut_of_bins (lut, 0, 256) == lut);
  }
}
