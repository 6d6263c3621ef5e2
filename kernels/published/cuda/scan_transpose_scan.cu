// SPDX-License-Identifier: LGPL-2.1-or-later
//
// scan-transpose-scan: Bilgic, Horn and Masaki 2010, section IV. A line is cut into segments of
// 512. A block of 256 threads scans each segment (work-efficient scan) and writes its sum to an
// auxiliary array. The sums of a line are scanned and added to its segments. Then the planes are
// transposed, and all is repeated.
//
// Traffic, bytes per u32 element: 4 initialise, 8 scan, 8 increment, 8 transpose, 8 scan, 8
// increment: 44. A line of one segment needs no increment, so at 512x512x32 it takes less time than
// cw-sts. Their scan is exclusive and their result transposed; here each element is added to its
// prefix, and the planes start transposed.
#include "prescan.cuh"
#include "scan_planes.cuh"

namespace inthist {
namespace cuda {
namespace {

constexpr int kSegment = 512, kThreads = kSegment / 2;

/// Scans a segment of a line in each block, and writes its sum to sums[plane][line][segment].
template <class T>
__global__ void __launch_bounds__ (kThreads)
scan_segments (Planes<T> planes, T *sums, int segments)
{
  __shared__ T temp[HarrisIndex::elements (kSegment)];
  const HarrisIndex index;
  const int segment = blockIdx.x % segments, y = blockIdx.x / segments, x0 = segment * kSegment;
  T *line = planes.line (blockIdx.y, y);
  T own[2];
  for (int i = 0; i < 2; i++) {
    const int at = i * kThreads + threadIdx.x;
    own[i] = x0 + at < planes.width ? line[x0 + at] : T (0);
    temp[index (at)] = own[i];
  }
  const T sum = prescan (temp, kSegment, index);
  for (int i = 0; i < 2; i++) {
    const int at = i * kThreads + threadIdx.x;
    if (x0 + at < planes.width)
      line[x0 + at] = T (temp[index (at)] + own[i]);
  }
  if (threadIdx.x == 0)
    sums[(std::size_t (blockIdx.y) * planes.height + y) * segments + segment] = sum;
}

/// Replaces the sums of a line's segments by their exclusive prefix sums, in a block for each line.
template <class T>
__global__ void __launch_bounds__ (kThreads)
scan_sums (T *sums, int segments, int lines)
{
  __shared__ T temp[HarrisIndex::elements (kSegment)];
  const HarrisIndex index;
  T *line = sums + (std::size_t (blockIdx.y) * lines + blockIdx.x) * segments;
  T carry = T (0);
  for (int x0 = 0; x0 < segments; x0 += kSegment) {
    for (int i = threadIdx.x; i < kSegment; i += kThreads)
      temp[index (i)] = x0 + i < segments ? line[x0 + i] : T (0);
    const T sum = prescan (temp, kSegment, index);
    for (int i = threadIdx.x; i < kSegment && x0 + i < segments; i += kThreads)
      line[x0 + i] = T (carry + temp[index (i)]);
    carry += sum;
    __syncthreads ();
  }
}

template <class T>
__global__ void __launch_bounds__ (kThreads)
increment_segments (Planes<T> planes, const T *sums, int segments)
{
  const int segment = blockIdx.x % segments, y = blockIdx.x / segments;
  const T before = sums[(std::size_t (blockIdx.y) * planes.height + y) * segments + segment];
  T *line = planes.line (blockIdx.y, y);
  for (int x = segment * kSegment + threadIdx.x; x < min ((segment + 1) * kSegment, planes.width);
       x += kThreads)
    line[x] = T (line[x] + before);
}

struct ScanTransposeScan {
  template <class T>
  static std::size_t sums_bytes (const Planes<T> &planes)
  {
    return std::size_t (planes.count) * planes.height * divide_up (planes.width, kSegment)
           * sizeof (T);
  }

  template <class T>
  static std::size_t workspace_bytes (const Planes<T> &out, const Tuning &)
  {
    const Planes<T> turned = out.transposed (nullptr);
    return turned.bytes () + std::max (sums_bytes (turned), sums_bytes (out));
  }

  template <class T>
  static void scan (const Planes<T> &planes, T *sums, const Job &job)
  {
    const int segments = divide_up (planes.width, kSegment);
    const dim3 grid (segments * planes.height, planes.count);
    job.stage ("scan");
    scan_segments<<<grid, kThreads, 0, job.stream>>> (planes, sums, segments);
    if (segments == 1)
      return;
    job.stage ("scan sums");
    scan_sums<<<dim3 (planes.height, planes.count), kThreads, 0, job.stream>>> (sums, segments,
                                                                                planes.height);
    job.stage ("increment");
    increment_segments<<<grid, kThreads, 0, job.stream>>> (planes, sums, segments);
  }

  template <class T, class Source>
  static int run (const Planes<T> &out, Source source, const Job &job)
  {
    const Planes<T> turned = out.transposed (job.workspace);
    T *sums = turned.data + turned.plane * turned.count;
    initialise_transposed (turned, source, job);
    scan (turned, sums, job);
    transpose (turned, out, job);
    scan (out, sums, job);
    return cudaGetLastError ();
  }
};

}  // namespace
}  // namespace cuda

extern constinit const Strategy kScanTransposeScan = cuda::over_planes<cuda::ScanTransposeScan> (
    { .name = "scan-transpose-scan",
      .description =
          "CUDA: scan in segments of 512, add their sums, transpose, again (Bilgic et al. 2010)" });

}  // namespace inthist
