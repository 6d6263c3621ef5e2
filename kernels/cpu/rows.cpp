// SPDX-License-Identifier: LGPL-2.1-or-later
//
// rows: a CPU strategy that scans each row of a plane in registers, adds the row above, and writes
// the tensor H once: H(y, x) = H(y - 1, x) + (the sum of row y up to column x).
//
// A task is one bin in one strip of rows (strips.hpp). It keeps the current row of H in the L1
// cache, and only writes the tensor: past the caches if rows are aligned. Traffic: the tensor once,
// and the bin indices (1 byte a pixel) once a bin from L2. A summed-area table that fits in the
// caches is written to them, and the row above is read from there.
//
// The vector code is compiled once for each instruction set. Inside a row, 16 bytes tell which
// pixels are in the bin (1 or 0). Four shifted additions turn them into prefix sums, which are
// widened to counters. Sums of two neighbouring values are scanned in the same way, eight in a
// block of 16 bytes. Squares and weights are scanned four in a block.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "strips.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "columns-inl.hpp"

HWY_BEFORE_NAMESPACE ();
namespace inthist::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Sets out[i], for i = 0..63, to the number of bytes of `bins` that equal `bin`, from the start of
/// byte i's group of 16 up to byte i.
HWY_INLINE void scan_64 (const std::uint8_t *HWY_RESTRICT bins, std::uint8_t bin,
                         std::uint8_t *HWY_RESTRICT out)
{
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < 64; i++)
    out[i] = std::uint8_t ((bins[i] == bin) + (i % 16 ? out[i - 1] : 0));
#else
  const hn::CappedTag<std::uint8_t, 64> d8;
  const auto wanted = hn::Set (d8, bin), one = hn::Set (d8, 1);
  for (std::size_t i = 0; i < 64; i += hn::Lanes (d8)) {
    auto sum = hn::And (hn::VecFromMask (d8, hn::Eq (hn::LoadU (d8, bins + i), wanted)), one);
    sum = hn::Add (sum, hn::ShiftLeftBytes<1> (d8, sum));
    sum = hn::Add (sum, hn::ShiftLeftBytes<2> (d8, sum));
    sum = hn::Add (sum, hn::ShiftLeftBytes<4> (d8, sum));
    sum = hn::Add (sum, hn::ShiftLeftBytes<8> (d8, sum));
    hn::Store (sum, d8, out + i);
  }
#endif
}

/// Computes a row of the tensor for a bin from a row of bin indices. `row` (padded to 64) has the
/// tensor's row above, and becomes the new row, which is also written to `out`.
template <class T, bool kStream>
HWY_INLINE void scan_row_of_bins (const std::uint8_t *HWY_RESTRICT bins, int width,
                                  std::uint8_t bin, T *HWY_RESTRICT row, T *HWY_RESTRICT out)
{
  const hn::CappedTag<T, 16> d;
  const hn::Rebind<std::uint8_t, decltype (d)> d_bytes;
  const std::size_t lanes = hn::Lanes (d);
  alignas (64) std::uint8_t local[64];
  T before = 0;  // pixels of the bin in this row, left of the current 16 columns

  for (int x = 0; x < width; x += 64) {
    scan_64 (bins + x, bin, local);
    for (int group = 0; group < 64; group += 16) {
      const auto base = hn::Set (d, before);
      for (std::size_t i = 0; i < 16; i += lanes) {
        const int at = x + group + int (i);
        const auto count = hn::PromoteTo (d, hn::LoadU (d_bytes, local + group + i));
        const auto sum = hn::Add (hn::Load (d, row + at), hn::Add (count, base));
        hn::Store (sum, d, row + at);
        if (at + int (lanes) <= width) {
          if constexpr (kStream)
            hn::Stream (sum, d, out + at);
          else
            hn::StoreU (sum, d, out + at);
        } else if (at < width) {
          std::memcpy (out + at, row + at, (width - at) * sizeof (T));
        }
      }
      before = T (before + local[group + 15]);
    }
  }
}

#if HWY_TARGET != HWY_SCALAR
using Values = hn::CappedTag<std::uint16_t, 16>;
using Sums = hn::RepartitionToWide<Values>;  // half as many lanes

HWY_INLINE hn::Vec<Sums> last_lane (hn::Vec<Sums> sums)
{
  const Sums d;
  return hn::TableLookupLanes (
      sums, hn::IndicesFromVec (d, hn::Set (d, std::uint32_t (hn::Lanes (d) - 1))));
}

/// Computes prefix sums of the four 32-bit lanes of each block of 16 bytes, and then over both
/// blocks if a vector has two.
HWY_INLINE hn::Vec<Sums> scan_lanes (hn::Vec<Sums> sums)
{
  const Sums d;
  sums = hn::Add (sums, hn::ShiftLeftLanes<1> (d, sums));
  sums = hn::Add (sums, hn::ShiftLeftLanes<2> (d, sums));
  if (hn::Lanes (d) > 4)
    sums = hn::Add (sums, hn::ConcatLowerLower (d, hn::Broadcast<3> (sums), hn::Zero (d)));
  return sums;
}

HWY_INLINE hn::Vec<Sums> lower_sums (hn::Vec<Values> values)
{
  return hn::PromoteTo (Sums (), hn::LowerHalf (values));
}

HWY_INLINE hn::Vec<Sums> upper_sums (hn::Vec<Values> values)
{
  return hn::PromoteTo (Sums (), hn::UpperHalf (hn::Half<Values> (), values));
}

/// Interleaves sums of even and odd columns, and calls put (column, sums) from left to right.
template <class Put>
HWY_INLINE void interleave (hn::Vec<Values> even, hn::Vec<Values> odd, Put &&put)
{
  const Values d;
  const int lanes = int (hn::Lanes (Sums ()));
  const bool one_block = lanes == 4;
  const auto left = hn::InterleaveLower (d, even, odd),  // of each block
      right = hn::InterleaveUpper (d, even, odd);
  put (0, lower_sums (left));
  put (lanes, one_block ? upper_sums (left) : lower_sums (right));
  put (2 * lanes, one_block ? lower_sums (right) : upper_sums (left));
  put (3 * lanes, upper_sums (right));
}

/// Computes the prefix sums of a vector of 8-bit values, starting from the sum in all lanes of
/// `before`, to which the values are added. Calls put (column, sums) with the sums as 32 bits.
/// Pairs of neighbouring values are scanned, which are half as many: a pair's prefix sum, less the
/// odd value, is that of the even column. On one thread of an EPYC (Zen 4) 1280x720 takes 100 us,
/// and 118 us if each value has a lane (inthist-check rows --bench --device cpu --table u8:u32
/// --size 1280x720 --buffers 1). Vectors of 512 bits were 0.87 times as fast.
template <class Put>
HWY_INLINE void scan_values (const std::uint8_t *values, hn::Vec<Sums> &before, Put &&put)
{
  const Values d;
  const auto pixels = hn::BitCast (d, hn::LoadU (hn::RepartitionToNarrow<Values> (), values)),
             odd = hn::ShiftRight<8> (pixels);
  auto pairs = hn::Add (hn::And (pixels, hn::Set (d, 255)), odd);
  pairs = hn::Add (pairs, hn::ShiftLeftLanes<1> (d, pairs));
  pairs = hn::Add (pairs, hn::ShiftLeftLanes<2> (d, pairs));
  pairs = hn::Add (pairs, hn::ShiftLeftLanes<4> (d, pairs));  // of a block, 16 values
  interleave (hn::Sub (pairs, odd), pairs, [&] (int column, hn::Vec<Sums> sums) {
    put (column, hn::Add (sums, before));
    if ((column + int (hn::Lanes (Sums ()))) % 16 == 0)
      before = hn::Add (before, last_lane (sums));
  });
}

/// Computes the prefix sums of the squares of half a vector of 8-bit values, as scan_values ().
template <class Put>
HWY_INLINE void scan_squares (const std::uint8_t *values, hn::Vec<Sums> &before, Put &&put)
{
  const Values d;
  auto squares = hn::PromoteTo (d, hn::LoadU (hn::Rebind<std::uint8_t, Values> (), values));
  squares = hn::Mul (squares, squares);
  const auto first = scan_lanes (lower_sums (squares)), second = scan_lanes (upper_sums (squares));
  const auto middle = hn::Add (before, last_lane (first));
  put (0, hn::Add (first, before));
  put (int (hn::Lanes (Sums ())), hn::Add (second, middle));
  before = hn::Add (middle, last_lane (second));
}
#endif

/// Computes a row of a summed-area table from a row of values (kSquare: of their squares) and the
/// row of the table above. The new row goes to `out`; with kStream, past the caches, and also to
/// `row`.
template <bool kSquare, bool kStream>
HWY_INLINE void scan_row_of_values (const std::uint8_t *HWY_RESTRICT values, int width,
                                    const std::uint32_t *above, std::uint32_t *row,
                                    std::uint32_t *out)
{
  std::uint32_t left = 0;  // sum left of x
  int x = 0;
#if HWY_TARGET != HWY_SCALAR
  const Sums d;
  const int step = int (hn::Lanes (d)) * (kSquare ? 2 : 4);
  auto before = hn::Zero (d);
  for (; x + step <= width; x += step) {
    const auto put = [&] (int column, hn::Vec<Sums> sums) {
      const int at = x + column;
      sums = hn::Add (sums, hn::LoadU (d, above + at));
      if constexpr (kStream) {
        hn::Store (sums, d, row + at);
        hn::Stream (sums, d, out + at);
      } else {
        hn::StoreU (sums, d, out + at);
      }
    };
    if constexpr (kSquare)
      scan_squares (values + x, before, put);
    else
      scan_values (values + x, before, put);
  }
  left = hn::GetLane (before);
#endif
  for (; x < width; x++) {
    left += kSquare ? std::uint32_t (values[x]) * values[x] : values[x];
    out[x] = above[x] + left;
    if (kStream)
      row[x] = out[x];
  }
}

/// Returns what weighted pixels (WeightedPixel words) add to bin number `bin`; `before` is the
/// number of the previous bin, whose pixels also add to it.
#if HWY_TARGET != HWY_SCALAR
HWY_INLINE hn::Vec<Sums> weights_of (hn::Vec<Sums> words, hn::Vec<Sums> bin, hn::Vec<Sums> before)
{
  const Sums d;
  const auto has = hn::And (words, hn::Set (d, 255));
  const auto to_bin = hn::And (hn::ShiftRight<8> (words), hn::Set (d, WeightedPixel::kMax));
  return hn::Add (hn::IfThenElseZero (hn::Eq (has, bin), to_bin),
                  hn::IfThenElseZero (hn::Eq (has, before), hn::ShiftRight<20> (words)));
}
#endif

/// Computes a row of the tensor for a bin from a row of weighted pixels. `row` has the tensor's row
/// above, and becomes the new row, which is also written to `out`.
template <bool kStream>
HWY_INLINE void scan_row_of_weights (const WeightedPixel *HWY_RESTRICT pixels, int width, int bin,
                                     int bins, std::uint32_t *HWY_RESTRICT row,
                                     std::uint32_t *HWY_RESTRICT out)
{
  std::uint32_t left = 0;
  int x = 0;
#if HWY_TARGET != HWY_SCALAR
  const Sums d;
  const int lanes = int (hn::Lanes (d));
  const auto wanted = hn::Set (d, std::uint32_t (bin)),
             before_it = hn::Set (d, std::uint32_t (bin == 0 ? bins - 1 : bin - 1));
  auto before = hn::Zero (d);
  for (; x + lanes <= width; x += lanes) {
    const auto words = hn::LoadU (d, &pixels[x].word);
    const auto sums = scan_lanes (weights_of (words, wanted, before_it));
    const auto all = hn::Add (hn::Add (sums, before), hn::Load (d, row + x));
    before = hn::Add (before, last_lane (sums));  // the next vector waits only for this
    hn::Store (all, d, row + x);
    if constexpr (kStream)
      hn::Stream (all, d, out + x);
    else
      hn::StoreU (all, d, out + x);
  }
  left = hn::GetLane (before);
#endif
  for (; x < width; x++) {
    left += pixels[x].to (bin, bins);
    row[x] += left;
    out[x] = row[x];
  }
}

/// Computes the tensor's rows first..last - 1 for a bin. row_above has the sums of the columns
/// above these rows. With `past_caches`, aligned rows are written past the caches. Returns false if
/// the job was cancelled.
template <class T>
bool scan_strip (const Job &job, int bin, int first, int last, void *row_above, bool past_caches)
{
  T *row = static_cast<T *> (row_above);
  if (first > 0)
    for (int x = 1; x < job.shape.width; x++)
      row[x] = T (row[x] + row[x - 1]);
  std::uint8_t *plane = static_cast<std::uint8_t *> (job.tensor) + bin * job.layout.plane_pitch;
  const bool aligned = (reinterpret_cast<std::uintptr_t> (plane) | job.layout.row_pitch) % 64 == 0,
             stream = aligned && past_caches;
  for (int y = first; y < last; y++) {
    if (is_set (job.cancelled)) {
      hwy::FlushStream ();
      return false;
    }
    const std::uint8_t *pixels = job.pixels.data + y * job.pixels.stride;
    T *out = reinterpret_cast<T *> (plane + y * job.layout.row_pitch);
    const auto add = [&] (auto streams) {
      constexpr bool kStream = streams;
      if (job.shape.content == Content::bins)
        scan_row_of_bins<T, kStream> (pixels, job.shape.width, std::uint8_t (bin), row, out);
      else if constexpr (sizeof (T) == 4) {
        if (job.shape.content == Content::weights)
          return scan_row_of_weights<kStream> (reinterpret_cast<const WeightedPixel *> (pixels),
                                               job.shape.width, bin, job.shape.bins, row, out);
        const T *const above =
            kStream || y == first ? row : out - job.layout.row_pitch / sizeof (T);
        bin == 0 ? scan_row_of_values<false, kStream> (pixels, job.shape.width, above, row, out)
                 : scan_row_of_values<true, kStream> (pixels, job.shape.width, above, row, out);
      }
    };
    if (stream)
      add (std::true_type ());
    else
      add (std::false_type ());
  }
  hwy::FlushStream ();
  return true;
}

bool scan_strip_u32 (const Job &job, int bin, int first, int last, void *row_above,
                     bool past_caches)
{
  return scan_strip<std::uint32_t> (job, bin, first, last, row_above, past_caches);
}

bool scan_strip_u16 (const Job &job, int bin, int first, int last, void *row_above,
                     bool past_caches)
{
  return scan_strip<std::uint16_t> (job, bin, first, last, row_above, past_caches);
}

#if HWY_TARGET != HWY_SCALAR
/// Adds up n rows of a vector of 8-bit values. Calls put (column, sums) with the sums of columns.
template <class Put>
HWY_INLINE void add_up_values (const std::uint8_t *values, std::size_t stride, int n, Put &&put)
{
  const Values d;
  const hn::RepartitionToNarrow<Values> d_bytes;
  auto both = hn::Zero (d), odd = both;  // modulo 2^16, even + 256 odd
  for (int i = 0; i < n; i++, values += stride) {
    const auto pairs = hn::BitCast (d, hn::LoadU (d_bytes, values));
    both = hn::Add (both, pairs);
    odd = hn::Add (odd, hn::ShiftRight<8> (pairs));
  }
  interleave (hn::Sub (both, hn::ShiftLeft<8> (odd)), odd, put);
}

/// Adds up the squares of n rows of half a vector of 8-bit values, as add_up_values ().
template <class Put>
HWY_INLINE void add_up_squares (const std::uint8_t *values, std::size_t stride, int n, Put &&put)
{
  const Values d;
  auto lower = hn::Zero (Sums ()), upper = lower;
  for (int i = 0; i < n; i++, values += stride) {
    const auto words = hn::PromoteTo (d, hn::LoadU (hn::Rebind<std::uint8_t, Values> (), values)),
               squares = hn::Mul (words, words);
    lower = hn::Add (lower, lower_sums (squares));
    upper = hn::Add (upper, upper_sums (squares));
  }
  put (0, lower);
  put (int (hn::Lanes (Sums ())), upper);
}
#endif

/// Adds to sums[x] the values in column x, or their squares; false if the job was cancelled. Reads
/// some rows at a time, along the rows: a picture of 4096 columns took four times as long if it was
/// read column by column.
template <bool kSquare>
bool add_columns (const Job &job, int first, int last, std::uint32_t *HWY_RESTRICT sums)
{
  constexpr int kRows = 16;  // rows added at once; the sum of 256 values fits in 16 bits
  const std::size_t stride = job.pixels.stride;
  for (int y = first; y < last; y += kRows) {
    if (is_set (job.cancelled))
      return false;
    const int rows = std::min (kRows, last - y);
    const std::uint8_t *const values = job.pixels.data + y * stride;
    int x = 0;
#if HWY_TARGET != HWY_SCALAR
    const Sums d;
    const int step = int (hn::Lanes (d)) * (kSquare ? 2 : 4);
    for (; x + step <= job.shape.width; x += step) {
      const auto put = [&] (int column, hn::Vec<Sums> more) {
        hn::StoreU (hn::Add (more, hn::LoadU (d, sums + x + column)), d, sums + x + column);
      };
      if constexpr (kSquare)
        add_up_squares (values + x, stride, rows, put);
      else
        add_up_values (values + x, stride, rows, put);
    }
#endif
    for (; x < job.shape.width; x++)
      for (int i = 0; i < rows; i++) {
        const std::uint32_t value = values[i * stride + x];
        sums[x] += kSquare ? value * value : value;
      }
  }
  return true;
}

/// Adds to sums[x] what the weighted pixels in column x add to a bin; false if cancelled.
inline bool add_weights (const Job &job, int bin, int first, int last,
                         std::uint32_t *HWY_RESTRICT sums)
{
  const int bins = job.shape.bins;
  for (int y = first; y < last; y++) {
    if (is_set (job.cancelled))
      return false;
    const auto *const pixels =
        reinterpret_cast<const WeightedPixel *> (job.pixels.data + y * job.pixels.stride);
    int x = 0;
#if HWY_TARGET != HWY_SCALAR
    const Sums d;
    const int lanes = int (hn::Lanes (d));
    const auto wanted = hn::Set (d, std::uint32_t (bin)),
               before = hn::Set (d, std::uint32_t (bin == 0 ? bins - 1 : bin - 1));
    for (; x + lanes <= job.shape.width; x += lanes) {
      const auto words = hn::LoadU (d, &pixels[x].word);
      hn::StoreU (hn::Add (weights_of (words, wanted, before), hn::LoadU (d, sums + x)), d,
                  sums + x);
    }
#endif
    for (; x < job.shape.width; x++)
      sums[x] += pixels[x].to (bin, bins);
  }
  return true;
}

bool count_u32 (const Job &job, int bin, int first, int last, void *counts)
{
  if (job.shape.content == Content::bins)
    return count_columns (job, bin, first, last, static_cast<std::uint32_t *> (counts));
  auto *const sums = static_cast<std::uint32_t *> (counts);
  if (job.shape.content == Content::weights)
    return add_weights (job, bin, first, last, sums);
  return bin == 0 ? add_columns<false> (job, first, last, sums)
                  : add_columns<true> (job, first, last, sums);
}

bool count_u16 (const Job &job, int bin, int first, int last, void *counts)
{
  return count_columns (job, bin, first, last, static_cast<std::uint16_t *> (counts));
}

}  // namespace inthist::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE ();

#if HWY_ONCE

namespace inthist {
namespace cpu {
namespace {

HWY_EXPORT (scan_strip_u32);
HWY_EXPORT (scan_strip_u16);
HWY_EXPORT (count_u32);
HWY_EXPORT (count_u16);

// A summed-area table of at most this many bytes is written to the caches; a larger one goes past
// them. On two cores of an EPYC with 32 MiB of L3 the caches were faster for 1920x1080 (7.9 MiB),
// and writing past them for 3840x2160 (31.6 MiB) (inthist-check rows --bench --device cpu --table
// u8:u32 --buffers 1 --size 1920x1080). The difference was not noted.
constexpr std::size_t kCachedTable = 8 << 20;

bool goes_past_caches (const Job &job)
{
  return job.shape.content != Content::sums
         || job.layout.plane_pitch * job.shape.bins > kCachedTable;
}

template <class Body>
auto with_counter (const Shape &shape, Body &&body)
{
  return bytes_of (shape.counter) == 4 ? body (std::uint32_t ()) : body (std::uint16_t ());
}

std::size_t workspace_bytes (const Shape &shape, const Tuning &)
{
  return with_counter (shape, [&]<class T> (T) { return Strips<T>::workspace_bytes (shape); });
}

int run (const Job &job)
{
  const bool past_caches = goes_past_caches (job);
  return with_counter (job.shape, [&]<class T> (T) {
    constexpr bool kWide = sizeof (T) == 4;
    auto *const count = kWide ? HWY_DYNAMIC_DISPATCH (count_u32) : HWY_DYNAMIC_DISPATCH (count_u16);
    auto *const scan =
        kWide ? HWY_DYNAMIC_DISPATCH (scan_strip_u32) : HWY_DYNAMIC_DISPATCH (scan_strip_u16);
    return Strips<T> (job).count_and_scan (count, scan, past_caches);
  });
}

bool supports (const Shape &shape, const Tuning &)
{
  return (shape.pixel == Type::u8 && !is_floating (shape.counter))
         || shape.content == Content::weights;
}

}  // namespace
}  // namespace cpu

extern constinit const Strategy kRows = {
  .name = "rows",
  .description = "CPU: each row scanned in SIMD registers, the tensor written once past the caches",
  .device = Device::cpu,
  .workspace_bytes = cpu::workspace_bytes,
  .run = cpu::run,
  .takes_weights = true,
  .supports = cpu::supports,
  .limit = "8-bit or weighted pixels, and integer elements"
};

}  // namespace inthist

#endif
