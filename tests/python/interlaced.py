#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Interlaced video in elements: drawings, and what is refused.

tests/python/features.py has the colours of interlaced pixels. Here what integralhistoverlay draws
on 4:2:0 is compared with what it draws on the same picture in 4:4:4, by NumPy: a sample of chroma
is that of the first pixel, of its field, that it covers.
"""
import unittest

import gi
gi.require_versions({'Gst': '1.0', 'GstApp': '1.0', 'GstVideo': '1.0'})
import numpy  # noqa: E402
from gi.repository import Gst, GstApp, GstVideo  # noqa: E402, F401

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
    pipeline = Gst.parse_launch(
        f'appsrc name=source format=time caps="video/x-raw,format={name},width={WIDTH},'
        f'height={HEIGHT},framerate=25/1,interlace-mode={mode}" ! {elements} ! '
        'appsink name=sink sync=false')
    pipeline.set_state(Gst.State.PLAYING)
    buffer = Gst.Buffer.new_wrapped(data)
    if has_fields:
        buffer.set_flags(Gst.BufferFlags(int(GstVideo.VideoBufferFlags.INTERLACED)))
    source = pipeline.get_by_name('source')
    source.push_buffer(buffer)
    source.end_of_stream()
    for _ in range(200):  # 20 s
        sample = pipeline.get_by_name('sink').try_pull_sample(Gst.SECOND // 10)
        message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
        if sample or message:
            break
    pipeline.set_state(Gst.State.NULL)
    if message:
        return message.parse_error()[0].message
    return planes(sample.get_buffer().extract_dup(0, len(data)), name)


class Interlaced(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        Gst.init(None)

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
                    pipeline = Gst.parse_launch(
                        'appsrc name=source format=time caps="video/x-raw,format=I420,'
                        f'width={WIDTH},height={height},framerate=25/1,interlace-mode={mode}" ! '
                        f'{element} ! fakesink')
                    pipeline.set_state(Gst.State.PLAYING)
                    buffer = Gst.Buffer.new_wrapped(bytes(info.offset[2] + 23 * info.stride[2]))
                    GstVideo.buffer_add_video_meta_full(
                        buffer, GstVideo.VideoFrameFlags.NONE, GstVideo.VideoFormat.I420, WIDTH,
                        height, 3, list(info.offset), list(info.stride))
                    source = pipeline.get_by_name('source')
                    source.push_buffer(buffer)
                    source.end_of_stream()
                    message = pipeline.get_bus().timed_pop_filtered(
                        20 * Gst.SECOND, Gst.MessageType.ERROR | Gst.MessageType.EOS)
                    pipeline.set_state(Gst.State.NULL)
                    self.assertEqual(message.type == Gst.MessageType.ERROR, mode == 'interleaved')
                    if mode == 'interleaved':
                        self.assertIn('reaches past', message.parse_error()[0].message)


if __name__ == '__main__':
    unittest.main(verbosity=2)
