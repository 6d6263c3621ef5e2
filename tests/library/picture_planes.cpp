// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pictures on a device are never larger than the size that was reserved for them.
#include <cstdio>

#include <gst/frame/video_formats.hpp>
#include <gst/integralhist/gstintegralhist.h>
#include <gst/integralhist/engine/picture_planes.hpp>

#include "formats.hpp"

#include "test.hpp"  // last: it has macros with names of the standard library

using namespace integralhist;

/// The bound holds for all formats, features and sizes, strips of rows, crops and strides. It is
/// the exact size if each row begins at a multiple of 512.
TEST (bound)
{
  constexpr int kSizes[] = { 1, 2, 3, 17, 255, 256, 257, 511, 640 };
  static std::byte memory[1];  // nothing is read
  for (const char *const name : kFormats)
    for (int feature = 0; feature < int (std::size (inthist::kFeatures)); feature++)
      for (const int width : kSizes)
        for (const int rows : { 1, 2, 3, 40, 41 })
          for (const auto &[n, mode] :
               { std::pair (1, GST_VIDEO_INTERLACE_MODE_PROGRESSIVE),
                 std::pair (rows / 2 + 1, GST_VIDEO_INTERLACE_MODE_PROGRESSIVE),
                 std::pair (rows, GST_VIDEO_INTERLACE_MODE_PROGRESSIVE),
                 std::pair (rows, GST_VIDEO_INTERLACE_MODE_MIXED) }) {
            GstVideoInfo info;
            gst_video_info_set_interlaced_format (&info, gst_video_format_from_string (name), mode,
                                                  guint (width), guint (rows));
            inthist::Image image;
            image.format = pixel_format_of (info, { .feature = inthist::Feature (feature) });
            image.data = memory;
            image.rows = rows;
            const std::size_t most = most_picture_bytes (image.format, width, n, rows);
            const int last = image.format.is_interlaced () ? 3 : 1;
            for (const int odd : { 0, 1, last })
              for (const int stride : { 0, 16, 256, 512 }) {  // a multiple of it; 0 is unsuited
                image.top = image.format.reads_colours () ? odd : 0;
                image.left = image.top & 1;
                const PicturePlanes tight (image, width, n);
                const auto stride_of = [&] (int plane) {
                  return stride ? std::ptrdiff_t (inthist::round_up (
                             tight.all ()[std::size_t (plane)].bytes, std::size_t (stride)))
                                : 0;
                };
                image.stride = stride_of (0);
                for (int p = 1; p < image.format.n_planes; p++)
                  image.chroma[p - 1] = { memory, stride_of (p) };
                // a copy from another device keeps all strides
                const PicturePlanes planes (image, width, n, stride > 0);
                fail_unless (planes.size () <= most, "%s, %s, %dx%d, %d rows, stride %d: %zu > %zu",
                             name, inthist::kFeatures[feature].nick, width, rows, n, stride,
                             planes.size (), most);
                if (stride == 512 && (odd == last || !image.format.reads_colours ()))
                  fail_unless (planes.size () == most, "%zu is more than %zu", most,
                               planes.size ());
                image.stride = 0;
                image.chroma[0] = image.chroma[1] = {};
              }
          }
}
