#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Integral histograms as arrays of NumPy: what they say, how long they live, who may write.

The override's questions and documentation are in override.py; tests/gpu/dlpack.py has PyTorch and
CuPy on a GPU.
"""
import ctypes
import gc
import os
import re
import subprocess
import sys
import threading
import time
import unittest

import numpy
import pipelines
from pipelines import Gst, GstIntegralHist

MISSING = pipelines.MISSING or ('' if hasattr(GstIntegralHist, 'tracks')
                                else 'the override is not found')
WIDTH, HEIGHT, BINS = 101, 67, 16
FRAMES = 1000


class Frames:
    """Histograms of snow, one after another."""

    def __init__(self, properties='', frames=1, element=f'cudaintegralhist bins={BINS}',
                 caps=f'format=GRAY8,width={WIDTH},height={HEIGHT}'):
        self.pipeline = Gst.parse_launch(
            f'videotestsrc pattern=snow num-buffers={frames} ! video/x-raw,{caps} ! '
            f'{element} backend=cpu tuning-time=0 {properties} ! '
            'appsink name=sink sync=false max-buffers=2')
        self.sink = self.pipeline.get_by_name('sink')
        self.pipeline.set_state(Gst.State.PLAYING)

    def __iter__(self):
        while sample := self.sink.try_pull_sample(20 * Gst.SECOND):
            yield sample.get_buffer()
        self.pipeline.set_state(Gst.State.NULL)

    def one(self):
        histogram = GstIntegralHist.integral_histogram(next(iter(self)))
        self.pipeline.set_state(Gst.State.NULL)
        return histogram


def four_corners(tensor, x, y, width, height):
    """Counts of a rectangle in the frame"""
    padded = numpy.pad(tensor, ((0, 0), (1, 0), (1, 0)))
    return (padded[:, y + height, x + width] - padded[:, y, x + width]
            - padded[:, y + height, x] + padded[:, y, x])


RECTANGLES = [(0, 0, WIDTH, HEIGHT), (3, 5, 40, 30), (100, 66, 1, 1), (0, 60, 101, 7)]


@unittest.skipIf(MISSING, MISSING)
class Arrays(unittest.TestCase):
    def test_four_corners(self):
        for counter, dtype in ('u32', 'uint32'), ('u16', 'uint16'):
            for compute in 'eager', 'on-demand':
                histogram = Frames(f'counter={counter} compute={compute}').one()
                for tensor in histogram.numpy(), numpy.from_dlpack(histogram):
                    self.assertEqual(tensor.dtype, dtype)
                    self.assertEqual(tensor.shape, (BINS, HEIGHT, WIDTH))
                    self.assertEqual(tensor.shape, histogram.shape)
                    self.assertEqual(tensor.strides, (histogram.get_plane_pitch(),
                                                      histogram.get_row_pitch(),
                                                      tensor.dtype.itemsize))
                    for rectangle in RECTANGLES:
                        numpy.testing.assert_array_equal(
                            four_corners(tensor, *rectangle), histogram.region(*rectangle))

    def test_same_memory(self):
        histogram = Frames().one()
        addresses = {histogram.numpy().__array_interface__['data'][0] for _ in range(3)}
        self.assertEqual(len(addresses), 1)
        with histogram.get_buffer().map(Gst.MapFlags.READ) as mapped:
            copied = numpy.frombuffer(mapped.data, numpy.uint32)
            self.assertEqual(copied[0], histogram.numpy()[0, 0, 0])

    def test_only_read(self):
        tensor = Frames().one().numpy()
        self.assertFalse(tensor.flags.writeable)
        with self.assertRaises(ValueError):
            tensor[0, 0, 0] = 1
        with self.assertRaises(ValueError):
            tensor.setflags(write=True)

    def test_outlives_the_pipeline(self):
        frames = Frames(frames=3, properties='max-tensors=3')
        histograms = [GstIntegralHist.integral_histogram(buffer) for buffer in frames]
        wanted = [histogram.regions(RECTANGLES).copy() for histogram in histograms]
        tensors = [histogram.numpy() for histogram in histograms]
        del frames, histograms
        gc.collect()
        for tensor, counts in zip(tensors, wanted):
            for rectangle, right in zip(RECTANGLES, counts):
                numpy.testing.assert_array_equal(four_corners(tensor, *rectangle), right)

    def test_every_deleter_runs(self):
        """With max-tensors=2 the third tensor comes only after one of the others was released."""
        kept = []
        for number, buffer in enumerate(Frames(frames=30, properties='max-tensors=4 qos=false')):
            kept.append(GstIntegralHist.integral_histogram(buffer).numpy())
            del buffer
            kept = kept[-1:]
        self.assertEqual(number, 29)

    def test_deleter_is_counted(self):
        histogram = Frames().one()
        # a GstMiniObject begins with its GType, and then its reference count
        address = int(re.search(r'GstIntegralHistogram at (0x[0-9a-f]+)', repr(histogram))[1], 16)
        references = ctypes.c_int.from_address(address + ctypes.sizeof(ctypes.c_size_t))
        end = time.monotonic() + 20
        while references.value > 1 and time.monotonic() < end:
            time.sleep(0.01)  # threads of the pipeline may still let go of it
        before = references.value
        self.assertEqual(before, 1)
        tensors = [histogram.numpy() for _ in range(5)]
        self.assertEqual(references.value, before + 5)
        capsules = [histogram.__dlpack__(max_version=version) for version in ((1, 0), None)]
        self.assertEqual(references.value, before + 7)
        del tensors
        self.assertEqual(references.value, before + 2)
        del capsules  # that nobody took
        self.assertEqual(references.value, before)

    def test_threads(self):
        histogram = Frames().one()
        right = histogram.region(*RECTANGLES[1])
        wrong = []

        def ask():
            for _ in range(200):
                counts = four_corners(histogram.numpy(), *RECTANGLES[1])
                if counts.tolist() != right:
                    wrong.append(counts)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_late_consumer(self):
        """Arrays of a thousand frames, of which the last 50 are held and looked at late."""
        for compute in 'eager', 'on-demand':
            kept, seen = [], 0
            for buffer in Frames(f'compute={compute} qos=false', frames=FRAMES,
                                 caps='format=GRAY8,width=64,height=48'):
                histogram = GstIntegralHist.integral_histogram(buffer)
                right = histogram.regions([(3, 5, 40, 30), (0, 0, 64, 48)])
                kept.append((histogram.numpy(), right))
                if len(kept) > 50:
                    tensor, right = kept.pop(0)
                    for rectangle, counts in zip([(3, 5, 40, 30), (0, 0, 64, 48)], right):
                        numpy.testing.assert_array_equal(four_corners(tensor, *rectangle), counts)
                    seen += 1
            self.assertEqual(seen + len(kept), FRAMES)

    def test_end_of_the_process(self):
        """Arrays and capsules exist when the interpreter ends"""
        program = (
            'import os, sys\n'
            f'sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n'
            'import dlpack_arrays as dlpack\n'
            'dlpack.Gst.init(None)\n'
            'frames = dlpack.Frames(frames=9)\n'
            'histograms = list(map(dlpack.GstIntegralHist.integral_histogram, frames))\n'
            'tensors = [histogram.numpy() for histogram in histograms]\n'
            'sys.capsules = [h.__dlpack__() for h in histograms]\n'
            'print(len(tensors))\n')
        ended = subprocess.run([sys.executable, '-c', program], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual((ended.returncode, ended.stdout), (0, '9\n'))

    def test_refusals(self):
        histogram = Frames().one()
        for stream in (0, -2, 'x'):
            with self.assertRaisesRegex(ValueError, 'there is no stream'):
                histogram.__dlpack__(stream=stream)
        for why, arguments in (('without a copy', {'copy': True}),
                               ('ask for .1, 0., which is host memory', {'dl_device': (2, 0)})):
            with self.assertRaisesRegex(BufferError, why):
                histogram.__dlpack__(**arguments)
        for arguments in ({'stream': None}, {'stream': 1}, {'stream': -1}, {'dl_device': (1, 0)},
                          {'copy': False}, {'max_version': (0, 8)}, {'max_version': (2, 0)}):
            self.assertIn('dltensor', repr(histogram.__dlpack__(**arguments)))
        self.assertFalse(hasattr(histogram, '__cuda_array_interface__'))
        tiled = Frames('counter=u8-tiled').one()
        for ask in tiled.numpy, tiled.__dlpack__:
            with self.assertRaisesRegex(BufferError, 'set counter to u32 or u16'):
                ask()
        self.assertEqual(tiled.__dlpack_device__(), (1, 0))

    def test_tables(self):
        histogram = Frames('squared=true', element='cudaintegralimage').one()
        for rectangle in RECTANGLES[1:]:
            numpy.testing.assert_array_equal(four_corners(histogram.numpy(), *rectangle),
                                             histogram.region_sums(*rectangle))


if __name__ == '__main__':
    unittest.main(verbosity=2)
