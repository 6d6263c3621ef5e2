// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Queries of a tensor, such as an integral histogram. A query is about windows: rectangles in a
// list or on a grid. A window's histogram is four elements a bin (region.hpp), so an answer costs
// the same for every window size. A query writes only its answers, and a histogram only if it is
// the answer. The kinds of queries and their answers:
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
// If bins have weights, a window's histogram is divided by the sum of the weights and not by
// the number of pixels, so the bins are read twice. CPU and GPU compute with the same operations in
// the same order, and give the same bits. A frame may also have several tensors, each with a group
// of consecutive bins. A query goes from tensor to tensor in the order of the bins, carries what is
// known of each window so far, and the answers still have the same bits.
#pragma once

#include <bit>

#include "binning.hpp"
#include "inthist.hpp"
#include "likeness.hpp"
#include "region.hpp"
#include "tensor_view.hpp"

namespace inthist {

/// A grid of windows (rectangles) of one size. The window in column i and row j starts at pixel (x
/// + i step_x, y + j step_y) of the frame.
struct Grid {
  int window_width = 0, window_height = 0;   // at least 1
  int x = 0, y = 0, step_x = 1, step_y = 1;  // steps are at least 1
  int columns = 0, rows = 0;
};

/// The windows (rectangles) of a query: those of `list`, or, if `list` is null, those of `grid`,
/// row by row. Windows are clipped to the frame.
struct Windows {
  const Region *list = nullptr;
  int n = 0;  // windows in the list
  Grid grid;

  HOST_DEVICE int size () const { return list ? n : grid.columns * grid.rows; }
};

enum class QueryKind { counts, sums, totals, likelihoods, quantiles, votes };

/// The best window of a query for likelihoods or votes. If several windows are equally good, the
/// best is the one nearest to the middle of the grid, and then the first.
struct Best {
  float value;
  int index;  // number of the window
};

constexpr int kMaxPatches = 4096;  // the most patches that a query for votes may have

/// A query of a tensor, and the memory for the answers. Sums need a u16 or u32 tensor of 8-bit
/// pixels, and all other kinds need an integral histogram. kMayCarry tells whether the query may
/// carry data from the tensor of one group of bins to the tensor of the next.
template <bool kMayCarry>
struct BasicQuery {
  QueryKind kind = QueryKind::counts;
  Windows windows;  // not empty
  void *answers = nullptr;

  // for likelihoods and votes
  Best *best = nullptr;  // where to write the best window, or null
  Measure measure = Measure::chi_square_alt;
  const float *models = nullptr;  // [model][bin], prepared (likeness.hpp); votes: a model a patch

  double quantile = 0.5;  // 0 to 1; for quantiles

  // Patches: rectangles relative to each window. Votes need them, and totals may have them.
  const Region *patches = nullptr;  // patches' x, y are relative to a window's first pixel
  int n_patches = 0, rank = 0;      // rank 0 is the vote of the window's best patch

  // The partial answer of each window after a group of bins, for likelihoods, quantiles and votes,
  // if the tensor has only a group of the frame's bins; models then have only these bins. The query
  // reads `carried` unless first_bin is 0. If the frame has later bins, it writes `carried`; if
  // not, it writes the answers and the best window.
  void *carried = nullptr;
  int first_bin = 0, all_bins = 0;  // first bin of the tensor's group, and bins of the frame
  // Sums of weights over all bins of the frame; needed if this tensor has only some bins.
  const std::uint64_t *totals = nullptr;

  HOST_DEVICE int n_models () const
  {
    return kind == QueryKind::likelihoods ? 1 : kind == QueryKind::votes ? n_patches : 0;
  }
  /// Returns the number of totals (sums of weights): one for each window, or one for each patch of
  /// each window.
  HOST_DEVICE std::size_t n_totals () const
  {
    return std::size_t (n_patches > 0 ? n_patches : 1) * windows.size ();
  }
  HOST_DEVICE int bin_of (int b) const { return kMayCarry ? first_bin + b : b; }
  HOST_DEVICE bool has_bins_before () const { return kMayCarry && carried && first_bin > 0; }
  HOST_DEVICE bool has_bins_after (const Shape &shape) const
  {
    return kMayCarry && carried && first_bin + shape.bins < all_bins;
  }
};

using Query = BasicQuery<true>;
/// A query of a tensor that has all bins of the frame. A Query may be answered by several tensors
/// with some of the bins each, and carries partial answers between them; a WholeQuery has no
/// partial answers, which kernels know at compile time.
using WholeQuery = BasicQuery<false>;

inline WholeQuery whole (const Query &query)
{
  return std::bit_cast<WholeQuery> (query);
}

std::size_t answer_bytes (const Shape &shape, const Query &query);
/// Returns the size of Query::carried in bytes. For quantiles, it is an s64 for each window: the
/// window's pixels in the bins so far, or ~bin once the answer is known to be this bin. For
/// likelihoods and votes, it is f32 [state_size ()][model][window] (likeness.hpp), so that the
/// loads of neighbouring windows coalesce.
std::size_t carried_bytes (const Query &query);

namespace cpu {
/// Answers a query on the CPU. Returns 0, ENOMEM or EAGAIN. After an error, the answers and the
/// carried data are undefined.
[[nodiscard]] int answer (TensorView tensor, const Query &query);
/// Answers a query for counts or sums from the pixels of a frame of this shape, without a tensor.
/// The answers are the same as from a tensor, but the time grows with the size of the windows.
/// Pixels are bytes (for sums, they are the values, and the LUT is not used), or WeightedPixel
/// words with Content::weights.
[[nodiscard]] int answer_pixels (const Binning &binning, const Shape &shape, const Query &query);
}  // namespace cpu

namespace cuda {
/// Answers a query on a GPU. The query's pointers are to device memory of the current context; all
/// but `carried` and `best` may also be to pinned memory. `best` is aligned to 8 bytes.
[[nodiscard]] int answer (TensorView tensor, const Query &query, Stream stream);
}  // namespace cuda

}  // namespace inthist
