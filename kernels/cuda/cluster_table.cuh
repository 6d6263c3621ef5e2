// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Summed-area tables that are too small to keep a GPU busy, on devices with thread block clusters
// (compute capability 9.0 or later). Their time is the steps that follow one another: in look-back
// a ticket, flags, and the sums behind the flags, each of which is a trip to L2.
//
// Here a cluster of 8 blocks, which run at once and write to each other's shared memory, computes a
// slab of 128 columns. Each block has a band of the slab's rows (device/cluster_table/block.cuh).
// A block also adds up the band's pixels left of the slab. Then slabs need nothing from each other:
// only the blocks of a cluster wait for each other, first for the start of all, later for the sums.
//
// Traffic: the table, and the picture (slabs + 1) / 2 times, from L2. Wide tables have look-back.
#pragma once

#include "device/cluster_table/block.cuh"
#include "device/hardware/overlap.cuh"

namespace inthist::cuda {

// 640x480 takes half the time of look-back, and 1280x720 four fifths; 1920x1080 would take longer
// (docs/measurements/2026-11-30-small-tables.md).
constexpr int kMaxClusterTableWidth = 1280;

template <int kRows>
__global__ void __launch_bounds__ (ClusterTableBlock<kRows>::kThreads)
cluster_table_kernel (Planes<std::uint32_t> table, PixelPlane pixels, bool vectors)
{
  __shared__ typename ClusterTableBlock<kRows>::Shared shared;
  wait_for_previous ();
  let_next_start ();
  ClusterTableBlock<kRows> (shared, table, pixels).run (vectors);
}

/// Launches the kernel for a small table, if each block can have a multiprocessor. Sets `launched`,
/// which depends only on the shape and the device.
[[nodiscard]] inline int launch_if_small (const Planes<std::uint32_t> &table, const Job &job,
                                          bool &launched)
{
  using Low = ClusterTableBlock<2>;
  using High = ClusterTableBlock<4>;
  bool has_clusters = false;
  int processors = 0;
  TRY_CODE (get_has_hopper_code (has_clusters));
  TRY_CODE (device_attribute (cudaDevAttrMultiProcessorCount, processors));
  const dim3 grid (Low::kBands * divide_up (table.width, Low::kWidth), table.count);
  launched = has_clusters && table.width <= kMaxClusterTableWidth
             && table.height <= High::kMaxHeight && int (grid.x * grid.y) <= processors;
  if (!launched)
    return 0;
  job.stage ("bands");
  return launch_clusters (table.height <= Low::kMaxHeight ? cluster_table_kernel<2>
                                                          : cluster_table_kernel<4>,
                          Low::kBands, grid, Low::kThreads, 0, job.stream, table, job.pixels,
                          job.pixels.is_aligned (sizeof (uint4)));
}

}  // namespace inthist::cuda
