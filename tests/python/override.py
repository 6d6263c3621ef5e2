#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Python override: questions with arrays in and out, tracks, documentation and types.

Environment:
  BUILD_ROOT=folder   the build directory, where the stub is
  PYTHON_VENV=folder  a virtual environment with mypy, as tests/run.sh makes it
"""
import glob
import os
import pydoc
import subprocess
import sys
import tempfile
import unittest

import gi
import numpy
import pipelines
from pipelines import ROOT, Gst, GstIntegralHist, counts_of

MISSING = pipelines.MISSING or ('' if hasattr(GstIntegralHist, 'tracks')
                                else 'the override is not found')
BUILD = os.environ.get('BUILD_ROOT', os.path.join(ROOT, 'build'))
MYPY = os.path.join(os.environ.get('PYTHON_VENV', ''), 'bin', 'mypy')
WIDTH, HEIGHT, BINS = 101, 67, 16


def buffers(line, frames=1):
    return pipelines.frames(f'videotestsrc pattern=snow num-buffers={frames} ! '
                            f'video/x-raw,format=GRAY8,width={WIDTH},height={HEIGHT} ! {line}')


@unittest.skipIf(MISSING, MISSING)
class Questions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        buffer = next(buffers(f'cudaintegralhist bins={BINS} backend=cpu'))
        cls.luma = pipelines.luma_of(buffer, WIDTH, HEIGHT)
        cls.histogram = GstIntegralHist.integral_histogram(buffer)

    def test_regions(self):
        rectangles = [(0, 0, WIDTH, HEIGHT), (3, 5, 20, 30), (90, 60, 50, 50), (-5, -5, 10, 10)]
        right = [counts_of(self.luma, *rectangle) for rectangle in rectangles]
        for asked in (rectangles, numpy.array(rectangles), [list(r) for r in rectangles]):
            counts = self.histogram.regions(asked)
            self.assertEqual((counts.dtype, counts.shape), ('uint32', (4, BINS)))
            numpy.testing.assert_array_equal(counts, right)
            sums = self.histogram.regions_sums(asked)
            self.assertEqual(sums.dtype, 'uint64')
            numpy.testing.assert_array_equal(sums, right)
        # the arguments that the function takes without the override, too
        flat = self.histogram.regions([number for r in rectangles for number in r])
        self.assertEqual(flat.get_data(), numpy.array(right, numpy.uint32).tobytes())
        self.assertEqual(self.histogram.regions(numpy.empty((0, 4), int)).shape, (0, BINS))
        self.assertEqual(self.histogram.region(width=20, height=30, x=3, y=5), right[1].tolist())
        for wrong in ([(1, 2, 3)], [(1.5, 2, 3, 4)], numpy.zeros((2, 4))):
            with self.assertRaisesRegex(ValueError, 'x, y, width, height in whole pixels'):
                self.histogram.regions(wrong)

    def test_integers_of_numpy(self):
        """All functions that take pixels take what has an __index__ ()"""
        for kind in 'int32', 'int64', 'uint8', 'uint64':
            box = numpy.array((40, 30, 20, 10), kind)
            right = counts_of(self.luma, 40, 30, 20, 10)
            one, seven = numpy.array((1, 7), kind)
            for counts in (self.histogram.region(*box), self.histogram.regions([tuple(box)])[0],
                           self.histogram.regions(box[None])[0],
                           numpy.frombuffer(self.histogram.regions(list(box)).get_data(), 'u4'),
                           self.histogram.grid(window=box[2:], origin=box[:2], columns=one,
                                               rows=one)[0, 0],
                           self.histogram.grid((box[2], 10), seven, origin=(5, 23))[1, 5]):
                numpy.testing.assert_array_equal(counts, right, kind)
            found = self.histogram.likelihood_maps(right, 'l1', window=box[2:], step=one)
            self.assertEqual(found.best[:2], (40, 30))
            medians = self.histogram.quantile_maps(window=box[3], step=seven, rows=one)
            numpy.testing.assert_array_equal(
                medians, self.histogram.quantile_maps(window=10, step=7, rows=1))
            grid = GstIntegralHist.IntegralHistogramGrid(*box[2:], x=box[0], y=box[1], columns=one)
            self.assertEqual(self.histogram.grids(grid).get_data(), right.astype('u4').tobytes())
        for question in self.histogram.region, self.histogram.region_sums:
            with self.assertRaisesRegex(ValueError, 'width is 5.5: pass a whole number of pixels'):
                question(0, 0, 5.5, 5)
            with self.assertRaisesRegex(ValueError, 'x is .*: pass a whole number of pixels'):
                question(x=numpy.float32(0.9), y=0, width=5, height=5)
        for none in numpy.empty((0, 4)), numpy.empty((0, 4), int), numpy.empty(0), [], ():
            self.assertEqual(self.histogram.regions(none).shape, (0, BINS))
            self.assertEqual(self.histogram.regions_sums(none).shape, (0, BINS))
        for wrong in 1.5, numpy.float32(20), (20, 1.5), numpy.array((20., 10.)), 'ab', None:
            with self.assertRaisesRegex(ValueError, 'window is .*: pass a whole number'):
                self.histogram.grid(window=wrong)
        for wrong in numpy.empty((3, 0)), numpy.empty((0, 4))[None]:
            with self.assertRaisesRegex(ValueError, 'x, y, width, height in whole pixels'):
                self.histogram.regions(wrong)

    def test_grid(self):
        for arguments, first, step, size in (
                ({}, (0, 0), (1, 1), (64, 64)),
                ({'window': (20, 10), 'step': 7}, (0, 0), (7, 7), (20, 10)),
                ({'window': 30, 'step': (5, 3), 'origin': (2, 4)}, (2, 4), (5, 3), (30, 30)),
                ({'window': 30, 'origin': -15, 'step': 10, 'columns': 12, 'rows': 3}, (-15, -15),
                 (10, 10), (30, 30))):
            counts = self.histogram.grid(**arguments)
            rows, columns, bins = counts.shape
            self.assertEqual(bins, BINS)
            if 'columns' not in arguments:
                self.assertEqual((columns, rows), ((WIDTH - first[0] - size[0]) // step[0] + 1,
                                                   (HEIGHT - first[1] - size[1]) // step[1] + 1))
            for row, column in ((0, 0), (rows - 1, columns - 1), (rows // 2, columns // 3)):
                numpy.testing.assert_array_equal(counts[row, column], counts_of(
                    self.luma, first[0] + column * step[0], first[1] + row * step[1], *size))
        for why, arguments in (('no window of 102x64', {'window': (102, 64)}),
                               ('step is 0: pass 1', {'step': 0}),
                               ('a whole number of pixels, or two', {'window': (1, 2, 3)})):
            with self.assertRaisesRegex(ValueError, why):
                self.histogram.grid(**arguments)

    def test_likelihood_maps(self):
        model = counts_of(self.luma, 20, 10, 30, 20)
        found = self.histogram.likelihood_maps(model, window=(30, 20))
        self.assertEqual(found.values.shape, (HEIGHT - 20 + 1, WIDTH - 30 + 1))
        self.assertEqual((found.best.x, found.best.y), (20, 10))
        self.assertEqual(found.best.value, found.values[10, 20])
        shares = self.histogram.grid(window=(30, 20)) / 600
        likeness = numpy.minimum(shares, model / model.sum()).sum(2)
        for measure in 'intersection', GstIntegralHist.IntegralHistogramMeasure.INTERSECTION:
            numpy.testing.assert_allclose(
                self.histogram.likelihood_maps(model, measure, window=(30, 20)).values, likeness,
                atol=1e-6)
        offset = self.histogram.likelihood_maps(model, 'l1', window=(30, 20), step=(5, 2),
                                                origin=(10, 4))
        self.assertEqual((offset.best.x, offset.best.y), (20, 10))
        with self.assertRaisesRegex(ValueError, 'no measure .cosine.: use one of intersection'):
            self.histogram.likelihood_maps(model, 'cosine')
        # the arguments that the function takes without the override, too
        grid = GstIntegralHist.IntegralHistogramGrid(30, 20, columns=72, rows=48)
        l1 = GstIntegralHist.IntegralHistogramMeasure.L1
        for answer in (self.histogram.likelihood_maps(grid, model.tolist(), l1),
                       self.histogram.likelihood_maps(grid=grid, model=model.tolist(),
                                                      measure=l1)):
            values, best = answer
            self.assertEqual(values.get_size(), 72 * 48 * 4)
            self.assertEqual(divmod(best.index, 72), (10, 20))

    def test_quantile_maps(self):
        bins = self.luma.astype(int) * BINS // 256
        medians = self.histogram.quantile_maps(window=(5, 3))
        windows = numpy.lib.stride_tricks.sliding_window_view(bins, (3, 5))
        numpy.testing.assert_array_equal(medians, numpy.median(windows, axis=(2, 3)))
        grid = GstIntegralHist.IntegralHistogramGrid(window_width=5, window_height=3)
        self.assertEqual(self.histogram.quantile_maps(grid, 0.5).get_size(), 4)

    def test_grid_fields(self):
        grid = GstIntegralHist.IntegralHistogramGrid(window_width=3)
        self.assertEqual((grid.window_width, grid.window_height, grid.step_x, grid.columns, grid.x),
                         (3, 1, 1, 1, 0))
        grid.rows = 7
        self.assertEqual(grid.rows, 7)

    def test_features(self):
        line = ('videoconvert ! video/x-raw,format=RGB ! cudaintegralhist backend=cpu ! '
                'cudaintegralhist feature=hue bins=8 backend=cpu')
        buffer = next(buffers(line))
        features = GstIntegralHist.IntegralHistogramFeature
        for feature, bins in ((None, 32), ('hue', 8), (features.HUE, 8), (features.LUMA, 32)):
            histogram = GstIntegralHist.integral_histogram(buffer, feature)
            self.assertEqual(histogram.shape, (bins, HEIGHT, WIDTH))
        self.assertEqual(GstIntegralHist.integral_histogram(buffer).regions([]).shape, (0, 32))
        self.assertIsNone(GstIntegralHist.integral_image(buffer))
        both = next(buffers(line + ' ! cudaintegralimage backend=cpu'))
        table = GstIntegralHist.integral_image(both)
        self.assertEqual(table.shape, (1, HEIGHT, WIDTH))
        self.assertEqual(GstIntegralHist.integral_histogram(both).shape, (32, HEIGHT, WIDTH))
        self.assertEqual(table.regions_sums([(0, 0, 2, 2), (1, 1, 5, 9)]).shape, (2, 1))
        self.assertEqual(table.regions_sums([]).shape, (0, 1))
        self.assertIn('\n    integral_image(',
                      pydoc.render_doc(GstIntegralHist, renderer=pydoc.plaintext))
        self.assertIsNone(GstIntegralHist.integral_histogram(buffer, 'red'))
        self.assertIsNone(GstIntegralHist.integral_histogram(Gst.Buffer()))
        with self.assertRaisesRegex(ValueError, 'no feature .pink.: use one of luma'):
            GstIntegralHist.integral_histogram(buffer, 'pink')


@unittest.skipIf(MISSING, MISSING)
class Tracks(unittest.TestCase):
    def test_tracks(self):
        line = ('videoconvert ! cudatrackfeatures backend=cpu qos=false ! '
                'integralhisttrack targets="10,10,30,30;60,20,20,40"')
        seen = 0
        for buffer in buffers(line, 3):
            tracks = GstIntegralHist.tracks(buffer)
            if not seen:
                first, second = tracks
                self.assertEqual(first[2:6], (10, 10, 30, 30))
                self.assertEqual(second[2:6], (60, 20, 20, 40))
                self.assertEqual((first.id, second.id, first.parent, first.kind,
                                  first.detection_confidence), (1, 2, -1, '', None))
            for track in tracks:
                self.assertTrue(0 <= track.confidence <= 1)
            seen += 1
        self.assertEqual(seen, 3)
        self.assertEqual(GstIntegralHist.tracks(Gst.Buffer()), [])

    def test_all_fields(self):
        buffer = Gst.Buffer()
        meta = GstIntegralHist.buffer_add_integral_histogram_tracks_meta(buffer, 640, 480)
        for text in (
                'track, id=(uint)12, parent=3, x=5, y=6, width=7, height=8, '
                'confidence=(double)0.5, lost=(boolean)true, class=person, '
                'detection-confidence=(double)0.25, former-id=(uint)13',
                'track, id=(uint)4000000000, x=1, y=2, width=3, height=4'):
            self.assertTrue(meta.add_track(Gst.Structure.new_from_string(text)))
        first, second = GstIntegralHist.tracks(buffer)
        self.assertEqual(first, GstIntegralHist.Track(
            id=12, parent=3, x=5, y=6, width=7, height=8, confidence=0.5, lost=True, kind='person',
            detection_confidence=0.25, former_id=13))
        self.assertEqual((second.id, second[2:6], second.lost, second.kind, second.former_id),
                         (4000000000, (1, 2, 3, 4), False, '', 0))


@unittest.skipIf(MISSING, MISSING)
class Documentation(unittest.TestCase):
    def test_everything_has_a_text(self):
        bare = []
        module = GstIntegralHist._introspection_module
        for name in dir(module):
            thing = getattr(GstIntegralHist, name)
            if name.startswith('_'):
                continue
            if callable(thing) and not (thing.__doc__ or '').strip():
                bare.append(name)
            if isinstance(thing, type) and issubclass(thing, gi._gi.Struct):
                for method in set(dir(thing)) - set(dir(gi._gi.Boxed)):
                    value = getattr(thing, method)
                    if (not method.startswith('__') and callable(value)
                            and not (value.__doc__ or '').strip()):
                        bare.append(f'{name}.{method}')
        self.assertEqual(bare, [])

    def test_help(self):
        for thing, texts in (
                (GstIntegralHist.IntegralHistogram.region,
                 ['region(self, x, y, width, height)', 'The rectangle is', 'GLib.Error']),
                (GstIntegralHist.IntegralHistogram.wait, ['wait(self, timeout)', 'nanoseconds']),
                (GstIntegralHist.IntegralHistogram.grid, ['window: Pair = (64, 64)', 'origin']),
                (GstIntegralHist.IntegralHistogramMeta.region, ['the frame that carries meta']),
                (GstIntegralHist.buffer_get_integral_histogram_meta,
                 ['buffer_get_integral_histogram_meta(buffer)', 'the first integral histogram']),
                (GstIntegralHist.IntegralHistogram, ['padded', '.clone()', 'modulo 65536'])):
            text = pydoc.render_doc(thing, renderer=pydoc.plaintext)
            text = text.replace("'Pair'", 'Pair')  # it has quotes before Python 3.14
            for part in texts:
                self.assertIn(part, text)
            self.assertNotIn('FunctionInfo', text)
            self.assertNotRegex(text, r'gst_integral_histogram_region\(\)|%NULL|#Gst')

    def test_classes(self):
        """Functions return, and fields have, the classes of the override."""
        buffer = next(buffers('cudaintegralhist backend=cpu'))
        meta = GstIntegralHist.buffer_get_integral_histogram_meta(buffer)
        for histogram in meta.histogram, meta.histogram.get_shard(0)[0], meta.histogram.ref():
            self.assertIs(type(histogram), GstIntegralHist.IntegralHistogram)
        self.assertEqual(meta.region(0, 0, 5, 5), meta.histogram.region(0, 0, 5, 5))


@unittest.skipIf(MISSING, MISSING)
class WithoutNumPy(unittest.TestCase):
    def test_without_numpy(self):
        program = (
            'import sys; sys.modules["numpy"] = None\n'
            'import gi; gi.require_versions({"Gst": "1.0", "GstApp": "1.0", '
            '"GstIntegralHist": "1.0"})\n'
            'from gi.repository import Gst, GstApp, GstIntegralHist\n'
            'Gst.init(None)\n'
            'p = Gst.parse_launch("videotestsrc num-buffers=1 ! cudaintegralhist backend=cpu ! '
            'appsink name=sink")\n'
            'p.set_state(Gst.State.PLAYING)\n'
            'h = GstIntegralHist.integral_histogram('
            'p.get_by_name("sink").pull_sample().get_buffer())\n'
            'p.set_state(Gst.State.NULL)\n'
            'print(sum(h.region(0, 0, 10, 10)), h.regions([0, 0, 10, 10]).get_size())\n'
            'try:\n    h.numpy()\nexcept ImportError as error:\n    print(error)\n')
        ended = subprocess.run([sys.executable, '-c', program], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(ended.returncode, 0, ended.stdout)
        self.assertEqual(ended.stdout.splitlines()[0], '100 128')
        self.assertIn('install python3-numpy', ended.stdout)


@unittest.skipIf(MISSING, MISSING)
class Examples(unittest.TestCase):
    def run_example(self, name, *arguments, without=()):
        block = f'import sys; sys.modules.update(dict.fromkeys({without!r}))'
        with tempfile.TemporaryDirectory() as place:
            with open(os.path.join(place, 'sitecustomize.py'), 'w', encoding='utf-8') as file:
                file.write(block)
            path = os.pathsep.join([place, os.environ.get('PYTHONPATH', '')])
            return subprocess.run(
                [sys.executable, os.path.join(ROOT, 'examples', name), *arguments],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                env={**os.environ, 'PYTHONPATH': path})

    def test_numpy_regions(self):
        ended = self.run_example('numpy_regions.py')
        self.assertEqual(ended.returncode, 0, ended.stdout)
        lines = ended.stdout.splitlines()
        self.assertEqual((len(lines), lines[-1]), (7, '90 frames'))
        self.assertRegex(lines[2], r'frame +45  brightness +\d+ %  most change in column \d, row')

    def test_help(self):
        """An example says what it is for, also without what it needs"""
        names = sorted(set(glob.glob(os.path.join(ROOT, 'examples', '*.py')))
                       - {os.path.join(ROOT, 'examples', 'brokers.py')})  # a module of others
        self.assertGreaterEqual(len(names), 10)
        for name in names:
            for without in (), ('gi', 'numpy', 'torch', 'cupy', 'cv2', 'pyarrow', 'paho', 'nats'):
                for option in '--help', '-h':
                    ended = self.run_example(name, option, without=without)
                    self.assertEqual(ended.returncode, 0, ended.stdout)
                    with open(name, encoding='utf-8') as file:
                        usage = file.read().split('"""')[1].splitlines()[0]
                    self.assertIn(usage, ended.stdout)
                    self.assertNotIn('No module named', ended.stdout)

    def test_missing_packages(self):
        for name, package in (('numpy_regions.py', 'numpy'), ('torch_model.py', 'torch'),
                              ('cupy_histograms.py', 'cupy')):
            ended = self.run_example(name, without=(package,))
            self.assertEqual(ended.returncode, 1, ended.stdout)
            self.assertIn(package, ended.stdout.splitlines()[0])
            self.assertIn('It needs', ended.stdout)


RIGHT = '''
import numpy as np
from gi.repository import GstIntegralHist
def use(histogram: GstIntegralHist.IntegralHistogram) -> list[int]:
    bins, height, width = histogram.shape
    tensor = histogram.numpy()
    counts = histogram.grid(window=(16, 16), step=np.int32(4), origin=np.array([1, 2])[0])
    best = histogram.likelihood_maps(counts[0, 0], 'l1', window=16).best
    histogram.wait(timeout=0)
    counter: GstIntegralHist.IntegralHistogramCounter = histogram.get_counter()
    return histogram.region(best.x, best.y, width, height)
'''
WRONG = {
    'histogram.region("a", 0, 1, 1)': 'incompatible type "str"',
    'histogram.grid(windows=3)': 'Unexpected keyword argument "windows"',
    'histogram.shapes': 'has no attribute "shapes"',
    'GstIntegralHist.tracks(1, 2)': 'Too many arguments',
}


class Types(unittest.TestCase):
    def test_stub(self):
        stub = os.path.join(BUILD, 'python', 'gi', 'overrides', 'GstIntegralHist.pyi')
        if not os.path.exists(MYPY):
            print('SKIP: override: no mypy; tests/run.sh installs it where there is a network')
            self.skipTest('no mypy')
        with tempfile.TemporaryDirectory() as place:
            folder = os.path.join(place, 'gi', 'repository')
            os.makedirs(folder)
            for package in os.path.join(place, 'gi'), folder:
                open(os.path.join(package, '__init__.pyi'), 'w', encoding='utf-8').close()
            os.symlink(stub, os.path.join(folder, 'GstIntegralHist.pyi'))
            program = os.path.join(place, 'program.py')

            def check(text):
                with open(program, 'w', encoding='utf-8') as file:
                    file.write(text)
                return subprocess.run(
                    [MYPY, '--strict', '--cache-dir', os.path.join(place, 'cache'), program],
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                    cwd=place, env={**os.environ, 'MYPYPATH': place})

            checked = check(RIGHT)
            self.assertEqual(checked.returncode, 0, checked.stdout)
            lines = RIGHT + ''.join(f'    {line}\n' for line in WRONG)
            checked = check(lines.replace('    return', '    assert best\n    return', 1).replace(
                '    return histogram.region(best.x, best.y, width, height)\n', '', 1))
            for said in WRONG.values():
                self.assertIn(said, checked.stdout)


if __name__ == '__main__':
    unittest.main(verbosity=2)
