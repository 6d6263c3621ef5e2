#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares cudaintegralimage's tables and sums with NumPy's cumulative sums.

If OpenCV is installed, they are also compared with cv2.integral2.
"""
import unittest

import numpy
from pipelines import BACKEND, MISSING, Gst, GstIntegralHist, inside, luma_of
from pipelines import frames as frames_of

try:
    import cv2
except ImportError:
    cv2 = None

FRAMES = 3
REGIONS = [
    (0, 0, 1920, 1080),
    (100, 50, 64, 128),
    (-20, -20, 50, 50),
    (7, 5, 1, 1),
    (0, 30, 3000, 1),
    (5000, 0, 4, 4),
]


def planes_of(tables, data):
    """The tables H[plane, y, x] over the mapped bytes of tables.get_buffer()"""
    return numpy.lib.stride_tricks.as_strided(
        numpy.frombuffer(data, numpy.uint32),
        shape=(tables.get_bins(), tables.get_height(), tables.get_width()),
        strides=(tables.get_plane_pitch(), tables.get_row_pitch(), 4),
        writeable=False)


def frames(pattern, width, height):
    """(luma, tables, planes) of some frames of a test picture"""
    for buffer in frames_of(
            f'videotestsrc pattern={pattern} num-buffers={FRAMES} ! '
            f'video/x-raw,format=GRAY8,width={width},height={height} ! '
            f'cudaintegralimage squared=true backend={BACKEND}'):
        tables = GstIntegralHist.buffer_get_integral_histogram_meta_of(
            buffer, GstIntegralHist.IntegralHistogramContent.SUMS).histogram
        with tables.get_buffer().map(Gst.MapFlags.READ) as info:
            yield luma_of(buffer, width, height), tables, planes_of(tables, info.data).copy()


def pictures():
    """All frames of pictures that are small, odd and large, and of one whose squares pass 2^32"""
    for pattern, width, height in (
            ('snow', 1, 1),
            ('smpte', 101, 67),
            ('snow', 640, 480),
            ('snow', 1920, 1080),
            ('white', 1920, 1080)):
        yield from frames(pattern, width, height)


@unittest.skipIf(MISSING, MISSING)
class Tables(unittest.TestCase):
    def test_cumulative_sums(self):
        for luma, tables, planes in pictures():
            self.assertEqual(tables.get_content(), GstIntegralHist.IntegralHistogramContent.SUMS)
            luma = luma.astype(numpy.uint64)
            for plane, values in zip(planes, (luma, luma ** 2)):
                exact = values.cumsum(axis=0).cumsum(axis=1)
                numpy.testing.assert_array_equal(plane, (exact % 2**32).astype(numpy.uint32))

    def test_regions(self):
        for luma, tables, _ in pictures():
            values = luma.astype(numpy.uint64)
            wanted = []
            for x, y, width, height in REGIONS:
                part = inside(values, x, y, width, height)
                wanted.append([int(part.sum()), int((part * part).sum())])
                self.assertEqual(tables.region_sums(x, y, width, height), wanted[-1])
            answers = tables.regions_sums([number for region in REGIONS for number in region])
            together = numpy.frombuffer(answers.get_data(), numpy.uint64).reshape(-1, 2)
            self.assertEqual(together.tolist(), wanted)

    @unittest.skipUnless(cv2, 'optional: no cv2 to compare with (package python3-opencv, large)')
    def test_opencv(self):
        for luma, _, planes in pictures():
            sums, squares = cv2.integral2(luma, sdepth=cv2.CV_32S, sqdepth=cv2.CV_64F)
            squares = squares[1:, 1:].astype(numpy.uint64) % 2**32
            numpy.testing.assert_array_equal(planes[0], sums[1:, 1:].astype(numpy.uint32))
            numpy.testing.assert_array_equal(planes[1], squares.astype(numpy.uint32))


if __name__ == '__main__':
    unittest.main(verbosity=2)
