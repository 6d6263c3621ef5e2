// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element's properties.
#pragma once

#include <string>

#include <gst/integralhist/engine.hpp>

namespace integralhist {

enum class Backend { automatic, cuda, cpu };

constexpr int kStrategyAuto = 0;  // otherwise 1 + the row in the table of strategies

constexpr guint kDefaultBins = 32, kMaxBins = 256, kDefaultAsyncDepth = 3, kMaxAsyncDepth = 64;

enum Property {
  PROP_BINS = 1,
  PROP_BACKEND,
  PROP_STRATEGY,
  PROP_COUNTER,
  PROP_CUDA_DEVICE_ID,
  PROP_DOWNLOAD,
  PROP_ASYNC_DEPTH,
  PROP_MAX_TENSORS,
  PROP_SYNC,
  PROP_INTERVAL,
  PROP_REGIONS,
  PROP_STATS,
};

struct Settings {
  guint bins = kDefaultBins;
  Backend backend = Backend::automatic;
  int strategy = kStrategyAuto;
  GstIntegralHistogramCounter counter = GST_INTEGRAL_HISTOGRAM_COUNTER_U32;
  int cuda_device_id = -1;
  Options options;
  bool sync = false;
  guint interval = 1;
  std::string regions;

  /// Of the property `id`; false where that is none of the settings.
  bool set (guint id, const GValue *value);
  bool get (guint id, GValue *value) const;
  /// Throws std::invalid_argument with a message for users.
  void check () const;
};

void install_properties (GObjectClass *klass);

}  // namespace integralhist
