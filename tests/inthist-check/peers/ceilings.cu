// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How fast a GPU can write: cudaMemsetAsync, and a kernel that only stores 16 bytes a thread past
// the caches, as strategies do. Strategies read too, so there are two more: cudaMemcpyAsync of a
// table's bytes, and a kernel that loads the pixels once and stores the tensor's bytes once.
#include "peers.hpp"

namespace inthist::check {
namespace {

constexpr int kThreads = 256, kStores = 4;
constexpr std::uint8_t kByte = 1;
constexpr unsigned kWord = 0x01010101u * kByte;

__global__ void __launch_bounds__ (kThreads)
store (uint4 *to, std::size_t count, unsigned word)
{
  const std::size_t first = std::size_t (blockIdx.x) * kThreads * kStores + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kStores; i++)
    if (first + i * kThreads < count)
      __stcs (&to[first + i * kThreads], make_uint4 (word, word, word, word));
}

/// Stores Ratio times what it loads, or `any` times if Ratio is 0. To the compiler the stored value
/// depends on the loaded one, but the mask is 0.
template <int Loads, int Ratio>
__global__ void __launch_bounds__ (kThreads)
load_store (const uint4 *from, std::size_t loads, uint4 *to, std::size_t stores, unsigned word,
            unsigned mask, int any)
{
  const int ratio = Ratio > 0 ? Ratio : any;
  const std::size_t first = std::size_t (blockIdx.x) * kThreads * Loads;
  uint4 pixels[Loads];
#pragma unroll
  for (int i = 0; i < Loads; i++) {
    const std::size_t at = first + i * kThreads + threadIdx.x;
    pixels[i] = at < loads ? __ldcs (&from[at]) : uint4{};
  }
#pragma unroll
  for (int i = 0; i < Loads * ratio; i++) {
    const std::size_t at = first * ratio + i * kThreads + threadIdx.x;
    const uint4 p = pixels[Loads > 1 ? i / ratio : 0];
    if (at < stores)
      __stcs (&to[at], make_uint4 (word | (p.x & mask), word | (p.y & mask), word | (p.z & mask),
                                   word | (p.w & mask)));
  }
}

template <int Loads, int Ratio>
void launch_load_store (const Slot &slot, const std::uint8_t *from, std::size_t loads,
                        std::size_t stores, int ratio)
{
  static_assert (Ratio > 0 || Loads == 1);
  const std::size_t block = std::size_t (kThreads) * Loads * ratio;
  load_store<Loads, Ratio><<<unsigned (divide_up (stores, block)), kThreads, 0, slot.stream>>> (
      reinterpret_cast<const uint4 *> (from), loads, reinterpret_cast<uint4 *> (slot.tensor),
      stores, kWord, 0, ratio);
}

void add (Rig &rig, std::vector<Candidate> &list, const char *name, bool reads,
          std::function<void (const Slot &)> frame)
{
  Candidate candidate;
  candidate.name = name;
  candidate.mode = "alone";
  candidate.frame = std::move (frame);
  candidate.wrong = [&rig] (const Bytes &slot) { return not_filled_with (rig, slot, kByte); };
  candidate.ceiling = true;
  candidate.reads = reads;
  list.push_back (std::move (candidate));
}

}  // namespace

void add_cuda_memset (Rig &rig, std::vector<Candidate> &list)
{
  const std::size_t bytes = tensor_bytes (rig.shape, rig.layout);
  add (rig, list, "cudaMemsetAsync", false, [bytes] (const Slot &slot) {
    CHECK_CUDA (cudaMemsetAsync (slot.tensor, kByte, bytes, slot.stream));
  });
}

void add_store (Rig &rig, std::vector<Candidate> &list)
{
  const std::size_t count = tensor_bytes (rig.shape, rig.layout) / sizeof (uint4),
                    block = kThreads * kStores;
  add (rig, list, "store", false, [=] (const Slot &slot) {
    store<<<unsigned (divide_up (count, block)), kThreads, 0, slot.stream>>> (
        reinterpret_cast<uint4 *> (slot.tensor), count, kWord);
    CHECK_CUDA (cudaGetLastError ());
  });
}

void add_cuda_memcpy (Rig &rig, std::vector<Candidate> &list)
{
  const std::size_t bytes = tensor_bytes (rig.shape, rig.layout);
  const std::shared_ptr<std::uint8_t> from = rig.memory (bytes);
  fill (rig.device, from.get (), kByte, bytes);
  add (rig, list, "cudaMemcpyAsync", false, [=] (const Slot &slot) {
    CHECK_CUDA (
        cudaMemcpyAsync (slot.tensor, from.get (), bytes, cudaMemcpyDeviceToDevice, slot.stream));
  });
}

void add_load_store (Rig &rig, std::vector<Candidate> &list)
{
  const Shape shape = rig.shape;
  const std::size_t loads = std::size_t (shape.width) * shape.height * bytes_of (shape.pixel)
                            / sizeof (uint4),
                    stores = tensor_bytes (shape, rig.layout) / sizeof (uint4);
  const int ratio = int (shape.bins * bytes_of (shape.counter) / bytes_of (shape.pixel));
  const auto launch = ratio == 1   ? launch_load_store<4, 1>
                      : ratio == 4 ? launch_load_store<1, 4>  // u8 to u32
                      : ratio == 8 ? launch_load_store<1, 8>  // or to two planes
                                   : launch_load_store<1, 0>;
  add (rig, list, "load-store", true, [=, &rig] (const Slot &slot) {
    launch (slot, rig.images[slot.lane].get (), loads, stores, ratio);
    CHECK_CUDA (cudaGetLastError ());
  });
}

}  // namespace inthist::check
