// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cuda_feature_image.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <gst/integralhist/base/in_parallel.hpp>
#include <gst/integralhist/cuda/base/cuda_error.hpp>
#include <gst/integralhist/cuda/base/cuda_event.hpp>
#include <gst/integralhist/cuda/memory/pinned_memory.hpp>
#include <gst/integralhist/cuda/pictures/picture_upload.hpp>
#include <gst/integralhist/engine/picture_planes.hpp>

namespace integralhist {
namespace {

using namespace inthist::cuda;

constexpr std::size_t kMaxAnswer = 256 << 20;  // bytes

/// Enqueues the copy of `bytes` bytes of inputs from pinned memory to the GPU.
CudaExpected<> upload_inputs (const QueryBuffers &buffers, std::size_t bytes)
{
  return check (cudaMemcpyAsync (buffers.inputs.get (), buffers.host_inputs.get (), bytes,
                                 cudaMemcpyHostToDevice, buffers.stream.get ()));
}

/// Copies `bytes` bytes of answers from the GPU to pinned memory, and waits for the copy.
Expected<> download_answers (QueryBuffers &buffers, std::size_t bytes)
{
  cudaStream_t stream = buffers.stream.get ();
  TRY (check (cudaMemcpyAsync (buffers.host_answers.get (), buffers.answers.get (), bytes,
                               cudaMemcpyDeviceToHost, stream)));
  TRY (buffers.end (stream));
  TRY (await (buffers.done.get (), kAnswerPolling));
  return {};
}

}  // namespace

CudaFeatureImage::Resources::~Resources ()
{
  if (stream)
    cudaStreamSynchronize (stream.get ());  // waits, because enqueued work may use the memory
}

Expected<std::unique_ptr<CudaFeatureImage>>
CudaFeatureImage::create (ContextRef context, std::shared_ptr<QueryBufferPool> buffers,
                          const Shape &shape, const Lut &lut, std::atomic<guint64> &answers)
{
  std::unique_ptr<CudaFeatureImage> image (
      new CudaFeatureImage (std::move (context), std::move (buffers), shape, lut, answers));
  TRY (image->open ());
  return image;
}

CudaFeatureImage::CudaFeatureImage (ContextRef context, std::shared_ptr<QueryBufferPool> buffers,
                                    const Shape &shape, const Lut &lut,
                                    std::atomic<guint64> &answers)
    : context_ (context), buffers_ (std::move (buffers)), shape_ (shape), lut_ (lut),
      answers_ (answers), own_ (std::move (context))
{
}

Expected<> CudaFeatureImage::open ()
{
  return with_context (*context_, [&] () -> CudaExpected<> {
    own_->stream = TRY (make_stream ());
    own_->values_ready = TRY (make_event (cudaEventDisableTiming | cudaEventBlockingSync));
    return own_->values.reserve (stride () * shape_.height);
  });
}

Expected<> CudaFeatureImage::upload_picture (const Binning &picture)
{
  return with_context (*context_, [&] () -> CudaExpected<> {
    cudaStream_t stream = own_->stream.get ();
    const PicturePlanes planes (picture.image, shape_.width, shape_.height);
    TRY (own_->picture.reserve (planes.size ()));
    TRY (upload (planes, own_->picture.get (), stream));
    const Binning there = { planes.image_in (own_->picture.get ()), picture.lut };
    TRY (check (inthist::cuda::bin_image (there, shape_.width, shape_.height, values (), stream)));
    return check (cudaEventRecord (own_->values_ready.get (), stream));
  });
}

Expected<> CudaFeatureImage::await_upload ()
{
  return with_context (*context_, [&] { return await (own_->values_ready.get ()); });
}

Expected<> CudaFeatureImage::compute_values (const Binning &picture, Stream written_on)
{
  return with_context (*context_, [&] () -> CudaExpected<> {
    cudaStream_t stream = own_->stream.get ();
    TRY (wait_for_writes (stream, written_on, own_->values_ready.get ()));
    TRY (
        check (inthist::cuda::bin_image (picture, shape_.width, shape_.height, values (), stream)));
    return check (cudaEventRecord (own_->values_ready.get (), stream));
  });
}

bool CudaFeatureImage::takes (std::span<const CellsQuery> queries) const
{
  const bool bins = shape_.content == Content::bins;
  const std::size_t planes = bins ? 1 : std::size_t (shape_.bins);
  return input_sizes_of (queries).sums * sizeof (std::int64_t) <= kMaxAnswer
         && std::ranges::all_of (queries, [&] (const CellsQuery &query) {
              return bins != query.scores.empty ()
                     && std::ranges::all_of (query.grids, [&] (const Cells &cells) {
                          return cells.columns () * planes <= kMaxCellSums
                                 && cells.widest () <= inthist::cpu::kMaxCellColumns;
                        });
            });
}

Expected<> CudaFeatureImage::add_up_cells (std::span<const CellsQuery> queries)
{
  const CellInputSizes sizes = input_sizes_of (queries);
  const std::size_t bytes = sizes.sums * sizeof (std::int64_t);
  QueryLease buffers;
  TRY (with_context (*context_, [&] () -> Expected<> {
    buffers = TRY (buffers_->lease ());
    TRY (buffers->reserve (sizes.bytes, bytes, bytes));
    const CellGrids grids = stage (queries, sizes, *buffers);
    TRY (upload_inputs (*buffers, sizes.bytes));
    TRY (add_up_cells_on (buffers->stream.get (), grids));
    return download_answers (*buffers, bytes);
  }));
  return copy (queries, buffers->host_answers.get ());
}

Expected<> CudaFeatureImage::count (std::span<const Region> windows, guint32 *counts)
{
  const std::size_t bytes = windows.size () * std::size_t (shape_.bins) * sizeof *counts;
  QueryLease buffers;
  TRY (with_context (*context_, [&] () -> Expected<> {
    buffers = TRY (buffers_->lease ());
    TRY (buffers->reserve (windows.size_bytes (), bytes, bytes));
    std::memcpy (buffers->host_inputs.get (), windows.data (), windows.size_bytes ());
    TRY (upload_inputs (*buffers, windows.size_bytes ()));
    TRY (count_on (buffers->stream.get (),
                   reinterpret_cast<const Region *> (buffers->inputs.get ()), int (windows.size ()),
                   reinterpret_cast<guint32 *> (buffers->answers.get ())));
    return download_answers (*buffers, bytes);
  }));
  std::memcpy (counts, buffers->host_answers.get (), bytes);
  return {};
}

Expected<> CudaFeatureImage::add_up_cells_on (Stream stream, const CellGrids &grids)
{
  TRY (check (cudaStreamWaitEvent (stream, own_->values_ready.get (), 0)));
  TRY (check (inthist::cuda::add_up_cells (values (), shape_, grids, stream)));
  answers_++;
  return {};
}

Expected<> CudaFeatureImage::count_on (Stream stream, const Region *windows, int n, guint32 *counts)
{
  TRY (check (cudaStreamWaitEvent (stream, own_->values_ready.get (), 0)));
  TRY (check (
      inthist::cuda::count_windows (values (), lut_, shape_.bins, windows, n, counts, stream)));
  answers_++;
  return {};
}

CudaFeatureImage::CellInputSizes
CudaFeatureImage::input_sizes_of (std::span<const CellsQuery> queries) const
{
  CellInputSizes sizes;
  for (const CellsQuery &query : queries) {
    sizes.grids += query.grids.size ();
    sizes.value_weights += query.planes (shape_);
    for (const Cells &cells : query.grids) {
      sizes.edges += cells.x.size () + cells.y.size ();
      sizes.sums += cells.size () * query.planes (shape_);
    }
  }
  if (shape_.content == Content::weights)
    sizes.value_weights = 0;
  sizes.bytes = sizes.grids * sizeof (CellsOnDevice) + sizes.edges * sizeof (int)
                + sizes.value_weights * 256 * sizeof (std::uint16_t);
  return sizes;
}

/// Writes the inputs of queries for cells to pinned memory: a CellsOnDevice for each grid, edges,
/// and weights of values. Pointers in the inputs are addresses on the GPU.
CellGrids CudaFeatureImage::stage (std::span<const CellsQuery> queries, const CellInputSizes &sizes,
                                   const QueryBuffers &buffers) const
{
  auto *grid = reinterpret_cast<CellsOnDevice *> (buffers.host_inputs.get ());
  auto *edges = reinterpret_cast<int *> (grid + sizes.grids);
  auto *value_weights = reinterpret_cast<std::uint16_t *> (edges + sizes.edges);
  const auto there = [&]<class T> (T *here) {
    return reinterpret_cast<T *> (
        buffers.inputs.get ()
        + (reinterpret_cast<std::byte *> (here) - buffers.host_inputs.get ()));
  };
  CellGrids all = { there (grid), int (sizes.grids), 0, 0 };
  auto *sums = reinterpret_cast<std::int64_t *> (buffers.answers.get ());
  for (const CellsQuery &query : queries) {
    for (const Cells &cells : query.grids) {
      int *const x = edges, *const y = std::ranges::copy (cells.x, x).out;
      edges = std::ranges::copy (cells.y, y).out;
      *grid++ = { there (x),     there (y),       cells.columns (),
                  cells.rows (), cells.widest (), there (value_weights),
                  sums };
      sums += cells.size () * query.planes (shape_);
      all.most_columns = std::max (all.most_columns, cells.columns ());
      all.most_rows = std::max (all.most_rows, cells.rows ());
    }
    if (sizes.value_weights > 0)
      value_weights = write_value_weights (query, value_weights);
  }
  return all;
}

/// Writes what each of the 256 pixel values adds to a sum. Returns the end of the written array.
std::uint16_t *CudaFeatureImage::write_value_weights (const CellsQuery &query,
                                                      std::uint16_t *value_weights) const
{
  for (int v = 0; v < 256; v++) {
    const std::size_t bin = lut_[v];
    if (shape_.content == Content::sums) {
      value_weights[v] = std::uint16_t (v);
      if (shape_.has_squares ())
        value_weights[256 + v] = std::uint16_t (v * v);
    } else {
      value_weights[v] =
          bin < std::size_t (shape_.bins) && bin < query.scores.size () ? query.scores[bin] : 0;
    }
  }
  return value_weights + query.planes (shape_) * 256;
}

/// Copies downloaded answers, which begin at `next`, to the memory of the queries.
Expected<> CudaFeatureImage::copy (std::span<const CellsQuery> queries, const std::byte *next) const
{
  std::vector<Copy> copies;
  for (const CellsQuery &query : queries) {
    std::size_t bytes = 0;
    for (const Cells &cells : query.grids)
      bytes += cells.size () * query.planes (shape_) * sizeof (std::int64_t);
    copies.push_back ({ query.sums, next, bytes });
    next += bytes;
  }
  return copy_in_parallel (copies);
}

Expected<> CudaFeatureImage::add_reader (CudaEvent done)
{
  return with_context (*context_, [&] () -> CudaExpected<> {
    return check (cudaStreamWaitEvent (own_->stream.get (), done, 0));
  });
}

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
          const Shape &shape, const Lut &lut,
          std::atomic<guint64> &answers) -> Expected<std::unique_ptr<DeviceFeatureImage>> {
    return TRY (CudaFeatureImage::create (context, buffers, shape, lut, answers));
  };
  return { allocate, make };
}

}  // namespace integralhist
