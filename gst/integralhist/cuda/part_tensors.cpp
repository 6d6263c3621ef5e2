// SPDX-License-Identifier: LGPL-2.1-or-later
#include "part_tensors.hpp"

#include <utility>

#include <kernels/registry.hpp>

#include "cuda_error.hpp"
#include "cuda_event.hpp"

namespace integralhist {

using namespace inthist::cuda;

Expected<std::shared_ptr<CudaTensor>> PartTensors::compute (const inthist::Shape &of, bool is_box,
                                                            const inthist::Binning &binning,
                                                            cudaEvent_t kept, cudaEvent_t read)
{
  std::shared_ptr<CudaTensor> tensor = TRY (take (of, is_box));
  std::unique_ptr<Workplace> place = TRY (take_place ());
  const auto enqueued = enqueue (*tensor, binning, *place, kept, read);
  if (!enqueued)
    cudaStreamSynchronize (place->stream.get ());  // some of it may run
  places_->give_back (std::move (place));
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
  for (const cudaEvent_t event : { kept, read })  // the event `read` then stands for both streams
    TRY (check (cudaStreamWaitEvent (stream, event, 0)));
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

Expected<std::shared_ptr<CudaTensor>> PartTensors::take (const inthist::Shape &of, bool is_box)
{
  constexpr int kUnit = 128;
  inthist::Shape room = of;
  if (is_box) {
    room.width = inthist::round_up (of.width, kUnit);
    room.height = inthist::round_up (of.height, kUnit);
  }
  const std::size_t bytes = inthist::tensor_bytes (of, inthist::layout_of (of)),
                    most = 4 * inthist::tensor_bytes (room, inthist::layout_of (room));
  auto tensor = idle_->take (
      [&] (const auto &idle) { return idle->room () >= bytes && idle->room () <= most; });
  if (!tensor)
    tensor = TRY (make (room));
  tensor->set_shape (of);
  return std::shared_ptr<CudaTensor> (tensor.release (),
                                      [all = shared_from_this ()] (CudaTensor *back) {
                                        all->give_back (std::unique_ptr<CudaTensor> (back));
                                      });
}

/// Makes a tensor; where memory is short, again with that of idle ones.
Expected<std::unique_ptr<CudaTensor>> PartTensors::make (const inthist::Shape &room)
{
  for (;;) {
    auto made = CudaTensor::create (room, 0, context, queries_, download_);
    if (!made && made.error ().kind == Error::Kind::no_memory && free_all (idle_->take_all ()))
      continue;
    std::unique_ptr<CudaTensor> tensor (
        static_cast<CudaTensor *> (TRY (std::move (made)).release ()));
    bytes_ += tensor->room ();
    return tensor;
  }
}

/// Frees idle tensors. Returns whether there was any.
bool PartTensors::free_all (std::vector<std::unique_ptr<CudaTensor>> idle)
{
  for (const auto &tensor : idle)
    bytes_ -= tensor->room ();
  return !idle.empty ();
}

void PartTensors::end ()
{
  free_all (idle_->close ());
}

void PartTensors::give_back (std::unique_ptr<CudaTensor> tensor)
{
  if (const auto oldest = idle_->give_back (std::move (tensor)))
    bytes_ -= oldest->room ();
}

CudaExpected<std::unique_ptr<PartTensors::Workplace>> PartTensors::take_place ()
{
  auto place = places_->take ();
  if (place)
    return place;
  place = std::make_unique<Workplace> ();
  place->stream = TRY (make_stream ());
  return place;
}

}  // namespace integralhist
