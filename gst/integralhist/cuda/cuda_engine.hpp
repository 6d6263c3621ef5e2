// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/integralhist/cuda/base/cuda_context.hpp>
#include <gst/integralhist/engine/options.hpp>
#include <gst/integralhist/engine/part_engine.hpp>

namespace integralhist {

/// Makes a part engine (part_engine.hpp) on a GPU, with a strategy by choose_strategy ().
Expected<std::unique_ptr<PartEngine>> make_cuda_engine (const Shape &shape, const Lut &lut,
                                                        const Options &options,
                                                        std::shared_ptr<CudaContext> context,
                                                        const PartLimit &limit = {});

}  // namespace integralhist
