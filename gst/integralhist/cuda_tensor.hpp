// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A tensor on a GPU. Its fence is a CUDA event; its host copy is pinned memory that stays with it.
#pragma once

#include "engine.hpp"

#include <cuda/raii.hpp>

namespace integralhist {

using Context = std::shared_ptr<CudaContext>;

template <class Body>
auto on (const CudaContext &context, Body &&body) -> decltype (body ())
{
  const CudaContext::Scope scope (context);
  if (!scope)
    return error (Error::Kind::failed,
                  "CUDA: the context of device " + std::to_string (context.device ()) + " is gone");
  return body ();
}

/// Returns whether the event's work is done or has failed; the next use reports a failure.
bool has_fired (cudaEvent_t event);
/// Waits for an event made with cudaEventBlockingSync. It polls for 50 microseconds, because a
/// blocked thread wakes later than a small frame takes.
inthist::cuda::CudaExpected<> await (cudaEvent_t event);

/// Lanes for queries, each a stream with buffers for one call at a time. Idle lanes are reused.
/// cudaFree waits for the device where a failed call drops a lane that is busy.
class Queries {
public:
  struct Lane {
    inthist::cuda::StreamOwner stream;
    inthist::cuda::EventOwner done;  // with all use of the buffers
    inthist::cuda::PinnedMemory host_inputs, host_answers;
    inthist::cuda::DeviceMemory inputs, answers;
    std::size_t inputs_bytes = 0, answers_bytes = 0, host_answers_bytes = 0;

    inthist::cuda::CudaExpected<> reserve (std::size_t inputs_wanted, std::size_t answers_wanted,
                                           std::size_t host_answers_wanted)
    {
      if (inputs_wanted > inputs_bytes) {
        inputs_bytes = 0;
        host_inputs = TRY (inthist::cuda::make_pinned_memory (inputs_wanted));
        inputs = TRY (inthist::cuda::make_device_memory (inputs_wanted));
        inputs_bytes = inputs_wanted;
      }
      if (answers_wanted > answers_bytes) {
        answers_bytes = 0;
        answers = TRY (inthist::cuda::make_device_memory (answers_wanted));
        answers_bytes = answers_wanted;
      }
      if (host_answers_wanted > host_answers_bytes) {
        host_answers_bytes = 0;
        host_answers = TRY (inthist::cuda::make_pinned_memory (host_answers_wanted));
        host_answers_bytes = host_answers_wanted;
      }
      return {};
    }
  };

  explicit Queries (Context context) : context_ (std::move (context)) {}

  ~Queries ()
  {
    const CudaContext::Scope scope (*context_);
    idle_.clear ();
  }

  /// Returns an idle lane or a new one; the context must be current.
  inthist::cuda::CudaExpected<std::unique_ptr<Lane>> acquire ()
  {
    {
      const std::lock_guard lock (mutex_);
      for (auto &lane : idle_)
        if (has_fired (lane->done.get ())) {
          std::swap (lane, idle_.back ());
          auto taken = std::move (idle_.back ());
          idle_.pop_back ();
          return taken;
        }
    }
    auto lane = std::make_unique<Lane> ();
    lane->stream = TRY (inthist::cuda::make_stream ());
    lane->done = TRY (inthist::cuda::make_event (cudaEventDisableTiming | cudaEventBlockingSync));
    return lane;
  }

  void give_back (std::unique_ptr<Lane> lane)
  {
    const std::lock_guard lock (mutex_);
    idle_.push_back (std::move (lane));
  }

private:
  const Context context_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Lane>> idle_;
};

class CudaTensor final : public Tensor {
public:
  /// The context must be current.
  static Expected<std::unique_ptr<Tensor>> create (const inthist::Shape &shape, unsigned alive,
                                                   Context context,
                                                   std::shared_ptr<Queries> queries,
                                                   Download download);
  ~CudaTensor () override;

  Expected<> wait (GstClockTime timeout) override;
  Expected<> wait_for_landing (GstClockTime timeout) override;
  Expected<> ask (std::span<const Query> queries) override;
  Expected<> ask_on (void *stream, std::span<const Query> queries) override;
  Expected<> add_reader (void *stream) override;
  Expected<const void *> host () override;
  Expected<std::function<Expected<> ()>> start_landing (const Landing &landing) override;
  CudaView cuda () override;

  // The engine and the pool call these while nobody else holds it, with the context current.

  bool at_rest () override;
  void *data () { return memory_.get (); }
  /// Lets `stream`, which will write the tensor, wait for all earlier uses.
  inthist::cuda::CudaExpected<> reuse (cudaStream_t stream);
  inthist::cuda::CudaExpected<> set_computed (cudaStream_t stream);
  /// Enqueues the download on a stream that waits for the tensor.
  inthist::cuda::CudaExpected<> start_download (cudaStream_t stream);
  inthist::cuda::CudaExpected<> land (const Landing &landing, cudaStream_t stream);

private:
  CudaTensor (const inthist::Shape &of, Context context, std::shared_ptr<Queries> queries,
              Download download)
      : Tensor (of), context_ (std::move (context)), queries_ (std::move (queries)),
        download_ (download), room_ (bytes ())
  {
  }

  inthist::cuda::CudaExpected<> copy_pieces (const Landing &landing, cudaStream_t stream);
  Expected<std::unique_ptr<Queries::Lane>> acquire_lane (std::size_t inputs, std::size_t answers,
                                                         std::size_t host_answers);
  /// Enqueues queries on the device, behind the tensor. The lane holds their inputs; the queries
  /// point to device memory for the answers.
  inthist::cuda::CudaExpected<> enqueue (const Queries::Lane &lane, cudaStream_t stream,
                                         std::size_t inputs_bytes, std::span<const Query> queries);

  const Context context_;
  const std::shared_ptr<Queries> queries_;
  const Download download_;
  const std::size_t room_;  // bytes of the largest shape
  inthist::cuda::DeviceMemory memory_;
  inthist::cuda::EventOwner computed_, downloaded_;
  bool at_rest_ = true;  // whether all events have fired
  std::mutex readers_mutex_;
  std::vector<inthist::cuda::EventOwner> readers_;  // one for each stream that reads
  std::mutex host_mutex_;                           // guards the host copy
  inthist::cuda::PinnedMemory host_;
  bool download_started_ = false;
};

}  // namespace integralhist
