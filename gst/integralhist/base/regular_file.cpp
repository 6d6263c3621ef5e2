// SPDX-License-Identifier: LGPL-2.1-or-later
#include "regular_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include <glib.h>
#include <sys/stat.h>

namespace integralhist {

static Expected<std::string> read_open_file (int fd, std::size_t most_bytes)
{
  const auto fail = [] (const auto &...why) { return error (Error::Kind::failed, why...); };
  struct stat status;
  if (fstat (fd, &status) != 0)
    return fail (g_strerror (errno));
  if (!S_ISREG (status.st_mode))
    return fail ("it is not a regular file");
  if (status.st_size > off_t (most_bytes))
    return fail ("it has more than ", most_bytes, " bytes");
  std::string text (std::size_t (status.st_size), '\0');
  std::size_t n = 0;
  while (n < text.size ()) {
    const ssize_t got = read (fd, &text[n], text.size () - n);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fail (g_strerror (errno));
    if (got == 0)
      break;
    n += std::size_t (got);
  }
  text.resize (n);
  return text;
}

Expected<std::optional<std::string>> read_regular_file (const std::string &name,
                                                        std::size_t most_bytes)
{
  const int fd = open (name.c_str (), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0 && errno == ENOENT)
    return std::nullopt;
  if (fd < 0)
    return error (Error::Kind::failed, g_strerror (errno));
  auto text = read_open_file (fd, most_bytes);
  close (fd);
  return TRY (std::move (text));
}

}  // namespace integralhist
