// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include <gst/integralhist/base/tasks.hpp>
#include <gst/integralhist/cuda/cuda_error.hpp>
#include <gst/integralhist/cuda/cuda_event.hpp>
#include <gst/integralhist/cuda/query_buffers.hpp>

#include "device_filters.hpp"

namespace integralhist {
namespace {

using namespace inthist::cuda;
using namespace inthist::correlation;
using namespace inthist::correlation::cuda;

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

  bool are_with (const DeviceFeatureImage &image) const override
  {
    return image.context ()->handle () == context_->handle ();
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
             std::pair (to->wanted, values.wanted), std::pair (to->inside, values.inside),
             std::pair (&to->energy, std::span (&values.energy, 1)) })
        if (!here.empty ())
          TRY (check (cudaMemcpyAsync (there, here.data (), here.size_bytes (),
                                       cudaMemcpyHostToDevice, stream ())));
      TRY (check (cudaStreamSynchronize (stream ())));
      return {};
    });
  }

  Expected<> read (DeviceFilter &filter, std::span<float> weights, std::span<float> example,
                   float &energy) override
  {
    const std::lock_guard lock (mutex_);
    return on (*context_, [&] () -> Expected<> {
      DeviceFilterMemory *const from = memory_of (filter);
      for (const auto &[there, here] :
           { std::pair (from->weights, weights), std::pair (from->example, example),
             std::pair (&from->energy, std::span (&energy, 1)) })
        if (!here.empty ())
          TRY (check (cudaMemcpyAsync (here.data (), there, here.size_bytes (),
                                       cudaMemcpyDeviceToHost, stream ())));
      TRY (check (cudaStreamSynchronize (stream ())));
      return {};
    });
  }

  Expected<> respond (const FrameTensors &frame, std::span<FilterQuery *const> queries) override
  {
    const std::lock_guard lock (mutex_);
    return on (*context_, [&] () -> Expected<> {
      constexpr std::size_t kBytes = kFilterCells * sizeof (float);
      Batch batch = TRY (begin (frame, queries));
      const int n = int (queries.size ());
      TRY (check (describe_squares (batch.jobs, n, tables (), false, stream ())));
      TRY (check (inthist::correlation::cuda::respond (batch.jobs, n, tables (), stream ())));
      TRY (check (cudaMemcpyAsync (batch.list->host_answers.get (), batch.list->answers.get (),
                                   n * kBytes, cudaMemcpyDeviceToHost, stream ())));
      TRY (check (cudaEventRecord (own_->answered.get (), stream ())));
      if (std::ranges::any_of (queries, [] (const auto *query) { return query->rate > 0; }))
        TRY (check (learn (batch.jobs, n, tables (), stream ())));
      TRY (batch.list->end (stream ()));
      TRY (await (own_->answered.get (), kAnswerPolling));
      const auto *from = reinterpret_cast<const float *> (batch.list->host_answers.get ());
      for (FilterQuery *const query : queries) {
        query->response.assign (from, from + kFilterCells);
        from += kFilterCells;
      }
      return {};
    });
  }

  Expected<> make_examples (const FrameTensors &frame,
                            std::span<FilterQuery *const> queries) override
  {
    const std::lock_guard lock (mutex_);
    return on (*context_, [&] () -> Expected<> {
      Batch batch = TRY (begin (frame, queries));
      const int n = int (queries.size ());
      TRY (check (describe_squares (batch.jobs, n, tables (), true, stream ())));
      TRY (check (cudaEventRecord (own_->answered.get (), stream ())));
      if (std::ranges::any_of (queries, [] (const auto *query) { return bool (query->start); }))
        TRY (check (start (batch.jobs, n, tables (), stream ())));
      TRY (batch.list->end (stream ()));
      TRY (await (own_->answered.get (), kAnswerPolling));  // the next frame has other values
      return {};
    });
  }

  Expected<> move (std::span<MoveQuery *const> moves) override
  {
    const std::lock_guard lock (mutex_);
    return on (*context_, [&] () -> Expected<> {
      const QueryLease at = TRY (buffers_.lease ());
      const std::size_t n = moves.size (), jobs_bytes = n * sizeof (FilterJob),
                        factors_bytes = std::span (moves.front ()->phase_factors).size_bytes (),
                        bytes = jobs_bytes + n * factors_bytes;
      TRY (at->reserve (bytes, 0, 0));
      auto *const jobs = reinterpret_cast<FilterJob *> (at->host_inputs.get ());
      for (std::size_t i = 0; i < n; i++) {
        const std::size_t offset = jobs_bytes + i * factors_bytes;
        std::memcpy (at->host_inputs.get () + offset, moves[i]->phase_factors.data (),
                     factors_bytes);
        jobs[i] = {};
        jobs[i].filter = memory_of (*moves[i]->filter);
        jobs[i].phase_factors = reinterpret_cast<const double *> (at->inputs.get () + offset);
      }
      TRY (check (cudaMemcpyAsync (at->inputs.get (), at->host_inputs.get (), bytes,
                                   cudaMemcpyHostToDevice, stream ())));
      TRY (check (move_searched (reinterpret_cast<const FilterJob *> (at->inputs.get ()), int (n),
                                 stream ())));
      TRY (at->end (stream ()));
      return {};
    });
  }

  Expected<> sample (const FrameTensors &frame, std::span<SampleQuery *const> queries) override
  {
    std::vector<inthist::Cells> grids;
    std::vector<float> scales;
    std::vector<std::size_t> first = { 0 };  // number of each answer, and behind the last
    for (const SampleQuery *const query : queries) {
      std::size_t n = 0;
      for (const CellEdges &edges : query->grids)
        n += grids.emplace_back (inthist::Cells{ edges.x, edges.y }).size ();
      scales.insert (scales.end (), query->scales.begin (), query->scales.end ());
      first.push_back (first.back () + n * kOrientations);
    }
    if (std::ranges::any_of (grids, [] (const inthist::Cells &grid) {
          return grid.size () > std::size_t (kMaxSizeCells);
        }))
      return error (Error::Kind::failed, "a box has too many cells for the GPU");
    const std::size_t bytes = first.back () * sizeof (float);
    QueryLease list;
    TRY (on (*context_, [&] () -> Expected<> {
      const std::size_t n = grids.size ();
      list = TRY (buffers_.lease ());
      cudaStream_t stream = list->stream.get ();
      const auto sums = TRY (frame.gradient_image->add_up_cells_on (stream, grids));
      TRY (list->reserve (n * sizeof (SizeJob), bytes, bytes));
      auto *const jobs = reinterpret_cast<SizeJob *> (list->host_inputs.get ());
      auto *to = reinterpret_cast<float *> (list->answers.get ());
      for (std::size_t i = 0; i < n; i++) {
        const CellsOnDevice &grid = sums->grids ()[i];
        jobs[i] = { grid.sums, grid.columns, grid.rows, scales[i], to };
        to += grids[i].size () * kOrientations;
      }
      TRY (check (cudaMemcpyAsync (list->inputs.get (), jobs, n * sizeof (SizeJob),
                                   cudaMemcpyHostToDevice, stream)));
      TRY (check (
          sample_sizes (reinterpret_cast<const SizeJob *> (list->inputs.get ()), int (n), stream)));
      TRY (check (cudaMemcpyAsync (list->host_answers.get (), list->answers.get (), bytes,
                                   cudaMemcpyDeviceToHost, stream)));
      TRY (list->end (stream));
      TRY (await (list->done.get (), kAnswerPolling));
      return {};
    }));
    const auto *const answers = reinterpret_cast<const float *> (list->host_answers.get ());
    std::vector<Copy> copies;
    for (std::size_t i = 0; i < queries.size (); i++) {
      std::vector<float> &sample = queries[i]->sample;
      sample.resize (first[i + 1] - first[i]);
      copies.push_back ({ sample.data (), reinterpret_cast<const std::byte *> (answers + first[i]),
                          sample.size () * sizeof (float) });
    }
    return copy_in_parallel (copies);
  }

private:
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
  /// Squares' sums, and buffers of the jobs and their responses.
  struct Batch {
    std::unique_ptr<DeviceCells> gradients, luma;
    QueryLease list;
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
  Expected<Batch> begin (const FrameTensors &frame, std::span<FilterQuery *const> queries)
  {
    std::vector<inthist::Cells> squares;
    for (const FilterQuery *const query : queries)
      squares.push_back ({ query->square->x, query->square->y });
    Batch batch{ TRY (frame.gradient_image->add_up_cells_on (stream (), squares)),
                 TRY (frame.luma_image->add_up_cells_on (stream (), squares)),
                 TRY (buffers_.lease ()), nullptr };
    const std::size_t n = queries.size (), answer = n * kFilterCells * sizeof (float),
                      n_starts = std::size_t (std::ranges::count_if (
                          queries, [] (const auto *query) { return bool (query->start); })),
                      jobs_bytes = n * sizeof (FilterJob),
                      bytes =
                          jobs_bytes + n_starts * (kFrequencies + kFilterCells) * sizeof (float);
    TRY (batch.list->reserve (bytes, answer, answer));
    auto *const jobs = reinterpret_cast<FilterJob *> (batch.list->host_inputs.get ());
    auto *response = reinterpret_cast<float *> (batch.list->answers.get ());
    std::size_t end = jobs_bytes;
    // puts numbers behind the jobs, and returns where they are on the GPU
    const auto append = [&] (const std::vector<float> &numbers) {
      const std::size_t at = end;
      std::memcpy (batch.list->host_inputs.get () + at, numbers.data (),
                   std::span (numbers).size_bytes ());
      end += std::span (numbers).size_bytes ();
      return reinterpret_cast<const float *> (batch.list->inputs.get () + at);
    };
    for (std::size_t i = 0; i < n; i++, response += kFilterCells) {
      const CellsOnDevice &square = batch.gradients->grids ()[i];
      const FilterQuery &query = *queries[i];
      jobs[i] = { .filter = memory_of (*query.filter),
                  .square = { square.x, square.y, square.sums, batch.luma->grids ()[i].sums,
                              frame.luma_image->shape ().bins, query.scale },
                  .response = response,
                  .rate = query.rate,
                  .wanted = query.start ? append (query.start->wanted) : nullptr,
                  .inside = query.start ? append (query.start->inside) : nullptr,
                  .kept = query.kept,
                  .phase_factors = nullptr };
    }
    batch.jobs = reinterpret_cast<const FilterJob *> (batch.list->inputs.get ());
    TRY (check (cudaMemcpyAsync (batch.list->inputs.get (), jobs, bytes, cudaMemcpyHostToDevice,
                                 stream ())));
    return batch;
  }

  const Context context_;
  QueryBufferPool buffers_;
  std::mutex mutex_;  // guards all below, and the order of what is done to filters
  bool is_full_ = false;
  InContext<Resources> own_;
};

}  // namespace

std::shared_ptr<DeviceFilters> make_device_filters (const DeviceFeatureImage &image)
{
  return std::make_shared<CudaFilters> (image.context ());
}

}  // namespace integralhist
