#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cameras.py [--streams N] [--seconds S] [--size WxH] [--method HOW]: many live streams

Each stream is a live source of 30 frames a second with a tracker of its own, which follows a box.
Once a second it prints how many frames all streams had, how many were late, and how busy the
processors were. A late frame has no track; of elements that compute, the one counts that left out
most. The last line says whether all streams held their
rate; frames of the first second, while they start, may be late. --method=fragments takes the
tracker that costs less, and --compute=eager shows what it costs to compute what nobody asks.

    meson devenv -C build ../examples/cameras.py

It needs the distribution's Python with python3-gi and python3-gst-1.0.
"""
import argparse
import atexit
import os
import sys
import time

try:
    import gi
    gi.require_version('Gst', '1.0')
except (ImportError, ValueError) as error:
    sys.exit(print(__doc__) if {'-h', '--help'} & {*sys.argv} else f'{error}\n{__doc__}')
from gi.repository import Gst  # noqa: E402

RATE = 30  # frames a second


# the element that must come before the tracker
PRODUCERS = {'correlation': 'cudatrackfeatures', 'fragments': 'cudaintegralhist bins=16'}


def launch_line(options):
    width, height = map(int, options.size.split('x'))
    target = options.target or f'{width // 2 - 24},{height // 2 - 24},48,48'  # around the ball
    compute = f'compute={options.compute}' if options.compute else ''
    branch = (f'videotestsrc is-live=true pattern=ball ! video/x-raw,format=I420,width={width},'
              f'height={height},framerate={RATE}/1 ! {PRODUCERS[options.method]} name=features%d '
              f'{compute} ! integralhisttrack method={options.method} '
              f'targets={target} ! queue ! fakesink sync=true')
    return '  '.join(branch % i for i in range(options.streams))


def counts(streams):
    """Returns the frames and late frames of all streams, and the fewest frames of one

    A stream is a list of the elements that compute. Each element leaves out late frames.
    """
    skipped, frames = [], []
    for elements in streams:
        stats = [element.get_property('stats') for element in elements]
        skipped.append(max(s.get_uint64('skipped').value for s in stats))
        frames.append(max(s.get_uint64('frames').value + s.get_uint64('skipped').value
                          for s in stats))
    return sum(frames), sum(skipped), min(frames)


def producers(element):
    """Returns the element, or the elements in a bin"""
    if not isinstance(element, Gst.Bin):
        return [element]
    return [element.get_by_name(name) for name in ('gradients', 'colours', 'luma')]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--streams', type=int, default=8)
    parser.add_argument('--seconds', type=int, default=10)
    parser.add_argument('--size', default='640x480')
    parser.add_argument('--compute', choices=('auto', 'eager', 'on-demand'))
    parser.add_argument('--method', default='correlation', choices=tuple(PRODUCERS))
    parser.add_argument('--target', metavar='X,Y,WIDTH,HEIGHT')
    options = parser.parse_args()
    Gst.init(None)
    try:
        pipeline = Gst.parse_launch(launch_line(options))
    except gi.repository.GLib.Error as problem:
        sys.exit(f'cameras.py: {problem.message}')
    streams = [producers(pipeline.get_by_name(f'features{i}')) for i in range(options.streams)]
    bus = pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
    atexit.register(pipeline.set_state, Gst.State.NULL)
    print('second   frames     late   processors busy')
    seen, late, fewest, late_at_start = 0, 0, 0, 0
    started, busy = time.monotonic(), sum(os.times()[:2])
    for second in range(1, options.seconds + 1):
        message = bus.timed_pop_filtered(
            max(0, int((started + second - time.monotonic()) * Gst.SECOND)),
            Gst.MessageType.ERROR)
        if message:
            problem, detail = message.parse_error()
            pipeline.set_state(Gst.State.NULL)
            sys.exit(f'cameras.py: {problem.message} ({detail})')
        before, used = (seen, late), busy
        seen, late, fewest = counts(streams)
        busy = sum(os.times()[:2])
        if second == 1:
            late_at_start = late
        print(f'{second:6d} {seen - before[0]:8d} {late - before[1]:8d} {busy - used:17.2f}',
              flush=True)
    pipeline.set_state(Gst.State.NULL)
    rate = fewest / options.seconds
    late -= late_at_start
    held = late == 0 and rate >= 0.95 * RATE
    print(f'{options.streams} streams: the slowest had {rate:.1f} frames a second, '
          f'{late} were late: {"all held their rate" if held else "not all held their rate"}')
    return 0 if held else 1


if __name__ == '__main__':
    from integralhist import console
    console.run(main)
