// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device_blender.hpp"

namespace integralhist {

std::vector<int> layers_of (std::span<const inthist::Drawing> drawings)
{
  const auto overlap = [] (const inthist::Drawing &a, const inthist::Drawing &b) {
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height
           && b.y < a.y + a.height;
  };
  std::vector<int> layers;
  for (std::size_t i = 0; i < drawings.size (); i++) {
    int layer = 0;
    for (std::size_t j = 0; j < i; j++)
      if (layers[j] >= layer && overlap (drawings[i], drawings[j]))
        layer = layers[j] + 1;
    layers.push_back (layer);
  }
  return layers;
}

}  // namespace integralhist
