// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From the C functions to the engines' tensors and back. Not installed.
#pragma once

#include <cstddef>
#include <new>

#include "engine.hpp"

namespace integralhist {

/// Runs `body`; an Error becomes a GError and `failed`.
template <class Result, class Body>
Result
guarded (GError **error, Result failed, Body &&body)
{
  try {
    return body ();
  } catch (const Error &e) {
    g_set_error_literal (error, GST_INTEGRAL_HISTOGRAM_ERROR, e.code, e.what ());
  } catch (const std::bad_alloc &) {
    g_set_error_literal (error, GST_INTEGRAL_HISTOGRAM_ERROR, GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY,
                         "there is no memory for what is asked: ask in parts");
  } catch (const std::exception &e) {
    g_set_error_literal (error, GST_INTEGRAL_HISTOGRAM_ERROR, GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, e.what ());
  }
  return failed;
}

/// Of one question; so few that indices of windows and of threads stay within 32 bits.
constexpr gint64 kMostWindows = G_MAXINT / 8;

/// Rectangles as they are, at least one.
inline inthist::Windows
windows_of (const GstVideoRectangle *rectangles, guint n)
{
  using inthist::Region;
  static_assert (sizeof (Region) == sizeof (GstVideoRectangle) && offsetof (Region, y) == offsetof (GstVideoRectangle, y)
                 && offsetof (Region, width) == offsetof (GstVideoRectangle, w)
                 && offsetof (Region, height) == offsetof (GstVideoRectangle, h));
  if (n > kMostWindows)
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION, std::to_string (n) + " rectangles at once are too many: ask in parts");
  return { reinterpret_cast<const Region *> (rectangles), int (n), {} };
}

}  // namespace integralhist
