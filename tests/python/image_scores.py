#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares tables of scores with NumPy: for each feature and format, and with scores that change.

Scores from an element downstream hold from the next frame on, however tables are computed.

Environment:
  INTHIST_BACKEND=cpu|cuda  the element's backend (auto by default)
  INTHIST_SEED=N            of the random pictures (1 by default)
  PYTHON_VENV=folder        a virtual environment with the packages, as tests/run.sh makes it
"""
import tempfile
import unittest

if __name__ == '__main__':
    import virtual_environment
    virtual_environment.enter()

import numpy  # noqa: E402

from feature_truth import DEFAULT_PARTS, FORMATS, Picture, Variant, values_of  # noqa: E402
from features import SEED, VARIANTS, Stream, tensor_view  # noqa: E402
from pipelines import GLib, Gst, GstIntegralHist  # noqa: E402

# feature and quantization
FEATURES = [
    ('luma', ()), ('labels', ()), ('red', ()), ('green', ()), ('blue', ()), ('cb', ()), ('cr', ()),
    ('hue', ()), ('saturation', ()), ('value', ()), ('rgb', ()), ('rgb', (2, 9, 14)),
    ('ycbcr', ()), ('hue-saturation', ()), ('hue-saturation', (30, 8)), ('hsv', ()),
    ('gradient', ()), ('signed-gradient', ()), ('lbp', ()), ('uniform-lbp', ()),
]
WAYS = [f'compute={compute} sync={sync}' for compute in ('auto', 'eager', 'on-demand')
        for sync in ('false', 'true')]


def text_of(lut):
    return ','.join(map(str, lut))


def values(feature, parts, picture):
    """The value of each pixel, 255 for pixels without a value"""
    found = values_of(feature, picture, 180, parts or DEFAULT_PARTS.get(feature, ()))[0]
    return numpy.where(found < 0, 255, found)


def settings(feature, parts):
    return f'feature={feature} quantization="{text_of(parts)}"'


def stream_of(properties):
    return Stream(properties, 'cudaintegralimage')


def tables_in(histogram):
    with histogram.get_buffer().map(Gst.MapFlags.READ) as info:
        return tensor_view(histogram, info.data).copy()


def check(histogram, scores, what):
    """Compares whole tables, of scores, and of their squares if the histogram has them."""
    scores = scores.astype(numpy.uint64)
    for plane, of in zip(tables_in(histogram), (scores, scores * scores)):
        exact = of.cumsum(axis=0).cumsum(axis=1) % 2**32
        numpy.testing.assert_array_equal(plane, exact.astype(numpy.uint32), str(what))


def check_region(histogram, scores, random):
    """Compares the sum of a window."""
    height, width = scores.shape
    w, h = (int(random.integers(1, side + 1)) for side in (width, height))
    x, y = int(random.integers(0, width - w + 1)), int(random.integers(0, height - h + 1))
    found = histogram.region_sums(x, y, w, h)
    assert found[0] == scores[y:y + h, x:x + w].sum(), (found, x, y, w, h)


def some_lut(random):
    return random.integers(0, 256, 256, numpy.uint8)


def event_of(lut):
    return GstIntegralHist.integral_image_lut_event_new(lut.tolist())


class Scores(unittest.TestCase):
    def test_every_feature(self):
        """With a random table, whole or short; and without a table, if values are added up"""
        random = numpy.random.default_rng(SEED)
        pictures = [Picture(name, variant, random) for name in FORMATS for variant in VARIANTS]
        for feature, parts in FEATURES:
            lut = some_lut(random)
            n = int(random.integers(1, 257))
            short = numpy.append(lut[:n], numpy.zeros(256 - n, numpy.uint8))
            plain = numpy.arange(256)
            if feature in ('hue', 'gradient', 'signed-gradient'):
                plain[180:] = 0
            for text, table, every in ((text_of(lut), lut, 1), (text_of(lut[:n]), short, 5),
                                       ('', plain, 3)):
                with self.subTest(feature, parts=parts, n=text.count(',')), stream_of(
                        f'squared=true {settings(feature, parts)} lut="{text}"') as stream:
                    for picture in pictures[::every]:
                        if feature != 'labels' or picture.name == 'GRAY8':
                            check(stream.histogram(picture),
                                  table[values(feature, parts, picture)],
                                  f'{feature} of {picture.name} {picture.variant}')

    def test_linear(self):
        """Divided by its pixels a window's sum of scores is the linear measure of its histogram."""
        random = numpy.random.default_rng(SEED)
        picture = Picture('RGB', Variant(64, 48), random)
        grid = GstIntegralHist.IntegralHistogramGrid()
        fields = {'window_width': 13, 'window_height': 9, 'x': -4, 'y': -3, 'step_x': 3,
                  'step_y': 5, 'columns': 22, 'rows': 11}
        for name, value in fields.items():
            setattr(grid, name, value)
        for feature, bins in (('luma', 256), ('hue-saturation', 128), ('uniform-lbp', 59)):
            scores = some_lut(random)[:bins]
            with Stream(f'feature={feature} bins={bins if feature == "luma" else 16}') as stream:
                values, best = stream.histogram(picture).likelihood_maps(
                    grid, scores.tolist(), GstIntegralHist.IntegralHistogramMeasure.LINEAR)
            found = numpy.frombuffer(values.get_data(), numpy.float32)
            with stream_of(f'feature={feature} lut="{text_of(scores)}"') as stream:
                table = stream.histogram(picture)
                wanted = []
                for i in range(found.size):
                    x, y = grid.x + i % 22 * 3, grid.y + i // 22 * 5
                    pixels = ((min(x + 13, 64) - max(x, 0)) * (min(y + 9, 48) - max(y, 0)))
                    wanted.append(table.region_sums(x, y, 13, 9)[0] / max(pixels, 1))
            numpy.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=feature)
            self.assertEqual(best.value, found.max())

    def test_location(self):
        random = numpy.random.default_rng(SEED)
        lut = some_lut(random)
        picture = Picture('NV12', Variant(64, 48), random)
        with tempfile.NamedTemporaryFile('w') as file:
            file.write('\n'.join(map(str, lut)))
            file.flush()
            with stream_of(f'feature=cb lut-location={file.name}') as stream:
                check(stream.histogram(picture), lut[values('cb', (), picture)], 'a file')
                other = some_lut(random)
                stream.element.set_property('lut', text_of(other))
                check(stream.histogram(picture), other[values('cb', (), picture)], 'instead')
                file.seek(0)
                file.truncate()  # it was read at the start
                stream.element.set_property('lut', '')
                check(stream.histogram(picture), lut[values('cb', (), picture)], 'the file again')

    def test_changes(self):
        """Events of a pad probe downstream change the scores, each while a frame passes it"""
        random = numpy.random.default_rng(SEED)
        pictures = [Picture(name, Variant(131, 103), random) for name in ('NV12', 'GRAY8', 'BGRx')]
        for way in WAYS:
            for feature, parts in (('luma', ()), ('hsv', ()), ('gradient', ())):
                lut, queue, sent = some_lut(random), [], []
                with self.subTest(way, feature=feature), stream_of(
                        f'{settings(feature, parts)} lut="{text_of(lut)}" {way}') as stream:
                    pad = stream.sink.get_static_pad('sink')

                    def send(pad, _):
                        if queue:
                            event = event_of(queue.pop())
                            sent.append(event.get_seqnum())
                            assert pad.push_event(event)
                        return Gst.PadProbeReturn.OK

                    pad.add_probe(Gst.PadProbeType.BUFFER, send)
                    seqnum = 0
                    for i in range(24):
                        picture = pictures[i // 8]
                        after = some_lut(random) if i % 3 else None
                        if after is not None:
                            queue.append(after)
                        histogram = stream.histogram(picture)
                        scores = lut[values(feature, parts, picture)]
                        self.assertEqual(histogram.get_lut_seqnum(), seqnum)
                        for _ in range(3):
                            check_region(histogram, scores, random)
                        if i % 2:
                            check(histogram, scores, f'frame {i}')
                        if after is not None:
                            lut, seqnum = after, sent[-1]

    def test_one_engine(self):
        random = numpy.random.default_rng(SEED)
        picture = Picture('GRAY8', Variant(64, 48), random)
        for way in WAYS:
            with self.subTest(way), stream_of(way) as stream:
                for i in range(20):
                    stream.histogram(picture)
                    stream.sink.get_static_pad('sink').push_event(event_of(some_lut(random)))
                    frames = stream.element.get_property('stats').get_uint64('frames')[1]
                    self.assertEqual(frames, i + 1)  # a new engine would begin anew

    def test_frames_in_flight(self):
        """Frames made before an event keep their scores, also for late questions."""
        random = numpy.random.default_rng(SEED)
        picture = Picture('I420', Variant(160, 120), random)
        for way in WAYS:
            with self.subTest(way), stream_of(way) as stream:
                kept, lut = [], numpy.arange(256)
                for _ in range(8):
                    kept.append((stream.histogram(picture), lut))
                    lut = some_lut(random)
                    self.assertTrue(stream.pipeline.send_event(event_of(lut)))
                for histogram, lut in kept:
                    scores = lut[values('luma', (), picture)]
                    check_region(histogram, scores, random)
                    check(histogram, scores, way)

    def test_the_last_holds(self):
        """The last of events and the property holds"""
        random = numpy.random.default_rng(SEED)
        picture = Picture('GRAY8', Variant(40, 30), random)
        pixels, plain = picture.luma, numpy.arange(256)
        a, b, c = (some_lut(random) for _ in range(3))

        with stream_of('compute=eager') as stream:
            def expect(lut, by_event):
                histogram = stream.histogram(picture)
                check(histogram, lut[pixels], '')
                self.assertEqual(histogram.get_lut_seqnum() != 0, by_event)

            expect(plain, False)
            stream.element.set_property('lut', text_of(a))
            expect(a, False)
            stream.pipeline.send_event(event_of(b))
            expect(b, True)
            stream.element.set_property('lut', text_of(a))  # the same again
            expect(a, False)
            stream.element.set_property('lut', text_of(c))
            stream.pipeline.send_event(event_of(b))  # before any frame
            expect(b, True)
            stream.pipeline.send_event(event_of(a))
            stream.element.set_property('lut', '')
            expect(plain, False)
            stream.pipeline.send_event(event_of(c))
            stream.pipeline.set_state(Gst.State.READY)
            stream.pipeline.set_state(Gst.State.PLAYING)
            expect(plain, False)  # the start forgets events

    def test_bad_events(self):
        random = numpy.random.default_rng(SEED)
        picture = Picture('GRAY8', Variant(40, 30), random)

        def event(**fields):
            structure = Gst.Structure.new_empty('integral-image-lut')
            for name, value in fields.items():
                structure.set_value(name, value)
            return Gst.Event.new_custom(Gst.EventType.CUSTOM_UPSTREAM, structure)

        lut = some_lut(random)
        with stream_of('') as stream:
            bus = stream.pipeline.get_bus()
            stream.histogram(picture)
            stream.pipeline.send_event(event_of(lut))
            for bad, words in (
                    (event(lut=GLib.Bytes.new(bytes(255))), '255 scores instead of 256'),
                    (event(lut=GLib.Bytes.new(bytes(257))), '257 scores instead of 256'),
                    (event(lut=GLib.Bytes.new(b'')), '0 scores instead of 256'),
                    (event(lut='1,2,3'), 'no field lut of type GBytes'),
                    (event(scores=1), 'no field lut of type GBytes')):
                with self.subTest(words):
                    self.assertFalse(stream.pipeline.send_event(bad))
                    message = bus.timed_pop_filtered(Gst.SECOND, Gst.MessageType.WARNING)
                    text = message.parse_warning()[0].message
                    self.assertIn('The scores of lut stay as they are', text)
                    self.assertIn(words, text)
                    self.assertIn('gst_integral_image_lut_event_new', text)
                    check(stream.histogram(picture), lut[picture.luma], words)
            # other events pass: no element upstream takes them, and none warns
            stream.pipeline.send_event(Gst.Event.new_custom(
                Gst.EventType.CUSTOM_UPSTREAM, Gst.Structure.new_empty('other')))
            check(stream.histogram(picture), lut[picture.luma], 'another event')
            self.assertIsNone(bus.pop_filtered(Gst.MessageType.WARNING))

    def test_parse(self):
        lut = some_lut(numpy.random.default_rng(SEED))
        scores = GstIntegralHist.integral_image_lut_event_parse(event_of(lut))
        self.assertEqual(scores.get_data(), lut.tobytes())
        for n in 255, 257:
            with self.assertRaises(ValueError):
                GstIntegralHist.integral_image_lut_event_new([0] * n)
        with self.assertRaisesRegex(GLib.Error, 'the event has no LUT'):
            GstIntegralHist.integral_image_lut_event_parse(Gst.Event.new_eos())

    def test_likelihood(self):
        """The weighted counts of a histogram equal the sums of the table of the weights."""
        random = numpy.random.default_rng(SEED)
        weights = some_lut(random)
        pictures = [Picture(name, Variant(131, 103), random) for name in ('NV12', 'RGB', 'YUY2')]
        for feature in 'hsv', 'rgb', 'ycbcr', 'hue-saturation':
            for way in ('compute=eager', 'compute=on-demand'):
                with self.subTest(feature, way=way), \
                        Stream(f'feature={feature} {way}') as counted, \
                        stream_of(f'feature={feature} lut="{text_of(weights)}" {way}') as summed:
                    for picture in pictures:
                        counts, sums = counted.histogram(picture), summed.histogram(picture)
                        for _ in range(20):
                            x, y = (int(random.integers(-20, side)) for side in (131, 103))
                            w, h = (int(random.integers(1, side)) for side in (131, 103))
                            count = numpy.array(counts.region(x, y, w, h), numpy.int64)
                            wanted = (weights[:count.size].astype(numpy.int64) * count).sum()
                            self.assertEqual(sums.region_sums(x, y, w, h), [wanted])

    @staticmethod
    def text_on_bus(stream, kind):
        """the text of the next error or warning"""
        message = stream.pipeline.get_bus().timed_pop_filtered(20 * Gst.SECOND, kind)
        return (message.parse_error() if kind == Gst.MessageType.ERROR
                else message.parse_warning())[0].message

    def error_of(self, stream, picture):
        stream.source.push_sample(Gst.Sample.new(picture.buffer(), picture.caps(), None, None))
        return self.text_on_bus(stream, Gst.MessageType.ERROR)

    def test_errors(self):
        scores = 'write 1 to 256 scores, the first of value 0, separated by commas'
        picture = Picture('GRAY8', Variant(40, 30), numpy.random.default_rng(SEED))
        for properties, words in (
                ('lut="1,256"', ('"256" is not a score from 0 to 255', scores)),
                ('lut="1,-1"', ('"-1" is not a score', scores)),
                (f'lut="{text_of([1] * 257)}"', ('more than 256 numbers', scores)),
                ('lut=1 lut-location=/nowhere',
                 ('lut="1" and lut-location="/nowhere" are both set',)),
                ('lut-location=/nowhere', ('/nowhere', 'No such file')),
                ('feature=hsv quantization=1,2', ('a number is missing',)),
                ('feature=hue quantization=6,6,6', ('feature=hue is not joint',))):
            with self.subTest(properties), stream_of(properties) as stream:
                error = self.error_of(stream, picture)
                for word in words:
                    self.assertIn(word, error)
        with stream_of('') as stream:
            stream.element.set_property('lut', '7')
            stream.histogram(picture)
            stream.element.set_property('lut', 'many')
            said = self.text_on_bus(stream, Gst.MessageType.WARNING)
            self.assertIn('"many" is not a score from 0 to 255', said)
            self.assertIn('Until then the property lut stays "7".', said)
            stream.histogram(picture)


if __name__ == '__main__':
    unittest.main(verbosity=2)
