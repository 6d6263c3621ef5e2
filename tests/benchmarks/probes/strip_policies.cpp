// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Measures the gain of each number in strip's policy, on this machine's GPU:
//
//   strip_policies [--size WxH --bins N] [--seconds S]
//
// It times strip as it is, and with one number of its policy changed. All take turns, a lap of some
// milliseconds each. A figure is a share of cudaMemsetAsync of the tensor's bytes: medians of the
// same turns, with frames in one stream and in two. Each policy must make the same last plane.
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <optional>
#include <random>

#include <kernels/clock.hpp>
#include <kernels/cuda/strip.hpp>
#include <kernels/registry.hpp>
#include <memory.hpp>
#include <text.hpp>

#include "../../support/command_line.hpp"

using namespace inthist;
using namespace inthist::check;

namespace {

constexpr int kStreams = 2, kTurns = 15;

struct Candidate {
  std::string name;
  std::optional<cuda::StripPolicy> policy;  // none: cudaMemsetAsync
  std::vector<double> times[kStreams] = {};
  bool right = true;
};

std::vector<Candidate> candidates ()
{
  const cuda::StripPolicy usual;
  std::vector<Candidate> all = { { .name = "memset", .policy = {} },
                                 { .name = "as it is", .policy = usual } };
  const auto with = [&] (const auto &number, const char *name, std::initializer_list<int> values) {
    for (const int value : values) {
      cuda::StripPolicy policy;
      std::invoke (number, policy) = value;
      all.push_back (
          { .name = text ("%s %d instead of %d", name, value, std::invoke (number, usual)),
            .policy = policy });
    }
  };
  with (&cuda::StripPolicy::usual_rows, "usual rows", { 24, 112 });
  with (&cuda::StripPolicy::most_rows, "most rows", { 136, 544 });
  with (&cuda::StripPolicy::most_pixels, "most pixels", { 875000, 5000000 });
  with (&cuda::StripPolicy::most_rounds, "most rounds", { 1 });
  with ([](auto &policy) -> auto & { return policy.count.blocks; }, "count blocks", { 1, 1000000 });
  return all;
}

/// Returns false if a policy makes another plane.
bool probe (const Shape &shape, double seconds)
{
  const Layout layout = layout_of (shape);
  const std::size_t bytes = tensor_bytes (shape, layout), pixels = padded_columns (shape.width);
  const Strategy &strip = *find_strategy ("strip");
  Bytes picture (pixels * shape.height);
  std::mt19937 random (1);
  for (auto &pixel : picture)
    pixel = std::uint8_t (random ());
  const Memory image = allocate (Device::cuda, picture.size ());
  copy (Device::cuda, image.get (), picture.data (), picture.size ());
  const Binning binning = { { image.get (), std::ptrdiff_t (pixels), {} },
                            uniform_lut (shape.bins) };

  Queue queues[] = { Queue (Device::cuda), Queue (Device::cuda) };
  std::vector<Memory> bins, tensors, workspaces;
  for (int i = 0; i < kStreams; i++) {
    bins.push_back (allocate (Device::cuda, picture.size ()));
    tensors.push_back (allocate (Device::cuda, bytes));
    workspaces.push_back (allocate (Device::cuda, strip.workspace_bytes (shape, {})));
  }
  const auto run = [&] (const Candidate &candidate, int stream) {
    if (!candidate.policy)
      CHECK_CUDA (cudaMemsetAsync (tensors[stream].get (), 0, bytes, queues[stream].stream));
    else
      CHECK_CUDA (cuda::run_strip ({ .shape = shape,
                                     .layout = layout,
                                     .pixels = { bins[stream].get (), pixels },
                                     .tensor = tensors[stream].get (),
                                     .workspace = workspaces[stream].get (),
                                     .stream = queues[stream].stream,
                                     .binning = &binning },
                                   *candidate.policy));
  };
  const auto lap = [&] (const Candidate &candidate, int streams, int frames) {
    const auto start = Clock::now ();
    for (int i = 0; i < frames; i++)
      run (candidate, i % streams);
    for (Queue &queue : queues)
      queue.wait ();
    return seconds_since (start) / frames;
  };

  std::vector<Candidate> all = candidates ();
  Bytes first (layout.plane_pitch), got (layout.plane_pitch);
  for (Candidate &candidate : all) {
    run (all[0], 0);
    run (candidate, 0);
    queues[0].wait ();
    copy (Device::cuda, got.data (), tensors[0].get () + (shape.bins - 1) * layout.plane_pitch,
          got.size ());
    if (&candidate == &all[1])
      first = got;
    else if (candidate.policy)
      candidate.right = got == first;
  }
  const int frames =
      std::max (4, int (seconds / (kTurns * kStreams * double (all.size ()) * lap (all[1], 1, 8))));
  for (int turn = 0; turn < kTurns; turn++)
    for (Candidate &candidate : all)
      for (int streams = 1; streams <= kStreams; streams++)
        candidate.times[streams - 1].push_back (lap (candidate, streams, frames));

  std::printf ("\n%dx%dx%d, %d frames a lap %18s %11s\n", shape.width, shape.height, shape.bins,
               frames, "one stream", "two streams");
  for (Candidate &candidate : all) {
    double median[kStreams];
    for (int i = 0; i < kStreams; i++) {
      auto &times = candidate.times[i];
      std::ranges::nth_element (times, times.begin () + times.size () / 2);
      median[i] = times[times.size () / 2];
    }
    auto &memset = all[0].times;
    std::printf ("  %-44s %11.3f %11.3f%s\n", candidate.name.c_str (),
                 memset[0][kTurns / 2] / median[0], memset[1][kTurns / 2] / median[1],
                 candidate.right ? "" : "  WRONG");
  }
  std::fflush (stdout);
  return std::ranges::all_of (all, [] (const Candidate &c) { return c.right; });
}

}  // namespace

int main (int argc, char **argv)
{
  std::vector<Shape> shapes;
  Shape own;
  double seconds = 3;
  command_line::read (argc, argv, "usage: strip_policies [--size WxH --bins N] [--seconds S]\n",
                      { { "--size", command_line::size (own.width, own.height, 1, 1 << 20) },
                        { "--bins", command_line::number (own.bins, 1, 256) },
                        { "--seconds", command_line::number (seconds, 1e-6) } });
  if (own.width > 0)
    shapes = { own };
  else
    for (const auto &[width, height, bins] : { std::array{ 640, 480, 32 },
                                               { 1920, 1080, 32 },
                                               { 1920, 1080, 128 },
                                               { 8192, 8192, 32 } })
      shapes.push_back ({ .width = width, .height = height, .bins = bins });
  for (const Shape &shape : shapes)
    if (!accepts (*find_strategy ("strip"), shape)) {
      std::fprintf (stderr, "strip_policies: strip takes %s\n", find_strategy ("strip")->limit);
      return 2;
    }
  if (const std::string why = why_not (Device::cuda); !why.empty ()) {
    std::printf ("SKIP: strip_policies: %s\n", why.c_str ());
    return 77;
  }
  try {
    bool right = true;
    for (const Shape &shape : shapes)
      right &= probe (shape, seconds);
    std::printf ("\n%s\n", right ? "all policies make the same last plane" : "a plane is WRONG");
    return right ? 0 : 1;
  } catch (const std::exception &error) {
    std::fprintf (stderr, "strip_policies: %s\n", error.what ());
    return 1;
  }
}
