// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pipelines of a benchmark, made from launch lines, and boxes of random targets for them.
#pragma once

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <string>

#include <gst/gst.h>

struct Unref {
  void operator() (gpointer object) const { gst_object_unref (object); }
  void operator() (GstSample *sample) const { gst_sample_unref (sample); }
};
using Element = std::unique_ptr<GstElement, Unref>;
using Sample = std::unique_ptr<GstSample, Unref>;

/// Makes a pipeline. Returns null after an error, which it prints.
inline Element launch (const std::string &line)
{
  GError *problem = nullptr;
  Element pipeline (gst_parse_launch (line.c_str (), &problem));
  if (problem) {
    fprintf (stderr, "%s: %s\n", g_get_prgname (), problem->message);
    g_clear_error (&problem);
    return nullptr;
  }
  return pipeline;
}

inline Element child (const Element &pipeline, const char *name)
{
  return Element (gst_bin_get_by_name (GST_BIN (pipeline.get ()), name));
}

/// Prints the text of an error message.
inline void print_error (GstMessage *message)
{
  g_autoptr (GError) problem = nullptr;
  gst_message_parse_error (message, &problem, nullptr);
  fprintf (stderr, "%s: %s\n", g_get_prgname (), problem->message);
}

/// Prints the error that a pipeline has posted, if any. Returns whether there was one. Drops other
/// messages.
inline bool has_failed (const Element &pipeline)
{
  const std::unique_ptr<GstBus, Unref> bus (gst_element_get_bus (pipeline.get ()));
  GstMessage *const message = gst_bus_pop_filtered (bus.get (), GST_MESSAGE_ERROR);
  if (!message)
    return false;
  print_error (message);
  gst_message_unref (message);
  return true;
}

/// Returns boxes of 24x48 to 60x80 pixels anywhere in a frame, in the form of the property
/// `targets`.
inline std::string random_boxes (int n, int width, int height, unsigned seed)
{
  std::mt19937 random (seed);
  const auto between = [&] (int least, int most) {
    return least + int (random () % unsigned (std::max (1, most - least + 1)));
  };
  std::string boxes;
  for (int i = 0; i < n; i++) {
    const int box_width = between (24, 60), box_height = between (48, 80);
    for (const int number : { between (0, width - box_width), between (0, height - box_height),
                              box_width, box_height })
      boxes += std::to_string (number) + ',';
    boxes.back () = ';';
  }
  boxes.pop_back ();
  return boxes;
}
