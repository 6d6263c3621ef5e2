// SPDX-License-Identifier: LGPL-2.1-or-later
#include "host_on_demand_tensor.hpp"

#include <algorithm>
#include <utility>

#include <kernels/clock.hpp>
#include <kernels/cpu/in_parallel.hpp>
#include <kernels/registry.hpp>
#include <kernels/window.hpp>

#include <gst/integralhist/base/cancel.hpp>
#include <gst/integralhist/base/in_parallel.hpp>
#include <gst/integralhist/host/cpu_tensor.hpp>
#include <gst/integralhist/memory/memory_messages.hpp>

namespace integralhist {

Expected<std::unique_ptr<EngineTensor>>
HostOnDemandTensor::create (const std::shared_ptr<OnDemandShared> &shared)
{
  HostMemory values = TRY (HostFrame::allocate (*shared));
  return std::unique_ptr<EngineTensor> (new HostOnDemandTensor (shared, std::move (values)));
}

void HostOnDemandTensor::on_released ()
{
  whole_ = nullptr;
  OnDemandTensor::on_released ();
}

Expected<DeviceFeatureImage *> HostOnDemandTensor::prepare (std::span<const Region> regions)
{
  const Expected<bool> on_gpu =
      shared_->assist ? prepare_device_image (regions) : Expected<bool> (false);
  if (!failed_recoverably (on_gpu) && TRY (on_gpu))
    return device_image_.get ();
  if (regions.size () > 1) {
    const auto lock = TRY (mutex_.lock ());
    TRY (frame_.compute_values (int (regions.size ()), [&] (int i) { return regions[i]; }));
  }
  return nullptr;
}

/// Returns whether the announced regions make an upload of the whole frame to the GPU pay off.
bool HostOnDemandTensor::upload_pays (std::span<const Region> regions) const
{
  // It does if the regions have this many pixels and this share of the frame; half is enough if the
  // GPU had the last frame, to avoid switching. Measured on an H100 with 1 box tracked in 352x288
  // and 100 in 1920x1080, and estimated in between.
  constexpr double kEnough = 8000, kEnoughOfFrame = 1.0 / 8;
  double pixels = 0;
  for (const Region &region : regions)
    pixels += double (pixels_of (region));
  const double enough = std::max (kEnough, kEnoughOfFrame * double (shape.width) * shape.height);
  return pixels >= (shared_->assist_was_used ? enough / 2 : enough);
}

/// Uploads the frame to the GPU and computes its feature image there, if that pays off. Returns
/// whether the GPU has the frame's feature image.
Expected<bool> HostOnDemandTensor::prepare_device_image (std::span<const Region> regions)
{
  const auto lock = TRY (mutex_.lock ());
  if (is_device_image_current_)
    return true;
  if (shared_->assist_failed || !upload_pays (regions)) {
    shared_->assist_was_used = false;
    return false;
  }
  const auto upload = [&] () -> Expected<> {
    if (!device_image_)
      device_image_ = TRY (shared_->assist->make (shape, shared_->lut, shared_->device_answers));
    return device_image_->upload_picture (frame_.source ());
  };
  const auto uploaded = upload ();
  const std::size_t bytes = device_image_ ? device_image_->bytes () : 0;
  shared_->value_bytes += bytes - std::exchange (device_bytes_, bytes);
  shared_->assist_was_used = is_device_image_current_ = uploaded.has_value ();
  shared_->assist_failed = !uploaded
                           && std::ranges::find (kFailedOrNoMemory, uploaded.error ().kind)
                                  != std::end (kFailedOrNoMemory);
  TRY (uploaded);
  return true;
}

template <class Ask>
Expected<bool> HostOnDemandTensor::ask_device (Ask &&ask)
{
  auto lock = TRY (mutex_.lock ());
  if (!is_device_image_current_)
    return false;
  lock.unlock ();
  const Expected<bool> answered = ask (*device_image_);
  if (!failed_recoverably (answered))
    return answered;
  lock = TRY (mutex_.lock ());
  is_device_image_current_ = false;
  return false;
}

Expected<> HostOnDemandTensor::ask (std::span<const Query> queries)
{
  for (const Query &query : queries)
    TRY (ask_one (query));
  return {};
}

Expected<> HostOnDemandTensor::ask_one (const Query &query)
{
  const auto count = [&] (DeviceFeatureImage &image) {
    return count_windows (image, shape, query);
  };
  if (TRY (ask_device (count)))
    return {};
  auto lock = TRY (mutex_.lock ());
  const std::optional<Region> region = optimizer_.choose_tensor (query);
  if (!region)  // counting the pixels costs less than a tensor
    return answer_from_pixels (std::move (lock), query);
  lock.unlock ();
  const auto ask = [&query] (Tensor &tensor) { return tensor.ask ({ &query, 1 }); };
  if (is_whole (*region) && TRY (ask_whole (ask, kFailed)))
    return {};
  lock = TRY (mutex_.lock ());
  const auto region_tensor = region_tensor_of (*region);
  lock.unlock ();
  if (!region_tensor && is_additive (query)
      && region_tensor.error ().kind == Error::Kind::no_memory)
    return answer_from_pixels (TRY (mutex_.lock ()), query);
  return ask_region_tensor (*TRY (region_tensor), query);
}

/// Answers a query by counting pixels of its windows, with the mutex unlocked. First computes those
/// pixel values that are missing.
Expected<> HostOnDemandTensor::answer_from_pixels (CancellableMutex::Lock lock, const Query &query)
{
  TRY (frame_.compute_values (query.windows.size (),
                              [&] (int i) { return window_of (query.windows, i, shape); }));
  lock.unlock ();
  shared_->pixel_answers++;
  return check_host (inthist::cpu::answer_pixels (frame_.binning ({}), shape, query));
}

Expected<> HostOnDemandTensor::ask_cells (std::span<const CellsQuery> queries)
{
  const auto add_up = [&] (DeviceFeatureImage &image) -> Expected<bool> {
    if (!image.takes (queries))
      return false;
    TRY (image.add_up_cells (queries));
    return true;
  };
  if (TRY (ask_device (add_up)))
    return {};
  auto lock = TRY (mutex_.lock ());
  if (optimizer_.choose_counting (queries))
    return count_cells (std::move (lock), queries);
  lock.unlock ();
  return Tensor::ask_cells (queries);
}

/// Adds up cells pixel by pixel, with the mutex unlocked, after computing missing pixel values.
Expected<> HostOnDemandTensor::count_cells (CancellableMutex::Lock lock,
                                            std::span<const CellsQuery> queries)
{
  struct CellTask {
    const Cells &cells;
    inthist::Scores scores;
    std::int64_t *sums;
  };
  std::vector<CellTask> cell_tasks;
  double pixels = 0;
  for (const CellsQuery &query : queries) {
    std::int64_t *to = query.sums;
    for (const Cells &cells : query.grids) {
      cell_tasks.push_back ({ cells, query.scores, to });
      to += cells.size () * query.planes (shape);
      pixels += double (pixels_of (cells.around ()));
    }
  }
  const int n = int (cell_tasks.size ());
  TRY (frame_.compute_values (n,
                              [&] (int i) { return cell_tasks[std::size_t (i)].cells.around (); }));
  lock.unlock ();
  shared_->pixel_answers++;

  const Binning binning = frame_.binning ({});
  // Several small grids of cells share a task for a thread; add_up_cells () divides a large grid.
  const int tasks = std::clamp (int (pixels / inthist::cpu::kPixelsOfATask), 1, std::max (n, 1));
  return in_parallel (n, tasks, [&] (int i) -> Expected<> {
    const CellTask &task = cell_tasks[std::size_t (i)];
    return check_host (
        inthist::cpu::add_up_cells (binning, shape, task.cells, task.scores, task.sums));
  });
}

Expected<std::shared_ptr<Tensor>> HostOnDemandTensor::compute (const Region &region)
{
  const auto start = inthist::Clock::now ();
  TRY (frame_.compute_values (1, [&] (int) { return region; }));
  const Shape of_region = shape_of (region);
  const auto tensor = std::make_shared<CpuTensor> (
      of_region, TRY (take_memory (of_region, inthist::tensor_bytes (of_region))));
  TRY (run_strategy (region, *tensor));
  shared_->count_tensor (is_whole (region));
  shared_->add_time (inthist::nanoseconds_since (start));
  tensor->finish ({});
  return tensor;
}

/// Takes memory for the tensor of a region, or for what it is computed in; none for 0 bytes.
Expected<HostMemory> HostOnDemandTensor::take_memory (const Shape &of_region,
                                                      std::size_t bytes) const
{
  if (bytes == 0)
    return HostMemory ();
  return shared_->memory->take (bytes, [&of_region] (const Available &available) {
    return no_memory_for_tensor (of_region, available, 0);
  });
}

/// Computes the tensor of a region from pixel values, with the engine's strategy, or the preferred
/// one if the engine's does not take the shape of the region.
Expected<> HostOnDemandTensor::run_strategy (const Region &region, CpuTensor &tensor)
{
  inthist::Choice choice = shared_->plan.choice;
  if (!inthist::accepts (*choice.strategy, tensor.shape, choice.tuning))
    choice = { .strategy = inthist::preferred_strategy (Device::cpu, tensor.shape) };
  const bool bins = tensor.shape.content == Content::bins;
  const std::size_t stride = inthist::padded_columns (tensor.shape.width);
  const HostMemory pixels =
                       TRY (take_memory (tensor.shape, bins ? stride * tensor.shape.height : 0)),
                   workspace = TRY (take_memory (tensor.shape, choice.strategy->workspace_bytes (
                                                                   tensor.shape, choice.tuning)));
  const Binning binning = frame_.binning (region);
  shared_->computing++;
  const auto outcome = check_host (inthist::run (
      *choice.strategy,
      { .shape = tensor.shape,
        .layout = tensor.layout,
        .pixels = bins ? PixelPlane{ reinterpret_cast<std::uint8_t *> (pixels.get ()), stride }
                       : inthist::plane_of (binning.image),
        .tensor = tensor.data (),
        .workspace = workspace.get (),
        .tuning = choice.tuning,
        .binning = bins ? &binning : nullptr,
        .cancelled = CancelScope::flag () }));
  shared_->computing--;
  return outcome;
}

/// Returns the whole tensor. If it is missing, whole_tensors computes it. The caller holds the
/// mutex.
Expected<std::shared_ptr<Tensor>> HostOnDemandTensor::whole ()
{
  if (whole_)
    return whole_;
  TRY (frame_.compute_values (1, [&] (int) { return optimizer_.frame (); }));
  whole_ = TRY (shared_->whole_tensors->compute (frame_.binning ({}).image));
  optimizer_.note_computed (optimizer_.frame ());
  shared_->count_tensor (true);
  return whole_;
}

template <class Ask>
Expected<bool> HostOnDemandTensor::ask_whole (Ask &&ask, std::span<const Error::Kind> recoverable)
{
  auto lock = TRY (mutex_.lock ());
  if (!shared_->whole_tensors || (region_tensor_ && is_whole (region_tensor_->region)))
    return false;
  const auto tensor = whole ();
  lock.unlock ();
  if (failed_recoverably (tensor))
    return false;
  const Expected<> answered = ask (*TRY (tensor));
  if (failed_recoverably (answered, recoverable))
    return false;
  TRY (answered);
  return true;
}

Expected<const void *> HostOnDemandTensor::host ()
{
  const void *data = nullptr;
  const auto ask = [&data] (Tensor &tensor) -> Expected<> {
    data = TRY (tensor.host ());
    return {};
  };
  if (TRY (ask_whole (ask, kFailed)))
    return data;
  const auto lock = TRY (mutex_.lock ());
  return TRY (region_tensor_of (optimizer_.frame ()))->tensor->host ();
}

Expected<std::span<const Shard>> HostOnDemandTensor::shards ()
{
  std::span<const Shard> all;  // no shards if the tensor is in one piece
  const auto ask = [&all] (Tensor &tensor) -> Expected<> {
    all = TRY (tensor.shards ());
    return {};
  };
  TRY (ask_whole (ask, {}));
  return all;
}

Expected<DeviceTensor *> HostOnDemandTensor::device_tensor ()
{
  if (!shared_->whole_tensors || shared_->whole_tensors->device != Device::cuda)
    return nullptr;
  auto lock = TRY (mutex_.lock ());
  const auto all = TRY (whole ());
  lock.unlock ();
  return all->device_tensor ();
}

}  // namespace integralhist
