// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What to ask a tensor. All questions are about windows: rectangles in a list, or on a grid. A
// window's histogram is four elements a bin (region.hpp), so an answer costs the same for every
// size; only what was asked for is written, and no histogram unless that is the question.
//
//   counts       u32 x bins a window: its histogram
//   sums         u64 x planes a window: what it adds up to in each plane
//   likelihoods  f32 a window: how alike its histogram and a model are (measure.hpp). On a grid,
//                the likelihood map that a tracker looks for its target in (Palaniappan et al.
//                2010)
//   quantiles    s32 a window: the first bin up to which, itself included, lie at least `quantile`
//                of its pixels, and one pixel at least; -1 where it has none. 0.5 gives the lower
//                median
//   votes        f32 a window: each of several patches is compared with a model of its own, and
//                the rank-th best is the answer, so that patches that are hidden do not count. A
//                patch lies where it lies relative to the window's first pixel (Adam, Rivlin and
//                Shimshoni, CVPR 2006)
//
// Both devices compute with the same operations in the same order, and give the same bits. So do
// tensors that have a group of consecutive bins each, of the same frame: a question goes from one
// to the next in the order of the bins, and what is known of each window so far goes with it.
#pragma once

#include "inthist.hpp"
#include "measure.hpp"

namespace inthist {

/// A rectangle in pixels.
struct Region {
  int x = 0, y = 0, width = 0, height = 0;
};

/// Windows of one size, columns x rows of them; that in column i and row j has its first pixel at
/// (x + i step_x, y + j step_y).
struct Grid {
  int window_width = 0, window_height = 0;  // at least 1
  int x = 0, y = 0, step_x = 1, step_y = 1;
  int columns = 0, rows = 0;
};

/// The windows that a question is about, which may hang over the frame's border and have then the
/// pixels inside: those of a list, each clipped, or where there is no list those of a grid, row by
/// row.
struct Windows {
  const Region *list = nullptr;
  int n = 0;  // of the list
  Grid grid;

  INTHIST_HOST_DEVICE int size () const { return list ? n : grid.columns * grid.rows; }
};

enum class Question { counts, sums, likelihoods, quantiles, votes };

/// Of the windows on a grid the best, and of equals the one nearest to the grid's middle; of those,
/// and in a list, the first.
struct Best {
  float value;
  int index;  // among the windows
};

/// Most patches of a vote.
constexpr int kMaxPatches = 4096;

/// A question, and where its answers go. All but the sums are asked of integral histograms; sums of
/// any u16 or u32 tensor of 8-bit pixels.
struct Query {
  Question question = Question::counts;
  Windows windows;  // not empty
  void *answers = nullptr;
  Best *best = nullptr;  // of likelihoods and votes, unless null

  Measure measure = Measure::chi_square_alt;  // for likelihoods and votes
  const float *models = nullptr;    // for likelihoods `bins` numbers, for votes as many for each
                                    // patch: none negative, a model's sum is 1
  double quantile = 0.5;            // 0 to 1
  const Region *patches = nullptr;  // for votes, relative to the window's first pixel, which is all
                                    // that counts of a window then
  int n_patches = 0, rank = 0;      // rank 0 is the best patch's

  // Of a tensor with a group of the frame's bins, for likelihoods, quantiles and votes; models have
  // these bins only. carried_bytes are read unless first_bin is 0, and written unless these are the
  // last bins, which alone write answers and best. Counts and sums carry nothing: each tensor
  // answers its own bins.
  void *carried = nullptr;
  int first_bin = 0, all_bins = 0;  // of the frame, where something is carried

  INTHIST_HOST_DEVICE int n_models () const
  {
    return question == Question::likelihoods ? 1 : question == Question::votes ? n_patches : 0;
  }
  INTHIST_HOST_DEVICE int bins_of (const Shape &shape) const
  {
    return carried ? all_bins : shape.bins;
  }
  /// Whether there are bins before the tensor's, and behind them.
  INTHIST_HOST_DEVICE bool continues () const { return carried && first_bin > 0; }
  INTHIST_HOST_DEVICE bool goes_on (const Shape &shape) const
  {
    return carried && first_bin + shape.bins < all_bins;
  }
};

/// One with nothing carried, known when kernels are compiled.
struct WholeQuery : Query {
  INTHIST_HOST_DEVICE static int bins_of (const Shape &shape) { return shape.bins; }
  INTHIST_HOST_DEVICE static constexpr bool continues () { return false; }
  INTHIST_HOST_DEVICE static constexpr bool goes_on (const Shape &) { return false; }
};

std::size_t answer_bytes (const Shape &shape, const Query &query);
/// For quantiles an s64 a window: its pixels in the bins so far, or ~bin where that is the answer.
/// Else f32 as [number][model][window], each MeasureSum's state_size numbers, so that what windows
/// side by side have lies side by side.
std::size_t carried_bytes (const Query &query);

namespace cpu {
/// Returns 0, ENOMEM or EAGAIN. After a failure what is answered and carried is undefined.
[[nodiscard]] int answer (const Shape &shape, const Layout &layout, const void *tensor,
                          const Query &query);
}  // namespace cpu

namespace cuda {
/// Every pointer is the device's, of the current context; those of what is asked may also be pinned
/// host memory.
int answer (const Shape &shape, const Layout &layout, const void *tensor, const Query &query,
            Stream stream);
}  // namespace cuda

}  // namespace inthist
