// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The command line of a benchmark or a fuzzer: options, each with a value, and flags.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace command_line {

/// Takes a value, unless it is wrong.
using Take = std::function<bool (const std::string &value)>;

/// Takes numbers of a range, and keeps the last, or all of them.
template <class Number, class Keep>
Take in_range (Number least, Number most, Keep keep)
{
  return [=] (const std::string &value) {
    Number number = {};
    const char *const end = value.data () + value.size ();
    const auto read = std::from_chars (value.data (), end, number);
    if (read.ec != std::errc () || read.ptr != end || !(number >= least && number <= most))
      return false;
    keep (number);
    return true;
  };
}

template <class Number>
Take number (Number &to, Number least, Number most = std::numeric_limits<Number>::max ())
{
  return in_range (least, most, [&to] (Number number) { to = number; });
}

template <class Number>
Take numbers (std::vector<Number> &to, Number least,
              Number most = std::numeric_limits<Number>::max ())
{
  return in_range (least, most, [&to] (Number number) { to.push_back (number); });
}

inline Take size (int &width, int &height, int least, int most)
{
  return [=, &width, &height] (const std::string &value) {
    const std::size_t by = value.find ('x');
    return by != value.npos && number (width, least, most) (value.substr (0, by))
           && number (height, least, most) (value.substr (by + 1));
  };
}

inline Take sizes (std::vector<std::pair<int, int>> &to, int least, int most)
{
  return [=, &to] (const std::string &value) {
    auto &[width, height] = to.emplace_back ();
    return size (width, height, least, most) (value);
  };
}

/// Takes any text, or one of these.
inline Take text (std::string &to, std::vector<std::string> known = {})
{
  return [known = std::move (known), &to] (const std::string &value) {
    to = value;
    return known.empty () || std::ranges::find (known, value) != known.end ();
  };
}

/// Ends the program after --help, and if an option is unknown or its value is wrong.
inline void read (int argc, char **argv, const char *help, const std::map<std::string, Take> &takes,
                  const std::map<std::string, bool *> &flags = {})
{
  for (int i = 1; i < argc; i++) {
    const std::string name = argv[i];
    if (name == "--help" || name == "-h") {
      std::printf ("%s", help);
      std::exit (0);
    }
    if (const auto flag = flags.find (name); flag != flags.end ()) {
      *flag->second = true;
      continue;
    }
    const auto option = takes.find (name);
    if (option != takes.end () && i + 1 < argc && option->second (argv[++i]))
      continue;
    std::fprintf (stderr, "%s: no such option, or its value is missing or wrong\n%s", name.c_str (),
                  help);
    std::exit (2);
  }
}

}  // namespace command_line
