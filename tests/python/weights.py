#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares what every pixel adds to each bin, with weights and soft bins, with NumPy and OpenCV.

Environment: that of features.py
"""
import unittest

if __name__ == '__main__':
    import virtual_environment
    virtual_environment.enter()

import cv2  # noqa: E402
import numpy  # noqa: E402
from features import SEED, VARIANTS, GstIntegralHist, Stream, pixels_in  # noqa: E402
from features import properties_of  # noqa: E402
from feature_truth import DEFAULT_PARTS, FORMATS, TURNS, Picture, Variant  # noqa: E402
from feature_truth import bins_of, one_hot, shares_of, weights_of  # noqa: E402
from pipelines import frames, inside, messages, playing, pull, run  # noqa: E402

from questions import GRIDS, corners, emd, grid_of, intersection, linear, shares  # noqa: E402

# feature, bins, weight, soft
CASES = [
    ('luma', 32, 'gradient', False),
    ('luma', 32, 'one', True),
    ('luma', 1, 'one', True),
    ('luma', 255, 'gradient', True),
    ('red', 7, 'one', True),
    ('cb', 16, 'gradient', True),
    ('hue', 16, 'one', True),
    ('hue', 180, 'gradient', True),
    ('hue', 2, 'one', True),
    ('hsv', 256, 'gradient', False),
    ('ycbcr', 256, 'gradient', False),
    ('gradient', 9, 'gradient', False),
    ('gradient', 9, 'gradient', True),
    ('gradient', 1, 'gradient', True),
    ('gradient', 180, 'gradient', True),
    ('gradient', 9, 'one', True),
    ('signed-gradient', 18, 'gradient', True),
    ('signed-gradient', 2, 'one', True),
    ('lbp', 256, 'gradient', False),
    ('uniform-lbp', 59, 'gradient', False),
]


def bhattacharyya(sums, model):
    return numpy.sqrt(max(0, 1 - numpy.sqrt(shares(sums) * shares(model)).sum()))


def text_of(feature, bins, weight, soft):
    return f'{properties_of(feature, bins, (), None)} weight={weight} soft={str(soft).lower()}'


class Weights(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        random = numpy.random.default_rng(SEED)
        cls.pictures = [Picture(name, variant, random) for name in FORMATS
                        for variant in VARIANTS]

    def check(self, stream, picture, feature, bins, weight, soft):
        histogram = stream.histogram(picture)
        self.assertEqual(histogram.get_content().value_nick, 'weights')
        self.assertEqual(histogram.get_weight().value_nick, weight)
        self.assertEqual(histogram.get_soft(), soft)
        self.assertEqual(histogram.get_weight_unit(),
                         8 if weight == 'gradient' else 256 if soft else 1)
        found = pixels_in(histogram)
        weights = weights_of(picture, weight, soft)
        what = f'{feature} {bins} {weight} {soft} of {picture.name} {picture.variant}'
        if not soft:
            counted = bins_of(feature, picture, bins, DEFAULT_PARTS.get(feature, ()))
            there = numpy.take_along_axis(found, counted.clip(0)[None], 0)[0]
            numpy.testing.assert_array_equal(there, numpy.where(counted < 0, 0, weights), what)
            self.assertEqual(numpy.count_nonzero(found), numpy.count_nonzero(there), what)
            return
        wanted = shares_of(feature, picture, bins, weights)
        numpy.testing.assert_array_equal(found.sum(axis=0), wanted.sum(axis=0), what)
        if feature not in TURNS:
            numpy.testing.assert_array_equal(found, wanted, what)
            return
        # the angle is off by up to 3 parts of 2^17 of a half turn, which another 1/256 may follow
        self.assertTrue((abs(found - wanted) <= weights / 256 + 1).all(), what)
        self.assertLess((found != wanted).mean(), 0.02 + 0.002 * bins, what)

    def test_every_pixel(self):
        for case in CASES:
            with self.subTest(case), Stream(text_of(*case)) as stream:
                for picture in self.pictures:
                    self.check(stream, picture, *case)

    def test_ways(self):
        """Parts of bins, strips of rows and frames on demand have the same weights."""
        random = numpy.random.default_rng(SEED)
        variants = [Variant(131, 203, matrix='bt601'), Variant(131, 203, 'padded', (3, 5, 97, 187)),
                    Variant(130, 200, 'upside-down', (1, 1, 129, 199), 'bt2020')]
        pictures = [Picture(name, variant, random) for name in ('NV12', 'UYVY', 'BGRx')
                    for variant in variants]
        for way in ('compute=eager', 'compute=on-demand', 'compute=eager strategy=serial',
                    'backend=cpu compute=eager cuda-device-ids=0,1,2 task-bins=2',
                    'backend=cpu compute=on-demand cuda-device-ids=0,1,2 task-bins=1',
                    'backend=cpu max-device-memory=700000',
                    'backend=cpu max-device-memory=1000000 task-bins=2'):
            for case in (('luma', 8, 'one', True), ('hue', 5, 'gradient', True),
                         ('gradient', 9, 'gradient', True), ('lbp', 256, 'gradient', False)):
                with self.subTest(way, case=case), Stream(f'{text_of(*case)} {way}') as stream:
                    for picture in pictures:
                        self.check(stream, picture, *case)

    def test_regions(self):
        """Regions of any size, also with sums of more than 32 bits"""
        width, height = 4096, 1030
        stripes = numpy.tile(numpy.array([0, 0, 255, 255], numpy.uint8), (height, width // 4))
        noise = numpy.random.default_rng(SEED)
        stripes[:, 2000:2200] = noise.integers(0, 256, (height, 200))
        picture = Picture('GRAY8', Variant(width, height), noise, stripes)
        wanted = shares_of('gradient', picture, 2, weights_of(picture, 'gradient', True))
        rectangles = [(0, 0, width, height), (-5, 7, 2100, 1000), (1990, 11, 7, 9),
                      (1, 1, width - 1, 300), (2000, 0, 200, height), (width, 0, 1, 1)]
        for compute in ('eager', 'on-demand'):
            with Stream(f'{text_of("gradient", 2, "gradient", True)} compute={compute}') as stream:
                histogram = stream.histogram(picture)
                pixels = pixels_in(histogram) if compute == 'eager' else None
                if pixels is not None:
                    wanted = pixels  # which test_every_pixel compares; here sums count
                for x, y, w, h in rectangles:
                    part = inside(wanted, x, y, w, h)
                    sums = part.sum(axis=(1, 2))
                    numpy.testing.assert_array_equal(histogram.region_sums(x, y, w, h), sums)
                    if sums.max() < 2**32:
                        numpy.testing.assert_array_equal(histogram.region(x, y, w, h), sums)
                    else:
                        with self.assertRaisesRegex(Exception, 'does not fit 32 bits'):
                            histogram.region(x, y, w, h)
        self.assertGreater(wanted.sum(), 2**32)

    def test_questions(self):
        """Measures, quantiles and votes of weights: for any frame, the same bits in all ways"""
        random = numpy.random.default_rng(SEED)
        picture = Picture('BGRx', Variant(131, 97, 'padded', (3, 5, 101, 67)), random)
        nicks = GstIntegralHist.IntegralHistogramMeasure
        patches = [(0, 0, 20, 10), (20, 0, 9, 30), (-30, -30, 5, 5), (7, 3, 11, 13)]
        for case in (('luma', 8, 'one', True), ('hue', 5, 'gradient', True),
                     ('gradient', 9, 'gradient', True), ('lbp', 256, 'gradient', False)):
            bins, answers = case[1], []
            model = random.random(bins)
            signed = random.random(bins) * 2 - 1
            for way in ('compute=eager', 'compute=on-demand', 'compute=eager strategy=serial',
                        'backend=cpu compute=eager cuda-device-ids=0,1,2 task-bins=2',
                        'backend=cpu compute=on-demand cuda-device-ids=0,1,2 task-bins=1'):
                answers.append([])
                with Stream(f'{text_of(*case)} {way}') as stream:
                    histogram = stream.histogram(picture)
                for fields in GRIDS:
                    grid = grid_of(fields)
                    for measure, formula in ((nicks.INTERSECTION, intersection), (nicks.EMD, emd),
                                             (nicks.BHATTACHARYYA, bhattacharyya),
                                             (nicks.LINEAR, linear)):
                        of = signed if formula is linear else model
                        values, best = histogram.likelihood_maps(grid, of.tolist(), measure)
                        answers[-1].append((formula, grid, of, values.get_data(), best.index))
                        votes, best = histogram.vote_maps(
                            grid, numpy.ravel(patches).tolist(), of.tolist() * 4, 1, measure)
                        answers[-1].append((formula, grid, of, votes.get_data(), best.index))
                    for q in (0, 0.3, 0.5, 1):
                        answers[-1].append((q, grid, None, histogram.quantile_maps(
                            grid, q).get_data(), 0))
                    answers[-1].append((None, grid, None, histogram.grids(grid).get_data(), 0))
                if way == 'compute=eager':
                    pixels = pixels_in(histogram)  # which test_every_pixel compares

            def sums_of(x, y, width, height):
                return inside(pixels, x, y, width, height).sum(axis=(1, 2))

            for i, (what, grid, of, data, index) in enumerate(answers[0]):
                for way in answers[1:]:
                    self.assertEqual((data, index), way[i][3:])
                windows = [sums_of(x, y, grid.window_width, grid.window_height)
                           for x, y in corners(grid)]
                if what is None:
                    numpy.testing.assert_array_equal(
                        numpy.frombuffer(data, numpy.uint32).reshape(-1, bins), windows)
                elif callable(what):
                    found = numpy.frombuffer(data, numpy.float32)
                    similar = what in (intersection, linear)
                    if i % 13 % 2 == 0:  # a map, and else votes
                        wanted = [what(sums, of) for sums in windows]
                    else:
                        wanted = [sorted((what(sums_of(x + dx, y + dy, w, h), of)
                                          for dx, dy, w, h in patches), reverse=similar)[1]
                                  for x, y in corners(grid)]
                    # the root of a difference has half of its digits
                    atol = 1e-3 if what is bhattacharyya else 1e-5
                    numpy.testing.assert_allclose(found, wanted, 1e-5, atol, err_msg=str(case))
                    self.assertEqual(found[index], found.max() if similar else found.min())
                else:
                    totals = [sums.sum() for sums in windows]
                    wanted = [-1 if total == 0 else int(numpy.argmax(
                        sums.cumsum() >= max(1, numpy.ceil(what * total))))
                        for sums, total in zip(windows, totals)]
                    numpy.testing.assert_array_equal(
                        numpy.frombuffer(data, numpy.int32), wanted, str(case))

    def test_large_windows(self):
        """Windows whose weights add up to more than 32 bits"""
        stripes = numpy.tile(numpy.array([0, 0, 255, 255], numpy.uint8), (1030, 1024))
        stripes[:300, :1000] //= 2
        picture = Picture('GRAY8', Variant(4096, 1030), numpy.random.default_rng(SEED), stripes)
        measures = GstIntegralHist.IntegralHistogramMeasure
        grid = grid_of({'window_width': 4000, 'window_height': 1030, 'x': -50, 'y': 0,
                        'step_x': 60, 'step_y': 1, 'columns': 3, 'rows': 1})
        for compute in ('eager', 'on-demand'):
            with Stream(f'{text_of("luma", 3, "gradient", False)} compute={compute}') as stream:
                histogram = stream.histogram(picture)
            lengths = weights_of(picture, 'gradient', False)
            dark = bins_of('luma', picture, 3, ())
            wanted = one_hot(dark, lengths, 3)
            for i, (x, _) in enumerate(corners(grid)):
                sums = wanted[:, :, max(x, 0):x + 4000].sum(axis=(1, 2))
                values, _ = histogram.likelihood_maps(grid, [1, 2, 3], measures.L1)
                numpy.testing.assert_allclose(
                    numpy.frombuffer(values.get_data(), numpy.float32)[i],
                    abs(shares(sums) - shares([1, 2, 3])).sum(), atol=1e-6)
                found = numpy.frombuffer(histogram.quantile_maps(grid, 0.5).get_data(),
                                         numpy.int32)[i]
                self.assertEqual(found, numpy.argmax(2 * sums.cumsum() >= sums.sum()))
            self.assertGreater(sums.sum(), 2**32)
            with self.assertRaisesRegex(Exception, 'more than 1048832 pixels may not fit 32 bits'):
                histogram.grids(grid)

    def test_messages(self):
        """Messages say what regions add up to, and in which unit."""
        with playing(
                'videotestsrc num-buffers=1 pattern=snow ! '
                'video/x-raw,format=GRAY8,width=64,height=48 ! cudaintegralhist feature=gradient '
                'bins=3 weight=gradient soft=true regions="0,0,64,48;5,6,7,8" ! '
                'appsink name=sink') as pipeline:
            histogram = GstIntegralHist.buffer_get_integral_histogram_meta(
                pull(pipeline)).histogram
            structure = next(messages(pipeline))
        self.assertEqual(structure.get_name(), 'integral-histogram')
        self.assertEqual(structure.get_value('weight-unit'), 8)
        self.assertFalse(structure.has_field('counts'))
        weights = [list(region) for region in structure.get_value('weights')]
        self.assertEqual(weights, [histogram.region_sums(0, 0, 64, 48),
                                   histogram.region_sums(5, 6, 7, 8)])

    def test_several_features(self):
        """Elements in a row attach one each, exact and found by its feature."""
        elements = ('feature=hue bins=6', 'feature=gradient bins=9 weight=gradient soft=true',
                    'bins=16')
        names = GstIntegralHist.IntegralHistogramFeature
        for compute in ('eager', 'on-demand'):
            row = ' ! '.join(f'cudaintegralhist compute={compute} {text}' for text in elements)
            source = 'videotestsrc num-buffers=3 pattern=ball ! video/x-raw,width=160,height=120 '
            together, alone = [], []
            for launch, all_found in ((row, together),
                                      *((f'cudaintegralhist {text}', alone) for text in elements)):
                buffers = list(frames(f'{source} ! {launch}'))
                for feature in (names.HUE, names.GRADIENT, names.LUMA):
                    for buffer in buffers:
                        meta = GstIntegralHist.buffer_get_integral_histogram_meta_of_feature(
                            buffer, feature)
                        if meta:
                            self.assertEqual(meta.histogram.get_feature(), feature)
                            all_found.append(meta.histogram.region_sums(7, 9, 101, 77))
            self.assertEqual(len(together), 9)
            self.assertEqual(together, alone)

    def test_settings(self):
        """Settings that exclude each other are one error that says what to set."""
        for properties, word in (
                ('weight=gradient counter=u16', 'weight=gradient needs elements of 32 bits'),
                ('soft=true counter=u8-tiled', 'soft=true needs elements of 32 bits'),
                ('soft=true feature=lbp', 'soft=true with feature=lbp'),
                ('soft=true feature=hsv', 'soft=true with feature=hsv'),
                ('soft=true bins=3 lut=0,1,2', 'soft=true with lut'),
                ('soft=true bins=256', 'set bins=255 or less'),
                ('weight=gradient strategy=wavefront', 'takes no weights')):
            with self.subTest(properties):
                self.assertIn(word, run('videotestsrc num-buffers=1 ! video/x-raw,format=GRAY8 ! '
                                        f'cudaintegralhist {properties} ! fakesink'))

    def test_opencv(self):
        """Votes are those of HOGDescriptor, except at the border, which HOGDescriptor mirrors"""
        pixels = numpy.random.default_rng(SEED).integers(0, 256, (64, 96), numpy.uint8)
        picture = Picture('GRAY8', Variant(96, 64), numpy.random.default_rng(SEED), pixels)
        for feature, bins, signed in (('gradient', 9, False), ('signed-gradient', 18, True),
                                      ('gradient', 12, False)):
            hog = cv2.HOGDescriptor((32, 32), (16, 16), (8, 8), (8, 8), bins, 1, -1, 0, 0.2, False,
                                    64, signed)
            votes, which = numpy.empty((0,)), numpy.empty((0,))
            votes, which = hog.computeGradient(pixels, None, None)
            wanted = sum(one_hot(which[..., i].astype(int), votes[..., i], bins) for i in (0, 1))
            with Stream(text_of(feature, bins, 'gradient', True)) as stream:
                found = pixels_in(stream.histogram(picture)) / 8
            without_border = (slice(None), slice(1, -1), slice(1, -1))
            length = wanted.sum(axis=0)[1:-1, 1:-1]
            difference = abs(found - wanted)[without_border]
            self.assertTrue((difference <= length / 256 * 1.5 + 1 / 8).all(), difference.max())


if __name__ == '__main__':
    unittest.main(verbosity=2)
