#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Settings of features: errors name the limit and the remedy, and histograms say what was set."""
import colorsys
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from pipelines import ROOT, GLib, Gst, GstIntegralHist, error_of, first_frame, playing, pull

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
        return None, pipeline.get_by_name('sink').try_pull_sample(20 * Gst.SECOND).get_buffer()
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
                ('hsv', '1', ('a number is missing at the end', THREE)),
                ('hsv', '1,2,3,4', ('hsv has 3 values', THREE)),
                ('rgb', '0,1,1', ('0 is not a number of parts from 1 to 255', THREE)),
                ('rgb', '256,1,1', ('256 is not a number of parts from 1 to 255', THREE)),
                ('rgb', '6,-6,6', ('-6 is not a number', THREE)),
                ('ycbcr', 'many', ('a number is missing', THREE)),
                ('ycbcr', '16,16,2', ('512 bins', 'at most 256', THREE)),
                ('hsv', '255,255,255', ('16581375 bins', 'at most 256')),
                ('hue-saturation', '16,8,2', ('has 2 values', TWO)),
                ('hue-saturation', '99999999999,1', ('out of range', TWO)),
                ('hue', '6,6,6', ('feature=hue is not joint',
                                  'leave quantization empty'))):
            self.check(words, feature=feature, quantization=text)

    def test_too_many_bins(self):
        for feature in 'hue', 'gradient', 'signed-gradient':
            self.check((f'feature={feature} has at most 180 bins, not 181', 'set bins=180 or less'),
                       feature=feature, bins=181)

    def test_lut(self):
        self.check(('"x" is not a bin from 0 to 255', BINS), lut='1,x,3')
        self.check(('"256" is not a bin', BINS), lut='256')
        self.check(('"-1" is not a bin', BINS), lut='-1')
        self.check(('"1.5" is not a bin', BINS), lut='1.5')
        for text, empty in ((',', 1), ('1,,2', 2), ('1, \n ,2', 2), (',1', 1), ('1,2,', 3)):
            self.check((f'number {empty}, the bin of value {empty - 1}, is empty', BINS), lut=text)
        self.check(('no number', BINS), lut=' ')
        self.check(('more than 256 numbers', BINS), lut=','.join(['1'] * 257))
        self.check(('at most 255', 'set bins=255 or less'), lut='1', bins=256)
        for text, bins in ('3,7 9', 3), ('255', 255), ('1', 1):
            self.check(('lut: ', f'no number is below bins={bins}', 'no pixel is in a bin',
                        f'Write bins from 0 to {bins - 1}'), lut=text, bins=bins)
        self.check(('lut="1" and lut-location="/nowhere" are both set', 'set only one of them'),
                   lut='1', lut_location='/nowhere')

    def test_ignored_bins(self):
        """bins that a feature ignores are one warning, and the histogram has the feature's bins"""
        for settings, bins, said in (
                ('feature=hsv bins=8', 256, 'bins=8 is ignored: feature=hsv has 256 bins. '
                 'Leave bins out, or set quantization.'),
                ('feature=rgb quantization=2,2,2 bins=16', 8, 'feature=rgb has 8 bins'),
                ('feature=uniform-lbp bins=64', 59, 'bins=64 is ignored: feature=uniform-lbp has '
                 '59 bins. Leave bins out.'),
                ('feature=lbp bins=256', 256, None),
                ('feature=hsv', 256, None),
                ('feature=hsv quantization=2,2,2 bins=3 lut=0,1,2', 3, None),
                ('feature=gradient bins=9', 9, None)):
            with self.subTest(settings), playing(
                    'videotestsrc num-buffers=2 ! video/x-raw,format=NV12,width=20,height=10 ! '
                    f'cudaintegralhist backend=cpu {settings} ! appsink name=sink') as pipeline:
                histogram = GstIntegralHist.integral_histogram(pull(pipeline))
                self.assertEqual(histogram.get_bins(), bins)
                warnings, bus = [], pipeline.get_bus()
                while message := bus.pop_filtered(Gst.MessageType.WARNING):
                    warnings.append(message.parse_warning()[0].message)
                self.assertEqual(len(warnings), 1 if said else 0, warnings)
                self.assertIn(said or '', ''.join(warnings))

    def test_lut_location(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'table')
            self.check((path, 'No such file', FILE), lut_location=path)
            fifo = os.path.join(folder, 'fifo')
            os.mkfifo(fifo)  # nobody writes: to open it would wait for ever
            for other in folder, '/dev/zero', fifo:
                self.check((other, 'it is not a regular file', FILE), lut_location=other)
            self.check(('/proc/kmsg',) if os.getuid() else ('no number', BINS),
                       lut_location='/proc/kmsg')  # a regular file that waits for messages
            for content, words in ((b'1, ' * 22000, ('more than 65536 bytes', FILE)),
                                   (b'\xff\0junk', ('is not a bin', BINS)),
                                   (b'', ('no number', BINS)),
                                   (b'1,,2', ('number 2', 'is empty', BINS)),
                                   (b'32', ('no number is below bins=32',)),
                                   (b'1 ' * 257, ('more than 256 numbers', BINS))):
                pathlib.Path(path).write_bytes(content)
                self.check(('lut-location', *words), lut_location=path)

    def test_the_start_fails(self):
        """An unreadable table is an error before a frame comes."""
        with tempfile.TemporaryDirectory() as folder:
            for name, value in (('lut', '99'), ('lut-location', os.path.join(folder, 'none'))):
                hist = Gst.ElementFactory.make('cudaintegralhist')
                bus = Gst.Bus.new()
                hist.set_bus(bus)
                hist.set_property('backend', 'cpu')
                hist.set_property(name, value)
                self.assertEqual(hist.set_state(Gst.State.PAUSED), Gst.StateChangeReturn.FAILURE)
                message = bus.pop_filtered(Gst.MessageType.ERROR)
                self.assertIn(name + ('=' if name == 'lut-location' else ': '),
                              message.parse_error()[0].message)
                self.assertIsNone(bus.pop_filtered(Gst.MessageType.ERROR))
                hist.set_state(Gst.State.NULL)
                hist.set_bus(None)

    def test_labels(self):
        """The error is the same whether upstream asks for possible caps, or sets caps."""
        words = ('feature=labels counts GRAY8 pixels, not NV12',
                 'let upstream give video/x-raw,format=GRAY8')
        self.check(words, feature='labels')
        with playing('appsrc name=source ! cudaintegralhist backend=cpu feature=labels ! '
                     'fakesink') as pipeline:
            caps = Gst.Caps.from_string('video/x-raw,format=NV12,width=20,height=10,framerate=1/1')
            pipeline.get_by_name('source').push_sample(
                Gst.Sample.new(Gst.Buffer.new_allocate(None, 300, None), caps, None, None))
            error = error_of(pipeline)
        for word in words:
            self.assertIn(word, error)


class Caps(unittest.TestCase):
    def test_labels(self):
        """Both pads take only GRAY8, so a converter before the element makes it."""
        pipeline = Gst.parse_launch(
            'videotestsrc num-buffers=1 ! video/x-raw,format=NV12 ! videoconvert ! '
            'cudaintegralhist name=hist backend=cpu ! fakesink name=sink')
        hist = pipeline.get_by_name('hist')
        pads = [hist.get_static_pad(name) for name in ('sink', 'src')]
        other = Gst.Caps.from_string('video/x-raw(ANY),format={I420,NV12,RGB}')
        self.assertTrue(all(pad.query_caps(None).can_intersect(other) for pad in pads))
        hist.set_property('feature', 'labels')
        for pad in pads:
            caps = pad.query_caps(None)
            self.assertFalse(caps.is_empty())
            self.assertEqual(re.findall(r'format=\(string\)([^,;]+)', caps.to_string()),
                             ['GRAY8'] * caps.get_size())
            self.assertTrue(pad.query_caps(other).is_empty())
        pipeline.set_state(Gst.State.PLAYING)
        self.assertIsNone(error_of(pipeline))
        self.assertEqual(pads[0].get_current_caps()[0].get_value('format'), 'GRAY8')
        hist.set_property('feature', 'luma')  # is refused while the element runs
        self.assertEqual(hist.get_property('feature').value_nick, 'labels')
        self.assertFalse(pads[0].query_caps(None).can_intersect(other))
        pipeline.set_state(Gst.State.READY)
        hist.set_property('feature', 'luma')
        self.assertTrue(pads[0].query_caps(None).can_intersect(other))
        pipeline.set_state(Gst.State.NULL)


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

    def test_some_bins(self):
        """A range says which bins it has, and a search for the feature's histogram skips it."""
        _, whole = run({'bins': 9}, 'GRAY8')
        error, some = run({'bins': 9, 'first-bin': 2, 'n-bins': 3, 'regions': '1,2,10,5'}, 'GRAY8')
        self.assertIsNone(error)
        find = GstIntegralHist.buffer_get_integral_histogram_meta_of_feature
        luma = GstIntegralHist.IntegralHistogramFeature.LUMA
        whole = find(whole, luma).histogram
        self.assertEqual((whole.get_first_bin(), whole.get_bins(), whole.get_all_bins()), (0, 9, 9))
        self.assertIsNone(find(some, luma))
        self.assertIsNone(GstIntegralHist.integral_histogram(some, luma))
        histogram = GstIntegralHist.integral_histogram(some)
        regions = GstIntegralHist.buffer_get_integral_histogram_regions_meta(some)
        for has in histogram, regions:
            self.assertEqual((has.get_first_bin(), has.get_bins(), has.get_all_bins()), (2, 3, 9))
        counts = list(whole.region(1, 2, 10, 5))
        self.assertEqual(list(histogram.region(1, 2, 10, 5)), counts[2:5])
        self.assertEqual(list(regions.get_values(0)), counts[2:5])
        grid = GstIntegralHist.IntegralHistogramGrid()
        for name, value in (('window_width', 4), ('window_height', 4), ('step_x', 1),
                            ('step_y', 1), ('columns', 9), ('rows', 5)):
            setattr(grid, name, value)
        with self.assertRaisesRegex(GLib.Error, 'bins 2 to 4 of 9.*set first-bin=0 n-bins=0'):
            histogram.likelihood_maps(grid, [1, 2, 3], GstIntegralHist.IntegralHistogramMeasure.L1)

    def test_a_table_in_a_file(self):
        """A table in a file equals the same table as text, and its values counted by themselves."""
        with tempfile.NamedTemporaryFile('w') as file:
            file.write('\n'.join(str(value % 3) for value in range(256)))
            file.flush()
            from_file = self.histogram(bins=3, **{'lut-location': file.name})
            from_text = self.histogram(bins=3, lut=','.join(str(v % 3) for v in range(256)))
            whole = self.histogram(bins=256).region(0, 0, 20, 10)
        wanted = [sum(whole[i::3]) for i in range(3)]
        self.assertEqual(from_file.region(0, 0, 20, 10), wanted)
        self.assertEqual(from_text.region(0, 0, 20, 10), wanted)

    def test_red(self):
        """The documentation's table of red: what people call red, and nothing that is near"""
        with open(os.path.join(ROOT, 'docs', 'features.md'), encoding='utf-8') as file:
            line = re.search(r'^RED=.*$', file.read(), re.M)[0]
        lut = subprocess.run(['sh', '-c', f'{line}; printf %s "$RED"'], stdout=subprocess.PIPE,
                             text=True, check=True).stdout
        colours = {'red': (200, 20, 30), 'pure red': (255, 0, 0), 'crimson': (220, 20, 60),
                   'orange': (255, 140, 0), 'traffic cone': (255, 100, 0), 'brick': (150, 90, 75),
                   'dark brick': (110, 60, 50), 'brown': (120, 60, 20), 'skin': (224, 172, 145),
                   'pink': (255, 192, 203), 'magenta': (255, 0, 255), 'shadow': (30, 4, 5),
                   'gray': (128, 128, 128), 'green': (40, 120, 40)}
        for name, (red, green, blue) in colours.items():
            hue, saturation, value = colorsys.rgb_to_hsv(red / 255, green / 255, blue / 255)
            is_red = min(hue, 1 - hue) <= 15 / 360 and saturation >= 2 / 3 and value >= 1 / 3
            self.assertEqual(is_red, 'red' in name or name == 'crimson', name)
            table = GstIntegralHist.integral_image(first_frame(
                'videotestsrc num-buffers=1 pattern=solid-color '
                f'foreground-color={0xff << 24 | red << 16 | green << 8 | blue} ! '
                'video/x-raw,format=RGB,width=16,height=8 ! cudaintegralimage feature=hsv '
                f'quantization=24,3,3 lut="{lut}"'))
            self.assertEqual(table.region_sums(0, 0, 16, 8), [128 * is_red], name)

    def test_the_file_is_read_once(self):
        """A new frame size makes a new engine, and takes the table that the start has read."""
        with tempfile.NamedTemporaryFile('w') as file:
            file.write(' 0 , 1\n2\n\n')
            file.flush()
            with playing(
                    'appsrc name=source ! cudaintegralhist backend=cpu bins=3 feature=labels '
                    f'lut-location="{file.name}" ! appsink name=sink sync=false') as pipeline:
                for width, pixels in (4, b'\0\1\1\2'), (8, b'\2\2\2\1\1\0\3\3'):
                    caps = Gst.Caps.from_string(
                        f'video/x-raw,format=GRAY8,width={width},height=1,framerate=1/1')
                    pipeline.get_by_name('source').push_sample(
                        Gst.Sample.new(Gst.Buffer.new_wrapped(pixels), caps, None, None))
                    histogram = GstIntegralHist.buffer_get_integral_histogram_meta(
                        pull(pipeline)).histogram
                    self.assertEqual(histogram.region(0, 0, width, 1),
                                     [pixels.count(value) for value in range(3)])
                    pathlib.Path(file.name).write_text('no table')


if __name__ == '__main__':
    unittest.main(verbosity=2)
