#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Live sources through real pipelines: none starves, and the delay of none grows.

Thirty sources: over RTP on loopback, from appsrc, and with clocks of their own. Each runs twice: a
frame with a histogram takes 2 ms behind the element, which is quick enough, or 80 ms, which is too
slow for 30 frames a second. The time is slept, so that other work on the machine changes little.

A stream that keeps up may lose 5 % of its frames. One that does not must compute as many as fit,
less 5 %, and its last frames must come at most 0.6 s later than a stream that keeps up has them.
"""
import sys
import threading
import time
import unittest

from pipelines import Gst, GstIntegralHist

FPS = 30
SECONDS = 9
QUICK, SLOW = 0.002, 0.080
SIZE = 32


class Clock(Gst.Clock):
    """A clock that is 1 % too fast. In a stream it jumps ahead by two seconds, and back, and so
    stands still for as long, as GStreamer lets no clock go back."""

    def __init__(self):
        super().__init__()
        self.made = time.monotonic()
        self.began = None  # the stream

    def do_get_internal_time(self):
        now = time.monotonic()
        jump = 2 if self.began and 3 < now - self.began < 5 else 0
        return int((100 + (now - self.made) * 1.01 + jump) * Gst.SECOND)


def steady(n):
    return n / FPS, n / FPS


# Each says of frame n which timestamp it has and when it leaves the camera, in seconds; None is no
# timestamp, or a frame that is lost.
CAMERAS = {
    'steady': steady,
    'step_back_0.3': lambda n: (n / FPS + 5 - (.3 if n >= 60 else 0), n / FPS),
    'step_back_1': lambda n: (n / FPS + 5 - (1 if n >= 60 else 0), n / FPS),
    'step_back_to_0': lambda n: (n / FPS - (4 if n >= 120 else 0), n / FPS),
    'step_ahead_1': lambda n: (n / FPS + (1 if n >= 60 else 0), n / FPS),
    'step_ahead_60': lambda n: (n / FPS + (60 if n >= 60 else 0), n / FPS),
    'steps_each_second': lambda n: (n / FPS + 5 + n // FPS % 2 * 1.5, n / FPS),
    'slower_network': lambda n: (n / FPS, n / FPS + (.3 if n >= 60 else 0)),
    'burst_on_connect': lambda n: (n / FPS, max(0, n / FPS - 2)),
    'groups': lambda n: (n / FPS, n // 6 * 6 / FPS),
    'stall': lambda n: (n / FPS, 5 if 90 <= n < 150 else n / FPS),
    'stall_lost': lambda n: (n / FPS, None if 90 <= n < 150 else n / FPS),
    'reconnect': lambda n: (n % 90 / FPS, n / FPS),
    'drift_fast': lambda n: (n / FPS * 1.01, n / FPS),
    'drift_slow': lambda n: (n / FPS * .99, n / FPS),
    'pairs': lambda n: (n // 2 * 2 / FPS, n / FPS),
    'one_time': lambda n: (5, n / FPS),
    'no_times': lambda n: (None, n / FPS),
}
RTP = ('step_back_0.3', 'slower_network', 'steady', 'drift_fast')

# Seconds that frames are late by their source, or by what a queue behind the element holds.
DELAYS = {'burst_on_connect': 2.0, 'groups': 0.2, 'stall': 2.0, 'slower_network': 0.3,
          'a queue': 1.0}


class Stream:
    """One camera, its pipeline, and what came out of it."""

    def __init__(self, name, camera, work, framerate='30/1', rtp=None, clock=None, queue=False):
        self.name, self.camera, self.work, self.rtp = name, camera, work, rtp
        self.left = []  # when each frame left the camera
        self.frames = self.computed = 0
        self.delays = []
        self.errors = []
        caps = f'video/x-raw,format=GRAY8,width={SIZE},height={SIZE},framerate={framerate}'
        tail = (f'cudaintegralhist name=hist backend=cpu bins=4 ! {"queue ! " if queue else ""}'
                'fakesink name=sink sync=false')
        if rtp is None:
            self.sender = None
            self.receiver = Gst.parse_launch(f'appsrc name=src is-live=true format=time '
                                             f'caps="{caps}" ! {tail}')
            self.source = self.receiver.get_by_name('src')
        else:
            self.receiver = Gst.parse_launch(
                'udpsrc address=127.0.0.1 port=0 name=udp caps="application/x-rtp,media=video,'
                'clock-rate=90000,encoding-name=RAW,sampling=RGB,depth=(string)8,'
                f'width=(string){SIZE},height=(string){SIZE},payload=96" ! '
                f'rtpjitterbuffer latency=100 mode={rtp} ! rtpvrawdepay ! videoconvert ! {tail}')
        self.clock = clock
        if clock:
            self.receiver.use_clock(clock)
        pad = self.receiver.get_by_name('sink').get_static_pad('sink')
        pad.add_probe(Gst.PadProbeType.BUFFER, self.take)

    def take(self, pad, info):
        buffer = info.get_buffer()
        left = self.left[min(self.frames, len(self.left) - 1)]
        self.delays.append(time.monotonic() - left)
        self.frames += 1
        if GstIntegralHist.integral_histogram(buffer) is not None:
            self.computed += 1
            time.sleep(self.work)
        return Gst.PadProbeReturn.OK

    def start(self):
        self.receiver.set_state(Gst.State.PLAYING)
        if self.rtp is not None:
            port = self.receiver.get_by_name('udp').get_property('port')
            self.sender = Gst.parse_launch(
                f'appsrc name=src is-live=true format=time caps="video/x-raw,format=RGB,'
                f'width={SIZE},height={SIZE},framerate=30/1" ! rtpvrawpay ! '
                f'udpsink host=127.0.0.1 port={port} sync=false')
            self.source = self.sender.get_by_name('src')
            self.sender.set_state(Gst.State.PLAYING)

    def run(self):
        start = time.monotonic()
        if self.clock:
            self.clock.began = start
        channels = 1 if self.rtp is None else 3
        for n in range(SECONDS * FPS):
            timestamp, leaves = self.camera(n)
            if leaves is None:
                continue
            time.sleep(max(0, start + leaves - time.monotonic()))
            buffer = Gst.Buffer.new_wrapped(bytes(SIZE * SIZE * channels))
            if timestamp is not None:
                buffer.pts = int(max(timestamp, 0) * Gst.SECOND)
            self.left.append(time.monotonic())
            self.source.push_buffer(buffer)
        deadline = time.monotonic() + 6
        while self.frames < len(self.left) and time.monotonic() < deadline:
            time.sleep(.05)
        self.skipped = self.receiver.get_by_name('hist').get_property('stats').get_value('skipped')
        for pipeline in (self.receiver, self.sender):
            if pipeline:
                message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
                if message:
                    self.errors.append(message.parse_error()[0].message)
                pipeline.set_state(Gst.State.NULL)

    def verdict(self):
        """Returns what is wrong, or nothing."""
        sent = len(self.left)
        faults = [f'error: {error}' for error in self.errors]
        if self.frames < sent - max(2, sent // 50):
            faults.append(f'{self.frames} of {sent} frames arrived')
        fits = min(1, 1 / FPS / self.work)
        if self.computed < self.frames * (fits - .05) - 2:
            faults.append(f'{self.computed} of {self.frames} frames have a histogram, '
                          f'{self.frames * fits:.0f} fit')
        if self.skipped != self.frames - self.computed:
            faults.append(f'skipped says {self.skipped}')
        expected = next((d for name, d in DELAYS.items() if name in self.name), 0)
        most = max(self.delays[-FPS:])
        if most > .6 + expected:
            faults.append(f'the last frames come {most:.2f} s late')
        return faults


def streams(work):
    made = [Stream(name, camera, work) for name, camera in CAMERAS.items()]
    made += [Stream(f'{name}, no durations', CAMERAS[name], work, framerate='0/1')
             for name in ('step_back_1', 'stall', 'pairs', 'reconnect')]
    made += [Stream(f'{name}, RTP, {mode}', CAMERAS[name], work, rtp=mode)
             for name in RTP for mode in ('none', 'slave')]
    made += [Stream('a clock that jumps', steady, work, clock=Clock()),
             Stream('a queue', steady, work, queue=True)]
    return made


class LiveSources(unittest.TestCase):
    def check(self, work):
        faults = {}
        every = streams(work)
        for at in range(0, len(every), 16):
            some = every[at:at + 16]
            for stream in some:
                stream.start()
            threads = [threading.Thread(target=stream.run) for stream in some]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for stream in some:
                print(f'{stream.name}: {len(stream.left)} frames sent, {stream.frames} came, '
                      f'{stream.computed} with a histogram, delay at the end '
                      f'{max(stream.delays[-FPS:], default=0):.2f} s')
                if wrong := stream.verdict():
                    faults[stream.name] = wrong
        self.assertEqual(faults, {})

    def test_quick(self):
        self.check(QUICK)

    def test_slow(self):
        self.check(SLOW)


if __name__ == '__main__':
    sys.stdout.reconfigure(line_buffering=True)
    unittest.main(verbosity=2)
