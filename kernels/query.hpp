// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Queries of a tensor. A query is about windows: rectangles in a list or on a grid. A window's
// histogram is four elements a bin (region.hpp), so an answer costs the same for every window size.
// Only the answer is written, and a histogram only if it is the answer:
//
//   counts       u32 x bins a window: its histogram
//   sums         u64 x planes a window: its sum in each plane
//   totals       u64 a window: the sum of Content::weights in it, over the tensor's bins. With
//                patches [patch][window], of each patch
//   likelihoods  f32 a window: how alike its histogram and a model are (likeness.hpp). On a grid,
//                the likelihood map that a tracker searches (Palaniappan et al. 2010)
//   quantiles    s32 a window: the first bin b such that the bins 0 to b have at least `quantile`
//                of its pixels, and at least one pixel. Pixels in no bin come after all bins: if
//                there are too many of these pixels, the answer is -1. 0.5 gives the lower median.
//                With Content::weights, weights are counted instead of pixels
//   votes        f32 a window: the rank-th best of several patches, each compared with a model of
//                its own, so that hidden patches do not count (Adam, Rivlin and Shimshoni, CVPR
//                2006). Patches are relative to a window's first pixel; its size is ignored
//
// If bins have weights, a window's histogram is divided by its total instead of its pixels
// (reciprocal_of_total in window.hpp says how the quotient is rounded). So its bins are read twice.
//
// Both devices compute with the same operations in the same order, and give the same bits. A frame
// may also have several tensors, each with a group of consecutive bins. A query goes from tensor to
// tensor in the order of the bins, carries what is known of each window so far, and the answers
// still have the same bits.
#pragma once

#include <bit>

#include "binning.hpp"
#include "inthist.hpp"
#include "likeness.hpp"
#include "region.hpp"
#include "tensor_view.hpp"

namespace inthist {

/// Windows of one size. The window in column i and row j starts at pixel (x + i step_x,
/// y + j step_y).
struct Grid {
  int window_width = 0, window_height = 0;   // at least 1
  int x = 0, y = 0, step_x = 1, step_y = 1;  // steps are at least 1
  int columns = 0, rows = 0;
};

/// The windows of a query: those of the list, or if there is no list, those of the grid, row by
/// row. Windows are clipped to the frame.
struct Windows {
  const Region *list = nullptr;
  int n = 0;  // windows in the list
  Grid grid;

  INTHIST_HOST_DEVICE int size () const { return list ? n : grid.columns * grid.rows; }
};

enum class QueryKind { counts, sums, totals, likelihoods, quantiles, votes };

/// The best window. If several are equally good, it is the window nearest to the middle of a grid,
/// and then the first window.
struct Best {
  float value;
  int index;  // number of the window
};

constexpr int kMaxPatches = 4096;  // the most patches of a query for votes

/// A query, and the memory for the answers. Sums need a u16 or u32 tensor of 8-bit pixels, and all
/// other kinds need an integral histogram. kMayCarry tells whether the query may carry data from
/// one group of bins to the next.
template <bool kMayCarry>
struct BasicQuery {
  QueryKind kind = QueryKind::counts;
  Windows windows;  // not empty
  void *answers = nullptr;

  // Likelihoods and votes.
  Best *best = nullptr;  // where the best window goes, unless null
  Measure measure = Measure::chi_square_alt;
  const float *models = nullptr;  // [model][bin], prepared (likeness.hpp); votes: one a patch

  // Quantiles.
  double quantile = 0.5;  // 0 to 1

  // Needed for votes, and allowed for totals: the patches of each window.
  const Region *patches = nullptr;  // relative to the window's first pixel
  int n_patches = 0, rank = 0;      // rank 0 is the best patch's

  // Used for likelihoods, quantiles and votes if the tensor has only a group of the frame's bins.
  // Models then have only the bins of this group. A query reads the carried data (carried_bytes ())
  // unless first_bin is 0. It writes them unless the group has the frame's last bins: then it
  // writes the answers and the best window instead. Counts and sums carry nothing.
  void *carried = nullptr;
  int first_bin = 0, all_bins = 0;  // of the frame, if data are carried
  // Needed with Content::weights if data are carried: the totals over all bins of the frame.
  const std::uint64_t *totals = nullptr;

  INTHIST_HOST_DEVICE int n_models () const
  {
    return kind == QueryKind::likelihoods ? 1 : kind == QueryKind::votes ? n_patches : 0;
  }
  /// Returns how many totals there are: one for each window, or one for each patch of each window.
  INTHIST_HOST_DEVICE std::size_t n_totals () const
  {
    return std::size_t (n_patches > 0 ? n_patches : 1) * windows.size ();
  }
  /// Returns the number, among all bins of the frame, of the tensor's bin b.
  INTHIST_HOST_DEVICE int bin_of (int b) const { return kMayCarry ? first_bin + b : b; }
  /// Tells whether the frame has bins before those of this tensor.
  INTHIST_HOST_DEVICE bool has_bins_before () const
  {
    return kMayCarry && carried && first_bin > 0;
  }
  /// Tells whether the frame has bins after those of this tensor.
  INTHIST_HOST_DEVICE bool has_bins_after (const Shape &shape) const
  {
    return kMayCarry && carried && first_bin + shape.bins < all_bins;
  }
};

using Query = BasicQuery<true>;
/// A query that carries no data from one group of bins to the next, as kernels know at compile
/// time.
using WholeQuery = BasicQuery<false>;

/// Converts a query to a WholeQuery. The tensor must have all bins of the frame. Both types have
/// the same members, so the bytes of the query are copied.
inline WholeQuery whole (const Query &query)
{
  return std::bit_cast<WholeQuery> (query);
}

std::size_t answer_bytes (const Shape &shape, const Query &query);
/// Returns the size of Query::carried. Quantiles carry an s64 for each window: the number of
/// pixels of the window in the bins so far, or ~bin if the answer is known to be this bin. All
/// other kinds carry f32 [number][model][window], so that the loads of neighbouring windows
/// coalesce. A window and a model have state_size () numbers (likeness.hpp).
std::size_t carried_bytes (const Query &query);

namespace cpu {
/// Answers a query on the CPU. Returns 0, ENOMEM or EAGAIN. After a failure, answers and carried
/// data are undefined.
[[nodiscard]] int answer (TensorView tensor, const Query &query);
/// Answers a query for counts or sums from the pixels of a frame of this shape, without a tensor.
/// The answers are the same as from a tensor, but the time grows with the size of the windows.
/// Pixels are bytes. For a summed-area table the bytes are the values, and the LUT is not used.
/// With Content::weights, pixels are WeightedPixel words.
[[nodiscard]] int answer_pixels (const Binning &binning, const Shape &shape, const Query &query);
}  // namespace cpu

namespace cuda {
/// Answers a query on a GPU. All pointers are to device memory of the current context; except for
/// `carried` and `best`, they may also be to pinned memory. `best` is aligned to 8 bytes.
[[nodiscard]] int answer (TensorView tensor, const Query &query, Stream stream);
}  // namespace cuda

}  // namespace inthist
