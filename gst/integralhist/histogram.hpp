// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The payload of the C API, a reference to a tensor.
#pragma once

#include "tensor.hpp"

struct _GstIntegralHistogram {
  GstMiniObject parent;
  std::shared_ptr<integralhist::Tensor> tensor;
};

namespace integralhist {

GstIntegralHistogram *new_histogram (std::shared_ptr<Tensor> tensor);
Tensor &tensor_of (GstIntegralHistogram *histogram);

}  // namespace integralhist
