// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Memory for likelihood maps. A map's memory is reused once all readers have released the map.
#pragma once

#include <gst/gst.h>

namespace integralhist {

class MapMemory {
public:
  MapMemory () = default;
  ~MapMemory () { clear (); }
  MapMemory (const MapMemory &) = delete;
  MapMemory &operator= (const MapMemory &) = delete;

  /// Returns a buffer of `bytes` bytes (transfer full), or null if the memory cannot be allocated.
  GstBuffer *take (gsize bytes)
  {
    if (!pool_ || bytes_ != bytes) {
      clear ();
      bytes_ = bytes;
      pool_ = gst_buffer_pool_new ();
      GstStructure *config = gst_buffer_pool_get_config (pool_);
      gst_buffer_pool_config_set_params (config, nullptr, guint (bytes), 0, 0);
      if (!gst_buffer_pool_set_config (pool_, config) || !gst_buffer_pool_set_active (pool_, TRUE))
        return nullptr;
    }
    GstBuffer *buffer = nullptr;
    return gst_buffer_pool_acquire_buffer (pool_, &buffer, nullptr) == GST_FLOW_OK ? buffer
                                                                                   : nullptr;
  }
  void clear ()
  {
    if (pool_)
      gst_buffer_pool_set_active (pool_, FALSE);
    gst_clear_object (&pool_);
  }

private:
  GstBufferPool *pool_ = nullptr;
  gsize bytes_ = 0;
};

}  // namespace integralhist
