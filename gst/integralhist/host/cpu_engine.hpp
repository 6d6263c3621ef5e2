// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/integralhist/engine/options.hpp>
#include <gst/integralhist/engine/part_engine.hpp>

namespace integralhist {

/// Makes a part engine (part_engine.hpp) on the CPU, with a strategy by choose_strategy (). A
/// strategy that the options name must be able to compute the shape.
Expected<std::unique_ptr<PartEngine>> make_cpu_engine (const Shape &shape, const Lut &lut,
                                                       const Options &options,
                                                       const PartLimit &limit = {});

}  // namespace integralhist
