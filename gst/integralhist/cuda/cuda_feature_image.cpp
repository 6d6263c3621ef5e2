// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <kernels/cuda/raii.hpp>

#include <gst/integralhist/base/tasks.hpp>
#include <gst/integralhist/engine/device_feature_image.hpp>
#include <gst/integralhist/engine/picture_planes.hpp>

#include "cuda_error.hpp"
#include "cuda_event.hpp"
#include "in_context.hpp"
#include "picture_upload.hpp"
#include "pinned_memory.hpp"
#include "query_buffers.hpp"

namespace integralhist {
namespace {

using namespace inthist::cuda;
using inthist::Content;

constexpr std::size_t kMaxAnswer = 256 << 20;  // bytes

/// Copies answers back, and waits for them.
Expected<> fetch (QueryBuffers &at, std::size_t bytes)
{
  cudaStream_t stream = at.stream.get ();
  TRY (check (cudaMemcpyAsync (at.host_answers.get (), at.answers.get (), bytes,
                               cudaMemcpyDeviceToHost, stream)));
  TRY (at.end (stream));
  TRY (await (at.done.get (), kAnswerPolling));
  return {};
}

class CudaCells final : public DeviceCells {
public:
  CudaCells (Context context, std::shared_ptr<QueryBufferPool> pool, cudaStream_t stream,
             std::size_t n, QueryLease buffers)
      : context_ (std::move (context)), pool_ (std::move (pool)), stream_ (stream), n_ (n),
        at_ (std::move (buffers))
  {
  }
  ~CudaCells () override
  {
    if (const CudaContext::Scope scope (*context_); scope)
      (void) at_->end (stream_);
  }

  std::span<const CellsOnDevice> grids () const override
  {
    return { reinterpret_cast<const CellsOnDevice *> (at_->host_inputs.get ()), n_ };
  }
  QueryBuffers &buffers () { return *at_; }

private:
  const Context context_;
  const std::shared_ptr<QueryBufferPool> pool_;
  const cudaStream_t stream_;
  const std::size_t n_;
  const QueryLease at_;
};

class CudaFeatureImage final : public DeviceFeatureImage {
public:
  CudaFeatureImage (Context context, std::shared_ptr<QueryBufferPool> buffers,
                    const inthist::Shape &shape, std::atomic<guint64> &answers)
      : context_ (context), buffers_ (std::move (buffers)), shape_ (shape), answers_ (answers),
        own_ (std::move (context))
  {
  }
  Expected<> open ()
  {
    return on (*context_, [&] () -> CudaExpected<> {
      own_->stream = TRY (make_stream ());
      own_->values_ready = TRY (make_event (cudaEventDisableTiming | cudaEventBlockingSync));
      return own_->values.reserve (stride () * shape_.height);
    });
  }

  Expected<> keep (const inthist::Binning &picture) override
  {
    return on (*context_, [&] () -> CudaExpected<> {
      cudaStream_t stream = own_->stream.get ();
      const PicturePlanes planes (picture.image, shape_.width, shape_.height);
      TRY (own_->picture.reserve (planes.size ()));
      TRY (upload (planes, own_->picture.get (), stream));
      const inthist::Binning there = { planes.image_in (own_->picture.get ()), picture.lut };
      TRY (
          check (inthist::cuda::bin_image (there, shape_.width, shape_.height, values (), stream)));
      return check (cudaEventRecord (own_->values_ready.get (), stream));
    });
  }
  Expected<> keep_in_place (const inthist::Binning &picture, inthist::Stream producer) override
  {
    return on (*context_, [&] () -> CudaExpected<> {
      cudaStream_t stream = own_->stream.get ();
      TRY (wait_for_producer (stream, producer, own_->values_ready.get ()));
      TRY (check (
          inthist::cuda::bin_image (picture, shape_.width, shape_.height, values (), stream)));
      return check (cudaEventRecord (own_->values_ready.get (), stream));
    });
  }
  inthist::Stream stream () const override { return own_->stream.get (); }
  const Context &context () const override { return context_; }
  const inthist::Shape &shape () const override { return shape_; }
  std::size_t bytes () const override { return own_->picture.bytes () + own_->values.bytes (); }
  bool takes (std::span<const CellsQuery> queries) const override
  {
    const bool bins = shape_.content == Content::bins;
    const std::size_t planes = bins ? 1 : std::size_t (shape_.bins);
    return input_sizes_of (queries).sums * sizeof (std::int64_t) <= kMaxAnswer
           && std::ranges::all_of (queries, [&] (const CellsQuery &query) {
                return bins != query.scores.empty ()
                       && std::ranges::all_of (query.grids, [&] (const inthist::Cells &cells) {
                            return cells.columns () * planes <= kMaxCellSums
                                   && cells.widest () <= inthist::cpu::kMaxCellColumns;
                          });
              });
  }
  Expected<> add_up_cells (std::span<const CellsQuery> queries, const inthist::Lut &lut) override
  {
    const CellInputSizes sizes = input_sizes_of (queries);
    const std::size_t bytes = sizes.sums * sizeof (std::int64_t);
    QueryLease at;
    TRY (on (*context_, [&] () -> Expected<> {
      at = TRY (buffers_->lease ());
      TRY (at->reserve (0, bytes, bytes));
      TRY (enqueue_cells (queries, lut, *at, at->stream.get ()));
      return fetch (*at, bytes);
    }));
    return copy (queries, at->host_answers.get ());
  }
  Expected<std::unique_ptr<DeviceCells>>
  add_up_cells_on (inthist::Stream stream, std::span<const inthist::Cells> grids) override
  {
    auto cells = std::make_unique<CudaCells> (context_, buffers_, stream, grids.size (),
                                              TRY (buffers_->lease ()));
    const CellsQuery query = { grids, {}, nullptr };
    TRY (enqueue_cells ({ &query, 1 }, inthist::Lut (), cells->buffers (), stream));
    return cells;
  }
  Expected<> count (std::span<const inthist::Region> windows, const inthist::Lut &lut,
                    guint32 *counts) override
  {
    const std::size_t bytes = windows.size () * std::size_t (shape_.bins) * sizeof *counts;
    QueryLease lease;
    TRY (on (*context_, [&] () -> Expected<> {
      lease = TRY (buffers_->lease ());
      QueryBuffers &at = *lease;
      TRY (at.reserve (windows.size_bytes (), bytes, bytes));
      std::memcpy (at.host_inputs.get (), windows.data (), windows.size_bytes ());
      cudaStream_t stream = at.stream.get ();
      TRY (check (cudaMemcpyAsync (at.inputs.get (), at.host_inputs.get (), windows.size_bytes (),
                                   cudaMemcpyHostToDevice, stream)));
      TRY (check (cudaStreamWaitEvent (stream, own_->values_ready.get (), 0)));
      TRY (check (inthist::cuda::count_windows (
          values (), lut, shape_.bins, reinterpret_cast<const inthist::Region *> (at.inputs.get ()),
          int (windows.size ()), reinterpret_cast<guint32 *> (at.answers.get ()), stream)));
      return fetch (at, bytes);
    }));
    answers_++;
    std::memcpy (counts, lease->host_answers.get (), bytes);
    return {};
  }

private:
  /// Enqueues the sums of cells, which stay in the buffers on the GPU: grid after grid. The staged
  /// inputs begin with a CellsOnDevice of each grid. The context is current.
  CudaExpected<> enqueue_cells (std::span<const CellsQuery> queries, const inthist::Lut &lut,
                                QueryBuffers &at, cudaStream_t stream) const
  {
    const CellInputSizes sizes = input_sizes_of (queries);
    TRY (at.reserve (sizes.bytes, sizes.sums * sizeof (std::int64_t), 0));
    const CellGrids grids = stage (queries, lut, sizes, at);
    TRY (check (cudaMemcpyAsync (at.inputs.get (), at.host_inputs.get (), sizes.bytes,
                                 cudaMemcpyHostToDevice, stream)));
    TRY (check (cudaStreamWaitEvent (stream, own_->values_ready.get (), 0)));
    TRY (check (inthist::cuda::add_up_cells (values (), shape_, grids, stream)));
    answers_++;
    return {};
  }
  struct Resources {
    StreamOwner stream;
    EventOwner values_ready;  // the values are computed
    GrowingDeviceMemory picture, values;

    ~Resources ()
    {
      if (stream)
        cudaStreamSynchronize (stream.get ());  // some of it may run
    }
  };
  /// The sizes of a query's inputs: grids, then their edges, then the weights of values.
  struct CellInputSizes {
    std::size_t grids = 0, edges = 0, value_weights = 0, sums = 0;  // numbers of each
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
  CellInputSizes input_sizes_of (std::span<const CellsQuery> queries) const
  {
    CellInputSizes sizes;
    for (const CellsQuery &query : queries) {
      sizes.grids += query.grids.size ();
      sizes.value_weights += planes_of (query);
      for (const inthist::Cells &cells : query.grids) {
        sizes.edges += cells.x.size () + cells.y.size ();
        sizes.sums += cells.size () * planes_of (query);
      }
    }
    if (shape_.content == Content::weights)
      sizes.value_weights = 0;
    sizes.bytes = sizes.grids * sizeof (CellsOnDevice) + sizes.edges * sizeof (int)
                  + sizes.value_weights * 256 * sizeof (std::uint16_t);
    return sizes;
  }
  /// Writes the inputs to the staging buffer, with pointers to where they will lie.
  CellGrids stage (std::span<const CellsQuery> queries, const inthist::Lut &lut,
                   const CellInputSizes &sizes, const QueryBuffers &at) const
  {
    auto *grid = reinterpret_cast<CellsOnDevice *> (at.host_inputs.get ());
    auto *edges = reinterpret_cast<int *> (grid + sizes.grids);
    auto *value_weights = reinterpret_cast<std::uint16_t *> (edges + sizes.edges);
    const auto there = [&]<class T> (T *here) {
      return reinterpret_cast<T *> (
          at.inputs.get () + (reinterpret_cast<std::byte *> (here) - at.host_inputs.get ()));
    };
    CellGrids all = { there (grid), int (sizes.grids), 0, 0 };
    auto *sums = reinterpret_cast<std::int64_t *> (at.answers.get ());
    for (const CellsQuery &query : queries) {
      for (const inthist::Cells &cells : query.grids) {
        int *const x = edges, *const y = std::ranges::copy (cells.x, x).out;
        edges = std::ranges::copy (cells.y, y).out;
        *grid++ = { there (x),     there (y),       cells.columns (),
                    cells.rows (), cells.widest (), there (value_weights),
                    sums };
        sums += cells.size () * planes_of (query);
        all.most_columns = std::max (all.most_columns, cells.columns ());
        all.most_rows = std::max (all.most_rows, cells.rows ());
      }
      if (sizes.value_weights > 0)
        value_weights = write_value_weights (query, lut, value_weights);
    }
    return all;
  }
  /// Writes what each value counts for.
  std::uint16_t *write_value_weights (const CellsQuery &query, const inthist::Lut &lut,
                                      std::uint16_t *value_weights) const
  {
    for (int v = 0; v < 256; v++) {
      const std::size_t bin = lut[v];
      if (shape_.content == Content::sums) {
        value_weights[v] = std::uint16_t (v);
        if (shape_.bins > 1)
          value_weights[256 + v] = std::uint16_t (v * v);
      } else {
        value_weights[v] =
            bin < std::size_t (shape_.bins) && bin < query.scores.size () ? query.scores[bin] : 0;
      }
    }
    return value_weights + planes_of (query) * 256;
  }
  /// Copies the answers to where they are wanted.
  Expected<> copy (std::span<const CellsQuery> queries, const std::byte *next) const
  {
    std::vector<Copy> copies;
    for (const CellsQuery &query : queries) {
      std::size_t bytes = 0;
      for (const inthist::Cells &cells : query.grids)
        bytes += cells.size () * planes_of (query) * sizeof (std::int64_t);
      copies.push_back ({ query.sums, next, bytes });
      next += bytes;
    }
    return copy_in_parallel (copies);
  }

  const Context context_;
  const std::shared_ptr<QueryBufferPool> buffers_;
  const inthist::Shape shape_;
  std::atomic<guint64> &answers_;
  InContext<Resources> own_;
};

}  // namespace

GpuAssist cuda_assist (std::shared_ptr<CudaContext> context)
{
  const auto allocate = [context] (std::size_t bytes,
                                   const NoMemoryMessage &message) -> Expected<HostMemory> {
    auto pinned = allocate_pinned (context, bytes, message);
    if (pinned)
      return pinned;
    return allocate_on_host (bytes, message);
  };
  const auto make =
      [context, buffers = std::make_shared<QueryBufferPool> (context)] (
          const inthist::Shape &shape,
          std::atomic<guint64> &answers) -> Expected<std::unique_ptr<DeviceFeatureImage>> {
    auto values = std::make_unique<CudaFeatureImage> (context, buffers, shape, answers);
    TRY (values->open ());
    return values;
  };
  return { allocate, make };
}

}  // namespace integralhist
