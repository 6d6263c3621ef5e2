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

/// Any thread may ask, also while other threads ask.
class DeviceFeatureImage {
public:
  virtual ~DeviceFeatureImage () = default;
  /// Enqueues the values of a picture in host memory, which stays until await_kept () returns.
  virtual Expected<> keep (const inthist::Binning &picture) = 0;
  /// Waits until the values of the last picture are made.
  virtual Expected<> await_kept () = 0;
  /// Enqueues the values of a picture in the GPU's memory, on the stream of this image, after the
  /// work that `producer` has now, unless that is null.
  virtual Expected<> keep_in_place (const inthist::Binning &picture, inthist::Stream producer) = 0;
  virtual inthist::Stream stream () const = 0;
  virtual const std::shared_ptr<CudaContext> &context () const = 0;
  virtual const inthist::Shape &shape () const = 0;
  /// Returns the bytes that it uses on the GPU.
  virtual std::size_t bytes () const = 0;
  /// Returns whether it answers such queries; it does not if they need far too much memory.
  virtual bool takes (std::span<const CellsQuery> queries) const = 0;
  /// Adds up cells.
  virtual Expected<> add_up_cells (std::span<const CellsQuery> queries) = 0;
  /// Counts windows of the frame: [window][bin].
  virtual Expected<> count (std::span<const inthist::Region> windows, guint32 *counts) = 0;

  // These run on a stream of the context, which is current. All pointers are to the GPU's memory.
  /// Enqueues the sums of cells.
  virtual Expected<> add_up_cells_on (inthist::Stream stream,
                                      const inthist::cuda::CellGrids &grids) = 0;
  /// Enqueues the counts of n windows of the frame: [window][bin].
  virtual Expected<> count_on (inthist::Stream stream, const inthist::Region *windows, int n,
                               guint32 *counts) = 0;
  /// Keeps the values until the work that was recorded with this event is done.
  virtual Expected<> add_reader (CUevent_st *done) = 0;
  /// Returns the LUT from values to bins.
  virtual const inthist::Lut &lut () const = 0;
};

/// Lets a GPU count the windows of a query from the pixels. Returns false if that is too slow, for
/// example for very many windows.
Expected<bool> count_windows (DeviceFeatureImage &feature_image, const inthist::Shape &shape,
                              const Query &query);

/// A GPU that answers from pixels of frames in host memory.
struct GpuAssist {
  /// Allocates memory that the GPU reads in place, or other memory if no more can be pinned.
  AllocateHost allocate;
  /// Makes feature images of frames, which count their answers. The LUT maps values to bins.
  std::function<Expected<std::unique_ptr<DeviceFeatureImage>> (
      const inthist::Shape &shape, const inthist::Lut &lut, std::atomic<guint64> &answers)>
      make;
};

/// Returns functions that let a context's GPU answer together with the CPU.
GpuAssist cuda_assist (std::shared_ptr<CudaContext> context);

}  // namespace integralhist
