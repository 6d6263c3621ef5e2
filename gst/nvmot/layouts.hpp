// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The structs that nvtracker and a tracker library of DeepStream 8.0 to 9.1 share in memory. The
// names are this project's; sizes, offsets and numbers are facts from NVIDIA's documentation and
// headers, and no other file has them. The library neither reads nor writes members called
// `unused`. Flags that nvtracker writes are declared as bytes, because a bool must be 0 or 1.
#pragma once

#include <cstddef>

#include <glib.h>

namespace integralhist::nvmot {

enum class Status : gint32 { ok, error, invalid_path };

/// A box, in pixels of the frame after nvtracker has scaled it.
struct Box {
  float x, y, width, height;
};

struct InputObject {
  guint16 class_id;
  Box box;
  float confidence;  // below 0 if the detector gives no confidence
  guint8 does_track;
  void *data;  // for the caller
};
static_assert (offsetof (InputObject, box) == 4 && offsetof (InputObject, confidence) == 20);
static_assert (offsetof (InputObject, data) == 32 && sizeof (InputObject) == 40);

struct InputList {
  guint8 is_detector_done;
  InputObject *objects;
  guint32 n_allocated, n_filled;
};
static_assert (offsetof (InputList, objects) == 8 && offsetof (InputList, n_filled) == 20);
static_assert (sizeof (InputList) == 24);

/// The memory layout of a frame of a batch in DeepStream 9.1.
struct Frame91 {
  guint64 stream;
  guint32 sequence, number;
  struct {
    guint32 number_again;
    guint64 frame, local;  // nanoseconds
    guint8 is_valid;       // of the frame time
  } time;
  guint32 width, height;  // of the frame before scaling
  guint8 does_track, is_reset;
  guint8 n_surfaces;
  void **surfaces;  // NvBufSurfaceParams (gst/frame/nvmm_surface.hpp)
  InputList input;
  char *sensor;
};
static_assert (offsetof (Frame91, time.frame) == 24 && offsetof (Frame91, time.is_valid) == 40);
static_assert (offsetof (Frame91, time.number_again) == 16 && offsetof (Frame91, width) == 48);
static_assert (offsetof (Frame91, does_track) == 56 && offsetof (Frame91, n_surfaces) == 58);
static_assert (offsetof (Frame91, surfaces) == 64 && offsetof (Frame91, input) == 72);
static_assert (offsetof (Frame91, sensor) == 96 && sizeof (Frame91) == 104);

/// The memory layout of a frame of a batch in DeepStream 8.0 and 9.0.
struct Frame80 {
  guint64 stream;
  guint32 sequence, number;
  guint32 width, height;
  gint64 seconds;
  guint8 has_time;  // never
  guint8 does_track, is_reset;
  guint8 n_surfaces;
  void **surfaces;
  InputList input;
};
static_assert (offsetof (Frame80, width) == 16 && offsetof (Frame80, seconds) == 24);
static_assert (offsetof (Frame80, has_time) == 32 && offsetof (Frame80, n_surfaces) == 35);
static_assert (offsetof (Frame80, surfaces) == 40 && offsetof (Frame80, input) == 48);
static_assert (sizeof (Frame80) == 72);

/// The batch of frames that nvtracker passes to NvMOT_Process.
struct ProcessParams {
  guint32 n_frames;
  void *frames;  // array of Frame91 or Frame80
};
static_assert (offsetof (ProcessParams, frames) == 8 && sizeof (ProcessParams) == 16);

struct OutputObject {
  guint16 class_id;
  guint64 id;
  Box box;
  float confidence;
  guint32 age;                 // frames
  InputObject *associated;     // the target's detection in this frame, or null
  std::byte unused[376 - 48];  // outputs that the library's Capabilities do not promise
};
static_assert (offsetof (OutputObject, id) == 8 && offsetof (OutputObject, box) == 16);
static_assert (offsetof (OutputObject, confidence) == 32 && offsetof (OutputObject, age) == 36);
static_assert (offsetof (OutputObject, associated) == 40 && offsetof (OutputObject, unused) == 48);
static_assert (sizeof (OutputObject) == 376);

struct OutputList {
  guint64 stream;
  guint32 number;  // of the frame
  bool is_valid;
  OutputObject *objects;
  guint32 n_allocated, n_filled;
};
static_assert (offsetof (OutputList, is_valid) == 12 && offsetof (OutputList, objects) == 16);
static_assert (offsetof (OutputList, n_filled) == 28 && sizeof (OutputList) == 32);

/// The targets of all frames of a batch, which NvMOT_Process writes.
struct OutputBatch {
  OutputList *lists;
  guint32 n_allocated, n_filled;
  void *unused;
};
static_assert (offsetof (OutputBatch, n_filled) == 12 && sizeof (OutputBatch) == 24);

/// The size to which nvtracker scales the frames of a batch.
struct Transform {
  guint32 type, width, height, pitch, bytes;
};
static_assert (offsetof (Transform, width) == 4 && sizeof (Transform) == 20);

struct Config {
  guint8 compute;  // nvtracker sets neither `compute` nor `n_transforms`
  guint32 max_streams;
  guint32 max_surfaces;
  guint8 n_transforms;
  Transform *transforms;
  guint32 gpu;
  guint16 path_length;
  char *path;  // from the property ll-config-file
};
static_assert (offsetof (Config, max_streams) == 4 && offsetof (Config, transforms) == 16);
static_assert (offsetof (Config, gpu) == 24 && offsetof (Config, path_length) == 28);
static_assert (offsetof (Config, path) == 32 && sizeof (Config) == 40);

enum class ConfigStatus : gint32 { ok, error, invalid, unsupported };

/// What NvMOT_Init answers about the parts of a Config: which of them are invalid.
struct ConfigResponse {
  ConfigStatus summary, compute, transforms, other, file;
};
static_assert (sizeof (ConfigResponse) == 20);

inline constexpr guint8 kComputeGpu = 1, kComputeCpu = 2;
inline constexpr gint32 kNv12 = 6;
inline constexpr gint32 kPinnedMemory = 1, kDeviceMemory = 2;
inline constexpr gint32 kBatches = 1;

/// What NvMOT_Query answers about the library. nvtracker sets the answers to zero before the call,
/// and `context` to the context that it asks about, or to null before there is one.
struct Capabilities {
  guint8 compute, n_transforms;
  gint32 colour_format;
  gint32 memory;
  guint32 max_targets;  // of a stream
  std::byte unused[40 - 16];
  gint32 batch_mode;
  std::byte more_unused[56 - 44];
  void *context;
};
static_assert (offsetof (Capabilities, colour_format) == 4 && offsetof (Capabilities, memory) == 8);
static_assert (offsetof (Capabilities, max_targets) == 12
               && offsetof (Capabilities, batch_mode) == 40);
static_assert (offsetof (Capabilities, context) == 56 && sizeof (Capabilities) == 64);

}  // namespace integralhist::nvmot
