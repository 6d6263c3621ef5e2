// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tables of scores: each frame comes with a LUT of its own, or takes the engine's. The truth is the
// sum of the scores by these LUTs, pixel by pixel.
#include <gst/integralhist/gstintegralhist.h>
#include <gst/integralhist/factory/make_engine.hpp>

#include <cstdio>
#include <random>

#if INTHIST_CUDA
#include <gst/integralhist/cuda/base/cuda_context.hpp>
#endif

#include "must.hpp"
#include "pixel_sums.hpp"

#include "test.hpp"  // last: it has macros with names of the standard library

using namespace integralhist;

namespace {

using inthist::Content, inthist::Lut, inthist::Shape, inthist::Type;

constexpr int kWidth = 163, kHeight = 121;

struct Way {
  const char *name;
  Compute compute;
  std::vector<int> devices;   // pretended
  guint64 max_device_memory;  // too little makes rounds of strips
};

std::vector<guint8> noise (std::mt19937 &random, std::size_t n)
{
  std::vector<guint8> bytes (n);
  std::ranges::generate (bytes, [&] { return guint8 (random () >> 24); });
  return bytes;
}

std::shared_ptr<const Lut> some_lut (std::mt19937 &random)
{
  const auto lut = std::make_shared<Lut> ();
  std::ranges::copy (noise (random, lut->size ()), lut->begin ());
  return lut;
}

/// A frame's tensor, and its right content.
struct Promise {
  std::shared_ptr<Tensor> tensor;
  std::vector<guint8> scores;
};

Promise submit (Engine &engine, const Lut &of_engine, std::shared_ptr<const Lut> of_frame,
                std::mt19937 &random)
{
  const auto pixels = noise (random, kWidth * kHeight);
  Frame frame;
  frame.image = { pixels.data (), kWidth, {} };
  frame.lut = of_frame;
  Promise promise = { must (engine.submit (frame)).tensor, pixels };
  for (guint8 &byte : promise.scores)
    byte = (of_frame ? *of_frame : of_engine)[byte];
  return promise;
}

void expect_sums (Tensor &tensor, const std::vector<guint8> &scores, const inthist::Region &region,
                  const char *what)
{
  std::vector<guint64> sums (tensor.shape.bins);
  const Query query = { .kind = inthist::QueryKind::sums,
                        .windows = { &region, 1, {} },
                        .answers = sums.data () };
  must (tensor.ask ({ &query, 1 }));
  const Sums wanted = add_pixels (scores, kWidth, region, tensor.shape.bins);
  fail_unless (
      std::ranges::equal (sums, wanted),
      "%s: %d,%d %dx%d is %" G_GUINT64_FORMAT " instead of %" G_GUINT64_FORMAT ", INTHIST_SEED=%u",
      what, region.x, region.y, region.width, region.height, sums[0], guint64 (wanted[0]), seed ());
}

/// Asks for little, which pixels answer on demand; for more, which a box answers; and for all.
void expect_right (const Promise &promise, const char *what, std::mt19937 &random)
{
  Tensor &tensor = *promise.tensor;
  for (const int part : { 20, 2, 1 }) {
    const int w = kWidth / part, h = kHeight / part;
    expect_sums (tensor, promise.scores,
                 { int (random () % unsigned (kWidth - w + 1)),
                   int (random () % unsigned (kHeight - h + 1)), w, h },
                 what);
  }
  const inthist::TensorView view (tensor.shape, tensor.layout, must (tensor.host ()));
  view.with_planes ([&] (const auto &plane) {
    for (int p = 0; p < tensor.shape.bins; p++)
      for (int y = 0; y < kHeight; y += 10) {
        const int x = int (random () % kWidth);
        const auto wanted =
            add_pixels (promise.scores, kWidth, inthist::Region{ 0, 0, x + 1, y + 1 }, p + 1);
        fail_unless (guint32 (plane (p) (y, x)) == guint32 (wanted[p]), "%s: plane %d at %d,%d",
                     what, p, x, y);
      }
  });
}

void run (const Way &way, bool squared, const Devices &devices)
{
  std::mt19937 random (seed ());
  const Shape shape = { kWidth, kHeight, squared ? 2 : 1, Type::u32, Content::sums, Type::u8 };
  Options options;
  options.compute = way.compute;
  options.max_device_memory = way.max_device_memory;
  options.tuning_time = 0;
  options.async_depth = 4;
  for (const auto &of_engine : { inthist::uniform_lut (256), *some_lut (random) }) {
    const auto engine = must (make_engine (shape, of_engine, options, devices, {}));
    // several in flight, each with another LUT or none
    for (int round = 0; round < 4; round++) {
      std::vector<Promise> promises;
      for (int i = 0; i < 3; i++)
        promises.push_back (
            submit (*engine, of_engine, i == round % 3 ? nullptr : some_lut (random), random));
      for (const Promise &promise : promises)
        expect_right (promise, way.name, random);
    }
    must (engine->finish ());
  }
}

const Way kWays[] = {
  { "eager", Compute::eager, {}, 0 },
  { "on demand", Compute::on_demand, {}, 0 },
  { "automatic", Compute::automatic, {}, 0 },
  { "rounds", Compute::eager, {}, 100000 },
  { "shared out", Compute::eager, { 0, 1 }, 0 },
  // a whole-tensor engine computes whole tensors
  { "on demand, shared out", Compute::on_demand, { 0, 1 }, 0 },
  { "on demand, rounds", Compute::on_demand, {}, 100000 },
};

}  // namespace

TEST_EACH (on_cpu, std::size (kWays))
{
  const Way &way = kWays[__i__];
  for (const bool squared : { false, true })
    run (way, squared, { {}, way.devices });
}

TEST_EACH (on_cuda, std::size (kWays))
{
#if INTHIST_CUDA
  const auto count = CudaContext::device_count ();
  if (count && *count > 0) {
    const Way &way = kWays[__i__];
    if (way.devices.empty ())
      for (const bool squared : { false, true })
        run (way, squared, { { must (CudaContext::primary (0)) }, { 0 } });
    return;
  }
#endif
  printf ("SKIP: scores on CUDA: no device\n");
}
