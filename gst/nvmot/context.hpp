// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A context of nvtracker: the streams of a batch, which are tracked at the same time.
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

/// Returns whether CUDA computes with this backend. An error is that it cannot, and must.
Expected<bool> uses_cuda (Backend backend);

/// Any thread may call.
class Context {
public:
  /// Makes a context with options that were read.
  static Expected<std::unique_ptr<Context>> make (const Config &config, LibraryOptions options);

  /// Tracks the targets of all frames of a batch. After an error all lists that can be written to
  /// are empty.
  Expected<> process (const ProcessParams &params, OutputBatch &output);
  void remove_stream (guint64 stream);
  /// Changes the options of the tracker that the text of a file has, from the next batch on. A text
  /// with an error changes nothing. `backend` and `max-targets` hold as long as the context.
  Expected<> update (const std::string &text);
  LibraryOptions options ();

private:
  Context (const GstVideoInfo &info, guint max_streams, Devices devices, LibraryOptions options);

  /// A frame of a batch, and where it goes.
  struct Task {
    BatchFrame frame;
    Stream *stream;
    OutputList *output;
  };
  struct KnownStream {
    std::unique_ptr<Stream> stream;
    guint64 last_batch;  // number of the last batch that has the stream
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
  std::optional<Release> release_;          // by the registry, and then by the first frame
  std::map<guint64, KnownStream> streams_;  // by nvtracker's id, at most max_known_
  guint64 n_batches_ = 0;
  guint32 next_number_;  // of a stream
};

}  // namespace integralhist::nvmot
