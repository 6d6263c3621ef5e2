// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pictures and their likelihood maps, by the documented formula in double precision over pixels
// counted one by one, and a harness over integralhistlikelihood.
#pragma once

#include <algorithm>

#include <gst/integralhist/gstintegralhist.h>

#include "formulas.hpp"
#include "alone.hpp"
#include "pixel_sums.hpp"

using Numbers = std::vector<double>;

/// A picture with places that look unlike each other.
struct Texture {
  int width, height;
  std::vector<guint8> values;

  Texture (int width, int height, unsigned seed) : width (width), height (height)
  {
    std::mt19937 random (seed);
    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++) {
        const int slope = 3 * x + (y > height / 2 ? 60 : 0),
                  blob = (x / 7 + y / 5 + int (seed)) % 3 * 40;
        values.push_back (guint8 ((slope + blob + int (random () % 30)) % 256));
      }
  }
  Texture (int width, int height, std::vector<guint8> values)
      : width (width), height (height), values (std::move (values))
  {
  }

  std::string caps () const { return caps_of ("GRAY8", width, height); }

  GstBuffer *buffer () const
  {
    const GstVideoInfo info = info_of (caps ());
    GstBuffer *buffer = even (info, 0);
    for (int y = 0; y < height; y++)
      gst_buffer_fill (buffer, gsize (y * info.stride[0]), &values[gsize (y * width)],
                       gsize (width));
    return buffer;
  }

  Numbers histogram (const GstVideoRectangle &r, int bins) const
  {
    const Sums counts = count_pixels (values, width, r, bins);
    return { counts.begin (), counts.end () };
  }
};

inline std::vector<std::string> measures ()
{
  std::vector<std::string> nicks;
  auto *klass = static_cast<GEnumClass *> (g_type_class_ref (GST_TYPE_INTEGRAL_HISTOGRAM_MEASURE));
  for (guint i = 0; i < klass->n_values; i++)
    nicks.push_back (klass->values[i].value_nick);
  g_type_class_unref (klass);
  return nicks;
}

/// Returns 0 to 255, not rounded.
inline double level (const std::string &measure, double value, int bins)
{
  if (is_similarity (measure))
    return 255 * std::clamp (value, 0.0, 1.0);
  if (measure == "chi-square" || measure == "kullback-leibler")
    return 255 / (1 + value);
  const double bound = measure == "l1"               ? 2
                       : measure == "l2"             ? std::sqrt (2.0)
                       : measure == "chi-square-alt" ? 4
                       : measure == "emd"            ? bins - 1
                                                     : 1;
  return value == 0 ? 255 : 255 * (1 - value / bound);
}

/// The target of a search in frames of this size; regions and windows are in pixels of these
/// frames.
struct Search {
  int width, height;
  GstVideoRectangle model;
  int window_width, window_height, step = 1;
  std::string measure = "bhattacharyya";
  int bins = 8;
};

inline GstVideoRectangle middle (int width, int height)
{
  return { (width - width / 4) / 2, (height - height / 4) / 2, width / 4, height / 4 };
}

inline std::vector<int> centres (int pixels, int step)
{
  std::vector<int> at;
  for (int x = (pixels - 1) % step / 2; x < pixels; x += step)
    at.push_back (x);
  return at;
}

inline gsize nearest (const std::vector<int> &centres, double pixel)
{
  gsize best = 0;
  for (gsize i = 0; i < centres.size (); i++)
    if (std::abs (centres[i] - pixel) <= std::abs (centres[best] - pixel))
      best = i;
  return best;
}

struct Truth {
  std::vector<double> levels;  // of every pixel of the frame
  Numbers values;              // of every window
  std::vector<GstVideoRectangle> windows;
  gsize best = 0;
};

/// The map of a picture, shown on frames of the search's size, against a model. Windows are of the
/// picture.
inline Truth truth_of (const Texture &picture, const Search &s, const Numbers &model)
{
  Truth truth;
  const double sx = double (picture.width) / s.width, sy = double (picture.height) / s.height;
  const auto length = [] (double pixels) { return std::max (int (std::floor (pixels + 0.5)), 1); };
  const int w = length (s.window_width * sx), h = length (s.window_height * sy);
  const auto xs = centres (picture.width, std::min (length (s.step * sx), picture.width));
  const auto ys = centres (picture.height, std::min (length (s.step * sy), picture.height));
  for (const int y : ys)
    for (const int x : xs) {
      truth.windows.push_back ({ x - w / 2, y - h / 2, w, h });
      truth.values.push_back (formula (s.measure,
                                       shares (picture.histogram (truth.windows.back (), s.bins)),
                                       model_of (s.measure, model)));
      const double value = truth.values.back (), best = truth.values[truth.best];
      if (is_similarity (s.measure) ? value > best : value < best)
        truth.best = truth.values.size () - 1;
    }
  for (int y = 0; y < s.height; y++)
    for (int x = 0; x < s.width; x++) {
      const gsize column = nearest (xs, std::floor ((x + 0.5) * sx)),
                  row = nearest (ys, std::floor ((y + 0.5) * sy));
      truth.levels.push_back (level (s.measure, truth.values[row * xs.size () + column], s.bins));
    }
  return truth;
}

inline Truth truth_of (const Texture &picture, const Search &s)
{
  Numbers model = picture.histogram (s.model, s.bins);
  const double most = std::ranges::max (model);
  for (double &bin : model)
    bin /= most;
  return truth_of (picture, s, model);
}

/// The frame with its integral histogram, perhaps after more elements.
inline GstBuffer *counted (const std::string &caps, GstBuffer *buffer, int bins,
                           const std::string &behind = "", const std::string &backend = "cpu")
{
  Harness h ("cudaintegralhist tuning-time=0 backend=" + backend + " bins=" + std::to_string (bins)
                 + behind,
             caps.c_str ());
  GstBuffer *out = gst_harness_push_and_pull (h, buffer);
  fail_unless (out && gst_buffer_get_integral_histogram_meta (out), "%s%s", caps.c_str (),
               behind.c_str ());
  return out;
}

inline GstBuffer *counted (const Texture &picture, int bins = 8)
{
  return counted (picture.caps (), picture.buffer (), bins);
}

using Bytes = std::vector<guint8>;

/// The rows of a packed frame, without padding.
inline Bytes bytes_of (GstBuffer *buffer, const GstVideoInfo &info)
{
  Bytes bytes;
  GstVideoFrame frame;
  fail_unless (gst_video_frame_map (&frame, &info, buffer, GST_MAP_READ));
  for (int y = 0; y < info.height; y++) {
    const auto *row = static_cast<const guint8 *> (GST_VIDEO_FRAME_PLANE_DATA (&frame, 0))
                      + y * GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0);
    bytes.insert (bytes.end (), row, row + info.width * GST_VIDEO_INFO_COMP_PSTRIDE (&info, 0));
  }
  gst_video_frame_unmap (&frame);
  return bytes;
}

class Likelihood : public Alone {
public:
  explicit Likelihood (const std::string &properties, const std::string &caps = "")
      : Alone ("integralhistlikelihood " + properties, caps, "integralhistlikelihood")
  {
  }

  GstVideoInfo info ()
  {
    g_autoptr (GstCaps) caps = gst_pad_get_current_caps (get ()->sinkpad);
    GstVideoInfo info;
    fail_unless (caps && gst_video_info_from_caps (&info, caps));
    return info;
  }

  Bytes bytes (GstBuffer *buffer)
  {
    g_autoptr (GstBuffer) out = pass (buffer);
    const Bytes bytes = bytes_of (out, info ());
    return bytes;
  }

  std::string error_of (GstBuffer *buffer, GQuark domain = GST_RESOURCE_ERROR,
                        int code = GST_RESOURCE_ERROR_SETTINGS)
  {
    return Harness::error_of (buffer, domain, code);
  }
};

/// Allows a difference of one level from the truth.
inline void check_levels (const Bytes &levels, const Truth &truth, int width,
                          const std::string &what)
{
  fail_unless_equals_int (levels.size (), truth.levels.size ());
  for (gsize i = 0; i < levels.size (); i++)
    if (std::abs (levels[i] - truth.levels[i]) > 1)
      fail ("%s: pixel %d,%d is %d instead of %f", what.c_str (), int (i) % width, int (i) / width,
            levels[i], truth.levels[i]);
}

inline std::string line_of (const Search &s)
{
  g_autofree char *line = g_strdup_printf (
      "model=%d,%d,%d,%d window-width=%d window-height=%d step=%d measure=%s", s.model.x, s.model.y,
      s.model.w, s.model.h, s.window_width, s.window_height, s.step, s.measure.c_str ());
  return line;
}

/// Returns the frame as GstVideoConverter converts it.
inline Bytes converted (const GstVideoInfo &from, const GstVideoInfo &to, GstBuffer *buffer)
{
  GstVideoInfo in_info = from, out_info = to;
  g_autoptr (GstBuffer) out = gst_buffer_new_allocate (nullptr, to.size, nullptr);
  GstVideoFrame in_frame, out_frame;
  fail_unless (gst_video_frame_map (&in_frame, &from, buffer, GST_MAP_READ)
               && gst_video_frame_map (&out_frame, &to, out, GST_MAP_WRITE));
  GstVideoConverter *converter = gst_video_converter_new (&in_info, &out_info, nullptr);
  gst_video_converter_frame (converter, &in_frame, &out_frame);
  gst_video_converter_free (converter);
  gst_video_frame_unmap (&in_frame);
  gst_video_frame_unmap (&out_frame);
  const Bytes bytes = bytes_of (out, to);
  return bytes;
}
