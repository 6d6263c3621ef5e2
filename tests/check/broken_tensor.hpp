// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/integralhist/engine.hpp>

/// A tensor of 64x48 pixels that cannot be had.
class BrokenTensor final : public integralhist::Tensor {
public:
  explicit BrokenTensor (int bins) : Tensor (inthist::Shape{ 64, 48, bins }) {}
  bool wait (GstClockTime) override { return true; }
  void ask (std::span<const integralhist::Query>) override { lose (); }
  const void *host () override { lose (); }

private:
  [[noreturn]] static void lose () { throw integralhist::Error (GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, "the device fell off the bus"); }
};
