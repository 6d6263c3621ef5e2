// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "engine.hpp"
#include "options.hpp"

namespace integralhist {

/// Makes an engine of the CPU whose frames are computed when somebody asks. With Compute::automatic
/// it computes them at once, as the engine that `make_eager` makes does, while consumers keep
/// asking for whole tensors.
Expected<std::unique_ptr<Engine>>
make_on_demand_engine (const inthist::Shape &shape, const inthist::Lut &lut, const Options &options,
                       std::function<Expected<std::unique_ptr<Engine>> ()> make_eager);

}  // namespace integralhist
