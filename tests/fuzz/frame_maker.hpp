// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The frames that the fuzzer pushes: all formats, sizes from a dot to long lines, any layout in
// memory, metas that describe it and metas that lie, and crops. Each frame lies in heap blocks of
// its exact size, so that a sanitizer sees reads outside of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gst/video/video.h>

#include "formats.hpp"
#include "program.hpp"

template <class... Arguments>
std::string format (const char *text, Arguments... arguments)
{
  g_autofree char *printed = g_strdup_printf (text, arguments...);
  return printed;
}

struct Primaries {
  const char *caps;
  double kr, kb;
};

/// RGB without a colorimetry is BT.709's.
constexpr Primaries kPrimaries[] = { { "", 0.2126, 0.0722 },
                                     { ",colorimetry=1:1:7:1", 0.2126, 0.0722 },
                                     { ",colorimetry=1:1:7:4", 0.299, 0.114 },
                                     { ",colorimetry=1:1:7:5", 0.212, 0.087 },
                                     { ",colorimetry=1:1:7:7", 0.2627, 0.0593 } };

/// Reads the value of a pixel.
struct Reader {
  int step = 1, luma = 0;       // bytes from pixel to pixel, and to the byte that is the value
  int shift[3] = { -1, 0, 0 };  // or bits to the top 8 of red, green and blue
  guint32 weight[3] = {};

  Reader (const std::string &name, const Primaries &primaries)
  {
    if (name == "RGB10A2_LE" || name == "BGR10A2_LE") {
      step = 4;
      for (int c = 0; c < 3; c++)
        shift[c] = 2 + 10 * (name[0] == 'R' ? c : 2 - c);
    } else if (name.find ('R') != std::string::npos && name.find ('G') != std::string::npos
               && name[0] != 'G') {
      step = int (name.size ());
      for (int c = 0; c < 3; c++)
        shift[c] = 8 * int (name.find ("RGB"[c]));
    } else if (name == "GRAY16_LE" || name == "YUY2" || name == "UYVY") {
      step = 2;
      luma = name != "YUY2";
    }
    weight[0] = guint32 (std::lround (primaries.kr * 65536));
    weight[2] = guint32 (std::lround (primaries.kb * 65536));
    weight[1] = 65536 - weight[0] - weight[2];
  }

  guint8 value (const guint8 *pixel) const
  {
    if (shift[0] < 0)
      return pixel[luma];
    guint32 word = 0, sum = 32768;
    for (int i = 0; i < step; i++)
      word |= guint32 (pixel[i]) << 8 * i;
    for (int c = 0; c < 3; c++)
      sum += weight[c] * (word >> shift[c] & 0xff);
    return guint8 (sum >> 16);
  }
};

struct Picture {
  int width, height;
  std::vector<guint8> values;
};

enum class Expected {
  answer,   // the truth
  refusal,  // an error
  either,   // one of them
  anything  // but a read outside
};

struct Frame {
  GstBuffer *buffer = nullptr;
  std::string caps, description;
  Picture picture;
  Expected expected = Expected::answer;
  bool lacks_a_row = false;  // of chroma, in the last field
};

struct Block {
  guint8 *data;
  gsize size;
};

inline Block make_block (gsize size, Random &random)
{
  const Block block = { static_cast<guint8 *> (g_malloc (std::max<gsize> (size, 1))), size };
  const int kind = random.between (0, 3), step = random.between (0, 7);
  const auto base = guint8 (random.word ());
  for (gsize i = 0; i < size; i++)
    block.data[i] = kind == 0   ? guint8 (random.word ())
                    : kind == 1 ? base
                                : guint8 (base + i * gsize (step) / 3);
  return block;
}

inline Block copy_of (const guint8 *data, gsize size)
{
  return { static_cast<guint8 *> (g_memdup2 (data, size)), size };
}

inline void append (GstBuffer *buffer, const Block &block)
{
  gst_buffer_append_memory (buffer,
                            gst_memory_new_wrapped (GstMemoryFlags (0), block.data, block.size, 0,
                                                    block.size, block.data, g_free));
}

/// Reads the values of a picture whose first pixel lies at `first`.
inline Picture read (const guint8 *first, std::ptrdiff_t stride, int width, int height,
                     const Reader &reader)
{
  Picture picture = { width, height, {} };
  picture.values.reserve (gsize (width) * height);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      picture.values.push_back (
          reader.value (first + y * stride + x * std::ptrdiff_t (reader.step)));
  return picture;
}

inline std::pair<int, int> make_size (Random &random)
{
  const double kind = random.share ();
  if (kind < 0.2)
    return { random.between (1, 5), random.between (1, 5) };
  const int line = random.one_of ({ 4099, 20000, 32768, 65535, 65536, 70001 }),
            few = random.between (1, 3);
  if (kind < 0.25)
    return { line, few };
  if (kind < 0.3)
    return { few, line };
  return { random.between (1, 200), random.between (1, 150) };
}

/// Makes frames of one format and size, which caps have.
class Maker {
public:
  /// With elements behind the tested one (`in_company`), paddings and offsets are multiples of a
  /// pixel, and no stride is negative: the functions of GstVideo that these elements use crash with
  /// others.
  Maker (int width, int height, bool in_company, Random &random)
      : random_ (random), name_ (random.one_of (kFormats)), primaries_ (random.one_of (kPrimaries)),
        reader_ (name_, primaries_), in_company_ (in_company), width_ (width), height_ (height),
        unit_ (in_company || name_ == "GRAY16_LE" ? reader_.step : 1), info_ (info (width, height))
  {
    static constexpr const char *kMore[] = { "", "", ",interlace-mode=interleaved",
                                             ",interlace-mode=mixed", ",pixel-aspect-ratio=4/3" };
    caps_ = format ("video/x-raw,format=%s,width=%d,height=%d,framerate=%s%s%s", name_.c_str (),
                    width, height, random.one_of ({ "0/1", "30/1", "1/1000000" }),
                    GST_VIDEO_INFO_IS_RGB (&info_) ? primaries_.caps : "", random.one_of (kMore));
    g_autoptr (GstCaps) caps = gst_caps_from_string (caps_.c_str ());
    REQUIRE (gst_video_info_from_caps (&info_, caps), "no video: %s",
             caps_.c_str ());  // rows of interlaced chroma come in pairs
  }

  Frame make ()
  {
    frame_ = {};
    frame_.caps = caps_;
    frame_.buffer = gst_buffer_new ();
    may_lack_a_row_ = random_.with (0.25);
    const double kind = random_.share ();
    if (kind < 0.25)
      plain ();
    else if (kind < 0.65)
      with_meta (width_, height_, 0, 0);
    else if (kind < 0.8)
      cropped ();
    else
      lying ();
    frame_.description += format (" of %zu bytes", gst_buffer_get_size (frame_.buffer));
    return std::move (frame_);
  }

private:
  struct Plane {
    gsize offset, rows, row_bytes;
    gint stride;
  };

  GstVideoInfo info (int width, int height) const
  {
    GstVideoInfo info;
    gst_video_info_init (&info);
    REQUIRE (gst_video_info_set_format (&info, gst_video_format_from_string (name_.c_str ()),
                                        guint (width), guint (height)),
             "%s of %dx%d", name_.c_str (), width, height);
    return info;
  }

  /// Makes a frame as the caps say, in one memory or several.
  void plain ()
  {
    const Block whole = make_block (info_.size, random_);
    frame_.picture = read (whole.data + info_.offset[0], info_.stride[0], width_, height_, reader_);
    const int n = random_.with (0.5) ? 1 : random_.between (2, 4);
    frame_.description = format ("plain, in %d memories", n);
    gsize from = 0;
    for (int i = 0; i < n; i++) {
      const gsize to = i == n - 1 ? whole.size : from + random_.word () % (whole.size - from + 1);
      if (to > from)
        append (frame_.buffer, copy_of (whole.data + from, to - from));
      from = to;
    }
    g_free (whole.data);
  }

  /// Makes planes of a picture, with rows as short as possible, or longer.
  std::vector<Plane> planes_of (const GstVideoInfo &info, bool padded)
  {
    std::vector<Plane> planes;
    for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES (&info); p++) {
      gint components[GST_VIDEO_MAX_COMPONENTS];
      gst_video_format_info_component (info.finfo, p, components);
      gsize rows =
          gsize (GST_VIDEO_FORMAT_INFO_SCALE_HEIGHT (info.finfo, components[0], info.height));
      // 4:2:0 of 4n + 2 interleaved rows has 2n + 2 rows of chroma, n + 1 a field, and GStreamer
      // says 2n + 1
      if (rows * 2 == gsize (info.height) && rows % 2 == 1
          && GST_VIDEO_INFO_INTERLACE_MODE (&info_) == GST_VIDEO_INTERLACE_MODE_INTERLEAVED) {
        rows += may_lack_a_row_ ? 0 : 1;
        frame_.lacks_a_row |= may_lack_a_row_;
      }
      const bool pairs = name_ == "YUY2" || name_ == "UYVY";
      const gsize row_bytes =
          p > 0 ? gsize (info.stride[p])
                : gsize (pairs ? GST_ROUND_UP_2 (info.width) : info.width) * gsize (reader_.step);
      gint stride = gint (row_bytes) + (padded ? unit_ * random_.one_of ({ 0, 1, 3, 16, 129 }) : 0);
      planes.push_back ({ 0, rows, row_bytes, stride });
    }
    return planes;
  }

  static gsize bytes_of (const Plane &plane)
  {
    return gsize (std::abs (plane.stride)) * (plane.rows - 1) + plane.row_bytes;
  }

  void add_meta (const char *format_name, int width, int height, const std::vector<Plane> &planes)
  {
    gsize offsets[GST_VIDEO_MAX_PLANES] = {};
    gint strides[GST_VIDEO_MAX_PLANES] = {};
    for (gsize p = 0; p < planes.size (); p++) {
      offsets[p] = planes[p].offset;
      strides[p] = planes[p].stride;
    }
    gst_buffer_add_video_meta_full (frame_.buffer, GST_VIDEO_FRAME_FLAG_NONE,
                                    gst_video_format_from_string (format_name), guint (width),
                                    guint (height), guint (planes.size ()), offsets, strides);
  }

  /// Makes a picture of such a size with a GstVideoMeta; the picture of the caps lies at x, y in
  /// it.
  void with_meta (int width, int height, int x, int y)
  {
    const GstVideoInfo layout = info (width, height);
    auto planes = planes_of (layout, true);
    const bool apart = random_.with (0.4), upside_down = !in_company_ && random_.with (0.15);
    gsize at = apart ? 0 : gsize (unit_ * random_.one_of ({ 0, 0, 1, 7, 64 }));
    frame_.description += format ("meta of %dx%d, %s, from byte %zu", width, height,
                                  apart ? "a memory a plane" : "one memory", at);
    std::vector<gsize> starts;
    for (Plane &plane : planes) {
      starts.push_back (at);
      plane.offset = at;
      at += bytes_of (plane);
      if (upside_down) {
        plane.offset += gsize (plane.stride) * (plane.rows - 1);
        plane.stride = -plane.stride;
      }
      frame_.description += format (", stride %d", plane.stride);
    }
    const guint8 *first = nullptr;
    if (apart) {
      for (gsize p = 0; p < planes.size (); p++) {
        const Block block = make_block (bytes_of (planes[p]), random_);
        append (frame_.buffer, block);
        if (p == 0)
          first = block.data + planes[0].offset;
      }
    } else {
      const Block block = make_block (at, random_);
      append (frame_.buffer, block);
      first = block.data + planes[0].offset;
    }
    add_meta (name_.c_str (), width, height, planes);
    frame_.picture =
        read (first + std::ptrdiff_t (y) * planes[0].stride + std::ptrdiff_t (x) * reader_.step,
              planes[0].stride, width_, height_, reader_);
  }

  void add_crop (int x, int y, int width, int height)
  {
    GstVideoCropMeta *const crop = gst_buffer_add_video_crop_meta (frame_.buffer);
    crop->x = guint (x);
    crop->y = guint (y);
    crop->width = guint (width);
    crop->height = guint (height);
    frame_.description +=
        format (", crop %u,%u,%u,%u", crop->x, crop->y, crop->width, crop->height);
  }

  /// Makes a larger picture, of which the caps describe the visible part.
  void cropped ()
  {
    const int left = random_.between (0, 20), top = random_.between (0, 20),
              right = random_.between (0, 9), bottom = random_.between (0, 9);
    with_meta (width_ + left + right, height_ + top + bottom, left, top);
    if (random_.with (0.75)) {
      add_crop (left, top, width_, height_);
    } else if (random_.with (0.5)) {
      add_crop (left + right + random_.between (1, 9), top, width_, height_);
      frame_.expected = Expected::refusal;
    } else if (random_.with (0.5)) {
      add_crop (random_.one_of ({ -1, G_MININT, G_MAXINT }), 0,
                random_.one_of ({ width_, G_MAXINT, -1 }), random_.one_of ({ height_, 1, -1 }));
      frame_.expected = Expected::refusal;
    } else {
      // a part of the size in the caps
      add_crop (left, top, random_.between (0, width_), random_.between (0, height_));
      frame_.expected = Expected::anything;
    }
  }

  void lying ()
  {
    frame_.expected = Expected::refusal;
    const int kind = random_.between (0, 9);
    if (kind < 8)
      with_false_meta (kind);
    else
      too_short (kind == 8);
  }

  /// Makes a buffer without a meta that ends before the frame does, or has no memory.
  void too_short (bool has_memory)
  {
    frame_.description = has_memory ? "no meta, and too short" : "no memory";
    if (has_memory)
      append (frame_.buffer, make_block (random_.word () % info_.size, random_));
    if (gst_buffer_get_size (frame_.buffer) == 0)
      gst_buffer_remove_all_memory (frame_.buffer);
  }

  /// Planes that lie in memories of their own, and the meta's description of them.
  struct Claim {
    std::string format;
    int width, height;
    std::vector<Plane> planes;
    gsize cut = 0;        // bytes that the first memory lacks
    bool halved = false;  // the first plane lies in two memories

    bool has_one_row () const { return planes[0].rows == 1; }
    /// Tells that no bytes of other planes may be taken for those of the first.
    bool has_one_plane () const { return planes.size () == 1; }
  };

  void with_false_meta (int kind)
  {
    static constexpr struct {
      const char *description;
      void (Maker::*tell) (Claim &);
    } kLies[] = {
      { "the first plane is cut", &Maker::cut_first_plane },
      { "a stride that is too long", &Maker::lengthen_stride },
      { "an offset behind the end", &Maker::move_behind_end },
      { "rows before the memory", &Maker::turn_rows },
      { "another plane is cut", &Maker::lengthen_last_stride },
      { "a plane over two memories", &Maker::halve_first_plane },
      { "a meta of another format", &Maker::change_format },
      { "a meta of a smaller frame", &Maker::shrink },
    };
    Claim claim = { name_, width_, height_, planes_of (info_, false) };
    gsize at = 0;
    for (Plane &plane : claim.planes) {
      plane.offset = at;
      at += bytes_of (plane);
    }
    frame_.description = kLies[kind].description;
    (this->*kLies[kind].tell) (claim);
    append_planes (claim);
    for (gsize p = 1; p < claim.planes.size (); p++)  // the others lie where they are said to
      claim.planes[p].offset -= claim.cut;
    add_meta (claim.format.c_str (), claim.width, claim.height, claim.planes);
  }

  void cut_first_plane (Claim &claim)
  {
    const Plane &first = claim.planes[0];
    const gsize bytes = bytes_of (first);
    claim.cut = 1 + random_.word () % std::min<gsize> (bytes, random_.with (0.5) ? 3 : bytes);
    // a row of packed YUV that is an odd number of pixels wide ends in one or two bytes that the
    // element does not read
    const bool read = claim.cut > first.row_bytes - gsize (width_) * gsize (reader_.step);
    frame_.expected = claim.has_one_plane () && read ? Expected::refusal : Expected::anything;
  }

  void lengthen_stride (Claim &claim)
  {
    frame_.expected = claim.has_one_row ()     ? Expected::either
                      : claim.has_one_plane () ? Expected::refusal
                                               : Expected::anything;
    gint &stride = claim.planes[0].stride;
    stride = random_.with (0.5) ? G_MAXINT : stride + 2 + 2 * random_.between (0, 50000);
  }

  void move_behind_end (Claim &claim)
  {
    const Plane &last = claim.planes.back ();
    claim.planes[0].offset = random_.with (0.5)
                                 ? last.offset + bytes_of (last) + gsize (random_.between (0, 1000))
                                 : G_MAXSIZE / 2;
  }

  void turn_rows (Claim &claim)
  {
    if (claim.has_one_row ())
      frame_.expected = Expected::either;
    gint &stride = claim.planes[0].stride;
    stride = random_.with (0.5) ? -stride : G_MININT + 2;
  }

  void lengthen_last_stride (Claim &claim)
  {
    claim.planes.back ().stride = G_MAXINT;
    if (!claim.has_one_plane () || claim.has_one_row ())
      frame_.expected = Expected::either;
  }

  void halve_first_plane (Claim &claim)
  {
    claim.halved = true;
    frame_.expected = Expected::either;
  }

  void change_format (Claim &claim)
  {
    claim.format = name_ == "GRAY8" ? "I420" : "GRAY8";
    if (name_ == "GRAY8")
      claim.planes.resize (3, claim.planes[0]);
  }

  void shrink (Claim &claim)
  {
    if ((random_.with (0.5) && claim.width > 1) || claim.height == 1)
      claim.width -= random_.between (1, claim.width);
    else
      claim.height -= random_.between (1, claim.height);
  }

  /// Appends the planes as they are, except for the bytes that are cut off.
  void append_planes (const Claim &claim)
  {
    const auto planes = planes_of (info_, false);
    for (gsize p = 0; p < planes.size (); p++) {
      const Block block = make_block (bytes_of (planes[p]) - (p == 0 ? claim.cut : 0), random_);
      if (p == 0 && claim.cut == 0)
        frame_.picture = read (block.data, planes[0].stride, width_, height_, reader_);
      if (p == 0 && claim.halved && block.size > 1) {
        append_halves (block);
      } else if (block.size > 0) {
        append (frame_.buffer, block);
      } else {
        g_free (block.data);
      }
    }
  }

  void append_halves (const Block &block)
  {
    const gsize half = 1 + random_.word () % (block.size - 1);
    append (frame_.buffer, copy_of (block.data, half));
    append (frame_.buffer, copy_of (block.data + half, block.size - half));
    g_free (block.data);
  }

  Random &random_;
  const std::string name_;
  const Primaries &primaries_;
  const Reader reader_;
  const bool in_company_;
  const int width_, height_, unit_;
  GstVideoInfo info_;
  std::string caps_;
  bool may_lack_a_row_ = false;
  Frame frame_;
};
