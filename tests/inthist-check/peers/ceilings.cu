// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a GPU can write: cudaMemsetAsync, and a kernel that stores 16 bytes a thread past the
// caches, as strategies do, and does nothing else.
#include "peers.hpp"

namespace inthist::check {
namespace {

constexpr int kThreads = 256, kStores = 4;
constexpr std::uint8_t kByte = 1;

__global__ void __launch_bounds__ (kThreads)
store (uint4 *to, std::size_t count, unsigned word)
{
  const std::size_t first = std::size_t (blockIdx.x) * kThreads * kStores + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kStores; i++)
    if (first + i * kThreads < count)
      __stcs (&to[first + i * kThreads], make_uint4 (word, word, word, word));
}

void add (Rig &rig, std::vector<Candidate> &list, const char *name,
          std::function<void (const Slot &)> frame)
{
  Candidate candidate;
  candidate.name = name;
  candidate.mode = "alone";
  candidate.frame = std::move (frame);
  candidate.wrong = [&rig] (const Bytes &slot) { return not_filled_with (rig, slot, kByte); };
  candidate.ceiling = true;
  list.push_back (std::move (candidate));
}

}  // namespace

void add_cuda_memset (Rig &rig, std::vector<Candidate> &list)
{
  const std::size_t bytes = tensor_bytes (rig.shape, rig.layout);
  add (rig, list, "cudaMemsetAsync", [bytes] (const Slot &slot) {
    CHECK_CUDA (cudaMemsetAsync (slot.tensor, kByte, bytes, slot.stream));
  });
}

void add_store (Rig &rig, std::vector<Candidate> &list)
{
  const std::size_t count = tensor_bytes (rig.shape, rig.layout) / sizeof (uint4),
                    block = kThreads * kStores;
  add (rig, list, "store", [=] (const Slot &slot) {
    store<<<unsigned ((count + block - 1) / block), kThreads, 0, slot.stream>>> (
        reinterpret_cast<uint4 *> (slot.tensor), count, 0x01010101u * kByte);
    CHECK_CUDA (cudaGetLastError ());
  });
}

}  // namespace inthist::check
