// SPDX-License-Identifier: LGPL-2.1-or-later
#include "part_tensors.hpp"

#include <algorithm>
#include <utility>

#include <kernels/registry.hpp>

#include "cuda_error.hpp"
#include "cuda_event.hpp"

namespace integralhist {

using namespace inthist::cuda;

namespace {

constexpr std::size_t kMostIdle = 4;
constexpr int kUnit = 128;  // Tensors have room for boxes that are a little larger.

}  // namespace

Expected<std::shared_ptr<CudaTensor>> PartTensors::compute (const inthist::Shape &of,
                                                            const inthist::Binning &binning,
                                                            cudaEvent_t kept, cudaEvent_t read)
{
  std::shared_ptr<CudaTensor> tensor = TRY (take (of));
  std::unique_ptr<Workplace> place = TRY (take_place ());
  const auto enqueued = enqueue (*tensor, binning, *place, kept, read);
  if (!enqueued)
    cudaStreamSynchronize (place->stream.get ());  // some of it may run
  const std::lock_guard lock (mutex_);
  places_->push_back (std::move (place));
  TRY (enqueued);
  return tensor;
}

CudaExpected<> PartTensors::enqueue (CudaTensor &tensor, const inthist::Binning &binning,
                                     Workplace &place, cudaEvent_t kept, cudaEvent_t read)
{
  const inthist::Shape &of = tensor.shape;
  cudaStream_t stream = place.stream.get ();
  const inthist::Strategy &strategy = *inthist::preferred_strategy (inthist::Device::cuda, of);
  const std::size_t stride = inthist::bin_stride (of.width);
  TRY (place.pixels.reserve (stride * of.height));
  TRY (place.workspace.reserve (strategy.workspace_bytes (of, {})));
  TRY (tensor.reuse (stream));
  TRY (check (cudaStreamWaitEvent (stream, kept, 0)));
  const bool bins = of.content == inthist::Content::bins;
  TRY (check (inthist::run (
      strategy, { .shape = of,
                  .layout = tensor.layout,
                  .pixels = bins ? inthist::PixelPlane{ reinterpret_cast<std::uint8_t *> (
                                                            place.pixels.get ()),
                                                        stride }
                                 : inthist::plane_of (binning.image),
                  .tensor = tensor.data (),
                  .workspace = place.workspace.get (),
                  .stream = stream,
                  .binning = bins ? &binning : nullptr })));
  TRY (tensor.set_computed (stream));
  return check (cudaEventRecord (read, stream));
}

Expected<std::shared_ptr<CudaTensor>> PartTensors::take (const inthist::Shape &of)
{
  inthist::Shape room = of;
  room.width = inthist::round_up (of.width, kUnit);
  room.height = inthist::round_up (of.height, kUnit);
  const std::size_t bytes = inthist::tensor_bytes (of, inthist::layout_of (of)),
                    most = 4 * inthist::tensor_bytes (room, inthist::layout_of (room));
  std::unique_ptr<CudaTensor> tensor;
  {
    const std::lock_guard lock (mutex_);
    const auto fits = std::ranges::find_if (
        *idle_, [&] (const auto &idle) { return idle->room () >= bytes && idle->room () <= most; });
    if (fits != idle_->end ()) {
      tensor = std::move (*fits);
      idle_->erase (fits);
    }
  }
  if (!tensor) {
    auto made = TRY (CudaTensor::create (room, 0, context, queries_, download_));
    tensor.reset (static_cast<CudaTensor *> (made.release ()));
    bytes_ += tensor->room ();
  }
  tensor->set_shape (of);
  return std::shared_ptr<CudaTensor> (tensor.release (),
                                      [all = shared_from_this ()] (CudaTensor *back) {
                                        all->give_back (std::unique_ptr<CudaTensor> (back));
                                      });
}

void PartTensors::give_back (std::unique_ptr<CudaTensor> tensor)
{
  std::unique_ptr<CudaTensor> oldest;  // dropped without the lock
  const std::lock_guard lock (mutex_);
  idle_->push_back (std::move (tensor));
  if (idle_->size () > kMostIdle) {
    oldest = std::move (idle_->front ());
    idle_->erase (idle_->begin ());
    bytes_ -= oldest->room ();
  }
}

CudaExpected<std::unique_ptr<PartTensors::Workplace>> PartTensors::take_place ()
{
  {
    const std::lock_guard lock (mutex_);
    if (!places_->empty ()) {
      auto place = std::move (places_->back ());
      places_->pop_back ();
      return place;
    }
  }
  auto place = std::make_unique<Workplace> ();
  place->stream = TRY (make_stream ());
  return place;
}

}  // namespace integralhist
