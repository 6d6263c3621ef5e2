// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A context of an nvtracker element: the video streams of its batches, tracked in parallel.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "layouts.hpp"
#include "library_options.hpp"
#include "stream.hpp"

namespace integralhist::nvmot {

/// Returns whether a backend uses CUDA; an error if it requires CUDA, and CUDA cannot be used.
Expected<bool> uses_cuda (Backend backend);

/// The streams of an nvtracker element. Any thread may call the functions.
class Context {
public:
  static Expected<std::unique_ptr<Context>> make (const Config &config, LibraryOptions options);

  /// Tracks targets in all frames of a batch. After an error all lists of tracks are empty.
  Expected<> process (const ProcessParams &params, OutputBatch &output);
  void remove_stream (guint64 stream);
  /// Sets the tracker's options to those in the text of a key file, from the next batch on. A text
  /// with an error changes nothing. `backend` and `max-targets` cannot change in a context.
  Expected<> update (const std::string &text);
  LibraryOptions options ();

private:
  Context (const GstVideoInfo &info, guint max_streams, Devices devices, LibraryOptions options);

  /// A frame of a batch, the stream that tracks its targets, and the list for its tracks.
  struct Task {
    BatchFrame frame;
    VideoStream *stream;
    OutputList *output;
  };
  struct KnownStream {
    std::unique_ptr<VideoStream> stream;
    guint64 last_batch;  // number of the last batch with a frame of this stream
  };
  void drop_absent_streams ();
  Expected<std::vector<Task>> read (const ProcessParams &params, const OutputBatch &output);
  Expected<> process (const Task &task);

  const GstVideoInfo info_;
  const guint max_streams_;      // in a batch
  const std::size_t max_known_;  // streams, also absent ones
  const Devices devices_;

  std::mutex mutex_;  // guards all below
  LibraryOptions options_;
  std::optional<Release> release_;          // of nvtracker
  std::map<guint64, KnownStream> streams_;  // by nvtracker's id; at most max_known_ streams
  guint64 n_batches_ = 0;
  guint32 next_number_;  // for the next stream
};

}  // namespace integralhist::nvmot
