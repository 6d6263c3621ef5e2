// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tensors of GstAnalytics (GStreamer 1.26): what regions count, and likelihood maps, for those who
// know nothing of this library. docs/metas.md has their names, which are promises. Built with an
// older GStreamer, these functions attach nothing.
#pragma once

#include <memory>

#include <gst/base/gstbasetransform.h>

#include <gst/integralhist/meta/region_answers.hpp>

namespace integralhist {

/// Attaches what regions have, a GstTensorMeta of its own. Nothing is computed for it: whoever maps
/// the tensor first asks, unless a message has done so.
void attach_region_tensors (GstBuffer *buffer, const std::shared_ptr<RegionAnswers> &answers);

/// Memory for the values of likelihood maps. It is used again once nobody reads it any more.
class MapMemory {
public:
  MapMemory () = default;
  ~MapMemory () { clear (); }
  MapMemory (const MapMemory &) = delete;
  MapMemory &operator= (const MapMemory &) = delete;

  /// Returns a buffer of this size (transfer full), or null without memory.
  GstBuffer *take (gsize bytes);
  /// Lets go of what is kept.
  void clear ();

private:
  GstBufferPool *pool_ = nullptr;
  gsize bytes_ = 0;
};

/// The windows of a map. That of row r and column c is width x height pixels of the frame, from
/// (x + c * x_step, y + r * y_step) on.
struct MapWindows {
  gsize rows, columns;
  double x, y, x_step, y_step, width, height;
};

/// Attaches a map, a GstTensorMeta of its own. `values` is a float for each window, row by row.
void attach_map_tensors (GstBuffer *buffer, GstBuffer *values, const MapWindows &windows,
                         const char *measure);

/// Returns whether a meta has tensors.
bool has_tensors (const GstMeta *meta);

/// Copies a meta that has tensors: GStreamer does so from 1.28 on.
void copy_tensors (GstBuffer *to, const GstMeta *meta);

/// What elements do instead of the base class's prepare_output_buffer: a buffer that is copied
/// keeps its tensors, and the pixels of an NVMM frame.
GstFlowReturn prepare_with_tensors (GstBaseTransform *trans, GstBuffer *in, GstBuffer **out);

}  // namespace integralhist
