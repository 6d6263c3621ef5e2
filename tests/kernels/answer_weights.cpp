// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Likelihoods, quantiles and votes of histograms of weights are those of added up words and of the
// textbooks' formulas, also if a window's weights take more than 32 bits. All devices, and groups
// of bins, answer the same bits.
//
// Environment: devices.hpp
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "asked.hpp"
#include "formulas.hpp"
#include "pixel_sums.hpp"
#include "test.hpp"

namespace {

/// Returns what the words of a window add to each bin.
Sums add_words (const Input &input, const Region &window)
{
  const Shape &shape = input.c.shape;
  const Region inside = clip (window, shape);
  const unsigned bins = unsigned (shape.bins);
  Sums sums (bins);
  for (int y = inside.y; y < inside.y + inside.height; y++)
    for (int x = inside.x; x < inside.x + inside.width; x++) {
      std::uint32_t word;
      std::memcpy (&word, &input.pixels[y * input.c.stride () + x * sizeof word], sizeof word);
      if (const unsigned bin = word % 256; bin < bins) {
        sums[bin] += word / 256 % 4096;
        sums[(bin + 1) % bins] += word / (256 * 4096);
      }
    }
  return sums;
}

constexpr struct {
  int width, height, bins;
  Pattern pattern;
} kFrames[] = {
  { 1, 1, 1, Pattern::zeros },       { 37, 23, 256, Pattern::noise },
  { 133, 97, 17, Pattern::noise },   { 64, 48, 1, Pattern::noise },
  { 97, 61, 16, Pattern::across },   { 320, 240, 3, Pattern::down },
  { 1301, 1170, 2, Pattern::full },  // 2^32 and more
  { 1301, 1170, 3, Pattern::noise },
};

/// Calls `check` with each frame's words, its tensor, and questions about it.
template <class Check>
void for_frames (Device device, Check &&check)
{
  std::mt19937 random (seed ());
  for (const auto &[width, height, bins, pattern] : kFrames) {
    if (small_cases () && width * height > 1000)
      continue;
    const Case c =
        case_of ({ width, height, bins, Type::u32, Content::weights, Type::u32 }, pattern);
    const Input input (c);
    AskedTensor tensor (device, c, right_tensor (input));
    std::vector<Asked> all = windows_of (c.shape);
    if (width > 1000) {  // one by one they take long to add up
      all = { { .list = { { 0, 0, width, height }, { 1, 1, width - 2, height }, { 7, 9, 99, 5 } } },
              { .grid = { width - 1, height - 1, 0, 0, 1, 1, 2, 2 } },
              { .grid = { 1024, 1024, -1, -1, 90, 70, 2, 2 } },
              { .grid = { 1025, 1025, 3, 5, 90, 70, 2, 2 } } };
    }
    check (input, tensor, all, random);
  }
}

std::vector<float> some_model (const Shape &shape, std::mt19937 &random)
{
  std::vector<float> model (shape.bins);
  for (float &bin : model)
    bin = float (random () % 100);
  model[random () % model.size ()] += 1;
  const float sum = std::accumulate (model.begin (), model.end (), 0.0f);
  for (float &bin : model)
    bin /= sum;
  return model;
}

/// Returns the likeness for exact sums, as likeness.hpp computes it.
float likeness (Measure measure, const Sums &sums, const float *model)
{
  const auto total = std::accumulate (sums.begin (), sums.end (), std::uint64_t ());
  std::vector<float> bins (model, model + sums.size ());
  prepare (measure, bins);
  return with_measure (measure, [&] (auto measure) {
    auto sum = sum_for<measure.value> (total);
    for (std::size_t b = 0; b < sums.size (); b++)
      sum.add (int (b), sums[b], bins[b]);
    return sum.value ();
  });
}

void expect_bits (const Case &c, Measure measure, const Region &window, float got, float wanted)
{
  fail_unless (std::memcmp (&got, &wanted, sizeof got) == 0,
               "%s: %s of %d,%d %dx%d is %.9g, must be %.9g", c.name ().c_str (), name_of (measure),
               window.x, window.y, window.width, window.height, double (got), double (wanted));
}

}  // namespace

DEVICE_TEST (likelihoods)
{
  for_frames (device, [] (const Input &input, AskedTensor &tensor, std::vector<Asked> &all,
                          std::mt19937 &random) {
    for (Asked &asked : all) {
      std::vector<Sums> sums;
      for (int i = 0; i < asked.n (); i++)
        sums.push_back (add_words (input, asked.window (i)));
      asked.kind = QueryKind::likelihoods;
      for (int m = 0; m < kMeasures; m++) {
        asked.measure = Measure (m);
        asked.models = tried_with (name_of (asked.measure), some_model (input.c.shape, random));
        Best best;
        const auto got = tensor.ask<float> (asked, &best);
        for (int i = 0; i < asked.n (); i++) {
          const Region window = asked.window (i);
          expect_bits (input.c, asked.measure, window, got[i],
                       likeness (asked.measure, sums[i], asked.models.data ()));
          const double truth = formula (name_of (asked.measure), shares (sums[i]),
                                        { asked.models.begin (), asked.models.end () });
          fail_unless (std::fabs (got[i] - truth) <= 1e-5 * std::max (1.0, std::fabs (truth)),
                       "%s: %s of %d,%d %dx%d is %.8g, must be %.8g", input.c.name ().c_str (),
                       name_of (asked.measure), window.x, window.y, window.width, window.height,
                       double (got[i]), truth);
        }
        const int first =
            best_of (name_of (asked.measure), got, asked.list.empty () ? asked.grid.columns : 0);
        fail_unless (best.index == first && best.value == got[first]);
      }
    }
  });
}

DEVICE_TEST (quantiles)
{
  for_frames (device, [] (const Input &input, AskedTensor &tensor, std::vector<Asked> &all,
                          std::mt19937 &) {
    for (Asked &asked : all)
      for (const double quantile : { 0.0, 0.25, 0.5, 0.9, 1.0 }) {
        asked.kind = QueryKind::quantiles;
        asked.quantile = quantile;
        const auto got = tensor.ask<std::int32_t> (asked);
        for (int i = 0; i < asked.n (); i++) {
          const Sums sums = add_words (input, asked.window (i));
          const auto total = std::accumulate (sums.begin (), sums.end (), std::uint64_t ());
          const double least = std::max (1.0, std::ceil (quantile * double (total)));
          std::uint64_t so_far = 0;
          int wanted = -1;
          for (int b = 0; total > 0 && wanted < 0; b++)
            if (double (so_far += sums[b]) >= least)
              wanted = b;
          fail_unless (got[i] == wanted, "%s: quantile %g of window %d is %d, must be %d",
                       input.c.name ().c_str (), quantile, i, got[i], wanted);
        }
      }
  });
}

DEVICE_TEST (votes)
{
  for_frames (device, [] (const Input &input, AskedTensor &tensor, std::vector<Asked> &all,
                          std::mt19937 &random) {
    const Shape &shape = input.c.shape;
    for (Asked &asked : all) {
      asked.kind = QueryKind::votes;
      const int n = 1 + int (random () % 5);
      asked.patches = patches_of (shape, n, random);
      asked.rank = int (random () % n);
      asked.measure = Measure (random () % kMeasures);
      asked.models.clear ();
      for (int p = 0; p < n; p++) {
        const auto model = some_model (shape, random);
        asked.models.insert (asked.models.end (), model.begin (), model.end ());
      }
      const auto got = tensor.ask<float> (asked);
      for (int i = 0; i < asked.n (); i++) {
        const Region window = asked.window (i);
        std::vector<float> votes;
        for (int p = 0; p < n; p++) {
          const Region &patch = asked.patches[p];
          votes.push_back (likeness (asked.measure,
                                     add_words (input, { window.x + patch.x, window.y + patch.y,
                                                         std::max (0, patch.width), patch.height }),
                                     &asked.models[std::size_t (p) * shape.bins]));
        }
        std::ranges::sort (votes);
        if (is_similarity (asked.measure))
          std::ranges::reverse (votes);
        expect_bits (input.c, asked.measure, window, got[i], votes[asked.rank]);
      }
    }
  });
}

/// Groups of bins add their totals up first, and then give the bits of the tensor that has all
/// bins.
DEVICE_TEST (groups)
{
  for_frames (device, [&] (const Input &input, AskedTensor &tensor, std::vector<Asked> &all,
                           std::mt19937 &random) {
    const Case &c = input.c;
    const Bytes whole = right_tensor (input);
    for (const std::vector<int> &sizes : cuts (c.shape.bins, random)) {
      if (sizes.size () > 20)
        continue;
      Groups groups (device, c, whole, sizes);
      const auto compare = [&]<class Answer> (const Asked &asked, Answer) {
        const auto got = groups.ask<Answer> (asked);
        const auto wanted = tensor.ask<Answer> (asked);
        fail_unless (got.size () == wanted.size ()
                         && std::memcmp (got.data (), wanted.data (), got.size () * sizeof (Answer))
                                == 0,
                     "%s: %zu groups answer otherwise", c.name ().c_str (), sizes.size ());
      };
      for (Asked asked : all) {
        asked.kind = QueryKind::quantiles;
        compare (asked, std::int32_t ());
        asked.kind = QueryKind::likelihoods;
        asked.measure = Measure (random () % kMeasures);
        asked.models = some_model (c.shape, random);
        compare (asked, float ());
        asked.kind = QueryKind::votes;
        asked.patches = patches_of (c.shape, 3, random);
        asked.rank = 1;
        asked.models.clear ();
        for (int p = 0; p < 3; p++) {
          const auto model = some_model (c.shape, random);
          asked.models.insert (asked.models.end (), model.begin (), model.end ());
        }
        compare (asked, float ());
      }
    }
  });
}
