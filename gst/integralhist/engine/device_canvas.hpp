// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Draws on frames in a GPU's memory (kernels/blend.hpp): the drawings are uploaded, and no frame is
// downloaded.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <kernels/blend.hpp>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

class CudaContext;

/// The drawings on a frame, in the order in which they are drawn, and all their pixels.
struct Drawings {
  std::span<const inthist::Drawing> all;
  std::span<const inthist::Argb> pixels;
};

/// A map of levels that is drawn over a box of the frame, like inthist::LevelMap.
struct LevelPicture {
  std::span<const std::uint8_t> levels;
  int stride;
  std::span<const int> columns, rows;  // the box has as many
  std::span<const inthist::Argb, 256> colours;
  int x, y;
};

/// Draws on frames of a context, one after another. Only one thread at a time may call it.
class DeviceCanvas {
public:
  virtual ~DeviceCanvas () = default;
  /// Enqueues the drawing on `stream`. If `stream` is null, draws after the legacy default stream,
  /// and returns when all is drawn. The picture's planes lie in the context's memory, the other
  /// arguments in the host's, which may change after the call. The map, if there is one, is drawn
  /// first.
  virtual Expected<> draw (const inthist::Canvas &picture, const LevelPicture *map,
                           const Drawings &drawings, inthist::Stream stream) = 0;
};

/// Makes a canvas for a context. Fails in builds without CUDA.
Expected<std::unique_ptr<DeviceCanvas>> make_device_canvas (std::shared_ptr<CudaContext> context);

/// Returns the layer of each drawing: the length of the longest chain of drawings below it that
/// overlap. Drawings of the same layer share no pixel.
std::vector<int> layers_of (std::span<const inthist::Drawing> drawings);

}  // namespace integralhist
