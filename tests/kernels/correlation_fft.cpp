// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The Fourier transform of the correlation filters, compared with its definition in double.
#include <kernels/correlation/cpu/fft.hpp>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "test.hpp"  // last: it has macros with names of the standard library

using namespace inthist::correlation;

namespace {

ComplexArray noise (std::size_t n, unsigned seed)
{
  std::mt19937 random (seed);
  std::uniform_real_distribution<float> number (-1, 1);
  ComplexArray values (n);
  for (std::size_t i = 0; i < n; i++)
    values.re[i] = number (random), values.im[i] = number (random);
  return values;
}

std::complex<double> at (const ComplexArray &values, std::size_t i)
{
  return { values.re[i], values.im[i] };
}

std::complex<double> turn (int steps, int length)
{
  return std::polar (1.0, -2 * std::numbers::pi * (steps % length) / length);
}

// Errors grow with the logarithm of the length, from 2^-24 of the largest sum on.
constexpr double kExact = 1e-5;

}  // namespace

TEST (lines)
{
  for (const int length : { 4, 8, 16, 32, 64 })
    for (const int lanes : { 1, 3, 16 }) {
      const ComplexArray values = noise (std::size_t (length * lanes), unsigned (length + lanes));
      ComplexArray got = values;
      Fft (length).run (got.re.data (), got.im.data (), lanes);
      for (int k = 0; k < length; k++)
        for (int lane = 0; lane < lanes; lane++) {
          std::complex<double> wanted;
          for (int n = 0; n < length; n++)
            wanted += at (values, std::size_t (n * lanes + lane)) * turn (k * n, length);
          fail_unless (std::abs (at (got, std::size_t (k * lanes + lane)) - wanted) < kExact,
                       "length %d, lanes %d: %d", length, lanes, k);
        }
    }
}

TEST (pictures)
{
  constexpr int kSide = 32, kLanes = 2;
  const ComplexArray values = noise (kSide * kSide * kLanes, 7);
  Fft fft (kSide);
  ComplexArray got = values;
  fft.forward_2d (got, kLanes);
  std::mt19937 random (8);
  for (int i = 0; i < 40; i++) {
    const int kx = int (random () % kSide), ky = int (random () % kSide), lane = i % kLanes;
    std::complex<double> wanted;
    for (int y = 0; y < kSide; y++)
      for (int x = 0; x < kSide; x++)
        wanted += at (values, std::size_t ((y * kSide + x) * kLanes + lane))
                  * turn (kx * x + ky * y, kSide);
    fail_unless (std::abs (at (got, std::size_t ((ky * kSide + kx) * kLanes + lane)) - wanted)
                     < 10 * kExact,
                 "frequency %d, %d", kx, ky);
  }
  fft.inverse_2d (got, kLanes);
  for (std::size_t i = 0; i < values.size (); i++)
    fail_unless (std::abs (at (got, i) / double (kSide * kSide) - at (values, i)) < kExact);
}

// a signal's numbers are the same bits whatever the other lanes hold
TEST (same_bits_in_any_lane)
{
  constexpr int kLength = 32, kLanes = 11;
  const ComplexArray one = noise (kLength, 3);
  ComplexArray alone = one, many (kLength * kLanes);
  for (std::size_t i = 0; i < many.size (); i++)
    many.re[i] = one.re[i / kLanes], many.im[i] = one.im[i / kLanes];
  Fft fft (kLength);
  fft.run (alone.re.data (), alone.im.data (), 1);
  fft.run (many.re.data (), many.im.data (), kLanes);
  for (std::size_t i = 0; i < many.size (); i++)
    fail_unless (many.re[i] == alone.re[i / kLanes] && many.im[i] == alone.im[i / kLanes]);
}
