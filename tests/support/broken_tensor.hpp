// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/integralhist/engine/tensor.hpp>

/// A tensor of 64x48 pixels that is lost, so that every question fails.
class BrokenTensor final : public integralhist::Tensor {
public:
  explicit BrokenTensor (int bins) : Tensor (inthist::Shape{ 64, 48, bins }) {}
  integralhist::Expected<> wait (GstClockTime) override { return {}; }
  integralhist::Expected<> ask (std::span<const integralhist::Query>) override { return lost (); }
  integralhist::Expected<const void *> host () override { return lost (); }

private:
  static tl::unexpected<integralhist::Error> lost ()
  {
    return integralhist::error (integralhist::Error::Kind::failed, "the device fell off the bus");
  }
};
