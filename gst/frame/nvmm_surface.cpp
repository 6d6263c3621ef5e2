// SPDX-License-Identifier: LGPL-2.1-or-later
#include "nvmm_surface.hpp"

#include <algorithm>
#include <cstring>

namespace integralhist {
namespace {

// The layouts of NVIDIA's structs NvBufSurfaceParams and NvBufSurface, up to the last field read.

struct Parameters {
  guint32 width, height, pitch;
  gint32 colour_format;
  gint32 layout;
  guint64 handle;
  guint32 bytes;
  void *data;
  struct {
    guint32 n;
    guint32 width[4], height[4], pitch[4], offset[4], bytes[4], pixel_bytes[4];
  } planes;
};
static_assert (offsetof (Parameters, bytes) == 32 && offsetof (Parameters, data) == 40);
static_assert (offsetof (Parameters, planes) == 48 && sizeof (Parameters) == 152);

struct Descriptor {
  guint32 gpu, batch_size, n_filled;
  bool is_contiguous;
  gint32 memory;
  Parameters *surfaces;
};
static_assert (offsetof (Descriptor, memory) == 16 && sizeof (Descriptor) == 32);

// Bytes of the descriptor in an NVMM buffer: of DeepStream up to 7.1, and from 8.0 on.
constexpr gsize kDescriptorSizes[] = { 64, 72 };

constexpr int kPitchLayout = 0;

// NVIDIA's numbers for kinds of memory. 0, the default, is for requests: the platform chooses a
// kind, and the surface has its number. A surface that still has 0 lies where PCs have the default,
// in device memory.
enum : gint32 { kDefault, kPinned, kDevice, kUnified, kSurfaceArray, kHandle, kSystem, kCudaArray };

/// A video format and NVIDIA's numbers for it, one per colorimetry and range; 0 fills the array.
struct ColourFormats {
  GstVideoFormat format;
  std::array<gint32, 5> numbers;
};
constexpr ColourFormats kColourFormats[] = {
  { GST_VIDEO_FORMAT_GRAY8, { 1, 88 } },
  { GST_VIDEO_FORMAT_GRAY16_LE, { 92 } },
  { GST_VIDEO_FORMAT_I420, { 2, 4, 31, 32, 35 } },
  { GST_VIDEO_FORMAT_YV12, { 3, 5 } },
  { GST_VIDEO_FORMAT_NV12, { 6, 7, 33, 34, 36 } },
  { GST_VIDEO_FORMAT_NV21, { 8, 9 } },
  { GST_VIDEO_FORMAT_Y42B, { 46 } },
  { GST_VIDEO_FORMAT_Y444, { 18, 71, 72, 73, 74 } },
  { GST_VIDEO_FORMAT_UYVY, { 10, 11, 89, 90, 91 } },
  { GST_VIDEO_FORMAT_YUY2, { 14, 15 } },
  { GST_VIDEO_FORMAT_RGBA, { 19 } },
  { GST_VIDEO_FORMAT_BGRA, { 20 } },
  { GST_VIDEO_FORMAT_ARGB, { 21 } },
  { GST_VIDEO_FORMAT_ABGR, { 22 } },
  { GST_VIDEO_FORMAT_RGBx, { 23 } },
  { GST_VIDEO_FORMAT_BGRx, { 24 } },
  { GST_VIDEO_FORMAT_xRGB, { 25 } },
  { GST_VIDEO_FORMAT_xBGR, { 26 } },
  { GST_VIDEO_FORMAT_RGB, { 27 } },
  { GST_VIDEO_FORMAT_BGR, { 28 } },
  { GST_VIDEO_FORMAT_P010_10LE, { 29, 37, 38, 39, 40 } },
  { GST_VIDEO_FORMAT_RGB10A2_LE, { 64, 65 } },
  { GST_VIDEO_FORMAT_BGR10A2_LE, { 66, 67 } },
};

constexpr char kToSystemMemory[] = ": put \"nvvideoconvert ! video/x-raw\" before this element";
constexpr char kCorrect[] = ". Correct the element that makes these frames";

template <class... Parts>
tl::unexpected<Error> bad_surface (const Parts &...why)
{
  return error (Error::Kind::bad_frame, "The NVMM frame cannot be read: ", why...);
}

Expected<NvmmSurface::Memory> memory_of_number (gint32 number)
{
  switch (number) {
    case kPinned: return NvmmSurface::Memory::pinned;
    case kDefault:
    case kDevice: return NvmmSurface::Memory::device;
    case kUnified: return NvmmSurface::Memory::unified;
    case kSystem: return NvmmSurface::Memory::host;
    case kSurfaceArray:
    case kHandle:
    case kCudaArray:
      return bad_surface ("its memory is of type ", number,
                          ", which only Jetson's libraries can read", kToSystemMemory);
    default: return bad_surface ("its memory is of an unknown type, ", number, kToSystemMemory);
  }
}

Expected<> check_colour_format (gint32 number, GstVideoFormat format)
{
  const auto row = std::ranges::find (kColourFormats, format, &ColourFormats::format);
  if (row != std::end (kColourFormats) && number > 0
      && std::ranges::count (row->numbers, number) > 0)
    return {};
  return bad_surface ("its surface has the colour format ", number, ", which is not ",
                      gst_video_format_to_string (format), kCorrect);
}

guint64 row_bytes (const GstVideoInfo &info, guint plane)
{
  const GstVideoFormatInfo *const format = info.finfo;
  guint64 bytes = 0;
  for (guint c = 0; c < GST_VIDEO_FORMAT_INFO_N_COMPONENTS (format); c++)
    if (GST_VIDEO_FORMAT_INFO_PLANE (format, c) == plane)
      bytes = std::max<guint64> (bytes, guint64 (GST_VIDEO_INFO_COMP_WIDTH (&info, c))
                                            * guint64 (GST_VIDEO_INFO_COMP_PSTRIDE (&info, c)));
  return bytes;
}

}  // namespace

Expected<NvmmSurface> nvmm_surface_of (const void *surface_params, NvmmSurface::Memory memory,
                                       int device, const GstVideoInfo &info)
{
  Parameters parameters;
  std::memcpy (&parameters, surface_params, sizeof parameters);
  if (parameters.layout != kPitchLayout)
    return bad_surface ("its surface is block-linear", kToSystemMemory);
  TRY (check_colour_format (parameters.colour_format, GST_VIDEO_INFO_FORMAT (&info)));
  constexpr guint32 kLargest = 1 << 16;
  if (parameters.width < guint (info.width) || parameters.height < guint (info.height)
      || parameters.width > kLargest || parameters.height > kLargest)
    return bad_surface ("its surface has ", parameters.width, "x", parameters.height,
                        " pixels, and the frame has ", info.width, "x", info.height, kCorrect);
  const guint n_planes = GST_VIDEO_INFO_N_PLANES (&info);
  if (parameters.planes.n != n_planes)
    return bad_surface ("its surface has ", parameters.planes.n, " planes, and ",
                        GST_VIDEO_INFO_NAME (&info), " has ", n_planes, kCorrect);
  if (!parameters.data)
    return bad_surface ("its surface has no address of pixels", kToSystemMemory);
  NvmmSurface surface = { .memory = memory,
                          .device = device,
                          .data = static_cast<std::byte *> (parameters.data),
                          .bytes = parameters.bytes };
  for (guint p = 0; p < n_planes; p++) {
    const guint32 offset = parameters.planes.offset[p], stride = parameters.planes.pitch[p];
    const guint64 wanted = row_bytes (info, p);
    if (stride < wanted || stride > G_MAXINT32)
      return bad_surface ("plane ", p, " has rows ", stride, " bytes apart, and a row takes ",
                          wanted, kCorrect);
    surface.planes[p] = { offset, stride };  // MappedFrame checks that the plane lies in memory
  }
  return surface;
}

Expected<NvmmSurface> nvmm_surface_of (GstBuffer *buffer, const GstVideoInfo &info)
{
  GstMapInfo map;
  if (gst_buffer_n_memory (buffer) != 1 || !gst_buffer_map (buffer, &map, GST_MAP_READ))
    return bad_surface ("its buffer has ", gst_buffer_n_memory (buffer),
                        " memories, and an NVMM buffer has one, which can be mapped", kCorrect);
  const bool is_known = std::ranges::count (kDescriptorSizes, map.size) > 0;
  const gsize size = map.size;
  Descriptor descriptor = {};
  if (is_known)
    std::memcpy (&descriptor, map.data, sizeof descriptor);
  gst_buffer_unmap (buffer, &map);
  if (!is_known)
    return bad_surface ("its descriptor has ", size, " bytes, and those of DeepStream 4.0 to 9.1 ",
                        kDescriptorSizes[0], " or ", kDescriptorSizes[1], kToSystemMemory);
  constexpr guint32 kMostFrames = 1024, kMostGpus = 1024;
  const auto &[gpu, batch_size, n_filled, is_contiguous, memory, surfaces] = descriptor;
  if (n_filled > 1 && n_filled <= batch_size)
    return bad_surface ("it is a batch of ", n_filled,
                        " frames: put nvstreamdemux before this element, or track batches with "
                        "nvtracker and the library of this project for it");
  if (n_filled != 1 || batch_size < 1 || batch_size > kMostFrames || !surfaces)
    return bad_surface ("its descriptor says ", n_filled, " frames of at most ", batch_size,
                        surfaces ? "" : ", and has no list of them", kCorrect);
  if (gpu > kMostGpus)
    return bad_surface ("its descriptor says GPU ", gpu, kCorrect);
  return nvmm_surface_of (surfaces, TRY (memory_of_number (memory)), int (gpu), info);
}

void keep_original (GstBuffer *copy, GstBuffer *original)
{
  // A small frame in other memory may have a descriptor's size; keeping that frame does no harm.
  if (std::ranges::count (kDescriptorSizes, gst_buffer_get_size (original)) > 0)
    gst_buffer_add_parent_buffer_meta (copy, original);
}

GstBuffer *make_writable (GstBuffer *buffer)
{
  if (gst_buffer_is_writable (buffer))
    return buffer;
  GstBuffer *const copy = gst_buffer_copy (buffer);
  keep_original (copy, buffer);
  gst_buffer_unref (buffer);
  return copy;
}

bool is_nvmm (const GstCaps *caps)
{
  return gst_caps_get_size (caps) > 0
         && gst_caps_features_contains (gst_caps_get_features (caps, 0), INTEGRALHIST_NVMM_FEATURE);
}

}  // namespace integralhist
