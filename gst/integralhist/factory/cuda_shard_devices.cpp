// SPDX-License-Identifier: LGPL-2.1-or-later
#include <gst/integralhist/cuda/cuda_engine.hpp>
#include <gst/integralhist/cuda/memory/pinned_memory.hpp>
#include <gst/integralhist/cuda/pictures/peer_upload.hpp>
#include <gst/integralhist/sharded/sharded_engine.hpp>

#include "shard_devices.hpp"

namespace integralhist {

Expected<ShardDevice> cuda_shard_device (std::shared_ptr<CudaContext> context, const Lut &lut,
                                         const Options &options)
{
  // 5 % of the free GPU memory remain for the driver and for other processes.
  const std::size_t available = TRY (context->free_memory ()) / 20 * 19;
  return ShardDevice{
    context->device (),
    options.max_device_memory ? std::min<std::size_t> (options.max_device_memory, available)
                              : available,
    [lut, context] (const Shape &shape, const Options &options, const PartLimit &limit) {
      return make_cuda_engine (shape, lut, options, context, limit);
    }
  };
}

DeviceFunctions device_functions (const std::vector<std::shared_ptr<CudaContext>> &contexts)
{
  if (contexts.empty ())
    return {};
  const std::shared_ptr<CudaContext> first = contexts.front ();
  DeviceFunctions functions = {
    Device::cuda,
    [first] (std::size_t bytes, const auto &message) {
      return allocate_pinned (first, bytes, message);
    },
    [first] (const Frame &frame) {
      return frame.written_on
                 ? (frame.context ? frame.context : first)->synchronize (frame.written_on)
                 : Expected<> ();
    }
  };
  if (const auto peers = PeerUpload::between (contexts))
    functions.upload = [peers] (PartFrame &frame, int width, int height) {
      return peers->upload (frame, width, height);
    };
  return functions;
}

}  // namespace integralhist
