// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From the C functions to the engines' tensors and back. Not installed.
#pragma once

#include <cstddef>

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
  } catch (const std::exception &e) {
    g_set_error_literal (error, GST_INTEGRAL_HISTOGRAM_ERROR, GST_INTEGRAL_HISTOGRAM_ERROR_FAILED, e.what ());
  }
  return failed;
}

/// Rectangles as they are, at least one.
inline inthist::Windows
windows_of (const GstVideoRectangle *rectangles, guint n)
{
  using inthist::Region;
  static_assert (sizeof (Region) == sizeof (GstVideoRectangle) && offsetof (Region, y) == offsetof (GstVideoRectangle, y)
                 && offsetof (Region, width) == offsetof (GstVideoRectangle, w)
                 && offsetof (Region, height) == offsetof (GstVideoRectangle, h));
  if (n > G_MAXINT)
    throw Error (GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION, std::to_string (n) + " rectangles at once are too many: ask in parts");
  return { reinterpret_cast<const Region *> (rectangles), int (n), {} };
}

}  // namespace integralhist
