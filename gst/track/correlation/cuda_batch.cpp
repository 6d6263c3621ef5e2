// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cuda_batch.hpp"

#include <cmath>
#include <complex>

namespace integralhist {

using namespace inthist::correlation;
using namespace inthist::correlation::cuda;

CudaBatch::CudaBatch (const FrameTensors &frame, std::span<const DeviceRequest> targets)
    : frame_ (frame), width_ (frame.width ()), height_ (frame.height ()),
      bins_ (frame.colour_image->shape ().bins)
{
  for (const DeviceRequest &target : targets) {
    CudaModel::of (target).begin (*target.request);
    add (target);
  }
  take_lists (*this);
}

CudaBatch::CudaBatch (const FrameTensors &frame, std::span<const DeviceRequest> targets,
                      const CudaBatch &counted, const BatchMemory &memory)
    : frame_ (frame), width_ (frame.width ()), height_ (frame.height ()), bins_ (counted.bins_),
      memory_ (memory), inputs_ (memory.host_inputs), work_ (memory.work), answers_ (memory.answers)
{
  take_lists (counted);
  for (const DeviceRequest &target : targets) {
    add (target);
    CudaModel::of (target).end (*target.request);
  }
}

/// Takes the memory of all grids and of the lists of jobs, as many as `counted` has.
void CudaBatch::take_lists (const CudaBatch &counted)
{
  for (std::size_t image = 0; image < kCellImages; image++)
    first_[image + 1] = first_[image] + counted.grids_[image].n;
  grid_jobs_ = inputs_.take<GridJob> (std::size_t (n_grids ()));
  cells_ = work_.take<CellsOnDevice> (std::size_t (n_grids ()));
  const auto take = [&] (auto &list, int n) { list.take (inputs_, n, memory_); };
  take (searches, counted.searches.size ());
  take (frame_searches, counted.frame_searches.size ());
  take (examples, counted.examples.size ());
  take (sizes, counted.sizes.size ());
  take (learners, counted.learners.size ());
  take (colours, counted.colours.size ());
  take (windows, counted.windows.size ());
  counts = work_.take<guint32> (std::size_t (counted.windows.size ()) * std::size_t (bins_));
}

void CudaBatch::add (const DeviceRequest &target)
{
  const ModelRequest &request = *target.request;
  const CudaModel &model = CudaModel::of (target);
  const CentreBox &box = request.box;
  switch (request.stage) {
    case Stage::done: break;
    case Stage::start:
      add_example (target, { box.x, box.y }, nullptr, true);
      add_size_learning (target, 1, {});
      add_colours (target, 1);
      break;
    case Stage::search:
    case Stage::search_elsewhere:
      for (const Centre &middle : request.middles)
        add_search (target, middle);
      if (request.whole_frame)
        add_frame_search (target);
      if (request.stage == Stage::search && model.example_rate > 0)
        learners.add ([&] { return LearnJob{ model.get (), model.example_rate }; });
      break;
    case Stage::learn_filter:
      add_example (target, request.shift ? request.searched_centre : Centre{ box.x, box.y },
                   request.shift ? &*request.shift : nullptr, false);
      add_colours (target, request.rate);
      break;
    case Stage::find_size: add_size_search (target); break;
    case Stage::learn_size:
      add_size_learning (target, request.rate, request.factor);
      add_colours (target, request.rate);
      break;
  }
}

/// Adds a grid of cells of an image, and returns its address on the GPU. Cells of colours sum up
/// the scores of `model`, which is null for other images.
const CellsOnDevice *CudaBatch::add_grid (CellImage image, const CellGrid &grid, int planes,
                                          const ModelMemory *model)
{
  Grids &grids = grids_[image];
  const std::size_t index = std::size_t (first_[image] + grids.n++);
  grids.most_columns = std::max (grids.most_columns, grid.columns);
  grids.most_rows = std::max (grids.most_rows, grid.rows);
  grids.most_sums = std::max (grids.most_sums, grid.columns * planes);
  grids.widest = std::max (grids.widest, std::min (grid.width, double (width_)));
  int *const x = work_.take<int> (std::size_t (grid.columns) + 1);
  int *const y = work_.take<int> (std::size_t (grid.rows) + 1);
  auto *const value_weights = model ? work_.take<std::uint16_t> (256) : nullptr;
  auto *const sums = work_.take<std::int64_t> (grid.size () * std::size_t (planes));
  if (!writes ())
    return nullptr;
  grid_jobs_[index] = { .grid = grid,
                        .whole_pixels = model != nullptr,
                        .x = x,
                        .y = y,
                        .colours = model,
                        .value_weights = image == kLumaCells ? memory_.luma_values : value_weights,
                        .sums = sums };
  return cells_ + index;
}

CudaBatch::SquareCells CudaBatch::add_square (const Centre &middle, double side)
{
  const CellGrid square = square_around (middle.x, middle.y, side);
  const int luma_planes = frame_.luma_image->shape ().bins;
  return { add_grid (kGradientCells, square, kDirections),
           add_grid (kLumaCells, square, luma_planes), luma_planes,
           cell_factors_of (frame_, square) };
}

/// Reserves GPU memory for `n` items that answer a request, and lists them for take_answers ().
template <class T>
T *CudaBatch::take_answer (std::vector<Answer> &list, const DeviceRequest &target, std::size_t n)
{
  if (writes ())
    list.push_back ({ target.request, answers_.bytes () });
  return answers_.take<T> (n);
}

void CudaBatch::add_search (const DeviceRequest &target, const Centre &middle)
{
  const ModelRequest &request = *target.request;
  const CentreBox &box = request.box;
  const CellGrid cells = score_cells (box, middle);
  const ModelMemory *const model = CudaModel::of (target).get ();
  const SquareCells square = add_square (middle, box.side ());
  const CellsOnDevice *const scores = add_grid (kColourCells, cells, 1, model);
  auto *const score_sums =
      work_.take<double> (std::size_t (cells.columns + 1) * std::size_t (cells.rows + 1));
  Match *const match = take_answer<Match> (matches_, target, 1);
  searches.add ([&] {
    return SearchJob{ .model = model,
                      .square = square,
                      .scores = scores,
                      .score_sums = score_sums,
                      .x = middle.x,
                      .y = middle.y,
                      .cell = box.cell (),
                      .width = box.width,
                      .height = box.height,
                      .weights = shift_weights (request),
                      .has_motion = request.spread > 0,
                      .per_peak = request.per_peak,
                      .match = match };
  });
}

void CudaBatch::add_frame_search (const DeviceRequest &target)
{
  const CentreBox &box = target.request->box;
  const FrameWindows windows = FrameWindows::of (box, width_, height_);
  const CellGrid &cells = windows.cells;
  const std::size_t n_x = windows.x ().size (), n_y = windows.y ().size ();
  const CellsOnDevice *const scores =
      add_grid (kColourCells, cells, 1, CudaModel::of (target).get ());
  auto *const score_sums =
      work_.take<double> (std::size_t (cells.columns + 1) * std::size_t (cells.rows + 1));
  auto *const means = work_.take<double> (n_x * n_y), *const x = work_.take<double> (n_x),
              *const y = work_.take<double> (n_y);
  auto *const columns = work_.take<EdgeRange> (n_x), *const rows = work_.take<EdgeRange> (n_y);
  Centre *const candidates = take_answer<Centre> (candidates_, target, kMaxCandidates);
  frame_searches.add ([&] {
    return FrameSearchJob{ .scores = scores,
                           .score_sums = score_sums,
                           .means = means,
                           .x = x,
                           .y = y,
                           .columns = columns,
                           .rows = rows,
                           .n_x = int (n_x),
                           .n_y = int (n_y),
                           .first_x = windows.first_x,
                           .first_y = windows.first_y,
                           .step_x = cells.width,
                           .step_y = cells.height,
                           .width = box.width,
                           .height = box.height,
                           .min_distance = candidate_distance (box),
                           .candidates = candidates };
  });
}

void CudaBatch::add_example (const DeviceRequest &target, const Centre &middle,
                             const CellShift *shift, bool starts)
{
  const CentreBox &box = target.request->box;
  const SquareCells square = add_square (middle, box.side ());
  auto *const factors = inputs_.take<std::complex<double>> (shift ? kHalf + kGrid : 0);
  float *const wanted = inputs_.take<float> (starts ? kFrequencies : 0);
  float *const inside = inputs_.take<float> (starts ? kFilterCells : 0);
  examples.add ([&] {
    CudaModel &model = CudaModel::of (target);
    if (shift)
      std::ranges::copy (phase_factors (shift->right, shift->down), factors);
    if (starts) {
      model.box = filter_box (box);
      std::ranges::copy (model.box->wanted, wanted);
      std::ranges::copy (model.box->inside, inside);
    }
    const auto *const factor_numbers = reinterpret_cast<const double *> (factors);
    return ExampleJob{ .model = model.get (),
                       .square = square,
                       .phase_factors = shift ? memory_.on_device (factor_numbers) : nullptr,
                       .wanted = starts ? memory_.on_device (wanted) : nullptr,
                       .inside = starts ? memory_.on_device (inside) : nullptr,
                       .kept_share = target.request->kept_share };
  });
}

/// Makes a job for the size of a target, from a sample of `box`, whose cells are added to the
/// batch. If `box` is null, the job uses the last sample.
SizeFilterJob CudaBatch::size_job (const CudaModel &model, const CentreBox *box)
{
  SizeFilterJob job{};
  job.model = model.get ();
  job.columns = model.cells.columns;
  job.rows = model.cells.rows;
  if (box) {
    float *factor = job.factors;
    for (const CellGrid &grid : model.cells.grids (*box)) {
      const CellsOnDevice *const cells = add_grid (kGradientCells, grid, kDirections);
      if (!job.grids)
        job.grids = cells;
      *factor++ = cell_factors_of (frame_, grid).per_length;
    }
  }
  return job;
}

void CudaBatch::add_size_search (const DeviceRequest &target)
{
  SizeFilterJob job = size_job (CudaModel::of (target), &target.request->box);
  job.response = take_answer<double> (responses_, target, kSizes);
  sizes.add ([&] { return job; });
}

/// Adds a job that learns a target's size from its box, or with a `factor` from the last sample,
/// enlarged by it.
void CudaBatch::add_size_learning (const DeviceRequest &target, double rate,
                                   std::optional<double> factor)
{
  const CudaModel &model = CudaModel::of (target);
  SizeFilterJob job = size_job (model, factor ? nullptr : &target.request->box);
  sizes.add ([&] {
    job.rate = model.has_sizes ? float (rate) * kSizeRate : 1;
    if (factor) {
      const double larger = *size_steps_of (*factor);
      job.mixed_share = float (std::fabs (larger));
      job.larger = larger > 0;
    }
    return job;
  });
}

void CudaBatch::add_colours (const DeviceRequest &target, double rate)
{
  const std::size_t first = std::size_t (windows.size ());
  for (const GstVideoRectangle &box : ColourModel::boxes (target.request->box))
    windows.add ([&] {
      const int x0 = std::clamp (box.x, 0, width_), y0 = std::clamp (box.y, 0, height_);
      return inthist::Region{ x0, y0, std::clamp (box.x + box.w, x0, width_) - x0,
                              std::clamp (box.y + box.h, y0, height_) - y0 };
    });
  colours.add ([&] {
    return ColoursJob{ CudaModel::of (target).get (), counts + first * std::size_t (bins_), rate };
  });
}

Expected<> CudaBatch::check () const
{
  for (const Grids &grids : grids_)
    if (grids.most_sums > inthist::cuda::kMaxCellSums
        || grids.widest + 1 > inthist::cpu::kMaxCellColumns)
      return error (Error::Kind::failed, "a target has too many cells for the GPU");
  return {};
}

void CudaBatch::take_answers (const std::byte *answers) const
{
  for (const auto &[request, offset] : matches_) {
    request->answer.matches.clear ();
    request->answer.candidates.clear ();
  }
  for (const auto &[request, offset] : matches_)
    request->answer.matches.push_back (*reinterpret_cast<const Match *> (answers + offset));
  for (const auto &[request, offset] : candidates_) {
    const auto *const candidates = reinterpret_cast<const Centre *> (answers + offset);
    for (std::size_t i = 0; i < kMaxCandidates && !std::isnan (candidates[i].x); i++)
      request->answer.candidates.push_back (candidates[i]);
  }
  for (const auto &[request, offset] : responses_)
    request->answer.size_factor =
        size_factor_of ({ reinterpret_cast<const double *> (answers + offset), kSizes });
}

}  // namespace integralhist
