#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cameras.py [--streams N] [--seconds S] [--size WxH] [--compute HOW]: many live streams

Each stream is a live source of 30 frames a second with a tracker of its own, which follows a box.
Once a second it prints how many frames all streams had, how many passed without a histogram because
they were late, and how busy the processors were. The last line says whether all streams held their
rate; frames of the first second, while they start, may be late. --compute=eager shows what it costs
to compute what nobody asks.

    meson devenv -C build ../examples/cameras.py

It needs the distribution's Python with python3-gi and python3-gst-1.0.
"""
import argparse
import os
import sys
import time

try:
    import gi
    gi.require_version('Gst', '1.0')
except (ImportError, ValueError) as error:
    sys.exit(f'{error}\n{__doc__}')
from gi.repository import Gst  # noqa: E402

RATE = 30  # frames a second


def launch_line(options):
    width, height = options.size.split('x')
    branch = (f'videotestsrc is-live=true pattern=ball ! video/x-raw,format=GRAY8,width={width},'
              f'height={height},framerate={RATE}/1 ! cudaintegralhist name=hist%d bins=16 '
              f'compute={options.compute} ! '
              f'integralhisttrack targets={options.target} ! queue ! fakesink sync=true')
    return '  '.join(branch % i for i in range(options.streams))


def counts(elements):
    """(frames, late frames) of all streams, and the fewest frames of one"""
    stats = [element.get_property('stats') for element in elements]
    skipped = [s.get_uint64('skipped').value for s in stats]
    frames = [s.get_uint64('frames').value + n for s, n in zip(stats, skipped)]
    return sum(frames), sum(skipped), min(frames)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--streams', type=int, default=16)
    parser.add_argument('--seconds', type=int, default=10)
    parser.add_argument('--size', default='640x480')
    parser.add_argument('--compute', default='auto', choices=('auto', 'eager', 'on-demand'))
    parser.add_argument('--target', default='310,230,40,80')
    options = parser.parse_args()
    Gst.init(None)
    try:
        pipeline = Gst.parse_launch(launch_line(options))
    except gi.repository.GLib.Error as problem:
        sys.exit(f'cameras.py: {problem.message}')
    elements = [pipeline.get_by_name(f'hist{i}') for i in range(options.streams)]
    bus = pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
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
        seen, late, fewest = counts(elements)
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
    sys.exit(main())
