// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "options.hpp"
#include "whole_frames.hpp"

namespace integralhist {

/// Makes an engine whose frames are computed when somebody asks, on the CPU; those of which all is
/// asked are computed by `behind`, unless that is null. With Compute::automatic frames are computed
/// at once, as the engine that `make_eager` makes does, while consumers keep asking for whole
/// tensors. Frames on a device always are.
Expected<std::unique_ptr<Engine>>
make_on_demand_engine (const inthist::Shape &shape, const inthist::Lut &lut, const Options &options,
                       LazyEngine::Make make_eager, std::shared_ptr<WholeFrames> behind);

}  // namespace integralhist
