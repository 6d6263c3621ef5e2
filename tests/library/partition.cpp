// SPDX-License-Identifier: LGPL-2.1-or-later
//
// divide () cuts frames into parts for devices of any size. The parts make the frame, and each
// device has room for what it may get.
#include <gst/integralhist/gstintegralhist.h>
#include <gst/integralhist/sharded/sharded_engine.hpp>

#include <map>
#include <random>

#include "must.hpp"
#include "repeats.hpp"

#include "test.hpp"  // last: it has macros with names of the standard library

using namespace integralhist;

namespace {

using inthist::Shape, inthist::Type, inthist::Content;

std::size_t bytes_of_part (const Shape &shape, int bins, int rows)
{
  const Shape part = shape_of_part (shape, bins, rows);
  return inthist::tensor_bytes (part);
}

}  // namespace

/// For any devices and shape: the parts make the frame, each device has room for its parts, and
/// there is an error only if not even a row fits, or a plane of tiles.
TEST (any_share)
{
  constexpr int kTimes = kSlowed ? 1500 : 6000;
  std::mt19937 random (7);
  const auto between = [&] (int low, int high) {
    return low + int (random () % unsigned (high - low + 1));
  };
  std::map<std::string, int> seen;
  for (int i = 0; i < kTimes; i++) {
    constexpr Type kCounters[] = { Type::u16, Type::u32, Type::u32, Type::u8_tiled };
    const Shape shape = { between (1, 3000),        between (1, 3000), between (1, 256),
                          kCounters[random () % 4], Content::bins,     Type::u8 };
    const bool tiled = shape.counter == Type::u8_tiled;
    const std::size_t whole = bytes_of_part (shape, shape.bins, shape.height);
    Options options;
    options.task_bins = i % 4 ? 0 : between (1, 256);
    options.max_tensors = i % 5 ? 0 : between (1, 3);
    options.download = i % 7 ? Download::lazy : Download::never;
    const std::size_t fixed = std::size_t (between (0, 100000)),
                      a_row = std::size_t (between (0, 4 * shape.width));
    const Overhead overhead = [=] (int bins, int rows) {
      return fixed + a_row * rows + std::size_t (bins);
    };
    std::vector<ShardDevice> devices (between (1, 8));
    for (ShardDevice &device : devices)
      device.memory =
          std::size_t (whole * std::exp2 (between (-14, 3)) * (1 + random () % 1000 / 1000.0))
          + fixed;
    const auto smallest = std::ranges::min (devices, {}, &ShardDevice::memory).memory;
    const auto shared = divide (shape, devices, options, overhead);
    if (!shared) {
      fail_unless (shared.error ().kind == Error::Kind::no_memory);
      const int rows = tiled ? shape.height : 1;
      const std::string &message = shared.error ().message;
      fail_unless (options.download == Download::never
                       || smallest
                              < overhead (1, rows) + kPartsAtOnce * bytes_of_part (shape, 1, rows),
                   "%s", message.c_str ());
      fail_unless (options.download == Download::never
                       || tiled == (message.find ("set counter=u16, or") != std::string::npos),
                   "%s", message.c_str ());
      seen[tiled ? "refused tiles" : "refused"]++;
      continue;
    }
    const Partition &partition = *shared;
    fail_unless (!tiled || partition.strips == 1, "tiles in %d strips", partition.strips);
    seen[partition.resident ? "resident" : partition.strips > 1 ? "strips" : "rounds"]++;
    // every bin and row once
    bool sound = true;
    int next_bin = 0;
    for (int group = 0; group < partition.groups; group++) {
      int next_row = 0;
      for (int strip = 0; strip < partition.strips; strip++) {
        const Part part = partition.part (shape, group, strip);
        sound &= part.first_bin == next_bin && part.first_row == next_row && part.bins >= 1
                 && part.rows >= 1;
        sound &= part.bins <= partition.bins && part.rows <= partition.rows;
        next_row += part.rows;
      }
      sound &= next_row == shape.height;
      next_bin += partition.part (shape, group, 0).bins;
    }
    fail_unless (sound && next_bin == shape.bins
                 && (options.task_bins == 0 || partition.bins <= options.task_bins));
    guint64 room = 0;
    for (std::size_t d = 0; d < devices.size (); d++) {
      room += partition.tensors[d];
      fail_unless (overhead (partition.bins, partition.rows)
                       + partition.tensors[d]
                             * bytes_of_part (shape, partition.bins, partition.rows)
                   <= devices[d].memory);
    }
    if (partition.resident)
      fail_unless (partition.frames >= 1 && room >= guint64 (partition.frames) * partition.groups);
    else
      fail_unless (options.download != Download::never && partition.bins <= 8);
  }
  for (const char *kind : { "refused", "refused tiles", "resident", "strips", "rounds" })
    fail_unless (seen[kind] > kTimes / 100, "%s: %d", kind, seen[kind]);
}

/// If everything fits, every device gets the same number of tasks of a frame, provided there are
/// enough bins, and several tasks if they are downloaded.
TEST (even_share)
{
  for (int n = 1; n <= 8; n++) {
    std::vector<ShardDevice> devices (n);
    for (ShardDevice &device : devices)
      device.memory = std::size_t (200) << 30;
    const Overhead nothing = [] (int, int) { return std::size_t (0); };
    const Partition large = must (
        divide ({ 8192, 8192, 128, Type::u32, Content::bins, Type::u8 }, devices, {}, nothing));
    fail_unless (large.resident && large.groups >= std::max (n, 4));
    fail_unless (128 % n != 0 || large.groups % n == 0, "%d groups for %d devices", large.groups,
                 n);
    const Partition small =
        must (divide ({ 640, 480, 32, Type::u32, Content::bins, Type::u8 }, devices, {}, nothing));
    fail_unless_equals_int (small.groups, 32 % n == 0 ? n : small.groups);
    Options eager;
    eager.download = Download::eager;
    const Partition downloaded = must (
        divide ({ 8192, 8192, 128, Type::u32, Content::bins, Type::u8 }, devices, eager, nothing));
    fail_unless (downloaded.resident && downloaded.bins <= 8 && downloaded.groups >= 2 * n,
                 "%d groups for %d devices", downloaded.groups, n);
    const Partition one =
        must (divide ({ 640, 480, 1, Type::u32, Content::bins, Type::u8 }, devices, {}, nothing));
    fail_unless_equals_int (one.groups, 1);
  }
}

/// The planes of tables stay together, unlike the planes of bins.
TEST (tables)
{
  const Shape shape = { 640, 480, 2, Type::u32, Content::sums, Type::u8 };
  const std::size_t whole = bytes_of_part (shape, 2, shape.height);
  const Overhead nothing = [] (int, int) { return std::size_t (0); };
  bool strips = false;
  for (std::size_t memory = whole * 3; memory > whole / 100; memory = memory * 9 / 10) {
    std::vector<ShardDevice> devices (2);
    devices[0].memory = devices[1].memory = memory;
    const Partition partition = must (divide (shape, devices, {}, nothing));
    fail_unless (partition.bins == 2 && partition.groups == 1);
    strips |= partition.strips > 1;
  }
  fail_unless (strips);
}
