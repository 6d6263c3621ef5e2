// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Writes metas as bytes for files and other processes, and reads them. All numbers are
// little-endian; the first byte is the version of the format. Received bytes may be anything: a
// reader never reads beyond their end, and allocates no more memory than their number allows.
#pragma once

#include <bit>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <gst/gst.h>

#include "frame_geometry.hpp"

namespace integralhist {

using Bytes = std::vector<guint8>;

class ByteWriter {
public:
  template <class T>
  void add (T value)
  {
    static_assert (std::is_integral_v<T>);
    for (std::size_t i = 0; i < sizeof value; i++)
      bytes_.push_back (guint8 (std::make_unsigned_t<T> (value) >> (8 * i)));
  }
  void add (double value) { add (std::bit_cast<guint64> (value)); }
  void add (const std::string &text)
  {
    add (guint16 (text.size ()));
    bytes_.insert (bytes_.end (), text.begin (), text.end ());
  }
  Bytes take () { return std::move (bytes_); }

private:
  Bytes bytes_;
};

/// Reads numbers and texts from bytes. After the end of the bytes all values are zero.
class ByteReader {
public:
  explicit ByteReader (std::span<const guint8> bytes) : bytes_ (bytes) {}

  template <class T>
  T take ()
  {
    static_assert (std::is_integral_v<T>);
    std::make_unsigned_t<T> value = 0;
    const auto bytes = next (sizeof value);
    for (std::size_t i = 0; i < bytes.size (); i++)
      value = std::make_unsigned_t<T> (value | (std::make_unsigned_t<T> (bytes[i]) << (8 * i)));
    return T (value);
  }
  double take_double () { return std::bit_cast<double> (take<guint64> ()); }
  std::string take_text ()
  {
    const auto bytes = next (take<guint16> ());
    return std::string (bytes.begin (), bytes.end ());
  }
  std::size_t left () const { return bytes_.size (); }
  /// Returns whether all bytes have been read, and no value lay beyond their end.
  bool is_done () const { return !is_short_ && bytes_.empty (); }
  bool is_short () const { return is_short_; }

private:
  std::span<const guint8> next (std::size_t n)
  {
    if (n > bytes_.size ()) {
      is_short_ = true;
      bytes_ = {};
      return {};
    }
    const auto taken = bytes_.first (n);
    bytes_ = bytes_.subspan (n);
    return taken;
  }

  std::span<const guint8> bytes_;
  bool is_short_ = false;
};

inline GBytes *to_gbytes (const Bytes &bytes)
{
  return g_bytes_new (bytes.data (), bytes.size ());
}

inline std::span<const guint8> span_of (GBytes *bytes)
{
  gsize size;
  const auto *const data = static_cast<const guint8 *> (g_bytes_get_data (bytes, &size));
  return { data, size };
}

inline bool is_size (guint64 width, guint64 height)
{
  return width >= 1 && width <= kMaxPixels && height >= 1 && height <= kMaxPixels;
}

inline bool is_place (const GstVideoRectangle &r)
{
  const auto fits = [] (gint at, gint length) {
    return at >= -kMaxPixels && length >= 0 && gint64 (at) + length <= kMaxPixels;
  };
  return fits (r.x, r.w) && fits (r.y, r.h);
}

}  // namespace integralhist
