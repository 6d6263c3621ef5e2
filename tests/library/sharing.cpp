// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How frames are shared out: what share_out () decides for devices of any size, and how the queue
// treats devices of unequal speed, that are full, or whose consumers hold on to everything.
#include <gst/integralhist/gstintegralhist.h>
#include <gst/integralhist/sharded_engine.hpp>

#include <atomic>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <thread>

#include "must.hpp"
#include "repeats.hpp"

#include <gst/check/gstcheck.h>  // last: it has macros with names of the standard library

using namespace integralhist;

namespace {

using inthist::Shape, inthist::Type, inthist::Content;

std::size_t bytes_of_part (const Shape &shape, int bins, int rows)
{
  const Shape part = part_of (shape, bins, rows);
  return inthist::tensor_bytes (part, inthist::layout_of (part));
}

// devices that compute as the CPU does, slower or faster

class SlowEngine final : public PartEngine {
public:
  SlowEngine (std::unique_ptr<PartEngine> engine, int milliseconds)
      : engine_ (std::move (engine)), milliseconds_ (milliseconds)
  {
  }

  Expected<std::shared_ptr<Tensor>> submit (const Frame &frame) override
  {
    return engine_->submit (frame);
  }
  Expected<std::shared_ptr<Tensor>> submit_part (const Frame &frame, const Part &part,
                                                 std::byte *landing) override
  {
    std::this_thread::sleep_for (std::chrono::milliseconds (milliseconds_));
    return engine_->submit_part (frame, part, landing);
  }
  bool is_free () override { return engine_->is_free (); }
  void set_flushing (bool flushing) override { engine_->set_flushing (flushing); }
  Stats stats () override { return engine_->stats (); }
  const Plan &plan () const override { return engine_->plan (); }

private:
  const std::unique_ptr<PartEngine> engine_;
  const int milliseconds_;
};

constexpr Shape kShape = { 160, 120, 32, Type::u32, Content::bins, Type::u8 };

ShardDevice device_of_speed (int id, int milliseconds, std::size_t memory)
{
  Options options;
  options.max_device_memory = memory;
  ShardDevice device = pretend_device (id, inthist::uniform_lut (kShape.bins), options);
  device.make_engine = [make = device.make_engine, milliseconds] (
                           const Shape &shape, const Options &o,
                           const Portion &portion) -> Expected<std::unique_ptr<PartEngine>> {
    return std::make_unique<SlowEngine> (TRY (make (shape, o, portion)), milliseconds);
  };
  return device;
}

std::vector<guint8> picture (unsigned seed)
{
  std::mt19937 random (seed);
  std::vector<guint8> pixels (kShape.width * kShape.height);
  std::ranges::generate (pixels, [&] { return guint8 (random ()); });
  return pixels;
}

Frame frame_of (const std::vector<guint8> &pixels)
{
  Frame frame;
  frame.image = { pixels.data (), std::size_t (kShape.width), {} };
  return frame;
}

/// The whole frame's histogram, as counted.
bool is_right (Tensor &tensor, const std::vector<guint8> &pixels)
{
  std::vector<guint32> counts (kShape.bins), wanted (kShape.bins);
  const inthist::Region all = { 0, 0, kShape.width, kShape.height };
  const Query query = { .question = inthist::Question::counts,
                        .windows = { &all, 1, {} },
                        .answers = counts.data () };
  must (tensor.ask ({ &query, 1 }));
  for (const guint8 value : pixels)
    wanted[value * kShape.bins / 256]++;
  return counts == wanted;
}

}  // namespace

/// Whatever the devices and the shape: the parts make the frame, each device has room for what it
/// may get, and there is an error only where not even a row fits.
GST_START_TEST (any_share)
{
  constexpr int kTimes = kSlowed ? 1500 : 6000;
  std::mt19937 random (7);
  const auto between = [&] (int low, int high) {
    return low + int (random () % unsigned (high - low + 1));
  };
  std::map<std::string, int> seen;
  for (int i = 0; i < kTimes; i++) {
    const Shape shape = { between (1, 3000), between (1, 3000),
                          between (1, 256),  i % 3 ? Type::u32 : Type::u16,
                          Content::bins,     Type::u8 };
    const std::size_t whole = bytes_of_part (shape, shape.bins, shape.height);
    Options options;
    options.task_bins = i % 4 ? 0 : between (1, 256);
    options.max_tensors = i % 5 ? 0 : between (1, 3);
    options.download = i % 7 ? Download::lazy : Download::never;
    const std::size_t fixed = std::size_t (between (0, 100000)),
                      a_row = std::size_t (between (0, 4 * shape.width));
    const Overhead overhead = [=] (int bins, int rows) {
      return fixed + a_row * rows + std::size_t (bins);
    };
    std::vector<ShardDevice> devices (between (1, 8));
    for (ShardDevice &device : devices)
      device.memory =
          std::size_t (whole * std::exp2 (between (-14, 3)) * (1 + random () % 1000 / 1000.0))
          + fixed;
    const auto smallest = std::ranges::min (devices, {}, &ShardDevice::memory).memory;
    const auto shared = share_out (shape, devices, options, overhead);
    if (!shared) {
      fail_unless (shared.error ().kind == Error::Kind::no_memory);
      fail_unless (options.download == Download::never
                       || smallest < overhead (1, 1) + kPartsAtOnce * bytes_of_part (shape, 1, 1),
                   "%s", shared.error ().message.c_str ());
      seen["refused"]++;
      continue;
    }
    const Sharing &sharing = *shared;
    seen[sharing.resident ? "resident" : sharing.strips > 1 ? "strips" : "rounds"]++;
    // every bin and row once
    bool sound = true;
    int next_bin = 0;
    for (int group = 0; group < sharing.groups; group++) {
      int next_row = 0;
      for (int strip = 0; strip < sharing.strips; strip++) {
        const Part part = sharing.part (shape, group, strip);
        sound &= part.first_bin == next_bin && part.first_row == next_row && part.bins >= 1
                 && part.rows >= 1;
        sound &= part.bins <= sharing.bins && part.rows <= sharing.rows;
        next_row += part.rows;
      }
      sound &= next_row == shape.height;
      next_bin += sharing.part (shape, group, 0).bins;
    }
    fail_unless (sound && next_bin == shape.bins
                 && (options.task_bins == 0 || sharing.bins <= options.task_bins));
    guint64 room = 0;
    for (std::size_t d = 0; d < devices.size (); d++) {
      room += sharing.tensors[d];
      fail_unless (overhead (sharing.bins, sharing.rows)
                       + sharing.tensors[d] * bytes_of_part (shape, sharing.bins, sharing.rows)
                   <= devices[d].memory);
    }
    if (sharing.resident)
      fail_unless (sharing.frames >= 1 && room >= guint64 (sharing.frames) * sharing.groups);
    else
      fail_unless (options.download != Download::never && sharing.bins <= 8);
  }
  for (const char *kind : { "refused", "resident", "strips", "rounds" })
    fail_unless (seen[kind] > kTimes / 100, "%s: %d", kind, seen[kind]);
}
GST_END_TEST;

/// Where all fits, every device gets as many tasks of a frame, if there are bins enough; and
/// several where they are downloaded.
GST_START_TEST (even_share)
{
  for (int n = 1; n <= 8; n++) {
    std::vector<ShardDevice> devices (n);
    for (ShardDevice &device : devices)
      device.memory = std::size_t (200) << 30;
    const Overhead nothing = [] (int, int) { return std::size_t (0); };
    const Sharing large = must (
        share_out ({ 8192, 8192, 128, Type::u32, Content::bins, Type::u8 }, devices, {}, nothing));
    fail_unless (large.resident && large.groups >= std::max (n, 4));
    fail_unless (128 % n != 0 || large.groups % n == 0, "%d groups for %d devices", large.groups,
                 n);
    const Sharing small = must (
        share_out ({ 640, 480, 32, Type::u32, Content::bins, Type::u8 }, devices, {}, nothing));
    fail_unless_equals_int (small.groups, 32 % n == 0 ? n : small.groups);
    Options eager;
    eager.download = Download::eager;
    const Sharing downloaded = must (share_out (
        { 8192, 8192, 128, Type::u32, Content::bins, Type::u8 }, devices, eager, nothing));
    fail_unless (downloaded.resident && downloaded.bins <= 8 && downloaded.groups >= 2 * n,
                 "%d groups for %d devices", downloaded.groups, n);
    const Sharing one = must (
        share_out ({ 640, 480, 1, Type::u32, Content::bins, Type::u8 }, devices, {}, nothing));
    fail_unless_equals_int (one.groups, 1);
  }
}
GST_END_TEST;

/// The planes of tables stay together: a table of values is no table of squares.
GST_START_TEST (tables)
{
  const Shape shape = { 640, 480, 2, Type::u32, Content::powers, Type::u8 };
  const std::size_t whole = bytes_of_part (shape, 2, shape.height);
  const Overhead nothing = [] (int, int) { return std::size_t (0); };
  bool strips = false;
  for (std::size_t memory = whole * 3; memory > whole / 100; memory = memory * 9 / 10) {
    std::vector<ShardDevice> devices (2);
    devices[0].memory = devices[1].memory = memory;
    const Sharing sharing = must (share_out (shape, devices, {}, nothing));
    fail_unless (sharing.bins == 2 && sharing.groups == 1);
    strips |= sharing.strips > 1;
  }
  fail_unless (strips);
}
GST_END_TEST;

/// A device of four times the speed computes about four times as much, so that they finish
/// together; and a slow one does not keep the others from the frames behind.
GST_START_TEST (unequal)
{
  Options options;
  options.task_bins = 2;
  const bool rounds = __i__;
  const std::size_t memory = rounds ? 400000 : 1 << 30;
  const auto engine = must (make_sharded_engine (
      kShape, options, { device_of_speed (0, 4, memory), device_of_speed (1, 16, memory) }, Host (),
      1));
  for (unsigned i = 0; i < 12; i++) {
    const auto pixels = picture (i);
    const auto tensor = must (engine->submit (frame_of (pixels)));
    fail_unless (is_right (*tensor, pixels));
    fail_unless ((must (tensor->shards ()).size () > 1) == !rounds);
  }
  must (engine->finish ());
  const auto shares = engine->stats ().shares;
  const double ratio = double (shares[0].parts) / double (shares[1].parts);
  printf ("fast %d, slow %d parts\n", int (shares[0].parts), int (shares[1].parts));
  fail_unless (shares[0].parts + shares[1].parts >= 12 * 16);
  fail_unless (ratio > (kSlowed ? 1.2 : 2.2) && ratio < 6, "%g", ratio);
}
GST_END_TEST;

/// A picture that is brought to one device for all of them stays until the last has read it, and no
/// more of them wait than frames are in the making.
GST_START_TEST (relayed)
{
  Options options;
  options.task_bins = 2;
  unsigned brought = 0, most = 0;
  std::atomic<unsigned> out = 0;
  Host host;
  host.least_relayed = 0;
  host.relay = [&] (Frame &frame, int width, int height) {
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
  auto engine = must (make_sharded_engine (
      kShape, options, { device_of_speed (0, 0, memory), device_of_speed (1, 3, memory) }, host,
      1));
  fail_unless (engine->story ().find ("from device to device") != std::string::npos);
  std::vector<std::pair<std::shared_ptr<Tensor>, unsigned>> tensors;
  for (unsigned i = 0; i < 20; i++) {
    auto pixels = picture (i);
    tensors.emplace_back (must (engine->submit (frame_of (pixels))), i);
    std::ranges::fill (pixels, 0);
  }
  for (const auto &[tensor, seed] : tensors)
    fail_unless (is_right (*tensor, picture (seed)));
  engine = nullptr;
  fail_unless_equals_int (int (brought), 20);
  fail_unless_equals_int (int (out), 0);
  fail_unless (most > 1 && most <= options.async_depth + 1, "%u", most);
  // parts that go to the host anyway are not brought twice
  engine = must (make_sharded_engine (
      kShape, options, { device_of_speed (0, 0, 400000), device_of_speed (1, 0, 400000) }, host,
      1));
  fail_unless (is_right (*must (engine->submit (frame_of (picture (1)))), picture (1)));
  fail_unless_equals_int (int (brought), 20);
}
GST_END_TEST;

/// Where the host has room for one tensor only, a frame waits for the one before instead of
/// failing, whenever that comes back.
GST_START_TEST (one_at_a_time)
{
  Options options;
  options.task_bins = 4;
  std::atomic<int> alive = 0, refused = 0;
  Host host;
  host.allocate = [&] (std::size_t bytes, const auto &message, const auto &cancelled) {
    if (bytes > 1000000 && alive.fetch_add (1) > 0) {  // a tensor, not a picture
      alive--;
      refused++;
      return Expected<HostMemory> (error (Error::Kind::no_memory, message ({})));
    }
    return allocate_on_host (bytes, message, cancelled);
  };
  const auto engine = must (make_sharded_engine (
      kShape, options, { device_of_speed (0, 0, 400000), device_of_speed (1, 0, 400000) }, host,
      1));
  const auto pixels = picture (5);
  for (int i = 0; i < repeats (3000); i++)
    fail_unless (engine->submit (frame_of (pixels)));
  must (engine->finish ());
  fail_unless (is_right (*must (engine->submit (frame_of (pixels))), pixels));
  fail_unless (refused > 0);
}
GST_END_TEST;

/// Consumers that keep tensors are waited for; a flush ends the wait, and what was let in before is
/// computed all the same.
GST_START_TEST (held)
{
  Options options;
  options.task_bins = 8;
  std::atomic<unsigned> told = 0;
  options.still_waiting = [&] (unsigned most) { told = most; };
  // two tensors and a half
  const std::size_t tensor_bytes = bytes_of_part (kShape, kShape.bins, kShape.height),
                    memory = tensor_bytes * 13 / 10 + 300000;
  auto engine = must (make_sharded_engine (
      kShape, options, { device_of_speed (0, 0, memory), device_of_speed (1, 1, memory) }, Host (),
      1));
  const auto pixels = picture (1);
  std::vector<std::shared_ptr<Tensor>> kept = { must (engine->submit (frame_of (pixels))),
                                                must (engine->submit (frame_of (pixels))) };
  Expected<std::shared_ptr<Tensor>> third = kept[0];
  std::thread streaming ([&] { third = engine->submit (frame_of (pixels)); });
  std::this_thread::sleep_for (std::chrono::milliseconds (1300));
  fail_unless_equals_int (int (told.load ()), 2);
  engine->set_flushing (true);
  streaming.join ();
  fail_unless (!third && third.error ().kind == Error::Kind::flushing);
  engine->set_flushing (false);
  kept.erase (kept.begin ());
  kept.push_back (must (engine->submit (frame_of (pixels))));
  fail_unless (kept.back ());
  engine = nullptr;
  for (const auto &tensor : kept)
    fail_unless (is_right (*tensor, pixels));
}
GST_END_TEST;

/// As fast as it goes, tensors kept and dropped at random by several threads.
GST_START_TEST (many)
{
  Options options;
  options.task_bins = 3;
  options.async_depth = 4;
  const std::size_t tensor_bytes = bytes_of_part (kShape, kShape.bins, kShape.height);
  for (const std::size_t memory : { tensor_bytes * 4, tensor_bytes / 2 }) {
    const auto engine =
        must (make_sharded_engine (kShape, options,
                                   { device_of_speed (0, 0, memory), device_of_speed (1, 0, memory),
                                     device_of_speed (2, 1, memory) },
                                   Host (), 1));
    std::mt19937 random (3);
    std::vector<std::pair<std::shared_ptr<Tensor>, unsigned>> kept;
    for (unsigned i = 0; i < 150; i++) {
      kept.emplace_back (must (engine->submit (frame_of (picture (i % 9)))), i % 9);
      while (kept.size () > random () % 3) {
        std::thread ([last = std::move (kept.front ())] {
          fail_unless (is_right (*last.first, picture (last.second)));
        }).join ();
        kept.erase (kept.begin ());
      }
    }
  }
}
GST_END_TEST;

static Suite *sharing_suite ()
{
  Suite *suite = suite_create ("sharing");
  TCase *tcase = tcase_create ("sharing");
  setvbuf (stdout, nullptr, _IOLBF, 0);  // a test that fails ends its process without a flush
  suite_add_tcase (suite, tcase);
  tcase_set_timeout (tcase, 120);
  tcase_add_test (tcase, any_share);
  tcase_add_test (tcase, even_share);
  tcase_add_test (tcase, tables);
  tcase_add_loop_test (tcase, unequal, 0, 2);
  tcase_add_test (tcase, relayed);
  tcase_add_test (tcase, one_at_a_time);
  tcase_add_test (tcase, held);
  tcase_add_test (tcase, many);
  return suite;
}

GST_CHECK_MAIN (sharing);
