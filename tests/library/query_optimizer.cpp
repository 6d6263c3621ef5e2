// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which pixels on-demand tensors choose to count, and which boxes to compute, at costs that are
// worked out by hand.
#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <gst/integralhist/on_demand/query_optimizer.hpp>

#include "test.hpp"  // last: it has macros with names of the standard library

using namespace integralhist;
using inthist::QueryKind;
using inthist::Shape;

namespace {

constexpr AnswerCost kCost = { .pixel = 1,
                               .window = 10,
                               .bin = 1,
                               .lookup = 1,
                               .element = 1,
                               .tensor = 100,
                               .max_share_of_whole = 0.5 },
                     kNoPixels = { .pixel = AnswerCost::kNever,
                                   .window = 0,
                                   .bin = 0,
                                   .lookup = 0,
                                   .element = 1,
                                   .tensor = 100,
                                   .max_share_of_whole = 0.5 };
constexpr int kSide = 100, kBins = 4;
constexpr double kWhole = 100 + kSide * kSide * kBins;

Shape frame_shape ()
{
  Shape shape;
  shape.width = shape.height = kSide;
  shape.bins = kBins;
  return shape;
}

/// A question about a list of windows.
struct Asked {
  std::vector<Region> windows;
  int answers[1];
  Query query;

  explicit Asked (std::vector<Region> all, QueryKind kind = QueryKind::counts)
      : windows (std::move (all))
  {
    query.kind = kind;
    query.windows.list = windows.data ();
    query.windows.n = int (windows.size ());
    query.answers = answers;
  }
  Asked (const Asked &) = delete;
};

std::optional<Region> ask (QueryOptimizer &optimizer, std::vector<Region> windows,
                           QueryKind kind = QueryKind::counts)
{
  const Asked asked (std::move (windows), kind);
  return optimizer.choose_tensor (asked.query);
}

/// Asks a question, and computes the box that it needs.
Region compute (QueryOptimizer &optimizer, std::vector<Region> windows,
                QueryKind kind = QueryKind::counts)
{
  const auto part = ask (optimizer, std::move (windows), kind);
  fail_unless (part.has_value (), "counted from pixels");
  optimizer.note_computed (*part);
  return *part;
}

void expect (const Region &got, const Region &wanted)
{
  fail_unless (got.x == wanted.x && got.y == wanted.y && got.width == wanted.width
                   && got.height == wanted.height,
               "%d,%d %dx%d, must be %d,%d %dx%d", got.x, got.y, got.width, got.height, wanted.x,
               wanted.y, wanted.width, wanted.height);
}

}  // namespace

/// 5x5 pixels cost 25 + 10 + 4 - 4 = 35 each time, and their tensor 200: it is due at the sixth
/// question.
TEST (pixels_until_a_box_is_cheaper)
{
  const Shape shape = frame_shape ();
  QueryOptimizer optimizer (shape, kCost);
  for (int i = 0; i < 5; i++)
    fail_unless (!ask (optimizer, { { 20, 30, 5, 5 } }), "question %d", i);
  expect (compute (optimizer, { { 20, 30, 5, 5 } }), { 20, 30, 5, 5 });
  for (int i = 0; i < 5; i++)  // the tensor is kept
    expect (*ask (optimizer, { { 21, 31, 3, 4 } }), { 20, 30, 5, 5 });
  fail_unless (!ask (optimizer, { { 60, 30, 5, 5 } }), "another place is counted again");
  optimizer.forget ();
  fail_unless (!ask (optimizer, { { 20, 30, 5, 5 } }), "the next frame has no box");
  // likelihoods are never counted
  expect (*ask (optimizer, { { 70, 70, 5, 5 } }, QueryKind::likelihoods), { 70, 70, 5, 5 });
}

/// 2 x 2 cells of 5x5 pixels cost 25 + 4 x 4 - 4 x 4 each time, and their tensor 200.
TEST (cells_until_a_box_is_cheaper)
{
  Shape shape = frame_shape (), of_bins = shape;
  shape.content = inthist::Content::weights;
  const auto in_parts = [] (std::vector<double> pixels) {
    std::vector<int> edges;
    for (const double at : pixels)
      edges.push_back (int (at * inthist::kCellParts));
    return edges;
  };
  const auto x = in_parts ({ 20.2, 22, 24.5 }), y = in_parts ({ 30, 33.1, 35 }),
             other = in_parts ({ 60, 61, 65 }), at_end = in_parts ({ kSide, kSide, kSide });
  const inthist::Cells part = { x, y }, beside = { other, y }, outside = { at_end, y };
  const std::vector<std::uint8_t> scores (kBins);
  const auto counts = [] (QueryOptimizer &optimizer, std::vector<inthist::Cells> grids,
                          inthist::Scores its = {}) {
    const CellsQuery query = { grids, its, nullptr };
    return optimizer.choose_counting ({ &query, 1 });
  };
  QueryOptimizer optimizer (shape, kCost);
  for (int i = 0; i < 7; i++)
    fail_unless (counts (optimizer, { part }), "question %d", i);
  fail_unless (!counts (optimizer, { part }));
  optimizer.note_computed ({ 20, 30, 5, 5 });
  fail_unless (!counts (optimizer, { part }), "the box is kept");
  fail_unless (counts (optimizer, { beside }), "another place is counted");
  // all grids of a query cost something, but for those outside of the frame
  QueryOptimizer several (shape, kCost), border (shape, kCost);
  fail_unless (counts (several, { part, part, part, part }));
  fail_unless (!counts (several, { part, part, part, part }));
  for (int i = 0; i < 7; i++)
    fail_unless (counts (border, { part, outside }), "question %d", i);
  fail_unless (!counts (border, { part, outside }), "windows outside cost something");
  // cells of whole histograms, and all cells on a GPU, come from tensors
  QueryOptimizer never (shape, kNoPixels), of_histograms (of_bins, kCost),
      of_scores (of_bins, kCost);
  fail_unless (!counts (never, { part }));
  fail_unless (!counts (of_histograms, { part }) && counts (of_scores, { part }, scores));
}

/// A box grows if that costs at most twice as much as the last box and the present question.
TEST (boxes_that_grow)
{
  const Shape shape = frame_shape ();
  QueryOptimizer near (shape, kNoPixels), far (shape, kNoPixels);
  expect (compute (near, { { 0, 0, 10, 10 } }), { 0, 0, 10, 10 });   // 500
  expect (compute (near, { { 12, 0, 10, 10 } }), { 0, 0, 22, 10 });  // 980 of 1500
  expect (compute (near, { { 30, 0, 10, 10 } }), { 0, 0, 40, 10 });  // 1700 of 1980
  expect (compute (far, { { 0, 0, 10, 10 } }), { 0, 0, 10, 10 });
  expect (compute (far, { { 50, 50, 10, 10 } }), { 50, 50, 10, 10 });  // 14500 of 1500
  // boxes are clipped to the frame, with at least one pixel left
  QueryOptimizer clipped (shape, kNoPixels);
  expect (compute (clipped, { { -20, 95, 40, 40 } }), { 0, 95, 20, 5 });
  QueryOptimizer outside (shape, kNoPixels);
  const Region pixel = compute (outside, { { 300, 300, 5, 5 } });
  fail_unless (pixel.width == 1 && pixel.height == 1);
}

/// The whole frame is computed if the box is most of it, if the frame has cost too much, and for
/// votes of a list, which cannot be moved.
TEST (whole)
{
  const Shape shape = frame_shape ();
  const Region frame = { 0, 0, kSide, kSide };
  QueryOptimizer most (shape, kNoPixels), less (shape, kNoPixels), votes (shape, kNoPixels);
  expect (compute (most, { { 5, 5, 90, 80 } }), frame);  // 28900; 0.7 of 40100 is 28070
  expect (compute (less, { { 5, 5, 80, 80 } }), { 5, 5, 80, 80 });
  fail_unless (most.whole_is_better () && less.whole_is_better ());  // more than half of the frame
  expect (compute (less, { { 0, 0, 80, 80 } }), frame);              // 29000
  QueryOptimizer often (shape, kNoPixels);
  for (int i = 0; i < 23; i++) {  // 1700 each
    const Region part = { i % 2 ? 70 : 0, i % 2 ? 70 : 0, 20, 20 };
    expect (compute (often, { part }), part);
  }
  expect (compute (often, { { 70, 70, 20, 20 } }), frame);
  Asked asked ({ { 5, 5, 10, 10 } }, QueryKind::votes);
  const Region patch = { 0, 0, 4, 4 };
  asked.query.patches = &patch;
  asked.query.n_patches = 1;
  expect (*votes.choose_tensor (asked.query), frame);
  fail_unless (!votes.whole_is_better ());
}

/// For any questions, the windows lie in the tensor, and all tensors cost at most two whole ones.
TEST (never_more_than_twice)
{
  const Shape shape = frame_shape ();
  std::mt19937 random (7);
  const auto below = [&] (int n) { return int (random () % unsigned (n)); };
  for (int round = 0; round < 400; round++) {
    QueryOptimizer optimizer (shape, kCost);
    const int most = 1 + below (60);  // sides of the windows
    double spent = 0;
    int counted = 0, computed = 0;
    Region box{};
    for (int i = 0; i < 300; i++) {
      std::vector<Region> windows (std::size_t (1 + below (4)));
      double pixels = 0;
      for (Region &window : windows) {
        const int w = 1 + below (most), h = 1 + below (most);
        window = { below (kSide - w), below (kSide - h), w, h };
        pixels += w * h;
      }
      const auto part =
          ask (optimizer, windows, below (3) ? QueryKind::counts : QueryKind::quantiles);
      if (!part) {
        spent += std::max (0.0, pixels + double (windows.size ()) * 10);
        counted++;
        continue;
      }
      for (const Region &window : windows)
        fail_unless (is_within (window, *part));
      if (is_within (*part, box))
        continue;
      box = *part;
      spent += 100 + double (box.width) * box.height * kBins;
      computed++;
      optimizer.note_computed (box);
    }
    fail_unless (spent <= 2 * kWhole, "%g of %g: %d counted, %d computed, round %d", spent, kWhole,
                 counted, computed, round);
  }
}
