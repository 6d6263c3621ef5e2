#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""numpy_regions.py [--cells 8x6] [FILE | URI]: what changes in a video, by histograms in NumPy.

The histograms of all cells of a frame are one array. A cell's change is the half of the pixels that
are in other bins than a second ago. Every 15 frames it prints the cell that changed most, and says
how bright the frame is, from the whole tensor as an array without a copy. In the build directory's
environment (paths are relative to build/):

    meson devenv -C build ../examples/numpy_regions.py video.mp4

It needs the distribution's Python with python3-gi, python3-gst-1.0 and python3-numpy, and a build
with the bindings; `tools/setup.sh test` installs all of them.
"""
import argparse
import collections
import os
import sys

try:
    import gi
    import numpy

    gi.require_versions({'Gst': '1.0', 'GstApp': '1.0', 'GstIntegralHist': '1.0'})
except (ImportError, ValueError) as error:
    if __name__ != '__main__':
        raise
    sys.exit(print(__doc__) if {'-h', '--help'} & {*sys.argv} else f'{error}\n{__doc__}')
# GstApp gives appsink its methods
from gi.repository import Gst, GstApp, GstIntegralHist  # noqa: E402, F401

TEST = ('videotestsrc pattern=ball num-buffers=90 ! '
        'video/x-raw,format=I420,width=640,height=480,framerate=30/1')


def histograms(video, settings):
    """Yields the histogram of each frame"""
    source = TEST
    if video:
        uri = video if Gst.uri_is_valid(video) else Gst.filename_to_uri(os.path.abspath(video))
        source = f'uridecodebin uri="{uri}" ! videoconvert'
    pipeline = Gst.parse_launch(
        f'{source} ! cudaintegralhist {settings} ! appsink name=sink sync=false max-buffers=4')
    sink, bus = pipeline.get_by_name('sink'), pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
    try:
        while not sink.is_eos():
            sample = sink.try_pull_sample(Gst.SECOND // 10)
            histogram = sample and GstIntegralHist.integral_histogram(sample.get_buffer())
            if histogram:
                yield histogram
            message = bus.pop_filtered(Gst.MessageType.ERROR)
            if message:
                sys.exit(f'{video or "test picture"}: {message.parse_error()[0].message}')
    finally:
        pipeline.set_state(Gst.State.NULL)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('video', nargs='?', metavar='FILE | URI')
    parser.add_argument('--cells', default='8x6', metavar='COLUMNSxROWS', help='of the grid (8x6)')
    parser.add_argument('--bins', default=32, type=int, help='of brightness (32)')
    options = parser.parse_args()
    columns, rows = map(int, options.cells.split('x'))
    Gst.init(None)

    before = collections.deque(maxlen=30)
    number = 0
    for number, histogram in enumerate(histograms(options.video, f'bins={options.bins}'), 1):
        bins, height, width = histogram.shape
        cell = width // columns, height // rows
        counts = histogram.grid(window=cell, step=cell).astype(int)  # (rows, columns, bins)
        before.append(counts)
        changed = numpy.abs(counts - before[0]).sum(axis=2) / 2 / (cell[0] * cell[1])
        if number % 15 == 0:
            row, column = numpy.unravel_index(changed.argmax(), changed.shape)
            whole = histogram.numpy()[:, -1, -1]  # the last corner has all pixels
            mean = whole @ (numpy.arange(bins) + 0.5) / bins / whole.sum()
            print(f'frame {number:6d}  brightness {100 * mean:3.0f} %  most change in column '
                  f'{column}, row {row}: {100 * changed.max():3.0f} % of its pixels')
    print(f'{number} frames')


if __name__ == '__main__':
    from integralhist import console
    console.run(main)
