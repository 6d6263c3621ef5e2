// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks the checker: strategies with one fault each run as all others do. A check that cannot fail
// checks nothing.
#include <cmath>
#include <cstdio>
#include <limits>

#include <kernels/published/reference.hpp>
#include <kernels/registry.hpp>

#include "text.hpp"
#include "verify.hpp"

namespace inthist::check {
namespace {

std::uint8_t *byte_at (const Job &job, int plane, int y, std::size_t byte)
{
  return static_cast<std::uint8_t *> (job.tensor) + plane * job.layout.plane_pitch
         + y * job.layout.row_pitch + byte;
}

template <class T>
T &element (const Job &job, int plane, int y, int x)
{
  return reinterpret_cast<T *> (byte_at (job, plane, y, 0))[x];
}

/// Makes the right tensor: by Algorithm 1, or floating sums in the order of a plain loop, or the
/// tiles of a strategy.
int right (const Job &job)
{
  if (job.shape.counter == Type::u8_tiled) {
    const Strategy &strategy = *preferred_strategy (Device::cpu, job.shape);
    const Block workspace (Device::cpu, strategy.workspace_bytes (job.shape, {}));
    Job whole = job;
    whole.workspace = workspace.data;
    return strategy.run (whole);
  }
  if (job.shape.counter != Type::f32)
    return reference (job);
  for (int y = 0; y < job.shape.height; y++) {
    float row = 0;
    for (int x = 0; x < job.shape.width; x++) {
      row += reinterpret_cast<const float *> (job.pixels.data + y * job.pixels.stride)[x];
      element<float> (job, 0, y, x) = y ? row + element<float> (job, 0, y - 1, x) : row;
    }
  }
  return 0;
}

struct Fault {
  const char *what;
  int (*run) (const Job &);
  const char *noticed;  // a part that the message must have
};

/// Makes the right tensor, and then a fault. `before` is the value that an element had before.
#define FAULT(what, noticed, ...) \
  { \
    what, \
        [] (const Job &job) { \
          [[maybe_unused]] const auto before = element<std::uint32_t> (job, 0, 2, 3); \
          right (job); \
          __VA_ARGS__; \
          return 0; \
        }, \
        noticed \
  }

constexpr Fault kLeftOut = FAULT ("an element left out", "(0, 2, 3)",
                                  element<std::uint32_t> (job, 0, 2, 3) = before),
                kBetweenRows = FAULT ("a byte between rows", "outside",
                                      *byte_at (job, 0, 3, job.shape.width * 4) = 0),
                kBehind = FAULT ("a byte behind the tensor", "outside",
                                 *byte_at (job, job.shape.bins, 0, 0) = 0),
                kNothing = { "nothing written", [] (const Job &) { return 0; }, "(0, 0, 0)" };

constexpr Fault kOfCounts[] = {
  FAULT ("an element too many by one", "(1, 4, 5)", element<std::uint32_t> (job, 1, 4, 5)++),
  kLeftOut,
  kBetweenRows,
  FAULT ("a byte between planes", "outside", *byte_at (job, 1, 0, -1) = 0),
  FAULT ("a byte before the tensor", "byte -1", *byte_at (job, 0, 0, -1) = 0),
  kBehind,
  FAULT ("a byte behind the workspace", "workspace",
         static_cast<std::uint8_t *> (job.workspace)[64] = 0),
  FAULT ("a byte before the workspace", "workspace",
         static_cast<std::uint8_t *> (job.workspace)[-1] = 0),
  { "an error", [] (const Job &job) { return right (job) + 1; }, "error" },
  kNothing,
};

/// Faults in tiles of 288 bytes. Row 1 of a tile is line 3.
constexpr Fault kOfTiles[] = {
  FAULT ("a byte inside too many by one", "(1, 17, 21)", ++*byte_at (job, 1, 1, 288 + 3 * 16 + 5)),
  FAULT ("a corner too many by 65536", "(2, 0, 0)", ++*byte_at (job, 2, 0, 2 * 16)),
  FAULT ("a place right of the frame", "bin 0, tile 2 of row 0: byte 54",
         ++*byte_at (job, 0, 0, 2 * 288 + 3 * 16 + 6)),
  FAULT ("a place below the frame", "bin 1, tile 0 of row 1: byte 112",
         ++*byte_at (job, 1, 1, 7 * 16)),
  FAULT ("a byte between rows of tiles", "outside", *byte_at (job, 0, 0, 3 * 288) = 0),
  kBehind,
  kNothing,
};

constexpr Fault kOfSums[] = {
  FAULT ("a NaN", "(0, 4, 5)",
         element<float> (job, 0, 4, 5) = std::numeric_limits<float>::quiet_NaN ()),
  FAULT ("an infinity", "(0, 4, 5)", element<float> (job, 0, 4, 5) = INFINITY),
  kLeftOut,
  FAULT ("an element too large", "(0, 20, 9)",
         element<float> (job, 0, 20, 9) = 1.01f * element<float> (job, 0, 20, 9) + 0.01f),
  kBetweenRows,
};

/// Integers in floats, all of them small enough to be exact.
constexpr Fault kOfExactSums[] = {
  FAULT ("an element too large by one", "(0, 20, 9)", element<float> (job, 0, 20, 9)++),
};

bool notices (const Shape &shape, Pattern pattern, std::span<const Fault> faults)
{
  Case c;
  c.shape = shape;
  c.own_layout = true;
  c.row_gap = c.plane_gap = 16;
  c.pattern = pattern;
  const Input input (c);
  Frame frame (Device::cpu, input, true);
  Queue queue (Device::cpu);
  const auto told = [&] (int (*run) (const Job &)) {
    const Strategy strategy = { .name = "fault",
                                .description = "",
                                .device = Device::cpu,
                                .workspace_bytes = [] (const Shape &,
                                                       const Tuning &) { return std::size_t (64); },
                                .run = run,
                                .makes_tiles = shape.counter == Type::u8_tiled };
    return attempt (strategy, {}, frame, queue, true);
  };
  const auto complain = [&] (const char *what, const std::string &said) {
    std::printf ("FAIL: inthist-check: %s: %s: it says \"%s\"\n", c.name ().c_str (), what,
                 said.c_str ());
    return false;
  };
  bool good = true;
  if (const std::string said = told (right); !said.empty ())
    good = complain ("nothing is wrong", said);
  for (const Fault &fault : faults)
    if (const std::string said = told (fault.run); said.find (fault.noticed) == said.npos)
      good = complain (fault.what, said);
  return good;
}

}  // namespace

bool notices_faults ()
{
  const Shape counts = { 37, 21, 3, Type::u32 }, tiled = { 37, 21, 3, Type::u8_tiled },
              sums = { 37, 21, 1, Type::f32, Content::sums, Type::f32 };
  const bool good[] = { notices (counts, Pattern::noise, kOfCounts),
                        notices (tiled, Pattern::noise, kOfTiles),
                        notices (sums, Pattern::noise, kOfSums),
                        notices (sums, Pattern::range, kOfSums),
                        notices (sums, Pattern::integers, kOfExactSums) };
  return std::ranges::all_of (good, [] (bool one) { return one; });
}

}  // namespace inthist::check
