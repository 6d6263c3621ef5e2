// SPDX-License-Identifier: LGPL-2.1-or-later
#include "shard_devices.hpp"

#include <gst/integralhist/host/cpu_engine.hpp>
#include <gst/integralhist/sharded/sharded_engine.hpp>

namespace integralhist {

ShardDevice cpu_shard_device (int id, const Lut &lut, const Options &options)
{
  return { id, options.max_device_memory ? options.max_device_memory : available_memory ().bytes,
           [lut] (const Shape &shape, const Options &options, const PartLimit &limit) {
             return make_cpu_engine (shape, lut, options, limit);
           } };
}

}  // namespace integralhist
