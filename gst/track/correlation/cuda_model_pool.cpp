// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Models of targets on a GPU. Each call of run () is one batch: a few kernel launches lay out and
// add up the cells of all requests, whatever their stage, and then each kind of job has one launch.
// The host waits only for answers. Work without an answer, such as learning, runs while the host
// decides.
#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include <gst/integralhist/cuda/base/cuda_error.hpp>
#include <gst/integralhist/cuda/base/cuda_event.hpp>
#include <gst/integralhist/cuda/memory/query_buffers.hpp>

#include <gst/track/base/log.hpp>

#include "cuda_batch.hpp"
#include "cuda_model.hpp"
#include "device_model_pool.hpp"

#define GST_CAT_DEFAULT track_log ()

namespace integralhist {
namespace {

using namespace inthist::cuda;
using namespace inthist::correlation;
using namespace inthist::correlation::cuda;

ModelTables make_tables ()
{
  ModelTables tables;
  std::ranges::copy (hann (), tables.window);
  const auto copy_twiddles = [] (int length, float *re, float *im) {
    Fft (length).for_twiddles (
        [&] (float twiddle_re, float twiddle_im) { *re++ = twiddle_re, *im++ = twiddle_im; });
  };
  copy_twiddles (kGrid, tables.twiddle_re, tables.twiddle_im);
  copy_twiddles (kSizes, tables.size_twiddle_re, tables.size_twiddle_im);
  tables.sizes = size_tables ();
  for (int v = 0; v < 256; v++) {
    tables.values[v] = std::uint16_t (v);
    tables.values[256 + v] = std::uint16_t (v * v);
  }
  return tables;
}

class CudaModelPool final : public DeviceModelPool {
public:
  explicit CudaModelPool (ContextRef context)
      : context_ (context), buffers_ (context), own_ (std::move (context))
  {
  }

  bool are_on_device_of (const DeviceFeatureImage &image) const override
  {
    return image.context ()->handle () == context_->handle ();
  }

  Expected<std::unique_ptr<DeviceModel>> make (const HostModel &from) override
  {
    const std::lock_guard lock (mutex_);
    if (is_full_)
      return error (Error::Kind::no_memory,
                    "the GPU has no memory for more targets: follow fewer targets");
    return with_context (*context_, [&] () -> Expected<std::unique_ptr<DeviceModel>> {
      if (!own_->stream)
        TRY (open ());
      auto model = std::make_unique<CudaModel> (context_);
      const auto opened = open (*model);
      is_full_ = !opened && opened.error ().kind == Error::Kind::no_memory;
      if (is_full_)
        GST_WARNING ("%s: the CPU follows further targets", opened.error ().message.c_str ());
      TRY (opened);
      TRY (write (from, *model));
      return model;
    });
  }

  Expected<std::unique_ptr<HostModel>> read (DeviceModel &from) override
  {
    const std::lock_guard lock (mutex_);
    const CudaModel &model = static_cast<CudaModel &> (from);
    const auto memory = std::make_unique<ModelMemory> ();
    TRY (with_context (*context_, [&] () -> CudaExpected<> {
      TRY (check (cudaMemcpyAsync (memory.get (), model.get (), sizeof *memory,
                                   cudaMemcpyDeviceToHost, stream ())));
      return check (cudaStreamSynchronize (stream ()));
    }));
    return host_model (model, *memory);
  }

  Expected<> run (const FrameTensors &frame, std::span<const DeviceRequest> targets) override
  {
    const std::lock_guard lock (mutex_);
    const CudaBatch counted (frame, targets);
    TRY (counted.check ());
    const auto ran = with_context (*context_, [&] () -> Expected<> {
      QueryLease lease = TRY (buffers_.lease ());
      QueryBuffers &buffers = *lease;
      TRY (reserve (counted));
      TRY (buffers.reserve (counted.input_bytes (), counted.answer_bytes (),
                            counted.answer_bytes ()));
      const CudaBatch batch (frame, targets, counted,
                             { buffers.host_inputs.get (), buffers.inputs.get (), own_->work.get (),
                               buffers.answers.get (), tables ()->values });
      TRY (check (cudaMemcpyAsync (buffers.inputs.get (), buffers.host_inputs.get (),
                                   batch.input_bytes (), cudaMemcpyHostToDevice, stream ())));
      TRY (enqueue_sums (frame, batch));
      TRY (enqueue_answers (batch, buffers));
      TRY (enqueue_learning (frame, batch));
      TRY (buffers.end (stream ()));
      for (DeviceFeatureImage *const image :
           { frame.gradient_image, frame.luma_image, frame.colour_image })
        TRY (image->add_reader (buffers.done.get ()));
      if (batch.answer_bytes () > 0) {
        TRY (await_answers ());
        batch.take_answers (buffers.host_answers.get ());
      }
      return {};
    });
    if (!ran)  // an example may be missing
      for (const DeviceRequest &target : targets)
        CudaModel::of (target).example_rate = 0;
    return ran;
  }

private:
  struct Resources {
    StreamOwner stream;
    EventOwner answered;
    DeviceMemory tables;
    // All batches share this memory, because their kernels run in the order of the stream.
    GrowingDeviceMemory work, scratch;

    ~Resources ()
    {
      if (stream)
        cudaStreamSynchronize (stream.get ());
    }
  };

  cudaStream_t stream () const { return own_->stream.get (); }
  ModelTables *tables () const { return reinterpret_cast<ModelTables *> (own_->tables.get ()); }

  /// Allocates a model on the GPU, unless too little memory would stay free.
  static Expected<> open (CudaModel &model)
  {
    // GPU memory that stays free: for the sums of cells, 0.2 MB per target, and for other uses
    constexpr std::size_t kSpareBytes = 256 << 20;
    std::size_t free = 0, total = 0;
    TRY (check (cudaMemGetInfo (&free, &total)));
    if (free >= kSpareBytes + sizeof (ModelMemory)) {
      const auto opened = model.open ();
      if (opened || opened.error ().code != cudaErrorMemoryAllocation) {
        TRY (opened);
        return {};
      }
    }
    return error (Error::Kind::no_memory, "the GPU has no memory for another target, which takes ",
                  sizeof (ModelMemory) / 1024, " KiB, besides ", kSpareBytes >> 20,
                  " MiB that stay free: follow fewer targets");
  }

  CudaExpected<> open ()
  {
    const ModelTables tables = make_tables ();
    own_->tables = TRY (make_device_memory (sizeof tables));
    own_->answered = TRY (make_event (cudaEventDisableTiming | cudaEventBlockingSync));
    TRY (check (cudaDeviceGetAttribute (&processors_, cudaDevAttrMultiProcessorCount,
                                        context_->device ())));
    StreamOwner stream = TRY (make_stream ());
    TRY (check (cudaMemcpyAsync (own_->tables.get (), &tables, sizeof tables,
                                 cudaMemcpyHostToDevice, stream.get ())));
    TRY (check (cudaStreamSynchronize (stream.get ())));
    own_->stream = std::move (stream);  // set last: a stream means that all resources exist
    return {};
  }

  /// Copies a model's learned state from the host to the GPU.
  CudaExpected<> write (const HostModel &from, CudaModel &to)
  {
    if (!from.filter.has_started ())
      return check (cudaMemsetAsync (to.get (), 0, sizeof (ModelMemory), stream ()));
    const auto memory = std::make_unique<ModelMemory> ();
    const auto copy = [] (auto &&values, auto *there) { std::ranges::copy (values, there); };
    to.box = from.filter.box ();
    copy (from.filter.spectra ().re, memory->weights);
    copy (from.filter.spectra ().im, memory->weights + kFilterNumbers);
    copy (to.box->wanted, memory->wanted);
    copy (to.box->inside, memory->inside);
    memory->energy = from.filter.energy ();
    if (from.example) {
      copy (from.example->spectra.re, memory->example);
      copy (from.example->spectra.im, memory->example + kFilterNumbers);
      to.example_rate = from.example->rate;
    }
    const SizeFilter::Learned &sizes = from.sizes.learned ();
    to.cells = sizes.cells;
    to.has_sizes = !sizes.denominator.empty ();
    copy (sizes.numerator.re, memory->numerator_re);
    copy (sizes.numerator.im, memory->numerator_im);
    copy (sizes.denominator, memory->denominator);
    memory->regularisation = sizes.regularisation;
    const ColourModel::Learned &colours = from.colours.learned ();
    copy (colours.target, memory->target_shares);
    copy (colours.background, memory->background_shares);
    copy (colours.scores, memory->scores);
    memory->has_colours = !colours.scores.empty ();
    TRY (check (cudaMemcpyAsync (to.get (), memory.get (), sizeof *memory, cudaMemcpyHostToDevice,
                                 stream ())));
    return check (cudaStreamSynchronize (stream ()));
  }

  static std::unique_ptr<HostModel> host_model (const CudaModel &model, const ModelMemory &memory)
  {
    auto to = std::make_unique<HostModel> ();
    const auto unpacked = [] (const FilterSpectrum &from) {
      ComplexArray spectra (kFilterNumbers);
      std::copy_n (from, kFilterNumbers, spectra.re.begin ());
      std::copy_n (from + kFilterNumbers, kFilterNumbers, spectra.im.begin ());
      return spectra;
    };
    if (model.box)
      to->filter.set (*model.box, unpacked (memory.weights), memory.energy);
    if (model.example_rate > 0)
      to->example = { unpacked (memory.example), model.example_rate };
    const std::size_t n = model.has_sizes ? std::size_t (kSizes * kOrientations)
                                                * std::size_t (model.cells.columns)
                                                * std::size_t (model.cells.rows)
                                          : 0;
    ComplexArray numerator (n);
    std::copy_n (memory.numerator_re, n, numerator.re.begin ());
    std::copy_n (memory.numerator_im, n, numerator.im.begin ());
    to->sizes.set ({ model.cells,
                     std::move (numerator),
                     { memory.denominator, memory.denominator + (n > 0 ? kSizes : 0) },
                     memory.regularisation });
    if (memory.has_colours)
      to->colours.set ({ { memory.target_shares, memory.target_shares + kMaxColourBins },
                         { memory.background_shares, memory.background_shares + kMaxColourBins },
                         { memory.scores, memory.scores + kMaxColourBins } });
    return to;
  }

  /// Reserves GPU memory for a batch, and a quarter more, so that later batches rarely allocate.
  Expected<> reserve (const CudaBatch &batch)
  {
    const auto reserve = [&] (GrowingDeviceMemory &memory, std::size_t bytes) -> Expected<> {
      if (bytes <= memory.bytes ())
        return {};
      TRY (check (cudaStreamSynchronize (stream ())));  // earlier batches may use it
      auto reserved = memory.reserve (bytes + bytes / 4);
      if (!reserved)
        reserved = memory.reserve (bytes);
      if (!reserved && reserved.error ().code == cudaErrorMemoryAllocation)
        return error (Error::Kind::no_memory,
                      no_memory_on_device ("the cells of all targets", reserved.error ()),
                      ": follow fewer targets");
      TRY (reserved);
      return {};
    };
    TRY (reserve (own_->work, batch.work_bytes ()));
    return reserve (own_->scratch, std::size_t (n_blocks (batch)) * sizeof (BlockScratch));
  }

  int n_blocks (const CudaBatch &batch) const { return std::min (batch.most_jobs (), processors_); }
  Scratch scratch (const CudaBatch &batch) const
  {
    return { reinterpret_cast<BlockScratch *> (own_->scratch.get ()), n_blocks (batch) };
  }

  /// Waits for answers. Polls only if the last answers came within the time for which a wait polls:
  /// with many video streams on one GPU, polling would only keep a CPU core busy.
  CudaExpected<> await_answers ()
  {
    const auto start = std::chrono::steady_clock::now ();
    TRY (await (own_->answered.get (),
                answers_take_long_ ? std::chrono::microseconds (0) : kAnswerPolling));
    answers_take_long_ = std::chrono::steady_clock::now () - start > kAnswerPolling;
    return {};
  }

  Expected<> enqueue_sums (const FrameTensors &frame, const CudaBatch &batch)
  {
    if (batch.n_grids () > 0)
      TRY (check (lay_out (batch.grid_jobs (), batch.n_grids (), batch.all_cells (), frame.width (),
                           frame.height (), frame.colour_image->lut (), stream ())));
    for (const auto &[image, which] :
         { std::pair (frame.gradient_image, kGradientCells),
           std::pair (frame.luma_image, kLumaCells), std::pair (frame.colour_image, kColourCells) })
      if (const CellGrids grids = batch.cells_of (which); grids.n > 0)
        TRY (image->add_up_cells_on (stream (), grids));
    return {};
  }

  /// Launches a kernel that needs scratch memory, if the batch has jobs for it.
  template <class Kernel, class Job>
  CudaExpected<> launch (Kernel &&kernel, const JobList<Job> &jobs, const CudaBatch &batch) const
  {
    if (jobs.empty ())
      return {};
    return check (kernel (jobs.on_device (), jobs.size (), tables (), scratch (batch), stream ()));
  }

  /// Enqueues the jobs with answers, and then records the event `answered`. Filters of sizes also
  /// learn here, because finding and learning sizes share a launch.
  CudaExpected<> enqueue_answers (const CudaBatch &batch, QueryBuffers &buffers)
  {
    TRY (launch (search, batch.searches, batch));
    if (!batch.frame_searches.empty ())
      TRY (check (search_frame (batch.frame_searches.on_device (), batch.frame_searches.size (),
                                stream ())));
    TRY (launch (find_or_learn_sizes, batch.sizes, batch));
    if (batch.answer_bytes () == 0)
      return {};
    TRY (check (cudaMemcpyAsync (buffers.host_answers.get (), buffers.answers.get (),
                                 batch.answer_bytes (), cudaMemcpyDeviceToHost, stream ())));
    return check (cudaEventRecord (own_->answered.get (), stream ()));
  }

  /// Enqueues the jobs for which the host does not wait: learning of filters and colours.
  Expected<> enqueue_learning (const FrameTensors &frame, const CudaBatch &batch)
  {
    TRY (launch (learn, batch.learners, batch));
    TRY (launch (make_examples, batch.examples, batch));
    if (batch.colours.empty ())
      return {};
    TRY (frame.colour_image->count_on (stream (), batch.windows.on_device (), batch.windows.size (),
                                       batch.counts));
    TRY (check (learn_colours (batch.colours.on_device (), batch.colours.size (),
                               frame.colour_image->shape ().bins, stream ())));
    return {};
  }

  const ContextRef context_;
  QueryBufferPool buffers_;
  std::mutex mutex_;  // guards the members below, and the order of work
  bool is_full_ = false;
  bool answers_take_long_ = false;
  int processors_ = 0;  // multiprocessors of the GPU
  InContext<Resources> own_;
};

}  // namespace

std::shared_ptr<DeviceModelPool> make_device_model_pool (const DeviceFeatureImage &image)
{
  return std::make_shared<CudaModelPool> (image.context ());
}

}  // namespace integralhist
