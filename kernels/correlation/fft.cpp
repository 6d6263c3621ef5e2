// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fft.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

// Butterflies keep vectors in structs. Vectors whose size the compiler does not know cannot be
// there: on arm64 those of SVE, in whose place there is NEON.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fft-inl.hpp"
#include <hwy/foreach_target.h>

#include "fft-inl.hpp"

namespace inthist::correlation {
namespace {

HWY_EXPORT (run_pass);

}  // namespace

Fft::Fft (int length) : length_ (length)
{
  for (int left = length; left > 1;) {
    Pass pass;
    pass.radix = left % 4 == 0 ? 4 : 2;
    const int butterflies = left / pass.radix;
    for (int p = 0; p < butterflies; p++)
      for (int j = 0; j < pass.radix; j++) {
        const double angle = -2 * std::numbers::pi * p * j / left;
        pass.re.push_back (float (std::cos (angle)));
        pass.im.push_back (float (std::sin (angle)));
      }
    passes_.push_back (std::move (pass));
    left = butterflies;
  }
}

void Fft::run (float *re, float *im, int lanes)
{
  run (re, im, std::size_t (lanes), lanes);
}

/// Transforms signals whose elements lie `stride` numbers apart. Only the first pass reads them and
/// only the last one writes them.
void Fft::run (float *re, float *im, std::size_t stride, int lanes)
{
  const std::size_t all = std::size_t (length_) * std::size_t (lanes);
  for (Complexes &scratch : scratch_)
    if (scratch.size () < all)
      scratch = Complexes (all);
  const float *from_re = re, *from_im = im;
  std::size_t left = std::size_t (length_), n = std::size_t (lanes);
  for (std::size_t i = 0; i < passes_.size (); i++) {
    const Pass &pass = passes_[i];
    const bool is_first = i == 0, is_last = i + 1 == passes_.size ();
    const std::size_t radix = std::size_t (pass.radix), butterflies = left / radix;
    const std::size_t in = is_first ? stride : n;
    Butterflies all_of_pass = {
      pass.radix,      int (butterflies), in, butterflies * in, n * radix, n, 1, n, 0, 0,
      pass.re.data (), pass.im.data ()
    };
    if (is_last) {
      all_of_pass.to_step = n / std::size_t (lanes) * stride;
      if (stride != std::size_t (lanes)) {
        all_of_pass.groups = int (n / std::size_t (lanes));
        all_of_pass.lanes = all_of_pass.group_in = std::size_t (lanes);
        all_of_pass.group_out = stride;
      }
    }
    Complexes &scratch = scratch_[i % 2];
    float *const to_re = is_last ? re : scratch.re.data (), *const to_im =
                                                                is_last ? im : scratch.im.data ();
    HWY_DYNAMIC_DISPATCH (run_pass) (all_of_pass, from_re, from_im, to_re, to_im);
    from_re = to_re, from_im = to_im;
    left = butterflies;
    n *= radix;
  }
}

void Fft::run_rows (float *re, float *im, int lanes, std::span<const std::uint8_t> rows)
{
  const std::size_t row = std::size_t (length_) * std::size_t (lanes);
  for (int y = 0; y < length_; y++)
    if (rows.empty () || rows[std::size_t (y)])
      run (re + y * row, im + y * row, lanes);
}

/// Transforms columns, so few at a time that they stay in a cache.
void Fft::run_columns (float *re, float *im, int lanes)
{
  constexpr int kLanes = 32;  // of columns at a time
  const int some = std::clamp (kLanes / lanes, 1, length_);
  const std::size_t row = std::size_t (length_) * std::size_t (lanes);
  for (std::size_t first = 0; first < row; first += std::size_t (some * lanes))
    run (re + first, im + first, row, some * lanes);
}

void Fft::forward_2d (Complexes &pictures, int lanes, std::span<const std::uint8_t> rows)
{
  run_rows (pictures.re.data (), pictures.im.data (), lanes, rows);
  run_columns (pictures.re.data (), pictures.im.data (), lanes);
}

void Fft::inverse_2d (Complexes &spectra, int lanes, std::span<const std::uint8_t> rows)
{
  // the parts change places: that conjugates, but for a factor that is undone after
  run_columns (spectra.im.data (), spectra.re.data (), lanes);
  run_rows (spectra.im.data (), spectra.re.data (), lanes, rows);
}

}  // namespace inthist::correlation
