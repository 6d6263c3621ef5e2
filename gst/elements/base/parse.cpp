// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parse.hpp"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cmath>

namespace integralhist {
namespace {

/// Returns the text to show users, shortened and printable.
std::string quoted (std::string_view text)
{
  constexpr std::size_t kMax = 200;
  g_autofree char *valid = g_utf8_make_valid (text.data (), gssize (std::min (text.size (), kMax)));
  return joined ("\"", valid, text.size () > kMax ? "...\"" : "\"");
}

/// A text read from left to right, with the property's error.
class Reader {
public:
  Reader (std::string_view text, const char *property, const char *remedy)
      : text_ (text), at_ (text.data ()), end_ (text.data () + text.size ()), property_ (property),
        remedy_ (remedy)
  {
    skip_spaces ();
  }

  bool is_at_end () const { return at_ == end_; }

  /// Skips `c` and the spaces behind it, if it is next.
  bool take (char c)
  {
    if (is_at_end () || *at_ != c)
      return false;
    at_++;
    skip_spaces ();
    return true;
  }

  /// Reads up to `c`, and skips it and the spaces behind it, where there is one.
  std::optional<std::string_view> take_before (char c)
  {
    const char *const found = std::find (at_, end_, c);
    if (found == end_)
      return std::nullopt;
    const std::string_view before (at_, std::size_t (found - at_));
    at_ = found + 1;
    skip_spaces ();
    return before;
  }

  /// Reads a number and the spaces behind it.
  template <class Number>
  Expected<Number> number ()
  {
    Number number;
    const auto [after, problem] = std::from_chars (at_, end_, number);
    if (problem == std::errc::result_out_of_range)
      return refuse (std::string (at_, after), " is out of range", range_of (number));
    if (problem != std::errc ())
      return missing ("a number");
    if (const char *end = std::find_if (after, end_, is_separator); end != after)
      return refuse (quoted ({ at_, std::size_t (end - at_) }), is_no (number));
    last_ = std::string_view (at_, std::size_t (after - at_));
    at_ = after;
    skip_spaces ();
    return number;
  }

  /// Skips the comma before another number. At the end, or at `stop`, it is the number that is
  /// missing.
  Expected<> comma (char stop = ',')
  {
    if (take (','))
      return {};
    return missing (is_at_end () || *at_ == stop ? "a number" : "a comma");
  }

  /// Returns the last number as it was written.
  std::string last () const { return std::string (last_); }

  tl::unexpected<Error> missing (const char *what) const
  {
    return refuse (what, " is missing at ",
                   is_at_end () ? "the end" : quoted ({ at_, std::size_t (end_ - at_) }));
  }

  template <class... Parts>
  tl::unexpected<Error> refuse (const Parts &...why) const
  {
    return error (Error::Kind::bad_setting, property_, "=", quoted (text_), ": ", why..., "; ",
                  remedy_);
  }

private:
  void skip_spaces ()
  {
    while (at_ < end_ && *at_ == ' ')
      at_++;
  }

  static bool is_separator (char c) { return c == ' ' || c == ',' || c == ';' || c == ':'; }
  static const char *is_no (int) { return " is no whole number"; }
  static const char *is_no (float) { return " is no number"; }
  static std::string range_of (int) { return joined (" (", INT_MIN, " to ", INT_MAX, ")"); }
  static std::string range_of (float) { return ""; }

  const std::string_view text_;
  const char *at_, *const end_;
  const char *const property_, *const remedy_;
  std::string_view last_;
};

Expected<GstVideoRectangle> read_region (Reader &reader)
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

}  // namespace

Expected<std::vector<GstVideoRectangle>> parse_regions (std::string_view text, const char *name)
{
  Reader reader (text, name, "a region is x,y,width,height");
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

Expected<std::optional<GstVideoRectangle>> parse_model (std::string_view text)
{
  const auto regions = TRY (parse_regions (text, "model"));
  if (regions.size () > 1)
    return error (Error::Kind::bad_setting, "model=", quoted (text), " has ", regions.size (),
                  " regions, and a model is one: write x,y,width,height");
  return regions.empty () ? std::optional<GstVideoRectangle> () : regions.front ();
}

/// Reads what stands before the numbers of a histogram, "hue" or "hsv 16,4,4".
static Expected<WrittenHistogram> read_header (const Reader &reader, std::string_view header)
{
  const std::size_t end = std::min (header.find (' '), header.size ());
  const std::string_view nick = header.substr (0, end), parts = header.substr (end);
  const auto info = std::ranges::find (inthist::kFeatures, nick, &inthist::FeatureInfo::nick);
  if (info == std::end (inthist::kFeatures))
    return reader.refuse (quoted (nick),
                          " is no feature, as hue or \"hsv 16,4,4\" before a colon is");
  const auto feature = inthist::Feature (info - inthist::kFeatures);
  WrittenHistogram written = { {}, feature, {} };
  if (parts.find_first_not_of (' ') != parts.npos)
    written.quantization =
        TRY (parse_quantization (parts, feature, "the quantization in histogram"));
  return written;
}

Expected<WrittenHistogram> parse_histogram (std::string_view text, bool any_numbers)
{
  Reader reader (text, "histogram",
                 any_numbers ? "write a number for each bin, separated by commas"
                             : "write a number of 0 or more for each bin, separated by commas");
  WrittenHistogram written;
  if (const auto header = reader.take_before (':')) {
    written = TRY (read_header (reader, *header));
    if (reader.is_at_end ())
      return reader.missing ("a number");
  }
  std::vector<gfloat> &numbers = written.bins;
  while (!reader.is_at_end ()) {
    const gfloat number = TRY (reader.number<gfloat> ());
    if (!std::isfinite (number) || (number < 0 && !any_numbers))
      return reader.refuse (reader.last (), " cannot be in a histogram",
                            number < 0 && std::isfinite (number)
                                ? " unless measure=linear, which takes weights of any sign"
                                : "");
    numbers.push_back (number);
    if (reader.is_at_end ())
      break;
    if (!reader.take (','))
      return reader.missing ("a comma");
    if (reader.is_at_end ())
      return reader.missing ("a number");
  }
  if (!numbers.empty () && !any_numbers
      && std::ranges::all_of (numbers, [] (gfloat number) { return number == 0; }))
    return reader.refuse ("it is empty, as all of its numbers are 0");
  return written;
}

Expected<std::optional<inthist::Feature>> parse_feature (std::string_view text)
{
  if (text.empty ())
    return std::nullopt;
  const auto info = std::ranges::find (inthist::kFeatures, text, &inthist::FeatureInfo::nick);
  if (info != std::end (inthist::kFeatures))
    return inthist::Feature (info - inthist::kFeatures);
  std::string nicks;
  for (const inthist::FeatureInfo &one : inthist::kFeatures)
    nicks += joined (nicks.empty () ? "" : ", ", one.nick);
  return error (Error::Kind::bad_setting, "feature=", quoted (text),
                " is no feature: leave it empty, or set it to one of ", nicks);
}

Expected<inthist::Quantization> parse_quantization (std::string_view text, inthist::Feature feature,
                                                    const char *name)
{
  constexpr int kMaxBins = 256;
  const inthist::FeatureInfo &info = inthist::info_of (feature);
  const int n = int (std::ranges::count_if (info.quantization, [] (int parts) { return parts; }));
  Reader reader (text, name,
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
      return reader.refuse (reader.last (), " is no number of parts from 1 to ", kMaxBins - 1);
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
  const bool bins = content == inthist::Content::bins;
  const auto refuse = [name, bins] (const auto &...why) {
    return error (Error::Kind::bad_setting, name, ": ", why..., "; write 1 to 256 ",
                  bins ? "bins" : "scores", ", the first of value 0, separated by commas");
  };
  ParsedLut parsed;
  parsed.lut.fill (bins ? inthist::kNoValue : 0);
  int &n = parsed.n;
  const char *at = text.data (), *const end = at + text.size ();
  const auto skip_spaces = [&at, end] {
    at = std::find_if_not (at, end, [] (char c) { return g_ascii_isspace (c); });
  };
  skip_spaces ();
  for (bool comma = false; at != end || comma;) {
    if (at == end || *at == ',')
      return refuse ("number ", n + 1, bins ? ", the bin of value " : ", the score of value ", n,
                     ", is empty");
    int bin;
    const auto [after, problem] = std::from_chars (at, end, bin);
    if (problem != std::errc () || bin < 0 || bin > 255
        || (after != end && *after != ',' && !g_ascii_isspace (*after)))
      return refuse (quoted ({ at, std::min<std::size_t> (8, end - at) }),
                     bins ? " is no bin" : " is no score", " from 0 to 255");
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
  Reader reader (text, "cuda-device-ids", "set a list of device numbers, such as \"0,1,2,3\"");
  do {
    const int id = TRY (reader.number<int> ());
    if (id < 0)
      return reader.refuse (reader.last (), " is no device");
    if (std::ranges::find (ids, id) != ids.end ())
      return reader.refuse ("device ", id, " is listed twice");
    ids.push_back (id);
  } while (reader.take (','));
  if (!reader.is_at_end ())
    return reader.missing ("a comma");
  return ids;
}

}  // namespace integralhist
