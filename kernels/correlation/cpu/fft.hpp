// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A Fourier transform of many signals at once, in an order of operations that is always the same,
// so that tracks are the same on every device. Signals lie side by side (lanes), and each butterfly
// is a plain loop over them. The method is Stockham's: radix 4 while 4 divides the length, then
// radix 2. No pass reorders anything (Cochran et al., "What is the fast Fourier transform?", 1967).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace inthist::correlation {

/// An array of complex numbers, with the real and the imaginary parts in separate arrays.
struct ComplexArray {
  std::vector<float> re, im;

  ComplexArray () = default;
  explicit ComplexArray (std::size_t n) : re (n), im (n) {}
  std::size_t size () const { return re.size (); }
};

/// The n butterflies of a pass of a transform. Each computes `radix` outputs from `radix` inputs,
/// each of which has a number for each signal: `groups` groups of `lanes` neighbouring numbers.
/// Strides are counted in numbers.
struct Butterflies {
  int radix, n;
  // strides from the first input of a butterfly to that of the next one, and from one input of a
  // butterfly to the next; and the same strides of outputs
  std::size_t butterfly_in_stride, in_stride;
  std::size_t butterfly_out_stride, out_stride;
  int groups;
  std::size_t lanes;
  std::size_t group_in_stride, group_out_stride;  // of inputs, of outputs
  const float *wr, *wi;                           // twiddle factors, `radix` for each butterfly
};

/// Computes Fourier transforms of one length, a power of two from 4 on. The result is X[k] = sum
/// x[n] exp (-2 pi i k n / length), without a division by the length.
class Fft {
public:
  explicit Fft (int length);

  /// Calls `see (re, im)` for each twiddle factor, one pass of the transform after another.
  template <class See>
  void for_twiddles (See &&see) const
  {
    for (const Pass &pass : passes_)
      for (std::size_t i = 0; i < pass.re.size (); i++)
        see (pass.re[i], pass.im[i]);
  }

  /// Transforms `lanes` signals in place. Element n of signal l is at index n * lanes + l.
  void run (float *re, float *im, int lanes) { run (re, im, std::size_t (lanes), lanes); }
  /// Transforms `lanes` signals of length x length. Element (x, y) of signal l is at index (y *
  /// length + x) * lanes + l. Rows with a 0 in `rows` are all 0, and are left out. Without `rows`,
  /// no row is left out.
  void forward_2d (ComplexArray &signals, int lanes, std::span<const std::uint8_t> rows = {});
  /// Computes the inverse transform, multiplied by length x length, of `lanes` spectra: only of the
  /// rows with a 1 in `rows`, or of all rows if it is empty.
  void inverse_2d (ComplexArray &spectra, int lanes, std::span<const std::uint8_t> rows = {});

private:
  struct Pass {
    int radix;
    std::vector<float> re, im;  // twiddles: `radix` for each butterfly
  };

  void run (float *re, float *im, std::size_t stride, int lanes);
  void run_rows (float *re, float *im, int lanes, std::span<const std::uint8_t> rows);
  void run_columns (float *re, float *im, int lanes);

  const int length_;
  std::vector<Pass> passes_;
  ComplexArray scratch_[2];
};

}  // namespace inthist::correlation
