// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The options of the library: a file of keys, which include the tracker's properties.
#pragma once

#include <string>

#include <gst/track/track_options.hpp>

namespace integralhist::nvmot {

enum class Backend { automatic, cuda, cpu };

struct LibraryOptions {
  TrackOptions track;
  ParsedText<Backend> backend = { "auto", Backend::automatic };
  guint max_targets = 150;  // per stream

  /// Parses the text of a file. Keys that the text does not have keep their value in `options`.
  static Expected<LibraryOptions> parse (const std::string &text, LibraryOptions options);
};

/// Returns the options of a file, or the defaults if the path is empty. Sets `is_missing` to
/// whether the error is that the file does not exist.
Expected<LibraryOptions> read_options (const std::string &path, bool &is_missing);

}  // namespace integralhist::nvmot
