// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tracker's verdict on a frame, for costs and verdicts worked out by hand.
#include <gst/track/fragments/fragments_tracker.hpp>

#include <cmath>

#include "test.hpp"  // last: it has macros with names of the standard library

using namespace integralhist;
using Frame = Verdict::Frame;

namespace {

constexpr double kUsual = 0.1;     // m: 1.3 m is 0.13, 1.8 m is 0.18
constexpr std::size_t kAll = 225;  // 15 x 15, the positions of the usual range of 7
constexpr std::size_t kEnough = 113, kTooFew = 112;  // half of them are 112.5

void expect (const FrameCosts &costs, std::optional<double> usual,
             const FragmentsSettings &settings, double share, bool moves, Frame frame,
             unsigned lost_after = 5)
{
  const Verdict verdict = verdict_of (costs, usual, settings, lost_after);
  fail_unless (std::fabs (verdict.share - share) < 1e-9 && verdict.moves == moves
                   && verdict.frame == frame,
               "V %g, median %g, %d positions: p %g, moves %d, frame %d", costs.least, costs.median,
               int (costs.positions), verdict.share, verdict.moves, int (verdict.frame));
}

}  // namespace

TEST (many_positions)
{
  const struct {
    double least, median, share;
    Frame frame;
  } cases[] = {
    { 0.100, 0.500, 0.200, Frame::good },
    { 0.126, 0.140, 0.900, Frame::good },        // V below 1.3 m
    { 0.140, 0.200, 0.700, Frame::good },        // p below 0.8
    { 0.140, 0.160, 0.875, Frame::suspicious },  // both above
    { 0.161, 0.175, 0.920, Frame::suspicious },  // V below 1.8 m
    { 0.220, 0.250, 0.880, Frame::suspicious },  // p below 0.9
    { 0.230, 0.250, 0.920, Frame::bad },         // both above
    { 0.900, 1.800, 0.500, Frame::good },        // a cost alone does not tell
    { 0.093, 0.100, 0.930, Frame::good },
    { 0.095, 0.100, 0.950, Frame::bad },  // p above 1 - 0.06, at any cost
  };
  for (const auto &c : cases)
    expect ({ c.least, c.median, kAll }, kUsual, {}, c.share, true, c.frame);
}

TEST (few_positions)
{
  expect ({ 0.095, 0.100, kEnough }, kUsual, {}, 0.95, true, Frame::bad);
  expect ({ 0.095, 0.100, kTooFew }, kUsual, {}, 0.95, true, Frame::good);
  expect ({ 0.190, 0.380, kEnough }, kUsual, {}, 0.5, true, Frame::good);
  expect ({ 0.190, 0.380, kTooFew }, kUsual, {}, 0.5, true, Frame::bad);
  // 9 x 9 positions of a range of 4 are enough from 41 on
  FragmentsSettings near;
  near.search_range = 4;
  expect ({ 0.095, 0.100, 41 }, kUsual, near, 0.95, true, Frame::bad);
  expect ({ 0.095, 0.100, 40 }, kUsual, near, 0.95, true, Frame::good);
}

TEST (equal_costs)
{
  expect ({ 0.1, 0.1, kAll }, kUsual, {}, 1, false, Frame::good);
  expect ({ 0.1, 0.100005, kAll }, kUsual, {}, 1, false, Frame::good);  // equal but for 1e-5
  expect ({ 0, 0, kAll }, kUsual, {}, 1, false, Frame::good);
  expect ({ 0.15, 0.15, kAll }, kUsual, {}, 1, false, Frame::suspicious);
  expect ({ 0.2, 0.2, kAll }, kUsual, {}, 1, true, Frame::bad);
  expect ({ 0.2, 0.2, kTooFew }, kUsual, {}, 1, true, Frame::bad);
}

TEST (settings)
{
  // before there are enough good frames every one is good
  expect ({ 0.9, 0.92, kAll }, {}, {}, 0.9 / 0.92, true, Frame::good);
  expect ({ 0.9, 0.9, kAll }, {}, {}, 1, false, Frame::good);
  expect ({ 0.23, 0.25, kAll }, kUsual, {}, 0.92, true, Frame::suspicious, 0);
  expect ({ 0.095, 0.1, kAll }, kUsual, {}, 0.95, true, Frame::good, 0);
  FragmentsSettings sure;
  sure.min_confidence = 0.6;
  expect ({ 0.05, 0.1, kAll }, kUsual, sure, 0.5, true, Frame::bad);
  expect ({ 0.03, 0.1, kAll }, kUsual, sure, 0.3, true, Frame::good);
}
