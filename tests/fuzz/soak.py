#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A live stream for hours, with two consumers, flushes and other work at the same time.

    soak.py [--seconds N] [--size 640x480] [--fps 30] [--csv FILE] [--backend cpu]
            [--compute auto]

Every frame that enters cudaintegralhist leaves it, but for those that a flush drops; every one that
leaves it has a histogram, but for those that `stats` counts as skipped; and the process's resident
memory stays flat. Unless compute=eager it may grow by a few tensors: the element keeps the memory
of some that were asked for, and the largest may come late. Prints a line a minute, and last a line
that says whether all of that held.
"""
import argparse
import os
import random
import sys
import threading
import time

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstIntegralHist", "1.0")
from gi.repository import Gst, GstIntegralHist  # noqa: E402

BINS = 32
MOST_HELD = 5  # samples that the consumer keeps
MOST_KEPT = 4  # tensors whose memory an element that computes on demand keeps


def resident_kib():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


class Soak:
    def __init__(self, args):
        width, height = args.size.split("x")
        self.area = int(width) * int(height)
        self.fps = args.fps
        tensor = self.area * BINS * 4 // 1024
        self.may_grow = 0 if args.compute == "eager" else MOST_KEPT * tensor  # KiB
        self.pipeline = Gst.parse_launch(
            f"videotestsrc name=source is-live=true pattern=ball ! "
            f"video/x-raw,format=I420,width={width},height={height},framerate={args.fps}/1 ! "
            f"cudaintegralhist name=hist backend={args.backend} compute={args.compute} bins={BINS} "
            f"qos=true regions=0,0,64,64 ! tee name=t "
            f"t. ! queue max-size-buffers=4 ! "
            f"integralhisttrack method=fragments targets=8,8,64,64 ! integralhistoverlay ! "
            f"fakesink name=sink qos=true sync=true "
            f"t. ! queue leaky=downstream max-size-buffers=4 ! "
            f"appsink name=app sync=false max-buffers=2 drop=true")
        self.hist = self.pipeline.get_by_name("hist")
        self.entered = self.left = self.with_histogram = 0
        self.answered = self.messages = self.flushes = 0
        self.problems = []
        self.stopping = False
        self.held_at_least = 1
        self.hist.get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, self.on_enter)
        self.hist.get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, self.on_leave)

    def on_enter(self, pad, info):
        self.entered += 1
        return Gst.PadProbeReturn.OK

    def on_leave(self, pad, info):
        self.left += 1
        if GstIntegralHist.buffer_get_integral_histogram_meta(info.get_buffer()):
            self.with_histogram += 1
        return Gst.PadProbeReturn.OK

    def consume(self):
        """Asks each histogram questions, and keeps some histograms for a while."""
        sink, held, rng = self.pipeline.get_by_name("app"), [], random.Random(1)
        while not self.stopping:
            sample = sink.emit("try-pull-sample", 50 * Gst.MSECOND)
            if not sample:
                continue
            meta = GstIntegralHist.buffer_get_integral_histogram_meta(sample.get_buffer())
            if meta:
                counts = meta.histogram.region(0, 0, 1 << 20, 1 << 20)
                if sum(counts) != self.area:
                    self.problems.append(f"{sum(counts)} pixels instead of {self.area}")
                self.answered += 1
            held.append(sample)
            while len(held) > max(self.held_at_least, rng.randrange(1, MOST_HELD + 1)):
                held.pop(0)

    def watch(self):
        bus = self.pipeline.get_bus()
        while not self.stopping:
            message = bus.timed_pop(100 * Gst.MSECOND)
            if message is None:
                continue
            if message.type == Gst.MessageType.ERROR:
                self.problems.append(message.parse_error()[0].message)
            elif message.type == Gst.MessageType.ELEMENT:
                self.messages += 1

    def flush(self):
        """Flushes from the source on, as a flushing seek does, between two frames."""
        def flush_now(pad, info):
            peer = pad.get_peer()
            segment = Gst.Segment()
            segment.init(Gst.Format.TIME)
            peer.send_event(Gst.Event.new_flush_start())
            peer.send_event(Gst.Event.new_flush_stop(False))
            peer.send_event(Gst.Event.new_segment(segment))
            self.flushes += 1
            return Gst.PadProbeReturn.REMOVE

        source = self.pipeline.get_by_name("source")
        source.get_static_pad("src").add_probe(Gst.PadProbeType.IDLE, flush_now)

    def jam(self, seconds):
        """Has the consumer hold as many frames as it may, and then blocks both sinks."""
        pads = [self.pipeline.get_by_name(name).get_static_pad("sink") for name in ("sink", "app")]
        self.held_at_least = MOST_HELD
        time.sleep(seconds)
        kind = Gst.PadProbeType.BLOCK | Gst.PadProbeType.BUFFER
        blocked = [pad.add_probe(kind, lambda *_: Gst.PadProbeReturn.OK) for pad in pads]
        time.sleep(seconds)
        for pad, probe in zip(pads, blocked):
            pad.remove_probe(probe)
        self.held_at_least = 1

    def skipped(self):
        return self.hist.get_property("stats").get_uint64("skipped")[1]

    def line(self, start):
        print(f"{time.monotonic() - start:7.0f} s: {resident_kib() / 1024:7.1f} MiB, "
              f"{self.left} frames, {self.with_histogram} with a histogram, "
              f"{self.skipped()} skipped, {self.answered} answered, {self.messages} messages, "
              f"{self.flushes} flushes", flush=True)

    def run(self, seconds, csv):
        threads = [threading.Thread(target=target) for target in (self.consume, self.watch)]
        self.pipeline.set_state(Gst.State.PLAYING)
        for thread in threads:
            thread.start()
        # Under load a start takes a while. Then a jam fills all queues once, so that no tensors are
        # added later.
        started = time.monotonic()
        while self.answered < 10 and time.monotonic() - started < 60 and not self.problems:
            time.sleep(0.1)
        self.jam(1)
        start, first, memory, rng, told = time.monotonic(), self.left, [], random.Random(2), 0
        while time.monotonic() - start < seconds and not self.problems:
            time.sleep(1)
            memory.append(resident_kib())
            if csv:
                csv.write(f"{time.monotonic() - start:.1f},{memory[-1]},"
                          f"{self.left},{self.skipped()}\n")
                csv.flush()
            if rng.randrange(20) == 0:
                self.flush()
            if time.monotonic() - start > 60 * told:
                told += 1
                self.line(start)
        self.stopping = True
        for thread in threads:
            thread.join()
        self.line(start)
        seen = self.left - first
        self.pipeline.set_state(Gst.State.NULL)
        skipped = self.skipped()  # stays until the next start
        quarter = max(len(memory) // 4, 1)
        parts = memory[quarter:2 * quarter] or memory, memory[-quarter:]
        early, late = (sorted(part)[len(part) // 2] for part in parts)
        if late > early * 1.05 + self.may_grow:
            self.problems.append(f"resident memory grew from {early} to {late} KiB")
        # the probes see frames that are on their way when the stream ends
        if not 0 <= self.entered - self.left <= self.flushes + 1:
            self.problems.append(f"{self.entered} frames entered, {self.left} left, "
                                 f"with {self.flushes} flushes")
        without = self.left - self.with_histogram
        if abs(without - skipped) > 1:
            self.problems.append(f"{without} frames without a histogram, {skipped} skipped")
        if seen < 0.5 * len(memory) * self.fps:
            self.problems.append(f"{seen} frames in {len(memory)} s are too few")
        if not self.answered or not self.messages:
            self.problems.append("nothing was answered, or no message came")
        print(f"median resident memory {early / 1024:.1f} MiB in the second quarter, "
              f"{late / 1024:.1f} in the last")
        print("soak: " + ("; ".join(self.problems) or "held"))
        return 1 if self.problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--size", default="640x480")
    parser.add_argument("--fps", type=int, default=30)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--compute", default="auto")
    parser.add_argument("--csv")
    args = parser.parse_args()
    Gst.init(None)
    with open(args.csv, "w") if args.csv else open(os.devnull, "w") as csv:
        return Soak(args).run(args.seconds, csv)


if __name__ == "__main__":
    sys.exit(main())
