// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The case list that every strategy runs through: shapes, layouts, alignments and pictures. One
// seed makes one list.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory.hpp"

namespace inthist::check {

enum class Pattern { zeros, full, noise, checkerboard, across, down, integers, range, video };

/// An 8-bit picture without padding; the first six patterns.
Bytes picture (Pattern pattern, int width, int height, unsigned seed);

struct Case {
  Shape shape;
  std::size_t row_gap = 0,
              plane_gap =
                  0;  // bytes between rows and planes, in a layout of our own: rows on 16 bytes
  bool own_layout = false;    // else layout_of
  std::size_t shift = 0;      // bytes of the tensor, and of a bin plane, from a multiple of 256
  std::size_t pixel_gap = 0;  // pixels between rows of what a table is made from, which itself lies
  std::size_t pixel_shift = 0;  // this many pixels from a multiple of 256
  Pattern pattern = Pattern::noise;
  unsigned seed = 0;
  std::shared_ptr<const Bytes> video = {};  // the picture of Pattern::video
  std::optional<Lut> lut = {};              // of a histogram; else uniform_lut (bins)

  Layout layout () const;
  std::size_t stride () const;       // of the pixels, bytes
  std::size_t input_shift () const;  // of the pixels, bytes
  /// Shape, layout, strides and picture, for people.
  std::string name () const;
};

/// The picture of a histogram's case; nothing for a table's.
Bytes image_of (const Case &c);

/// Makes the pixels that the strategy reads; they end with the last pixel that it may read. A
/// histogram's pixels are bins, with rubbish in the columns without a meaning.
Bytes pixels_of (const Case &c);

/// "640x480x32 u32" or "640x480 u8:f32", with "x2" if a table has two planes.
std::string name_of (const Shape &shape);

/// A shape of each kind: one pixel of every combination of types that exists, histograms first.
std::vector<Shape> kinds ();

/// The first frame of $INTHIST_TEST_FRAMES, 768x576 GRAY8. Throws if it is missing.
Bytes first_test_frame ();

/// Small cases are for sanitizers, which slow each launch.
std::vector<Case> case_list (unsigned seed, bool small);

/// The same pictures for shapes of the user's choice; only noise if a tensor takes more than a
/// gibibyte.
std::vector<Case> cases_of (const std::vector<Shape> &shapes, unsigned seed);

}  // namespace inthist::check
