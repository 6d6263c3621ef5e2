// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A tensor on a GPU. Its fence is an event; its copy on the host lies in pinned memory, which stays with it from frame to frame.
#pragma once

#include "engine.hpp"

#include <cuda/raii.hpp>

namespace integralhist {

using Context = std::shared_ptr<CudaContext>;

/// What a CUDA call threw, for users.
[[noreturn]] void fail (const inthist::cuda::CudaError &error);

/// Runs CUDA calls with the context current, and turns what they throw into an Error.
template <class Body>
auto
on (const CudaContext &context, Body &&body)
{
  const CudaContext::Scope scope (context);
  if (!scope)
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, "CUDA: the context of device " + std::to_string (context.device ()) + " is gone");
  try {
    return body ();
  } catch (const inthist::cuda::CudaError &error) {
    fail (error);
  }
}

bool has_fired (cudaEvent_t event);
/// Waits for an event made with cudaEventBlockingSync. The first 50 microseconds by asking, for to be woken takes longer than a small frame.
void await (cudaEvent_t event);

/// Streams and buffers for queries, one set for each that is asked at the same time. They wait for the next caller. One that is dropped in the middle of its work, as something throws, waits
/// for the device in cudaFree.
class Queries {
public:
  struct Lane {
    inthist::cuda::StreamOwner stream = inthist::cuda::make_stream ();
    inthist::cuda::EventOwner done =
        inthist::cuda::make_event (cudaEventDisableTiming | cudaEventBlockingSync);  // with all that reads or writes the buffers
    inthist::cuda::PinnedMemory host_inputs, host_answers;
    inthist::cuda::DeviceMemory inputs, answers;
    std::size_t inputs_bytes = 0, answers_bytes = 0, host_answers_bytes = 0;

    void reserve (std::size_t inputs_wanted, std::size_t answers_wanted, std::size_t host_answers_wanted)
    {
      if (inputs_wanted > inputs_bytes) {
        inputs_bytes = 0;
        host_inputs = inthist::cuda::make_pinned_memory (inputs_wanted);
        inputs = inthist::cuda::make_device_memory (inputs_wanted);
        inputs_bytes = inputs_wanted;
      }
      if (answers_wanted > answers_bytes) {
        answers_bytes = 0;
        answers = inthist::cuda::make_device_memory (answers_wanted);
        answers_bytes = answers_wanted;
      }
      if (host_answers_wanted > host_answers_bytes) {
        host_answers_bytes = 0;
        host_answers = inthist::cuda::make_pinned_memory (host_answers_wanted);
        host_answers_bytes = host_answers_wanted;
      }
    }
  };

  explicit Queries (Context context) : context_ (std::move (context)) {}

  ~Queries ()
  {
    const CudaContext::Scope scope (*context_);
    idle_.clear ();
  }

  /// With the context current.
  std::unique_ptr<Lane> acquire ()
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
    return std::make_unique<Lane> ();
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
  /// With the context current.
  CudaTensor (const inthist::Shape &of, unsigned alive, Context context, std::shared_ptr<Queries> queries, Download download);
  ~CudaTensor () override;

  bool wait (GstClockTime timeout) override;
  bool wait_for_landing (GstClockTime timeout) override;
  void ask (std::span<const Query> queries) override;
  void ask_on (void *stream, std::span<const Query> queries) override;
  const void *host () override;
  std::function<void ()> start_landing (const Landing &landing) override;
  CudaView cuda () override;

  // for the engine and the pool, while nobody else holds it, with the context current

  bool at_rest () override;
  void *data () { return memory_.get (); }
  /// Orders `stream`, which will write the tensor, after all that used it before.
  void reuse (cudaStream_t stream);
  void set_computed (cudaStream_t stream);
  /// On a stream that waits for the tensor.
  void start_download (cudaStream_t stream);
  void land (const Landing &landing, cudaStream_t stream);

private:
  void copy_pieces (const Landing &landing, cudaStream_t stream);
  /// For a question: with room for so many bytes.
  std::unique_ptr<Queries::Lane> acquire_lane (std::size_t inputs, std::size_t answers, std::size_t host_answers);
  /// Behind the tensor, all on the device: what is asked has been copied to the lane, and answers are where the queries say.
  void enqueue (const Queries::Lane &lane, cudaStream_t stream, std::size_t inputs_bytes, std::span<const Query> queries);

  const Context context_;
  const std::shared_ptr<Queries> queries_;
  const Download download_;
  const std::size_t room_;  // bytes, of the largest that it becomes
  inthist::cuda::DeviceMemory memory_;
  inthist::cuda::EventOwner computed_, downloaded_;
  bool at_rest_ = true;    // both events have been seen to fire
  std::mutex host_mutex_;  // guards the host copy
  inthist::cuda::PinnedMemory host_;
  bool download_started_ = false;
};

}  // namespace integralhist
