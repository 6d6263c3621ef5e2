# SPDX-License-Identifier: LGPL-2.1-or-later
"""GStreamer and this library by introspection, and pipelines and programs that tests run.

MISSING says why the build has no introspection of the library, and is empty if it has.

Environment:
  INTHIST_BACKEND=cpu|cuda  the elements' backend (auto by default)
  INTHIST_TEST_DATA=folder  research video, such as vtest.avi
  RESULTS_SEED=N            when processes are killed; each test that does so prints its seed
"""
import contextlib
import os
import random
import subprocess
import sys
import tempfile
import unittest

import gi
import numpy

gi.require_versions({'Gst': '1.0', 'GstApp': '1.0', 'GstVideo': '1.0'})
# GstApp gives appsrc and appsink their methods
from gi.repository import GLib, Gst, GstApp, GstVideo  # noqa: E402, F401

try:
    gi.require_version('GstIntegralHist', '1.0')
    from gi.repository import GstIntegralHist
    MISSING = ''
except (ImportError, ValueError) as error:
    GstIntegralHist, MISSING = None, str(error)

Gst.init(None)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, 'examples')
DATA = os.environ.get('INTHIST_TEST_DATA') or os.path.join(ROOT, '..', 'shared', 'data')
BACKEND = os.environ.get('INTHIST_BACKEND', 'auto')
WAIT = 60 * Gst.SECOND


@contextlib.contextmanager
def playing(line):
    """A pipeline that plays until the block ends"""
    pipeline = Gst.parse_launch(line)
    pipeline.set_state(Gst.State.PLAYING)
    try:
        yield pipeline
    finally:
        pipeline.set_state(Gst.State.NULL)


def error_of(pipeline):
    """The text of the error that ends a pipeline; empty if its stream ends well"""
    message = pipeline.get_bus().timed_pop_filtered(
        WAIT, Gst.MessageType.ERROR | Gst.MessageType.EOS)
    assert message, 'neither an error nor the end of the stream'
    return message.parse_error()[0].message if message.type == Gst.MessageType.ERROR else None


def run(line):
    """Runs a pipeline to its end, and returns the text of its error, or nothing"""
    with playing(line) as pipeline:
        return error_of(pipeline)


def pull(pipeline, name='sink'):
    """The next frame of an appsink; nothing at the end of the stream"""
    sample = pipeline.get_by_name(name).try_pull_sample(WAIT)
    if sample:
        return sample.get_buffer()
    error = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
    assert not error, error.parse_error()[0].message
    return None


def frames(line):
    """The frames that come out of a pipeline"""
    with playing(f'{line} ! appsink name=sink sync=false') as pipeline:
        while buffer := pull(pipeline):
            yield buffer


def first_frame(line):
    with contextlib.closing(frames(line)) as found:
        return next(found)


def messages(pipeline):
    """The structures of a pipeline's element messages, until its stream ends"""
    kinds = Gst.MessageType.ELEMENT | Gst.MessageType.EOS | Gst.MessageType.ERROR
    while message := pipeline.get_bus().timed_pop_filtered(WAIT, kinds):
        assert message.type != Gst.MessageType.ERROR, message.parse_error()[0].message
        if message.type == Gst.MessageType.EOS:
            return
        yield message.get_structure().copy()
    raise AssertionError('no end of the stream')


def luma_of(buffer, width, height):
    """The pixels of a GRAY8 frame without a GstVideoMeta"""
    stride = (width + 3) // 4 * 4
    pixels = numpy.frombuffer(buffer.extract_dup(0, buffer.get_size()), numpy.uint8)
    return pixels[:stride * height].reshape(height, stride)[:, :width]


def inside(pixels, x, y, width, height):
    """The part of a rectangle that is in a frame"""
    return pixels[..., max(y, 0):max(y + height, 0), max(x, 0):max(x + width, 0)]


def counts_of(luma, x, y, width, height, bins=16):
    """How many pixels of each bin are in the part of a rectangle that is in the frame"""
    part = inside(luma, x, y, width, height).astype(int)
    return numpy.bincount((part * bins // 256).ravel(), minlength=bins)


def launch(*lines, **options):
    """The output of gst-launch-1.0"""
    return subprocess.run(['timeout', '120', 'gst-launch-1.0', '-q', *' '.join(lines).split()],
                          stdout=subprocess.PIPE, check=True, **options).stdout


def decode(path, decoder, width, height):
    """[frame, y, x, RGB] of a file"""
    data = launch(f'filesrc location={path} ! {decoder} ! videoconvert !',
                  f'video/x-raw,format=RGB,width={width},height={height} ! fdsink fd=1')
    rows = numpy.frombuffer(data, numpy.uint8).reshape(-1, height, (width * 3 + 3) // 4 * 4)
    return rows[:, :, :width * 3].reshape(-1, height, width, 3).astype(int)


def overlap(a, b):
    """Intersection over union of boxes x, y, width, height"""
    sides = [min(a[i] + a[i + 2], b[i] + b[i + 2]) - max(a[i], b[i]) for i in (0, 1)]
    shared = max(sides[0], 0) * max(sides[1], 0)
    return shared / (a[2] * a[3] + b[2] * b[3] - shared)


class FolderTest(unittest.TestCase):
    """Tests with a folder, in which they run programs"""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name

    @classmethod
    def file(cls, name):
        return os.path.join(cls.folder, name)

    def run_program(self, *command, status=0):
        """Runs a program, and returns its output"""
        process = subprocess.run(['timeout', '120', *command], cwd=self.folder, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(process.returncode, status, process.stdout)
        return process.stdout


class SeededTest(unittest.TestCase):
    """Tests with a folder each, and random numbers seeded by RESULTS_SEED"""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        seed = int(os.environ.get('RESULTS_SEED', random.randrange(10000)))
        print(f'(RESULTS_SEED={seed})', end=' ', file=sys.stderr, flush=True)
        self.random = random.Random(seed)

    def path(self, name):
        return os.path.join(self.folder, name)
