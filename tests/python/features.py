#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares the bin of every pixel, of each feature and format, with NumPy, OpenCV and scikit-image.

The bins are recovered from whole tensors: an element, less those to the left and above, is 1 if
the pixel is in the bin.

Environment:
  INTHIST_BACKEND=cpu|cuda  the element's backend (auto by default)
  INTHIST_SEED=N            of the random pictures (1 by default)
  PYTHON_VENV=folder        a virtual environment with the packages, as tests/run.sh makes it
"""
import os
import sys
import unittest

if __name__ == '__main__':
    import virtual_environment
    virtual_environment.enter()

import cv2  # noqa: E402
import numpy  # noqa: E402
from skimage import feature as skimage_feature  # noqa: E402

from feature_truth import DEFAULT_PARTS, FORMATS, Picture, Variant, bins_of  # noqa: E402
from pipelines import BACKEND, EXAMPLES, Gst, GstIntegralHist  # noqa: E402

sys.path.insert(0, EXAMPLES)
from histquery import tensor_view  # noqa: E402

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
    ('gradient', 255, (), list(range(254, 74, -1))),  # more bins than sectors
    ('signed-gradient', 8, (), None),
    ('signed-gradient', 7, (), None),
    ('signed-gradient', 6, (), TABLE),
    ('signed-gradient', 180, (), None),
    ('lbp', 256, (), None),
    ('lbp', 6, (), TABLE),
    ('lbp', 200, (), TABLE),
    ('uniform-lbp', 59, (), None),
]
VARIANTS = [
    Variant(33, 21, matrix='bt601'),
    Variant(1, 1, matrix='bt709'),
    Variant(64, 48, 'aligned', matrix='bt709', full=True),
    Variant(33, 21, 'padded', (3, 5, 17, 11), matrix='bt2020'),
    Variant(30, 20, 'upside-down', (2, 1, 28, 18), matrix='bt601', full=True),
    Variant(17, 9, 'usual', (16, 8, 1, 1), matrix='bt2020', full=True),
    Variant(17, 9, 'aligned', (1, 0, 16, 9), matrix='bt709'),
    Variant(33, 22, matrix='bt601', interlace='interleaved'),
    Variant(33, 21, 'padded', (3, 7, 17, 11), interlace='interleaved'),
    Variant(34, 24, 'aligned', (0, 2, 33, 19), interlace='mixed', has_fields=True),
    Variant(34, 24, 'upside-down', (1, 1, 33, 22), interlace='mixed'),
]


class Stream:
    """Pictures in, tensors out"""

    def __init__(self, properties, element='cudaintegralhist'):
        self.pipeline = Gst.parse_launch(
            f'appsrc name=source format=time ! {element} name=element backend={BACKEND} '
            f'tuning-time=0 {properties} ! appsink name=sink sync=false enable-last-sample=false')
        self.source = self.pipeline.get_by_name('source')
        self.sink = self.pipeline.get_by_name('sink')
        self.element = self.pipeline.get_by_name('element')

    def __enter__(self):
        self.pipeline.set_state(Gst.State.PLAYING)
        return self

    def __exit__(self, *_):
        self.pipeline.set_state(Gst.State.NULL)

    def takes(self, picture):
        return self.element.get_static_pad('sink').query_caps(None).can_intersect(picture.caps())

    def histogram(self, picture):
        self.source.push_sample(Gst.Sample.new(picture.buffer(), picture.caps(), None, None))
        sample = self.sink.try_pull_sample(20 * Gst.SECOND)
        if sample is None:
            message = self.pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
            raise AssertionError(message.parse_error()[0].message if message else 'no frame')
        return GstIntegralHist.buffer_get_integral_histogram_meta(sample.get_buffer()).histogram


def pixels_in(histogram):
    """The amount that each pixel adds to each bin, by differences of the tensor, modulo 2^32"""
    with histogram.get_buffer().map(Gst.MapFlags.READ) as info:
        tensor = tensor_view(histogram, info.data).view(numpy.int32)
        rows = tensor.copy()
        rows[:, 1:] -= tensor[:, :-1]
    found = rows.copy()
    found[:, :, 1:] -= rows[:, :, :-1]
    return found


def bins_in(histogram):
    """The bin of each pixel, -1 for pixels without a bin"""
    counts = pixels_in(histogram)
    found = counts.argmax(axis=0)
    there = numpy.take_along_axis(counts, found[None], 0)[0]
    assert there.max() <= 1 and numpy.count_nonzero(counts) == there.sum()
    return numpy.where(there, found, -1)


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
        random = numpy.random.default_rng(SEED)
        cls.pictures = [Picture(name, variant, random) for name in FORMATS for variant in VARIANTS]

    def check(self, stream, picture, feature, bins, parts, table):
        histogram = stream.histogram(picture)
        self.assertEqual(histogram.get_bins(), bins)
        wanted = bins_of(feature, picture, bins, parts or DEFAULT_PARTS.get(feature, ()), table)
        numpy.testing.assert_array_equal(
            bins_in(histogram), wanted, f'{feature} {bins} of {picture.name} {picture.variant}')
        return wanted

    def test_no_feature_is_left_out(self):
        values = GstIntegralHist.IntegralHistogramFeature.__enum_values__.values()
        self.assertEqual({feature for feature, *_ in FEATURES},
                         {value.value_nick for value in values})

    def test_every_pixel(self):
        for feature, bins, parts, table in FEATURES:
            used = set()
            with self.subTest(feature, bins=bins), \
                    Stream(properties_of(feature, bins, parts, table)) as stream:
                taken = [picture for picture in self.pictures if stream.takes(picture)]
                self.assertEqual(taken, [picture for picture in self.pictures
                                         if feature != 'labels' or picture.name == 'GRAY8'])
                for picture in taken:
                    used.update(numpy.unique(
                        self.check(stream, picture, feature, bins, parts, table)).tolist())
                # pictures of noise that miss bins or all pixels in none would prove little
                self.assertGreater(len(used), 0.7 * (len(set(table)) if table else bins))
                if feature in ('labels', 'hue', 'gradient', 'signed-gradient'):
                    self.assertIn(-1, used)

    def test_ranges(self):
        """Ranges of the bins, one behind the other, have each pixel's bin once."""
        for feature, bins, parts, table in FEATURES:
            edges = sorted({0, 1, bins // 3, bins - 1, bins})
            for first, end in zip(edges, edges[1:]):
                range_of = f'first-bin={first} n-bins={end - first}'
                with self.subTest(feature, bins=bins, range=range_of), Stream(
                        f'{properties_of(feature, bins, parts, table)} {range_of}') as stream:
                    for picture in filter(stream.takes, self.pictures[::5]):
                        histogram = stream.histogram(picture)
                        self.assertEqual(
                            (histogram.get_first_bin(), histogram.get_bins(),
                             histogram.get_all_bins()), (first, end - first, bins))
                        all_bins = bins_of(feature, picture, bins,
                                           parts or DEFAULT_PARTS.get(feature, ()), table)
                        wanted = numpy.where((all_bins >= first) & (all_bins < end),
                                             all_bins - first, -1)
                        numpy.testing.assert_array_equal(
                            bins_in(histogram), wanted,
                            f'{feature} {first} to {end} of {picture.name} {picture.variant}')

    def test_ways(self):
        """Parts of bins, strips of rows and frames on demand have the same bins, of all planes."""
        random = numpy.random.default_rng(SEED)
        variants = [Variant(131, 203, matrix='bt601'), Variant(131, 203, 'padded', (3, 5, 97, 187)),
                    Variant(130, 200, 'upside-down', (1, 1, 129, 199), 'bt2020'),
                    Variant(130, 202, 'padded', (1, 3, 129, 197), interlace='interleaved')]
        pictures = [Picture(name, variant, random) for name in ('NV12', 'YV12', 'UYVY', 'BGRx')
                    for variant in variants]
        for way in ('compute=eager', 'compute=on-demand',
                    'backend=cpu compute=eager cuda-device-ids=0,1,2 task-bins=3',
                    'backend=cpu compute=on-demand cuda-device-ids=0,1,2 task-bins=3',
                    'max-device-memory=700000', 'max-device-memory=1000000 task-bins=2'):
            for feature, bins in (('luma', 16), ('hue', 16), ('ycbcr', 256), ('gradient', 9),
                                  ('signed-gradient', 12), ('lbp', 256)):
                with self.subTest(way, feature=feature), Stream(
                        f'{properties_of(feature, bins, (), None)} {way}') as stream:
                    for picture in pictures:
                        self.check(stream, picture, feature, bins, (), None)

    def test_opencv_histograms(self):
        """Histograms as camshiftdemo and OpenCV's tutorials count them, without and with a mask"""
        picture = Picture('RGB', Variant(64, 48), numpy.random.default_rng(SEED))
        hsv = numpy.stack(picture.hsv, axis=-1).astype(numpy.uint8)
        rgb = numpy.stack(picture.rgb, axis=-1).astype(numpy.uint8)
        mask = cv2.inRange(hsv, (0, 30, 10), (180, 256, 256))
        for feature, image, which, used, parts, ranges in (
                ('hue', hsv, [0], mask, [16], [0, 180]),
                ('hue-saturation', hsv, [0, 1], None, [16, 8], [0, 180, 0, 256]),
                ('hsv', hsv, [0, 1, 2], None, [16, 4, 4], [0, 180, 0, 256, 0, 256]),
                ('rgb', rgb, [0, 1, 2], None, [6, 6, 6], [0, 256] * 3)):
            with self.subTest(feature), Stream(f'feature={feature} bins=16') as stream:
                counts = stream.histogram(picture).region(0, 0, 64, 48)
                wanted = cv2.calcHist([image], which, used, parts, ranges)
                numpy.testing.assert_array_equal(counts, wanted.ravel().astype(int))

    def test_scikit_image(self):
        """All patterns, in patches whose corners decide between pixels as they do by themselves"""
        around = [(1, 2), (0, 2), (0, 1), (0, 0), (1, 0), (2, 0), (2, 1), (2, 2)]  # y, x
        luma = numpy.full((48, 48), 128, numpy.uint8)
        for pattern in range(256):
            y, x = pattern // 16 * 3, pattern % 16 * 3
            for bit, (dy, dx) in enumerate(around):
                far = 100 if bit % 2 else 1  # between pixels, corners outweigh edges
                luma[y + dy, x + dx] = 128 + far if pattern >> bit & 1 else 128 - far
        picture = Picture('GRAY8', Variant(48, 48), numpy.random.default_rng(SEED), luma)
        centres = slice(1, None, 3)
        labels = skimage_feature.local_binary_pattern(luma, 8, 1, 'nri_uniform')
        codes = skimage_feature.local_binary_pattern(luma, 8, 1, 'default')
        sums = luma.astype(numpy.int64).cumsum(0).cumsum(1).astype(numpy.float32)
        blocks = numpy.array([[skimage_feature.multiblock_lbp(sums, y, x, 1, 1)
                               for x in range(0, 46)] for y in range(0, 46)])
        with Stream('feature=lbp') as stream:
            found = bins_in(stream.histogram(picture))
        numpy.testing.assert_array_equal(found[centres, centres].ravel(), range(256))
        numpy.testing.assert_array_equal(found[centres, centres], codes[centres, centres])
        clockwise = [3, 2, 1, 0, 7, 6, 5, 4]  # our bits from the upper left corner on
        mapped = sum((found >> bit & 1) << (7 - i) for i, bit in enumerate(clockwise))
        numpy.testing.assert_array_equal(mapped[1:-1, 1:-1], blocks)
        with Stream('feature=uniform-lbp') as stream:
            found = bins_in(stream.histogram(picture))
        numpy.testing.assert_array_equal(found[centres, centres], labels[centres, centres])


if __name__ == '__main__':
    unittest.main(verbosity=2)
