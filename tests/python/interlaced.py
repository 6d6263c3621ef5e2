#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Interlaced video in elements: drawings, and what is refused.

tests/python/features.py has the colours of interlaced pixels. Here what integralhistoverlay draws
on 4:2:0 is compared with what it draws on the same picture in 4:4:4, by NumPy: a sample of chroma
is that of the first pixel, of its field, that it covers.
"""
import unittest

import numpy
from pipelines import WAIT, Gst, GstVideo, error_of, playing

WIDTH, HEIGHT = 64, 48
OVERLAY = 'integralhistoverlay labels=false line-width=3 regions="7,5,30,21;20,18,31,25"'


def planes(data, name):
    """Y, Cb and Cr of a frame without padding"""
    rows, columns = (HEIGHT, WIDTH) if name == 'Y444' else (HEIGHT // 2, WIDTH // 2)
    flat = numpy.frombuffer(data, numpy.uint8)
    luma, chroma = flat[:HEIGHT * WIDTH].reshape(HEIGHT, WIDTH), flat[HEIGHT * WIDTH:]
    if name == 'NV12':
        pairs = chroma.reshape(rows, columns, 2)
        return luma, pairs[..., 0], pairs[..., 1]
    return luma, *chroma.reshape(2, rows, columns)


def drawn(name, data, mode, has_fields, elements=OVERLAY):
    """The frame behind the elements, or the error"""
    with playing(
            f'appsrc name=source format=time caps="video/x-raw,format={name},width={WIDTH},'
            f'height={HEIGHT},framerate=25/1,interlace-mode={mode}" ! {elements} ! '
            'appsink name=sink sync=false') as pipeline:
        buffer = Gst.Buffer.new_wrapped(data)
        if has_fields:
            buffer.set_flags(Gst.BufferFlags(int(GstVideo.VideoBufferFlags.INTERLACED)))
        source = pipeline.get_by_name('source')
        source.push_buffer(buffer)
        source.end_of_stream()
        sample = pipeline.get_by_name('sink').try_pull_sample(WAIT)
        if sample is None:
            return error_of(pipeline)
        return planes(sample.get_buffer().extract_dup(0, len(data)), name)


class Interlaced(unittest.TestCase):
    def test_drawings(self):
        full = numpy.full((3, HEIGHT, WIDTH), 90, numpy.uint8)
        wanted = drawn('Y444', full.tobytes(), 'progressive', False)
        self.assertGreater((wanted[1] != 90).sum(), 100)
        flat = bytes([90]) * (HEIGHT * WIDTH * 3 // 2)
        for name in ('I420', 'NV12'):
            for mode, has_fields in (('progressive', False), ('interleaved', True),
                                     ('interleaved', False), ('mixed', True), ('mixed', False)):
                woven = has_fields or mode == 'interleaved'
                with self.subTest(name, mode=mode, has_fields=has_fields):
                    found = drawn(name, flat, mode, has_fields)
                    numpy.testing.assert_array_equal(found[0], wanted[0])
                    for is_, of_444 in zip(found[1:], wanted[1:]):
                        if woven:
                            for field in (0, 1):
                                numpy.testing.assert_array_equal(is_[field::2],
                                                                 of_444[field::2][::2, ::2])
                        else:
                            numpy.testing.assert_array_equal(is_, of_444[::2, ::2])

    def test_fields_apart(self):
        """Fields in buffers of their own end in one error that says what to do."""
        flat = bytes(HEIGHT * WIDTH * 3 // 2)
        for element in ('cudaintegralhist', 'cudaintegralimage', 'cudatrackfeatures', OVERLAY,
                        'cudaintegralhist ! integralhistlikelihood model=1,1,9,9'):
            with self.subTest(element):
                error = drawn('I420', flat, 'fields', True, element)
                self.assertIsInstance(error, str)
                self.assertIn('interlace-mode=fields', error)
                self.assertIn('deinterlace', error)

    def test_missing_row(self):
        """A plane without the last row of a field is an error, not pixels of the next plane."""
        height = 46  # 23 rows of chroma, and 24 of two fields
        info = GstVideo.VideoInfo()
        info.set_format(GstVideo.VideoFormat.I420, WIDTH, height)
        for element in ('cudaintegralhist feature=cb', OVERLAY):
            for mode in ('progressive', 'interleaved'):
                with self.subTest(element, mode=mode):
                    buffer = Gst.Buffer.new_wrapped(bytes(info.offset[2] + 23 * info.stride[2]))
                    GstVideo.buffer_add_video_meta_full(
                        buffer, GstVideo.VideoFrameFlags.NONE, GstVideo.VideoFormat.I420, WIDTH,
                        height, 3, list(info.offset), list(info.stride))
                    with playing(
                            'appsrc name=source format=time caps="video/x-raw,format=I420,'
                            f'width={WIDTH},height={height},framerate=25/1,interlace-mode={mode}" '
                            f'! {element} ! fakesink') as pipeline:
                        source = pipeline.get_by_name('source')
                        source.push_buffer(buffer)
                        source.end_of_stream()
                        error = error_of(pipeline)
                    if mode == 'interleaved':
                        self.assertIn('reaches past', error)
                    else:
                        self.assertIsNone(error)


if __name__ == '__main__':
    unittest.main(verbosity=2)
