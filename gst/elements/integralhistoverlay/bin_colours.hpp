// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The colours that the bins of a histogram stand for.
#pragma once

#include <vector>

#include <gst/integralhist/api/histogram.hpp>

#include "overlay_painter.hpp"

namespace integralhist {

/// Returns the colour in the middle of each bin; empty if the bins are not colours, or if a lut
/// made the bins.
std::vector<Colour> bin_colours (const HistogramSpec &spec, int bins);

}  // namespace integralhist
