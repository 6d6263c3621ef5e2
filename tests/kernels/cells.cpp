// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The sum of a cell is the value of each pixel, times the share of its area in the cell: pixel by
// pixel, in integers, for edges anywhere, several edges in a pixel, and cells as wide as they may
// be. Only a GPU takes many grids at once, and windows whose bins are counted.
//
// Environment: devices.hpp
#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include <kernels/cells.hpp>

#include "devices.hpp"
#include "test.hpp"

namespace {

struct Frame {
  Shape shape;
  std::vector<std::uint8_t> bytes;
  Lut lut;

  std::size_t stride () const { return std::size_t (shape.width) * bytes_of (shape.pixel); }
  Binning binning () const
  {
    return {
      { reinterpret_cast<const std::byte *> (bytes.data ()), std::ptrdiff_t (stride ()), {} }, lut
    };
  }
  /// Returns the amount that a pixel adds to a plane.
  std::int64_t at (int x, int y, int plane, Scores scores) const
  {
    const std::uint8_t *const pixel =
        &bytes[std::size_t (y) * stride () + std::size_t (x) * bytes_of (shape.pixel)];
    if (shape.content == Content::sums)
      return plane == 0 ? *pixel : *pixel * *pixel;
    if (shape.content == Content::bins)
      return lut[*pixel] < std::min (std::size_t (shape.bins), scores.size ()) ? scores[lut[*pixel]]
                                                                               : 0;
    std::uint32_t word;
    std::memcpy (&word, pixel, sizeof word);
    const int bin = int (word % 256), next = (bin + 1) % shape.bins;
    return bin >= shape.bins
               ? 0
               : (bin == plane ? word / 256 % 4096 : 0) + (next == plane ? word / (256 * 4096) : 0);
  }
};

std::mt19937 random_numbers (seed ());

int number (int most)
{
  return std::uniform_int_distribution (0, most) (random_numbers);
}

Frame frame_of (int width, int height, int planes, Content content)
{
  const bool weights = content == Content::weights;
  Frame frame = { { width, height, planes, Type::u32, content, weights ? Type::u32 : Type::u8 },
                  {},
                  uniform_lut (256) };
  for (auto &bin : frame.lut)
    bin = std::uint8_t (number (255));
  frame.bytes.resize (frame.stride () * std::size_t (height));
  for (auto &byte : frame.bytes)
    byte = std::uint8_t (number (255));
  if (weights)  // of which both together are at most kMax, and all in some pixels
    for (std::size_t i = 0; i < frame.bytes.size (); i += 4) {
      const int all = number (3) == 0 ? WeightedPixel::kMax : number (WeightedPixel::kMax),
                first = number (1) == 0 ? all : number (all);
      const std::uint32_t word = WeightedPixel::of (number (planes), first, all - first).word;
      std::memcpy (&frame.bytes[i], &word, sizeof word);
    }
  return frame;
}

std::int64_t overlap (int a0, int a1, int b0, int b1)
{
  return std::max (0, std::min (a1, b1) - std::max (a0, b0));
}

/// A grid's edges, and the scores of the question.
struct Grid {
  std::vector<int> x, y;
  Scores scores;

  Cells cells () const { return { x, y }; }
};

int planes_of (const Frame &frame)
{
  return frame.shape.content == Content::bins ? 1 : frame.shape.bins;
}

#if INTHIST_CUDA
/// A frame's values on a device.
struct DeviceFrame {
  std::size_t stride;
  Block memory;

  explicit DeviceFrame (const Frame &frame)
      : stride (round_up (frame.stride (), 64) + 64),
        memory (Device::cuda, stride * std::size_t (frame.shape.height), 0, !small_cases ())
  {
    memory.poison ();
    for (int y = 0; y < frame.shape.height; y++)
      copy (Device::cuda, memory.data + std::size_t (y) * stride,
            &frame.bytes[std::size_t (y) * frame.stride ()], frame.stride ());
  }
  PixelPlane plane () const { return { memory.data, stride }; }
};

/// Copies values to the device; they stay there as long as the list lives.
template <class T>
const T *put (std::deque<Block> &inputs, const std::vector<T> &values)
{
  Block &block =
      inputs.emplace_back (Device::cuda, values.size () * sizeof (T), 0, !small_cases ());
  block.put (values.data (), values.size () * sizeof (T));
  return reinterpret_cast<const T *> (block.data);
}

/// Returns the amount of each value in each plane.
std::vector<std::uint16_t> table_of (const Frame &frame, Scores scores)
{
  std::vector<std::uint16_t> table;
  for (int plane = 0; plane < planes_of (frame); plane++)
    for (int v = 0; v < 256; v++) {
      const std::size_t bin = frame.lut[std::size_t (v)];
      table.push_back (std::uint16_t (
          frame.shape.content == Content::sums ? (plane == 0 ? v : v * v)
          : bin < std::min (std::size_t (frame.shape.bins), scores.size ()) ? scores[bin]
                                                                            : 0));
    }
  return table;
}

/// Computes all grids in one launch.
std::vector<std::vector<std::int64_t>> on_device (const Frame &frame,
                                                  const std::vector<Grid> &grids)
{
  const DeviceFrame there (frame);
  std::deque<Block> inputs;
  std::vector<Block *> sums;
  std::vector<cuda::CellsOnDevice> all;
  cuda::CellGrids job = {};
  for (const Grid &grid : grids) {
    const Cells cells = grid.cells ();
    const int *const x = put (inputs, grid.x), *const y = put (inputs, grid.y);
    const std::uint16_t *const table = put (inputs, table_of (frame, grid.scores));
    Block &out = inputs.emplace_back (Device::cuda,
                                      cells.size () * planes_of (frame) * sizeof (std::int64_t), 0,
                                      !small_cases ());
    out.poison ();
    sums.push_back (&out);
    all.push_back ({ x, y, cells.columns (), cells.rows (), cells.widest (), table,
                     reinterpret_cast<std::int64_t *> (out.data) });
    job.most_columns = std::max (job.most_columns, cells.columns ());
    job.most_rows = std::max (job.most_rows, cells.rows ());
  }
  job.grids = put (inputs, all);
  job.n = int (all.size ());
  Queue queue (Device::cuda);
  fail_unless_equals_int (cuda::add_up_cells (there.plane (), frame.shape, job, queue.stream), 0);
  queue.wait ();
  std::vector<std::vector<std::int64_t>> answers;
  for (std::size_t i = 0; i < grids.size (); i++) {
    fail_unless (sums[i]->guards_hold ());
    auto &answer = answers.emplace_back (grids[i].cells ().size () * planes_of (frame));
    copy (Device::cuda, answer.data (), sums[i]->data, answer.size () * sizeof (std::int64_t));
  }
  return answers;
}
#endif

std::vector<std::vector<std::int64_t>> sums_of (Device device, const Frame &frame,
                                                const std::vector<Grid> &grids)
{
#if INTHIST_CUDA
  if (device == Device::cuda)
    return on_device (frame, grids);
#endif
  (void) device;
  std::vector<std::vector<std::int64_t>> answers;
  for (const Grid &grid : grids) {
    auto &answer = answers.emplace_back (grid.cells ().size () * planes_of (frame), -1);
    fail_unless (cpu::add_up_cells (frame.binning (), frame.shape, grid.cells (), grid.scores,
                                    answer.data ())
                 == 0);
  }
  return answers;
}

void expect_truth (Device device, const Frame &frame, const std::vector<Grid> &grids)
{
  const int planes = planes_of (frame);
  const auto answers = sums_of (device, frame, grids);
  for (std::size_t g = 0; g < grids.size (); g++) {
    const auto &[x, y, scores] = grids[g];
    const std::int64_t *got = answers[g].data ();
    for (std::size_t row = 0; row + 1 < y.size (); row++)
      for (std::size_t column = 0; column + 1 < x.size (); column++)
        for (int plane = 0; plane < planes; plane++) {
          std::int64_t sum = 0;
          for (int j = y[row] / kCellParts; j * kCellParts < y[row + 1]; j++)
            for (int i = x[column] / kCellParts; i * kCellParts < x[column + 1]; i++)
              sum += overlap (x[column], x[column + 1], i * kCellParts, (i + 1) * kCellParts)
                     * overlap (y[row], y[row + 1], j * kCellParts, (j + 1) * kCellParts)
                     * frame.at (i, j, plane, scores);
          fail_unless (*got == sum,
                       "grid %zu, cell %zu, %zu, plane %d of %d: %" G_GINT64_FORMAT
                       ", must be %" G_GINT64_FORMAT,
                       g, column, row, plane, planes, gint64 (*got), gint64 (sum));
          got++;
        }
  }
}

std::vector<int> some_edges (int cells, int side)
{
  std::vector<int> edges;
  for (int i = 0; i <= cells; i++)
    edges.push_back (number (3) == 0 ? number (side) * kCellParts : number (side * kCellParts));
  std::ranges::sort (edges);
  return edges;
}

constexpr struct {
  Content content;
  int planes;
} kContents[] = { { Content::weights, 18 }, { Content::weights, 1 }, { Content::sums, 1 },
                  { Content::sums, 2 },     { Content::bins, 256 },  { Content::bins, 7 } };

DEVICE_TEST (anywhere)
{
  std::vector<std::uint8_t> scores (200), others (256);
  for (auto *const its : { &scores, &others })
    for (auto &score : *its)
      score = std::uint8_t (number (255));
  for (const auto &[content, planes] : kContents)
    for (int round = 0; round < 20; round++) {
      const Frame frame = frame_of (1 + number (60), 1 + number (40), planes, content);
      std::vector<Grid> grids;
      for (int n = 1 + number (4); n > 0; n--)
        grids.push_back ({ some_edges (1 + number (round < 10 ? 80 : 6), frame.shape.width),
                           some_edges (1 + number (12), frame.shape.height),
                           n % 2 ? scores : others });
      expect_truth (device, frame, grids);
    }
}

DEVICE_TEST (none)
{
  for (const auto &[content, planes] : kContents) {
    const Frame frame = frame_of (9, 7, planes, content);
    expect_truth (device, frame, { { { 0, 256 }, { 512 }, {} }, { { 512 }, { 0, 256 }, {} } });
    expect_truth (device, frame, { { { 0, 256 }, { 512 }, {} } });
    expect_truth (device, frame, {});
  }
}

// sums near their limits, and more pixels than one thread adds up
DEVICE_TEST (large)
{
  const std::vector<std::uint8_t> scores (256, 255);
  for (const auto &[content, planes] : kContents) {
    Frame frame = frame_of (cpu::kMaxCellColumns + 9, 40, planes, content);
    if (content == Content::weights) {
      const std::uint32_t word = WeightedPixel::of (planes - 1, WeightedPixel::kMax, 0).word;
      for (std::size_t i = 0; i < frame.bytes.size (); i += 4)
        std::memcpy (&frame.bytes[i], &word, sizeof word);
    } else {
      std::ranges::fill (frame.bytes, 255);
      frame.lut[255] = std::uint8_t (planes - 1);
    }
    const int first = 1, end = first + cpu::kMaxCellColumns * kCellParts;
    expect_truth (device, frame,
                  { { { first, end, end + 700 }, { 3, 256 * 17 + 5, 256 * 40 }, scores } });
  }
}

#if INTHIST_CUDA
// windows of the frame, also empty ones, by a LUT in which some values have no bin
TEST (windows)
{
  if (!have (Device::cuda, "windows"))
    return;
  for (const int bins : { 1, 7, 200, 256 })
    for (int round = 0; round < 10; round++) {
      const Frame frame = frame_of (1 + number (200), 1 + number (90), bins, Content::bins);
      std::vector<Region> windows = { { 0, 0, 0, 0 },
                                      { 0, 0, frame.shape.width, frame.shape.height } };
      for (int n = 0; n < 20; n++) {
        const int x = number (frame.shape.width - 1), y = number (frame.shape.height - 1);
        windows.push_back (
            { x, y, number (frame.shape.width - x), number (frame.shape.height - y) });
      }
      const DeviceFrame there (frame);
      std::deque<Block> inputs;
      Block out (Device::cuda, windows.size () * std::size_t (bins) * sizeof (guint32), 0,
                 !small_cases ());
      out.poison ();
      Queue queue (Device::cuda);
      fail_unless_equals_int (cuda::count_windows (there.plane (), frame.lut, bins,
                                                   put (inputs, windows), int (windows.size ()),
                                                   reinterpret_cast<guint32 *> (out.data),
                                                   queue.stream),
                              0);
      queue.wait ();
      std::vector<guint32> got (windows.size () * std::size_t (bins));
      copy (Device::cuda, got.data (), out.data, got.size () * sizeof (guint32));
      fail_unless (out.guards_hold ());
      std::vector<guint32> wanted (got.size ());
      for (std::size_t w = 0; w < windows.size (); w++)
        for (int y = windows[w].y; y < windows[w].y + windows[w].height; y++)
          for (int x = windows[w].x; x < windows[w].x + windows[w].width; x++)
            if (const int bin =
                    frame.lut[frame.bytes[std::size_t (y) * frame.stride () + std::size_t (x)]];
                bin < bins)
              wanted[w * std::size_t (bins) + std::size_t (bin)]++;
      fail_unless (got == wanted);
    }
}
#endif

}  // namespace
