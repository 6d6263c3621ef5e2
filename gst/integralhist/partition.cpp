// SPDX-License-Identifier: LGPL-2.1-or-later
#include "partition.hpp"

#include <bit>
#include <numeric>

#include "picture_rows.hpp"

namespace integralhist {
namespace {

// Bins of a task: fewer keep devices of unequal speed closer together, but each task counts the
// picture's columns anew. 8192x8192 on an H200: tasks of 8, 16 and 32 bins make 2950, 3480 and 3810
// GB/s, all 128 bins 4040 GB/s. Downloads wait for the link of 55 GB/s anyway: small tasks start
// them sooner, and devices that share host memory end closer together (docs/measurements).
constexpr int kTaskBins = 32, kDownloadedTaskBins = 8;
constexpr int kStripBins = 8, kStripRows = 64;  // bins of a strip, while it has so many rows

int divide_up (std::size_t a, std::size_t b)
{
  return int (a / b + (a % b != 0));
}

/// Returns the fewest bins of a task that make at most `tasks` tasks.
int bins_of (const inthist::Shape &shape, int tasks)
{
  return divide_up (shape.bins, std::clamp (tasks, 1, shape.bins));
}

}  // namespace

Overhead overhead_of (const inthist::Shape &shape, const Options &options, inthist::Device kind,
                      int pixel_bytes, unsigned parts)
{
  return [=] (int bins, int rows) {
    const inthist::Shape part = part_of (shape, bins, rows);
    const inthist::Strategy *const strategy =
        options.strategy ? options.strategy : inthist::preferred_strategy (kind, part);
    const std::size_t pixels = inthist::bin_stride (shape.width) * rows,
                      above = sizeof (std::uint32_t) * bins * shape.width,
                      picture = most_picture_bytes (shape.width, pixel_bytes, rows);
    return parts * (pixels + (strategy ? strategy->workspace_bytes (part, {}) : 0))
           + (parts + 1) * picture + above;
  };
}

unsigned room_for (const inthist::Shape &shape, std::size_t memory, std::size_t needed)
{
  const std::size_t bytes = inthist::tensor_bytes (shape, inthist::layout_of (shape));
  return unsigned (
      std::min<std::size_t> (memory > needed ? (memory - needed) / bytes : 0, G_MAXINT32));
}

unsigned least_resident (const Options &options)
{
  return options.max_tensors == 1 || options.download == Download::never ? 1 : 2;
}

Expected<Partition> divide (const inthist::Shape &shape, std::span<const ShardDevice> devices,
                            const Options &options, const Overhead &overhead, std::size_t pictures)
{
  const int n = int (devices.size ());
  const auto bytes = [&] (int bins, int rows) {
    const inthist::Shape part = part_of (shape, bins, rows);
    return inthist::tensor_bytes (part, inthist::layout_of (part));
  };
  const auto fit = [&] (const ShardDevice &device, int bins, int rows, std::size_t more = 0) {
    return room_for (part_of (shape, bins, rows), device.memory, overhead (bins, rows) + more);
  };
  const auto into = [&] (bool resident, int bins, int rows) {
    Partition partition = {
      resident, bins, rows, divide_up (shape.bins, bins), divide_up (shape.height, rows), {}, 0
    };
    for (const ShardDevice &device : devices)
      partition.tensors.push_back (resident ? fit (device, bins, rows, pictures) : kPartsAtOnce);
    return partition;
  };
  // the same number of tasks for each device
  const auto even = [&] (int tasks) { return divide_up (tasks, n) * n; };
  // A table's planes have no LUT.
  const int least_bins = shape.content == inthist::Content::bins ? 1 : shape.bins;
  const int most = least_bins > 1          ? shape.bins
                   : options.task_bins > 0 ? std::min (options.task_bins, shape.bins)
                                           : shape.bins;

  const int task_bins = options.download == Download::eager ? kDownloadedTaskBins : kTaskBins;
  const int usual = least_bins > 1 ? 1 : even (std::max (n, divide_up (shape.bins, task_bins)));
  Partition resident = into (true, std::min (most, bins_of (shape, usual)), shape.height);
  const guint64 room =
      std::accumulate (resident.tensors.begin (), resident.tensors.end (), guint64 (0))
      / resident.groups;
  resident.frames = unsigned (std::min<guint64> (room, G_MAXINT32));
  const unsigned least = least_resident (options);
  if (resident.frames >= least
      && std::ranges::find (resident.tensors, 0u) == resident.tensors.end ())
    return resident;
  const auto smallest = std::ranges::min_element (devices, {}, &ShardDevice::memory);
  const auto too_large = [&] (const std::string &what, std::size_t needed) {
    return options.max_device_memory
               ? no_memory_within (what, needed, "max-device-memory", smallest->memory)
               : no_memory (what, needed, { smallest->memory, "device memory" });
  };
  if (options.download == Download::never) {
    const std::size_t needed = overhead (resident.bins, resident.rows) + pictures
                               + divide_up (std::size_t (least) * resident.groups, n)
                                     * bytes (resident.bins, resident.rows);
    return error (Error::Kind::no_memory,
                  too_large (std::string (n > 1 ? "each device's share of " : "") + describe (shape)
                                 + " with what it is computed in",
                             needed),
                  ", and download=never keeps it there: set download=lazy to compute it in rounds",
                  options.max_device_memory ? ", or raise max-device-memory" : "");
  }

  const auto fits_all = [&] (int bins, int rows) {
    return std::ranges::all_of (
        devices, [&] (const ShardDevice &d) { return fit (d, bins, rows) >= kPartsAtOnce; });
  };
  for (int bins = std::max (std::min (most, kDownloadedTaskBins), least_bins); bins >= least_bins;
       bins--)
    if (fits_all (bins, shape.height))
      return into (
          false,
          std::clamp (bins_of (shape, even (divide_up (shape.bins, bins))), least_bins, bins),
          shape.height);

  for (int bins = std::min (most, kStripBins); bins >= least_bins; bins /= 2) {
    int rows = 0;  // the most that fit
    for (int step = std::bit_ceil (unsigned (shape.height)); step > 0; step /= 2)
      if (rows + step <= shape.height && fits_all (bins, rows + step))
        rows += step;
    if (rows >= kStripRows || (bins == least_bins && rows > 0))
      return into (false, bins, divide_up (shape.height, divide_up (shape.height, rows)));
  }
  const std::size_t needed = overhead (least_bins, 1) + kPartsAtOnce * bytes (least_bins, 1);
  return error (
      Error::Kind::no_memory,
      too_large ("one row of " + describe (shape) + " with what it is computed in", needed),
      options.max_device_memory ? ": raise max-device-memory, or scale the video down"
                                : ": scale the video down");
}

}  // namespace integralhist
