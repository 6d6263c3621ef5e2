#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares cudaintegralimage's tables and sums with NumPy's cumulative sums.

Where OpenCV is installed, they are compared with its cv2.integral2, too.

Environment:
  INTHIST_BACKEND=cpu|cuda  the element's backend (auto by default)
"""
import os
import unittest

import numpy

try:
    import cv2
except ImportError:
    cv2 = None
try:
    import gi
    gi.require_version('Gst', '1.0')
    gi.require_version('GstApp', '1.0')
    gi.require_version('GstIntegralHist', '1.0')
    # GstApp gives appsink its methods
    from gi.repository import Gst, GstApp, GstIntegralHist  # noqa: F401
    MISSING = None
except (ImportError, ValueError) as error:
    MISSING = str(error)

BACKEND = os.environ.get('INTHIST_BACKEND', 'auto')
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
    pipeline = Gst.parse_launch(
        f'videotestsrc pattern={pattern} num-buffers={FRAMES} ! '
        f'video/x-raw,format=GRAY8,width={width},height={height} ! '
        f'cudaintegralimage squared=true backend={BACKEND} ! appsink name=sink sync=false')
    sink, bus = pipeline.get_by_name('sink'), pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
    try:
        for _ in range(FRAMES):
            sample = sink.try_pull_sample(20 * Gst.SECOND)
            if sample is None:
                message = bus.pop_filtered(Gst.MessageType.ERROR)
                raise AssertionError(message.parse_error()[0].message if message else 'no frame')
            buffer = sample.get_buffer()
            tables = GstIntegralHist.buffer_get_integral_histogram_meta_of(
                buffer, GstIntegralHist.IntegralHistogramContent.SUMS).histogram
            stride = (width + 3) // 4 * 4  # GRAY8 without a GstVideoMeta
            with buffer.map(Gst.MapFlags.READ) as info:
                pixels = numpy.frombuffer(info.data, numpy.uint8)[:stride * height]
                luma = pixels.reshape(height, stride)[:, :width].copy()
            with tables.get_buffer().map(Gst.MapFlags.READ) as info:
                yield luma, tables, planes_of(tables, info.data).copy()
    finally:
        pipeline.set_state(Gst.State.NULL)


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
    @classmethod
    def setUpClass(cls):
        Gst.init(None)

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
                part = values[max(y, 0):max(y + height, 0), max(x, 0):max(x + width, 0)]
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
