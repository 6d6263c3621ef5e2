// SPDX-License-Identifier: LGPL-2.1-or-later
//
// multi-pixel-scan: Lee and Choe 2014. It is Harris's scan, transpose, scan, transpose, with two
// changes. A line (a row or a column) is always scanned by one block: if the line is longer than
// twice the block, a thread takes 4, 8, ... pixels (section 3.1), so that no sums go through global
// memory. Shared memory has no padding words: an element is rotated within its bank row (their eq.
// 3), so that a line of n elements needs only n elements of shared memory.
//
// Traffic, bytes per u32 element: 4 initialise, then 4 times 8: 36. On an H200 it takes 0.67 of the
// time of scan-transpose-scan, whose sums are in global memory, at 1920x1080x32.
#include "prescan.cuh"
#include "scan_planes.cuh"

namespace inthist {
namespace cuda {
namespace {

// N_t in Lee and Choe 2014: the most threads of a block. A thread scans at least two pixels.
constexpr int kThreads[] = { 128, 1024, 512, 256, 64, 32 };
// the longest line in bytes, which fits in the shared memory of every GPU
constexpr std::size_t kMaxLine = 32 << 10;

/// Places element i of a line in shared memory: rotates row i/32 of the banks by its number (Lee
/// and Choe 2014, eq. 3): i + i/32 - 32 ((i + i/32)/32 - i/32).
struct RotatedIndex {
  __host__ __device__ constexpr int operator() (int i) const
  {
    return (i & ~31) | ((i + i / 32) & 31);
  }
};

int power_of_two (int n)
{
  int power = 64;  // 64 elements or more, so that a block has at least one warp
  while (power < n)
    power *= 2;
  return power;
}

template <class T>
__global__ void __launch_bounds__ (1024)
scan_lines (Planes<T> planes, int n)
{
  extern __shared__ __align__ (16) unsigned char shared[];
  T *temp = reinterpret_cast<T *> (shared);
  const RotatedIndex index;
  T *line = planes.line (blockIdx.y, blockIdx.x);
  for (int x = threadIdx.x; x < n; x += blockDim.x)
    temp[index (x)] = x < planes.width ? line[x] : T (0);
  prescan (temp, n, index);
  for (int x = threadIdx.x; x < planes.width; x += blockDim.x)
    line[x] = T (line[x] + temp[index (x)]);
}

struct MultiPixelScan : Transposing {
  template <class T>
  static void scan (const Planes<T> &planes, const Job &job)
  {
    const int n = power_of_two (planes.width),
              threads = std::min (n / 2, job.tuning.threads_or (kThreads));
    job.stage ("scan");
    scan_lines<<<dim3 (planes.height, planes.count), threads, n * sizeof (T), job.stream>>> (planes,
                                                                                             n);
  }

  template <class T, class Source>
  static int run (const Planes<T> &out, Source source, const Job &job)
  {
    const Planes<T> turned = out.transposed (job.workspace);
    initialise (out, source, job);
    scan (out, job);
    transpose (out, turned, job);
    scan (turned, job);
    transpose (turned, out, job);
    return cudaGetLastError ();
  }
};

bool supports (const Shape &shape, const Tuning &)
{
  return std::max (shape.width, shape.height) * bytes_of (shape.counter) <= kMaxLine;
}

}  // namespace
}  // namespace cuda

extern constinit const Strategy kMultiPixelScan = cuda::over_planes<cuda::MultiPixelScan> (
    { .name = "multi-pixel-scan",
      .description =
          "CUDA: one block a line, several pixels a thread, transposes between (Lee and Choe 2014)",
      .supports = cuda::supports,
      .limit = "rows and columns of up to 32 KiB: 8192 elements of u32",
      .threads = cuda::kThreads });

}  // namespace inthist
