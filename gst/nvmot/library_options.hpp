// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The options of the library: a file of keys, the tracker's properties among them.
#pragma once

#include <string>

#include <gst/track/track_options.hpp>

namespace integralhist::nvmot {

enum class Backend { automatic, cuda, cpu };

struct LibraryOptions {
  TrackOptions track;
  ParsedText<Backend> backend = { "auto", Backend::automatic };
  guint max_targets = 150;  // of a stream

  /// Parses the text of a file. Keys that the text leaves out stay as they are in `options`.
  static Expected<LibraryOptions> parse (const std::string &text, LibraryOptions options);
};

/// Returns the options of a file, or the defaults if the path is empty. `is_missing` tells whether
/// the error is that there is no such file.
Expected<LibraryOptions> read_options (const std::string &path, bool &is_missing);

}  // namespace integralhist::nvmot
