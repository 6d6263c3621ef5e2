#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares histograms, likelihoods, quantiles and votes of windows on grids with NumPy.

The questions are asked through GObject introspection.
"""
import sys
import unittest

import numpy
from pipelines import (BACKEND, EXAMPLES, MISSING, GLib, Gst, GstIntegralHist, counts_of,
                       first_frame, luma_of)

sys.path.insert(0, EXAMPLES)
if not MISSING:
    import histquery

WIDTH, HEIGHT, BINS = 101, 67, 16
GRIDS = [
    {'window_width': 24, 'window_height': 16, 'x': 0, 'y': 0,
     'step_x': 5, 'step_y': 4, 'columns': 12, 'rows': 9},
    {'window_width': 50, 'window_height': 31, 'x': -60, 'y': -40,
     'step_x': 17, 'step_y': 20, 'columns': 11, 'rows': 7},
    {'window_width': WIDTH, 'window_height': HEIGHT, 'x': 0, 'y': 0,
     'step_x': 1, 'step_y': 1, 'columns': 1, 'rows': 1},
]


def frame(element, properties, width=WIDTH, height=HEIGHT):
    """(luma, histogram) of a test picture"""
    buffer = first_frame('videotestsrc pattern=snow num-buffers=1 ! '
                         f'video/x-raw,format=GRAY8,width={width},height={height} ! '
                         f'{element} {properties} backend={BACKEND}')
    histogram = GstIntegralHist.buffer_get_integral_histogram_meta(buffer).histogram
    return luma_of(buffer, width, height), histogram


def grid_of(fields):
    grid = GstIntegralHist.IntegralHistogramGrid()
    for name, value in fields.items():
        setattr(grid, name, value)
    return grid


def corners(grid):
    """First pixels (x, y) of the windows, row by row"""
    return [(grid.x + i * grid.step_x, grid.y + j * grid.step_y)
            for j in range(grid.rows) for i in range(grid.columns)]


def shares(counts):
    counts = numpy.asarray(counts, float)
    return counts / max(counts.sum(), 1e-300)


def intersection(counts, model):
    return numpy.minimum(shares(counts), shares(model)).sum()


def linear(counts, weights):
    return shares(counts) @ weights


def emd(counts, model):
    return numpy.abs((shares(counts) - shares(model)).cumsum()).sum()


def array_of(answers, dtype, grid, *shape):
    return numpy.frombuffer(answers.get_data(), dtype).reshape(grid.rows, grid.columns, *shape)


@unittest.skipIf(MISSING, MISSING)
class Questions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.luma, cls.histogram = frame('cudaintegralhist', f'bins={BINS}')
        measures = GstIntegralHist.IntegralHistogramMeasure
        cls.measures = ((measures.INTERSECTION, intersection, numpy.argmax),
                        (measures.EMD, emd, numpy.argmin),
                        (measures.LINEAR, linear, numpy.argmax))

    def windows(self, grid):
        return [counts_of(self.luma, x, y, grid.window_width, grid.window_height)
                for x, y in corners(grid)]

    def check_best(self, best, values, arg):
        self.assertEqual(best.value, values.flat[best.index])
        self.assertEqual(best.value, values.flat[arg(values)])

    def test_grids(self):
        for grid in map(grid_of, GRIDS):
            counts = array_of(self.histogram.grids(grid), numpy.uint32, grid, BINS)
            numpy.testing.assert_array_equal(counts.reshape(-1, BINS), self.windows(grid))

    def test_likelihood_maps(self):
        seen = counts_of(self.luma, 20, 10, 30, 20)
        weights = numpy.linspace(-1, 1, BINS)
        for grid in map(grid_of, GRIDS):
            for measure, formula, arg in self.measures:
                model = weights if formula is linear else seen
                answers, best = self.histogram.likelihood_maps(grid, model.tolist(), measure)
                values = array_of(answers, numpy.float32, grid)
                wanted = [formula(counts, model) for counts in self.windows(grid)]
                numpy.testing.assert_allclose(values.ravel(), wanted, atol=1e-5)
                self.check_best(best, values, arg)

    def test_quantile_maps(self):
        for grid in map(grid_of, GRIDS):
            for quantile in (0, 0.25, 0.5, 1):
                wanted = []
                for counts in self.windows(grid):
                    bins = numpy.repeat(numpy.arange(BINS), counts)
                    rank = max(int(numpy.ceil(quantile * len(bins))), 1)
                    wanted.append(bins[rank - 1] if len(bins) else -1)
                got = array_of(self.histogram.quantile_maps(grid, quantile), numpy.int32, grid)
                numpy.testing.assert_array_equal(got.ravel(), wanted)

    def test_pixels_in_no_bin(self):
        """Labels from `bins` on are in no bin: they count against a likeness, and rank last."""
        bins, measures = 90, GstIntegralHist.IntegralHistogramMeasure
        luma, histogram = frame('cudaintegralhist', f'feature=labels bins={bins}')
        model = [float(b % 7) for b in range(bins)]
        q = numpy.array(model) / sum(model)
        grid = grid_of({**GRIDS[0], 'window_width': 2, 'window_height': 2})
        maps = {measure: array_of(
            histogram.likelihood_maps(grid, model, measure)[0], numpy.float32, grid).ravel()
            for measure in (measures.BHATTACHARYYA, measures.CORRELATION)}
        medians = array_of(histogram.quantile_maps(grid, 0.5), numpy.int32, grid).ravel()
        seen = set()
        for i, (x, y) in enumerate(corners(grid)):
            labels = numpy.sort(luma[y:y + 2, x:x + 2].ravel())
            p = numpy.bincount(labels[labels < bins], minlength=bins) / 4
            seen.add(p.sum())
            self.assertAlmostEqual(maps[measures.BHATTACHARYYA][i],
                                   numpy.sqrt(1 - numpy.sqrt(p * q).sum()), 5)
            self.assertAlmostEqual(maps[measures.CORRELATION][i],
                                   numpy.corrcoef(p, q)[0, 1] if p.any() else 1, 5)
            self.assertEqual(medians[i], labels[1] if labels[1] < bins else -1)
        self.assertGreaterEqual(seen, {0, 0.25, 0.5, 0.75})
        half = GstIntegralHist.IntegralHistogramGrid(2, 1, 0, 0, 1, 1, WIDTH - 1, HEIGHT)
        alone = numpy.eye(bins)[40].tolist()
        values = array_of(histogram.likelihood_maps(half, alone, measures.BHATTACHARYYA)[0],
                          numpy.float32, half)
        pairs = numpy.sort(numpy.stack([luma[:, :-1], luma[:, 1:]]), axis=0)
        is_half = (pairs[0] == 40) & (pairs[1] >= bins)
        self.assertTrue(is_half.any())
        numpy.testing.assert_allclose(values[is_half], 0.541196, 1e-5)
        self.assertTrue((values[pairs[0] >= bins] == 1).all())

    def test_vote_maps(self):
        patches = [
            (0, 0, 20, 10),
            (20, 0, 20, 10),
            (0, 10, 20, 10),
            (20, 10, 20, 10),
            (-30, -30, 5, 5),
        ]
        models = [counts_of(self.luma, 20 + x, 20 + y, width, height) + 1
                  for x, y, width, height in patches]
        all_patches, all_models = numpy.ravel(patches).tolist(), numpy.ravel(models).tolist()
        for grid in map(grid_of, GRIDS):
            for measure, formula, arg in self.measures:
                for rank in (0, 3):
                    answers, best = self.histogram.vote_maps(
                        grid, all_patches, all_models, rank, measure)
                    values = array_of(answers, numpy.float32, grid)
                    wanted = []
                    for x, y in corners(grid):
                        votes = sorted(
                            formula(counts_of(self.luma, x + dx, y + dy, width, height), model)
                            for (dx, dy, width, height), model in zip(patches, models))
                        wanted.append(votes[::-1][rank] if arg is numpy.argmax else votes[rank])
                    numpy.testing.assert_allclose(values.ravel(), wanted, atol=1e-5)
                    self.check_best(best, values, arg)

    def test_refusals(self):
        grid = grid_of(GRIDS[0])
        no_columns = grid_of({**GRIDS[0], 'columns': 0})
        measure = GstIntegralHist.IntegralHistogramMeasure.L1
        even = [1] * BINS
        histogram = self.histogram
        _, tables = frame('cudaintegralimage', '')
        quark = GLib.quark_from_string('gst-integral-histogram-error-quark')
        bad_question = GstIntegralHist.IntegralHistogramError.BAD_QUESTION
        for why, question in (
                ('columns', lambda: histogram.grids(no_columns)),
                ('not a model: pass 16',
                 lambda: histogram.likelihood_maps(grid, [1, 2, 3], measure)),
                ('not a model: pass 16', lambda: histogram.likelihood_maps(grid, [], measure)),
                ('empty', lambda: histogram.likelihood_maps(grid, [0] * BINS, measure)),
                ('0 to 1', lambda: histogram.quantile_maps(grid, 2)),
                ('0 patches: pass 1 to', lambda: histogram.vote_maps(grid, [], [], 0, measure)),
                ('0 patches: pass 1 to', lambda: histogram.vote_maps(grid, [], even, 0, measure)),
                ('3 numbers are not a list of patches: pass 4 for each patch: x,y',
                 lambda: histogram.vote_maps(grid, [1, 2, 3], even, 0, measure)),
                ('5 numbers are not a list of patches: pass 4 for each',
                 lambda: histogram.vote_maps(grid, [1, 2, 3, 4, 5], even, 0, measure)),
                ('32 numbers are not a list of models: pass 16',
                 lambda: histogram.vote_maps(grid, [1, 2, 3, 4], even * 2, 0, measure)),
                ('rank 1', lambda: histogram.vote_maps(grid, [1, 2, 3, 4], even, 1, measure)),
                ('summed-area table', lambda: tables.grids(grid))):
            with self.assertRaisesRegex(GLib.Error, why) as caught:
                question()
            self.assertTrue(caught.exception.matches(quark, bad_question))


@unittest.skipIf(MISSING, MISSING)
class Tensors(unittest.TestCase):
    def test_every_element(self):
        # wide tiles too
        for width, height, bins in ((101, 67, 16), (1, 1, 2), (300, 290, 2), (4500, 37, 1),
                                    (33, 4500, 1)):
            for counter in 'u32', 'u16', 'u8-tiled':
                luma, histogram = frame('cudaintegralhist', f'bins={bins} counter={counter}',
                                        width, height)
                planes = luma.astype(int) * bins // 256 == numpy.arange(bins)[:, None, None]
                wanted = planes.cumsum(axis=1).cumsum(axis=2)
                buffer = histogram.get_buffer()
                with buffer.map(Gst.MapFlags.READ) as info:
                    tensor = histquery.tensor_view(histogram, info.data)
                    modulus = 2**(8 * tensor.dtype.itemsize)
                    numpy.testing.assert_array_equal(tensor, wanted % modulus, counter)
                self.assertEqual(tensor.dtype == numpy.uint32, counter in ('u32', 'u8-tiled'))
                modulus = 2**16 if counter == 'u16' else 2**32
                for b, x, y in ((0, 0, 0), (bins - 1, width - 1, height - 1),
                                (bins // 2, width // 2, height // 3)):
                    self.assertEqual(histogram.get_element(buffer, b, x, y),
                                     wanted[b, y, x] % modulus, counter)
                self.assertEqual(histogram.get_element(buffer, 0, -1, 0), 0)

    def test_tiles(self):
        for width, height, counter, tiles in (
                (101, 67, 'u8-tiled', (True, 7, 5, 288, False)),
                (33, 4500, 'u8-tiled', (True, 3, 282, 320, True)),
                (101, 67, 'u16', (False, 0, 0, 0, False))):
            _, histogram = frame('cudaintegralhist', f'bins=1 counter={counter}', width, height)
            self.assertEqual(tuple(histogram.get_tiles()), tiles)

    def test_refusals(self):
        _, histogram = frame('cudaintegralhist', f'bins={BINS} counter=u8-tiled')
        _, other = frame('cudaintegralimage', '')
        buffer = histogram.get_buffer()
        for why, where in (
                ('no element 0,0 of bin 16', (buffer, BINS, 0, 0)),
                ('101x67 of 16 bins', (buffer, 0, WIDTH, 0)),
                ('no element', (buffer, 0, 0, HEIGHT)),
                ('no element', (buffer, 0, -2, 0)),
                ('pass the one that .*_get_buffer has returned', (other.get_buffer(), 0, 0, 0))):
            with self.assertRaisesRegex(GLib.Error, why):
                histogram.get_element(*where)


if __name__ == '__main__':
    unittest.main(verbosity=2)
