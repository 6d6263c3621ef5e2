#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures how well trackers follow targets whose true boxes are known, and how fast, and plots it.

    accuracy.py [--backend cpu|cuda] [--settings PROPERTIES]... [--counted PROPERTIES]...
                [--opencv NAME,...] [--starts N] [--restart]
                [--plot FILE.png] [--check] [--at-least AUC] [FOLDER]

FOLDER ($INTHIST_TEST_DATA, or else ../shared/data beside the project) has sequences. A sequence is
NAME.mp4 beside NAME_groundtruth.txt, or a folder with groundtruth_rect.txt and numbered pictures
(also in img/), as those of OTB (Wu, Lim and Yang 2013). A line of truth is "x y width height" of a
frame; the first pixel is 1. The tracker gets the first box.

--settings are properties of integralhisttrack; each adds rows to every sequence. With
method=fragments among them --counted are properties of cudaintegralhist ("bins=16", of gray frames;
frames keep their colours where it is given), and each adds rows, too. --opencv adds OpenCV's
trackers over the same frames: csrt, kcf, mil and mosse with their defaults, and kcf-raw, which has
no threshold of detection. All frames are decoded before.

--starts follows from N boxes: the first true box, eight that are shifted by a tenth of it, and four
of 0.8 to 1.2 times its size, as OTB's spatial robustness has them (N up to 13). --restart starts
again five frames after each failure, as VOT does; a failure is an overlap of 0.

--check fails if a sequence falls behind the published result of the fragments tracker (OTB-2013,
FRAG) with the first of the settings. --at-least fails if the mean AUC of the first of them is
less. --plot needs matplotlib.

    overlap    mean of intersection over union
    error      mean distance of the centres, pixels
    precision  share of frames with an error up to 20
    AUC        mean share of frames with an overlap above 0, 0.05, ... 1
    lost       share of frames in which the tracker said so; they count with the target's last place
    fps        frames a second, without decoding
    ms         processor time of all threads for a frame, milliseconds
    accuracy   with --restart: overlap, without failures and the ten frames after a restart
    robust     with --restart: the chance of 100 frames without a failure, exp(-100 failures/frames)
    calibration error  how far confidence is from the share of frames with an overlap of 0.5, in ten
               even parts of the confidence; mean over all frames but the first
"""
import os
import statistics

from curves import plot
from scores import (Result, Run, calibration_error, follow_restarting, mean, parser_of,
                    start_boxes)
from sequences import Clip, Gst, find_sequences, run
from single_target import OPENCV, Cost, IntegralHistTrack, OpenCV

PUBLISHED = {
    "woman": 0.147,
    "crossing": 0.311,
    "football1": 0.364,
    "faceocc1": 0.816,
    "jumping": 0.672,
    "david3": 0.670,
    "mhyang": 0.651,
    "faceocc2": 0.648,
    "basketball": 0.619,
    "sylvester": 0.584,
    "couple": 0.569,
    "walking": 0.537,
    "dudek": 0.535,
    "subway": 0.462,
    "carscale": 0.425,
    "car4": 0.188,
    "david": 0.169,
    "tiger1": 0.136,
    "tiger2": 0.118,
    "skiing": 0.033,
}


def measure(name, tracker, clip, truth, starts, restart):
    """The result of a tracker in a sequence, from all starts"""
    runs, cost = [], Cost()
    for box in start_boxes(truth[0], clip.size, starts):
        def follow(first, box):
            return tracker.follow(clip, first, box, cost)

        runs.append(follow_restarting(follow, truth, box, clip.size) if restart
                    else Run(list(follow(0, box))))
    return Result(name, tracker.name, runs, truth, cost)


def print_row(result, restart):
    """A line for a sequence and a tracker"""
    published = PUBLISHED.get(result.name.lower())
    more = (f" {result.accuracy:>8.3f} {result.failures:>8.2f} {result.robustness:>6.3f}"
            if restart else "")
    print(f"{result.name:<15} {result.tracker:<31} {result.frames:>6} {result.overlap:>7.3f} "
          f"{published or '-':>9} {result.error:>6.1f} {result.precision[20]:>9.3f} "
          f"{result.auc:>5.3f} {result.lost:>4.2f} {result.rate:>7.1f} "
          f"{result.milliseconds:>6.2f}{more}", flush=True)


def table(title, head, rows):
    """A table of Markdown"""
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def by_sequence(title, rows, value):
    """Sequences by trackers, with the means; value(result) is None if there is no value"""
    names = [result.name for result in next(iter(rows.values()))]
    table(title, ["sequence", *rows],
          [[name, *(f"{value(results[i]):.3f}" for results in rows.values())]
           for i, name in enumerate(names)]
          + [["mean", *(f"{mean(map(value, results)):.3f}" for results in rows.values())]])


def print_tables(rows, restart):
    """AUC and speed of {tracker: its results}"""
    by_sequence("AUC", rows, lambda result: result.auc)
    csrt = {result.name: result for result in rows.get("csrt", [])}
    if csrt:
        by_sequence("Frames a second, over those of CSRT", rows,
                    lambda result: result.rate / csrt[result.name].rate)
        by_sequence("Processor time of a frame, over that of CSRT", rows,
                    lambda result: result.milliseconds / csrt[result.name].milliseconds)
    head = ["mean of sequences", "AUC", "precision", "overlap", "lost", "fps", "ms"]
    if csrt:
        head += ["fps over CSRT's, median", "least", "ms over CSRT's, median", "most"]
    if restart:
        head += ["accuracy", "failures", "robust"]
    lines = []
    for name, results in rows.items():
        line = [name, *(f"{mean(value(r) for r in results):.{digits}f}" for value, digits in (
            (lambda r: r.auc, 3), (lambda r: r.precision[20], 3), (lambda r: r.overlap, 3),
            (lambda r: r.lost, 2), (lambda r: r.rate, 1), (lambda r: r.milliseconds, 2)))]
        if csrt:
            rates = [r.rate / csrt[r.name].rate for r in results]
            times = [r.milliseconds / csrt[r.name].milliseconds for r in results]
            line += [f"{statistics.median(rates):.2f}", f"{min(rates):.2f}",
                     f"{statistics.median(times):.2f}", f"{max(times):.2f}"]
        if restart:
            line += [f"{mean(r.accuracy for r in results):.3f}",
                     f"{mean(r.failures for r in results):.2f}",
                     f"{mean(r.robustness for r in results):.3f}"]
        lines.append(line)
    table("Means", head, lines)
    print()


def read_options():
    """The command line"""
    parser = parser_of(__doc__)
    parser.add_argument("--backend", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--settings", action="append", metavar="PROPERTIES")
    parser.add_argument("--counted", action="append", metavar="PROPERTIES")
    parser.add_argument("--opencv", default="", metavar="NAME,...")
    parser.add_argument("--starts", type=int, choices=range(1, 14), default=1, metavar="N")
    parser.add_argument("--restart", action="store_true")
    parser.add_argument("--plot", metavar="FILE.png")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--at-least", type=float, default=0, metavar="AUC")
    options = parser.parse_args()
    options.opencv = options.opencv.split(",") if options.opencv else []
    for name in options.opencv:
        if name not in OPENCV:
            parser.error(f"--opencv: {name} is not one of {', '.join(OPENCV)}")
    return options


def main():
    """Measures and prints; the exit status"""
    options = read_options()
    sequences = find_sequences(options.folder) if os.path.isdir(options.folder) else {}
    if not sequences:
        print(f"SKIP: accuracy: no sequences in {options.folder}")
        return 77
    Gst.init(None)
    trackers = [IntegralHistTrack(options.backend, settings, counted)
                for settings in options.settings or [""] for counted in options.counted or [""]]
    trackers += [OpenCV(name) for name in options.opencv]
    rows, behind = {tracker.name: [] for tracker in trackers}, []
    more = f" {'accuracy':>8} {'failures':>8} {'robust':>6}" if options.restart else ""
    print(f"{'sequence':<15} {'tracker':<31} {'frames':>6} {'overlap':>7} {'published':>9} "
          f"{'error':>6} {'precision':>9} {'AUC':>5} {'lost':>4} {'fps':>7} {'ms':>6}{more}")
    for name, (source, truth) in sequences.items():
        clip = Clip(source)
        truth = truth[:len(clip)]
        for tracker in trackers:
            result = measure(name, tracker, clip, truth, options.starts, options.restart)
            print_row(result, options.restart)
            published = PUBLISHED.get(name.lower())
            if published and result.overlap < published and tracker is trackers[0]:
                behind.append(name)
            rows[tracker.name].append(result)
    if len(trackers) > 1 or options.restart:
        print_tables(rows, options.restart)
    if options.plot:
        plot(rows, options.plot)
        print(f"plot: {os.path.abspath(options.plot)}")
    verdict = "none is behind what is published"
    if behind:
        verdict = f"behind what is published: {', '.join(behind)}"
    auc = mean(result.auc for result in rows[trackers[0].name])
    print(f"accuracy: {sum(map(len, rows.values()))} measured; with {trackers[0].name} mean AUC "
          f"{auc:.3f}, and {verdict}")
    print(f"accuracy: the calibration error of {trackers[0].name} is "
          f"{calibration_error(rows[trackers[0].name]):.3f}")
    if auc < options.at_least:
        print(f"accuracy: the mean AUC must be at least {options.at_least}")
    return 1 if (options.check and behind) or auc < options.at_least else 0


if __name__ == "__main__":
    run(main)
