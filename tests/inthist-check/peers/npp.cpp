// SPDX-License-Identifier: LGPL-2.1-or-later
//
// NPP: bins first, as ours; then once a bin nppiCompareC, which makes a mask of 255, and
// nppiIntegral, which puts a row and a column of zeros before a plane. A table is one call, of
// nppiIntegral or, with the squares, of nppiSqrIntegral. Its int is modulo 2^32, as our u32 is.
#include <nppi_statistics_functions.h>
#include <nppi_threshold_and_compare_operations.h>

#include "../text.hpp"
#include "peers.hpp"

namespace inthist::check {
namespace {

/// Tells what NPP wants to know; the stream is the frame's.
NppStreamContext context_of_this_device ()
{
  NppStreamContext context = {};
  int device = 0;
  cudaDeviceProp properties;
  CHECK_CUDA (cudaGetDevice (&device));
  CHECK_CUDA (cudaGetDeviceProperties (&properties, device));
  context.nCudaDeviceId = device;
  context.nMultiProcessorCount = properties.multiProcessorCount;
  context.nMaxThreadsPerMultiProcessor = properties.maxThreadsPerMultiProcessor;
  context.nMaxThreadsPerBlock = properties.maxThreadsPerBlock;
  context.nSharedMemPerBlock = properties.sharedMemPerBlock;
  context.nCudaDevAttrComputeCapabilityMajor = properties.major;
  context.nCudaDevAttrComputeCapabilityMinor = properties.minor;
  context.nStreamFlags = cudaStreamNonBlocking;
  return context;
}

void expect_npp (NppStatus status, const char *call)
{
  if (status != NPP_SUCCESS)
    throw std::runtime_error (text ("%s: NPP status %d", call, int (status)));
}

void add_table (Rig &rig, std::vector<Candidate> &list)
{
  const Shape shape = rig.shape;
  const Layout layout = rig.layout_with_border ();
  list.push_back (
      { .name = "npp",
        .mode = "alone",
        .frame =
            [=, &rig, context = context_of_this_device ()] (const Slot &slot) mutable {
              const std::uint8_t *const pixels = rig.images[slot.lane].get ();
              const NppiSize size = { shape.width, shape.height };
              const int row = int (layout.row_pitch);
              context.hStream = slot.stream;
              auto *const sums = reinterpret_cast<Npp32s *> (slot.tensor),
                          *const squares =
                              reinterpret_cast<Npp32s *> (slot.tensor + layout.plane_pitch);
              if (shape.bins == 2)
                expect_npp (nppiSqrIntegral_8u32s_C1R_Ctx (pixels, shape.width, sums, row, squares,
                                                           row, size, 0, 0, context),
                            "nppiSqrIntegral_8u32s_C1R_Ctx");
              else if (shape.counter == Type::f32)
                expect_npp (nppiIntegral_8u32f_C1R_Ctx (pixels, shape.width,
                                                        reinterpret_cast<Npp32f *> (slot.tensor),
                                                        row, size, 0, context),
                            "nppiIntegral_8u32f_C1R_Ctx");
              else
                expect_npp (
                    nppiIntegral_8u32s_C1R_Ctx (pixels, shape.width, sums, row, size, 0, context),
                    "nppiIntegral_8u32s_C1R_Ctx");
            },
        .wrong =
            [=, &rig] (const Bytes &slot) {
              return rig.input.truth.difference_with_border ({ slot, 0, layout });
            } });
}

}  // namespace

void add_npp (Rig &rig, std::vector<Candidate> &list)
{
  const Shape shape = rig.shape;
  if (shape.content == Content::sums)
    return add_table (rig, list);
  const Layout layout = rig.layout_with_border ();
  const int mask_stride = int (padded_columns (shape.width));
  const std::shared_ptr<std::uint8_t> mask = rig.memory (std::size_t (mask_stride) * shape.height);
  list.push_back (
      { .name = "npp",
        .mode = "alone",
        .frame =
            [=, &rig, context = context_of_this_device ()] (const Slot &slot) mutable {
              const PixelPlane bins = make_bins (rig, slot);
              const NppiSize size = { shape.width, shape.height };
              context.hStream = slot.stream;
              for (int b = 0; b < shape.bins; b++) {
                if (slot.listener)
                  slot.listener->begin ("masks");
                expect_npp (nppiCompareC_8u_C1R_Ctx (bins.data, int (bins.stride), Npp8u (b),
                                                     mask.get (), mask_stride, size, NPP_CMP_EQ,
                                                     context),
                            "nppiCompareC_8u_C1R_Ctx");
                if (slot.listener)
                  slot.listener->begin ("integrals");
                auto *const plane =
                    reinterpret_cast<Npp32s *> (slot.tensor + b * layout.plane_pitch);
                expect_npp (nppiIntegral_8u32s_C1R_Ctx (mask.get (), mask_stride, plane,
                                                        int (layout.row_pitch), size, 0, context),
                            "nppiIntegral_8u32s_C1R_Ctx");
              }
            },
        .wrong =
            [=, &rig] (const Bytes &slot) {
              return rig.input.truth.difference_with_border ({ slot, 0, layout }, 255);
            },
        .staged = true });
}

}  // namespace inthist::check
