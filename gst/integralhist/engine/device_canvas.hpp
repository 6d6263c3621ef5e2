// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Drawing on frames in a GPU's memory (kernels/blend.hpp): what is drawn goes there, and no frame
// comes back.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <kernels/blend.hpp>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

class CudaContext;

/// The drawings of a frame that lie over one another in their order, and all their pixels.
struct Drawings {
  std::span<const inthist::Drawing> all;
  std::span<const inthist::Argb> pixels;
};

/// A map of levels over a box of the frame, as inthist::LevelMap.
struct LevelPicture {
  std::span<const std::uint8_t> levels;
  int stride;
  std::span<const int> columns, rows;  // the box has as many
  std::span<const inthist::Argb, 256> colours;
  int x, y;
};

/// Draws on frames of a context, one after another. One thread at a time may call it.
class DeviceCanvas {
public:
  virtual ~DeviceCanvas () = default;
  /// Enqueues on `stream`; where that is null, behind the legacy default stream, and returns when
  /// all is drawn. The picture's planes lie in the context's memory, the rest in the host's, which
  /// may change afterwards. A map comes first where there is one.
  virtual Expected<> draw (const inthist::Canvas &picture, const LevelPicture *map,
                           const Drawings &drawings, inthist::Stream stream) = 0;
};

/// Makes one for a context. Fails in builds without CUDA.
Expected<std::unique_ptr<DeviceCanvas>> make_device_canvas (std::shared_ptr<CudaContext> context);

/// Returns for each drawing how many others, each over the one before, it must come after: drawings
/// of the same layer have no pixel in common.
std::vector<int> layers_of (std::span<const inthist::Drawing> drawings);

}  // namespace integralhist
