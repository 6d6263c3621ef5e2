// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pictures of coloured targets that move, and a detector with the mistakes of real ones.
#pragma once

#include <random>

#include "nvtracker.hpp"

namespace nvtracker {

/// Draws a box of squares; `seed` says which target it is.
inline void draw (Nv12Picture &picture, const Object &at, unsigned seed)
{
  std::mt19937 random (seed);
  const guint8 blue = guint8 (60 + random () % 140), red = guint8 (60 + random () % 140);
  constexpr int kSquare = 4;
  const int columns = int (at.width) / kSquare + 1;
  std::vector<guint8> values (std::size_t (columns) * std::size_t (int (at.height) / kSquare + 1));
  for (guint8 &value : values)
    value = guint8 (40 + random () % 200);
  for (int v = 0; v < int (at.height); v++)
    for (int u = 0; u < int (at.width); u++) {
      const int x = int (at.x) + u, y = int (at.y) + v;
      if (x < 0 || y < 0 || x >= picture.width || y >= picture.height)
        continue;
      *picture.luma (x, y) = values[std::size_t (v / kSquare * columns + u / kSquare)];
      picture.chroma (x, y)[0] = blue;
      picture.chroma (x, y)[1] = red;
    }
}

/// Targets that go to and fro, each on a row of its own.
class MovingScene {
public:
  MovingScene (int width, int height, int n_targets, unsigned seed)
      : width_ (width), height_ (height), n_targets_ (n_targets), seed_ (seed),
        background_ (width, height)
  {
    std::ranges::fill (background_.bytes, 128);
    draw (background_, { 0, 0, float (width), float (height) }, seed);
    std::fill (background_.chroma (0, 0), &background_.bytes.back () + 1, 128);
  }

  Object place (int target, int frame) const
  {
    const int columns = std::max (1, n_targets_ * height_ * 2 / (width_ * 3) + 1);
    const float pitch_x = float (width_) / float (columns),
                pitch_y = float (height_) / float ((n_targets_ + columns - 1) / columns);
    const float w = std::floor (pitch_x * 0.3f), h = std::floor (pitch_y * 0.7f);
    const double phase = (frame + target * 17) * 0.05;
    return { std::round (pitch_x * float (target % columns)
                         + (pitch_x - w) * float (0.5 + 0.5 * std::sin (phase))),
             std::round (pitch_y * float (target / columns)
                         + (pitch_y - h) * float (0.5 + 0.5 * std::sin (phase * 0.7))),
             w, h, guint16 (target % 3) };
  }
  Nv12Picture picture (int frame) const
  {
    Nv12Picture picture = background_;
    for (int target = 0; target < n_targets_; target++)
      draw (picture, place (target, frame), seed_ + 1 + unsigned (target));
    return picture;
  }
  /// Returns the boxes of a detector that looks at every n-th frame, misses some targets, is not
  /// exact, and at times has no confidence or a low one.
  std::vector<Object> detections (int frame, int n, std::mt19937 &random) const
  {
    std::vector<Object> found;
    if (frame % n == 0)
      for (int target = 0; target < n_targets_; target++) {
        Object object = place (target, frame);
        object.x = std::max (0.f, object.x + float (random () % 3) - 1);
        object.y = std::max (0.f, object.y + float (random () % 3) - 1);
        object.confidence = random () % 8 == 0 ? -0.1f : 0.3f + float (random () % 64) / 100;
        if (random () % 10 > 0)
          found.push_back (object);
      }
    return found;
  }

private:
  const int width_, height_, n_targets_;
  const unsigned seed_;
  Nv12Picture background_;
};

}  // namespace nvtracker
