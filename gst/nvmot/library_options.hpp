// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The options of the nvtracker library, from a key file that also has the tracker's properties.
#pragma once

#include <string>

#include <gst/integralhist/factory/make_engine.hpp>
#include <gst/track/track_options.hpp>

namespace integralhist::nvmot {

struct LibraryOptions {
  TrackOptions track;
  ParsedText<Backend> backend = { "auto", Backend::automatic };
  guint max_targets = 150;  // per stream

  /// Parses the text of a key file. Options that the text does not have keep their old values.
  static Expected<LibraryOptions> parse (const std::string &text, LibraryOptions options);
};

/// Reads the library's options from a key file, or returns the defaults if the path is empty. Sets
/// `is_missing` to whether the error is that the file does not exist.
Expected<LibraryOptions> read_options (const std::string &path, bool &is_missing);

}  // namespace integralhist::nvmot
