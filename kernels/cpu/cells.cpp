// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Computes the sums of cells (cells.hpp: rectangles whose edges may lie inside pixels) from a
// frame's pixels, in one pass over the pixels:
//   1. A row of pixels is accumulated in one number for each plane of each column of cells. A pixel
//      counts with the share of its width that lies in the column.
//   2. Rows of pixels that lie wholly in a row of cells are accumulated in the same numbers.
//   3. The numbers, times the share of the height of these rows, are added to the sums of the
//   cells.
// A row of pixels that an edge goes through is accumulated once, and is added to the cells above
// and below the edge.
#include <algorithm>
#include <array>
#include <vector>

#include "../cells.hpp"
#include "in_parallel.hpp"
#include "parallel.hpp"

namespace inthist::cpu {
namespace {

/// The columns (or rows) of pixels in a cell. Those from `first` to before `end` lie in the cell as
/// a whole, and of_before / kCellParts of column `before` and of_after / kCellParts of column
/// `after`.
struct Span {
  int before = 0, of_before = 0;
  int first = 0, end = 0;
  int after = 0, of_after = 0;

  static Span between (int from, int to)
  {
    Span span;
    span.first = divide_up (from, kCellParts);
    span.end = to / kCellParts;
    if (span.first > span.end) {  // both edges of the cell lie in one pixel
      span.before = span.end;
      span.of_before = to - from;
      span.end = span.first;
      return span;
    }
    span.before = span.first - 1;
    span.of_before = span.first * kCellParts - from;
    span.after = span.end;
    span.of_after = to - span.end * kCellParts;
    return span;
  }
};

/// Adds up the weights of pixels. A 64-bit number has the weights of a pixel for both of its bins,
/// one in each half. Each half of the sum over kMaxPixels pixels, each times its share in the cell,
/// is below 2^32.
struct WeightSums {
  using Pixel = WeightedPixel;
  static constexpr int kMaxPixels = 4096;
  int planes;

  int slots () const { return planes + 1; }  // a sum for each plane, and one for pixels in no bin
  void accumulate_share (Pixel pixel, std::uint32_t share, std::uint64_t *cell) const
  {
    const std::uint64_t both = pixel.to_bin () | std::uint64_t (pixel.to_next ()) << 32;
    cell[std::min (pixel.bin (), planes)] += both * share;
  }
  void accumulate_run (const Pixel *first, const Pixel *end, std::uint64_t *cell) const
  {
    for (; first + 2 <= end; first += 2) {  // reads both pixels before writing the sums of either
      const Pixel one = first[0], other = first[1];
      accumulate_pixel (one, cell);
      accumulate_pixel (other, cell);
    }
    if (first < end)
      accumulate_pixel (*first, cell);
  }
  void accumulate_pixel (Pixel pixel, std::uint64_t *cell) const
  {
    // masks both weights out of the word of a WeightedPixel, times kCellParts (a shift by 8)
    static_assert (kCellParts == 1 << 8 && WeightedPixel::kMax == 0xfff);
    const std::uint64_t both =
        (pixel.word & 0xfff00) | std::uint64_t (pixel.word >> 20) << (32 + 8);
    cell[std::min (pixel.bin (), planes)] += both;
  }
  void add_scaled (const std::uint64_t *__restrict cell, std::uint32_t share,
                   std::int64_t *__restrict sums) const
  {
    const auto times = [&] (std::uint64_t half) {
      return std::int64_t (std::uint64_t (std::uint32_t (half)) * share);
    };
    sums[0] += times (cell[0]) + times (cell[planes - 1] >> 32);
    for (int b = 1; b < planes; b++)
      sums[b] += times (cell[b]) + times (cell[b - 1] >> 32);
  }
};

/// Adds up, for each plane, the number that a table has for the value of each pixel.
template <int kPlanes>
struct TableSums {
  using Pixel = std::uint8_t;
  static constexpr int kMaxPixels = 1 << 15;
  std::array<std::array<std::uint32_t, 256>, kPlanes> table;

  int slots () const { return kPlanes; }
  void accumulate_share (Pixel pixel, std::uint32_t share, std::uint64_t *cell) const
  {
    for (int p = 0; p < kPlanes; p++)
      cell[p] += table[p][pixel] * share;
  }
  void accumulate_run (const Pixel *first, const Pixel *end, std::uint64_t *cell) const
  {
    std::uint32_t sums[kPlanes] = {};  // over at most kMaxCellColumns pixels
    for (; first < end; first++)
      for (int p = 0; p < kPlanes; p++)
        sums[p] += table[p][*first];
    for (int p = 0; p < kPlanes; p++)
      cell[p] += std::uint64_t (sums[p]) * kCellParts;
  }
  void add_scaled (const std::uint64_t *cell, std::uint32_t share, std::int64_t *sums) const
  {
    for (int p = 0; p < kPlanes; p++)
      sums[p] += std::int64_t (cell[p] * share);
  }
};

/// Computes the sums of the cells in some rows of a grid of cells.
template <class Sums>
class Sweep {
public:
  Sweep (const Image &image, const Cells &cells, const Sums &sums, std::size_t planes)
      : image_ (image), cells_ (cells), sums_ (sums), planes_ (planes),
        row_ (std::size_t (cells.columns ()) * sums.slots ())
  {
    int widest = 1;
    for (int i = 0; i < cells.columns (); i++) {
      spans_.push_back (Span::between (cells.x[i], cells.x[i + 1]));
      widest = std::max (widest, spans_.back ().end - spans_.back ().first + 2);
    }
    most_rows_ = std::max (1, Sums::kMaxPixels / widest);
  }

  void add_up_cells (int first_row, int end_row, std::int64_t *sums)
  {
    for (int row = first_row; row < end_row; row++) {
      std::int64_t *const to = sums + std::size_t (row) * cells_.columns () * planes_;
      std::fill_n (to, cells_.columns () * planes_, 0);
      const Span rows = Span::between (cells_.y[row], cells_.y[row + 1]);
      add_rows (rows.before, rows.before + 1, rows.of_before, to);
      for (int y = rows.first; y < rows.end; y += most_rows_)
        add_rows (y, std::min (y + most_rows_, rows.end), kCellParts, to);
      add_rows (rows.after, rows.after + 1, rows.of_after, to);
    }
  }

private:
  /// Adds pixel rows `first` to before `end` to the sums of a row of cells; share / kCellParts of
  /// the height of each pixel row lies in the cells.
  void add_rows (int first, int end, int share, std::int64_t *to)
  {
    if (share == 0)
      return;
    if (first != first_ || end != end_) {
      std::ranges::fill (row_, 0);
      for (int y = first; y < end; y++)
        accumulate_row (y);
      first_ = first, end_ = end;
    }
    for (int i = 0; i < cells_.columns (); i++)
      sums_.add_scaled (&row_[std::size_t (i) * sums_.slots ()], std::uint32_t (share),
                        to + i * planes_);
  }

  void accumulate_row (int y)
  {
    const auto *const pixels = reinterpret_cast<const typename Sums::Pixel *> (
        static_cast<const std::byte *> (image_.data) + y * image_.stride);
    std::uint64_t *cell = row_.data ();
    for (const Span &span : spans_) {
      if (span.of_before > 0)
        sums_.accumulate_share (pixels[span.before], std::uint32_t (span.of_before), cell);
      sums_.accumulate_run (pixels + span.first, pixels + span.end, cell);
      if (span.of_after > 0)
        sums_.accumulate_share (pixels[span.after], std::uint32_t (span.of_after), cell);
      cell += sums_.slots ();
    }
  }

  const Image &image_;
  const Cells &cells_;
  const Sums &sums_;
  const std::size_t planes_;
  std::vector<Span> spans_;
  int most_rows_ = 1;
  std::vector<std::uint64_t> row_;  // sums, [column of cells][slot], of pixel rows first_..end_ - 1
  int first_ = 0, end_ = 0;
};

/// Computes the sums of a grid of cells, with more threads the more pixels there are.
template <class Sums>
int sweep (const Image &image, const Cells &cells, const Sums &sums, std::size_t planes,
           std::int64_t *to)
{
  if (cells.size () == 0)
    return 0;
  const Region around = cells.around ();
  const std::int64_t pixels = std::int64_t (around.width) * around.height;
  const int tasks = int (std::clamp<std::int64_t> (pixels / kPixelsOfATask, 1, cells.rows ()));
  const auto run = [&] (int task) {
    Sweep (image, cells, sums, planes)
        .add_up_cells (task * cells.rows () / tasks, (task + 1) * cells.rows () / tasks, to);
  };
  if (tasks > 1)
    return for_each (tasks, 1, nullptr, run);
  return guarded ([&] {
    run (0);
    return 0;
  });
}

}  // namespace

int add_up_cells (const Binning &binning, const Shape &shape, const Cells &cells, Scores scores,
                  std::int64_t *sums)
{
  if (shape.content == Content::weights)
    return sweep (binning.image, cells, WeightSums{ shape.bins }, std::size_t (shape.bins), sums);
  TableSums<2> both = {};
  TableSums<1> one = {};
  for (int v = 0; v < 256; v++) {
    const std::size_t bin = binning.lut[v];
    if (shape.content == Content::bins)
      one.table[0][v] = bin < std::size_t (shape.bins) && bin < scores.size () ? scores[bin] : 0;
    else
      one.table[0][v] = both.table[0][v] = v, both.table[1][v] = v * v;
  }
  if (shape.has_squares ())
    return sweep (binning.image, cells, both, 2, sums);
  return sweep (binning.image, cells, one, 1, sums);
}

}  // namespace inthist::cpu
