// SPDX-License-Identifier: LGPL-2.1-or-later
#include "error.hpp"

#include <cerrno>
#include <memory>

#include "cancel.hpp"
#include "log.hpp"

namespace integralhist {

std::string text_of_number (double number)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  return g_ascii_formatd (text, sizeof text, "%g", number);
}

std::string valid_utf8 (std::string_view text)
{
  g_autofree gchar *valid = g_utf8_make_valid (text.data (), gssize (text.size ()));
  return valid;
}

static GstIntegralHistogramError code_of (Error::Kind kind)
{
  switch (kind) {
    case Error::Kind::timeout: return GST_INTEGRAL_HISTOGRAM_ERROR_TIMEOUT;
    case Error::Kind::no_memory: return GST_INTEGRAL_HISTOGRAM_ERROR_NO_MEMORY;
    case Error::Kind::not_downloaded: return GST_INTEGRAL_HISTOGRAM_ERROR_NOT_DOWNLOADED;
    case Error::Kind::overflow: return GST_INTEGRAL_HISTOGRAM_ERROR_OVERFLOW;
    case Error::Kind::bad_question: return GST_INTEGRAL_HISTOGRAM_ERROR_BAD_QUESTION;
    case Error::Kind::failed:
    case Error::Kind::flushing:
    case Error::Kind::no_threads:
    case Error::Kind::no_device:
    case Error::Kind::bad_setting:
    case Error::Kind::bad_frame:
    case Error::Kind::no_histogram: break;
  }
  return GST_INTEGRAL_HISTOGRAM_ERROR_FAILED;
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
    default: return CancelScope::is_cancelled () ? Error::Kind::flushing : Error::Kind::failed;
  }
}

std::string name_of (const std::source_location &where)
{
  const std::string_view path = where.file_name ();
  return joined (path.substr (path.rfind ('/') + 1), ":", where.line ());
}

Expected<> check_host (int result)
{
  switch (result) {
    case 0: return {};
    case ENOMEM:
      return error (Error::Kind::no_memory,
                    "the host has too little memory to compute: use smaller frames or fewer bins");
    case ECANCELED: return error (Error::Kind::flushing, "computing was given up");
    default: return error (Error::Kind::no_threads, no_threads_text (g_strerror (result)));
  }
}

void set_gerror (GError **target, const Error &error)
{
  if (!error.detail.empty ())  // logged, because a GError has no field for the detail
    GST_DEBUG ("%s (%s)", error.message.c_str (), error.detail.c_str ());
  g_set_error_literal (target, GST_INTEGRAL_HISTOGRAM_ERROR, code_of (error.kind),
                       error.message.c_str ());
}

tl::unexpected<Error> take_gerror (GError *taken, const char *doing)
{
  const std::unique_ptr<GError, void (*) (GError *)> owner (taken, g_error_free);
  return taken ? error (kind_of (taken), doing, taken->message)
               : error (Error::Kind::failed, doing,
                        "the integral histogram gives no answer, and no reason");
}

std::string describe (const Shape &shape)
{
  const std::string size = joined (" of ", shape.width, "x", shape.height, " pixels");
  if (shape.content == Content::bins)
    return joined ("the integral histogram", size, " with ", shape.bins, " bins (",
                   inthist::name_of (shape.counter), ")");
  if (shape.content == Content::weights)
    return joined ("the integral histogram of weights", size, " with ", shape.bins, " bins");
  return (shape.has_squares () ? "the tables of values and squares" : "the summed-area table")
         + size;
}

std::string no_threads_text (const std::string &why)
{
  return "no thread could be started (" + why
         + "): raise the limits on threads (ulimit -u, the container's pids.max) and on address "
           "space (ulimit -v)";
}

}  // namespace integralhist
