// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Integral histograms and summed-area tables, on the CPU and with CUDA. The integral histogram of
// an image with `bins` bins is the tensor
//
//   H[b][y][x] = number of pixels of bin b in rows 0..y and columns 0..x
//                (Poostchi et al. 2017, eq. 1; Porikli 2005)
//
// A summed-area table (integral image; Crow 1984) is one such plane, of sums of pixel values. Four
// elements give the histogram, or the sum, of any rectangle (query.hpp). `bin_image` turns pixels
// into bin indices, and a `Strategy` turns the bin indices into the tensor. A table is computed
// from the pixels themselves, or from values that `bin_image` computes from the pixels.
//
// The caller owns all buffers. Calls on different buffers may run at the same time from any thread.
// Nothing throws. A function returns 0 or an error; after an error the output is undefined. Except
// for the tuner, which allocates and waits on both devices:
//   CPU   A function returns when its work is done, by the caller's thread and TBB's threads. It
//         allocates TBB's tasks, and answer () a few numbers for a current window. Only an arena,
//         with which TBB keeps its threads, and tables of gradients are kept from call to call.
//         Errors are ENOMEM, EAGAIN (no threads available) and ECANCELED.
//   CUDA  A function only launches, on its stream: it allocates nothing, waits for nothing, and
//         keeps nothing but what a strategy leaves in the workspace (Job::workspace_kept). The
//         driver may allocate and wait at a kernel's first launch, which loads it. The error is a
//         cudaError_t.
//
//   shape.hpp         what to compute, and where elements lie
//   tiles.hpp         tensors in tiles, most of whose elements have one byte
//   pixel_format.hpp  images, and where their colours lie; features/ has the values of pixels
//   blend.hpp         what is drawn into images
//   binning.hpp       the bins of the values of pixels
//   strategy.hpp      an algorithm, and all that it is given; registry.hpp lists them
//   tuner.hpp         the built-in choice of a strategy, and the fastest strategy on this device
//   planes.hpp        the tensor as planes, as strategies write it
//   tensor_view.hpp   the tensor as planes, as answers read it
//   query.hpp         queries of a tensor: rectangles (region.hpp), measures (likeness.hpp), and
//                     what both devices compute for a window (window.hpp)
//   cells.hpp         sums over rectangles whose edges may lie inside pixels
#pragma once

#include "region.hpp"
#include "strategy.hpp"

namespace inthist {

namespace cpu {
/// Starts all threads of TBB, which then stay. Without this call, TBB starts its threads one by one
/// when there is work, and the process ends if a thread cannot start the next. Waits up to 100 ms
/// for threads that are busy elsewhere.
[[nodiscard]] int start_workers (const std::atomic<bool> *cancelled = nullptr);
/// Computes the bin indices of an image's pixels, or its weighted pixels, and writes them to `out`
/// as a binned plane (PixelPlane); columns from the width up to the stride become 0. The image may
/// have any address and stride. Only its pixels are read, and it may be freed after the call.
[[nodiscard]] int bin_image (const Binning &binning, int width, int height, PixelPlane out,
                             const std::atomic<bool> *cancelled = nullptr);
/// Computes the bin indices of regions of a frame of this size. Each region is written to its place
/// in `out`, which has room for the frame. Regions lie inside the frame and do not overlap.
[[nodiscard]] int bin_regions (const Binning &binning, int width, int height,
                               std::span<const Region> regions, PixelPlane out,
                               const std::atomic<bool> *cancelled = nullptr);
/// Completes the tensor of a strip of rows that was computed like a frame of its own. `shape` and
/// `layout` are the strip's. above[b * width + x], the tensor's element in the row above the strip,
/// is added to all of column x in plane b, and is then replaced by the element in the strip's last
/// row, for the next strip. For the first strip, `above` is zeros. Sums are modulo 2^32, or 65536
/// with u16. Tiles are not supported: a frame in tiles is split by bins only.
[[nodiscard]] int add_above (const Shape &shape, const Layout &layout, void *tensor,
                             std::uint32_t *above);
}  // namespace cpu

/// bin_image () and add_above () on a GPU. Pointers are to device memory in the current context,
/// and must stay valid until the work on the stream is done. A Binning may be freed at once.
namespace cuda {
[[nodiscard]] int bin_image (const Binning &binning, int width, int height, PixelPlane out,
                             Stream stream);
[[nodiscard]] int add_above (const Shape &shape, const Layout &layout, void *tensor,
                             std::uint32_t *above, Stream stream);
}  // namespace cuda

}  // namespace inthist
