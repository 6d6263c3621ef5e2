// SPDX-License-Identifier: LGPL-2.1-or-later
//
// serial: Algorithm 1 of Poostchi et al. 2017 on one thread, to compare with (../reference.cpp).
#include "../inthist.hpp"

namespace inthist {
namespace {

int run (const Job &job)
{
  job.stage ("recursion");
  return reference (job);
}

/// Excludes floats: the recursion's differences would add up the rounding errors of a frame.
bool supports (const Shape &shape, const Tuning &)
{
  return shape.counter != Type::f32 && shape.counter != Type::f64 && shape.counter != Type::f32x4;
}

}  // namespace

extern constinit const Strategy kSerial = {
  .name = "serial",
  .description =
      "CPU: the serial algorithm, one thread, slow and obvious (Poostchi et al. 2017, Algorithm 1)",
  .device = Device::cpu,
  .run = run,
  .takes_weights = true,
  .supports = supports,
  .limit = "integer elements",
  .slow = true
};

}  // namespace inthist
