// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Replaces the buffers that pass a pad, one by one or in lists.
#pragma once

#include <type_traits>

#include <gst/gst.h>

namespace integralhist {

/// Replaces the buffer of a pad probe, or each buffer of its list, by the buffer that `change`
/// returns. `change` takes over the old buffer.
template <class Change>
void change_buffers (GstPadProbeInfo *info, Change &&change)
{
  if (GST_PAD_PROBE_INFO_TYPE (info) & GST_PAD_PROBE_TYPE_BUFFER) {
    info->data = change (GST_PAD_PROBE_INFO_BUFFER (info));
    return;
  }
  GstBufferList *const list = gst_buffer_list_make_writable (GST_PAD_PROBE_INFO_BUFFER_LIST (info));
  gst_buffer_list_foreach (
      list,
      [] (GstBuffer **buffer, guint, gpointer change) -> gboolean {
        *buffer = (*static_cast<std::remove_reference_t<Change> *> (change)) (*buffer);
        return TRUE;
      },
      &change);
  info->data = list;
}

}  // namespace integralhist
