#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Wrong settings, questions and frames in a process that has PyPI's NumPy, OpenCV and matplotlib.

These packages bring libraries of their own, which are loaded before GStreamer here. Whatever is
wrong must still be answered by one element error, or a GLib.Error, and the process must go on. Each
order of the imports has a process, in which all of it is tried; it says what it is about to try.

Environment:
  PYTHON_VENV=folder  a virtual environment with the packages, as tests/run.sh makes it
"""
import contextlib
import itertools
import os
import resource
import signal
import subprocess
import sys
import unittest

import virtual_environment

PACKAGES = {'numpy': ['numpy'], 'opencv': ['cv2'],
            'matplotlib': ['matplotlib.ft2font', 'matplotlib.backends.backend_agg']}
TIMEOUT = 120


def picture(width, height):
    return f'videotestsrc num-buffers=2 ! video/x-raw,format=GRAY8,width={width},height={height}'


PICTURE = picture(64, 48)
HISTOGRAM = 'cudaintegralhist backend=cpu tuning-time=0'
FRAGMENTS = f'{HISTOGRAM} ! integralhisttrack method=fragments'
IMAGE = 'cudaintegralimage backend=cpu tuning-time=0'
INT_MAX, INT_MIN = 2**31 - 1, -2**31

REGIONS = [
    ('1,2,3', 'number is missing'),
    ('1,2,3,4,5', 'more than four numbers'),
    ('1,2,0,4', 'empty'),
    ('1,2,3,-4', 'empty'),
    ('64,0,1,1', 'outside'),
    (f'{INT_MAX},0,1,1', 'outside'),
    (f'{INT_MIN},{INT_MIN},{INT_MAX},{INT_MAX}', 'outside'),
    (f'{INT_MAX + 1},0,1,1', 'out of range'),
    ('+1,1,1,1', 'number'),
    ('1.5,1,1,1', 'not a whole number'),
    (';1,1,1,1', 'number'),
    ('1,1,1,1;;1,1,1,1', 'number'),
    ('a', 'number'),
    ('\t1,1,1,1', 'number'),
    ('1,1,1,1 1,1,1,1', 'semicolon'),
    ('0x1,1,1,1', 'not a whole number'),
    ('\uff12,1,1,1', 'number'),
]
DEVICE_IDS = ['0,0', '-1', '99999999999', '0,', ',', '0;1', '0x1', '0 1', '\uff12', ' ']
NUMBERS = {  # of the properties that say themselves what is out of range
    HISTOGRAM: [
        'bins=0', 'bins=257', 'async-depth=0', 'async-depth=65', 'interval=0',
        'interval=2147483648', 'tuning-time=60001', 'task-bins=257', 'cuda-device-id=-2'],
    IMAGE: [
        'async-depth=0', 'async-depth=65', 'interval=0', 'tuning-time=60001', 'cuda-device-id=-2'],
    FRAGMENTS: [
        'search-range=0', 'search-range=100000', 'strips=0', 'strips=100000', 'quantile=-1',
        'quantile=2', 'lost-after=4000000000', 'update-rate=1.5', 'min-confidence=-0.1'],
    f'{HISTOGRAM} ! integralhistlikelihood': [
        'step=0', 'step=65', 'opacity=2', 'opacity=-1', 'window-width=2147483648',
        'window-height=2147483648'],
    f'{HISTOGRAM} ! integralhistoverlay': ['trail=1001', 'line-width=33'],
}
NO_VALUE = ['backend=quantum', 'strategy=fastest', 'counter=u8', 'download=sometimes']
MODELS = [  # bins, a property of integralhistlikelihood
    (8, 'model="1,2,3"', 'number is missing'),
    (8, 'model="1,1,1,1;2,2,2,2"', '2 regions'),
    (8, 'model="64,0,4,4"', 'outside'),
    (8, 'model="0,0,0,4"', 'empty'),
    (4, 'histogram="1,2,3"', '3 numbers'),
    (4, 'histogram="1,2,,3"', 'number is missing'),
    (4, 'histogram="1,2,3,"', 'number is missing'),
    (4, 'histogram="1,2,3,-4"', 'cannot be'),
    (4, 'histogram="1,2,3,nan"', 'cannot be'),
    (4, 'histogram="1,2,3,inf"', 'cannot be'),
    (4, 'histogram="1,2,3,1e99"', 'out of range'),
    (4, 'histogram="0,0,0,0"', 'all of its numbers are 0'),
    (4, 'histogram="1;2;3;4"', 'comma'),
]
FRAMES = [  # what is wrong, bytes, GstVideoMeta; None: a frame or an error, either is fine
    ('a frame', 4096, None, True),
    ('half the bytes', 2048, None, False),
    ('no bytes', 0, None, False),
    ('a meta, and half the bytes', 2048, ('GRAY8', 64, 64, 0, 64), False),
    ('a stride of 100000', 4096, ('GRAY8', 64, 64, 0, 100000), False),
    ('an offset behind the end', 4096, ('GRAY8', 64, 64, 5000, 64), False),
    ('a meta of another format', 4096, ('I420', 64, 64, 0, 64), False),
    ('a smaller meta', 4096, ('GRAY8', 32, 32, 0, 64), False),
    ('a larger meta', 4096, ('GRAY8', 128, 128, 0, 64), None),
    ('a stride of 0', 4096, ('GRAY8', 64, 64, 0, 0), None),
    ('bottom up', 4096, ('GRAY8', 64, 64, 63 * 64, -64), None),
]


def refused_settings():
    """(launch line, a part of what it must say)"""
    for text, why in REGIONS:
        yield f'{PICTURE} ! {HISTOGRAM} regions="{text}" ! fakesink', why
        yield f'{PICTURE} ! {FRAGMENTS} targets="{text}" ! fakesink', why
        if 'outside' not in why:
            yield f'{PICTURE} ! {IMAGE} regions="{text}" ! fakesink', why
            yield f'{PICTURE} ! integralhistoverlay regions="{text}" ! fakesink', why
    for text in DEVICE_IDS:
        yield f'{PICTURE} ! {HISTOGRAM} cuda-device-ids="{text}" ! fakesink', 'cuda-device-ids'
    for element, settings in NUMBERS.items():
        for setting in settings:
            yield f'{PICTURE} ! {element} {setting} ! fakesink', setting.partition('=')[0]
    for setting in NO_VALUE:
        yield f'{PICTURE} ! cudaintegralhist {setting} ! fakesink', setting.partition('=')[0]
    for bins, setting, why in MODELS:
        element = f'{HISTOGRAM} bins={bins} ! integralhistlikelihood {setting}'
        yield f'{PICTURE} ! {element} ! fakesink', why

    wide, large = picture(70000, 2), picture(4096, 4096)
    shared = f'{HISTOGRAM} bins=8 cuda-device-ids=0,1'
    yield f'{PICTURE} ! {shared} cuda-device-id=0 ! fakesink', 'both set'
    yield f'{PICTURE} ! cudaintegralhist cuda-device-id=7 ! fakesink', ''
    yield f'{PICTURE} ! cudaintegralimage cuda-device-id=7 ! fakesink', ''
    yield f'{PICTURE} ! cudaintegralhist backend=cuda strategy=rows ! fakesink', ''
    yield f'{PICTURE} ! cudaintegralhist backend=cuda strategy=serial ! fakesink', ''
    yield f'{PICTURE} ! cudaintegralimage backend=cuda strategy=wavefront ! fakesink', ''
    yield f'{PICTURE} ! {HISTOGRAM} strategy=strip ! fakesink', 'strip'
    yield f'{PICTURE} ! {IMAGE} strategy=strip ! fakesink', 'strip'
    too_wide = picture(2**20 + 1, 2)
    yield f'{too_wide} ! {HISTOGRAM} bins=2 counter=u8-tiled ! fakesink', '1048576'
    yield f'{PICTURE} ! {HISTOGRAM} strategy=rows counter=u8-tiled ! fakesink', 'takes no counter'
    yield f'{PICTURE} ! {HISTOGRAM} max-device-memory=1 ! fakesink', 'max-device-memory'
    yield f'{PICTURE} ! {HISTOGRAM} max-device-memory=20000 download=never ! fakesink', 'download'
    yield f'{PICTURE} ! {shared} max-device-memory=1 ! fakesink', 'max-device-memory'
    # these have little memory: LittleMemory
    yield f'{large} ! {HISTOGRAM} compute=eager bins=256 ! fakesink', 'emory'
    yield f'{picture(16384, 8192)} ! {IMAGE} compute=eager squared=true ! fakesink', 'emory'
    yield f'{large} ! {HISTOGRAM} bins=256 ! integralhistlikelihood step=64 ! fakesink', 'emory'
    yield f'{PICTURE} ! integralhisttrack targets="1,1,9,9" ! fakesink', 'no integral histogram'
    yield f'{PICTURE} ! integralhistlikelihood ! fakesink', 'no integral histogram'
    # a device whose first part fails, as INTEGRALHIST_FAULT has it
    failing = f'{HISTOGRAM} bins=8 cuda-device-ids=0 task-bins=4 regions="1,1,9,9"'
    for element in ('integralhisttrack method=fragments targets="1,1,9,9"',
                    'integralhistlikelihood', 'identity'):
        yield f'{PICTURE} ! {failing} ! {element} ! fakesink', 'INTEGRALHIST_FAULT'


class LittleMemory:
    """Limits the address space to some hundred MiB more than the process has."""

    def __enter__(self):
        self.before = resource.getrlimit(resource.RLIMIT_AS)
        with open('/proc/self/statm', encoding='ascii') as file:
            taken = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + (900 << 20), self.before[1]))

    def __exit__(self, *_):
        resource.setrlimit(resource.RLIMIT_AS, self.before)


class Trials:
    """All trials in one process; `wrong` lists unexpected answers."""

    def __init__(self):
        import gi
        for name in ('Gst', 'GstApp', 'GstVideo', 'GstIntegralHist'):
            gi.require_version(name, '1.0')
        from gi.repository import GLib, Gst, GstApp, GstIntegralHist, GstVideo  # noqa: F401
        self.glib, self.gst, self.hist, self.video = GLib, Gst, GstIntegralHist, GstVideo
        Gst.init(None)
        self.tried, self.wrong = 0, []

    def begin(self, what):
        self.tried += 1
        print(f'trying: {what}', flush=True)

    def expect(self, good, what, said):
        if not good:
            self.wrong.append(f'{what}: {said}')

    # pipelines

    def errors(self, bus, wait):
        """The errors of our elements"""
        kinds = self.gst.MessageType.ERROR | self.gst.MessageType.EOS
        while message := bus.timed_pop_filtered(wait, kinds):
            if message.type == self.gst.MessageType.EOS:
                return
            if message.src.get_factory().get_plugin_name() == 'integralhist':
                yield message.parse_error()[0].message

    def end(self, pipeline, first=''):
        """All errors: the first, and those that come until all threads are stopped"""
        said = [first] if first else []
        pipeline.set_state(self.gst.State.READY)
        said += self.errors(pipeline.get_bus(), 0)
        pipeline.set_state(self.gst.State.NULL)
        return said

    def settings(self):
        for line, why in refused_settings():
            self.begin(line)
            try:
                pipeline = self.gst.parse_launch(line)
            except self.glib.Error as error:
                self.expect(why in error.message, line, error.message)
                continue
            if why == 'INTEGRALHIST_FAULT':
                self.glib.setenv('INTEGRALHIST_FAULT', '0:1', True)
            with LittleMemory() if why == 'emory' else contextlib.nullcontext():
                said = self.play(pipeline)
            self.expect(len(said) == 1 and why in said[0], line, said or 'no error')
        self.glib.unsetenv('INTEGRALHIST_FAULT')

    def play(self, pipeline):
        pipeline.set_state(self.gst.State.PLAYING)
        first = next(self.errors(pipeline.get_bus(), 20 * self.gst.SECOND), '')
        return self.end(pipeline, first)

    # questions

    def histogram(self, element, source=PICTURE):
        pipeline = self.gst.parse_launch(f'{source} ! {element} ! appsink name=sink sync=false')
        pipeline.set_state(self.gst.State.PLAYING)
        sample = pipeline.get_by_name('sink').try_pull_sample(20 * self.gst.SECOND)
        pipeline.set_state(self.gst.State.NULL)
        return self.hist.buffer_get_integral_histogram_meta(sample.get_buffer()).histogram

    def grid(self, **fields):
        grid = self.hist.IntegralHistogramGrid()
        usual = {'window_width': 8, 'window_height': 8, 'x': 0, 'y': 0, 'step_x': 1, 'step_y': 1,
                 'columns': 10, 'rows': 10}
        for name, value in {**usual, **fields}.items():
            setattr(grid, name, value)
        return grid

    def questions(self):
        counts = self.histogram(f'{HISTOGRAM} bins=8')
        tables = self.histogram(f'{IMAGE} squared=true', picture(1920, 1080))
        never = self.histogram(f'{HISTOGRAM} bins=8 download=never cuda-device-ids=0,1')
        tensor, another = counts.get_buffer(), tables.get_buffer()
        measure, grid = self.hist.IntegralHistogramMeasure.BHATTACHARYYA, self.grid()
        nan, inf, even = float('nan'), float('inf'), [1.0] * 8
        questions = {
            'three numbers are no region': lambda: counts.regions([1, 2, 3]),
            'three numbers are no region of sums': lambda: tables.regions_sums([1, 2, 3]),
            'a sum of more than 32 bits': lambda: tables.region(0, 0, 1920, 1080),
            'sums of more than 32 bits': lambda: tables.regions([0, 0, 1920, 1080]),
            'grids of tables': lambda: tables.grids(grid),
            'a likelihood of tables': lambda: tables.likelihood_maps(grid, even, measure),
            'a quantile of tables': lambda: tables.quantile_maps(grid, 0.5),
            'a vote of tables': lambda: tables.vote_maps(grid, [0, 0, 4, 4], even, 0, measure),
            'a tensor that is never downloaded': never.get_buffer,
            'an element of no bin': lambda: counts.get_element(tensor, 8, 0, 0),
            'an element outside': lambda: counts.get_element(tensor, 0, 64, 0),
            'an element of another tensor': lambda: counts.get_element(another, 0, 0, 0),
            'no window': lambda: counts.grids(self.grid(columns=0)),
            'a window of no pixels': lambda: counts.grids(self.grid(window_width=0)),
            'no step': lambda: counts.grids(self.grid(step_x=0)),
            'a model of no bins': lambda: counts.likelihood_maps(grid, [], measure),
            'a model of 7 bins': lambda: counts.likelihood_maps(grid, [1.0] * 7, measure),
            'a model of nan': lambda: counts.likelihood_maps(grid, [nan] * 8, measure),
            'a model of inf': lambda: counts.likelihood_maps(grid, [inf] * 8, measure),
            'a model below 0': lambda: counts.likelihood_maps(grid, [-1.0] * 8, measure),
            'an empty model': lambda: counts.likelihood_maps(grid, [0.0] * 8, measure),
            'a quantile of nan': lambda: counts.quantile_maps(grid, nan),
            'a quantile of 2': lambda: counts.quantile_maps(grid, 2),
            'no patches': lambda: counts.vote_maps(grid, [], [], 0, measure),
            'half a patch': lambda: counts.vote_maps(grid, [0, 0], even, 0, measure),
            'a patch without a model': lambda: counts.vote_maps(grid, [0, 0, 4, 4], [1.0] * 7, 0,
                                                               measure),
            'a rank of no patch': lambda: counts.vote_maps(grid, [0, 0, 4, 4], even, 1, measure),
        }
        huge = self.grid(columns=INT_MAX, rows=INT_MAX)
        questions.update({
            'a huge grid': lambda: counts.grids(huge),
            'a huge grid of likelihoods': lambda: counts.likelihood_maps(huge, even, measure),
            'a huge grid of quantiles': lambda: counts.quantile_maps(huge, 0.5),
            'a huge grid of votes': lambda: counts.vote_maps(huge, [0, 0, 4, 4], even, 0, measure),
        })
        for what, question in questions.items():
            self.begin(what)
            try:
                self.expect(False, what, f'no error, but {question()}')
            except self.glib.Error as error:
                self.expect(error.message, what, 'an error without a message')
        # these are answered, or refused by the bindings
        other = {
            'a wait': lambda: counts.wait(0),
            'a shard that is not there': lambda: counts.get_shard(2**32 - 1),
            'numbers that are none': lambda: counts.region('a', 0, 1, 1),
            'no grid': lambda: counts.grids(None),
            'extreme numbers': lambda: counts.region(INT_MIN, INT_MIN, INT_MAX, INT_MAX),
            'the device pointer of host memory': counts.get_device_pointer,
            'the whole tensor': counts.get_buffer,
            'windows of extreme places': lambda: counts.grids(self.grid(x=INT_MAX, y=INT_MIN)),
            'an element of extreme places':
                lambda: counts.get_element(tensor, 2**32 - 1, INT_MIN, INT_MAX),
            'an element of no buffer': lambda: counts.get_element(None, 0, 0, 0),
            'extreme steps': lambda: counts.grids(self.grid(step_x=INT_MAX, step_y=INT_MAX)),
        }
        for what, question in other.items():
            self.begin(what)
            try:
                question()
            except (TypeError, OverflowError, self.glib.Error):
                pass

    # frames

    def frames(self):
        elements = (f'{HISTOGRAM} bins=4', IMAGE, f'{HISTOGRAM} bins=4 cuda-device-ids=0,1')
        for (what, size, meta, fine), element in itertools.product(FRAMES, elements):
            what = f'{what}: {element}'
            self.begin(what)
            caps = 'video/x-raw,format=GRAY8,width=64,height=64,framerate=30/1'
            pipeline = self.gst.parse_launch(f'appsrc name=source format=time caps={caps} ! '
                                             f'{element} ! appsink name=sink sync=false')
            source, sink = map(pipeline.get_by_name, ('source', 'sink'))
            pipeline.set_state(self.gst.State.PLAYING)
            source.push_buffer(self.buffer(size, meta))
            source.end_of_stream()
            passed = sink.try_pull_sample(20 * self.gst.SECOND) is not None
            said = self.end(pipeline)
            self.expect(len(said) == (0 if passed else 1) and fine in (None, passed), what,
                        said or 'no error')

    def buffer(self, size, meta):
        buffer = self.gst.Buffer.new_wrapped(bytes(size)) if size else self.gst.Buffer.new()
        buffer.pts = 0
        if meta:
            name, width, height, offset, stride = meta
            self.video.buffer_add_video_meta_full(
                buffer, self.video.VideoFrameFlags.NONE, self.video.VideoFormat.from_string(name),
                width, height, 1, [offset, 0, 0, 0], [stride, 0, 0, 0])
        return buffer

    def good(self):
        """Checks that the process still computes."""
        self.begin('a good frame')
        counts = self.histogram(HISTOGRAM).region(0, 0, 64, 48)
        self.expect(sum(counts) == 64 * 48, 'a good frame', f'wrong counts: {counts}')


def try_all(order):
    for package in order.split(','):
        for module in PACKAGES.get(package, []):
            __import__(module)
    trials = Trials()
    if order == 'gi':  # the usual order, to compare with
        for module in itertools.chain(*PACKAGES.values()):
            __import__(module)
    for name in ('numpy', 'cv2', 'matplotlib'):
        if not sys.modules[name].__file__.startswith(sys.prefix):
            print(f'{name} is not from PyPI: {sys.modules[name].__file__}')
            return 1
    for part in (trials.settings, trials.questions, trials.frames, trials.good):
        part()
    print(f'{trials.tried} tried')
    for wrong in trials.wrong:
        print(f'wrong: {wrong}')
    return 1 if trials.wrong else 0


class ImportOrder(unittest.TestCase):
    def check(self, order):
        process = subprocess.run([sys.executable, os.path.abspath(__file__), order], check=False,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 errors='replace', timeout=TIMEOUT)
        ending = '\n'.join(process.stdout.splitlines()[-12:])
        if process.returncode < 0:
            ending += f'\n(ended by {signal.Signals(-process.returncode).name})'
        self.assertEqual(process.returncode, 0, f'{order}:\n{ending}')

    def test_gi_first(self):
        self.check('gi')


def add_orders():
    for order in itertools.permutations(PACKAGES):
        setattr(ImportOrder, 'test_' + '_'.join(order),
                lambda self, order=','.join(order): self.check(order))


if __name__ == '__main__':
    virtual_environment.enter()
    if len(sys.argv) > 1:
        sys.exit(try_all(sys.argv[1]))
    add_orders()
    unittest.main(verbosity=2)
