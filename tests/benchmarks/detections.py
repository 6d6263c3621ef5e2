#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures how integralhisttrack follows targets behind a detector that looks at every n-th frame.

    detections.py [--real] [--every N,...] [--misses SHARE] [--jitter SHARE] [--duplicates SHARE]
                  [--seed N] [--frames N] [--sequence NAME]... [--settings PROPERTIES]... [--peers]
                  [--sure] [--noise PIXELS] [--same IDS,...] [--csv FILE] [--plot FILE.png]
                  [--check] [FOLDER]
    detections.py --from FILE.csv [--plot FILE.png]

The detector is simulated, or with --real it is files of boxes. FOLDER ($INTHIST_TEST_DATA, or else
../shared/data beside the project) has for a simulated one NAME.mp4 or NAME.avi beside its true
boxes: NAME_groundtruth.txt, "x y width height" of one target for each frame, or
NAME_groundtruth_mot.txt of many, as MOTChallenge's gt.txt. The first pixel is 1. The detector has
the true boxes of every N-th frame, also those that MOTChallenge does not score. It misses some of
them; it moves and sizes each by a normal deviate, a share of the box's own sides; and it gives some
of them twice.

For --real, a sequence is a folder below FOLDER in the form of MOTChallenge: gt.txt, one or more
det*.txt, and optionally seqinfo.ini with the frame rate. Its video is a file in that folder, or a
video of FOLDER whose NAME_groundtruth_mot.txt is the same as gt.txt. Confidences that are no
probabilities are scaled to 0 to 1; with --sure every detection counts as the surest. With --noise
each number of each box is moved by a normal deviate of this many pixels, which --seed chooses: that
shows which differences are chance.

A truth may give somebody who leaves and comes back a new id. With --same 1+19,2+13 the truth's ids
1 and 19 are one person, and 2 and 13 another. Name the video by --sequence then.

--settings are properties of integralhisttrack. --peers adds the trackers of PyPI's trackers: SORT,
ByteTrack, OC-SORT, C-BIoU and BoT-SORT without its network. They are given the frames with boxes
only, and their boxes stand still in between. --csv writes the table; --plot draws HOTA and IDF1
over N; --from prints the best of a table that was written before, and draws it. --check fails if
the first settings do less than docs/tracking.md promises.

    overlap    mean overlap of the best track with each true box, 0 if there is none
    ids        tracks of the whole sequence, and true targets
    HOTA, DetA, AssA        by TrackEval, mean over overlaps of 0.05 to 0.95
    MOTA, IDF1, switches    by motmetrics, at an overlap of 0.5

It needs these packages of PyPI, in a virtual environment that sees the system's packages:

    /usr/bin/python3 -m venv --system-site-packages VENV
    VENV/bin/pip install motmetrics trackeval trackers matplotlib
"""
import configparser
import csv
import filecmp
import glob
import math
import os
import random
import sys

from sequences import Gst, can_decode, read_truth, run

try:
    import mot
    from multi_target import PEERS, IntegralHistTrack, Peer, load_clip
except ImportError as error:
    print(f"SKIP: detections: {error}: it needs motmetrics and trackeval of PyPI")
    sys.exit(77)
from curves import plot_detections
from scores import is_there, mean, overlap, parser_of

VIDEOS = (".mp4", ".avi", ".webm")
# Least scores behind a simulated detector of every tenth frame: the overlap of one target, and
# IDF1 of many, first with true boxes, then with some missing, moved or doubled.
LEAST_OVERLAP, LEAST_IDF1, LEAST_IDF1_OF_POOR = 0.80, 0.85, 0.75
# By how much the scores of every frame may be below those of fewer frames, by chance
LEEWAY = 0.01
SCORES = ("overlap", "HOTA", "DetA", "AssA", "MOTA", "IDF1")
FIELDS = ("sequence", "detector", "every", "tracker", "frames", "tracks", "targets", *SCORES,
          "switches")


class Sequence:
    """A video with the true boxes of each frame, and what its detectors find there

    detectors is {name: what has [(box, confidence)] of each frame, given the truth}
    """

    def __init__(self, name, video, truth, rate, detectors):
        self.name, self.video, self.truth, self.rate = name, video, truth, rate
        self.detectors = detectors


def videos_of(folder):
    """The videos of a folder that can be decoded"""
    paths = (os.path.join(folder, name) for name in sorted(os.listdir(folder)))
    return [path for path in paths if path.endswith(VIDEOS) and can_decode(path)]


def simulated_sequences(folder, options):
    """Those whose truth lies beside the video"""
    for video in videos_of(folder):
        stem = os.path.splitext(video)[0]
        if os.path.exists(stem + "_groundtruth_mot.txt"):
            truth = mot.read_truth(stem + "_groundtruth_mot.txt", with_ignored=True)
        elif os.path.exists(stem + "_groundtruth.txt"):
            truth = [{1: box} if is_there(box) else {}
                     for box in read_truth(stem + "_groundtruth.txt")]
        else:
            continue
        yield Sequence(os.path.basename(stem), video, truth, 25,
                       {"simulated": lambda truth: simulate(truth, options)})


def moved(frames, options):
    """The boxes of each frame, moved at random"""
    chance = random.Random(options.seed)
    return [[(tuple(side + chance.gauss(0, options.noise) for side in box), confidence)
             for box, confidence in found] for found in frames]


def real_sequences(folder, options):
    """Those of MOTChallenge below a folder"""
    for path in sorted(glob.glob("**/gt.txt", root_dir=folder, recursive=True)):
        path = os.path.join(folder, path)
        below = os.path.dirname(path)
        detectors = {
            os.path.basename(boxes): lambda truth, boxes=boxes: moved(
                mot.read_detections(boxes, len(truth), options.sure), options)
            for boxes in sorted(glob.glob(os.path.join(glob.escape(below), "det*.txt")))}
        same = (video for video in videos_of(folder)
                if is_same_file(os.path.splitext(video)[0] + "_groundtruth_mot.txt", path))
        video = next(iter([*videos_of(below), *same]), None)
        name = os.path.basename(below)
        if not detectors or not video:
            print(f"SKIP: {name}: no " + ("video" if detectors else "det*.txt"))
            continue
        info = configparser.ConfigParser()
        info.read(os.path.join(below, "seqinfo.ini"))
        rate = info.getfloat("Sequence", "frameRate", fallback=25)
        yield Sequence(name, video, mot.read_truth(path), rate, detectors)


def is_same_file(path, other):
    """True if both have the same bytes"""
    return os.path.exists(path) and filecmp.cmp(path, other, shallow=False)


def simulate(truth, options):
    """The boxes that a detector without confidences finds in each frame"""
    every, = options.every
    chance = random.Random(options.seed)
    frames = []
    for number, targets in enumerate(truth):
        boxes = []
        for target in sorted(targets):
            x, y, width, height = targets[target]
            if number % every != 0 or chance.random() < options.misses:
                continue
            for _ in range(2 if chance.random() < options.duplicates else 1):
                moved = [chance.gauss(0, options.jitter) for _ in range(4)]
                sides = width * math.exp(moved[2]), height * math.exp(moved[3])
                boxes.append(((x + width / 2 + moved[0] * width - sides[0] / 2,
                               y + height / 2 + moved[1] * height - sides[1] / 2, *sides), None))
        frames.append(boxes)
    return frames


def measure(sequence, clip, detector, every, tracker):
    """The row of a tracker in the table"""
    truth = sequence.truth
    detections = [found if i % every == 0 else []
                  for i, found in enumerate(sequence.detectors[detector](truth))]
    tracks = list(tracker.follow(clip, detections, every, sequence.rate))
    best = [max((overlap(target, box) for box in found.values()), default=0)
            for targets, found in zip(truth, tracks) for target in targets.values()]
    mota, idf1, switches = mot.identity_scores(truth, tracks)
    scores = (mean(best), *mot.hota(truth, tracks), mota, idf1)
    ids = [len({number for frame in frames for number in frame}) for frames in (tracks, truth)]
    return dict(zip(FIELDS, (sequence.name, detector, every, tracker.name, len(truth), *ids,
                             *(round(score, 4) for score in scores), switches)))


def print_row(row):
    """A line of a table of Markdown"""
    print(f"| {row['sequence']} | {row['detector']} | {row['every']} | {row['tracker']} | "
          f"{row['tracks']} of {row['targets']} | "
          + " | ".join(f"{row[name]:.3f}" for name in SCORES) + f" | {row['switches']} |",
          flush=True)


def simulated_problems(rows, poor):
    """The sequences whose scores are less than promised"""
    for row in rows:
        if row["targets"] > 1:
            behind = row["IDF1"] < (LEAST_IDF1_OF_POOR if poor else LEAST_IDF1)
        else:
            behind = row["tracks"] != 1 or row["overlap"] < (0 if poor else LEAST_OVERLAP)
        if behind:
            yield row["sequence"]


def real_problems(rows, ours):
    """Cases in which a peer is ahead, or more detections make a score worse"""
    cases = {}
    for row in rows:
        case = cases.setdefault((row["sequence"], row["detector"]), {})
        case.setdefault(row["every"], {})[row["tracker"]] = row
    for (sequence, detector), case in cases.items():
        for score in ("HOTA", "IDF1"):
            most = {every: trackers[ours][score] for every, trackers in case.items()}
            for every, trackers in case.items():
                name = max(trackers, key=lambda name: trackers[name][score])
                if trackers[name][score] > most[every]:
                    yield (f"{sequence}, {detector}, every {every}: {name} has {score} "
                           f"{trackers[name][score]:.3f}, not {most[every]:.3f}")
                if most[min(most)] < most[every] - LEEWAY:
                    yield (f"{sequence}, {detector}: {score} of every {min(most)} is "
                           f"{most[min(most)]:.3f}, of every {every} {most[every]:.3f}")


def read_table(path):
    """The rows that --csv wrote"""
    with open(path, newline="", encoding="utf-8") as file:
        return [{name: text if name in ("sequence", "detector", "tracker") else
                 float(text) if name in SCORES else int(text) for name, text in row.items()}
                for row in csv.DictReader(file)]


def write_table(rows, path):
    """Writes the rows, for --from"""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def print_summary(rows):
    """A table of HOTA and IDF1 in per cent: of the first tracker, and the best of the others"""
    ours, numbers = rows[0]["tracker"], sorted({row["every"] for row in rows})
    if {row["tracker"] for row in rows} == {ours}:
        return
    print("\n| HOTA, IDF1 with boxes of every n-th frame | | "
          + " | ".join(map(str, numbers)) + f" |\n|{'---|' * (len(numbers) + 2)}")
    for sequence, detector in dict.fromkeys((row["sequence"], row["detector"]) for row in rows):
        for name, chosen in ((ours, lambda tracker: tracker == ours),
                             ("the best other", lambda tracker: tracker != ours)):
            cells = []
            for every in numbers:
                best = [max((row[score], row["tracker"]) for row in rows
                            if (row["sequence"], row["detector"]) == (sequence, detector)
                            and row["every"] == every and chosen(row["tracker"]))
                        for score in ("HOTA", "IDF1")]
                names = "" if name == ours else " " + " and ".join(
                    dict.fromkeys(tracker for _, tracker in best))
                cells.append(", ".join(f"{100 * score:.1f}" for score, _ in best) + names)
            print(f"| {sequence}, {detector} | {name} | {' | '.join(cells)} |")
    print()


def read_options():
    """The command line"""
    parser = parser_of(__doc__)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--sequence", action="append", metavar="NAME")
    parser.add_argument("--backend", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--every", metavar="N,...", type=lambda text: [*map(int, text.split(","))])
    for share in ("misses", "jitter", "duplicates"):
        parser.add_argument(f"--{share}", type=float, default=0, metavar="SHARE")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--frames", type=int, default=10**9, metavar="N")
    parser.add_argument("--settings", action="append", metavar="PROPERTIES")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--sure", action="store_true")
    parser.add_argument("--noise", type=float, default=0, metavar="PIXELS")
    parser.add_argument("--same", default="", metavar="IDS,...")
    parser.add_argument("--csv", metavar="FILE")
    parser.add_argument("--plot", metavar="FILE.png")
    parser.add_argument("--from", dest="table", metavar="FILE.csv")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    options.every = options.every or ([1, 3, 5, 10] if options.real else [10])
    if options.noise and not options.real:
        parser.error("--noise: it moves the boxes of --real; a simulated detector has --jitter")
    if options.same and len(options.sequence or []) != 1:
        parser.error("--same: name the one video whose ids they are by --sequence")
    if min(options.every) < 1:
        parser.error("--every: give 1 or more")
    return options


def peers():
    """The installed trackers of PyPI"""
    found = []
    for name in PEERS:
        try:
            found.append(Peer(name))
        except ImportError as error:
            print(f"SKIP: {name}: {error}")
    return found


def join_people(truth, same):
    """The truth, in which ids of the same person ("1+19,2+13") are the first of them"""
    first_of = {int(i): int(group.split("+")[0]) for group in same.split(",") if group
                for i in group.split("+")}
    return [{first_of.get(i, i): box for i, box in targets.items()} for targets in truth]


def measure_all(sequences, options):
    """All rows; printed as they come"""
    trackers = [IntegralHistTrack(settings, options.backend) for settings in options.settings]
    trackers += peers() if options.peers else []
    rows = []
    print("| sequence | detector | every | tracker | ids | " + " | ".join(SCORES)
          + f" | switches |\n|{'---|' * (len(SCORES) + 6)}")
    for sequence in sequences:
        clip = load_clip(sequence.video)
        sequence.truth = join_people(sequence.truth[:min(options.frames, len(clip))], options.same)
        for detector in sequence.detectors:
            for every in options.every:
                for tracker in trackers:
                    rows.append(measure(sequence, clip, detector, every, tracker))
                    print_row(rows[-1])
    return rows


def main():
    """Measures, writes and draws; the exit status"""
    options = read_options()
    if options.table:
        rows = read_table(options.table)
        print_summary(rows)
        if options.plot:
            plot_detections(rows, options.plot)
        return 0
    Gst.init(None)
    sequences = []
    if os.path.isdir(options.folder):
        sequences = [*(real_sequences(options.folder, options) if options.real else
                       simulated_sequences(options.folder, options))]
    sequences = [s for s in sequences if not options.sequence or s.name in options.sequence]
    if not sequences:
        print(f"SKIP: detections: no sequences in {options.folder}")
        return 77
    options.settings = options.settings or (
        [""] if options.real else ["method=correlation", "method=fragments"])
    if not options.real:
        print(f"a detector of every {options.every[0]}th frame that misses {options.misses:.0%}, "
              f"moves {options.jitter:.0%}, doubles {options.duplicates:.0%}; seed {options.seed}")
    rows = measure_all(sequences, options)
    print_summary(rows)
    if options.csv:
        write_table(rows, options.csv)
    if options.plot:
        plot_detections(rows, options.plot)
    first = rows[0]["tracker"]
    poor = max(options.misses, options.jitter, options.duplicates) > 0
    problems = [*(real_problems(rows, first) if options.real else
                  simulated_problems([row for row in rows if row["tracker"] == first], poor))]
    print(f"detections: with {first} "
          + ("; ".join(["less than is promised", *problems]) if problems else "all is as promised"))
    return 1 if options.check and problems else 0


if __name__ == "__main__":
    run(main)
