#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares how well examples/hog.py finds people with OpenCV's detectMultiScale.

    meson devenv -C build python-venv/bin/python ../tests/benchmarks/hog.py [FOLDER]

FOLDER ($INTHIST_TEST_DATA, or else ../shared/data beside the project) has vtest.avi (package
opencv-doc) and vtest_groundtruth_mot.txt, its truth in MOTChallenge's format: "frame, id, x, y,
width, height, whether it counts, ...", the first frame and pixel being 1.

Both have the same classifier, windows of the same sizes at steps of half a cell, boxes of people in
them, and suppression of boxes that overlap. OpenCV's windows are 64x128 and larger: it gets frames
magnified so that its first window is hog.py's. hog.py has gray levels; OpenCV takes the steepest of
the colours' gradients, unless it gets gray frames.

    AP         average precision: the area below precision by recall, which only falls
    threshold  least score of the best F1, whose precision and recall follow
    seconds    mean time of a frame, after the tensor or the magnified frame was made

A box is right if it overlaps a true one by half or more (intersection over union), which no
better box has taken.
"""
import os
import sys
import time

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples"))
import hog  # noqa: E402
from scores import parser_of  # noqa: E402

try:
    import cv2
except ImportError as error:
    sys.exit(f"hog: {error}: install OpenCV; build/python-venv of tests/run.sh has it")

LEAST_SCORE = -0.5  # boxes of less are not looked at
SMALLEST, LARGEST = 5, 16  # pixels of a cell


def read_truth(path):
    """{frame from 0: boxes [n, 4] from 0}"""
    rows = numpy.loadtxt(path, delimiter=",")
    rows = rows[rows[:, 6] != 0]
    return {int(number) - 1: rows[rows[:, 0] == number, 2:6] - (1, 1, 0, 0)
            for number in numpy.unique(rows[:, 0])}


def overlaps(box, boxes):
    size = (numpy.minimum(boxes[:, :2] + boxes[:, 2:4], box[:2] + box[2:4])
            - numpy.maximum(boxes[:, :2], box[:2])).clip(0)
    shared = size.prod(axis=1)
    return shared / (boxes[:, 2:4].prod(axis=1) + box[2:4].prod() - shared)


def right_boxes(boxes, truth):
    """Returns whether each box, best first, is a true one that no box before it took"""
    free = numpy.ones(len(truth), bool)
    right = []
    for box in boxes:
        overlap = numpy.where(free, overlaps(box, truth), 0)
        best = overlap.argmax() if len(truth) else 0
        right.append(bool(len(truth)) and overlap[best] >= 0.5)
        if right[-1]:
            free[best] = False
    return right


class Method:
    def __init__(self, name, find):
        self.name, self.find = name, find
        self.scores, self.right, self.people, self.frames, self.seconds = [], [], 0, 0, 0.0

    def look(self, frame, truth):
        boxes, seconds = self.find(frame)
        self.seconds += seconds
        self.frames += 1
        self.people += len(truth)
        self.scores.extend(boxes[:, 4])
        self.right.extend(right_boxes(boxes, truth))

    def row(self):
        order = numpy.argsort(-numpy.array(self.scores), kind="stable")
        found = numpy.array(self.right, float)[order].cumsum()
        precision = found / numpy.arange(1, len(found) + 1)
        recall = found / self.people
        falling = numpy.maximum.accumulate(precision[::-1])[::-1]
        average = numpy.diff(recall, prepend=0) @ falling
        f1 = 2 * precision * recall / numpy.maximum(precision + recall, 1e-9)
        best = f1.argmax()
        return (f"| {self.name} | {average:.3f} | {f1[best]:.3f} | {precision[best]:.3f} | "
                f"{recall[best]:.3f} | {self.scores[order[best]]:.2f} | "
                f"{self.seconds / self.frames:.2f} |")


def ours(name, classifier, cells, weights=hog.GAUSSIAN):
    def find(frame):
        started = time.monotonic()
        boxes = hog.find_people(frame.tensor, frame.unit, cells, classifier, LEAST_SCORE, weights)
        return boxes, time.monotonic() - started
    return Method(f"`hog.py`, {name}", find)


def opencv(name, classifier, gamma, gray=False, ratio=1.1):
    detector = cv2.HOGDescriptor((64, 128), (16, 16), (8, 8), (8, 8), 9, 1, -1, 0, 0.2, gamma)
    detector.setSVMDetector(classifier)
    magnified = hog.CELL / SMALLEST

    def find(frame):
        pixels = cv2.cvtColor(frame.pixels, cv2.COLOR_RGB2GRAY if gray else cv2.COLOR_RGB2BGR)
        pixels = cv2.resize(pixels, None, fx=magnified, fy=magnified)
        started = time.monotonic()
        windows, scores = detector.detectMultiScale(
            pixels, hitThreshold=LEAST_SCORE, winStride=(4, 4), padding=(16, 16), scale=ratio,
            groupThreshold=0)
        boxes = [numpy.empty((0, 5))]
        for (x, y, width, _), score in zip(windows, numpy.ravel(scores)):
            cell = width / magnified / hog.CELLS_X
            if cell <= LARGEST + 0.2:  # windows are of whole pixels
                window = numpy.array([[x / magnified, y / magnified, score]])
                boxes.append(hog.person_boxes(window, cell))
        boxes = hog.suppress(numpy.concatenate(boxes))
        return boxes, time.monotonic() - started
    return Method(f"OpenCV, {name}", find)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--interval", type=int, default=10, help="frames from one to the next")
    options = parser.parse_args()
    video = os.path.join(options.folder, "vtest.avi")
    truth = os.path.join(options.folder, "vtest_groundtruth_mot.txt")
    for path in (video, truth):
        if not os.path.exists(path):
            print(f"SKIP: hog: no {path}")
            return 77
    truth = read_truth(truth)
    hog.Gst.init(None)
    classifier = hog.people_detector()
    dense = hog.cells_between(SMALLEST, LARGEST)
    fine = hog.cells_between(SMALLEST, LARGEST, 1.05)
    methods = [
        ours("sizes 1.1 apart (its default)", classifier, dense),
        ours("the same, `PLAIN`", classifier, dense, hog.PLAIN),
        ours("sizes 1.05 apart", classifier, fine),
        ours("cells of 5, 6, ... 16 pixels", classifier, range(SMALLEST, LARGEST + 1)),
        opencv("sizes 1.1 apart, gamma, colours", classifier, True),
        opencv("no gamma, colours", classifier, False),
        opencv("gamma, gray", classifier, True, gray=True),
        opencv("no gamma, gray", classifier, False, gray=True),
        opencv("sizes 1.05 apart, gamma, colours (its default)", classifier, True, ratio=1.05),
    ]
    for frame in hog.frames(video, options.interval):
        boxes = truth.get(frame.number, numpy.empty((0, 4)))
        for method in methods:
            method.look(frame, boxes)
        done = 0 if frame.done is None else frame.done
        print(f"\rframe {frame.number} ({100 * done:.0f} %)", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print(f"{methods[0].frames} frames with {methods[0].people} people\n")
    print("| method | AP | best F1 | precision | recall | threshold | seconds |")
    print("|---|---|---|---|---|---|---|")
    for method in methods:
        print(method.row())
    return 0


if __name__ == "__main__":
    sys.exit(main())
