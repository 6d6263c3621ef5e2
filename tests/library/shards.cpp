// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A frame lies in shards, on either device or on both. Asked everything at once, shards answer the
// bits of one tensor, and the counts of the pixels.
//
// Environment: devices.hpp
#include <gst/integralhist/cuda/cuda_engine.hpp>
#include <gst/integralhist/host/cpu_engine.hpp>
#include <gst/integralhist/host/cpu_tensor.hpp>
#include <gst/integralhist/sharded/shards.hpp>

#include "asked.hpp"
#include "broken_tensor.hpp"
#include "formulas.hpp"
#include "must.hpp"
#include "pixel_sums.hpp"
#include "test.hpp"

namespace {

using integralhist::Shard;
using integralhist::Tensor;

/// Pixels of some values are in no bin, if there are few bins.
Lut lut_of (int bins)
{
  Lut lut = uniform_lut (bins);
  for (std::size_t value = 0; bins < 256 && value < 256; value++)
    if (value % 96 < 40)
      lut[value] = 255;
  return lut;
}

/// A frame's tensor.
std::shared_ptr<Tensor> tensor_of ([[maybe_unused]] Device device, const Shape &shape,
                                   const Bytes &picture)
{
  integralhist::Options options;
  options.tuning_time = 0;
  std::unique_ptr<integralhist::Engine> engine;
#if INTHIST_CUDA
  if (device == Device::cuda)
    engine = must (integralhist::make_cuda_engine (shape, lut_of (shape.bins), options,
                                                   must (integralhist::CudaContext::primary (0))));
#endif
  if (!engine)
    engine = must (integralhist::make_cpu_engine (shape, lut_of (shape.bins), options));
  auto tensor = must (engine->submit ({ .image = { picture.data (), shape.width, {} } })).tensor;
  must (tensor->wait (GST_CLOCK_TIME_NONE));
  return tensor;
}

/// A tensor that counts the questions it gets.
class Watched final : public Tensor {
public:
  explicit Watched (std::shared_ptr<Tensor> tensor)
      : Tensor (tensor->shape), tensor_ (std::move (tensor))
  {
  }
  integralhist::Expected<> wait (GstClockTime timeout) override { return tensor_->wait (timeout); }
  integralhist::Expected<> ask (std::span<const Query> queries) override
  {
    asked++;
    return tensor_->ask (queries);
  }
  integralhist::Expected<const void *> host () override { return tensor_->host (); }

  int asked = 0;

private:
  const std::shared_ptr<Tensor> tensor_;
};

/// A group of the bins of a frame's tensor. It is made of the same picture, and what lies there
/// then is overwritten.
std::shared_ptr<Watched> shard_of (Device device, Tensor &whole, const Bytes &picture,
                                   int first_bin, int bins)
{
  const Bytes planes = group_of (
      whole.layout, static_cast<const std::uint8_t *> (must (whole.host ())), first_bin, bins);
  Shape shape = whole.shape;
  shape.bins = bins;
  const auto tensor = tensor_of (device, shape, picture);
  fail_unless_equals_int (tensor->bytes (), planes.size ());
#if INTHIST_CUDA
  if (device == Device::cuda) {
    CHECK_CUDA (cudaSetDevice (cuda_view_of (*tensor).device));
    CHECK_CUDA (cudaMemcpy (reinterpret_cast<void *> (cuda_view_of (*tensor).pointer),
                            planes.data (), planes.size (), cudaMemcpyHostToDevice));
    CHECK_CUDA (cudaDeviceSynchronize ());
    return std::make_shared<Watched> (tensor);
  }
#endif
  memcpy (const_cast<void *> (must (tensor->host ())), planes.data (), planes.size ());
  return std::make_shared<Watched> (tensor);
}

/// Questions of every kind about windows of every kind, and guarded memory for their answers.
class Batch {
public:
  Batch (const Shape &shape, std::mt19937 &random) : shape_ (shape)
  {
    const int w = shape.width, h = shape.height;
    const std::vector<Region> &list = lists_.emplace_back (rectangles (w, h, 25));
    const Windows windows[] = {
      { list.data (), int (list.size ()), {} },
      { nullptr, 0, { w / 4 + 1, 2 * (h / 7 + 1), -2, -3, 2, h / 7 + 1, 20, 7 } },
      { nullptr, 0, { w / 2 + 1, h / 2 + 1, -w, -h, w / 5 + 1, h / 2 + 2, 11, 5 } },
      { nullptr, 0, { w, h, 0, 0, 1, 1, 2, 3 } },
    };
    for (const Windows &about : windows) {
      add ({ .kind = QueryKind::counts, .windows = about });
      add ({ .kind = QueryKind::sums, .windows = about });
      for (const double quantile : { 0.0, 0.3, 0.5, 1.0 })
        add ({ .kind = QueryKind::quantiles, .windows = about, .quantile = quantile });
      for (int m = 0; m < kMeasures; m++) {
        add ({ .kind = QueryKind::likelihoods,
               .windows = about,
               .measure = Measure (m),
               .models = models (1, Measure (m), random) },
             m % 3);
        std::vector<Region> &patches = lists_.emplace_back ();
        for (int p = int (random () % 6); p >= 0; p--)
          patches.push_back ({ int (random () % (w + 2)) - 2, int (random () % (h + 2)) - 2,
                               int (random () % (w / 2 + 2)), int (random () % (h / 2 + 2)) });
        const int n = int (patches.size ());
        add ({ .kind = QueryKind::votes,
               .windows = about,
               .measure = Measure (m),
               .models = models (n, Measure (m), random),
               .patches = patches.data (),
               .n_patches = n,
               .rank = int (random () % n) },
             (m + 1) % 3);
      }
    }
  }

  /// Returns the answers, each with its best behind it.
  template <class Ask>
  std::vector<Bytes> answers (Ask &&ask)
  {
    std::vector<Bytes> all;
    for (std::size_t i = 0; i < queries_.size (); i++) {
      Query &query = queries_[i];
      const std::size_t bytes = (answer_bytes (shape_, query) + 7) / 8 * 8;
      Bytes &room = all.emplace_back (bytes + sizeof (Best) + kBehind, kPoison);
      query.answers = wants_[i].answers ? room.data () : nullptr;
      query.best = wants_[i].best ? reinterpret_cast<Best *> (room.data () + bytes) : nullptr;
    }
    ask (std::span<const Query> (queries_));
    for (Bytes &room : all) {
      fail_unless (std::all_of (room.end () - kBehind, room.end (),
                                [] (auto byte) { return byte == kPoison; }),
                   "wrote behind the answers");
      room.erase (room.end () - kBehind, room.end ());
    }
    return all;
  }

  const std::vector<Query> &queries () const { return queries_; }

private:
  static constexpr std::ptrdiff_t kBehind = 64;
  struct Wants {
    bool answers, best;
  };

  /// `wants` is 0 for answers, 1 for both, 2 for the best alone.
  void add (const Query &query, int wants = 0)
  {
    queries_.push_back (query);
    wants_.push_back ({ wants<2, wants> 0 });
  }

  /// Returns prepared models, with the models themselves behind them.
  const float *models (int n, Measure measure, std::mt19937 &random)
  {
    std::vector<float> &all = models_.emplace_back ();
    for (int i = 0; i < n; i++) {
      std::vector<float> model (shape_.bins);
      for (float &share : model)
        share = random () % 3 ? float (random () % 100) : 0;
      model[random () % model.size ()]++;
      const float sum = std::accumulate (model.begin (), model.end (), 0.0f);
      for (const float share : model)
        all.push_back (share / sum);
    }
    const std::vector<float> plain = all;
    all.insert (all.end (), plain.begin (), plain.end ());
    for (int i = 0; i < n; i++)
      prepare (measure, std::span (all).subspan (std::size_t (i) * shape_.bins, shape_.bins));
    return all.data ();
  }

  const Shape shape_;
  std::deque<std::vector<Region>> lists_;
  std::deque<std::vector<float>> models_;
  std::vector<Query> queries_;
  std::vector<Wants> wants_;
};

/// Compares answers with the counts of the picture: the histograms of windows, and the likelihoods
/// that follow from them.
void expect_truth (const Shape &shape, const Bytes &picture, const Batch &batch,
                   const std::vector<Bytes> &answers)
{
  for (std::size_t q = 0; q < answers.size (); q++) {
    const Query &query = batch.queries ()[q];
    for (int i = 0; i < query.windows.size (); i++) {
      const Region window = window_of (query.windows, i, shape);
      const Lut lut = lut_of (shape.bins);
      const Sums counts = count_pixels (picture, shape.width, window, shape.bins, std::span (lut));
      if (query.kind == QueryKind::counts) {
        const auto *const got = reinterpret_cast<const std::uint32_t *> (answers[q].data ())
                                + std::size_t (i) * shape.bins;
        fail_unless (std::equal (counts.begin (), counts.end (), got), "wrong counts in window %d",
                     i);
      } else if (query.kind == QueryKind::sums) {
        const auto *const got = reinterpret_cast<const std::uint64_t *> (answers[q].data ())
                                + std::size_t (i) * shape.bins;
        fail_unless (std::equal (counts.begin (), counts.end (), got), "wrong sums in window %d",
                     i);
      } else if (query.kind == QueryKind::likelihoods && query.answers) {
        const float *const model = query.models + shape.bins;
        const double wanted =
            formula (name_of (query.measure), shares_of_pixels (counts, pixels_of (window)),
                     { model, model + shape.bins });
        const float got = reinterpret_cast<const float *> (answers[q].data ())[i];
        fail_unless (std::fabs (got - wanted) <= 1e-4 * std::max (1.0, std::fabs (wanted)),
                     "%s of window %d is %.8g, must be %.8g", name_of (query.measure), i, got,
                     wanted);
      }
    }
  }
}

constexpr Shape kShapes[] = {
  { 37, 23, 256 },
  { 64, 48, 1 },
  { 133, 97, 17 },
  { 133, 97, 17, Type::u16 },
  { 133, 97, 17, Type::u8_tiled },
  { 320, 240, 3, Type::u16 },  // windows of more than 65535 pixels
};

/// Weights in host memory.
class Held final : public Tensor {
public:
  Held (const Shape &shape, Bytes bytes) : Tensor (shape), bytes_ (std::move (bytes)) {}

  integralhist::Expected<> wait (GstClockTime) override { return {}; }
  integralhist::Expected<> ask (std::span<const Query> queries) override
  {
    return integralhist::answer_on_host ({ shape, layout, bytes_.data () }, queries);
  }
  integralhist::Expected<const void *> host () override { return bytes_.data (); }

private:
  const Bytes bytes_;
};

/// Fails unless shards answer as one tensor has.
void expect_same_in_shards (const Shape &shape, std::span<const Shard> shards, Batch &batch,
                            const std::vector<Bytes> &wanted)
{
  const auto got = batch.answers ([&] (std::span<const Query> queries) {
    must (integralhist::ask_shards (shape, shards, queries));
  });
  fail_unless_equals_int (got.size (), wanted.size ());
  for (std::size_t q = 0; q < got.size (); q++)
    fail_unless (got[q] == wanted[q],
                 "%s in %zu shards: query %zu, question %d, %s: differs from one tensor's",
                 name_of (shape).c_str (), shards.size (), q, int (batch.queries ()[q].kind),
                 name_of (batch.queries ()[q].measure));
}

/// Shards take turns on the devices.
void check_shards (Device of_whole, std::span<const Device> devices)
{
  std::mt19937 random (seed ());
  for (const Shape &shape : kShapes) {
    Bytes picture = picture_of (case_of (shape, Pattern::noise));
    const auto whole = tensor_of (of_whole, shape, picture);
    Batch batch (shape, random);
    const auto wanted =
        batch.answers ([&] (std::span<const Query> queries) { must (whole->ask (queries)); });
    expect_truth (shape, picture, batch, wanted);
    for (const std::vector<int> &sizes : cuts (shape.bins, random)) {
      if (sizes.size () > 50)
        continue;
      std::vector<Shard> shards;
      std::vector<std::shared_ptr<Watched>> tensors;
      int first_bin = 0;
      for (const int bins : sizes) {
        tensors.push_back (shard_of (devices[tensors.size () % devices.size ()], *whole, picture,
                                     first_bin, bins));
        shards.push_back ({ first_bin, tensors.back () });
        first_bin += bins;
      }
      expect_same_in_shards (shape, shards, batch, wanted);
      for (const auto &tensor : tensors)
        fail_unless_equals_int (tensor->asked, 1);
    }
  }
}

}  // namespace

DEVICE_TEST (shards)
{
  check_shards (device, { &device, 1 });
}

/// A frame in shards on both devices, compared with a tensor on this device.
DEVICE_TEST_FROM (mixed, 1)
{
  check_shards (device, kDevices);
}

/// Sums of weights are the same in shards; the tests of kernels/ compare them with the truth.
TEST (weights)
{
  std::mt19937 random (seed ());
  for (const auto &[width, height, bins, pattern] :
       { std::tuple (133, 97, 17, Pattern::noise), std::tuple (1301, 1170, 2, Pattern::full) }) {
    const Case c =
        case_of ({ width, height, bins, Type::u32, Content::weights, Type::u32 }, pattern);
    const Bytes all = right_tensor (Input (c));
    Held whole (c.shape, all);
    Batch batch (c.shape, random);
    const auto wanted =
        batch.answers ([&] (std::span<const Query> queries) { must (whole.ask (queries)); });
    for (const std::vector<int> &sizes : cuts (bins, random)) {
      std::vector<Shard> shards;
      int first_bin = 0;
      for (const int n : sizes) {
        Shape part = c.shape;
        part.bins = n;
        shards.push_back (
            { first_bin,
              std::make_shared<Held> (part, group_of (c.layout (), all.data (), first_bin, n)) });
        first_bin += n;
      }
      expect_same_in_shards (c.shape, shards, batch, wanted);
    }
  }
}

TEST (broken)
{
  const Shape shape{ 64, 48, 5 };
  const Bytes picture (64 * 48);
  Shape first = shape;
  first.bins = 2;
  const Shard shards[] = { { 0, tensor_of (Device::cpu, first, picture) },
                           { 2, std::make_shared<BrokenTensor> (3) } };
  std::int32_t answer;
  const Query query = { .kind = QueryKind::quantiles,
                        .windows = { nullptr, 0, { 9, 9, 0, 0, 1, 1, 1, 1 } },
                        .answers = &answer };
  const auto asked = integralhist::ask_shards (shape, shards, { &query, 1 });
  fail_unless (!asked && asked.error ().kind == integralhist::Error::Kind::failed,
               "a shard that cannot be had");
}
