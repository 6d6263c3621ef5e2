// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tensors of GstAnalytics (GStreamer 1.26): the counts of regions, and likelihood maps, for
// programs that do not know this library. docs/metas.md has the names of the tensors, which are
// promises. Built with an older GStreamer, these functions attach nothing.
#pragma once

#include <memory>

#include <gst/base/gstbasetransform.h>

#include <gst/integralhist/meta/region_answers.hpp>

namespace integralhist {

/// Attaches the numbers of regions as a separate GstTensorMeta. The numbers are computed when a
/// reader first maps the tensor, unless a message has needed them before.
void attach_region_tensors (GstBuffer *buffer, const std::shared_ptr<RegionAnswers> &answers);

/// Memory for the values of likelihood maps. It is reused once all readers have released it.
class MapMemory {
public:
  MapMemory () = default;
  ~MapMemory () { clear (); }
  MapMemory (const MapMemory &) = delete;
  MapMemory &operator= (const MapMemory &) = delete;

  /// Returns a buffer of this size (transfer full), or null if there is no memory.
  GstBuffer *take (gsize bytes);
  /// Frees the idle memory.
  void clear ();

private:
  GstBufferPool *pool_ = nullptr;
  gsize bytes_ = 0;
};

/// The windows of a map. The window of row r and column c is width x height pixels of the frame,
/// from (x + c * x_step, y + r * y_step) on.
struct MapWindows {
  gsize rows, columns;
  double x, y, x_step, y_step, width, height;
};

/// Attaches a map as a separate GstTensorMeta. `values` has a float for each window, row by row.
void attach_map_tensors (GstBuffer *buffer, GstBuffer *values, const MapWindows &windows,
                         const char *measure);

/// Returns whether a meta has tensors.
bool has_tensors (const GstMeta *meta);

/// Copies a meta that has tensors; GStreamer itself does so from 1.28 on.
void copy_tensors (GstBuffer *to, const GstMeta *meta);

/// Replaces the base class's prepare_output_buffer, so that a copied buffer keeps its tensors, and
/// the pixels of an NVMM frame.
GstFlowReturn prepare_with_tensors (GstBaseTransform *trans, GstBuffer *in, GstBuffer **out);

}  // namespace integralhist
