# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares a tracker's boxes with the true ones, and says where it starts, and starts again.

Boxes are (x, y, width, height). A frame is (box, confidence, whether the tracker said lost), or
None if nothing was followed. A true box without a size says that the target is not in the picture.
"""
import argparse
import math
import os

OVERLAPS = [i / 20 for i in range(21)]
ERRORS = list(range(51))
GAP = 5  # frames from a failure to the next start, as VOT has
BURN_IN = 10  # frames after a restart that say nothing of accuracy, as VOT has
SPAN = 100  # frames of which robustness speaks


def parser_of(doc, below=""):
    """The parser of a benchmark's options, the first of which is its folder of test data"""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = os.environ.get("INTHIST_TEST_DATA") or os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "../../../shared/data")
    parser.add_argument("folder", nargs="?", metavar="FOLDER",
                        default=os.path.normpath(os.path.join(data, below)))
    return parser


def overlap(a, b):
    """Intersection over union"""
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = width * height if width > 0 and height > 0 else 0
    return shared / (a[2] * a[3] + b[2] * b[3] - shared)


def error(a, b):
    """Distance of the centres"""
    return math.hypot(a[0] + a[2] / 2 - b[0] - b[2] / 2, a[1] + a[3] / 2 - b[1] - b[3] / 2)


def mean(values):
    """The mean; 0 without values"""
    values = list(values)
    return sum(values) / len(values) if values else 0


def is_there(box):
    """Returns whether a true box exists; a box of NaN does not"""
    return box[2] > 0 and box[3] > 0


def start_boxes(box, size, count):
    """The true box, then those of OTB's spatial robustness, as far as they lie in the frame.

    Eight are shifted by a tenth of the target to its sides and corners, four are scaled.
    """
    x, y, width, height = box
    shifts = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)]
    boxes = [box]
    boxes += [(x + i * width / 10, y + j * height / 10, width, height) for i, j in shifts]
    boxes += [(x + width * (1 - scale) / 2, y + height * (1 - scale) / 2,
               width * scale, height * scale) for scale in (0.8, 0.9, 1.1, 1.2)]
    return [inside(each, size) for each in boxes[:count]]


def inside(box, size):
    """The part of a box that lies in the frame, in whole pixels; at least one of them"""
    x, y, width, height = (round(number) for number in box)
    left, top = min(max(x, 0), size[0] - 1), min(max(y, 0), size[1] - 1)
    right, bottom = min(x + width, size[0]), min(y + height, size[1])
    return left, top, max(right - left, 1), max(bottom - top, 1)


def calibration_error(results):
    """How far confidence is from the share of frames with an overlap of 0.5

    Frames are put into ten even parts of the confidence. Starts are left out.
    """
    judged = [(min(int(10 * c), 9), c, o >= 0.5) for r in results for c, o in r.judged]
    parts = [[(c, right) for part, c, right in judged if part == i] for i in range(10)]
    return sum(abs(sum(c - right for c, right in part)) for part in parts) / max(1, len(judged))


class Run:
    """A tracker's frames from one start, with the failures, and where it started again"""

    def __init__(self, frames, restarts=(), failures=0):
        self.frames, self.restarts, self.failures = frames, list(restarts), failures
        self.burning = {i for start in restarts for i in range(start, start + BURN_IN)}


def follow_restarting(follow, truth, box, size):
    """A Run that starts again from the true box, GAP frames after each failure, as VOT does.

    follow(first, box) has the frames from `first` on. A failure is an overlap of 0. It, and what
    is between it and the next start, is None.
    """
    frames, restarts, failures, first = [], [], 0, 0
    while first is not None:
        failed = False
        for frame in follow(first, box):
            true = truth[len(frames)]
            failed = is_there(true) and overlap(frame[0], true) == 0
            frames.append(None if failed else frame)
            if failed or len(frames) == len(truth):
                break
        first = None
        if failed:
            failures += 1
            later = range(len(frames) - 1 + GAP, len(truth))
            first = next((i for i in later if is_there(truth[i])), None)
        if first is not None:
            restarts.append(first)
            frames += [None] * (first - len(frames))
            box = inside(truth[first], size)
    return Run(frames + [None] * (len(truth) - len(frames)), restarts, failures)


class Result:
    """Scores of a tracker in a sequence, over all runs"""

    def __init__(self, name, tracker, runs, truth, cost):
        scored = [(frame, box, i not in run.burning) for run in runs
                  for i, (frame, box) in enumerate(zip(run.frames, truth))
                  if frame and is_there(box)]
        overlaps = [overlap(frame[0], box) for frame, box, _ in scored]
        errors = [error(frame[0], box) for frame, box, _ in scored]
        self.judged = [(frame[1], overlap(frame[0], box)) for run in runs
                       for i, (frame, box) in enumerate(zip(run.frames, truth))
                       if frame and is_there(box) and i > 0 and i not in run.restarts]
        self.name, self.tracker, self.frames = name, tracker, len(scored)
        self.overlap, self.error = mean(overlaps), mean(errors)
        self.success = [mean(o > limit for o in overlaps) for limit in OVERLAPS]
        self.precision = [mean(e <= limit for e in errors) for limit in ERRORS]
        self.lost = mean(frame[2] for frame, _, _ in scored)
        self.accuracy = mean(o for o, (_, _, counts) in zip(overlaps, scored) if counts)
        self.failures = mean(run.failures for run in runs)
        self.robustness = math.exp(-SPAN * self.failures / len(runs[0].frames))
        self.rate = cost.frames / cost.seconds
        self.milliseconds = 1000 * cost.processor / cost.frames

    @property
    def auc(self):
        """Mean of the success curve"""
        return mean(self.success)
