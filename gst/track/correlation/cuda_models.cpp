// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A call is one batch: all grids of cells that its requests need are laid out and added up in a few
// launches, whatever the stages; then each kind of job has a launch. Only answers are waited for.
// What comes after them, such as learning, runs while the host decides.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <gst/integralhist/base/tasks.hpp>
#include <gst/integralhist/cuda/cuda_error.hpp>
#include <gst/integralhist/cuda/cuda_event.hpp>
#include <gst/integralhist/cuda/query_buffers.hpp>

#include "device_models.hpp"
#include "frame_windows.hpp"

namespace integralhist {
namespace {

using namespace inthist::cuda;
using namespace inthist::correlation;
using namespace inthist::correlation::cuda;

class CudaModel final : public DeviceModel {
public:
  explicit CudaModel (Context context) : memory_ (std::move (context)) {}

  CudaExpected<> open ()
  {
    *memory_ = TRY (make_device_memory (sizeof (ModelMemory)));
    return {};
  }
  /// Nothing here may be read by the host.
  ModelMemory *get () const { return reinterpret_cast<ModelMemory *> (memory_->get ()); }

  // What the host knows of it.
  std::optional<FilterBox> box;  // of the filter, which has started in it
  SizeCells cells;
  bool has_sizes = false;   // learned from a sample
  double example_rate = 0;  // of the example that the filter learns from next; 0 for none

private:
  InContext<DeviceMemory> memory_;
};

CudaModel &cuda_model (DeviceModel &model)
{
  return static_cast<CudaModel &> (model);
}

/// Arrays side by side, each aligned. Their places are known before there is memory for all.
class ArrayPlan {
public:
  std::size_t add (std::size_t bytes)
  {
    const std::size_t at = bytes_;
    bytes_ = inthist::round_up (bytes_ + bytes, std::size_t (16));
    return at;
  }
  template <class T>
  std::size_t add (std::size_t n)
  {
    return add (n * sizeof (T));
  }
  std::size_t bytes () const { return bytes_; }

private:
  std::size_t bytes_ = 0;
};

/// Memory with arrays that an ArrayPlan has placed.
struct Memory {
  std::byte *begin;

  template <class T>
  T *at (std::size_t offset) const
  {
    return reinterpret_cast<T *> (begin + offset);
  }
};

/// A grid of a batch, and where its arrays will be in the work memory.
struct PlannedGrid {
  CellGrid grid;
  bool whole_pixels;
  const ModelMemory *colours;
  std::size_t x, y, value_weights, sums;
};

/// The images of a frame: grids of each are laid out side by side.
enum Image : std::size_t { kGradients, kLuma, kColours, kImages };

/// What a batch enqueues. Offsets of answers and inputs are from the begin of all.
struct Batch {
  struct Squares {
    std::size_t gradients, luma;  // numbers of grids
    CellScale scale;
  };
  struct Search {
    const DeviceQuery *query;
    Spot middle;
    Squares square;
    std::size_t scores, score_sums, match;
  };
  struct FrameSearch {
    const DeviceQuery *query;
    FrameWindows windows;
    std::size_t n_x, n_y, scores, score_sums, means, x, y, spots;
  };
  struct Example {
    const DeviceQuery *query;
    Squares square;
    std::vector<std::complex<double>> phase_factors;
    std::optional<FilterBox> start;
    std::size_t phase_factors_at, wanted, inside;
  };
  struct Sizes {
    const DeviceQuery *query;
    Place place;
    std::size_t grids, response;  // the number of the first grid
    bool find;
  };

  std::array<std::vector<PlannedGrid>, kImages> grids;
  std::vector<Search> searches;
  std::vector<FrameSearch> frame_searches;
  std::vector<Example> examples;
  std::vector<Sizes> sizes;
  std::vector<LearnJob> learn;
  std::vector<ColoursJob> colours;  // but for the counts
  std::vector<inthist::Region> windows;
  ArrayPlan work, inputs, answers;

  bool has_answers () const { return answers.bytes () > 0; }
};

/// Plans the batch of some requests.
class BatchPlanner {
public:
  explicit BatchPlanner (const FrameTensors &frame)
      : frame_ (frame), width_ (frame.width ()), height_ (frame.height ()),
        luma_planes_ (std::size_t (frame.luma_image->shape ().bins))
  {
  }

  void add (const DeviceQuery &query)
  {
    ModelRequest &request = *query.request;
    CudaModel &model = cuda_model (*query.model);
    const Place &place = request.place;
    switch (request.stage) {
      case Stage::done: break;
      case Stage::start:
        if (request.new_sizes) {
          model.cells = SizeCells::of (place.width, place.height);
          model.has_sizes = false;
        }
        model.example_rate = 0;
        add_example (query, { place.x, place.y }, {}, filter_box (place));
        add_sizes (query, place, false);
        add_colours (model, place, 1);
        break;
      case Stage::search:
      case Stage::search_elsewhere:
        for (const Spot &middle : request.middles)
          add_search (query, middle);
        if (request.whole_frame)
          add_frame_search (query);
        if (request.stage == Stage::search && model.example_rate > 0)
          batch.learn.push_back ({ model.get (), std::exchange (model.example_rate, 0) });
        break;
      case Stage::learn_place:
        add_example (query, request.shift ? request.searched : Spot{ place.x, place.y },
                     request.shift, {});
        add_colours (model, place, request.rate);
        model.example_rate = request.rate;
        break;
      case Stage::find_size: add_sizes (query, place, true); break;
      case Stage::learn_size:
        add_sizes (query, request.factor ? request.sampled : place, false);
        add_colours (model, place, request.rate);
        break;
    }
  }

  Batch batch;

private:
  /// Adds a grid to those of an image. Returns its number there.
  std::size_t add_grid (Image image, const CellGrid &grid, std::size_t planes,
                        const ModelMemory *colours = nullptr)
  {
    ArrayPlan &work = batch.work;
    batch.grids[image].push_back (
        { grid, colours != nullptr, colours, work.add<int> (std::size_t (grid.columns) + 1),
          work.add<int> (std::size_t (grid.rows) + 1), colours ? work.add<std::uint16_t> (256) : 0,
          work.add<std::int64_t> (grid.size () * planes) });
    return batch.grids[image].size () - 1;
  }
  Batch::Squares add_square (const Spot &middle, double side)
  {
    const CellGrid square = square_around (middle.x, middle.y, side);
    return { add_grid (kGradients, square, kDirections), add_grid (kLuma, square, luma_planes_),
             cell_scale_of (frame_, square) };
  }
  /// Adds the sums of scores at the corners of a grid.
  std::size_t add_score_sums (const CellGrid &grid)
  {
    return batch.work.add<double> (std::size_t (grid.columns + 1) * std::size_t (grid.rows + 1));
  }
  void add_search (const DeviceQuery &query, const Spot &middle)
  {
    const CellGrid cells = score_cells (query.request->place, middle);
    batch.searches.push_back ({ &query, middle, add_square (middle, query.request->place.side ()),
                                add_grid (kColours, cells, 1, cuda_model (*query.model).get ()),
                                add_score_sums (cells), batch.answers.add<Match> (1) });
  }
  void add_frame_search (const DeviceQuery &query)
  {
    const FrameWindows windows = FrameWindows::of (query.request->place, width_, height_);
    const std::size_t n_x = windows.x ().size (), n_y = windows.y ().size ();
    batch.frame_searches.push_back (
        { &query, windows, n_x, n_y,
          add_grid (kColours, windows.cells, 1, cuda_model (*query.model).get ()),
          add_score_sums (windows.cells), batch.work.add<double> (n_x * n_y),
          batch.work.add<double> (n_x), batch.work.add<double> (n_y),
          batch.answers.add<Spot> (kMaxSpots) });
  }
  void add_example (const DeviceQuery &query, const Spot &middle,
                    const std::optional<CellShift> &shift, std::optional<FilterBox> start)
  {
    Batch::Example example = {
      &query, add_square (middle, query.request->place.side ()), {}, std::move (start), 0, 0, 0
    };
    if (shift)
      example.phase_factors = phase_factors (shift->right, shift->down);
    example.phase_factors_at =
        batch.inputs.add<std::complex<double>> (example.phase_factors.size ());
    if (example.start) {
      example.wanted = batch.inputs.add<float> (kFrequencies);
      example.inside = batch.inputs.add<float> (kFilterCells);
    }
    batch.examples.push_back (std::move (example));
  }
  void add_sizes (const DeviceQuery &query, const Place &place, bool find)
  {
    std::size_t first = batch.grids[kGradients].size ();
    for (const CellGrid &grid : cuda_model (*query.model).cells.grids (place))
      add_grid (kGradients, grid, kDirections);
    batch.sizes.push_back (
        { &query, place, first, find ? batch.answers.add<double> (kSizes) : 0, find });
  }
  void add_colours (CudaModel &model, const Place &place, double rate)
  {
    for (const GstVideoRectangle &box : ColourModel::boxes (place)) {
      const int x0 = std::clamp (box.x, 0, width_), y0 = std::clamp (box.y, 0, height_);
      batch.windows.push_back ({ x0, y0, std::clamp (box.x + box.w, x0, width_) - x0,
                                 std::clamp (box.y + box.h, y0, height_) - y0 });
    }
    batch.colours.push_back ({ model.get (), nullptr, rate });
  }

  const FrameTensors &frame_;
  const int width_, height_;
  const std::size_t luma_planes_;
};

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

class CudaModels final : public DeviceModels {
public:
  explicit CudaModels (Context context)
      : context_ (context), buffers_ (context), own_ (std::move (context))
  {
  }

  bool are_with (const DeviceFeatureImage &image) const override
  {
    return image.context ()->handle () == context_->handle ();
  }

  Expected<std::unique_ptr<DeviceModel>> make (const HostModel &from) override
  {
    const std::lock_guard lock (mutex_);
    if (is_full_)
      return error (Error::Kind::no_memory, "the GPU has no memory for more targets");
    return on (*context_, [&] () -> Expected<std::unique_ptr<DeviceModel>> {
      if (!own_->stream)
        TRY (open ());
      auto model = std::make_unique<CudaModel> (context_);
      const auto opened = model->open ();
      is_full_ = !opened && opened.error ().code == cudaErrorMemoryAllocation;
      TRY (opened);
      TRY (write (from, *model));
      return model;
    });
  }

  Expected<std::unique_ptr<HostModel>> read (DeviceModel &from) override
  {
    const std::lock_guard lock (mutex_);
    const CudaModel &model = cuda_model (from);
    const auto memory = std::make_unique<ModelMemory> ();
    TRY (on (*context_, [&] () -> CudaExpected<> {
      TRY (check (cudaMemcpyAsync (memory.get (), model.get (), sizeof *memory,
                                   cudaMemcpyDeviceToHost, stream ())));
      return check (cudaStreamSynchronize (stream ()));
    }));
    return host_model (model, *memory);
  }

  Expected<> run (const FrameTensors &frame, std::span<const DeviceQuery> queries) override
  {
    BatchPlanner planner (frame);
    for (const DeviceQuery &query : queries)
      planner.add (query);
    const Batch &batch = planner.batch;
    TRY (check_grids (batch, frame.gradient_image->shape ().bins));
    const std::lock_guard lock (mutex_);
    return on (*context_, [&] () -> Expected<> {
      QueryLease lease = TRY (buffers_.lease ());
      TRY (enqueue (frame, batch, *lease));
      for (DeviceFeatureImage *const image :
           { frame.gradient_image, frame.luma_image, frame.colour_image })
        TRY (image->add_reader (stream ()));
      TRY (lease->end (stream ()));
      if (batch.has_answers ()) {
        TRY (await (own_->answered.get (), kAnswerPolling));
        take_answers (batch, lease->host_answers.get ());
      }
      return {};
    });
  }

private:
  struct Resources {
    StreamOwner stream;
    EventOwner answered;
    DeviceMemory tables;
    // Kernels use both in the order of the stream.
    GrowingDeviceMemory work, scratch;

    ~Resources ()
    {
      if (stream)
        cudaStreamSynchronize (stream.get ());
    }
  };

  cudaStream_t stream () const { return own_->stream.get (); }
  const ModelTables *tables () const
  {
    return reinterpret_cast<const ModelTables *> (own_->tables.get ());
  }
  BlockScratch *scratch () const { return reinterpret_cast<BlockScratch *> (own_->scratch.get ()); }

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
    own_->stream = std::move (stream);  // says that all is there
    return {};
  }

  /// Copies what a model has learned; a new one has learned nothing.
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
    to.cells = from.sizes.cells ();
    to.has_sizes = !from.sizes.denominator ().empty ();
    copy (from.sizes.numerator ().re, memory->numerator_re);
    copy (from.sizes.numerator ().im, memory->numerator_im);
    copy (from.sizes.denominator (), memory->denominator);
    memory->regular = from.sizes.regular ();
    copy (from.colours.target_shares (), memory->target_shares);
    copy (from.colours.around_shares (), memory->around_shares);
    copy (from.colours.scores (), memory->scores);
    memory->has_colours = !from.colours.scores ().empty ();
    TRY (check (cudaMemcpyAsync (to.get (), memory.get (), sizeof *memory, cudaMemcpyHostToDevice,
                                 stream ())));
    return check (cudaStreamSynchronize (stream ()));
  }

  static std::unique_ptr<HostModel> host_model (const CudaModel &model, const ModelMemory &memory)
  {
    auto to = std::make_unique<HostModel> ();
    const auto unpacked = [] (const FilterSpectrum &from) {
      Complexes spectra (kFilterNumbers);
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
    Complexes numerator (n);
    std::copy_n (memory.numerator_re, n, numerator.re.begin ());
    std::copy_n (memory.numerator_im, n, numerator.im.begin ());
    to->sizes.set (model.cells, std::move (numerator),
                   { memory.denominator, memory.denominator + (n > 0 ? kSizes : 0) },
                   memory.regular);
    if (memory.has_colours)
      to->colours.set ({ memory.target_shares, memory.target_shares + 256 },
                       { memory.around_shares, memory.around_shares + 256 },
                       { memory.scores, memory.scores + 256 });
    return to;
  }

  /// Refuses grids that have too many cells for the kernels, or too large ones: only frames of more
  /// than 8192 pixels each way have some.
  static Expected<> check_grids (const Batch &batch, int directions)
  {
    for (std::size_t image = 0; image < kImages; image++)
      for (const PlannedGrid &of : batch.grids[image])
        if (of.grid.columns * (image == kGradients ? directions : 1) > kMaxCellSums
            || of.grid.width + 1 > inthist::cpu::kMaxCellColumns)
          return error (Error::Kind::failed, "a target has too many cells for the GPU");
    return {};
  }

  /// Enqueues a batch, and records `answered` behind the answers. The buffers get its jobs and its
  /// answers.
  Expected<> enqueue (const FrameTensors &frame, const Batch &batch, QueryBuffers &at)
  {
    const std::size_t n_most = std::max ({ batch.searches.size (), batch.examples.size (),
                                           batch.sizes.size (), batch.learn.size () }),
                      n_scratch = std::min (n_most, std::size_t (processors_));
    std::size_t n_grids = 0;
    for (const auto &grids : batch.grids)
      n_grids += grids.size ();
    ArrayPlan work = batch.work, inputs = batch.inputs;
    const std::size_t bins = std::size_t (frame.colour_image->shape ().bins),
                      cells = work.add<CellsOnDevice> (n_grids),
                      counts = work.add<std::uint32_t> (batch.windows.size () * bins),
                      grid_jobs = inputs.add<GridJob> (n_grids),
                      windows = inputs.add<inthist::Region> (batch.windows.size ()),
                      searches = inputs.add<SearchJob> (batch.searches.size ()),
                      frame_searches = inputs.add<SpotJob> (batch.frame_searches.size ()),
                      examples = inputs.add<ExampleJob> (batch.examples.size ()),
                      sizes = inputs.add<SizesJob> (batch.sizes.size ()),
                      learn_jobs = inputs.add<LearnJob> (batch.learn.size ()),
                      colours = inputs.add<ColoursJob> (batch.colours.size ());
    TRY (reserve (own_->work, work.bytes (), n_most));
    TRY (reserve (own_->scratch, n_scratch * sizeof (BlockScratch), n_most));
    TRY (at.reserve (inputs.bytes (), batch.answers.bytes (), batch.answers.bytes ()));

    const Memory in_work = { own_->work.get () }, in_inputs = { at.inputs.get () },
                 in_answers = { at.answers.get () }, here = { at.host_inputs.get () };
    CellsOnDevice *const all_cells = in_work.at<CellsOnDevice> (cells);
    std::array<const CellsOnDevice *, kImages> cells_of;
    GridJob *grid_job = here.at<GridJob> (grid_jobs);
    {
      std::size_t first = 0;
      for (std::size_t image = 0; image < kImages; image++) {
        cells_of[image] = all_cells + first;
        first += batch.grids[image].size ();
        for (const PlannedGrid &grid : batch.grids[image])
          *grid_job++ = { .grid = grid.grid,
                          .whole_pixels = grid.whole_pixels,
                          .x = in_work.at<int> (grid.x),
                          .y = in_work.at<int> (grid.y),
                          .colours = grid.colours,
                          .value_weights = image == kColours
                                               ? in_work.at<std::uint16_t> (grid.value_weights)
                                               : const_cast<std::uint16_t *> (tables ()->values),
                          .sums = in_work.at<std::int64_t> (grid.sums) };
      }
    }
    const int luma_planes = frame.luma_image->shape ().bins;
    const auto square = [&] (const Batch::Squares &of) {
      return SquareCells{ cells_of[kGradients] + of.gradients, cells_of[kLuma] + of.luma,
                          luma_planes, of.scale };
    };
    SearchJob *search_job = here.at<SearchJob> (searches);
    for (const Batch::Search &search : batch.searches) {
      const ModelRequest &request = *search.query->request;
      *search_job++ = { .model = cuda_model (*search.query->model).get (),
                        .square = square (search.square),
                        .scores = cells_of[kColours] + search.scores,
                        .score_sums = in_work.at<double> (search.score_sums),
                        .x = search.middle.x,
                        .y = search.middle.y,
                        .cell = request.place.cell (),
                        .width = request.place.width,
                        .height = request.place.height,
                        .weights = shift_weights (request),
                        .has_motion = request.reach > 0,
                        .per_peak = request.per_peak,
                        .match = in_answers.at<Match> (search.match) };
    }
    SpotJob *spot_job = here.at<SpotJob> (frame_searches);
    for (const Batch::FrameSearch &search : batch.frame_searches) {
      const Place &place = search.query->request->place;
      *spot_job++ = { .scores = cells_of[kColours] + search.scores,
                      .score_sums = in_work.at<double> (search.score_sums),
                      .means = in_work.at<double> (search.means),
                      .x = in_work.at<double> (search.x),
                      .y = in_work.at<double> (search.y),
                      .n_x = int (search.n_x),
                      .n_y = int (search.n_y),
                      .first_x = search.windows.first_x,
                      .first_y = search.windows.first_y,
                      .step_x = search.windows.cells.width,
                      .step_y = search.windows.cells.height,
                      .width = place.width,
                      .height = place.height,
                      .apart = spot_distance (place),
                      .spots = in_answers.at<Spot> (search.spots) };
    }
    ExampleJob *example_job = here.at<ExampleJob> (examples);
    for (const Batch::Example &example : batch.examples) {
      const auto put = [&]<class T> (const std::vector<T> &numbers, std::size_t offset) {
        std::ranges::copy (numbers, here.at<T> (offset));
        return in_inputs.at<T> (offset);
      };
      CudaModel &model = cuda_model (*example.query->model);
      ExampleJob job = { .model = model.get (),
                         .square = square (example.square),
                         .phase_factors = nullptr,
                         .wanted = nullptr,
                         .inside = nullptr,
                         .kept = example.query->request->kept };
      if (!example.phase_factors.empty ())
        job.phase_factors = reinterpret_cast<const double *> (
            put (example.phase_factors, example.phase_factors_at));
      if (example.start) {
        job.wanted = put (example.start->wanted, example.wanted);
        job.inside = put (example.start->inside, example.inside);
        model.box = example.start;
      }
      *example_job++ = job;
    }
    SizesJob *sizes_job = here.at<SizesJob> (sizes);
    for (const Batch::Sizes &of : batch.sizes)
      *sizes_job++ = job_of_sizes (frame, of, cells_of[kGradients] + of.grids,
                                   of.find ? in_answers.at<double> (of.response) : nullptr);
    std::ranges::copy (batch.learn, here.at<LearnJob> (learn_jobs));
    std::ranges::copy (batch.windows, here.at<inthist::Region> (windows));
    ColoursJob *colours_job = here.at<ColoursJob> (colours);
    const std::uint32_t *next_counts = in_work.at<std::uint32_t> (counts);
    for (const ColoursJob &of : batch.colours) {
      *colours_job = of;
      colours_job++->counts = next_counts;
      next_counts += kColourBoxes * bins;
    }

    TRY (check (cudaMemcpyAsync (at.inputs.get (), at.host_inputs.get (), inputs.bytes (),
                                 cudaMemcpyHostToDevice, stream ())));
    if (n_grids > 0)
      TRY (
          check (lay_out (in_inputs.at<const GridJob> (grid_jobs), int (n_grids), all_cells,
                          frame.width (), frame.height (), frame.colour_image->lut (), stream ())));
    TRY (add_up (*frame.gradient_image, batch.grids[kGradients], cells_of[kGradients]));
    TRY (add_up (*frame.luma_image, batch.grids[kLuma], cells_of[kLuma]));
    TRY (add_up (*frame.colour_image, batch.grids[kColours], cells_of[kColours]));
    const auto n_of = [] (const auto &jobs) { return int (jobs.size ()); };
    const int blocks = int (n_scratch);
    if (!batch.searches.empty ())
      TRY (check (search (in_inputs.at<const SearchJob> (searches), n_of (batch.searches),
                          tables (), scratch (), blocks, stream ())));
    if (!batch.frame_searches.empty ())
      TRY (check (find_spots (in_inputs.at<const SpotJob> (frame_searches),
                              n_of (batch.frame_searches), stream ())));
    if (!batch.sizes.empty ())
      TRY (check (find_or_learn_sizes (in_inputs.at<const SizesJob> (sizes), n_of (batch.sizes),
                                       tables (), scratch (), blocks, stream ())));
    if (batch.has_answers ()) {
      TRY (check (cudaMemcpyAsync (at.host_answers.get (), at.answers.get (),
                                   batch.answers.bytes (), cudaMemcpyDeviceToHost, stream ())));
      TRY (check (cudaEventRecord (own_->answered.get (), stream ())));
    }
    if (!batch.learn.empty ())
      TRY (check (learn (in_inputs.at<const LearnJob> (learn_jobs), n_of (batch.learn), tables (),
                         scratch (), blocks, stream ())));
    if (!batch.examples.empty ())
      TRY (check (make_examples (in_inputs.at<const ExampleJob> (examples), n_of (batch.examples),
                                 tables (), scratch (), blocks, stream ())));
    if (!batch.colours.empty ()) {
      TRY (frame.colour_image->count_on (stream (), in_inputs.at<const inthist::Region> (windows),
                                         n_of (batch.windows), in_work.at<std::uint32_t> (counts)));
      TRY (check (learn_colours (in_inputs.at<const ColoursJob> (colours), n_of (batch.colours),
                                 int (bins), stream ())));
    }
    return {};
  }

  SizesJob job_of_sizes (const FrameTensors &frame, const Batch::Sizes &of,
                         const CellsOnDevice *grids, double *response) const
  {
    CudaModel &model = cuda_model (*of.query->model);
    const ModelRequest &request = *of.query->request;
    SizesJob job = { .model = model.get (),
                     .grids = grids,
                     .columns = model.cells.columns,
                     .rows = model.cells.rows,
                     .scales = {},
                     .response = response,
                     .mixed_share = 0,
                     .larger = false,
                     .rate = 0 };
    float *scale = job.scales;
    for (const CellGrid &grid : model.cells.grids (of.place))
      *scale++ = cell_scale_of (frame, grid).per_length;
    if (of.find)
      return job;
    job.rate =
        model.has_sizes ? float (request.stage == Stage::start ? 1 : request.rate) * kSizeRate : 1;
    model.has_sizes = true;
    if (request.stage == Stage::learn_size && request.factor) {
      const double sizes = *sizes_in (*request.factor);
      job.mixed_share = float (std::fabs (sizes));
      job.larger = sizes > 0;
    }
    return job;
  }

  /// Enqueues the sums of cells.
  Expected<> add_up (DeviceFeatureImage &image, std::span<const PlannedGrid> grids,
                     const CellsOnDevice *cells)
  {
    if (grids.empty ())
      return {};
    CellGrids all = { cells, int (grids.size ()), 0, 0 };
    for (const PlannedGrid &of : grids) {
      all.most_columns = std::max (all.most_columns, of.grid.columns);
      all.most_rows = std::max (all.most_rows, of.grid.rows);
    }
    return image.add_up_cells_on (stream (), all);
  }

  /// Has at least so much memory, and some more for the next frames.
  static Expected<> reserve (GrowingDeviceMemory &memory, std::size_t bytes, std::size_t targets)
  {
    if (bytes <= memory.bytes ())
      return {};
    const auto reserved = memory.reserve (bytes + bytes / 4);
    if (!reserved && reserved.error ().code == cudaErrorMemoryAllocation)
      return error (
          Error::Kind::no_memory,
          no_memory_on_device (joined ("the sums of ", targets, " targets"), reserved.error ()),
          ": follow fewer targets");
    TRY (reserved);
    return {};
  }

  static void take_answers (const Batch &batch, const std::byte *answers)
  {
    for (const Batch::Search &search : batch.searches)
      search.query->request->matches.clear ();
    for (const Batch::Search &search : batch.searches) {
      search.query->request->spots.clear ();
      search.query->request->matches.push_back (
          *reinterpret_cast<const Match *> (answers + search.match));
    }
    for (const Batch::FrameSearch &search : batch.frame_searches) {
      const auto *const spots = reinterpret_cast<const Spot *> (answers + search.spots);
      for (int i = 0; i < kMaxSpots && !std::isnan (spots[i].x); i++)
        search.query->request->spots.push_back (spots[i]);
    }
    for (const Batch::Sizes &sizes : batch.sizes)
      if (sizes.find)
        sizes.query->request->size_factor = size_factor_of (
            { reinterpret_cast<const double *> (answers + sizes.response), kSizes });
  }

  const Context context_;
  QueryBufferPool buffers_;
  std::mutex mutex_;  // guards all below, and the order of what is done to models
  bool is_full_ = false;
  int processors_ = 0;  // of the GPU: so many blocks of threads work at once
  InContext<Resources> own_;
};

}  // namespace

std::shared_ptr<DeviceModels> make_device_models (const DeviceFeatureImage &image)
{
  return std::make_shared<CudaModels> (image.context ());
}

}  // namespace integralhist
