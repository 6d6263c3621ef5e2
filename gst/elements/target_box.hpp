// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

namespace integralhist {

/// A box in pixels of a tensor.
struct TargetBox {
  double x = 0, y = 0, width = 0, height = 0;
};

}  // namespace integralhist
