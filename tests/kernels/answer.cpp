// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Likelihoods, quantiles and votes are those of counted pixels and of the textbooks' formulas in
// double precision. All devices answer the same bits, those of likeness.hpp for one window. Groups
// of bins, one after another, answer these bits too.
//
// Environment: devices.hpp
#include <cmath>
#include <optional>
#include <random>

#include "asked.hpp"
#include "formulas.hpp"
#include "pixel_sums.hpp"
#include "test.hpp"

namespace {

Sums counts_of (const Case &c, const Bytes &image, const Region &window)
{
  const Lut lut = c.lut.value_or (uniform_lut (c.shape.bins));
  return count_pixels (image, c.shape.width, window, c.shape.bins, std::span (lut));
}

/// Returns each bin's share of the pixels in a window's part of the frame.
Weights histogram (const Case &c, const Bytes &image, const Region &window)
{
  return shares_of_pixels (counts_of (c, image, window), pixels_in (image, c.shape.width, window));
}

/// Models to look for: a window of the picture, one with few bins, and an even one.
std::vector<std::vector<float>> models (const Case &c, const Bytes &image, std::mt19937 &random)
{
  const Shape &shape = c.shape;
  Weights seen = shares (counts_of (
      c, image, { shape.width / 4, shape.height / 4, shape.width / 3 + 1, shape.height / 3 + 1 }));
  if (std::ranges::all_of (seen, [] (double share) { return share == 0; }))
    seen.back () = 1;
  std::vector<float> few (shape.bins), even (shape.bins, 1.0f / float (shape.bins));
  few[random () % few.size ()] += 0.75f;
  few[random () % few.size ()] += 0.25f;
  return { { seen.begin (), seen.end () }, few, even };
}

constexpr struct {
  int width, height, bins;
  Pattern pattern;
} kFrames[] = {
  { 1, 1, 1, Pattern::zeros },    { 37, 23, 256, Pattern::noise }, { 133, 97, 17, Pattern::noise },
  { 64, 48, 1, Pattern::noise },  { 320, 240, 2, Pattern::full },  { 97, 61, 16, Pattern::across },
  { 320, 240, 3, Pattern::down },
};

/// Pixels that are in no bin: none, those of a third of the values, and all but a few.
enum class Uncounted { none, third, most };

std::optional<Lut> lut_with (Uncounted uncounted, int bins)
{
  if (uncounted == Uncounted::none || bins == 256)
    return {};
  Lut lut = uniform_lut (bins);
  for (int value = 0; value < 256; value++)
    if (uncounted == Uncounted::third ? value % 96 < 32 : value % 64 > 0)
      lut[std::size_t (value)] = std::uint8_t (bins + value % (256 - bins));
  return lut;
}

constexpr Uncounted kUncounted[] = { Uncounted::none, Uncounted::third, Uncounted::most };

/// All measures; for small cases any two, as a sanitizer checks memory and not formulas.
std::vector<Measure> measures_of (std::mt19937 &random)
{
  std::vector<Measure> all;
  for (int m = 0; m < kMeasures; m++)
    all.push_back (Measure (m));
  std::ranges::shuffle (all, random);
  if (small_cases ())
    all.resize (2);
  return all;
}

/// Calls `check` with each frame, its picture and its tensor, for each type of counter.
template <class Check>
void for_frames (Device device, Check &&check)
{
  std::mt19937 random (seed ());
  for (const auto &[width, height, bins, pattern] : kFrames) {
    if (small_cases () && width * height > 1000)
      continue;
    for (const Type counter : { Type::u32, Type::u16, Type::u8_tiled }) {
      for (const Uncounted uncounted : kUncounted) {
        Case c = case_of ({ width, height, bins, counter }, pattern);
        c.lut = lut_with (uncounted, bins);
        if (uncounted != Uncounted::none && !c.lut)
          continue;
        AskedTensor tensor (device, c, right_tensor (Input (c)));
        check (c, picture_of (c), tensor, random);
      }
    }
  }
}

void expect_near (const Case &c, Measure measure, const Region &window, double got, double wanted)
{
  fail_unless (std::fabs (got - wanted) <= 1e-5 * std::max (1.0, std::fabs (wanted)),
               "%s: %s of %d,%d %dx%d is %.8g, must be %.8g", c.name ().c_str (), name_of (measure),
               window.x, window.y, window.width, window.height, got, wanted);
}

void expect_best (const Case &c, const Asked &asked, std::span<const float> values,
                  const Best &best)
{
  const int truth =
      best_of (name_of (asked.measure), values, asked.list.empty () ? asked.grid.columns : 0);
  fail_unless (best.index == truth && best.value == values[truth],
               "%s: %s: the best is %d (%g), must be %d (%g)", c.name ().c_str (),
               name_of (asked.measure), best.index, best.value, truth, values[truth]);
}

}  // namespace

DEVICE_TEST (likelihoods)
{
  for_frames (device,
              [] (const Case &c, const Bytes &image, AskedTensor &tensor, std::mt19937 &random) {
                for (Asked asked : windows_of (c.shape)) {
                  std::vector<Weights> histograms;
                  for (int i = 0; i < asked.n (); i++)
                    histograms.push_back (histogram (c, image, asked.window (i)));
                  for (const auto &model : models (c, image, random))
                    for (const Measure measure : measures_of (random)) {
                      asked.kind = QueryKind::likelihoods;
                      asked.measure = measure;
                      asked.models = tried_with (name_of (asked.measure), model);
                      Best best;
                      const auto got = tensor.ask<float> (asked, &best);
                      for (int i = 0; i < asked.n (); i++)
                        expect_near (c, asked.measure, asked.window (i), got[i],
                                     formula (name_of (asked.measure), histograms[i],
                                              { asked.models.begin (), asked.models.end () }));
                      expect_best (c, asked, got, best);
                    }
                }
              });
}

namespace {

/// Maps of several batches, over the borders, with steps that divide the window or do not, and with
/// windows that a u16 cannot count at once, or not even a row of; then of all windows in the frame,
/// or in its columns, of every width modulo 4, from every column modulo 4.
constexpr struct {
  int width, height, bins;
  Grid grid;
} kMaps[] = {
  { 700, 40, 5, { 9, 7, -5, -3, 1, 1, 710, 45 } },
  { 301, 41, 4, { 12, 8, -4, 2, 3, 2, 103, 18 } },
  { 301, 41, 4, { 11, 9, -4, -5, 3, 2, 103, 24 } },
  { 400, 300, 3, { 300, 260, -20, -9, 7, 5, 20, 12 } },
  { 70000, 2, 2, { 66000, 2, -300, -1, 700, 1, 9, 3 } },
  { 301, 41, 4, { 12, 8, 0, 0, 1, 1, 290, 34 } },
  { 301, 41, 4, { 13, 8, 1, -3, 1, 2, 288, 20 } },
  { 210, 77, 3, { 14, 21, 2, 5, 1, 3, 195, 13 } },
  { 210, 77, 3, { 35, 10, 3, -9, 1, 1, 173, 85 } },
  { 133, 40, 33, { 1, 1, 0, 0, 1, 1, 133, 40 } },
  { 133, 40, 2, { 3, 17, 5, 0, 1, 1, 126, 24 } },
  { 64, 64, 2, { 64, 64, 0, 0, 1, 1, 1, 1 } },
  { 5000, 6, 2, { 4, 2, 0, 0, 1, 1, 4997, 5 } },
};

/// Returns the likeness of a window's pixels, as likeness.hpp computes it.
float likeness (Measure measure, const Case &c, const Bytes &image, const Region &window,
                std::vector<float> model)
{
  const Sums counts = counts_of (c, image, window);
  prepare (measure, model);
  return with_measure (measure, [&] (auto measure) {
    auto sum = sum_for<measure.value> (pixels_of (clip (window, c.shape)));
    for (int b = 0; b < c.shape.bins; b++)
      sum.add (b, counts[std::size_t (b)], model[std::size_t (b)]);
    return sum.value ();
  });
}

}  // namespace

/// A map's values have the bits of likeness.hpp, window by window.
DEVICE_TEST (maps)
{
  std::mt19937 random (seed ());
  for (const auto &[width, height, bins, grid] : kMaps)
    for (const Type counter : { Type::u32, Type::u16, Type::u8_tiled }) {
      Case c = case_of ({ width, height, bins, counter }, Pattern::noise);
      c.lut = lut_with (kUncounted[random () % 3], bins);
      if (!is_valid (c.shape) || (small_cases () && width > 500))
        continue;
      AskedTensor tensor (device, c, right_tensor (Input (c)));
      const Bytes image = picture_of (c);
      Asked asked{ .kind = QueryKind::likelihoods, .grid = grid };
      for (int m = 0; m < kMeasures; m++) {
        asked.measure = Measure (m);
        asked.models = tried_with (name_of (asked.measure), models (c, image, random)[m % 3]);
        Best best;
        const auto got = tensor.ask<float> (asked, &best);
        for (int i = 0; i < asked.n (); i += 1 + asked.n () / 500) {
          const Region window = asked.window (i);
          const float wanted = likeness (asked.measure, c, image, window, asked.models);
          fail_unless (memcmp (&got[i], &wanted, sizeof wanted) == 0,
                       "%s: %s of %d,%d %dx%d is %.9g, must be %.9g", c.name ().c_str (),
                       name_of (asked.measure), window.x, window.y, window.width, window.height,
                       got[i], wanted);
        }
        expect_best (c, asked, got, best);
      }
    }
}

DEVICE_TEST (quantiles)
{
  for_frames (device, [] (const Case &c, const Bytes &image, AskedTensor &tensor, std::mt19937 &) {
    const Lut lut = c.lut.value_or (uniform_lut (c.shape.bins));
    for (Asked asked : windows_of (c.shape)) {
      std::vector<std::vector<int>> bins (std::size_t (asked.n ()));  // of each window's pixels
      for (int i = 0; i < asked.n (); i++) {
        each_pixel (image, c.shape.width, asked.window (i),
                    [&] (int value) { bins[i].push_back (lut[std::size_t (value)]); });
        std::ranges::sort (bins[i]);
      }
      for (const double quantile : { 0.0, 0.25, 0.5, 0.9, 1.0 }) {
        asked.kind = QueryKind::quantiles;
        asked.quantile = quantile;
        const auto got = tensor.ask<std::int32_t> (asked);
        for (int i = 0; i < asked.n (); i++) {
          // the k-th, from 1, is the first with at least k up to it
          const double k = std::max (1.0, std::ceil (quantile * double (bins[i].size ())));
          const int bin = bins[i].empty () ? c.shape.bins : bins[i][std::size_t (k) - 1];
          const int wanted = bin < c.shape.bins ? bin : -1;
          const Region window = asked.window (i);
          fail_unless (got[i] == wanted, "%s: quantile %g of %d,%d %dx%d is %d, must be %d",
                       c.name ().c_str (), quantile, window.x, window.y, window.width,
                       window.height, got[i], wanted);
        }
      }
    }
  });
}

DEVICE_TEST (votes)
{
  for_frames (
      device, [] (const Case &c, const Bytes &image, AskedTensor &tensor, std::mt19937 &random) {
        const auto all_models = models (c, image, random);
        for (Asked asked : windows_of (c.shape)) {
          asked.kind = QueryKind::votes;
          const int n = 1 + int (random () % 9);
          asked.patches = patches_of (c.shape, n, random);
          asked.rank = int (random () % n);
          asked.measure = Measure (random () % kMeasures);
          for (int p = 0; p < n; p++) {
            const auto &model = all_models[p % all_models.size ()];
            asked.models.insert (asked.models.end (), model.begin (), model.end ());
          }
          asked.models = tried_with (name_of (asked.measure), asked.models);
          Best best;
          const auto got = tensor.ask<float> (asked, &best);
          for (int i = 0; i < asked.n (); i++) {
            const Region window = asked.window (i);
            Weights votes;
            for (int p = 0; p < n; p++) {
              const Region &patch = asked.patches[p];
              const float *model = &asked.models[std::size_t (p) * c.shape.bins];
              votes.push_back (formula (
                  name_of (asked.measure),
                  histogram (c, image,
                             { window.x + patch.x, window.y + patch.y, patch.width, patch.height }),
                  { model, model + c.shape.bins }));
            }
            std::ranges::sort (votes);
            if (is_similarity (name_of (asked.measure)))
              std::ranges::reverse (votes);
            expect_near (c, asked.measure, window, got[i], votes[asked.rank]);
          }
          expect_best (c, asked, got, best);
        }
      });
}

DEVICE_TEST_FROM (same_bits, 1)
{
  for_frames (
      device, [&] (const Case &c, const Bytes &image, AskedTensor &tensor, std::mt19937 &random) {
        AskedTensor on_cpu (Device::cpu, c, right_tensor (Input (c)));
        const auto all_models = models (c, image, random);
        for (Asked asked : windows_of (c.shape))
          for (const Measure measure : measures_of (random)) {
            asked.kind = QueryKind::likelihoods;
            asked.measure = measure;
            asked.models = tried_with (name_of (asked.measure), all_models[0]);
            const auto compare = [&] {
              Best best, wanted_best;
              const auto got = tensor.ask<float> (asked, &best),
                         wanted = on_cpu.ask<float> (asked, &wanted_best);
              fail_unless (memcmp (got.data (), wanted.data (), got.size () * sizeof (float)) == 0,
                           "%s: %s differs from the CPU's", c.name ().c_str (),
                           name_of (asked.measure));
              fail_unless (best.value == wanted_best.value && best.index == wanted_best.index);
            };
            compare ();
            asked.kind = QueryKind::votes;
            asked.patches = patches_of (c.shape, 5, random);
            asked.rank = 1;
            asked.models = all_models[1];
            for (int p = 1; p < 5; p++)
              asked.models.insert (asked.models.end (), all_models[p % 3].begin (),
                                   all_models[p % 3].end ());
            compare ();
          }
      });
}

/// Groups of bins, asked one after another, give the bits of the tensor that has all bins.
DEVICE_TEST (groups)
{
  for_frames (
      device, [&] (const Case &c, const Bytes &image, AskedTensor &tensor, std::mt19937 &random) {
        const auto all_models = models (c, image, random);
        const Bytes whole = right_tensor (Input (c));
        for (const std::vector<int> &sizes : cuts (c.shape.bins, random)) {
          const bool many = sizes.size () > 50;  // many groups get only some questions
          if (many && small_cases ())
            continue;
          Groups groups (device, c, whole, sizes);
          const auto compare = [&]<class Answer> (const Asked &asked, Answer, bool has_best,
                                                  const std::string &what) {
            Best best, wanted_best;
            const auto got = groups.ask<Answer> (asked, has_best ? &best : nullptr);
            const auto wanted = tensor.ask<Answer> (asked, has_best ? &wanted_best : nullptr);
            fail_unless_equals_int (got.size (), wanted.size ());
            for (std::size_t i = 0; i < got.size (); i++)
              fail_unless (memcmp (&got[i], &wanted[i], sizeof (Answer)) == 0,
                           "%s in %zu groups: %s of window %zu is %.9g, must be %.9g",
                           c.name ().c_str (), sizes.size (), what.c_str (), i, double (got[i]),
                           double (wanted[i]));
            fail_unless (!has_best
                         || (best.value == wanted_best.value && best.index == wanted_best.index));
          };
          for (Asked asked : windows_of (c.shape)) {
            if (many && random () % 3 > 0)
              continue;
            asked.kind = QueryKind::quantiles;
            for (const double quantile : { 0.0, 0.25, 0.5, 0.9, 1.0 }) {
              asked.quantile = quantile;
              compare (asked, std::int32_t (), false, "quantile " + std::to_string (quantile));
            }
            auto measures = measures_of (random);
            measures.resize (std::min<std::size_t> (measures.size (), many ? 2 : kMeasures));
            for (const Measure measure : measures) {
              asked.kind = QueryKind::likelihoods;
              asked.measure = measure;
              asked.models = tried_with (name_of (asked.measure), all_models[random () % 3]);
              asked.patches.clear ();
              compare (asked, float (), true, name_of (asked.measure));
              asked.kind = QueryKind::votes;
              const int n = 1 + int (random () % 9);
              asked.patches = patches_of (c.shape, n, random);
              asked.rank = int (random () % n);
              asked.models.clear ();
              for (int p = 0; p < n; p++)
                asked.models.insert (asked.models.end (), all_models[p % 3].begin (),
                                     all_models[p % 3].end ());
              asked.models = tried_with (name_of (asked.measure), asked.models);
              compare (asked, float (), true, std::string ("votes by ") + name_of (asked.measure));
            }
          }
        }
      });
}
