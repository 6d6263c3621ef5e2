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

/// Streams and small buffers for region queries, one set for each thread that asks at the same time. They wait for the next caller.
class Queries {
public:
  struct Lane {
    inthist::cuda::StreamOwner stream = inthist::cuda::make_stream ();
    inthist::cuda::PinnedMemory regions, host_answers;
    inthist::cuda::DeviceMemory device_answers;
    std::size_t regions_bytes = 0, answers_bytes = 0;

    void reserve (std::size_t regions_wanted, std::size_t answers_wanted)
    {
      if (regions_wanted > regions_bytes) {
        regions_bytes = 0;
        regions = inthist::cuda::make_pinned_memory (regions_wanted);
        regions_bytes = regions_wanted;
      }
      if (answers_wanted > answers_bytes) {
        answers_bytes = 0;
        host_answers = inthist::cuda::make_pinned_memory (answers_wanted);
        device_answers = inthist::cuda::make_device_memory (answers_wanted);
        answers_bytes = answers_wanted;
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
      if (!idle_.empty ()) {
        auto lane = std::move (idle_.back ());
        idle_.pop_back ();
        return lane;
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
  void regions (std::span<const Region> regions, guint32 *counts) override;
  void regions (std::span<const Region> regions, guint64 *sums) override;
  const void *host () override;
  CudaView cuda () const override;

  // for the engine and the pool, while nobody else holds it, with the context current

  bool at_rest () override;
  void *data () { return memory_.get (); }
  /// Orders `stream`, which will write the tensor, after all that used it before.
  void reuse (cudaStream_t stream);
  void set_computed (cudaStream_t stream);
  /// On a stream that waits for the tensor.
  void start_download (cudaStream_t stream);

private:
  /// `query` is count_regions or sum_regions.
  template <class Query, class Answer>
  void ask (Query query, std::span<const Region> regions, Answer *answers);

  const Context context_;
  const std::shared_ptr<Queries> queries_;
  const Download download_;
  inthist::cuda::DeviceMemory memory_;
  inthist::cuda::EventOwner computed_, downloaded_;
  bool at_rest_ = true;    // both events have been seen to fire
  std::mutex host_mutex_;  // guards the host copy
  inthist::cuda::PinnedMemory host_;
  bool download_started_ = false;
};

}  // namespace integralhist
