// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The colours that a histogram's bins stand for.
#pragma once

#include <vector>

#include <gst/integralhist/api/histogram.hpp>

#include "overlay_painter.hpp"

namespace integralhist {

/// Returns the colour in the middle of each bin; nothing where bins are no colours, or a lut made
/// them.
std::vector<Colour> bin_colours (const HistogramSpec &spec, int bins);

}  // namespace integralhist
