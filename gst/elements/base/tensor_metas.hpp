// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tensors of GstAnalytics (GStreamer 1.26) with the counts of regions and with likelihood maps, for
// programs that do not know this library. docs/metas.md has the names of the tensors, which are
// promises. In a build with an older GStreamer, the functions attach nothing.
#pragma once

#include <memory>

#include <gst/base/gstbasetransform.h>

#include <gst/integralhist/meta/region_answers.hpp>

namespace integralhist {

/// Attaches the histograms or sums of a frame's regions as a separate GstTensorMeta. The numbers
/// are computed when a program first maps the tensor, or before, for an element message.
void attach_region_tensors (GstBuffer *buffer, const std::shared_ptr<RegionAnswers> &answers);

/// The places of a likelihood map's windows in pixels of the frame. The window of row r and column
/// c has width x height pixels, and begins at (x + c * x_step, y + r * y_step).
struct MapWindows {
  gsize rows, columns;
  double x, y, x_step, y_step, width, height;
};

/// Attaches a likelihood map, one float per window row by row, as a separate GstTensorMeta.
void attach_map_tensors (GstBuffer *buffer, GstBuffer *values, const MapWindows &windows,
                         const char *measure);

bool has_tensors (const GstMeta *meta);

/// Copies a meta with tensors to another buffer; GStreamer itself copies such metas from 1.28 on.
void copy_tensors (GstBuffer *to, const GstMeta *meta);

/// Replaces prepare_output_buffer of GstBaseTransform: if that function copies a buffer, the copy
/// keeps the tensors and, of an NVMM frame, the pixels.
GstFlowReturn prepare_with_tensors (GstBaseTransform *trans, GstBuffer *in, GstBuffer **out);

}  // namespace integralhist
