// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Helpers of the kernel library's tests: a test on each device, and the cases of inthist-check.
//
// Environment:
//   INTHIST_SEED=n       the seed, printed at the start (a fixed one by default)
//   INTHIST_CASES=small  small frames only, and buffers without a guard behind, so that
//   compute-sanitizer or ASan sees the true sizes
#pragma once

#include <kernels/registry.hpp>

#include "frame.hpp"

#include "test.hpp"  // last: it has macros with names of the standard library

using namespace inthist;
using namespace inthist::check;

TEST_TIMEOUT (600);

inline bool small_cases ()
{
  return g_strcmp0 (g_getenv ("INTHIST_CASES"), "small") == 0;
}

/// Returns whether the device is available, and prints why not.
inline bool have (Device device, const char *what)
{
  const std::string why = why_not (device);
  if (!why.empty ())
    printf ("SKIP: %s on CUDA: %s\n", what, why.c_str ());
  return why.empty ();
}

inline Case case_of (const Shape &shape, Pattern pattern)
{
  Case c;
  c.shape = shape;
  c.pattern = pattern;
  c.seed = seed ();
  return c;
}

/// The picture from which a case is made.
inline Bytes picture_of (const Case &c)
{
  return picture (c.pattern, c.shape.width, c.shape.height, c.seed);
}

/// Runs the reference. It makes no tiles, so for tiles it runs byte-rows, which inthist-check
/// compares with counted pixels.
inline void make_right (Job job)
{
  const Strategy &strategy =
      *find_strategy (job.shape.counter == Type::u8_tiled ? "byte-rows" : "serial");
  const Block workspace (Device::cpu, strategy.workspace_bytes (job.shape, {}));
  job.workspace = workspace.data;
  fail_unless_equals_int (inthist::run (strategy, job), 0);
}

/// The histogram's tensor, as the reference makes it.
inline Bytes right_tensor (const Input &input)
{
  const Layout layout = input.c.layout ();
  Bytes tensor (tensor_bytes (input.c.shape, layout), kPoison);
  make_right ({ input.c.shape,
                layout,
                { const_cast<std::uint8_t *> (input.pixels.data ()), input.c.stride () },
                tensor.data () });
  return tensor;
}

/// Makes bins of an image that lies on the device.
inline void make_bins (Device device, const Binning &binning, int width, int height,
                       PixelPlane bins, [[maybe_unused]] const Queue &queue)
{
#if INTHIST_CUDA
  if (device == Device::cuda)
    fail_unless_equals_int (cuda::bin_image (binning, width, height, bins, queue.stream), 0);
#endif
  if (device == Device::cpu)
    fail_unless_equals_int (cpu::bin_image (binning, width, height, bins), 0);
}

/// Runs a strategy, and fails unless all that it writes is right.
inline void expect_right (const Strategy &strategy, const Shape &shape, Frame &frame, Queue &queue,
                          const std::string &what)
{
  const Block workspace (strategy.device, strategy.workspace_bytes (shape, {}));
  frame.poison ();
  fail_unless_equals_int (inthist::run (strategy, frame.job (workspace, queue)), 0);
  queue.wait ();
  expect_none (frame.wrong (), std::string (strategy.name) + ", " + what);
}

/// A test on each available `device`.
#define DEVICE_TEST(name) DEVICE_TEST_FROM (name, 0)
#define DEVICE_TEST_FROM(name, first) \
  static void name##_on (Device device); \
  TEST_RANGE (name, first, std::size (kDevices)) \
  { \
    if (have (kDevices[__i__], #name)) \
      name##_on (kDevices[__i__]); \
  } \
  static void name##_on (Device device)
