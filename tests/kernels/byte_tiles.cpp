// SPDX-License-Identifier: LGPL-2.1-or-later
//
// byte-tiles with policies other than its own: strips of any height, and tiles that are not staged
// in shared memory, for devices whose blocks have too little of it.
//
// Environment: devices.hpp
#include <kernels/registry.hpp>
#if INTHIST_CUDA
#include <kernels/cuda/byte_tiles.hpp>
#endif

#include "devices.hpp"
#include "test.hpp"

namespace {

#if INTHIST_CUDA
void run_policies ()
{
  const Strategy &strategy = *find_strategy ("byte-tiles");
  for (const auto &[width, height, bins] : { std::array{ 700, 300, 5 },
                                             { 1920, 120, 3 },
                                             { 33, 4400, 2 },      // wide: rows
                                             { 4400, 90, 3 } }) {  // wide: columns
    const Input input (case_of (Shape{ width, height, bins, Type::u8_tiled }, Pattern::noise));
    for (const bool staged : { true, false })
      for (const int rows : { 4, 5, 7, 300 }) {
        Frame frame (Device::cuda, input, true);
        Block workspace (Device::cuda, strategy.workspace_bytes (input.c.shape, {}));
        workspace.poison ();
        Queue queue (Device::cuda);
        const cuda::TilesPolicy policy = { .least_rows = rows,
                                           .most_rows = rows,
                                           .staged = staged };
        fail_unless_equals_int (cuda::run_byte_tiles (frame.job (workspace, queue), policy), 0);
        queue.wait ();
        expect_none (frame.wrong (), input.c.name () + ", strips of " + std::to_string (rows)
                                         + " rows of tiles, " + (staged ? "staged" : "not staged"));
      }
  }
}
#else
void run_policies () {}
#endif

}  // namespace

TEST (policies)
{
  if (have (Device::cuda, "policies"))
    run_policies ();
}
