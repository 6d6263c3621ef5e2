// SPDX-License-Identifier: LGPL-2.1-or-later
#include "library_options.hpp"

#include <gst/integralhist/base/regular_file.hpp>

namespace integralhist::nvmot {

static constexpr char kGroup[] = "integralhisttrack";
static constexpr std::size_t kMaxBytes = 64 << 10;

static Expected<Backend> parse_backend (const std::string &text)
{
  if (text == "auto")
    return Backend::automatic;
  if (text == "cuda")
    return Backend::cuda;
  if (text == "cpu")
    return Backend::cpu;
  return error (Error::Kind::bad_setting, "backend=", text, ": set it to auto, cuda or cpu");
}

static const PropertyTable<LibraryOptions> &table ()
{
  // The table lives as long as the process, because no GObject class owns its property specs.
  static const auto *const table = [] {
    auto *const made = new PropertyTable<LibraryOptions>;
    made->part (track_properties (), FIELD (track));
    made->parsed ("backend", FIELD (backend), kReady, "Device that computes", parse_backend);
    made->number<guint> ("max-targets", FIELD (max_targets), 1, kMaxTargets, kReady,
                         "Maximum detections and tracks of a stream in a frame");
    return made;
  }();
  return *table;
}

Expected<LibraryOptions> LibraryOptions::parse (const std::string &text, LibraryOptions options)
{
  g_autoptr (GKeyFile) file = g_key_file_new ();
  GError *problem = nullptr;
  if (!g_key_file_load_from_data (file, text.data (), text.size (), G_KEY_FILE_NONE, &problem))
    return take_gerror (problem);
  g_auto (GStrv) groups = g_key_file_get_groups (file, nullptr);
  for (gchar **group = groups; *group; group++)
    if (g_strcmp0 (*group, kGroup) != 0)
      return error (Error::Kind::bad_setting, "there is no group [", valid_utf8 (*group),
                    "]: write keys into [", kGroup, "]");
  g_auto (GStrv) keys = g_key_file_get_keys (file, kGroup, nullptr, nullptr);
  for (gchar **key = keys; key && *key; key++) {
    g_autofree gchar *value = g_key_file_get_value (file, kGroup, *key, nullptr);
    TRY (table ().set_text (options, valid_utf8 (*key), valid_utf8 (g_strstrip (value))));
  }
  TRY (table ().check (options));
  return options;
}

Expected<LibraryOptions> read_options (const std::string &path, bool &is_missing)
{
  is_missing = false;
  if (path.empty ())
    return LibraryOptions ();
  const auto refuse = [&path] (const std::string &why) {
    return error (Error::Kind::bad_setting, "ll-config-file=", valid_utf8 (path), ": ", why);
  };
  const auto text = read_regular_file (path, kMaxBytes);
  if (!text)
    return refuse (text.error ().message);
  is_missing = !text->has_value ();
  if (is_missing)
    return refuse ("there is no such file: name one, or leave ll-config-file out");
  auto options = LibraryOptions::parse (**text, {});
  if (!options)
    return refuse (options.error ().message);
  return options;
}

}  // namespace integralhist::nvmot
