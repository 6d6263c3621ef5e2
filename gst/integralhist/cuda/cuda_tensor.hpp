// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A tensor in GPU memory. A CUDA event tells when it is computed. Its copy on the host, if a
// consumer asks for one, is pinned memory that the tensor keeps.
#pragma once

#include <gst/integralhist/cuda/memory/query_buffers.hpp>
#include <gst/integralhist/engine/engine_tensor.hpp>
#include <gst/integralhist/engine/options.hpp>

namespace integralhist {

class CudaTensor final : public EngineTensor, public DeviceTensor {
public:
  /// Makes a tensor; the CUDA context is current. Error messages say that `alive` tensors exist.
  static Expected<std::unique_ptr<CudaTensor>> create (const Shape &shape, unsigned alive,
                                                       ContextRef context,
                                                       std::shared_ptr<QueryBufferPool> buffers,
                                                       Download download);

  Expected<> wait (GstClockTime timeout) override;
  Expected<> wait_for_copy (GstClockTime timeout) override;
  Expected<> ask (std::span<const Query> queries) override;
  Expected<> ask_on (Stream stream, std::span<const Query> queries) override;
  Expected<> add_reader (Stream stream) override;
  void add_all_readers () override;
  Expected<> wait_on (Stream stream) override;
  Expected<const void *> host () override;
  Expected<std::function<Expected<> ()>> start_copy (const HostDestination &to) override;
  CudaView cuda () override;
  Expected<DeviceTensor *> device_tensor () override { return this; }

  // The engine and the pool call the functions below while no one else has the tensor and the CUDA
  // context is current.

  bool is_idle () override;
  void *data () { return own_->memory.get (); }
  /// Returns the bytes of the tensor's memory. The tensor can have any shape that fits.
  std::size_t room () const { return room_; }
  /// Makes `stream`, which will overwrite the tensor, wait for all earlier uses of the tensor.
  CudaExpected<> reuse (cudaStream_t stream);
  CudaExpected<> set_computed (cudaStream_t stream);
  cudaEvent_t computed () const { return own_->computed.get (); }
  // Copies to the host. `stream` already waits for the tensor, and `downloaded` fires afterwards:
  //   start_download   to the tensor's own host copy
  //   enqueue_copy     to another place; start_copy () does not record `downloaded`, and waits
  CudaExpected<> start_download (cudaStream_t stream);
  CudaExpected<> enqueue_copy (const HostDestination &to, cudaStream_t stream);

private:
  CudaTensor (const Shape &shape, ContextRef context, std::shared_ptr<QueryBufferPool> buffers,
              Download download)
      : EngineTensor (shape), context_ (std::move (context)), query_buffers_ (std::move (buffers)),
        download_ (download), room_ (bytes ()), own_ (context_)
  {
  }

  struct Resources {
    inthist::cuda::DeviceMemory memory;
    inthist::cuda::PinnedMemory host;  // guarded by host_mutex_
    inthist::cuda::EventOwner computed, downloaded;
    // One event for each stream that reads the tensor; guarded by readers_mutex_.
    std::vector<inthist::cuda::EventOwner> readers;
    bool has_unknown_readers = false;  // some readers have no event; guarded by readers_mutex_

    ~Resources ();
  };

  /// Returns an event to record after a reader's work; the caller holds readers_mutex_.
  CudaExpected<cudaEvent_t> event_for_reader ();
  CudaExpected<> copy_pieces (const HostDestination &destination, cudaStream_t stream);
  /// Enqueues queries on the device; they run after the tensor is computed.
  CudaExpected<> enqueue (const StagedQueries &staged, cudaStream_t stream);

  const ContextRef context_;
  const std::shared_ptr<QueryBufferPool> query_buffers_;
  const Download download_;
  const std::size_t room_;  // bytes of the largest shape
  InContext<Resources> own_;
  bool idle_ = true;  // whether all events are known to have fired
  std::mutex readers_mutex_;
  std::mutex host_mutex_;  // guards the host copy
  bool download_started_ = false;
};

}  // namespace integralhist
