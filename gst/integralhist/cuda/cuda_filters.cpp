// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cuda_filters.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include <gst/integralhist/base/tasks.hpp>
#include "cuda_error.hpp"
#include "cuda_event.hpp"
#include "cuda_values.hpp"
#include "query_buffers.hpp"

namespace integralhist {
namespace {

using namespace inthist::cuda;

constexpr std::size_t kSpectrumBytes = sizeof (FilterSpectrum);

class CudaFilter final : public DeviceFilter {
public:
  CudaFilter (Context context, DeviceMemory memory)
      : memory_ (std::move (context), std::move (memory))
  {
  }
  /// Nothing here may be read by the host.
  DeviceFilterMemory *get () const
  {
    return reinterpret_cast<DeviceFilterMemory *> (memory_->get ());
  }

private:
  InContext<DeviceMemory> memory_;
};

/// Returns the grids that enqueue_cells () has staged.
const CellsOnDevice *staged (const QueryBuffers &at)
{
  return reinterpret_cast<const CellsOnDevice *> (at.host_inputs.get ());
}

/// Calls `enqueue` with a tensor's values on the GPU.
template <class Enqueue>
Expected<> values_of (Tensor &tensor, Enqueue &&enqueue)
{
  const auto *const values = static_cast<const CudaValues *> (tensor.device_values ());
  if (!values)
    return error (Error::Kind::failed, "the values of a frame are not on the GPU");
  TRY (enqueue (*values));
  return {};
}

DeviceFilterMemory *memory_of (DeviceFilter &filter)
{
  return static_cast<CudaFilter &> (filter).get ();
}

class CudaFilters final : public DeviceFilters {
public:
  explicit CudaFilters (Context context)
      : context_ (context), buffers_ (context), own_ (std::move (context))
  {
  }

  bool takes (Tensor &tensor) const override
  {
    const auto *const values = static_cast<const CudaValues *> (tensor.device_values ());
    return values && values->context ().handle () == context_->handle ();
  }

  Expected<std::unique_ptr<DeviceFilter>> make (const FilterTables &tables) override
  {
    const std::lock_guard lock (mutex_);
    if (is_full_)
      return error (Error::Kind::no_memory, "the GPU has no memory for more filters");
    return on (*context_, [&] () -> Expected<std::unique_ptr<DeviceFilter>> {
      if (!own_->stream)
        TRY (open (tables));
      auto memory = make_device_memory (sizeof (DeviceFilterMemory));
      is_full_ = !memory && memory.error ().code == cudaErrorMemoryAllocation;
      return std::unique_ptr<DeviceFilter> (new CudaFilter (context_, TRY (std::move (memory))));
    });
  }

  Expected<> write (DeviceFilter &filter, const DeviceFilterValues &values) override
  {
    const std::lock_guard lock (mutex_);
    return on (*context_, [&] () -> Expected<> {
      DeviceFilterMemory *const to = memory_of (filter);
      for (const auto &[there, here] :
           { std::pair (to->weights, values.weights_re),
             std::pair (to->weights + kFilterNumbers, values.weights_im),
             std::pair (to->example, values.example_re),
             std::pair (to->example + kFilterNumbers, values.example_im),
             std::pair (to->wanted, values.wanted), std::pair (to->inside, values.inside) })
        if (!here.empty ())
          TRY (check (cudaMemcpyAsync (there, here.data (), here.size_bytes (),
                                       cudaMemcpyHostToDevice, stream ())));
      TRY (check (cudaStreamSynchronize (stream ())));
      return {};
    });
  }

  Expected<> read (DeviceFilter &filter, std::span<float> weights,
                   std::span<float> example) override
  {
    const std::lock_guard lock (mutex_);
    return on (*context_, [&] () -> Expected<> {
      DeviceFilterMemory *const from = memory_of (filter);
      for (const auto &[there, here] :
           { std::pair (from->weights, weights), std::pair (from->example, example) })
        if (!here.empty ())
          TRY (check (cudaMemcpyAsync (here.data (), there, kSpectrumBytes, cudaMemcpyDeviceToHost,
                                       stream ())));
      TRY (check (cudaStreamSynchronize (stream ())));
      return {};
    });
  }

  Expected<> respond (Tensor &gradients, Tensor &luma,
                      std::span<const FilterQuery> queries) override
  {
    const std::lock_guard lock (mutex_);
    return on (*context_, [&] () -> Expected<> {
      constexpr std::size_t kBytes = kFilterCells * sizeof (float);
      Batch batch = TRY (begin (gradients, luma, queries));
      const int n = int (queries.size ());
      TRY (check (describe_squares (batch.jobs, n, tables (), false, stream ())));
      TRY (check (inthist::cuda::respond (batch.jobs, n, tables (), stream ())));
      TRY (check (cudaMemcpyAsync (batch.list->host_answers.get (), batch.list->answers.get (),
                                   n * kBytes, cudaMemcpyDeviceToHost, stream ())));
      TRY (check (cudaEventRecord (own_->answered.get (), stream ())));
      if (std::ranges::any_of (queries, [] (const FilterQuery &query) { return query.rho > 0; }))
        TRY (check (learn (batch.jobs, n, tables (), stream ())));
      TRY (check (cudaEventRecord (batch.list->done.get (), stream ())));
      TRY (await (own_->answered.get (), kAnswering));
      for (int i = 0; i < n; i++)
        std::memcpy (queries[std::size_t (i)].response,
                     batch.list->host_answers.get () + i * kBytes, kBytes);
      return end (std::move (batch));
    });
  }

  Expected<> make_examples (Tensor &gradients, Tensor &luma,
                            std::span<const FilterQuery> queries) override
  {
    const std::lock_guard lock (mutex_);
    return on (*context_, [&] () -> Expected<> {
      Batch batch = TRY (begin (gradients, luma, queries));
      TRY (
          check (describe_squares (batch.jobs, int (queries.size ()), tables (), true, stream ())));
      TRY (check (cudaEventRecord (batch.list->done.get (), stream ())));
      TRY (await (batch.list->done.get (), kAnswering));  // the next frame has other values
      return end (std::move (batch));
    });
  }

  Expected<> move (std::span<const FilterMove> moves) override
  {
    const std::lock_guard lock (mutex_);
    return on (*context_, [&] () -> Expected<> {
      std::unique_ptr<QueryBuffers> at = TRY (buffers_.acquire ());
      const std::size_t n = moves.size (), jobs_bytes = n * sizeof (FilterJob),
                        turns_bytes = moves.front ().turns.size_bytes (),
                        bytes = jobs_bytes + n * turns_bytes;
      TRY (at->reserve (bytes, 0, 0));
      auto *const jobs = reinterpret_cast<FilterJob *> (at->host_inputs.get ());
      for (std::size_t i = 0; i < n; i++) {
        const std::size_t offset = jobs_bytes + i * turns_bytes;
        std::memcpy (at->host_inputs.get () + offset, moves[i].turns.data (), turns_bytes);
        jobs[i] = {};
        jobs[i].filter = memory_of (*moves[i].filter);
        jobs[i].turns = reinterpret_cast<const double *> (at->inputs.get () + offset);
      }
      TRY (check (cudaMemcpyAsync (at->inputs.get (), at->host_inputs.get (), bytes,
                                   cudaMemcpyHostToDevice, stream ())));
      TRY (check (move_searched (reinterpret_cast<const FilterJob *> (at->inputs.get ()), int (n),
                                 stream ())));
      TRY (check (cudaEventRecord (at->done.get (), stream ())));
      buffers_.give_back (std::move (at));
      return {};
    });
  }

  Expected<> sample (Tensor &gradients, std::span<const SizesQuery> queries) override
  {
    std::vector<inthist::Cells> grids;
    std::vector<float> scales;
    std::vector<std::size_t> first = { 0 };  // byte of each answer, and behind the last
    for (const SizesQuery &query : queries) {
      grids.insert (grids.end (), query.grids.begin (), query.grids.end ());
      scales.insert (scales.end (), query.scales.begin (), query.scales.end ());
      std::size_t cells = 0;
      for (const inthist::Cells &grid : query.grids)
        cells += grid.size ();
      first.push_back (first.back () + cells * kOrientations * sizeof (float));
    }
    if (std::ranges::any_of (grids, [] (const inthist::Cells &grid) {
          return grid.size () > std::size_t (kMostSizeCells);
        }))
      return error (Error::Kind::failed, "a box has too many cells for the GPU");
    InContext<std::unique_ptr<QueryBuffers>> own_sums (context_), own_list (context_);
    std::unique_ptr<QueryBuffers> &sums = *own_sums, &list = *own_list;
    TRY (on (*context_, [&] () -> Expected<> {
      const std::size_t n = grids.size ();
      sums = TRY (buffers_.acquire ());
      list = TRY (buffers_.acquire ());
      cudaStream_t stream = list->stream.get ();
      TRY (values_of (gradients, [&] (const CudaValues &values) {
        const CellsQuery cells = { grids, {}, nullptr };
        return values.enqueue_cells ({ &cells, 1 }, inthist::Lut (), *sums, stream);
      }));
      TRY (list->reserve (n * sizeof (SizeJob), first.back (), first.back ()));
      auto *const jobs = reinterpret_cast<SizeJob *> (list->host_inputs.get ());
      auto *to = reinterpret_cast<float *> (list->answers.get ());
      for (std::size_t i = 0; i < n; i++) {
        const CellsOnDevice &grid = staged (*sums)[i];
        jobs[i] = { grid.sums, grid.columns, grid.rows, scales[i], to };
        to += grids[i].size () * kOrientations;
      }
      TRY (check (cudaMemcpyAsync (list->inputs.get (), jobs, n * sizeof (SizeJob),
                                   cudaMemcpyHostToDevice, stream)));
      TRY (check (
          sample_sizes (reinterpret_cast<const SizeJob *> (list->inputs.get ()), int (n), stream)));
      TRY (check (cudaMemcpyAsync (list->host_answers.get (), list->answers.get (), first.back (),
                                   cudaMemcpyDeviceToHost, stream)));
      for (QueryBuffers *const at : { sums.get (), list.get () })
        TRY (check (cudaEventRecord (at->done.get (), stream)));
      TRY (await (list->done.get (), kAnswering));
      return {};
    }));
    std::vector<Copy> copies;
    for (std::size_t i = 0; i < queries.size (); i++)
      copies.push_back (
          { queries[i].sample, list->host_answers.get () + first[i], first[i + 1] - first[i] });
    auto copied = copy_in_parallel (copies);
    buffers_.give_back (std::move (sums));
    buffers_.give_back (std::move (list));
    return copied;
  }

private:
  static constexpr std::size_t kOrientations = inthist::kFilterOrientations;

  struct Resources {
    StreamOwner stream;
    EventOwner answered;
    DeviceMemory tables;

    ~Resources ()
    {
      if (stream)
        cudaStreamSynchronize (stream.get ());
    }
  };
  /// Buffers of squares' sums, and of the jobs and their responses.
  struct Batch {
    std::unique_ptr<QueryBuffers> gradients, luma, list;
    const FilterJob *jobs;
  };

  cudaStream_t stream () const { return own_->stream.get (); }
  const FilterTables *tables () const
  {
    return reinterpret_cast<const FilterTables *> (own_->tables.get ());
  }

  CudaExpected<> open (const FilterTables &tables)
  {
    own_->tables = TRY (make_device_memory (sizeof tables));
    own_->answered = TRY (make_event (cudaEventDisableTiming | cudaEventBlockingSync));
    StreamOwner stream = TRY (make_stream ());
    TRY (check (cudaMemcpyAsync (own_->tables.get (), &tables, sizeof tables,
                                 cudaMemcpyHostToDevice, stream.get ())));
    TRY (check (cudaStreamSynchronize (stream.get ())));
    own_->stream = std::move (stream);  // says that all is there
    return {};
  }

  /// Enqueues the sums of squares, and the list of jobs with them.
  Expected<Batch> begin (Tensor &gradients, Tensor &luma, std::span<const FilterQuery> queries)
  {
    std::vector<inthist::Cells> squares;
    for (const FilterQuery &query : queries)
      squares.push_back (query.square);
    const CellsQuery cells = { squares, {}, nullptr };
    const std::size_t n = queries.size ();
    int luma_planes = 0;
    Batch batch{ TRY (buffers_.acquire ()), TRY (buffers_.acquire ()), TRY (buffers_.acquire ()),
                 nullptr };
    TRY (values_of (gradients, [&] (const CudaValues &values) {
      return values.enqueue_cells ({ &cells, 1 }, inthist::Lut (), *batch.gradients, stream ());
    }));
    TRY (values_of (luma, [&] (const CudaValues &values) {
      luma_planes = values.shape ().bins;
      return values.enqueue_cells ({ &cells, 1 }, inthist::Lut (), *batch.luma, stream ());
    }));
    const std::size_t answer = n * kFilterCells * sizeof (float);
    TRY (batch.list->reserve (n * sizeof (FilterJob), answer, answer));
    auto *const jobs = reinterpret_cast<FilterJob *> (batch.list->host_inputs.get ());
    for (std::size_t i = 0; i < n; i++) {
      const CellsOnDevice &square = staged (*batch.gradients)[i];
      jobs[i] = { memory_of (*queries[i].filter),
                  square.x,
                  square.y,
                  square.sums,
                  staged (*batch.luma)[i].sums,
                  luma_planes,
                  queries[i].per_length,
                  queries[i].per_luma,
                  reinterpret_cast<float *> (batch.list->answers.get ()) + i * kFilterCells,
                  queries[i].mu,
                  queries[i].rho,
                  nullptr };
    }
    batch.jobs = reinterpret_cast<const FilterJob *> (batch.list->inputs.get ());
    TRY (check (cudaMemcpyAsync (batch.list->inputs.get (), jobs, n * sizeof (FilterJob),
                                 cudaMemcpyHostToDevice, stream ())));
    return batch;
  }

  /// Gives the buffers back, for when all that was enqueued is done.
  Expected<> end (Batch batch)
  {
    for (auto *const at : { &batch.gradients, &batch.luma }) {
      TRY (check (cudaEventRecord ((*at)->done.get (), stream ())));
      buffers_.give_back (std::move (*at));
    }
    buffers_.give_back (std::move (batch.list));
    return {};
  }

  const Context context_;
  QueryBufferPool buffers_;
  std::mutex mutex_;  // guards all below, and the order of what is done to filters
  bool is_full_ = false;
  InContext<Resources> own_;
};

}  // namespace

std::shared_ptr<DeviceFilters> make_cuda_filters (Context context)
{
  return std::make_shared<CudaFilters> (std::move (context));
}

}  // namespace integralhist
