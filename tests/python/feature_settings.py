#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Settings of features: errors name the limit and the remedy, and histograms say what was set."""
import os
import tempfile
import unittest

import gi

gi.require_version('Gst', '1.0')
gi.require_version('GstApp', '1.0')
from gi.repository import Gst, GstApp  # noqa: E402,F401 (GstApp gives appsink its methods)

try:
    gi.require_version('GstIntegralHist', '1.0')
    from gi.repository import GstIntegralHist
except ValueError:
    GstIntegralHist = None

Gst.init(None)
THREE, TWO = 'write three numbers, such as "6,6,6"', 'write two numbers, such as "16,8"'
BINS = 'write 1 to 256 bins, the first of value 0, separated by commas'
FILE = 'name a file with up to 256 numbers, separated by commas'


def run(properties, form='NV12'):
    """(the first error, the first frame) of a stream; properties are set as they are"""
    pipeline = Gst.parse_launch(
        f'videotestsrc num-buffers=1 ! video/x-raw,format={form},width=20,height=10 ! '
        'cudaintegralhist name=hist backend=cpu tuning-time=0 ! appsink name=sink sync=false')
    for name, value in properties.items():
        Gst.util_set_object_arg(pipeline.get_by_name('hist'), name, str(value))
    pipeline.set_state(Gst.State.PLAYING)
    try:
        message = pipeline.get_bus().timed_pop_filtered(
            20 * Gst.SECOND, Gst.MessageType.ERROR | Gst.MessageType.ASYNC_DONE)
        if message is None:
            raise AssertionError('neither an error nor a frame')
        if message.type == Gst.MessageType.ERROR:
            return message.parse_error()[0].message, None
        return None, pipeline.get_by_name('sink').pull_sample().get_buffer()
    finally:
        pipeline.set_state(Gst.State.NULL)


class Errors(unittest.TestCase):
    def check(self, words, **properties):
        properties = {name.replace('_', '-'): value for name, value in properties.items()}
        with self.subTest(properties):
            error, _ = run(properties)
            for word in words:
                self.assertIn(word, error or '')

    def test_quantization(self):
        for feature, text, words in (
                ('hsv', '1', ('a comma is missing', THREE)),
                ('hsv', '1,2,3,4', ('hsv has 3 values', THREE)),
                ('rgb', '0,1,1', ('0 is no number of parts from 1 to 255', THREE)),
                ('rgb', '256,1,1', ('256 is no number of parts from 1 to 255', THREE)),
                ('rgb', '6,-6,6', ('-6 is no number', THREE)),
                ('ycbcr', 'many', ('a number is missing', THREE)),
                ('ycbcr', '16,16,2', ('512 bins', 'at most 256', THREE)),
                ('hsv', '255,255,255', ('16581375 bins', 'at most 256')),
                ('hue-saturation', '16,8,2', ('has 2 values', TWO)),
                ('hue-saturation', '99999999999,1', ('out of range', TWO)),
                ('hue', '6,6,6', ('feature=hue is not joint',
                                  'leave quantization empty, and set bins'))):
            self.check(words, feature=feature, quantization=text)

    def test_too_many_bins(self):
        for feature in 'hue', 'gradient', 'signed-gradient':
            self.check((f'feature={feature} has at most 180 bins, not 181', 'set bins=180 or less'),
                       feature=feature, bins=181)

    def test_lut(self):
        self.check(('"x" is no bin from 0 to 255', BINS), lut='1,2,x')
        self.check(('"256" is no bin', BINS), lut='256')
        self.check(('"-1" is no bin', BINS), lut='-1')
        self.check(('"1.5" is no bin', BINS), lut='1.5')
        self.check(('no number', BINS), lut=',')
        self.check(('more than 256 numbers', BINS), lut=','.join(['1'] * 257))
        self.check(('at most 255', 'set bins=255 or less'), lut='1', bins=256)
        self.check(('lut and lut-location are both set', 'set one of them'),
                   lut='1', lut_location='/nowhere')

    def test_lut_location(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'table')
            self.check((path, 'No such file', FILE), lut_location=path)
            fifo = os.path.join(folder, 'fifo')
            os.mkfifo(fifo)  # nobody writes: to open it would wait for ever
            for other in folder, '/dev/zero', fifo:
                self.check((other, 'it is no regular file', FILE), lut_location=other)
            for content, words in ((b'1, ' * 22000, ('more than 65536 bytes', FILE)),
                                   (b'\xff\0junk', ('is no bin', BINS)),
                                   (b'', ('no number', BINS)),
                                   (b'1 ' * 257, ('more than 256 numbers', BINS))):
                with open(path, 'wb') as file:
                    file.write(content)
                self.check(('lut-location', *words), lut_location=path)

    def test_labels(self):
        self.check(('feature=labels counts GRAY8 pixels, not NV12',
                    'put video/x-raw,format=GRAY8 before the element'), feature='labels')


@unittest.skipUnless(GstIntegralHist, 'built without introspection')
class Answers(unittest.TestCase):
    def histogram(self, **properties):
        error, buffer = run(properties, 'GRAY8')
        self.assertIsNone(error)
        return GstIntegralHist.buffer_get_integral_histogram_meta(buffer).histogram

    def test_what_was_set(self):
        features = GstIntegralHist.IntegralHistogramFeature
        for feature, parts, wanted in (
                ('luma', '', [0, 0, 0]), ('labels', '', [0, 0, 0]), ('hue', '', [0, 0, 0]),
                ('gradient', '', [0, 0, 0]), ('uniform-lbp', '', [0, 0, 0]),
                ('rgb', '', [6, 6, 6]), ('ycbcr', '', [4, 8, 8]), ('hsv', '', [16, 4, 4]),
                ('hue-saturation', '', [16, 8, 0]), ('hsv', ' 5 , 7,3', [5, 7, 3]),
                ('hue-saturation', '255,1', [255, 1, 0])):
            histogram = self.histogram(feature=feature, quantization=parts)
            name = feature.replace('-', '_').upper()
            self.assertEqual(histogram.get_feature(), getattr(features, name))
            self.assertEqual(list(histogram.get_quantization()), wanted)

    def test_a_table_in_a_file(self):
        """It counts as the same table as text, and as values that are counted alone."""
        with tempfile.NamedTemporaryFile('w') as file:
            file.write('\n'.join(str(value % 3) for value in range(256)))
            file.flush()
            from_file = self.histogram(bins=3, **{'lut-location': file.name})
            from_text = self.histogram(bins=3, lut=','.join(str(v % 3) for v in range(256)))
            whole = self.histogram(bins=256).region(0, 0, 20, 10)
        wanted = [sum(whole[i::3]) for i in range(3)]
        self.assertEqual(from_file.region(0, 0, 20, 10), wanted)
        self.assertEqual(from_text.region(0, 0, 20, 10), wanted)


if __name__ == '__main__':
    unittest.main(verbosity=2)
