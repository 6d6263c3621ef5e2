// SPDX-License-Identifier: LGPL-2.1-or-later
#include "peers.hpp"

#include <cstring>

#include "../text.hpp"

namespace inthist::check {
namespace {

bool takes_all (const Shape &)
{
  return true;
}

/// Planes of int that count 255 for a pixel.
bool takes_u32_histograms (const Shape &shape)
{
  return shape.content == Content::bins && shape.counter == Type::u32
         && std::int64_t (shape.width) * shape.height * 255 < INT32_MAX;
}

bool takes_opencv (const Shape &shape)
{
  return shape.content == Content::bins ? takes_u32_histograms (shape)
                                        : shape.pixel == Type::u8 && shape.counter != Type::f32;
}

bool takes_32_bit_indices (const Shape &shape)
{
  return shape.content == Content::bins && shape.counter == Type::u32
         && tensor_bytes (shape) / sizeof (std::uint32_t) < INT32_MAX;
}

bool takes_tables (const Shape &shape)
{
  return shape.content == Content::sums;
}

bool takes_npp (const Shape &shape)
{
  return takes_u32_histograms (shape) || (takes_tables (shape) && shape.pixel == Type::u8);
}

consteval AddPeer *if_built (bool built, AddPeer *add)
{
  return built ? add : nullptr;
}

constexpr Peer kPeers[] = {
  { "memset", "CPU: memset on all cores, the ceiling", Device::cpu, true, add_memset, takes_all,
    "" },
  { "opencv", "CPU: OpenCV, cv::integral; of histograms once a bin, after inRange", Device::cpu,
    false, if_built (HAVE_OPENCV, add_opencv), takes_opencv,
    "tables of u8:u32 and u8:s32, histograms of u32, up to 8.4 million pixels" },
  { "cudaMemsetAsync", "CUDA: the ceiling", Device::cuda, true,
    if_built (INTHIST_CUDA, add_cuda_memset), takes_all, "" },
  { "store", "CUDA: a kernel that only stores, 16 bytes a thread at a time: the other ceiling",
    Device::cuda, true, if_built (INTHIST_CUDA, add_store), takes_all, "" },
  { "cudaMemcpyAsync", "CUDA: a copy of a table's bytes on the device, another ceiling",
    Device::cuda, true, if_built (INTHIST_CUDA, add_cuda_memcpy), takes_tables, "tables" },
  { "load-store",
    "CUDA: a kernel that loads the pixels once and stores the tensor's bytes once, 16 bytes a "
    "thread at a time, another ceiling",
    Device::cuda, true, if_built (INTHIST_CUDA, add_load_store), takes_all, "" },
  { "npp",
    "CUDA: NPP, nppiCompareC and nppiIntegral once a bin; of a table nppiIntegral, of two planes "
    "nppiSqrIntegral",
    Device::cuda, false, if_built (HAVE_NPP, add_npp), takes_npp,
    "histograms of u32, up to 8.4 million pixels, and tables of u8" },
  { "cub",
    "CUDA: CUB, DeviceScan::InclusiveSumByKey over all rows of all bins, then a plain scan of "
    "columns",
    Device::cuda, false, if_built (HAVE_CUB, add_cub), takes_32_bit_indices,
    "histograms of u32, up to 2^31 elements" },
};

}  // namespace

std::span<const Peer> peers ()
{
  return kPeers;
}

std::string not_filled_with (const Rig &rig, const Bytes &slot, std::uint8_t byte)
{
  const std::size_t bytes = tensor_bytes (rig.shape, rig.layout);
  if (slot[0] == byte
      && std::memcmp (&slot[0], &slot[1], bytes - 1) == 0)  // each is as the one before
    return "";
  for (std::size_t i = 0; i < bytes; i++)
    if (slot[i] != byte)
      return text ("byte %zu is %d, must be %d", i, slot[i], byte);
  return "";
}

PixelPlane make_bins (const Rig &rig, const Slot &slot)
{
  const Shape &shape = rig.shape;
  const Binning binning = { { rig.images[slot.lane].get (), shape.width, {} },
                            uniform_lut (shape.bins) };
  const PixelPlane bins = { rig.bins[slot.lane].get (), padded_columns (shape.width) };
  if (slot.listener)
    slot.listener->begin ("bins");
#if INTHIST_CUDA
  if (rig.device == Device::cuda)
    CHECK_CUDA (cuda::bin_image (binning, shape.width, shape.height, bins, slot.stream));
#endif
  if (rig.device == Device::cpu)
    if (cpu::bin_image (binning, shape.width, shape.height, bins) != 0)
      throw std::runtime_error ("bin_image failed");
  return bins;
}

}  // namespace inthist::check
