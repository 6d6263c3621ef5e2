#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares the scores of trackers with pixels counted one by one, and with numbers by hand.

It needs neither the plugin nor a package, only tests/benchmarks/scores.py.
"""
import math
import os
import random
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'benchmarks'))
from scores import (BURN_IN, GAP, Result, Run, calibration_error, error,  # noqa: E402
                    follow_restarting, overlap, start_boxes)

SEED = 20261126
NAN = (math.nan,) * 4
SIZE = (64, 48)


def pixels(box):
    """The pixels of a box"""
    x, y, width, height = box
    return {(i, j) for i in range(x, x + width) for j in range(y, y + height)}


class FakeCost:
    """100 frames in two seconds, and in three of processor time"""

    frames, seconds, processor = 100, 2, 3


def result(runs, truth):
    return Result('sequence', 'tracker', runs, truth, FakeCost)


class Scores(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)

    def boxes(self, count):
        """Random ones that often share pixels"""
        return [tuple(self.random.randint(least, 9) for least in (0, 0, 1, 1))
                for _ in range(count)]

    def test_overlap(self):
        for a, b in zip(self.boxes(300), self.boxes(300)):
            shared, all_pixels = pixels(a) & pixels(b), pixels(a) | pixels(b)
            self.assertAlmostEqual(overlap(a, b), len(shared) / len(all_pixels), msg=(a, b))

    def test_boxes_that_only_touch_share_nothing(self):
        for b in [(4, 0, 4, 4), (0, 4, 4, 4), (4, 4, 4, 4), (-4, 0, 4, 4), (9, 9, 1, 1)]:
            self.assertEqual(overlap((0, 0, 4, 4), b), 0, b)

    def test_error(self):
        self.assertEqual(error((0, 0, 4, 4), (3, 4, 4, 4)), 5)
        self.assertEqual(error((2, 2, 4, 4), (0, 0, 8, 8)), 0)

    def test_scores_of_frames(self):
        truth = self.boxes(200)
        runs = [Run([(box, 1.0, self.random.random() < 0.3) for box in self.boxes(200)])
                for _ in range(3)]
        got = result(runs, truth)
        pairs = [(frame, box) for run in runs for frame, box in zip(run.frames, truth)]
        shares = [len(pixels(f[0]) & pixels(b)) / len(pixels(f[0]) | pixels(b)) for f, b in pairs]
        auc = sum(sum(1 for share in shares if 20 * share > i) / len(pairs)
                  for i in range(21)) / 21
        near = sum(1 for f, b in pairs if error(f[0], b) <= 3) / len(pairs)
        self.assertEqual(got.frames, 600)
        self.assertAlmostEqual(got.auc, auc)
        self.assertAlmostEqual(got.overlap, sum(shares) / len(pairs))
        self.assertAlmostEqual(got.accuracy, got.overlap)
        self.assertAlmostEqual(got.precision[3], near)
        self.assertEqual(got.precision[20], 1)
        self.assertAlmostEqual(got.lost, sum(f[2] for f, _ in pairs) / len(pairs))
        self.assertEqual((got.failures, got.robustness), (0, 1))
        self.assertEqual((got.rate, got.milliseconds), (50, 30))

    def test_a_perfect_tracker(self):
        truth = self.boxes(20)
        got = result([Run([(box, 1.0, False) for box in truth])], truth)
        self.assertAlmostEqual(got.auc, 20 / 21)  # no overlap is above 1
        self.assertEqual((got.overlap, got.precision[0]), (1, 1))

    def test_frames_without_a_target_do_not_count(self):
        truth = [(0, 0, 4, 4), NAN, (0, 0, 0, 0), (0, 0, 4, 4)]
        got = result([Run([((0, 0, 4, 4), 1.0, False)] * 4)], truth)
        self.assertEqual((got.frames, got.overlap), (2, 1))


class Starts(unittest.TestCase):
    BOX = (200, 100, 40, 80)

    def test_the_first_is_the_true_box(self):
        self.assertEqual(start_boxes(self.BOX, (640, 480), 1), [self.BOX])

    def test_shifts_and_scales(self):
        boxes = start_boxes(self.BOX, (640, 480), 13)
        self.assertEqual(len(set(boxes)), 13)
        x, y, width, height = self.BOX
        self.assertEqual({(a - x, b - y) for a, b, _, _ in boxes[1:9]},
                         {(i, j) for i in (-4, 0, 4) for j in (-8, 0, 8)} - {(0, 0)})
        self.assertEqual({box[2:] for box in boxes[1:9]}, {(width, height)})
        for box, scale in zip(boxes[9:], (0.8, 0.9, 1.1, 1.2)):
            self.assertEqual(box[2:], (width * scale, height * scale))
            self.assertEqual(error(box, self.BOX), 0)

    def test_they_lie_in_the_frame(self):
        for box in [(0, 0, 64, 48), (60, 44, 4, 4), (-8, -8, 20, 20), (63, 47, 1, 1)]:
            for x, y, width, height in start_boxes(box, SIZE, 13):
                self.assertTrue(0 <= x < x + width <= 64 and 0 <= y < y + height <= 48, box)


class Restarts(unittest.TestCase):
    """A tracker that is right for some frames after its start, and then far away"""

    RIGHT, WRONG = (10, 10, 8, 8), (40, 30, 8, 8)

    def run_with(self, truth, good):
        """good: frames that are right from each start, one number for each start"""
        asked = []

        def follow(first, box):
            right = good[len(asked)]
            asked.append((first, box))
            for i in range(len(truth) - first):
                yield self.RIGHT if i < right else self.WRONG, 1.0, False

        return follow_restarting(follow, truth, self.RIGHT, SIZE), asked

    def test_no_failure(self):
        run, asked = self.run_with([self.RIGHT] * 30, [30])
        self.assertEqual(asked, [(0, self.RIGHT)])
        self.assertEqual((run.failures, run.restarts, run.frames.count(None)), (0, [], 0))

    def test_every_failure_counts(self):
        run, asked = self.run_with([self.RIGHT] * 60, [7, 13, 60])
        # fails at 7, starts at 12, fails at 12 + 13, starts at 30
        self.assertEqual([first for first, _ in asked], [0, 7 + GAP, 25 + GAP])
        self.assertEqual((run.failures, run.restarts), (2, [12, 30]))
        gone = [i for i, frame in enumerate(run.frames) if frame is None]
        self.assertEqual(gone, [*range(7, 12), *range(25, 30)])
        got = result([run], [self.RIGHT] * 60)
        self.assertEqual((got.failures, got.frames), (2, 50))
        self.assertAlmostEqual(got.robustness, math.exp(-100 * 2 / 60))

    def test_a_failure_near_the_end(self):
        run, asked = self.run_with([self.RIGHT] * 30, [27])
        self.assertEqual((len(asked), run.failures, len(run.frames)), (1, 1, 30))

    def test_starts_wait_for_the_target(self):
        truth = [self.RIGHT] * 10 + [NAN] * 10 + [self.RIGHT] * 10
        run, asked = self.run_with(truth, [8, 30])
        self.assertEqual([first for first, _ in asked], [0, 20])
        self.assertEqual(run.failures, 1)

    def test_no_failure_where_the_target_is_not_there(self):
        truth = [self.RIGHT] * 10 + [NAN] * 10
        run, _ = self.run_with(truth, [10])
        self.assertEqual(run.failures, 0)

    def test_starts_from_the_true_box(self):
        truth = [self.RIGHT] * 10 + [(20.4, 20.6, 9.2, 9.4)] * 10
        _, asked = self.run_with(truth, [3, 1, 30, 30])
        self.assertEqual(asked[:2], [(0, self.RIGHT), (8, self.RIGHT)])
        self.assertEqual(asked[2][1], (20, 21, 9, 9))

    def test_accuracy_leaves_out_what_follows_a_restart(self):
        truth = [self.RIGHT] * 40
        half = (10, 10, 8, 4)
        frames = [(self.RIGHT, 1.0, False)] * 40
        frames[20:20 + BURN_IN] = [(half, 1.0, False)] * BURN_IN
        got = result([Run(frames, [20], 1)], truth)
        self.assertEqual(got.accuracy, 1)
        self.assertAlmostEqual(got.overlap, (30 + 10 * 0.5) / 40)

    def test_calibration_error(self):
        """Of 0.75 half are right, of 0.35 all; starts say nothing."""
        truth = [self.RIGHT] * 11
        wrong = (50, 50, 10, 10)
        frames = [(wrong, 1.0, False)] + [(self.RIGHT, 0.75, False), (wrong, 0.75, False)] * 3
        frames += [(self.RIGHT, 0.35, False)] * 4
        got = calibration_error([result([Run(frames)], truth)])
        self.assertAlmostEqual(got, (6 * 0.25 + 4 * 0.65) / 10)

    def test_frames_may_end_before_the_truth(self):
        run = follow_restarting(lambda first, box: iter([(self.RIGHT, 1.0, False)] * 5),
                                [self.RIGHT] * 9, self.RIGHT, SIZE)
        self.assertEqual((len(run.frames), run.failures, run.frames[5:]), (9, 0, [None] * 4))


if __name__ == '__main__':
    unittest.main(verbosity=2)
