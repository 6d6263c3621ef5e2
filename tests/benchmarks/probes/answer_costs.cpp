// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Measures the constants of gst/integralhist/on_demand/answer_cost.hpp on this machine: the costs
// of a pixel of a window that is counted without a tensor, of a window, of an element of a tensor,
// and of a tensor. It prints each next to the constant.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <gst/integralhist/on_demand/answer_cost.hpp>
#include <kernels/registry.hpp>

using namespace inthist;

namespace {

constexpr int kWidth = 1920, kHeight = 1080, kBins = 32;

/// Returns the least of some times of a call, in nanoseconds.
template <class Call>
double nanoseconds (Call &&call)
{
  double least = 1e18;
  for (int i = 0; i < 30; i++) {
    const auto start = std::chrono::steady_clock::now ();
    if (call () != 0)
      std::abort ();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now () - start;
    least = std::min (least, took.count ());
  }
  return least;
}

double of_windows (const std::vector<std::uint8_t> &pixels, int side, int n)
{
  const Shape shape = { kWidth, kHeight, kBins, Type::u32, Content::bins, Type::u8 };
  const std::vector<Region> windows (n, { 100, 100, side, side });
  std::vector<std::uint32_t> counts (std::size_t (n) * kBins);
  const Query query = { .kind = QueryKind::counts,
                        .windows = { windows.data (), n, {} },
                        .answers = counts.data () };
  const Binning binning = { { pixels.data (), kWidth, {} }, uniform_lut (kBins) };
  return nanoseconds ([&] { return cpu::answer_pixels (binning, shape, query); }) / n;
}

double of_tensor (const std::vector<std::uint8_t> &pixels, int width, int height)
{
  const Shape shape = { width, height, kBins, Type::u32, Content::bins, Type::u8 };
  const Strategy &strategy = *preferred_strategy (Device::cpu, shape);
  const Layout layout = layout_of (shape);
  const Binning binning = { { pixels.data (), kWidth, {} }, uniform_lut (kBins) };
  const auto room = [] (std::size_t bytes) {
    return std::unique_ptr<std::uint8_t, void (*) (void *)> (
        static_cast<std::uint8_t *> (std::aligned_alloc (256, round_up (bytes + 256, 256))),
        std::free);
  };
  const auto tensor = room (tensor_bytes (shape, layout)),
             plane = room (padded_columns (width) * height),
             workspace = room (strategy.workspace_bytes (shape, {}));
  return nanoseconds ([&] {
    return run (strategy, { .shape = shape,
                            .layout = layout,
                            .pixels = { plane.get (), padded_columns (width) },
                            .tensor = tensor.get (),
                            .workspace = workspace.get (),
                            .binning = &binning });
  });
}

void line (const char *what, double measured, double constant)
{
  std::printf ("%-28s %10.2f ns, %10.2f in answer_cost.hpp\n", what, measured, constant);
}

}  // namespace

int main ()
{
  using integralhist::kCpuCost;
  std::vector<std::uint8_t> pixels (std::size_t (kWidth) * kHeight);
  for (std::size_t i = 0; i < pixels.size (); i++)
    pixels[i] = std::uint8_t (i * 2654435761u >> 13);
  constexpr int kSide = 512;
  const double window = of_windows (pixels, 1, 1000),
               pixel = (of_windows (pixels, kSide, 1) - window) / (kSide * kSide),
               tensor = of_tensor (pixels, 32, 32),
               element = of_tensor (pixels, 960, 540) / (960 * 540 * double (kBins));
  line ("pixel of a window", pixel, kCpuCost.pixel);
  line ("window", window, kCpuCost.window);
  line ("element of a tensor", element, kCpuCost.element);
  line ("tensor", tensor, kCpuCost.tensor);
  return 0;
}
