// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <string>

#include <gst/app/gstappsink.h>
#include "test.hpp"  // last: it has macros with names of the standard library

/// Returns the first sample of a pipeline that ends in the appsink `sink`. The pipeline is
/// destroyed by then.
inline GstSample *sample_of (const std::string &line)
{
  GError *error = nullptr;
  g_autoptr (GstElement) pipeline = gst_parse_launch (line.c_str (), &error);
  fail_unless (!error, "%s", error ? error->message : "");
  g_autoptr (GstElement) sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  GstSample *sample = gst_app_sink_try_pull_sample (GST_APP_SINK (sink), 20 * GST_SECOND);
  fail_unless (sample, "no sample from %s", line.c_str ());
  gst_element_set_state (pipeline, GST_STATE_NULL);
  return sample;
}
