// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The feature image of a frame (the feature value of each pixel) in GPU memory. A CUDA stream of
// its own computes the values. Readers on other streams wait for the values, and this stream waits
// for all readers before it computes the values of another frame.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include <gst/integralhist/cuda/base/in_context.hpp>
#include <gst/integralhist/cuda/memory/query_buffers.hpp>
#include <gst/integralhist/engine/device_feature_image.hpp>

namespace integralhist {

class CudaFeatureImage final : public DeviceFeatureImage {
public:
  static Expected<std::unique_ptr<CudaFeatureImage>>
  create (ContextRef context, std::shared_ptr<QueryBufferPool> buffers, const Shape &shape,
          const Lut &lut, std::atomic<guint64> &answers);

  Expected<> upload_picture (const Binning &picture) override;
  Expected<> await_upload () override;
  Expected<> compute_values (const Binning &picture, Stream written_on) override;
  Stream stream () const override { return own_->stream.get (); }
  const std::shared_ptr<CudaContext> &context () const override { return context_; }
  const Shape &shape () const override { return shape_; }
  std::size_t bytes () const override { return own_->picture.bytes () + own_->values.bytes (); }
  bool takes (std::span<const CellsQuery> queries) const override;
  Expected<> add_up_cells (std::span<const CellsQuery> queries) override;
  Expected<> count (std::span<const Region> windows, guint32 *counts) override;
  Expected<> add_up_cells_on (Stream stream, const inthist::cuda::CellGrids &grids) override;
  Expected<> count_on (Stream stream, const Region *windows, int n, guint32 *counts) override;
  Expected<> add_reader (CudaEvent done) override;
  const Lut &lut () const override { return lut_; }

  /// Returns the feature values, which are ready once the event values_ready () has fired.
  PixelPlane values () const
  {
    return { reinterpret_cast<std::uint8_t *> (own_->values.get ()), stride () };
  }
  cudaEvent_t values_ready () const { return own_->values_ready.get (); }

private:
  CudaFeatureImage (ContextRef context, std::shared_ptr<QueryBufferPool> buffers,
                    const Shape &shape, const Lut &lut, std::atomic<guint64> &answers);

  struct Resources {
    inthist::cuda::StreamOwner stream;
    inthist::cuda::EventOwner values_ready;
    inthist::cuda::GrowingDeviceMemory picture, values;

    ~Resources ();
  };
  /// The numbers of grids, edges, weights and sums of queries for cells, and the input bytes.
  struct CellInputSizes {
    std::size_t grids = 0, edges = 0, value_weights = 0, sums = 0;
    std::size_t bytes = 0;
  };

  Expected<> open ();
  std::size_t stride () const
  {
    return inthist::padded_columns (shape_.width) * inthist::bytes_of (shape_.pixel);
  }
  CellInputSizes input_sizes_of (std::span<const CellsQuery> queries) const;
  inthist::cuda::CellGrids stage (std::span<const CellsQuery> queries, const CellInputSizes &sizes,
                                  const QueryBuffers &buffers) const;
  std::uint16_t *write_value_weights (const CellsQuery &query, std::uint16_t *value_weights) const;
  Expected<> copy (std::span<const CellsQuery> queries, const std::byte *next) const;

  const ContextRef context_;
  const std::shared_ptr<QueryBufferPool> buffers_;
  const Shape shape_;
  const Lut lut_;
  std::atomic<guint64> &answers_;
  InContext<Resources> own_;
};

}  // namespace integralhist
