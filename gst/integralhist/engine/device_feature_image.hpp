// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The feature image of a frame: an array in GPU memory with the feature value of each pixel. If
// many small queries come together, a GPU answers them faster from this array than the CPU does.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>

#include <kernels/binning.hpp>
#include <kernels/cells.hpp>

#include <gst/integralhist/memory/host_memory.hpp>

#include "tensor.hpp"

namespace integralhist {

class CudaContext;

/// A feature image that serves one frame after another. Several threads may query it at once.
class DeviceFeatureImage {
public:
  virtual ~DeviceFeatureImage () = default;
  /// Enqueues the upload of a picture from host memory, and the computation of its feature values.
  /// The picture must not change or move until await_upload () returns.
  virtual Expected<> upload_picture (const Binning &picture) = 0;
  virtual Expected<> await_upload () = 0;
  /// Enqueues, on stream (), the computation of the feature values of a picture in GPU memory. If
  /// `written_on` is not null, the computation waits for the work enqueued on that stream so far.
  virtual Expected<> compute_values (const Binning &picture, Stream written_on) = 0;
  virtual Stream stream () const = 0;
  virtual const std::shared_ptr<CudaContext> &context () const = 0;
  virtual const Shape &shape () const = 0;
  virtual std::size_t bytes () const = 0;
  /// Returns whether the GPU can answer these queries for sums of cells. It cannot if the answer or
  /// a row of cells is too large, or if a query for cells of an integral histogram has no scores.
  virtual bool takes (std::span<const CellsQuery> queries) const = 0;
  virtual Expected<> add_up_cells (std::span<const CellsQuery> queries) = 0;
  /// Counts the pixels of each bin in rectangles of the frame, stored as [window][bin].
  virtual Expected<> count (std::span<const Region> windows, guint32 *counts) = 0;

  // The functions below enqueue work on a stream of the feature image's CUDA context, which must be
  // current. All their pointers are to GPU memory.
  virtual Expected<> add_up_cells_on (Stream stream, const inthist::cuda::CellGrids &grids) = 0;
  virtual Expected<> count_on (Stream stream, const Region *windows, int n, guint32 *counts) = 0;
  /// Makes the computation of the next frame's values wait for the CUDA event `done`, which fires
  /// when a reader of the present values is done.
  virtual Expected<> add_reader (CudaEvent done) = 0;
  virtual const Lut &lut () const = 0;
};

/// Answers a query for histograms of a list of windows by counting their pixels on a GPU. Returns
/// false for other queries, and if counting is too slow because there are very many windows.
Expected<bool> count_windows (DeviceFeatureImage &feature_image, const Shape &shape,
                              const Query &query);

/// Functions that let a GPU answer queries about frames in host memory.
struct GpuAssist {
  /// Allocates pinned host memory, or plain memory if no more can be pinned.
  AllocateHost allocate;
  /// Makes a feature image, which counts its answers to queries in `answers`.
  std::function<Expected<std::unique_ptr<DeviceFeatureImage>> (const Shape &shape, const Lut &lut,
                                                               std::atomic<guint64> &answers)>
      make;
};

GpuAssist cuda_assist (std::shared_ptr<CudaContext> context);

}  // namespace integralhist
