#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures how well integralhisttrack follows targets whose true boxes are known, and plots it.

    accuracy.py [--backend cpu|cuda] [--settings PROPERTIES]... [--counted PROPERTIES]...
                [--plot FILE.svg] [--check] [--at-least AUC] [FOLDER]

FOLDER ($INTHIST_TEST_DATA, or else ../shared/data beside the project) has sequences. A sequence is
NAME.mp4 beside NAME_groundtruth.txt, or a folder with groundtruth_rect.txt and numbered pictures
(also in img/), as those of OTB (Wu, Lim and Yang 2013). A line of truth is "x y width height" of a
frame; the first pixel is 1. The tracker gets the first box.

--settings are properties of integralhisttrack, and --counted those of cudaintegralhist ("bins=16",
of gray frames; frames keep their colours where it is given); each of them adds rows to every
sequence. With method=correlation in --settings the frames have all that this method wants, whatever
--counted says.
--check fails where a sequence falls behind the published result of this tracker (OTB-2013, FRAG)
with the first of the settings. --at-least fails where the mean AUC of the first of them is less.

    overlap    mean of intersection over union
    error      mean distance of the centres, pixels
    precision  share of frames with an error up to 20
    AUC        mean share of frames with an overlap above 0, 0.05, ... 1
    lost       share of frames in which the tracker said so; they count with the target's last place
    calibration error  how far confidence is from the share of frames with an overlap of 0.5, in ten
               even parts of the confidence; mean over all frames but the first
"""
import argparse
import math
import os
import re
import sys

try:
    import gi

    gi.require_version("Gst", "1.0")
    from gi.repository import GLib, Gst
except (ImportError, ValueError) as error:
    sys.exit(f"accuracy: {error}: it wants Python's bindings of GStreamer (python3-gst-1.0), "
             "with the interpreter that has them (/usr/bin/python3)")

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
CORRELATION = ("cudaintegralhist feature=signed-gradient bins=18 weight=gradient soft=true ! "
               "cudaintegralhist feature=hsv ! cudaintegralimage")
OVERLAPS = [i / 20 for i in range(21)]
ERRORS = list(range(51))


def read_truth(path):
    with open(path, encoding="ascii") as file:
        lines = [re.split(r"[,\s]+", line.strip()) for line in file if line.strip()]
    boxes = [[float(number) for number in line] for line in lines]
    return [(x - 1, y - 1, width, height) for x, y, width, height in boxes]


def find_sequences(folder):
    """{name: (launch line of a source, boxes)}"""
    sequences = {}
    if os.path.exists(os.path.join(folder, "groundtruth_rect.txt")):  # it is one itself
        parent, name = os.path.split(os.path.abspath(folder))
        beside = find_sequences(parent)
        return {name: beside[name]} if name in beside else {}
    for entry in sorted(os.listdir(folder)):
        path = os.path.join(folder, entry)
        stem, extension = os.path.splitext(path)
        truth = stem + "_groundtruth.txt"
        if extension == ".mp4" and os.path.exists(truth):
            source = f'filesrc location="{path}" ! decodebin'
            sequences[os.path.basename(stem)] = (source, read_truth(truth))
        truth = os.path.join(path, "groundtruth_rect.txt")
        if os.path.exists(truth):
            pictures = os.path.join(path, "img")
            if not os.path.isdir(pictures):
                pictures = path
            names = sorted(name for name in os.listdir(pictures) if re.fullmatch(r"\d+\.jpg", name))
            if names:
                digits, first = len(names[0]) - 4, int(names[0][:-4])
                source = (f'multifilesrc location="{pictures}/%0{digits}d.jpg" start-index={first} '
                          'caps=image/jpeg,framerate=25/1 ! jpegdec')
                sequences[entry] = (source, read_truth(truth))
    return sequences


def follow(source, box, backend, settings, counted):
    """For each frame a box, the confidence, and whether the target is lost."""
    targets = ",".join(str(round(number)) for number in box)
    if "method=correlation" in settings:
        elements = CORRELATION
    elif counted:
        elements = f"cudaintegralhist {counted}"
    else:
        elements = "video/x-raw,format=GRAY8 ! cudaintegralhist bins=16"
    count = re.sub(r"\b(cudaintegral\w+)", rf"\1 backend={backend}", elements)
    pipeline = Gst.parse_launch(
        f"{source} ! videoconvert ! {count} ! "
        f'integralhisttrack targets="{targets}" {settings} ! fakesink sync=false')
    bus = pipeline.get_bus()
    frames = []
    try:
        pipeline.set_state(Gst.State.PLAYING)
        read_tracks(bus, frames)
    finally:
        pipeline.set_state(Gst.State.NULL)
    return frames


def read_tracks(bus, frames):
    field = re.compile(r"\b(x|y|width|height|confidence|lost)=\((?:int|double|boolean)\)([^,;]+)")
    kinds = Gst.MessageType.ELEMENT | Gst.MessageType.EOS | Gst.MessageType.ERROR
    while True:
        message = bus.timed_pop_filtered(60 * Gst.SECOND, kinds)
        if message is None:
            raise RuntimeError("no frame for a minute")
        if message.type == Gst.MessageType.ERROR:
            raise RuntimeError(message.parse_error().gerror.message)
        if message.type == Gst.MessageType.EOS:
            break
        structure = message.get_structure()
        if structure.get_name() == "integral-histogram-track":
            track = dict(field.findall(structure.to_string().replace("\\", "")))
            box = tuple(int(track[name]) for name in ("x", "y", "width", "height"))
            frames.append((box, float(track["confidence"]), track["lost"] == "true"))


def overlap(a, b):
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = width * height if width > 0 and height > 0 else 0
    return shared / (a[2] * a[3] + b[2] * b[3] - shared)


def error(a, b):
    return math.hypot(a[0] + a[2] / 2 - b[0] - b[2] / 2, a[1] + a[3] / 2 - b[1] - b[3] / 2)


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def calibration_error(results):
    judged = [(min(int(10 * c), 9), c, o >= 0.5) for r in results for c, o in r.judged]
    parts = [[(c, right) for part, c, right in judged if part == i] for i in range(10)]
    return sum(abs(sum(c - right for c, right in part)) for part in parts) / max(1, len(judged))


class Result:
    def __init__(self, name, settings, counted, frames, truth):
        pairs = [(frame, box) for frame, box in zip(frames, truth) if box[2] > 0 and box[3] > 0]
        overlaps = [overlap(frame[0], box) for frame, box in pairs]
        errors = [error(frame[0], box) for frame, box in pairs]
        self.name, self.frames = name, len(pairs)
        self.settings = " ".join(filter(None, (settings or "defaults", counted)))
        self.overlap, self.error = mean(overlaps), mean(errors)
        self.success = [mean(o > limit for o in overlaps) for limit in OVERLAPS]
        self.precision = [mean(e <= limit for e in errors) for limit in ERRORS]
        self.lost = mean(frame[2] for frame, _ in pairs)
        self.judged = [(frame[1], o) for (frame, _), o in zip(pairs, overlaps)][1:]


def plot(results, path):
    """Draws success and precision of all results as an SVG."""
    colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
    dashes = ["", "6 3", "2 3", "8 3 2 3"]
    names = list(dict.fromkeys(r.name for r in results))
    rows = list(dict.fromkeys(r.settings for r in results))

    def stroke(result):
        """The colour stands for the sequence, the dashes for the settings."""
        colour = colours[names.index(result.name) % len(colours)]
        dash = dashes[rows.index(result.settings) % len(dashes)]
        return f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'

    width, height, left, top = 420, 300, 60, 40
    bottom = top + height
    total = bottom + 60 + 20 * len(results)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * (left + width) + 40}" '
           f'height="{total}" font-family="sans-serif" font-size="13">',
           '<rect width="100%" height="100%" fill="white"/>']
    curves = [("Success", "overlap above", 1, "success"),
              ("Precision", "centre error up to, pixels", 50, "precision")]
    for column, (title, xlabel, most, attribute) in enumerate(curves):
        x0 = left + column * (left + width)
        out.append(f'<text x="{x0 + width / 2}" y="{top - 14}" text-anchor="middle" '
                   f'font-size="15">{title}: share of frames</text>')
        out.append(f'<text x="{x0 + width / 2}" y="{bottom + 40}" '
                   f'text-anchor="middle">{xlabel}</text>')
        for i in range(6):
            x, y = x0 + width * i / 5, top + height * i / 5
            out.append(f'<path d="M{x} {top}V{bottom}M{x0} {y}H{x0 + width}" stroke="#dddddd"/>')
            out.append(f'<text x="{x}" y="{bottom + 18}" '
                       f'text-anchor="middle">{most * i / 5:g}</text>')
            out.append(f'<text x="{x0 - 8}" y="{y + 4}" text-anchor="end">{1 - i / 5:g}</text>')
        for result in results:
            values = getattr(result, attribute)
            points = " ".join(
                f"{x0 + width * i / (len(values) - 1):.1f},{top + height * (1 - v):.1f}"
                for i, v in enumerate(values))
            out.append(f'<polyline points="{points}" fill="none" {stroke(result)}/>')
    for i, result in enumerate(results):
        y = bottom + 66 + 20 * i
        out.append(f'<path d="M{left} {y - 4}h40" {stroke(result)}/>')
        out.append(f'<text x="{left + 50}" y="{y}">{result.name}, {result.settings}: '
                   f'AUC {mean(result.success):.3f}, '
                   f'{result.precision[20]:.3f} within 20 pixels</text>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out + ["</svg>"]) + "\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../shared/data")
    parser.add_argument("folder", nargs="?",
                        default=os.environ.get("INTHIST_TEST_DATA") or os.path.normpath(beside))
    parser.add_argument("--backend", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--settings", action="append", metavar="PROPERTIES")
    parser.add_argument("--counted", action="append", metavar="PROPERTIES")
    parser.add_argument("--plot", metavar="FILE.svg")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--at-least", type=float, default=0, metavar="AUC")
    options = parser.parse_args()
    sequences = find_sequences(options.folder) if os.path.isdir(options.folder) else {}
    if not sequences:
        print(f"SKIP: accuracy: no sequences in {options.folder}")
        return 77
    Gst.init(None)
    results, behind = [], []
    rows = [(settings, counted) for settings in options.settings or [""]
            for counted in options.counted or [""]]
    print(f"{'sequence':<12} {'settings':<28} {'frames':>6} {'overlap':>8} {'published':>9} "
          f"{'error':>7} {'precision':>9} {'AUC':>6} {'lost':>5}")
    for name, (source, truth) in sequences.items():
        for row in rows:
            frames = follow(source, truth[0], options.backend, *row)
            result = Result(name, *row, frames, truth)
            published = PUBLISHED.get(name.lower())
            print(f"{name:<12} {result.settings:<28} {result.frames:>6} {result.overlap:>8.3f} "
                  f"{published or '-':>9} {result.error:>7.1f} {result.precision[20]:>9.3f} "
                  f"{mean(result.success):>6.3f} {result.lost:>5.2f}", flush=True)
            if published and result.overlap < published and row == rows[0]:
                behind.append(name)
            results.append(result)
    if options.plot:
        plot(results, options.plot)
        print(f"plot: {os.path.abspath(options.plot)}")
    verdict = "none is behind what is published"
    if behind:
        verdict = f"behind what is published: {', '.join(behind)}"
    first = [r for r in results if r.settings == results[0].settings]
    auc = mean(mean(r.success) for r in first)
    print(f"accuracy: {len(results)} measured; with {results[0].settings} mean AUC {auc:.3f}, and "
          f"{verdict}")
    print(f"accuracy: the calibration error of these is {calibration_error(first):.3f}")
    if auc < options.at_least:
        print(f"accuracy: the mean AUC must be at least {options.at_least}")
    return 1 if (options.check and behind) or auc < options.at_least else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, GLib.Error) as error:
        sys.exit(f"accuracy: {error}")
