// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Draws an overlay on video frames in a GPU's memory (kernels/blend.hpp). The drawings are
// uploaded, so that no frame is downloaded.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <kernels/blend.hpp>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

class CudaContext;

/// The boxes of pixels to draw on a frame, in drawing order, and an array with all their pixels.
struct Drawings {
  std::span<const inthist::Drawing> all;
  std::span<const inthist::Argb> pixels;
};

/// A map of 8-bit levels in host memory, to draw in colours over a box of the frame. The members
/// mean the same as in inthist::LevelMap (kernels/blend.hpp).
struct LevelPicture {
  std::span<const std::uint8_t> levels;
  int stride;
  std::span<const int> columns, rows;  // map column of each column of the box, map row of each row
  std::span<const inthist::Argb, 256> colours;
  int x, y;
};

/// Draws on frames in the memory of a CUDA context. Only one thread at a time may call a blender.
class DeviceBlender {
public:
  virtual ~DeviceBlender () = default;
  /// Enqueues drawing `map`, unless null, and `drawings` over it. If the CUDA stream `stream` is
  /// null, draws after the work of the legacy default stream, and returns when all is drawn. The
  /// picture lies in device memory; other inputs lie in host memory and may change afterwards.
  virtual Expected<> draw (const inthist::Canvas &picture, const LevelPicture *map,
                           const Drawings &drawings, Stream stream) = 0;
};

Expected<std::unique_ptr<DeviceBlender>> make_device_blender (std::shared_ptr<CudaContext> context);

/// Returns the layer of each drawing: one above the highest layer of the earlier drawings that it
/// overlaps. Drawings of one layer share no pixel, so a GPU may draw them at once.
std::vector<int> layers_of (std::span<const inthist::Drawing> drawings);

}  // namespace integralhist
