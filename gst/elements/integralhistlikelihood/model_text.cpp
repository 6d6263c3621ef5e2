// SPDX-License-Identifier: LGPL-2.1-or-later
#include "model_text.hpp"

#include <algorithm>
#include <cmath>

#include <gst/elements/base/text_reader.hpp>

namespace integralhist {

Expected<std::optional<GstVideoRectangle>> parse_model (std::string_view text)
{
  const auto regions = TRY (parse_regions (text, "model"));
  if (regions.size () > 1)
    return error (Error::Kind::bad_setting, "model=", quoted (text), " has ", regions.size (),
                  " regions, and a model is one: write x,y,width,height");
  return regions.empty () ? std::optional<GstVideoRectangle> () : regions.front ();
}

/// Reads the feature before the numbers of a histogram in text, such as "hue" or "hsv 16,4,4".
static Expected<WrittenHistogram> read_header (const TextReader &reader, std::string_view header)
{
  const std::size_t end = std::min (header.find (' '), header.size ());
  const std::string_view nick = header.substr (0, end), parts = header.substr (end);
  const auto feature = parse_feature (nick).value_or (std::nullopt);
  if (!feature)
    return reader.refuse (quoted (nick),
                          " is not a feature, such as hue or \"hsv 16,4,4\" before a colon");
  WrittenHistogram written = { {}, feature, {} };
  if (parts.find_first_not_of (' ') != parts.npos)
    written.quantization =
        TRY (parse_quantization (parts, *feature, "the quantization in histogram"));
  return written;
}

Expected<WrittenHistogram> parse_histogram (std::string_view text, bool any_numbers)
{
  TextReader reader (text, "histogram",
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
    return reader.refuse ("all of its numbers are 0");
  return written;
}

}  // namespace integralhist
