#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures in how many frames the whole-frame search for a target's histogram finds the target.

    feature_search.py [--measure NICK] [--step PIXELS] [--settings PROPERTIES]... [FOLDER]

The model is the histogram of the true box in the first frame. In each later frame with a true box
the best window of the likelihood map is taken; the windows have the size of the first box and lie
in the frame, --step pixels apart. It is found if it overlaps the truth by half or more
(intersection over union). Nothing is tracked: neither the last place nor motion helps.

FOLDER ($INTHIST_TEST_DATA/tracking, or else ../shared/data/tracking beside the project) has
sequences as accuracy.py reads them. --settings are properties of cudaintegralhist; each --settings
is a column. A model without a pixel in any bin, such as the hue of gray video, finds nothing.
"possible" is the share of frames in which a window of this size can be a hit at all: targets change
their size.
"""
import os
import sys

from scores import mean, overlap, parser_of
from sequences import find_sequences, run

try:
    import gi

    gi.require_versions({"Gst": "1.0", "GstApp": "1.0", "GstIntegralHist": "1.0"})
    from gi.repository import Gst, GstApp, GstIntegralHist  # noqa: F401
except (ImportError, ValueError) as error:
    sys.exit(f"feature_search: {error}: use the build's bindings (meson devenv -C build), "
             "python3-gst-1.0, and the interpreter that has them (/usr/bin/python3)")

SETTINGS = [
    "feature=luma bins=32",
    "feature=hue bins=16",
    "feature=hue-saturation",
    "feature=hsv",
    "feature=gradient bins=9",
]


def histograms(source, settings):
    """The histogram of each frame"""
    pipeline = Gst.parse_launch(f"{source} ! videoconvert ! cudaintegralhist backend=cpu {settings}"
                                " ! appsink name=sink sync=false max-buffers=2")
    sink, bus = pipeline.get_by_name("sink"), pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
    try:
        while sample := sink.try_pull_sample(60 * Gst.SECOND):
            yield GstIntegralHist.buffer_get_integral_histogram_meta(
                sample.get_buffer()).histogram
        message = bus.pop_filtered(Gst.MessageType.ERROR)
        if message:
            raise RuntimeError(message.parse_error().gerror.message)
        if not sink.is_eos():
            raise RuntimeError("no frame came for 60 s")
    finally:
        pipeline.set_state(Gst.State.NULL)


def grid_of_frame(histogram, width, height, step):
    grid = GstIntegralHist.IntegralHistogramGrid()
    grid.window_width, grid.window_height = width, height
    grid.step_x = grid.step_y = step
    grid.columns = (histogram.get_width() - width) // step + 1
    grid.rows = (histogram.get_height() - height) // step + 1
    return grid


def is_hit(box, truth):
    return overlap(box, truth) >= 0.5


def search(source, truth, settings, measure, step):
    """For each later frame with a true box: whether the best window is a hit"""
    x, y, width, height = (round(number) for number in truth[0])
    hits, model = [], None
    for histogram, box in zip(histograms(source, settings), truth):
        if model is None:
            model = histogram.region(x, y, width, height)
            grid = grid_of_frame(histogram, width, height, step)
        elif box[2] > 0 and box[3] > 0:
            if not any(model):
                hits.append(False)
                continue
            _, best = histogram.likelihood_maps(grid, model, measure)
            found = (best.index % grid.columns * step, best.index // grid.columns * step)
            hits.append(is_hit((*found, width, height), box))
    if not hits:
        raise RuntimeError(f"{source}: no frames")
    return hits


def possible(truth):
    """Hits of windows with the true centre: the most that search() can find"""
    width, height = truth[0][2:]
    return [is_hit((x + (w - width) / 2, y + (h - height) / 2, width, height), (x, y, w, h))
            for x, y, w, h in truth[1:] if w > 0 and h > 0]


def main():
    parser = parser_of(__doc__, "tracking")
    parser.add_argument("--measure", default="bhattacharyya", metavar="NICK")
    parser.add_argument("--step", type=int, default=4, metavar="PIXELS")
    parser.add_argument("--settings", action="append", metavar="PROPERTIES")
    options = parser.parse_args()
    sequences = find_sequences(options.folder) if os.path.isdir(options.folder) else {}
    if not sequences:
        print(f"SKIP: feature_search: no sequences in {options.folder}")
        return 77
    Gst.init(None)
    measure = getattr(GstIntegralHist.IntegralHistogramMeasure,
                      options.measure.upper().replace("-", "_"))
    columns = options.settings or SETTINGS
    print("| sequence | frames | possible | " +
          " | ".join(settings.replace("feature=", "") for settings in columns) + " |")
    print("|---" * (3 + len(columns)) + "|")
    rows = []
    for name, (source, truth) in sequences.items():
        found = [search(source, truth, settings, measure, options.step) for settings in columns]
        rows.append([mean(possible(truth)), *map(mean, found)])
        print(f"| {name} | {len(found[0])} | " +
              " | ".join(f"{share:.2f}" for share in rows[-1]) + " |", flush=True)
    print(f"| mean | | {' | '.join(f'{mean(column):.2f}' for column in zip(*rows))} |")
    return 0


if __name__ == "__main__":
    run(main)
