// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Compares neighbouring windows with a model, side by side. For each bin, two lines are read. A
// line has the elements of the integral histogram at the left and the right sides of all windows in
// a row of a grid. A window's count in the bin is right minus left in the line at its lower edge,
// minus right minus left in the line at its upper edge. The lower line is also the upper line of
// the windows that begin there. For the next bin, the same elements of the next plane are
// prefetched. Windows of a list have no lines in common, and are counted one by one. If bins have
// weights, all bins are read once before, because each bin is divided by their sum.
//
// The counts are then added to a MeasureSum (likeness.hpp) for each window. Highway compiles these
// plain loops over windows for each instruction set, and the compiler turns them into vectors.
// Measures have one source for all devices, and the operations for a window have one order, so that
// all devices give the same bits.

// This include guard works once for each instruction set (see Highway's -inl.h files).
#if defined(INTHIST_CPU_COMPARE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef INTHIST_CPU_COMPARE_INL_HPP
#undef INTHIST_CPU_COMPARE_INL_HPP
#else
#define INTHIST_CPU_COMPARE_INL_HPP
#endif

#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "compare.hpp"

HWY_BEFORE_NAMESPACE ();
namespace inthist::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kTilesMore = 2 * (kTileSide - 1);  // columns that copying whole tiles adds to a row

/// The columns x, x + step, ... of a tensor at the left sides, or at the right sides, of n windows.
/// Columns before number `first` lie left of the frame, and columns from number `last` on lie
/// right.
struct Sides {
  std::int64_t x = 0;
  int step = 1, n = 0, first = 0, last = 0;

  Sides () = default;
  Sides (std::int64_t x, int step, int n, int width)
      : x (x), step (step), n (n), first (first_from (0)), last (first_from (width))
  {
  }

  std::int64_t at (int i) const { return x + std::int64_t (i) * step; }

  int first_from (int column) const
  {
    return between (0, divide_up (std::max<std::int64_t> (0, column - x), step), n);
  }
};

/// Clips the number of a row or column to the frame; -1 is before the frame, where sums are 0.
inline int clipped (std::int64_t at, int size)
{
  return between (-1, at, size - 1);
}

template <class T>
void copy (const Elements2d<T> &at, int y, int x, int n, std::uint32_t *HWY_RESTRICT out)
{
  const T *HWY_RESTRICT in = at.plane + y * at.row + x;
  for (int i = 0; i < n; i++)
    out[i] = in[i];
}

HWY_INLINE void copy_tile (const TiledElements &at, const std::uint8_t *HWY_RESTRICT tile, int i,
                           std::uint32_t *HWY_RESTRICT out)
{
  const hn::CappedTag<std::uint32_t, kTileSide> d;
  const hn::Rebind<std::uint16_t, decltype (d)> d_words;
  const hn::Rebind<std::uint8_t, decltype (d)> d_bytes;
  const auto *const top = reinterpret_cast<const std::uint16_t *> (tile);
  const std::uint8_t *const high_top = tile + kTileSide * 3;
  const std::uint8_t *const inside = tile + kTileSide * at.tiles.line_of (i);
  const std::uint32_t left = at.left (tile, i);
  for (int j = 0; j < kTileSide; j += int (hn::Lanes (d))) {
    auto h = hn::Add (hn::Set (d, left), hn::PromoteTo (d, hn::LoadU (d_words, top + j)));
    if (i > 0)
      h = hn::Add (h, hn::PromoteTo (d, hn::LoadU (d_bytes, inside + j)));
    if (at.tiles.wide)
      h = hn::Add (h, hn::ShiftLeft<16> (hn::PromoteTo (d, hn::LoadU (d_bytes, high_top + j))));
    hn::StoreU (h, d, out + j);
  }
  out[0] = left;
}

/// Copies n of the tensor's columns from whole tiles, so up to 15 more are written at either end.
inline void copy (const TiledElements &at, int y, int x, int n, std::uint32_t *out)
{
  const std::uint8_t *tile = at.tile (y, x);
  const std::uint32_t *const end = out + x % kTileSide + n;
  for (; out < end; out += kTileSide, tile += at.tiles.bytes ())
    copy_tile (at, tile, y % kTileSide, out);
}

/// Copies the tensor's row y at the n columns x, x + step, ... to `out`.
template <class Element>
void copy_some (const Element &at, int y, int x, int step, int n, std::uint32_t *HWY_RESTRICT out)
{
  for (int i = 0; i < n; i++)
    out[i] = at (y, x + i * step);
}

inline void copy_some (const TiledElements &at, int y, int x, int step, int n,
                       std::uint32_t *HWY_RESTRICT out)
{
  std::uint32_t row[kTileSide];
  const std::uint8_t *before = nullptr;
  for (int i = 0; i < n; i++) {
    const int column = x + i * step;
    if (const std::uint8_t *const tile = at.tile (y, column); tile != before)
      copy_tile (at, before = tile, y % kTileSide, row);
    out[i] = row[column % kTileSide];
  }
}

/// Prefetches columns x to `last` of row y in another bin's plane, `ahead` bytes further in memory.
/// On one thread of an EPYC (Zen 4) a map of 640x480x32, u32, by intersection took 4.8 ms with
/// prefetching and 6.7 ms without.
template <class T>
void fetch (const Elements2d<T> &at, int y, int x, int last, std::size_t ahead)
{
  const auto *const row = reinterpret_cast<const std::uint8_t *> (at.plane + y * at.row) + ahead;
  for (std::size_t i = x * sizeof (T); i <= last * sizeof (T); i += 64)
    hwy::Prefetch (row + i);
}

/// Prefetches parts of the tiles with columns x to `last` in another bin's plane, `ahead` bytes
/// further: the first lines of each tile, and the line of row y.
inline void fetch (const TiledElements &at, int y, int x, int last, std::size_t ahead)
{
  const int line = kTileSide * at.tiles.line_of (y % kTileSide);
  const std::uint8_t *const end = at.tile (y, last);
  for (const std::uint8_t *tile = at.tile (y, x); tile <= end; tile += at.tiles.bytes ()) {
    hwy::Prefetch (tile + ahead);
    hwy::Prefetch (tile + ahead + 2 * kTileSide);
    hwy::Prefetch (tile + ahead + line);
  }
}

/// Returns the tensor's row y at the left or the right sides of windows, in place or copied to
/// `out`. In a copy, elements left of the frame are 0, and those right of it repeat the last
/// column. `out` needs room for kTilesMore more numbers, because tiles are copied as a whole.
template <class Element>
const std::uint32_t *elements_at (const Element &at, int y, const Sides &sides, int width,
                                  std::size_t ahead, std::uint32_t *out)
{
  const auto [x, step, n, first, last] = sides;
  if (first < last) {
    const int begin = int (sides.at (first));
    fetch (at, y, begin, int (sides.at (last - 1)), ahead);
    if constexpr (std::is_same_v<Element, Elements2d<std::uint32_t>>)
      if (step == 1 && last - first == n)
        return at.plane + y * at.row + begin;
    if (step == 1) {
      copy (at, y, begin, last - first, out + first);
      if constexpr (std::is_same_v<Element, TiledElements>)
        out += begin % kTileSide;  // 0 unless `first` is 0
    } else {
      copy_some (at, y, begin, step, last - first, out + first);
    }
  }
  std::fill (out, out + first, 0);
  if (last < n)
    std::fill (out + last, out + n, at (y, width - 1));
  return out;
}

struct Line {
  const std::uint32_t *left, *right;  // of the windows
};

inline void add_counts (Line above, Line below, std::uint32_t modulus, int n,
                        std::uint32_t *HWY_RESTRICT counts)
{
  for (int i = 0; i < n / 16 * 16; i++)
    counts[i] += (below.right[i] - below.left[i] - above.right[i] + above.left[i]) & modulus;
}

/// Compares the windows of a batch (compare.hpp) with one model after another.
class Comparison {
public:
  Comparison (const TensorView &tensor, const Query &query, const WindowBatch &batch)
      : tensor_ (tensor), shape_ (tensor.shape), query_ (query), batch_ (batch),
        stride_ (batch.stride ()), at_once_ (WindowBatch::kColumns / stride_ * stride_)
  {
  }

  /// Compares the batch's windows with a model, and writes the results to `values`, where rows are
  /// batch.stride () numbers apart.
  template <Measure kMeasure>
  void run (int model, float *values)
  {
    constexpr int numbers = state_size (kMeasure);
    const int bins = shape_.bins, n = batch_.n_rows * stride_;
    locate_windows (model);
    if (shape_.content == Content::weights)
      load_totals (model, n);
    init_sums<kMeasure> (n);
    if (query_.has_bins_before ())
      for_carried (model, numbers, [] (float *own, const float *carried, int columns) {
        std::copy_n (carried, columns, own);
      });
    for (int b = 0; b < bins; b++) {
      begin_bin (b);
      for (int first = 0; first < n; first += at_once_) {
        const int end = std::min (n, first + at_once_);
        const float of_model = query_.models[std::size_t (model) * bins + b];
        if (wide_) {
          count_wide_windows_of_bin (b, first, end);
          add_bin<kMeasure> (b, of_model, wide_counts_, first, end);
        } else {
          count_windows_of_bin (b, first / stride_, end / stride_);
          add_bin<kMeasure> (b, of_model, counts_, first, end);
        }
      }
    }
    if constexpr (numbers > kOfModel)
      add_of_model<kMeasure> (model, n);
    if (query_.has_bins_after (shape_))
      for_carried (model, numbers, [] (const float *own, float *carried, int columns) {
        std::copy_n (own, columns, carried);
      });
    else
      finish<kMeasure> (n, values);
  }

private:
  /// Finds the regions of windows to compare with the model, and how many pixels each has.
  void locate_windows (int model)
  {
    const Region patch = patch_of (query_, model);
    const int width = std::min (patch.width, shape_.width), most = exact_pixels (shape_, 0);
    const std::int64_t pixels = std::int64_t (width) * std::min (patch.height, shape_.height);
    // if a window is cut into pieces to count it, the sum of its weights may need more than 32 bits
    in_lines_ = !query_.windows.list
                && (shape_.content == Content::weights ? pixels <= most : width <= most);
    wide_ = shape_.content == Content::weights && !in_lines_;
    if (!in_lines_) {
      locate_each_window (model);
      return;
    }
    const Grid &grid = query_.windows.grid;
    const std::int64_t x = std::int64_t (batch_.first_column) * grid.step_x + grid.x + patch.x - 1;
    const int steps = patch.width / grid.step_x;
    one_line_ = patch.width % grid.step_x == 0 && steps <= 2 * WindowBatch::kColumns - stride_;
    left_ = { x, grid.step_x, one_line_ ? stride_ + steps : stride_, shape_.width };
    right_ = { x + patch.width, grid.step_x, stride_, shape_.width };
    exact_rows_ = std::min (shape_.height, most / std::max (1, width));
    std::uint32_t widths[WindowBatch::kColumns];
    for (int i = 0; i < stride_; i++)
      widths[i] = clipped (right_.at (i), shape_.width) - clipped (left_.at (i), shape_.width);
    for (int r = 0; r < batch_.n_rows; r++) {
      const std::int64_t y = std::int64_t (batch_.rows[r]) * grid.step_y + grid.y + patch.y - 1;
      above_[r] = clipped (y, shape_.height);
      below_[r] = clipped (y + patch.height, shape_.height);
      const std::uint64_t height = below_[r] - above_[r];
      for (int i = 0; i < stride_; i++)
        totals_[r * stride_ + i] = widths[i] * height;
    }
  }

  void locate_each_window (int model)
  {
    windows_.assign (batch_.n_rows * stride_, {});
    for (int r = 0; r < batch_.n_rows; r++)
      for (int i = 0; i < batch_.columns; i++) {
        const int index = int (batch_.index (query_.windows, r)) + i;
        windows_[r * stride_ + i] =
            query_.kind == QueryKind::votes
                ? patch_at (corner_of (query_.windows, index), query_.patches[model], shape_)
                : window_of (query_.windows, index, shape_);
      }
    std::ranges::transform (windows_, totals_, [] (const Region &w) { return pixels_of (w); });
  }

  /// Sets the total by which a window is normalised to its sum of weights, not its pixels.
  void load_totals (int model, int n)
  {
    std::fill_n (totals_, n, 0);
    if (brings_totals (shape_, query_))
      for (int r = 0; r < batch_.n_rows; r++)
        std::copy_n (query_.totals + std::size_t (model) * query_.windows.size ()
                         + batch_.index (query_.windows, r),
                     batch_.columns, totals_ + r * stride_);
    else
      add_up (n);
  }

  void add_up (int n)
  {
    for (int b = 0; b < shape_.bins; b++) {
      begin_bin (b);
      for (int first = 0; first < n; first += at_once_) {
        const int end = std::min (n, first + at_once_);
        if (wide_)
          count_wide_windows_of_bin (b, first, end);
        else
          count_windows_of_bin (b, first / stride_, end / stride_);
        for (int i = first; i < end; i++)
          totals_[i] += wide_ ? wide_counts_[i - first] : counts_[i - first];
      }
    }
  }

  template <Measure kMeasure>
  void init_sums (int n)
  {
    for (int i = 0; i < n; i++) {
      auto sum = sum_for<kMeasure> (totals_[i]);
      normalisers_[i] = sum.normaliser ();
      store (sum, &numbers_[0][i]);
    }
    if constexpr (state_size (kMeasure) > kOfModel)
      std::fill_n (numbers_[kOfModel], n, 0.0f);
  }

  void begin_bin (int bin)
  {
    line_y_ = -1;
    ahead_ = bin + 1 < shape_.bins ? tensor_.layout.plane_pitch : 0;
  }

  /// Adds up the weights of a bin in windows first..end - 1, with 64 bits for large windows.
  void count_wide_windows_of_bin (int bin, int first, int end)
  {
    tensor_.with_planes ([&] (const auto &plane) {
      const auto at = plane (bin);
      for (int i = first; i < end; i++)
        wide_counts_[i - first] =
            sum_region<std::uint64_t> (at, windows_[i], exact_pixels (shape_, bin));
    });
  }

  void count_windows_of_bin (int bin, int first_row, int end_row)
  {
    tensor_.with_planes ([&] (const auto &plane) {
      const auto at = plane (bin);
      if (in_lines_)
        for (int r = first_row; r < end_row; r++)
          count_row (at, above_[r], below_[r], counts_ + (r - first_row) * stride_);
      else
        for (int i = first_row * stride_; i < end_row * stride_; i++)
          counts_[i - first_row * stride_] =
              sum_region<std::uint32_t> (at, windows_[i], exact_pixels (shape_, bin));
    });
  }

  template <class Element>
  void count_row (const Element &at, int y, int end, std::uint32_t *counts)
  {
    const std::uint32_t modulus = std::is_same_v<Element, Elements2d<std::uint16_t>> ? 0xffff : ~0u;
    std::fill_n (counts, stride_, 0);
    for (int next; y < end; y = next) {
      next = std::min (end, y + exact_rows_);
      const Line above = line_at (at, y), below = line_at (at, next);
      add_counts (above, below, modulus, stride_, counts);
    }
  }

  /// Returns the line of row y of the current bin: the tensor's elements at the sides of the
  /// windows. A line stays valid until two more lines are computed.
  template <class Element>
  Line line_at (const Element &at, int y)
  {
    if (y < 0)
      return { kNothing, kNothing };
    if (y != line_y_) {
      line_y_ = y;
      lines_at_ = 1 - lines_at_;
      std::uint32_t *const memory = lines_[lines_at_];
      line_.left = elements_at (at, y, left_, shape_.width, ahead_, memory);
      line_.right = one_line_ ? line_.left + (left_.n - stride_)
                              : elements_at (at, y, right_, shape_.width, ahead_, memory + kLine);
    }
    return line_;
  }

  template <Measure kMeasure, class Count>
  void add_bin (int b, float q, const Count *HWY_RESTRICT counts, int first, int end)
  {
    const int bin = query_.bin_of (b);
    for (int i = first; i < end; i++) {
      auto sum = sum_of<kMeasure> (i);
      sum.add (bin, counts[i - first], q);
      store (sum, &numbers_[0][i]);
    }
  }

  /// Computes, over all bins, the number of a correlation that depends only on the model
  /// (kOfModel), so that add_bin () does not store it for each window.
  template <Measure kMeasure>
  void add_of_model (int model, int n)
  {
    auto sum = sum_of<kMeasure> (0);
    for (int b = 0; b < shape_.bins; b++)
      sum.add (query_.bin_of (b), 0u, query_.models[std::size_t (model) * shape_.bins + b]);
    sum.for_state ([&] (int k, float number) {
      if (k == kOfModel)
        std::fill_n (numbers_[k], n, number);
    });
  }

  template <Measure kMeasure>
  void finish (int n, float *HWY_RESTRICT values) const
  {
    for (int i = 0; i < n; i++)
      values[i] = sum_of<kMeasure> (i).value ();
  }

  template <Measure kMeasure>
  MeasureSum<kMeasure> sum_of (int i) const
  {
    MeasureSum<kMeasure> sum (normalisers_[i], 0);
    load (sum, &numbers_[0][i]);
    return sum;
  }

  /// Copies the numbers of comparisons from or to Query::carried: calls move (own, carried,
  /// columns) for each number and each row of windows.
  template <class Move>
  void for_carried (int model, int numbers, Move &&move)
  {
    const std::size_t first = std::size_t (model) * query_.windows.size ();
    for (int k = 0; k < numbers; k++)
      for (int r = 0; r < batch_.n_rows; r++)
        move (numbers_[k] + r * stride_,
              &carried_number (query_, k, first + batch_.index (query_.windows, r)),
              batch_.columns);
  }

  static constexpr std::uint32_t kNothing[WindowBatch::kColumns] = {};

  const TensorView &tensor_;
  const Shape &shape_;
  const Query &query_;
  const WindowBatch &batch_;
  const int stride_, at_once_;  // windows of a row with padding, and of the rows counted at once

  // for the current model
  bool in_lines_, wide_;         // wide_: counts have 64 bits, which sums of weights may need
  std::vector<Region> windows_;  // unless in lines
  bool one_line_;                // left and right sides of windows are read as one line of columns
  Sides left_, right_;
  int above_[WindowBatch::kRows], below_[WindowBatch::kRows];  // rows of H
  int exact_rows_;                                             // rows that overflow no counter
  float normalisers_[WindowBatch::kWindows], numbers_[kOfModel + 1][WindowBatch::kWindows];
  std::uint64_t totals_[WindowBatch::kWindows];  // each window's pixels, or its sum of weights

  // for the current bin
  std::size_t ahead_;  // bytes to the next plane
  std::uint32_t counts_[WindowBatch::kColumns];
  std::uint64_t wide_counts_[WindowBatch::kColumns];
  Line line_;  // computed last
  int line_y_, lines_at_ = 0;
  static constexpr int kLine = WindowBatch::kColumns + kTilesMore;
  std::uint32_t lines_[2][2 * kLine];
};

/// Compares a batch of windows with all models of the query. The results go to `values`, as
/// [model][row][column], with batch.stride () columns in memory.
void compare (const TensorView &tensor, const Query &query, const WindowBatch &batch, float *values)
{
  const auto comparison = std::make_unique<Comparison> (tensor, query, batch);
  with_measure (query.measure, [&] (auto measure) {
    for (int m = 0; m < query.n_models (); m++)
      comparison->run<measure.value> (m, values + std::size_t (m) * batch.n_rows * batch.stride ());
  });
}

}  // namespace inthist::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE ();

#endif
