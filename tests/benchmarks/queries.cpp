// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Times the answers of a tensor, on each device:
//
//   queries [--device cpu|cuda] [--size WxH] [--seconds S]
//
// Times are medians of laps, and include only the queries: tensors and queries lie on the device
// already, answers stay there. Calls follow each other over a ring of tensors larger than the
// caches, so that each reads its tensor from memory. `of reading` is the time in which the device
// reads the tensor's bytes, over that of the answer.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>

#include <memory.hpp>
#include <kernels/clock.hpp>
#include <kernels/query.hpp>
#include <kernels/registry.hpp>
#include <text.hpp>

#include "../support/command_line.hpp"
#include "read.hpp"

using namespace inthist;
using namespace inthist::check;

namespace {

/// Several tensors of a picture of noise on a device.
class Ring {
public:
  Ring (Device device, const Shape &shape)
      : device (device), shape (shape), layout (layout_of (shape)),
        bytes (tensor_bytes (shape, layout)), queue (device)
  {
    constexpr std::size_t kCaches = 256 << 20;
    const Strategy &strategy = *preferred_strategy (device, shape);
    const Memory workspace = allocate (device, strategy.workspace_bytes (shape, {})),
                 pixels = allocate (device, padded_columns (shape.width) * shape.height);
    std::mt19937 random (1);
    Bytes picture (padded_columns (shape.width) * shape.height);
    for (auto &bin : picture)
      bin = std::uint8_t (random () % shape.bins);
    copy (device, pixels.get (), picture.data (), picture.size ());
    for (std::size_t i = 0; i < std::min<std::size_t> (1 + kCaches / bytes, 8); i++) {
      tensors.push_back (allocate (device, bytes));
      fill (device, tensors.back ().get (), 0, bytes);
      if (run (strategy, { shape,
                           layout,
                           { pixels.get (), padded_columns (shape.width) },
                           tensors.back ().get (),
                           workspace.get (),
                           queue.stream }))
        throw std::runtime_error (strategy.name);
      queue.wait ();
    }
  }

  /// Seconds of a call of `ask (tensor)`.
  double time (double seconds, const std::function<void (const void *)> &ask)
  {
    const auto lap = [&] (int calls) {
      const auto start = Clock::now ();
      for (int i = 0; i < calls; i++)
        ask (tensors[i % tensors.size ()].get ());
      queue.wait ();
      return seconds_since (start) / calls;
    };
    lap (int (tensors.size ()));
    const int calls =
        int (std::clamp (0.01 / lap (int (tensors.size ())), double (tensors.size ()), 2000.0));
    std::vector<double> laps;
    const auto start = Clock::now ();
    while (laps.size () < 5 || seconds_since (start) < seconds)
      laps.push_back (lap (calls));
    std::ranges::nth_element (laps, laps.begin () + laps.size () / 2);
    return laps[laps.size () / 2];
  }

  void answer (const void *tensor, const Query &query)
  {
#if INTHIST_CUDA
    if (device == Device::cuda) {
      CHECK_CUDA (cuda::answer ({ shape, layout, tensor }, query, queue.stream));
      return;
    }
#endif
    if (cpu::answer ({ shape, layout, tensor }, query) != 0)
      throw std::runtime_error ("answer failed");
  }

  template <class T>
  const T *put (const std::vector<T> &list)
  {
    inputs.push_back (allocate (device, list.size () * sizeof (T)));
    copy (device, inputs.back ().get (), list.data (), list.size () * sizeof (T));
    return reinterpret_cast<const T *> (inputs.back ().get ());
  }

  const Device device;
  const Shape shape;
  const Layout layout;
  const std::size_t bytes;
  Queue queue;
  std::vector<Memory> tensors, inputs;
};

void print_row (const Ring &ring, const char *what, double seconds, double windows, double reading)
{
  std::printf ("%-5s %-22s %-34s %9.1f %12.1f", ring.device == Device::cpu ? "cpu" : "cuda",
               text ("%dx%dx%d %s", ring.shape.width, ring.shape.height, ring.shape.bins,
                     name_of (ring.shape.counter))
                   .c_str (),
               what, seconds * 1e6, windows / seconds / 1e6);
  if (reading > 0)
    std::printf (" %10.2f", reading / seconds);
  std::printf ("\n");
  std::fflush (stdout);
}

std::vector<float> even (const Shape &shape, std::size_t models)
{
  return std::vector<float> (models * shape.bins, 1.0f / float (shape.bins));
}

/// `windows` is how many windows `query` compares or counts, including those of patches.
void time_query (Ring &ring, const char *what, Query query, double windows, double reading,
                 double seconds, bool best = false)
{
  const Memory answers = allocate (ring.device, answer_bytes (ring.shape, query)),
               best_memory = allocate (ring.device, sizeof (Best));
  query.answers = answers.get ();
  query.best = best ? reinterpret_cast<Best *> (best_memory.get ()) : nullptr;
  print_row (ring, what,
             ring.time (seconds, [&] (const void *tensor) { ring.answer (tensor, query); }),
             windows, reading);
}

Grid all_windows (const Shape &shape, int width, int height)
{
  return { width, height, 0, 0, 1, 1, shape.width - width + 1, shape.height - height + 1 };
}

void time_maps (Device device, const Shape &shape, double seconds)
{
  Ring ring (device, shape);
  double reading = 0;
#if INTHIST_CUDA
  if (device == Device::cuda) {
    const Memory never = allocate (device, sizeof (unsigned));
    reading = ring.time (seconds, [&] (const void *tensor) {
      CHECK_CUDA (read_all (tensor, ring.bytes, never.get (), ring.queue.stream));
    });
    print_row (ring, "reading the tensor", reading, 0, reading);
  }
#endif
  std::mt19937 random (2);
  std::vector<Region> regions (10000);
  for (const bool any_size : { false, true }) {
    for (Region &r : regions) {
      r.width = any_size ? 1 + int (random () % shape.width) : 64;
      r.height = any_size ? 1 + int (random () % shape.height) : 64;
      r.x = int (random () % (shape.width - r.width + 1));
      r.y = int (random () % (shape.height - r.height + 1));
    }
    const Windows windows = { ring.put (regions), int (regions.size ()), {} };
    time_query (ring, any_size ? "10,000 regions, any size" : "10,000 regions, 64x64",
                { .windows = windows }, 10000, 0, seconds);
    if (!any_size)
      time_query (ring, "10,000 likelihoods, 64x64",
                  { .kind = QueryKind::likelihoods,
                    .windows = windows,
                    .models = ring.put (even (shape, 1)) },
                  10000, 0, seconds);
  }
  const Windows all = { nullptr, 0, all_windows (shape, 64, 64) };
  const float *const model = ring.put (even (shape, 1));
  for (int m = 0; m < kMeasures; m++)
    time_query (
        ring, text ("map 64x64, %s", name_of (Measure (m))).c_str (),
        { .kind = QueryKind::likelihoods, .windows = all, .measure = Measure (m), .models = model },
        all.size (), reading, seconds);
  time_query (ring, "map 64x64, chi-square-alt, best",
              { .kind = QueryKind::likelihoods, .windows = all, .models = model }, all.size (),
              reading, seconds, true);
  time_query (ring, "map 61x61, chi-square-alt",
              { .kind = QueryKind::likelihoods,
                .windows = { nullptr, 0, all_windows (shape, 61, 61) },
                .models = model },
              (shape.width - 60.0) * (shape.height - 60.0), reading, seconds);
  const Grid every_third = { 64, 64, 0, 0, 3, 3, shape.width / 3, shape.height / 3 };
  time_query (
      ring, "map 64x64, each 3 pixels",
      { .kind = QueryKind::likelihoods, .windows = { nullptr, 0, every_third }, .models = model },
      double (every_third.columns) * every_third.rows, reading, seconds);
  const Grid large = all_windows (shape, shape.width / 2, shape.height / 2);
  time_query (ring, text ("map %dx%d", large.window_width, large.window_height).c_str (),
              { .kind = QueryKind::likelihoods, .windows = { nullptr, 0, large }, .models = model },
              double (large.columns) * large.rows, reading, seconds);
  time_query (ring, "map of medians, 64x64", { .kind = QueryKind::quantiles, .windows = all },
              all.size (), reading, seconds);
}

/// The tracking of Adam et al.: 40 patches at 15x15 positions.
void time_votes (Device device, Type counter, double seconds)
{
  Ring ring (device, { 352, 288, 16, counter });
  std::vector<Region> patches;
  for (int i = 0; i < 20; i++) {
    patches.push_back ({ i % 2 * 20, i / 2 * 8, 20, 8 });
    patches.push_back ({ i / 2 * 4, i % 2 * 40, 4, 40 });
  }
  const Query query = { .kind = QueryKind::votes,
                        .windows = { nullptr, 0, { 40, 80, 150, 100, 1, 1, 15, 15 } },
                        .models = ring.put (even (ring.shape, patches.size ())),
                        .patches = ring.put (patches),
                        .n_patches = int (patches.size ()),
                        .rank = 10 };
  time_query (ring, "votes, 40 patches, 15x15, best", query, 225.0 * 40, 0, seconds, true);
}

}  // namespace

int main (int argc, char **argv)
{
  int width = 640, height = 480;
  double seconds = 0.3;
  std::string only;
  command_line::read (
      argc, argv, "usage: queries [--device cpu|cuda] [--size WxH, at least 64x64] [--seconds S]\n",
      { { "--device", command_line::text (only, { "cpu", "cuda" }) },
        { "--seconds", command_line::number (seconds, 1e-6) },
        { "--size", command_line::size (width, height, 64, 1 << 20) } });
  int measured = 0, skipped = 0;
  std::printf ("%-5s %-22s %-34s %9s %12s %10s\n", "", "tensor", "question", "us", "windows/us",
               "of reading");
  for (const Device device : kDevices) {
    if (!only.empty () && only != (device == Device::cpu ? "cpu" : "cuda"))
      continue;
    const std::string why = why_not (device);
    if (!why.empty ()) {
      std::printf ("SKIP: CUDA: %s\n", why.c_str ());
      skipped++;
      continue;
    }
    for (const Type counter : { Type::u32, Type::u16, Type::u8_tiled }) {
      time_maps (device, { width, height, 32, counter }, seconds);
      time_votes (device, counter, seconds);
    }
    measured++;
  }
  std::printf ("%d measured, %d skipped\n", measured, skipped);
  return 0;
}
