// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Computes a likelihood map: compares each window of a grid with a model. A thread compares a block
// of kChainColumns x kChainRows windows, each of which begins where the window to its left, and the
// window above it, ends. So the block needs (kChainColumns + 1) x (kChainRows + 1) elements of each
// plane, and not four for each window: for example 12 elements for 6 windows. Neighbouring threads
// compare neighbouring windows, so loads coalesce. The integral histogram before the frame is zero:
// an element inside the frame is loaded instead, and is multiplied by 0.
#pragma once

#include <optional>
#include <type_traits>

#include "chains.cuh"
#include "device/queries/best_window.cuh"
#include "tiled_map.cuh"

namespace inthist::cuda {

// The windows (columns x rows) that a thread compares, and the number of bins in flight. On an H200
// with 32 bins of u32, windows of 64x64 and chi-square-alt, 1x2 windows take 17.6 us at 640x480 and
// 118.0 at 1920x1080, and 3x2 17.6 and 92.6. Square roots have branches, whose latency many threads
// hide: bhattacharyya takes 35.6 us at 640x480 with 3x2, and 19.6 with 1x2. More sizes are in
// docs/measurements/2026-11-29-maps.md.
struct SmallBlock {
  static constexpr int kChainColumns = 1, kChainRows = 2, kBinsAhead = 2;
};
struct LargeBlock {
  static constexpr int kChainColumns = 3, kChainRows = 2, kBinsAhead = 2;
};
/// The windows that a thread compares in a tensor in tiles, whose elements need more registers.
/// Other sizes were not measured.
struct TiledBlock {
  static constexpr int kChainColumns = 1, kChainRows = 2, kBinsAhead = 1;
};
template <Measure kMeasure>
constexpr bool kHasLargeBlocks =
    kMeasure != Measure::bhattacharyya &&kMeasure != Measure::correlation;

/// Loads elements of a plane in rows. Offsets have 32 bits, because a plane has less than 4 GiB.
template <class T, class Block>
struct RowElements : Block {
  using Element = T;
  using Place = unsigned;  // offset in bytes from the start of the plane
  unsigned row_pitch;

  explicit RowElements (const TensorInRows &tensor) : row_pitch (unsigned (tensor.layout.row_pitch))
  {
  }
  __device__ Place place (int y, int x) const
  {
    return unsigned (y) * row_pitch + unsigned (x * sizeof (T));
  }
  __device__ T load (const std::uint8_t *plane, Place place) const
  {
    return __ldg (reinterpret_cast<const T *> (plane + place));
  }
};

struct TileElements : TiledBlock {
  using Element = std::uint32_t;
  using Place = int2;
  std::size_t row_pitch;
  Tiles tiles;

  explicit TileElements (const TensorInTiles &tensor)
      : row_pitch (tensor.layout.row_pitch), tiles (tensor.tiles)
  {
  }
  __device__ Place place (int y, int x) const { return { x, y }; }
  __device__ Element load (const std::uint8_t *plane, Place place) const
  {
    return TiledElements{ plane, row_pitch, tiles }(place.y, place.x);
  }
};

/// The chains of windows of a likelihood map (chains.cuh) along both axes. A chain of columns and a
/// chain of rows together are the block of windows that one thread compares.
struct MapChains {
  Chains columns, rows;
  int n () const { return columns.n * rows.n; }
};

/// The block of neighbouring windows that one thread compares with the model.
template <Measure kMeasure, class Elements, class AnyQuery>
class WindowBlock {
public:
  static constexpr int kColumns = Elements::kChainColumns, kRows = Elements::kChainRows;

  __device__ WindowBlock (const TensorView &tensor, const Elements &elements, const AnyQuery &query,
                          const MapChains &chains, int i)
      : tensor_ (tensor), elements_ (elements), query_ (query),
        first_column_ (first_window<kColumns> (i % chains.columns.n, chains.columns.apart)),
        first_row_ (first_window<kRows> (i / chains.columns.n, chains.rows.apart)),
        columns_apart_ (chains.columns.apart), rows_apart_ (chains.rows.apart)
  {
    const Grid &grid = query.windows.grid;
    int x[kColumns + 1], y[kRows + 1];
    for (int j = 0; j < kColumns; j++)
      x[j] = edge_at (grid.x, grid.step_x, column (j), 0, tensor.shape.width);
    for (int k = 0; k < kRows; k++)
      y[k] = edge_at (grid.y, grid.step_y, row (k), 0, tensor.shape.height);
    x[kColumns] =
        edge_at (grid.x, grid.step_x, column (kColumns - 1), grid.window_width, tensor.shape.width);
    y[kRows] =
        edge_at (grid.y, grid.step_y, row (kRows - 1), grid.window_height, tensor.shape.height);
    for (int k = 0; k <= kRows; k++)
      for (int j = 0; j <= kColumns; j++)
        places_[k][j] = elements.place (max (y[k], 0), max (x[j], 0));
    // if both edges of a window are before the frame, they load one element: the difference is 0
    for (int j = 0; j < kColumns; j++)
      column_factors_[j] = x[j] < 0 && x[j + 1] >= 0 ? 0 : ~0u;
    for (int k = 0; k < kRows; k++)
      row_factors_[k] = y[k] < 0 && y[k + 1] >= 0 ? 0 : ~0u;
    start (x, y);
  }

  __device__ void run (const float *model, BestWindow<AnyQuery> &best)
  {
    for_each_bin ([&] (int b, const PerWindow<std::uint32_t> &counts) {
      const float q = model[b];
#pragma unroll
      for (int k = 0; k < kRows; k++)
#pragma unroll
        for (int j = 0; j < kColumns; j++)
          sums_[k][j].add (query_.bin_of (b), counts[k][j], q);
    });
    for_each_window ([&] (int at, int k, int j) {
      finish (tensor_.shape, query_, at, sums_[k][j], [&] (float value) {
        static_cast<float *> (query_.answers)[at] = value;
        best.add (at, value);
      });
    });
  }

private:
  template <class T>
  using PerWindow = T[kRows][kColumns];
  using Corners = typename Elements::Element[kRows + 1][kColumns + 1];

  /// Return the column (row) of the map that has the windows in column j (row k) of this block.
  __device__ std::int64_t column (int j) const
  {
    return first_column_ + std::int64_t (j) * columns_apart_;
  }
  __device__ std::int64_t row (int k) const
  {
    return first_row_ + std::int64_t (k) * rows_apart_;
  }

  /// Calls body (index in the map, row and column in the block) for each window in the map.
  template <class Body>
  __device__ void for_each_window (Body body)
  {
    const Grid &grid = query_.windows.grid;
#pragma unroll
    for (int k = 0; k < kRows; k++)
#pragma unroll
      for (int j = 0; j < kColumns; j++)
        if (column (j) < grid.columns && row (k) < grid.rows)
          body (int (row (k) * grid.columns + column (j)), k, j);
  }

  /// Initialises the comparison of each window with its total: its pixels, or the sum of their
  /// weights. Totals fit in 32 bits, because try_launch_map () excludes larger windows.
  __device__ void start (const int (&x)[kColumns + 1], const int (&y)[kRows + 1])
  {
    PerWindow<std::uint32_t> totals;
    for (int k = 0; k < kRows; k++)
      for (int j = 0; j < kColumns; j++)
        totals[k][j] = std::uint32_t (x[j + 1] - x[j]) * std::uint32_t (y[k + 1] - y[k]);
    if (tensor_.shape.content == Content::weights) {
      for (int k = 0; k < kRows; k++)
        for (int j = 0; j < kColumns; j++)
          totals[k][j] = 0;
      if (brings_totals (tensor_.shape, query_))
        for_each_window (
            [&] (int at, int k, int j) { totals[k][j] = std::uint32_t (query_.totals[at]); });
      else
        for_each_bin ([&] (int, const PerWindow<std::uint32_t> &counts) {
#pragma unroll
          for (int k = 0; k < kRows; k++)
#pragma unroll
            for (int j = 0; j < kColumns; j++)
              totals[k][j] += counts[k][j];
        });
    }
    for (int k = 0; k < kRows; k++)
      for (int j = 0; j < kColumns; j++)
        sums_[k][j] = sum_for<kMeasure> (totals[k][j]);
    for_each_window ([&] (int at, int k, int j) { resume (query_, at, sums_[k][j]); });
  }

  __device__ void load (const std::uint8_t *plane, Corners &corners) const
  {
#pragma unroll
    for (int k = 0; k <= kRows; k++)
#pragma unroll
      for (int j = 0; j <= kColumns; j++)
        corners[k][j] = elements_.load (plane, places_[k][j]);
  }

  __device__ void count (const Corners &corners, PerWindow<std::uint32_t> &counts) const
  {
#pragma unroll
    for (int k = 0; k < kRows; k++) {
      std::uint32_t columns[kColumns + 1];
#pragma unroll
      for (int j = 0; j <= kColumns; j++)
        columns[j] = corners[k + 1][j] + row_factors_[k] * corners[k][j];
#pragma unroll
      for (int j = 0; j < kColumns; j++) {
        counts[k][j] = columns[j + 1] + column_factors_[j] * columns[j];
        if constexpr (std::is_same_v<typename Elements::Element, std::uint16_t>)
          counts[k][j] &= 0xffff;
      }
    }
  }

  /// Calls body (bin, counts) for each bin, with the counts of all windows of this block. Elements
  /// are loaded kBinsAhead bins ahead. At the end the last plane is loaded again: a condition on a
  /// load would keep several bins from being in flight.
  template <class Body>
  __device__ void for_each_bin (Body body) const
  {
    constexpr int kAhead = Elements::kBinsAhead;
    const int bins = tensor_.shape.bins;
    const std::uint8_t *plane = tensor_.bytes;
    const auto load_next = [&] (int bin, Corners &corners) {
      load (plane, corners);
      plane += bin + 1 < bins ? tensor_.layout.plane_pitch : 0;
    };
    Corners ahead[kAhead];
#pragma unroll
    for (int a = 0; a < kAhead; a++)
      load_next (a, ahead[a]);
    for (int first = 0; first < bins; first += kAhead)
#pragma unroll
      for (int a = 0; a < kAhead; a++) {
        PerWindow<std::uint32_t> counts;
        count (ahead[a], counts);
        load_next (first + a + kAhead, ahead[a]);
        if (first + a < bins)
          body (first + a, counts);
      }
  }

  const TensorView &tensor_;
  const Elements &elements_;
  const AnyQuery &query_;
  const int first_column_, first_row_, columns_apart_, rows_apart_;  // of the map
  typename Elements::Place places_[kRows + 1][kColumns + 1];
  // the factor of H at a window's first edges: -1, or 0 if the edge lies before the frame
  std::uint32_t column_factors_[kColumns], row_factors_[kRows];
  PerWindow<MeasureSum<kMeasure>> sums_;
};

// How many blocks of the map kernel must fit on a multiprocessor, which limits the registers of a
// thread: 8 blocks leave 64 registers, 6 leave 80, and 3 leave 168.
constexpr int kMapThreads = 128;
template <class Elements, class AnyQuery>
constexpr int kMapBlocks = Elements::kChainColumns > 1              ? 3
                           : std::is_same_v<Elements, TileElements> ? 4
                           : std::is_same_v<AnyQuery, WholeQuery>   ? 8
                                                                    : 6;

template <Measure kMeasure, class Elements, class AnyQuery>
__global__ void __launch_bounds__ (kMapThreads, kMapBlocks<Elements, AnyQuery>)
map_windows (TensorView tensor, Elements elements, AnyQuery query, MapChains chains)
{
  __shared__ float model[256];
  __shared__ typename BestWindow<AnyQuery>::Shared bests;
  for (int b = threadIdx.x; b < tensor.shape.bins; b += kMapThreads)
    model[b] = query.models[b];
  __syncthreads ();
  const int i = blockIdx.x * kMapThreads + threadIdx.x;
  BestWindow<AnyQuery> best (query);
  if (i < chains.columns.n * chains.rows.n)
    WindowBlock<kMeasure, Elements, AnyQuery> (tensor, elements, query, chains, i)
        .run (model, best);
  best.publish (bests);
}

/// Returns a map's chains along both axes, or nothing if no window begins where another one ends.
template <class Block>
std::optional<MapChains> chains_of (const Grid &grid)
{
  const std::optional<Chains> columns = chains_along (grid.columns, grid.window_width, grid.step_x,
                                                      Block::kChainColumns),
                              rows = chains_along (grid.rows, grid.window_height, grid.step_y,
                                                   Block::kChainRows);
  if (!columns || !rows || std::int64_t (columns->n) * rows->n > 0x7fffffff)
    return {};
  return MapChains{ *columns, *rows };
}

/// Returns how many elements of a plane all threads together load, to compare block sizes: the
/// larger a thread's block of windows, the more of it lies beyond a small map.
template <class Block>
std::optional<std::int64_t> loads_of (const Grid &grid)
{
  const std::optional<MapChains> chains = chains_of<Block> (grid);
  if (!chains)
    return {};
  return std::int64_t (chains->n ()) * (Block::kChainColumns + 1) * (Block::kChainRows + 1);
}

template <Measure kMeasure, class Elements, class Tensor, class AnyQuery>
bool try_launch_blocks (const Tensor &tensor, const AnyQuery &query, Stream stream)
{
  const std::optional<MapChains> chains = chains_of<Elements> (query.windows.grid);
  if (!chains)
    return false;
  launch_after_clear (query, tensor.shape, map_windows<kMeasure, Elements, AnyQuery>,
                      dim3 (divide_up (chains->n (), kMapThreads)), kMapThreads, stream, tensor,
                      Elements (tensor), query, *chains);
  return true;
}

template <Measure kMeasure, class T, class AnyQuery>
bool try_launch_rows (const TensorInRows &tensor, const AnyQuery &query, Stream stream)
{
  if constexpr (kHasLargeBlocks<kMeasure> && std::is_same_v<AnyQuery, WholeQuery>) {
    const auto large = loads_of<LargeBlock> (query.windows.grid),
               small = loads_of<SmallBlock> (query.windows.grid);
    if (large && (!small || *large < *small))
      return try_launch_blocks<kMeasure, RowElements<T, LargeBlock>> (tensor, query, stream);
  }
  return try_launch_blocks<kMeasure, RowElements<T, SmallBlock>> (tensor, query, stream);
}

/// Launches the kernel for a likelihood map. Launches nothing and returns false if no window begins
/// where another ends, or if the counts of a window may overflow.
template <Measure kMeasure, class Tensor, class AnyQuery>
bool try_launch_map (const Tensor &tensor, const AnyQuery &query, Stream stream)
{
  const Grid &grid = query.windows.grid;
  if (query.windows.list || tensor.layout.plane_pitch > 0xffffffff
      || std::int64_t (grid.window_width) * grid.window_height > exact_pixels (tensor.shape, 0))
    return false;
  if constexpr (std::is_same_v<Tensor, TensorInTiles>)
    return try_launch_quads<kMeasure> (tensor, query, stream)
           || try_launch_blocks<kMeasure, TileElements> (tensor, query, stream);
  else if (tensor.shape.counter == Type::u16)
    return try_launch_rows<kMeasure, std::uint16_t> (tensor, query, stream);
  else
    return try_launch_rows<kMeasure, std::uint32_t> (tensor, query, stream);
}

}  // namespace inthist::cuda
