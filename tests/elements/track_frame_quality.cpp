// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The quality of a frame, for costs and grades worked out by hand.
#include <gst/track/fragments/frame_quality.hpp>

#include <cmath>

#include "test.hpp"  // last: it has macros with names of the standard library

using namespace integralhist;
using Grade = FrameQuality::Grade;

namespace {

constexpr double kUsual = 0.1;     // m: 1.3 m is 0.13, 1.8 m is 0.18
constexpr std::size_t kAll = 225;  // 15 x 15, the positions of the usual range of 7
constexpr std::size_t kEnough = 113, kTooFew = 112;  // half of them are 112.5

void expect (const FrameCosts &costs, std::optional<double> usual,
             const FragmentsSettings &settings, double share, bool moves, Grade grade,
             unsigned lost_after = 5)
{
  const FrameQuality quality = assess_frame (costs, usual, settings, lost_after);
  fail_unless (std::fabs (quality.share - share) < 1e-9 && quality.moves == moves
                   && quality.grade == grade,
               "V %g, median %g, %d positions: p %g, moves %d, grade %d", costs.least, costs.median,
               int (costs.positions), quality.share, quality.moves, int (quality.grade));
}

}  // namespace

TEST (many_positions)
{
  const struct {
    double least, median, share;
    Grade grade;
  } cases[] = {
    { 0.100, 0.500, 0.200, Grade::good },
    { 0.126, 0.140, 0.900, Grade::good },        // V below 1.3 m
    { 0.140, 0.200, 0.700, Grade::good },        // p below 0.8
    { 0.140, 0.160, 0.875, Grade::suspicious },  // both above
    { 0.161, 0.175, 0.920, Grade::suspicious },  // V below 1.8 m
    { 0.220, 0.250, 0.880, Grade::suspicious },  // p below 0.9
    { 0.230, 0.250, 0.920, Grade::bad },         // both above
    { 0.900, 1.800, 0.500, Grade::good },        // a cost alone does not tell
    { 0.093, 0.100, 0.930, Grade::good },
    { 0.095, 0.100, 0.950, Grade::bad },  // p above 1 - 0.06, at any cost
  };
  for (const auto &c : cases)
    expect ({ c.least, c.median, kAll }, kUsual, {}, c.share, true, c.grade);
}

TEST (few_positions)
{
  expect ({ 0.095, 0.100, kEnough }, kUsual, {}, 0.95, true, Grade::bad);
  expect ({ 0.095, 0.100, kTooFew }, kUsual, {}, 0.95, true, Grade::good);
  expect ({ 0.190, 0.380, kEnough }, kUsual, {}, 0.5, true, Grade::good);
  expect ({ 0.190, 0.380, kTooFew }, kUsual, {}, 0.5, true, Grade::bad);
  // 9 x 9 positions of a range of 4 are enough from 41 on
  FragmentsSettings near;
  near.search_range = 4;
  expect ({ 0.095, 0.100, 41 }, kUsual, near, 0.95, true, Grade::bad);
  expect ({ 0.095, 0.100, 40 }, kUsual, near, 0.95, true, Grade::good);
}

TEST (equal_costs)
{
  expect ({ 0.1, 0.1, kAll }, kUsual, {}, 1, false, Grade::good);
  expect ({ 0.1, 0.100005, kAll }, kUsual, {}, 1, false, Grade::good);  // equal but for 1e-5
  expect ({ 0, 0, kAll }, kUsual, {}, 1, false, Grade::good);
  expect ({ 0.15, 0.15, kAll }, kUsual, {}, 1, false, Grade::suspicious);
  expect ({ 0.2, 0.2, kAll }, kUsual, {}, 1, true, Grade::bad);
  expect ({ 0.2, 0.2, kTooFew }, kUsual, {}, 1, true, Grade::bad);
}

TEST (settings)
{
  // before there are enough good frames every one is good
  expect ({ 0.9, 0.92, kAll }, {}, {}, 0.9 / 0.92, true, Grade::good);
  expect ({ 0.9, 0.9, kAll }, {}, {}, 1, false, Grade::good);
  expect ({ 0.23, 0.25, kAll }, kUsual, {}, 0.92, true, Grade::suspicious, 0);
  expect ({ 0.095, 0.1, kAll }, kUsual, {}, 0.95, true, Grade::good, 0);
  FragmentsSettings sure;
  sure.min_confidence = 0.6;
  expect ({ 0.05, 0.1, kAll }, kUsual, sure, 0.5, true, Grade::bad);
  expect ({ 0.03, 0.1, kAll }, kUsual, sure, 0.3, true, Grade::good);
}
