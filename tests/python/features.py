#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares the bin of every pixel, of each feature and format, with NumPy, OpenCV and scikit-image.

The bins are recovered from whole tensors: an element, less those to the left and above, is 1 where
the pixel is in the bin.

Environment:
  INTHIST_BACKEND=cpu|cuda  the element's backend (auto by default)
  INTHIST_SEED=N            of the random pictures (1 by default)
  PYTHON_VENV=folder        a virtual environment with the packages, as tests/run.sh makes it
"""
import os
import sys
import tempfile
import unittest

if __name__ == '__main__':
    PYTHON = os.path.join(os.environ.get('PYTHON_VENV', ''), 'bin', 'python')
    if not os.path.exists(PYTHON):
        print(f"SKIP: features: no {PYTHON}; tests/run.sh makes it, with PyPI's NumPy, OpenCV and "
              'scikit-image, where there is a network')
        sys.exit(77)
    if 'GI_TYPELIB_PATH' not in os.environ:
        print('SKIP: features: built without introspection (no GI_TYPELIB_PATH)')
        sys.exit(77)
    if sys.prefix != os.path.abspath(os.environ['PYTHON_VENV']):
        os.execv(PYTHON, [PYTHON, *sys.argv])

import cv2  # noqa: E402
import gi  # noqa: E402
import numpy  # noqa: E402
from skimage import feature as skimage_feature  # noqa: E402

gi.require_version('Gst', '1.0')
gi.require_version('GstApp', '1.0')
gi.require_version('GstVideo', '1.0')
gi.require_version('GstIntegralHist', '1.0')
# GstApp gives appsrc and appsink their methods
from gi.repository import Gst, GstApp, GstIntegralHist, GstVideo  # noqa: E402, F401

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../examples'))
from feature_truth import (FORMATS, Picture, Variant, bins_of, patterns,  # noqa: E402
                           uniform_labels)
from histquery import tensor_view  # noqa: E402

BACKEND = os.environ.get('INTHIST_BACKEND', 'auto')
SEED = int(os.environ.get('INTHIST_SEED', '1'))
TABLE = [5, 4, 3, 9, 2, 1, 0] * 36 + [2]  # the last values are in no bin
# feature, bins, quantization, and a table from values to bins
FEATURES = [
    ('luma', 32, (), None),
    ('luma', 6, (), TABLE),
    ('labels', 200, (), None),
    ('red', 7, (), None),
    ('green', 64, (), None),
    ('blue', 255, (), None),
    ('cb', 16, (), None),
    ('cr', 33, (), None),
    ('hue', 180, (), None),
    ('hue', 16, (), None),
    ('hue', 6, (), TABLE),
    ('saturation', 25, (), None),
    ('value', 12, (), None),
    ('rgb', 216, (), None),
    ('rgb', 252, (2, 9, 14), None),
    ('ycbcr', 256, (), None),
    ('ycbcr', 6, (3, 1, 40), TABLE),
    ('hue-saturation', 128, (), None),
    ('hue-saturation', 240, (30, 8), None),
    ('hsv', 256, (), None),
    ('hsv', 255, (255, 1, 1), None),
    ('gradient', 9, (), None),
    ('gradient', 180, (), None),
    ('gradient', 6, (), TABLE),
    ('gradient', 256, (), list(range(255, 75, -1))),  # more bins than sectors
    ('signed-gradient', 8, (), None),
    ('signed-gradient', 7, (), None),
    ('signed-gradient', 6, (), TABLE),
    ('signed-gradient', 180, (), None),
    ('lbp', 256, (), None),
    ('lbp', 6, (), TABLE),
    ('lbp', 200, (), TABLE),
    ('uniform-lbp', 59, (), None),
]
DEFAULT_PARTS = {'rgb': (6, 6, 6), 'ycbcr': (4, 8, 8), 'hue-saturation': (16, 8),
                 'hsv': (16, 4, 4)}
VARIANTS = [
    Variant(33, 21, matrix='bt601'),
    Variant(1, 1, matrix='bt709'),
    Variant(64, 48, 'aligned', matrix='bt709', full=True),
    Variant(33, 21, 'padded', (3, 5, 17, 11), matrix='bt2020'),
    Variant(30, 20, 'upside-down', (2, 1, 28, 18), matrix='bt601', full=True),
    Variant(17, 9, 'usual', (16, 8, 1, 1), matrix='bt2020', full=True),
    Variant(17, 9, 'aligned', (1, 0, 16, 9), matrix='bt709'),
]


class Stream:
    """Pictures in, tensors out"""

    def __init__(self, properties):
        self.pipeline = Gst.parse_launch(
            f'appsrc name=source format=time ! cudaintegralhist backend={BACKEND} tuning-time=0 '
            f'{properties} ! appsink name=sink sync=false enable-last-sample=false')
        self.source = self.pipeline.get_by_name('source')
        self.sink = self.pipeline.get_by_name('sink')

    def __enter__(self):
        self.pipeline.set_state(Gst.State.PLAYING)
        return self

    def __exit__(self, *_):
        self.pipeline.set_state(Gst.State.NULL)

    def histogram(self, picture):
        self.source.push_sample(Gst.Sample.new(picture.buffer(), picture.caps(), None, None))
        sample = self.sink.try_pull_sample(20 * Gst.SECOND)
        if sample is None:
            message = self.pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
            raise AssertionError(message.parse_error()[0].message if message else 'no frame')
        return GstIntegralHist.buffer_get_integral_histogram_meta(sample.get_buffer()).histogram


def bins_in(histogram):
    """The bin of each pixel by differences of the tensor, -1 of those that are in none"""
    with histogram.get_buffer().map(Gst.MapFlags.READ) as info:
        tensor = tensor_view(histogram, info.data).astype(numpy.int32)
    counts = numpy.diff(numpy.diff(tensor, axis=1, prepend=0), axis=2, prepend=0)
    some = counts.any(axis=0)
    assert counts.min() >= 0 and (counts.sum(axis=0) == some).all()
    return numpy.where(some, counts.argmax(axis=0), -1)


def properties_of(feature, bins, parts, table):
    text = f'feature={feature} bins={bins}'
    if parts:
        text += f' quantization="{",".join(map(str, parts))}"'
    if table:
        text += f' lut="{",".join(map(str, table))}"'
    return text


class Features(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        Gst.init(None)
        random = numpy.random.default_rng(SEED)
        cls.pictures = [Picture(name, variant, random) for name in FORMATS for variant in VARIANTS]

    def check(self, stream, picture, feature, bins, parts, table):
        histogram = stream.histogram(picture)
        self.assertEqual(histogram.get_bins(), bins)
        wanted = bins_of(feature, picture, bins, parts or DEFAULT_PARTS.get(feature, ()), table)
        numpy.testing.assert_array_equal(
            bins_in(histogram), wanted, f'{feature} {bins} of {picture.name} {picture.variant}')
        return wanted

    def test_every_pixel(self):
        for feature, bins, parts, table in FEATURES:
            used = set()
            with self.subTest(feature, bins=bins), \
                    Stream(properties_of(feature, bins, parts, table)) as stream:
                for picture in self.pictures:
                    if feature != 'labels' or picture.name == 'GRAY8':
                        used.update(numpy.unique(
                            self.check(stream, picture, feature, bins, parts, table)).tolist())
                # pictures of noise that miss bins or all pixels in none would prove little
                self.assertGreater(len(used), 0.7 * bins)
                if feature in ('labels', 'hue', 'gradient', 'signed-gradient'):
                    self.assertIn(-1, used)


if __name__ == '__main__':
    unittest.main(verbosity=2)
