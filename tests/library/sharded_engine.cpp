// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The queue gives tasks to devices of unequal speed, to full devices, and to devices whose
// consumers keep all tensors. The devices compute as the CPU does, and sleep.
#include <gst/integralhist/gstintegralhist.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "pixel_sums.hpp"
#include "repeats.hpp"
#include "wrapped_engine.hpp"

#include "test.hpp"  // last: it has macros with names of the standard library

using namespace integralhist;

namespace {

using inthist::Shape, inthist::Type, inthist::Content;

constexpr Shape kShape = { 160, 120, 32, Type::u32, Content::bins, Type::u8 };

/// An engine of devices with so much memory each, which sleep before each part for so long.
std::unique_ptr<Engine> engine_of (const Options &options, std::initializer_list<int> milliseconds,
                                   std::size_t memory, const DeviceFunctions &host = {})
{
  std::vector<ShardDevice> devices;
  for (const int ms : milliseconds)
    devices.push_back (wrapped_device (int (devices.size ()), kShape, memory, [ms] {
      std::this_thread::sleep_for (std::chrono::milliseconds (ms));
      return Expected<> ();
    }));
  return must (make_sharded_engine (kShape, options, std::move (devices), host, {}));
}

std::vector<guint8> picture (unsigned seed)
{
  std::mt19937 random (seed);
  std::vector<guint8> pixels (kShape.width * kShape.height);
  std::ranges::generate (pixels, [&] { return guint8 (random ()); });
  return pixels;
}

/// The whole frame's histogram, as counted.
bool is_right (Tensor &tensor, const std::vector<guint8> &pixels)
{
  const inthist::Region all = { 0, 0, kShape.width, kShape.height };
  return std::ranges::equal (counts_of (tensor, kShape),
                             count_pixels (pixels, kShape.width, all, kShape.bins));
}

}  // namespace

/// A device of four times the speed computes about four times as much, so that all finish together.
/// A slow device does not keep the others from the next frames.
TEST_EACH (unequal, 2)
{
  Options options;
  options.task_bins = 2;
  const bool rounds = __i__;
  const std::size_t memory = rounds ? 400000 : 1 << 30;
  const auto engine = engine_of (options, { 4, 16 }, memory);
  for (unsigned i = 0; i < 12; i++) {
    const auto pixels = picture (i);
    const auto tensor = must (engine->submit (frame_of (pixels, kShape))).tensor;
    fail_unless (is_right (*tensor, pixels));
    fail_unless ((must (tensor->shards ()).size () > 1) == !rounds);
  }
  must (engine->finish ());
  const auto devices = engine->stats ().parts;
  const double ratio = double (devices[0].parts) / double (devices[1].parts);
  printf ("fast %d, slow %d parts\n", int (devices[0].parts), int (devices[1].parts));
  fail_unless (devices[0].parts + devices[1].parts >= 12 * 16);
  fail_unless (ratio > (kSlowed ? 1.2 : 2.2) && ratio < 6, "%g", ratio);
}

/// A picture that one device gets for all of them stays until the last has read it, and no more
/// pictures wait than frames are in flight.
TEST (relayed)
{
  Options options;
  options.task_bins = 2;
  unsigned brought = 0, most = 0;
  std::atomic<unsigned> out = 0;
  DeviceFunctions host;
  host.least_copied = 0;
  host.upload = [&] (Frame &frame, int width, int height) {
    fail_unless (width == kShape.width && height == kShape.height);
    auto *const copy = new std::vector<guint8> (std::size_t (width) * height);
    for (int y = 0; y < height; y++)
      memcpy (&(*copy)[std::size_t (y) * width],
              static_cast<const guint8 *> (frame.image.data) + y * frame.image.stride, width);
    frame.image = { copy->data (), width, {} };
    brought++;
    most = std::max (most, ++out);
    return Expected<std::shared_ptr<void>> (std::shared_ptr<void> (copy, [&out] (void *memory) {
      auto *const used = static_cast<std::vector<guint8> *> (memory);
      std::ranges::fill (*used, 0);
      out--;
      delete used;
    }));
  };
  const std::size_t memory = 1 << 30;
  auto engine = engine_of (options, { 0, 3 }, memory, host);
  fail_unless (engine->description ().find ("from device to device") != std::string::npos);
  std::vector<std::pair<std::shared_ptr<Tensor>, unsigned>> tensors;
  for (unsigned i = 0; i < 20; i++) {
    auto pixels = picture (i);
    tensors.emplace_back (must (engine->submit (frame_of (pixels, kShape))).tensor, i);
    std::ranges::fill (pixels, 0);
  }
  for (const auto &[tensor, seed] : tensors)
    fail_unless (is_right (*tensor, picture (seed)));
  engine = nullptr;
  fail_unless_equals_int (int (brought), 20);
  fail_unless_equals_int (int (out), 0);
  fail_unless (most > 1 && most <= options.async_depth + 1, "%u", most);
  // parts that go to the host anyway are not brought twice
  engine = engine_of (options, { 0, 0 }, 400000, host);
  fail_unless (
      is_right (*must (engine->submit (frame_of (picture (1), kShape))).tensor, picture (1)));
  fail_unless_equals_int (int (brought), 20);
}

/// If the host has room for one tensor only, a frame waits for the tensor of the frame before,
/// however long, instead of failing.
TEST (one_at_a_time)
{
  Options options;
  options.task_bins = 4;
  std::atomic<int> alive = 0, refused = 0;
  DeviceFunctions host;
  host.allocate = [&] (std::size_t bytes, const auto &message) {
    if (bytes > 1000000 && alive.fetch_add (1) > 0) {  // a tensor, not a picture
      alive--;
      refused++;
      return Expected<HostMemory> (error (Error::Kind::no_memory, message ({})));
    }
    return allocate_on_host (bytes, message);
  };
  const auto engine = engine_of (options, { 0, 0 }, 400000, host);
  const auto pixels = picture (5);
  for (int i = 0; i < repeats (3000); i++)
    fail_unless (engine->submit (frame_of (pixels, kShape)));
  must (engine->finish ());
  fail_unless (is_right (*must (engine->submit (frame_of (pixels, kShape))).tensor, pixels));
  fail_unless (refused > 0);
}

/// The engine waits for consumers that keep tensors. A flush ends the wait, and frames that came
/// before it are still computed.
TEST (held)
{
  Options options;
  options.task_bins = 8;
  std::atomic<unsigned> told = 0;
  options.on_long_wait = [&] (unsigned most) { told = most; };
  // two tensors and a half
  const std::size_t tensor_bytes = inthist::tensor_bytes (kShape),
                    memory = tensor_bytes * 13 / 10 + 300000;
  auto engine = engine_of (options, { 0, 1 }, memory);
  const auto pixels = picture (1);
  std::vector<std::shared_ptr<Tensor>> kept = {
    must (engine->submit (frame_of (pixels, kShape))).tensor,
    must (engine->submit (frame_of (pixels, kShape))).tensor
  };
  Expected<SubmittedFrame> third = SubmittedFrame ();
  std::atomic<bool> cancelled = false;
  std::thread streaming ([&] {
    const CancelScope scope (cancelled);
    third = engine->submit (frame_of (pixels, kShape));
  });
  std::this_thread::sleep_for (std::chrono::milliseconds (1300));
  fail_unless_equals_int (int (told.load ()), 2);
  cancelled = true;
  streaming.join ();
  fail_unless (!third && third.error ().kind == Error::Kind::flushing);
  kept.erase (kept.begin ());
  kept.push_back (must (engine->submit (frame_of (pixels, kShape))).tensor);
  fail_unless (kept.back ());
  engine = nullptr;
  for (const auto &tensor : kept)
    fail_unless (is_right (*tensor, pixels));
}

/// Frames at full speed, whose tensors several threads keep and drop at random.
TEST (many)
{
  Options options;
  options.task_bins = 3;
  options.async_depth = 4;
  const std::size_t tensor_bytes = inthist::tensor_bytes (kShape);
  for (const std::size_t memory : { tensor_bytes * 4, tensor_bytes / 2 }) {
    const auto engine = engine_of (options, { 0, 0, 1 }, memory);
    std::mt19937 random (3);
    std::vector<std::pair<std::shared_ptr<Tensor>, unsigned>> kept;
    for (unsigned i = 0; i < 150; i++) {
      kept.emplace_back (must (engine->submit (frame_of (picture (i % 9), kShape))).tensor, i % 9);
      while (kept.size () > random () % 3) {
        std::thread ([last = std::move (kept.front ())] {
          fail_unless (is_right (*last.first, picture (last.second)));
        }).join ();
        kept.erase (kept.begin ());
      }
    }
  }
}
