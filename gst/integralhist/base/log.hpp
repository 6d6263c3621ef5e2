// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The library's log: the category "integralhist", which elements use where the category of their
// own is not known. A line that each frame may write has the level LOG, as others cost too much.
#pragma once

#include <gst/gst.h>

namespace integralhist {

GstDebugCategory *log_category ();

}  // namespace integralhist

#define GST_CAT_DEFAULT (integralhist::log_category ())
