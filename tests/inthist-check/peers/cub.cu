// SPDX-License-Identifier: LGPL-2.1-or-later
//
// CUB: all rows of all bins are one array, and a row is a key. One DeviceScan::InclusiveSumByKey,
// whose input is 1 where a pixel is in the bin and is made as it is read, then a plain scan down
// the columns, a thread each. A row's padding is scanned with the rest, so bytes between rows are
// written.
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "peers.hpp"

namespace inthist::check {
namespace {

using Count = std::uint32_t;

struct RowOf {
  Count row_elements;
  __device__ Count operator() (Count i) const { return i / row_elements; }
};

/// The bin plane's stride is at least that of the tensor's rows, so that padding has pixels too.
struct IsInBin {
  PixelPlane bins;
  Count row_elements, height;
  __device__ Count operator() (Count i) const
  {
    const Count row = i / row_elements, x = i - row * row_elements, bin = row / height,
                y = row - bin * height;
    return bins.data[y * bins.stride + x] == bin;
  }
};

__global__ void scan_columns (Count *tensor, int width, int height, std::size_t row,
                              std::size_t plane)
{
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= width)
    return;
  Count *const column = tensor + blockIdx.y * plane + x;
  Count sum = 0;
  for (int y = 0; y < height; y++)
    column[y * row] = sum += column[y * row];
}

}  // namespace

void add_cub (Rig &rig, std::vector<Candidate> &list)
{
  const Shape shape = rig.shape;
  const Layout layout = rig.layout;
  const Count row = Count (layout.row_pitch / sizeof (Count)),
              elements = row * Count (shape.height) * Count (shape.bins);
  const auto scan = [=] (void *temporary, std::size_t &bytes, const PixelPlane &bins,
                         std::uint8_t *tensor, cudaStream_t stream) {
    const thrust::counting_iterator<Count> index (0);
    CHECK_CUDA (cub::DeviceScan::InclusiveSumByKey (
        temporary, bytes, thrust::make_transform_iterator (index, RowOf{ row }),
        thrust::make_transform_iterator (index, IsInBin{ bins, row, Count (shape.height) }),
        reinterpret_cast<Count *> (tensor), int (elements), ::cuda::std::equal_to<>{}, stream));
  };
  std::size_t bytes = 0;
  scan (nullptr, bytes, {}, nullptr, nullptr);
  const std::shared_ptr<std::uint8_t> temporary = rig.memory (bytes);
  Candidate candidate;
  candidate.name = "cub";
  candidate.mode = "alone";
  candidate.staged = true;
  candidate.frame = [=, &rig] (const Slot &slot) {
    const PixelPlane bins = make_bins (rig, slot);
    std::size_t given = bytes;
    if (slot.listener)
      slot.listener->begin ("scan rows");
    scan (temporary.get (), given, bins, slot.tensor, slot.stream);
    if (slot.listener)
      slot.listener->begin ("scan columns");
    constexpr int kThreads = 128;
    scan_columns<<<dim3 ((shape.width + kThreads - 1) / kThreads, shape.bins), kThreads, 0,
                   slot.stream>>> (reinterpret_cast<Count *> (slot.tensor), shape.width,
                                   shape.height, row, layout.plane_pitch / sizeof (Count));
    CHECK_CUDA (cudaGetLastError ());
  };
  candidate.wrong = [=, &rig] (const Bytes &slot) {
    return rig.input.truth.difference ({ slot, 0, layout });
  };
  list.push_back (std::move (candidate));
}

}  // namespace inthist::check
