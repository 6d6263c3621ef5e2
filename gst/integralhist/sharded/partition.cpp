// SPDX-License-Identifier: LGPL-2.1-or-later
#include "partition.hpp"

#include <bit>
#include <numeric>
#include <optional>

#include <kernels/registry.hpp>

#include <gst/integralhist/engine/part.hpp>
#include <gst/integralhist/memory/memory_messages.hpp>

namespace integralhist {
namespace {

// The bins of a task, which a device computes at once. With fewer bins, devices of unequal speed
// finish closer together, but each task counts the picture's columns again: on an H200, 8192x8192
// pixels are computed with 2950, 3480, 3810 and 4040 GB/s in tasks of 8, 16, 32 and 128 bins.
// Downloads wait for the link of 55 GB/s anyway: small tasks start them sooner, and devices that
// share host memory end closer together (docs/measurements).
constexpr int kTaskBins = 32, kDownloadedTaskBins = 8;
constexpr int kStripBins = 8, kStripRows = 64;  // bins of a strip of rows, if kStripRows rows fit

using inthist::divide_up;

/// Divides frames into shards: groups of bins that stay on the devices. If shards do not fit,
/// groups are computed in rounds, or in strips of some rows if groups do not fit either. Tiled
/// tensors have no strips, because nothing can be added to tiles.
class Divider {
public:
  Divider (const Shape &shape, std::span<const ShardDevice> devices, const Options &options,
           const Overhead &overhead, std::size_t pictures)
      : shape_ (shape), devices_ (devices), n_ (int (devices.size ())), options_ (options),
        overhead_ (overhead), pictures_ (pictures),
        // The planes of a summed-area table stay together, because no LUT selects one.
        least_bins_ (shape.content == Content::sums ? shape.bins : 1),
        most_bins_ (least_bins_ == 1 && options.task_bins > 0
                        ? std::min (options.task_bins, shape.bins)
                        : shape.bins)
  {
  }

  Expected<Partition> divide () const
  {
    const Partition resident = divide_into_shards ();
    if (resident.frames >= least_resident_tensors (options_)
        && std::ranges::find (resident.tensors, 0u) == resident.tensors.end ())
      return resident;
    if (options_.download == Download::never)
      return error (Error::Kind::no_memory, why_not_resident (resident));
    if (const auto rounds = divide_into_groups ())
      return *rounds;
    if (shape_.counter == inthist::Type::u8_tiled)
      return too_small ("one bin of ", shape_.height,
                        ", and tiles are not cut into strips of rows: set counter=u16, or ");
    if (const auto rounds = divide_into_strips ())
      return *rounds;
    return too_small ("one row of ", 1, ": ");
  }

private:
  std::size_t bytes (int bins, int rows) const
  {
    return inthist::tensor_bytes (shape_of_part (shape_, bins, rows));
  }

  /// Returns how many tensors of parts of this size fit a device, besides `more` bytes.
  unsigned count_fitting (const ShardDevice &device, int bins, int rows, std::size_t more = 0) const
  {
    return room_for (shape_of_part (shape_, bins, rows), device.memory,
                     overhead_ (bins, rows) + more);
  }

  bool fits_all (int bins, int rows) const
  {
    return std::ranges::all_of (devices_, [&] (const ShardDevice &d) {
      return count_fitting (d, bins, rows) >= kPartsAtOnce;
    });
  }

  /// Returns how many bins a task must have so that a frame has at most `tasks` tasks.
  int bins_of (int tasks) const
  {
    return divide_up (shape_.bins, std::clamp (tasks, 1, shape_.bins));
  }

  /// Returns the number of tasks rounded up so that each device can have equally many.
  int round_to_devices (int tasks) const { return divide_up (tasks, n_) * n_; }

  Partition partition_of (bool resident, int bins, int rows) const
  {
    Partition partition = {
      resident, bins, rows, divide_up (shape_.bins, bins), divide_up (shape_.height, rows), {}, 0
    };
    for (const ShardDevice &device : devices_)
      partition.tensors.push_back (resident ? count_fitting (device, bins, rows, pictures_)
                                            : kPartsAtOnce);
    return partition;
  }

  Partition divide_into_shards () const
  {
    const int task_bins = options_.download == Download::eager ? kDownloadedTaskBins : kTaskBins;
    const int tasks =
        least_bins_ > 1 ? 1 : round_to_devices (std::max (n_, divide_up (shape_.bins, task_bins)));
    Partition partition =
        partition_of (true, std::min (most_bins_, bins_of (tasks)), shape_.height);
    const guint64 room =
        std::accumulate (partition.tensors.begin (), partition.tensors.end (), guint64 (0))
        / partition.groups;
    partition.frames = unsigned (std::min<guint64> (room, G_MAXINT32));
    return partition;
  }

  std::optional<Partition> divide_into_groups () const
  {
    for (int bins = std::max (std::min (most_bins_, kDownloadedTaskBins), least_bins_);
         bins >= least_bins_; bins--)
      if (fits_all (bins, shape_.height)) {
        const int tasks = round_to_devices (divide_up (shape_.bins, bins));
        return partition_of (false, std::clamp (bins_of (tasks), least_bins_, bins), shape_.height);
      }
    return {};
  }

  std::optional<Partition> divide_into_strips () const
  {
    for (int bins = std::min (most_bins_, kStripBins); bins >= least_bins_; bins /= 2) {
      int rows = 0;  // the most that fit
      for (int step = std::bit_ceil (unsigned (shape_.height)); step > 0; step /= 2)
        if (rows + step <= shape_.height && fits_all (bins, rows + step))
          rows += step;
      if (rows >= kStripRows || (bins == least_bins_ && rows > 0))
        return partition_of (false, bins,
                             divide_up (shape_.height, divide_up (shape_.height, rows)));
    }
    return {};
  }

  std::string too_large (const std::string &what, std::size_t needed) const
  {
    const std::size_t memory =
        std::ranges::min_element (devices_, {}, &ShardDevice::memory)->memory;
    return options_.max_device_memory ? no_memory_within (what, needed, "max-device-memory", memory)
                                      : no_memory_text (what, needed, { memory, "device memory" });
  }

  /// Returns the error for devices that are too small even for parts of the fewest bins.
  tl::unexpected<Error> too_small (const char *part, int rows, const char *remedy) const
  {
    return error (
        Error::Kind::no_memory,
        too_large (part + describe (shape_) + " with what it is computed in",
                   overhead_ (least_bins_, rows) + kPartsAtOnce * bytes (least_bins_, rows)),
        remedy,
        options_.max_device_memory ? "raise max-device-memory, or scale the video down"
                                   : "scale the video down");
  }

  std::string why_not_resident (const Partition &resident) const
  {
    const std::size_t parts =
        divide_up (std::size_t (least_resident_tensors (options_)) * resident.groups, n_);
    return too_large (std::string (n_ > 1 ? "each device's share of " : "") + describe (shape_)
                          + " with what it is computed in",
                      overhead_ (resident.bins, resident.rows) + pictures_
                          + parts * bytes (resident.bins, resident.rows))
           + ", and download=never keeps it there: set download=lazy to compute it in rounds"
           + (options_.max_device_memory ? ", or raise max-device-memory" : "");
  }

  const Shape &shape_;
  const std::span<const ShardDevice> devices_;
  const int n_;
  const Options &options_;
  const Overhead &overhead_;
  const std::size_t pictures_;
  const int least_bins_, most_bins_;  // of a task
};

}  // namespace

std::size_t overhead_of (const Shape &part, const Options &options, Device device,
                         std::size_t picture, unsigned parts)
{
  const PartMemory memory = part_memory_of (
      part, options.strategy ? options.strategy : inthist::preferred_strategy (device, part), {});
  return parts * (memory.pixels + memory.workspace) + memory.above
         + (parts + kPicturesAhead) * picture;
}

unsigned room_for (const Shape &shape, std::size_t memory, std::size_t needed)
{
  const std::size_t bytes = inthist::tensor_bytes (shape);
  return unsigned (
      std::min<std::size_t> (memory > needed ? (memory - needed) / bytes : 0, G_MAXINT32));
}

unsigned least_resident_tensors (const Options &options)
{
  return options.max_tensors == 1 || options.download == Download::never ? 1 : 2;
}

Expected<Partition> divide (const Shape &shape, std::span<const ShardDevice> devices,
                            const Options &options, const Overhead &overhead, std::size_t pictures)
{
  return Divider (shape, devices, options, overhead, pictures).divide ();
}

}  // namespace integralhist
