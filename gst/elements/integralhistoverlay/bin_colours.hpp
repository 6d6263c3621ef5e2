// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The colours that the bins of a histogram stand for, for the bars of bar charts.
#pragma once

#include <vector>

#include <gst/integralhist/api/histogram.hpp>

#include "overlay_painter.hpp"

namespace integralhist {

/// Returns the colour of each bin's middle; empty for other features, and with a lookup table.
std::vector<Colour> bin_colours (const HistogramSpec &spec, int bins);

}  // namespace integralhist
