// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How fast the CPU can write: memset on all cores. Some processors have a short cut for zeros,
// which real counts do not take, so the measure is the first row, which writes ones.
#include <thread>

#include <tbb/parallel_for.h>

#include "../text.hpp"
#include "peers.hpp"

namespace inthist::check {

void add_memset (Rig &rig, std::vector<Candidate> &list)
{
  const std::size_t cores = std::max (1u, std::thread::hardware_concurrency ()),
                    bytes = tensor_bytes (rig.shape, rig.layout);
  for (const int value : { 1, 0 })
    list.push_back ({ .name = "memset",
                      .mode = text ("of %s, %zu threads", value ? "ones" : "zeros", cores),
                      .frame =
                          [=] (const Slot &slot) {
                            const auto edge = [&] (std::size_t part) {
                              return part == cores ? bytes : bytes * part / cores / 64 * 64;
                            };
                            tbb::parallel_for (
                                std::size_t (0), cores,
                                [&] (std::size_t part) {
                                  std::memset (slot.tensor + edge (part), value,
                                               edge (part + 1) - edge (part));
                                },
                                tbb::static_partitioner ());
                          },
                      .wrong =
                          [=, &rig] (const Bytes &slot) {
                            return not_filled_with (rig, slot, std::uint8_t (value));
                          },
                      .ceiling = true,
                      .reads = false });
}

}  // namespace inthist::check
