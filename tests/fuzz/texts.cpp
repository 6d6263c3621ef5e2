// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Every text that a user writes: into properties and into INTEGRALHIST_FAULT. The first byte of an
// input chooses the parser, the rest is the text.
// A parser either takes a text, and its result prints as a text that gives the same result, or
// refuses the text with a message that names the property.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

#include <gst/integralhist/api/histogram.hpp>
#include <gst/elements/base/parse.hpp>
#include <gst/elements/integralhistlikelihood/model_text.hpp>
#include <gst/integralhist/sharded/fault.hpp>

#include "require.hpp"

using namespace integralhist;

namespace {

void check_refusal (const Error &error, const std::string &name,
                    Error::Kind kind = Error::Kind::bad_setting)
{
  REQUIRE (error.kind == kind, "%s is refused as kind %d: %s", name.c_str (), int (error.kind),
           error.message.c_str ());
  REQUIRE (error.message.find (name) != std::string::npos, "the message does not name %s: %s",
           name.c_str (), error.message.c_str ());
  REQUIRE (error.message.back () != '.', "the element adds the full stop: %s",
           error.message.c_str ());
}

bool same (const GstVideoRectangle &a, const GstVideoRectangle &b)
{
  return a.x == b.x && a.y == b.y && a.w == b.w && a.h == b.h;
}

std::string print (const GstVideoRectangle &r, const char *comma)
{
  return std::to_string (r.x) + comma + std::to_string (r.y) + comma + std::to_string (r.w) + comma
         + std::to_string (r.h);
}

std::string print (gfloat number)
{
  char text[40];
  std::snprintf (text, sizeof text, "%.9g", double (number));
  return text;
}

/// Returns a list as text, with `separator` between the texts that `print_one` makes of the items.
template <class List, class Print>
std::string join (const List &list, const char *separator, Print &&print_one)
{
  std::string text;
  for (const auto &item : list) {
    if (!text.empty ())
      text += separator;
    text += print_one (item);
  }
  return text;
}

void check_regions (std::string_view text, const char *name)
{
  const auto regions = parse_regions (text, name);
  if (!regions)
    return check_refusal (regions.error (), name);
  for (const GstVideoRectangle &r : *regions)
    REQUIRE (r.w >= 1 && r.h >= 1, "%s has a region of %dx%d", name, r.w, r.h);
  for (const auto &[comma, semicolon] : { std::pair (",", ";"), std::pair (" , ", " ; ") }) {
    const std::string printed =
        join (*regions, semicolon, [comma] (const auto &r) { return print (r, comma); });
    const auto again = parse_regions (printed, name);
    REQUIRE (again && std::ranges::equal (*again, *regions, same), "%s=\"%s\" is taken otherwise",
             name, printed.c_str ());
  }
}

void check_model (std::string_view text)
{
  const auto model = parse_model (text);
  const auto regions = parse_regions (text, "model");
  if (!model)
    return check_refusal (model.error (), "model");
  REQUIRE (regions && regions->size () == (*model ? 1 : 0),
           "the model is taken, and is no region or one");
  if (*model)
    REQUIRE (same (**model, regions->front ()), "the model is another region");
}

void check_histogram (std::string_view text, bool any_numbers)
{
  const auto written = parse_histogram (text, any_numbers);
  if (!written)
    return check_refusal (written.error (), "histogram");
  const std::vector<gfloat> &numbers = written->bins;
  double sum = 0;
  for (const gfloat number : numbers) {
    REQUIRE (std::isfinite (number) && (any_numbers || number >= 0),
             "a histogram has the number %g", double (number));
    sum += double (number);
  }
  REQUIRE (numbers.empty () || any_numbers || sum > 0, "all of the histogram's %zu numbers are 0",
           numbers.size ());
  REQUIRE (!numbers.empty () || !written->feature, "a feature without numbers is taken");
  REQUIRE (written->feature || !written->quantization, "parts of no feature are taken");
  std::string printed;
  if (written->feature)
    printed = inthist::info_of (*written->feature).nick;
  if (written->quantization)
    printed.append (" ").append (text_of (*written->quantization));
  if (written->feature)
    printed += ":";
  printed += join (numbers, ",", [] (gfloat number) { return print (number); });
  const auto again = parse_histogram (printed, any_numbers);
  REQUIRE (again && again->bins == numbers && again->feature == written->feature
               && again->quantization == written->quantization,
           "histogram=\"%s\" is taken otherwise", printed.c_str ());
}

void check_device_ids (std::string_view text)
{
  const auto ids = parse_device_ids (text);
  if (!ids)
    return check_refusal (ids.error (), "cuda-device-ids");
  REQUIRE (std::set (ids->begin (), ids->end ()).size () == ids->size (),
           "a device is listed twice");
  REQUIRE (std::ranges::all_of (*ids, [] (int id) { return id >= 0; }),
           "a device has a negative number");
  const std::string printed = join (*ids, " , ", [] (int id) { return std::to_string (id); });
  const auto again = parse_device_ids (printed);
  REQUIRE (again && *again == *ids, "cuda-device-ids=\"%s\" is taken otherwise", printed.c_str ());
}

void check_fault (std::string_view text)
{
  const auto fault = parse_fault (text);
  if (!fault)
    return check_refusal (fault.error (), "INTEGRALHIST_FAULT");
  REQUIRE (*fault || text.empty (), "the text is taken, and asks for nothing");
  if (!*fault)
    return;
  REQUIRE ((*fault)->device >= 0 && (*fault)->part >= 1, "part %d of device %d", (*fault)->part,
           (*fault)->device);
  const auto again =
      parse_fault (std::to_string ((*fault)->device) + ":" + std::to_string ((*fault)->part));
  REQUIRE (again && *again && (*again)->device == (*fault)->device
               && (*again)->part == (*fault)->part,
           "the fault is taken otherwise");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput (const std::uint8_t *data, std::size_t size)
{
  if (size == 0)
    return 0;
  const std::string_view text (reinterpret_cast<const char *> (data) + 1, size - 1);
  switch (data[0]) {
    case 'r': check_regions (text, "regions"); break;
    case 't': check_regions (text, "targets"); break;
    case 'm': check_model (text); break;
    case 'h': check_histogram (text, false); break;
    case 'w': check_histogram (text, true); break;
    case 'd': check_device_ids (text); break;
    case 'f': check_fault (text); break;
    default: break;  // no parser
  }
  return 0;
}
