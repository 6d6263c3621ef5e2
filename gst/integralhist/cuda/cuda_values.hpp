// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <memory>

#include <kernels/cuda/raii.hpp>

#include <gst/integralhist/engine/device_values.hpp>

#include "in_context.hpp"
#include "query_buffers.hpp"

namespace integralhist {

class CudaValues final : public DeviceValues {
public:
  CudaValues (Context context, std::shared_ptr<QueryBufferPool> buffers,
              const inthist::Shape &shape, std::atomic<guint64> &answers)
      : context_ (context), buffers_ (std::move (buffers)), shape_ (shape), answers_ (answers),
        own_ (std::move (context))
  {
  }
  Expected<> open ();

  Expected<> keep (const inthist::Binning &picture) override;
  Expected<> keep_in_place (const inthist::Binning &picture, inthist::Stream producer) override;
  inthist::Stream stream () const override { return own_->stream.get (); }
  const Context &context () const override { return context_; }
  const inthist::Shape &shape () const override { return shape_; }
  std::size_t bytes () const override { return own_->picture.bytes () + own_->values.bytes (); }
  bool takes (std::span<const CellsQuery> queries) const override;
  Expected<> add_up_cells (std::span<const CellsQuery> queries, const inthist::Lut &lut) override;
  Expected<std::unique_ptr<DeviceCells>>
  add_up_cells_on (inthist::Stream stream, std::span<const inthist::Cells> grids) override;
  Expected<> count (std::span<const inthist::Region> windows, const inthist::Lut &lut,
                    guint32 *counts) override;

private:
  /// Enqueues the sums of cells, which stay in the buffers on the GPU: grid after grid. The staged
  /// inputs begin with a CellsOnDevice of each grid. The context is current.
  inthist::cuda::CudaExpected<> enqueue_cells (std::span<const CellsQuery> queries,
                                               const inthist::Lut &lut, QueryBuffers &at,
                                               cudaStream_t stream) const;
  struct Resources {
    inthist::cuda::StreamOwner stream;
    inthist::cuda::EventOwner kept;  // the values are here
    inthist::cuda::GrowingDeviceMemory picture, values;

    ~Resources ()
    {
      if (stream)
        cudaStreamSynchronize (stream.get ());  // some of it may run
    }
  };
  /// What a question has: grids, then their edges, then tables.
  struct Job {
    std::size_t grids = 0, edges = 0, tables = 0, sums = 0;  // numbers of each
    std::size_t bytes = 0;
  };

  std::size_t stride () const
  {
    return inthist::bin_stride (shape_.width) * inthist::bytes_of (shape_.pixel);
  }
  inthist::PixelPlane values () const
  {
    return { reinterpret_cast<std::uint8_t *> (own_->values.get ()), stride () };
  }
  std::size_t planes_of (const CellsQuery &query) const
  {
    return query.scores.empty () ? std::size_t (shape_.bins) : 1;
  }
  Job job_of (std::span<const CellsQuery> queries) const;
  inthist::cuda::CellGrids stage (std::span<const CellsQuery> queries, const inthist::Lut &lut,
                                  const Job &job, const QueryBuffers &at) const;
  std::uint16_t *write_tables (const CellsQuery &query, const inthist::Lut &lut,
                               std::uint16_t *table) const;
  Expected<> copy (std::span<const CellsQuery> queries, const std::byte *next) const;

  const Context context_;
  const std::shared_ptr<QueryBufferPool> buffers_;
  const inthist::Shape shape_;
  std::atomic<guint64> &answers_;
  InContext<Resources> own_;
};

}  // namespace integralhist
