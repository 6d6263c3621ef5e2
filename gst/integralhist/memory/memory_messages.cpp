// SPDX-License-Identifier: LGPL-2.1-or-later
#include "memory_messages.hpp"

#include <iterator>

namespace integralhist {

/// Returns bytes as text such as "1.50 GiB", with a plain space, so that users can search for it.
static std::string size_text (double size)
{
  constexpr const char *kUnits[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size (kUnits); unit++)
    size /= 1024;
  g_autofree char *printed = g_strdup_printf (unit > 0 ? "%.2f %s" : "%.0f %s", size, kUnits[unit]);
  return printed;
}

std::string no_memory_text (const std::string &what, std::size_t bytes, const Available &available)
{
  return joined (what, " takes ", size_text (double (bytes)), ", and ",
                 size_text (double (available.bytes)), " of ", available.of, " are free");
}

std::string no_memory_within (const std::string &what, std::size_t bytes, const char *limit,
                              std::size_t value)
{
  return what + " takes " + size_text (double (bytes)) + ", and " + limit + " is "
         + size_text (double (value));
}

std::string no_memory_for_tensor (const Shape &shape, const Available &available, unsigned alive)
{
  std::string message = no_memory_text (describe (shape), inthist::tensor_bytes (shape), available);
  message += alive > 0
                 ? joined (", with ", alive, " held already: set max-tensors to wait for them,")
                 : ":";
  if (shape.content == Content::bins)
    message +=
        shape.counter == inthist::Type::u32 ? " lower bins, set counter=u8-tiled," : " lower bins,";
  else if (shape.content == Content::weights)
    message += " lower bins,";
  else if (shape.has_squares ())
    message += " set squared=false,";
  return message + " or scale the video down";
}

}  // namespace integralhist
