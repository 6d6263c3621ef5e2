// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Helpers of the tests of pipelines in CUDA memory.
//
// Environment:
//   INTHIST_TEST_DATA=folder  where vtest.avi and woman.mp4 are
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "test.hpp"  // last: it has macros with names of the standard library

/// Returns whether there are a GPU and the elements, and prints what is missing.
inline bool have (const std::string &what, std::vector<const char *> elements)
{
  g_autoptr (GstElement) element = gst_element_factory_make ("cudaintegralhist", nullptr);
  gst_util_set_object_arg (G_OBJECT (element), "backend", "cuda");
  const bool device = gst_element_set_state (element, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE;
  gst_element_set_state (element, GST_STATE_NULL);
  if (!device) {
    printf ("SKIP: %s: no CUDA device\n", what.c_str ());
    return false;
  }
  for (const char *name : elements) {
    g_autoptr (GstElementFactory) factory = gst_element_factory_find (name);
    if (!factory) {
      printf ("SKIP: %s: no element %s\n", what.c_str (), name);
      return false;
    }
  }
  return true;
}

inline std::string data (const char *name)
{
  const char *folder = g_getenv ("INTHIST_TEST_DATA");
  return std::string (folder ? folder : SOURCE_ROOT "/../shared/data") + "/" + name;
}

/// Returns a source of a video's frames in CUDA memory; empty, with a message, without one.
inline std::string decoded_on_gpu (const char *name)
{
  if (!have ("nvh264dec", { "nvh264dec", "cudadownload", "h264parse" }))
    return "";
  const std::string file = data (name);
  if (!g_file_test (file.c_str (), G_FILE_TEST_EXISTS)) {
    printf ("SKIP: nvh264dec: no %s; set INTHIST_TEST_DATA to a folder with it\n", file.c_str ());
    return "";
  }
  return "filesrc location=" + file + " ! qtdemux ! h264parse ! nvh264dec";
}
