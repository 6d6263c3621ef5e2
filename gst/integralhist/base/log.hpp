// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The library logs in the GStreamer debug category "integralhist", as does code that does not know
// its element's category. A message that may appear for each frame has the level LOG, because other
// levels cost too much.
#pragma once

#include <gst/gst.h>

namespace integralhist {

GstDebugCategory *log_category ();

}  // namespace integralhist

#define GST_CAT_DEFAULT (integralhist::log_category ())
