// SPDX-License-Identifier: LGPL-2.1-or-later
#include "error.hpp"

#include <cerrno>
#include <iterator>
#include <memory>

namespace integralhist {

static GstIntegralHistogramError code_of (Error::Kind kind)
{
  switch (kind) {
    case Error::Kind::timeout: return GST_INTEGRAL_HISTOGRAM_ERROR_TIMEOUT;
    case Error::Kind::no_memory: return GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY;
    case Error::Kind::not_downloaded: return GST_INTEGRAL_HISTOGRAM_ERROR_NOT_DOWNLOADED;
    case Error::Kind::overflow: return GST_INTEGRAL_HISTOGRAM_ERROR_OVERFLOW;
    case Error::Kind::bad_question: return GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION;
    default: return GST_INTEGRAL_HISTOGRAM_ERROR_FAILED;
  }
}

static Error::Kind kind_of (const GError *error)
{
  if (error->domain != GST_INTEGRAL_HISTOGRAM_ERROR)
    return Error::Kind::failed;
  switch (error->code) {
    case GST_INTEGRAL_HISTOGRAM_ERROR_TIMEOUT: return Error::Kind::timeout;
    case GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY: return Error::Kind::no_memory;
    case GST_INTEGRAL_HISTOGRAM_ERROR_NOT_DOWNLOADED: return Error::Kind::not_downloaded;
    case GST_INTEGRAL_HISTOGRAM_ERROR_OVERFLOW: return Error::Kind::overflow;
    case GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION: return Error::Kind::bad_question;
    default: return Error::Kind::failed;
  }
}

Expected<> check_host (int result)
{
  switch (result) {
    case 0: return {};
    case ENOMEM: return error (Error::Kind::no_memory, "the host has not enough memory to compute");
    case ECANCELED: return error (Error::Kind::flushing, "computing was given up");
    default: return error (Error::Kind::no_threads, no_threads (g_strerror (result)));
  }
}

void set_gerror (GError **target, const Error &error)
{
  g_set_error_literal (target, GST_INTEGRAL_HISTOGRAM_ERROR, code_of (error.kind),
                       error.message.c_str ());
}

tl::unexpected<Error> take_gerror (GError *taken, const char *doing)
{
  const std::unique_ptr<GError, void (*) (GError *)> owner (taken, g_error_free);
  return taken ? error (kind_of (taken), doing, taken->message)
               : error (Error::Kind::failed, doing, "the integral histogram could not be asked");
}

std::string describe (const inthist::Shape &shape)
{
  const std::string size = joined (" of ", shape.width, "x", shape.height, " pixels");
  if (shape.content == inthist::Content::bins)
    return joined ("the integral histogram", size, " with ", shape.bins, " bins (",
                   inthist::name_of (shape.counter), ")");
  return (shape.bins > 1 ? "the tables of values and squares" : "the summed-area table") + size;
}

std::string no_threads (const std::string &why)
{
  return "no thread could be started (" + why
         + "): raise the limits on threads (ulimit -u, the container's pids.max) and on address "
           "space (ulimit -v)";
}

/// Returns what g_format_size returns, with a plain space instead, so that users can search for it.
static std::string size_text (double size)
{
  constexpr const char *kUnits[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size (kUnits); unit++)
    size /= 1024;
  g_autofree char *printed = g_strdup_printf (unit > 0 ? "%.2f %s" : "%.0f %s", size, kUnits[unit]);
  return printed;
}

std::string no_memory (const std::string &what, std::size_t bytes, const Available &available)
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

std::string no_memory_for_tensor (const inthist::Shape &shape, std::size_t bytes,
                                  const Available &available, unsigned alive)
{
  std::string message = no_memory (describe (shape), bytes, available);
  if (alive > 0)
    message += joined (", with ", alive, " held already: set max-tensors to wait for them,");
  else
    message += ":";
  if (shape.content == inthist::Content::bins)
    message +=
        shape.counter == inthist::Type::u32 ? " lower bins, set counter=u16," : " lower bins,";
  else if (shape.bins > 1)
    message += " set squared=false,";
  return message + " or scale the video down";
}

}  // namespace integralhist
