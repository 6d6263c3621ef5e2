#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures how integralhisttrack follows targets behind a detector that looks at every n-th frame.

    detections.py [--every N] [--misses SHARE] [--jitter SHARE] [--duplicates SHARE] [--seed N]
                  [--frames N] [--settings PROPERTIES]... [--sort] [--check] [FOLDER]

FOLDER ($INTHIST_TEST_DATA, or else ../shared/data beside the project) has NAME.mp4 or NAME.avi
beside its true boxes: NAME_groundtruth.txt, "x y width height" of one target for each frame, or
NAME_groundtruth_mot.txt, "frame,id,x,y,width,height,..." of many (MOTChallenge). The first pixel
is 1. The detector has the true boxes of every N-th frame. It misses some of them; it moves and
sizes each by a normal deviate, a share of the box's own sides; and it gives some of them twice.

--settings are properties of integralhisttrack; where none are given, method=correlation and
method=fragments. --sort adds rows of SORT (Bewley et al. 2016), a Kalman filter and the overlap
without pictures. --check fails where the first settings fall behind what docs/tracking.md promises
of a detector of every tenth frame.

    overlap    mean overlap of the best track with each true box, 0 where there is none
    ids        tracks of the whole sequence, and true targets
    MOTA, IDF1, switches    by motmetrics, at an overlap of 0.5

It wants py-motmetrics, in a virtual environment that sees the system's packages:

    /usr/bin/python3 -m venv --system-site-packages VENV
    VENV/bin/pip install motmetrics 'numpy<2'
"""
import argparse
import math
import os
import random
import re
import sys

try:
    import gi

    gi.require_versions({"Gst": "1.0", "GstApp": "1.0", "GstVideo": "1.0"})
    from gi.repository import GLib, Gst, GstApp, GstVideo
except (ImportError, ValueError) as error:
    sys.exit(f"detections: {error}: it wants Python's bindings of GStreamer (python3-gst-1.0), "
             "with the interpreter that has them (/usr/bin/python3)")
try:
    import motmetrics
    import numpy
    from scipy.optimize import linear_sum_assignment
except ImportError as error:
    print(f"SKIP: detections: {error}: it wants motmetrics of PyPI")
    sys.exit(77)
from scores import overlap
from sequences import can_decode

BEFORE = {
    "correlation": "cudatrackfeatures",
    "fragments": "cudaintegralhist bins=16",
}
# What holds with a detector of every tenth frame: of one target, of many.
LEAST_OVERLAP, LEAST_IDF1, LEAST_IDF1_OF_POOR = 0.80, 0.85, 0.70


def read_truth(path):
    """[{id: box}] of each frame"""
    frames = []
    with open(path, encoding="ascii") as file:
        lines = [line.strip() for line in file if line.strip()]
    if path.endswith("_mot.txt"):
        for line in lines:
            frame, target, x, y, width, height = (float(f) for f in line.split(",")[:6])
            while len(frames) < frame:
                frames.append({})
            frames[int(frame) - 1][int(target)] = (x - 1, y - 1, width, height)
    else:
        for line in lines:
            x, y, width, height = (float(f) for f in re.split(r"[,\s]+", line))
            frames.append({1: (x - 1, y - 1, width, height)} if width > 0 else {})
    return frames


def find_sequences(folder):
    """[(name, path of the video, truth)]"""
    found = []
    for entry in sorted(os.listdir(folder)):
        stem, extension = os.path.splitext(os.path.join(folder, entry))
        path = stem + extension
        if extension not in (".mp4", ".avi") or not can_decode(path):
            continue
        for truth in (stem + "_groundtruth_mot.txt", stem + "_groundtruth.txt"):
            if os.path.exists(truth):
                found.append((os.path.basename(stem), path, read_truth(truth)))
                break
    return found


def detect(truth, options):
    """[[box]] of each frame: what the detector finds; empty where it does not look"""
    chance = random.Random(options.seed)
    frames = []
    for number, targets in enumerate(truth):
        boxes = []
        for target in sorted(targets):
            x, y, width, height = targets[target]
            if number % options.every != 0 or chance.random() < options.misses:
                continue
            for _ in range(2 if chance.random() < options.duplicates else 1):
                moved = [chance.gauss(0, options.jitter) for _ in range(4)]
                sides = width * math.exp(moved[2]), height * math.exp(moved[3])
                boxes.append((x + width / 2 + moved[0] * width - sides[0] / 2,
                              y + height / 2 + moved[1] * height - sides[1] / 2, *sides))
        frames.append(boxes)
    return frames


def follow(path, detections, settings, backend):
    """[{id: box}] of each frame: tracks that are not lost"""
    method = "fragments" if "method=fragments" in settings else "correlation"
    count = re.sub(r"\b(cuda\w+)", rf"\1 backend={backend}", BEFORE[method])
    source = Gst.parse_launch(f'filesrc location="{path}" ! decodebin ! videoconvert ! '
                              "video/x-raw,format=I420 ! appsink name=out sync=false max-buffers=4")
    tracker = Gst.parse_launch("appsrc name=in format=time block=true max-bytes=4000000 ! "
                               f"{count} ! integralhisttrack {settings} ! fakesink sync=false")
    out, into, bus = source.get_by_name("out"), tracker.get_by_name("in"), tracker.get_bus()
    tracks, times = [], {}
    try:
        source.set_state(Gst.State.PLAYING)
        tracker.set_state(Gst.State.PLAYING)
        for number, boxes in enumerate(detections):
            sample = out.try_pull_sample(20 * Gst.SECOND)
            if sample is None:
                if not out.is_eos():
                    raise RuntimeError(f"{path}: frame {number} does not come")
                break  # there is truth of more frames than the video has
            buffer = sample.get_buffer().copy_deep()
            buffer.pts, buffer.duration = number * 40 * Gst.MSECOND, 40 * Gst.MSECOND
            times[buffer.pts] = number
            tracks.append({})
            if number == 0:
                into.set_property("caps", sample.get_caps())
            for x, y, width, height in boxes:
                left, top = max(0, round(x)), max(0, round(y))
                GstVideo.buffer_add_video_region_of_interest_meta(
                    buffer, "target", left, top, max(1, round(x + width) - left),
                    max(1, round(y + height) - top))
            if into.emit("push-buffer", buffer) != Gst.FlowReturn.OK:
                break
            read_tracks(bus, tracks, times, until_end=False)
        into.emit("end-of-stream")
        read_tracks(bus, tracks, times, until_end=True)
    finally:
        source.set_state(Gst.State.NULL)
        tracker.set_state(Gst.State.NULL)
    return tracks


def read_tracks(bus, tracks, times, until_end):
    kinds = Gst.MessageType.ELEMENT | Gst.MessageType.EOS | Gst.MessageType.ERROR
    while True:
        message = bus.timed_pop_filtered(120 * Gst.SECOND if until_end else 0, kinds)
        if message is None:
            if until_end:
                raise RuntimeError("no frame for two minutes")
            return
        if message.type == Gst.MessageType.ERROR:
            raise RuntimeError(message.parse_error().gerror.message)
        if message.type == Gst.MessageType.EOS:
            return
        structure = message.get_structure()
        if structure.get_name() != "integral-histogram-track":
            continue
        number = times[structure.get_uint64("timestamp").value]
        for track in structure.get_value("tracks"):
            if not track.get_value("lost"):
                tracks[number][track.get_value("id")] = tuple(
                    track.get_value(field) for field in ("x", "y", "width", "height"))


class KalmanBox:
    """A box with a constant velocity: its middle, its area, and its sides' ratio (SORT)."""
    STEP = numpy.eye(7) + numpy.eye(7, k=4)
    NOISE = numpy.diag([1, 1, 1, 1, 0.01, 0.01, 0.0001])
    MEASURED = numpy.eye(4, 7)
    ERROR = numpy.diag([1, 1, 10, 10])

    def __init__(self, number, box):
        self.number, self.misses = number, 0
        self.state = numpy.concatenate([self.measure(box), [0, 0, 0]])
        self.spread = numpy.diag([10, 10, 10, 10, 10000, 10000, 10000])

    @staticmethod
    def measure(box):
        x, y, width, height = box
        return numpy.array([x + width / 2, y + height / 2, width * height, width / height])

    def predict(self):
        if self.state[2] + self.state[6] <= 0:
            self.state[6] = 0
        self.state = self.STEP @ self.state
        self.spread = self.STEP @ self.spread @ self.STEP.T + self.NOISE

    def update(self, box):
        self.misses = 0
        scale = self.MEASURED @ self.spread @ self.MEASURED.T + self.ERROR
        gain = self.spread @ self.MEASURED.T @ numpy.linalg.inv(scale)
        self.state = self.state + gain @ (self.measure(box) - self.MEASURED @ self.state)
        self.spread = (numpy.eye(7) - gain @ self.MEASURED) @ self.spread

    def box(self):
        x, y, area, ratio = self.state[:4]
        width = math.sqrt(max(area * ratio, 1))
        height = max(area, 1) / width
        return (x - width / 2, y - height / 2, width, height)


def sort(detections, every, most_misses=1, least_overlap=0.3):
    """[{id: box}] of each frame, by the detections alone; it knows which frames were looked at"""
    known, following, frames = 0, [], []
    for number, boxes in enumerate(detections):
        for track in following:
            track.predict()
        if number % every == 0:
            cost = numpy.array([[-overlap(track.box(), box) for box in boxes]
                                for track in following]).reshape(len(following), len(boxes))
            pairs = [(t, d) for t, d in zip(*linear_sum_assignment(cost))
                     if cost[t, d] <= -least_overlap]
            for track in following:
                track.misses += 1
            for t, d in pairs:
                following[t].update(boxes[d])
            for d, box in enumerate(boxes):
                if d not in [pair[1] for pair in pairs]:
                    known += 1
                    following.append(KalmanBox(known, box))
            following = [track for track in following if track.misses < most_misses]
        frames.append({track.number: track.box() for track in following})
    return frames


def judge(truth, tracks):
    accumulator = motmetrics.MOTAccumulator(auto_id=True)
    overlaps, ids = [], set()
    for targets, found in zip(truth, tracks):
        ids.update(found)
        distances = numpy.full((len(targets), len(found)), numpy.nan)
        for t, target in enumerate(targets.values()):
            both = [overlap(target, box) for box in found.values()]
            overlaps.append(max(both, default=0))
            distances[t] = [1 - o if o >= 0.5 else numpy.nan for o in both]
        accumulator.update(list(targets), list(found), distances)
    names = ["mota", "idf1", "num_switches"]
    summary = motmetrics.metrics.create().compute(accumulator, metrics=names, name="all")
    mota, idf1, switches = (float(summary[name].iloc[0]) for name in names)
    return sum(overlaps) / len(overlaps), len(ids), mota, idf1, int(switches)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../shared/data")
    parser.add_argument("folder", nargs="?",
                        default=os.environ.get("INTHIST_TEST_DATA") or os.path.normpath(beside))
    parser.add_argument("--sequence", action="append", metavar="NAME")
    parser.add_argument("--backend", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--every", type=int, default=10)
    for share in ("misses", "jitter", "duplicates"):
        parser.add_argument(f"--{share}", type=float, default=0, metavar="SHARE")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--frames", type=int, default=10**9, metavar="N")
    parser.add_argument("--settings", action="append", metavar="PROPERTIES")
    parser.add_argument("--sort", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    sequences = find_sequences(options.folder) if os.path.isdir(options.folder) else []
    sequences = [s for s in sequences if not options.sequence or s[0] in options.sequence]
    if not sequences:
        print(f"SKIP: detections: no sequences in {options.folder}")
        return 77
    Gst.init(None)
    rows = options.settings or ["method=correlation", "method=fragments"]
    rows += ["SORT"] if options.sort else []
    poor, behind = options.misses > 0 or options.jitter > 0, []
    print(f"a detector of every {options.every}th frame that misses {options.misses:.0%}, moves "
          f"{options.jitter:.0%}, doubles {options.duplicates:.0%}; seed {options.seed}")
    print(f"{'sequence':<10} {'by':<34} {'frames':>6} {'overlap':>7} {'ids':>8} {'MOTA':>6} "
          f"{'IDF1':>6} {'switches':>8}")
    for name, path, truth in sequences:
        truth = truth[:options.frames]
        detections = detect(truth, options)
        for row in rows:
            tracks = (sort(detections, options.every) if row == "SORT" else
                      follow(path, detections, row, options.backend))
            mean, ids, mota, idf1, switches = judge(truth, tracks)
            true_ids = len({target for targets in truth for target in targets})
            print(f"{name:<10} {row:<34} {len(truth):>6} {mean:>7.3f} "
                  f"{f'{ids} of {true_ids}':>8} {mota:>6.3f} {idf1:>6.3f} {switches:>8}",
                  flush=True)
            if row != rows[0]:
                continue
            if (idf1 < (LEAST_IDF1_OF_POOR if poor else LEAST_IDF1) if true_ids > 1 else
                    ids != 1 or mean < (0 if poor else LEAST_OVERLAP)):
                behind.append(name)
    print(f"detections: with {rows[0]} "
          + (f"behind what is promised: {', '.join(behind)}" if behind else "all is as promised"))
    return 1 if options.check and behind else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, GLib.Error) as error:
        sys.exit(f"detections: {error}")
