// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The feature image of a frame on a GPU: the value of each pixel, of a frame in host memory or on
// the GPU. If many small queries come together, a GPU answers faster from it than the CPU does.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>

#include <kernels/binning.hpp>
#include <kernels/cells.hpp>

#include <gst/integralhist/memory/host_memory.hpp>

#include "tensor.hpp"

struct CUevent_st;  // cudaEvent_t points to it

namespace integralhist {

class CudaContext;

/// The values of a frame's pixels on a GPU. Several threads may query it at once.
class DeviceFeatureImage {
public:
  virtual ~DeviceFeatureImage () = default;
  /// Enqueues the computation of the values of a picture in host memory. The picture must stay
  /// there until await_kept () returns.
  virtual Expected<> keep (const inthist::Binning &picture) = 0;
  /// Waits until the values of the picture of the last keep () are computed.
  virtual Expected<> await_kept () = 0;
  /// Enqueues, on stream (), the computation of the values of a picture in the GPU's memory. It
  /// starts after the work that `producer` has now, unless that is null.
  virtual Expected<> keep_in_place (const inthist::Binning &picture, inthist::Stream producer) = 0;
  virtual inthist::Stream stream () const = 0;
  virtual const std::shared_ptr<CudaContext> &context () const = 0;
  virtual const inthist::Shape &shape () const = 0;
  /// Returns the bytes that it uses on the GPU.
  virtual std::size_t bytes () const = 0;
  /// Returns whether the GPU can answer these queries: not if they need far too much memory.
  virtual bool takes (std::span<const CellsQuery> queries) const = 0;
  /// Adds up cells.
  virtual Expected<> add_up_cells (std::span<const CellsQuery> queries) = 0;
  /// Counts the pixels of each bin in windows of the frame: counts[window][bin].
  virtual Expected<> count (std::span<const inthist::Region> windows, guint32 *counts) = 0;

  // The functions below enqueue work on a stream of the image's context, which is current. All
  // pointers are to the GPU's memory.
  /// Enqueues the sums of cells.
  virtual Expected<> add_up_cells_on (inthist::Stream stream,
                                      const inthist::cuda::CellGrids &grids) = 0;
  /// Enqueues counting the pixels of each bin in n windows of the frame: counts[window][bin].
  virtual Expected<> count_on (inthist::Stream stream, const inthist::Region *windows, int n,
                               guint32 *counts) = 0;
  /// Lets the next frame wait for the event `done` before it overwrites the values.
  virtual Expected<> add_reader (CUevent_st *done) = 0;
  /// Returns the LUT from values to bins.
  virtual const inthist::Lut &lut () const = 0;
};

/// Lets a GPU count the windows of a query from the pixels. Returns false if that is too slow, for
/// example for very many windows.
Expected<bool> count_windows (DeviceFeatureImage &feature_image, const inthist::Shape &shape,
                              const Query &query);

/// Functions that let a GPU answer queries about frames in host memory.
struct GpuAssist {
  /// Allocates memory that the GPU reads in place. If no more can be pinned, allocates plain
  /// memory.
  AllocateHost allocate;
  /// Makes a feature image, which counts the queries that it answers in `answers`. The LUT maps
  /// values to bins.
  std::function<Expected<std::unique_ptr<DeviceFeatureImage>> (
      const inthist::Shape &shape, const inthist::Lut &lut, std::atomic<guint64> &answers)>
      make;
};

/// Returns functions that let the GPU of a context answer queries together with the CPU.
GpuAssist cuda_assist (std::shared_ptr<CudaContext> context);

}  // namespace integralhist
