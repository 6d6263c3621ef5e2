// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parse.hpp"

#include <algorithm>
#include <charconv>

#include "text_reader.hpp"

namespace integralhist {

static Expected<GstVideoRectangle> read_region (TextReader &reader)
{
  int numbers[4];
  for (int i = 0; i < 4; i++) {
    numbers[i] = TRY (reader.number<int> ());
    if (i < 3)
      TRY (reader.comma (';'));
  }
  if (numbers[2] <= 0 || numbers[3] <= 0)
    return reader.refuse ("a region of ", numbers[2], "x", numbers[3],
                          " pixels is empty, and width and height must be at least 1");
  return GstVideoRectangle{ numbers[0], numbers[1], numbers[2], numbers[3] };
}

Expected<std::vector<GstVideoRectangle>> parse_regions (std::string_view text, const char *name)
{
  TextReader reader (text, name, "write each region as x,y,width,height");
  std::vector<GstVideoRectangle> regions;
  while (!reader.is_at_end ()) {
    regions.push_back (TRY (read_region (reader)));
    if (reader.take (','))
      return reader.refuse ("a region has more than four numbers");
    if (!reader.take (';') && !reader.is_at_end ())
      return reader.missing ("a semicolon");
  }
  return regions;
}

Expected<std::optional<inthist::Feature>> parse_feature (std::string_view text)
{
  if (text.empty ())
    return std::nullopt;
  const auto info = std::ranges::find (inthist::kFeatures, text, &inthist::FeatureInfo::nick);
  if (info != std::end (inthist::kFeatures))
    return inthist::Feature (info - inthist::kFeatures);
  std::string nicks;
  for (const inthist::FeatureInfo &known : inthist::kFeatures)
    nicks += joined (nicks.empty () ? "" : ", ", known.nick);
  return error (Error::Kind::bad_setting, "feature=", quoted (text),
                " is not a feature: leave it empty, or set it to one of ", nicks);
}

Expected<inthist::Quantization> parse_quantization (std::string_view text, inthist::Feature feature,
                                                    const char *name)
{
  using inthist::kMaxBins;
  const inthist::FeatureInfo &info = inthist::info_of (feature);
  const int n = int (std::ranges::count_if (info.quantization, [] (int parts) { return parts; }));
  TextReader reader (text, name,
                     n == 2 ? "write two numbers, such as \"16,8\""
                            : "write three numbers, such as \"6,6,6\"");
  if (reader.is_at_end ())
    return info.quantization;
  if (!info.is_joint ())
    return error (Error::Kind::bad_setting, name, "=", quoted (text), ": feature=", info.nick,
                  " is not joint: leave quantization empty");
  inthist::Quantization parts = {};
  int bins = 1;
  for (int i = 0; i < n; i++) {
    if (i > 0)
      TRY (reader.comma ());
    const int number = TRY (reader.number<int> ());
    if (number < 1 || number > kMaxBins - 1)
      return reader.refuse (reader.last (), " is not a number of parts from 1 to ", kMaxBins - 1);
    parts[i] = std::uint8_t (number);
    bins *= number;
  }
  if (!reader.is_at_end ())
    return reader.refuse ("feature=", info.nick, " has ", n, " values");
  if (bins > kMaxBins)
    return reader.refuse ("these are ", bins, " bins, and at most ", kMaxBins, " are possible");
  return parts;
}

Expected<ParsedLut> parse_lut (std::string_view text, const char *name, inthist::Content content)
{
  const bool is_histogram = content == inthist::Content::bins;
  const auto refuse = [name, is_histogram] (const auto &...why) {
    return error (Error::Kind::bad_setting, name, ": ", why..., "; write 1 to 256 ",
                  is_histogram ? "bins" : "scores", ", the first of value 0, separated by commas");
  };
  ParsedLut parsed;
  parsed.lut.fill (is_histogram ? inthist::kNoValue : 0);
  int &n = parsed.n;
  const char *at = text.data (), *const end = at + text.size ();
  const auto skip_spaces = [&at, end] {
    at = std::find_if_not (at, end, [] (char c) { return g_ascii_isspace (c); });
  };
  skip_spaces ();
  for (bool comma = false; at != end || comma;) {
    if (at == end || *at == ',')
      return refuse ("number ", n + 1,
                     is_histogram ? ", the bin of value " : ", the score of value ", n,
                     ", is empty");
    int bin;
    const auto [after, problem] = std::from_chars (at, end, bin);
    const auto is_separator = [] (char c) { return c == ',' || g_ascii_isspace (c); };
    const char *const word_end = std::find_if (at, end, is_separator);
    if (problem != std::errc () || bin < 0 || bin > 255 || after != word_end)
      return refuse (quoted ({ at, std::min<std::size_t> (8, word_end - at) }),
                     is_histogram ? " is not a bin" : " is not a score", " from 0 to 255");
    if (n == int (parsed.lut.size ()))
      return refuse ("it has more than 256 numbers");
    parsed.lut[std::size_t (n++)] = std::uint8_t (bin);
    at = after;
    skip_spaces ();
    comma = at != end && *at == ',';
    if (comma) {
      at++;
      skip_spaces ();
    }
  }
  if (n == 0)
    return refuse ("it has no number");
  return parsed;
}

Expected<std::vector<int>> parse_device_ids (std::string_view text)
{
  std::vector<int> ids;
  if (text.empty ())
    return ids;
  TextReader reader (text, "cuda-device-ids", "set a list of device numbers, such as \"0,1,2,3\"");
  do {
    const int id = TRY (reader.number<int> ());
    if (id < 0)
      return reader.refuse (reader.last (), " is not a device number");
    if (std::ranges::find (ids, id) != ids.end ())
      return reader.refuse ("device ", id, " is listed twice");
    ids.push_back (id);
  } while (reader.take (','));
  if (!reader.is_at_end ())
    return reader.missing ("a comma");
  return ids;
}

}  // namespace integralhist
