// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sharded engines of pretended devices that do something before they compute, and their frames.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <gst/integralhist/factory/shard_devices.hpp>
#include <gst/integralhist/sharded/sharded_engine.hpp>

#include "must.hpp"

/// A device's engine calls this before each part. An error is the part's error.
using BeforePart = std::function<integralhist::Expected<> ()>;

class WrappedEngine final : public integralhist::PartEngine {
public:
  WrappedEngine (std::unique_ptr<PartEngine> engine, BeforePart before)
      : engine_ (std::move (engine)), before_ (std::move (before))
  {
  }

  integralhist::Expected<integralhist::SubmittedFrame>
  submit (const integralhist::Frame &frame) override
  {
    return engine_->submit (frame);
  }
  integralhist::Expected<std::shared_ptr<integralhist::EngineTensor>>
  submit_part (const integralhist::PartFrame &frame, const integralhist::Part &part,
               std::byte *host) override
  {
    TRY (before_ ());
    return engine_->submit_part (frame, part, host);
  }
  bool is_free () override { return engine_->is_free (); }
  integralhist::Stats stats () override { return engine_->stats (); }
  const integralhist::StrategyPlan &plan () const override { return engine_->plan (); }

private:
  const std::unique_ptr<PartEngine> engine_;
  const BeforePart before_;
};

/// The CPU as a device with this many bytes of memory.
inline integralhist::ShardDevice wrapped_device (int id, const inthist::Shape &shape,
                                                 std::size_t memory, BeforePart before)
{
  using namespace integralhist;
  ShardDevice device = cpu_shard_device (id, inthist::uniform_lut (shape.bins), {});
  device.memory = memory;
  device.make_engine = [make = device.make_engine, before = std::move (before)] (
                           const inthist::Shape &of, const Options &o,
                           const PartLimit &limit) -> Expected<std::unique_ptr<PartEngine>> {
    return std::make_unique<WrappedEngine> (TRY (make (of, o, limit)), before);
  };
  return device;
}

/// A frame of pixels without gaps between the rows.
inline integralhist::Frame frame_of (const std::vector<guint8> &pixels, const inthist::Shape &shape)
{
  integralhist::Frame frame;
  frame.image = { pixels.data (), std::ptrdiff_t (shape.width), {} };
  return frame;
}

/// The bins of the whole frame.
inline std::vector<guint32> counts_of (integralhist::Tensor &tensor, const inthist::Shape &shape)
{
  std::vector<guint32> counts (static_cast<std::size_t> (shape.bins));
  const inthist::Region all = { 0, 0, shape.width, shape.height };
  const integralhist::Query query = { .kind = inthist::QueryKind::counts,
                                      .windows = { &all, 1, {} },
                                      .answers = counts.data () };
  must (tensor.ask ({ &query, 1 }));
  return counts;
}
