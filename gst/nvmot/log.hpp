// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The log and the console output of the library for nvtracker.
#pragma once

#include <gst/gst.h>

#include <gst/integralhist/base/error.hpp>

namespace integralhist::nvmot {

GstDebugCategory *log_category ();

/// Writes an error to the log and to the console, because users of DeepStream seldom have a log.
void report (const Error &error, const char *doing);

}  // namespace integralhist::nvmot

#define GST_CAT_DEFAULT (integralhist::nvmot::log_category ())
