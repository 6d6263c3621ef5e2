// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/gst.h>

/// Defines a function that returns a debug category. The first call makes the category.
#define DEFINE_LOG_CATEGORY(function, name, description) \
  GstDebugCategory *function () \
  { \
    static GstDebugCategory *const category = [] { \
      GstDebugCategory *made = nullptr; \
      GST_DEBUG_CATEGORY_INIT (made, name, 0, description); \
      return made; \
    }(); \
    return category; \
  }
