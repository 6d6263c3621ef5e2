#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Consumers use one of several integral histograms of a frame, and those of weights.

With several elements in a row consumers show the same as with one; for weights they show what NumPy
makes of the tensor.

Environment:
  INTHIST_BACKEND=cpu|cuda  the elements' backend (auto by default)
"""
import unittest

import questions
from questions import BACKEND, MISSING, shares

if not MISSING:
    from histquery import tensor_view
    from pipelines import Gst, GstIntegralHist

SOURCE = 'videotestsrc num-buffers=4 pattern={} ! video/x-raw,format={},width=160,height=120'
MOVING = 'smpte horizontal-speed=3'
HUE, LUMA = 'feature=hue bins=6', 'bins=16'
GRADIENT = 'feature=gradient bins=9 weight=gradient soft=true'


def row_of(*settings):
    return ' ! '.join(f'cudaintegralhist backend={BACKEND} tuning-time=0 {text}'
                      for text in settings)


class Run:
    """The output of a pipeline: frames, and messages of elements"""

    def __init__(self, row, consumer, pattern=MOVING, format='I420'):
        pipeline = Gst.parse_launch(
            f'{SOURCE.format(pattern, format)} ! {row} ! {consumer} ! '
            'appsink name=sink sync=false wait-on-eos=false')
        sink, bus = pipeline.get_by_name('sink'), pipeline.get_bus()
        pipeline.set_state(Gst.State.PLAYING)
        self.buffers, self.frames, self.messages, self.errors = [], [], [], []
        kinds = Gst.MessageType.ELEMENT | Gst.MessageType.ERROR | Gst.MessageType.EOS
        while message := bus.timed_pop_filtered(20 * Gst.SECOND, kinds):
            if message.type == Gst.MessageType.ELEMENT:
                self.messages.append(message.get_structure().to_string())
                continue
            if message.type == Gst.MessageType.ERROR:
                self.errors.append(message.parse_error()[0].message)
            break
        while message := bus.pop_filtered(Gst.MessageType.ERROR):
            if message.src.get_factory().get_name() != 'videotestsrc':  # which only stops
                self.errors.append(message.parse_error()[0].message)
        while sample := sink.try_pull_sample(0):
            self.buffers.append(sample.get_buffer())
            with self.buffers[-1].map(Gst.MapFlags.READ) as info:
                self.frames.append(bytes(info.data))
        pipeline.set_state(Gst.State.NULL)


CONSUMERS = [
    'integralhistlikelihood model=60,40,30,30 messages=true',
    'integralhisttrack method=fragments targets="60,40,40,40;10,10,30,50"',
    'integralhistoverlay regions="60,40,40,40"',
]


@unittest.skipIf(MISSING, MISSING)
class Consumers(unittest.TestCase):
    def same(self, one, other, what):
        self.assertEqual((one.errors, len(one.frames)), ([], 4), what)
        self.assertEqual(one.frames, other.frames, what)
        self.assertEqual(one.messages, other.messages, what)

    def test_choice(self):
        """Each of three in a row is found by its feature, wherever it stands."""
        nicks = {'hue': HUE, 'gradient': GRADIENT, 'luma': LUMA}
        for consumer in CONSUMERS:
            shown = {nick: Run(row_of(alone), consumer) for nick, alone in nicks.items()}
            self.assertEqual(len({str(run.frames + run.messages) for run in shown.values()}), 3,
                             consumer)
            for row in ((HUE, GRADIENT, LUMA), (GRADIENT, LUMA, HUE)):
                for nick, alone in shown.items():
                    self.same(Run(row_of(*row), f'{consumer} feature={nick}'), alone,
                              f'{row} {consumer} {nick}')

    def test_default(self):
        """The default is the first histogram of pixels, or else of weights."""
        for consumer in CONSUMERS:
            hue, gradient = (Run(row_of(alone), consumer) for alone in (HUE, GRADIENT))
            for row in ((HUE, LUMA), (GRADIENT, HUE, LUMA), (HUE, GRADIENT)):
                self.same(Run(row_of(*row), consumer), hue, f'{row} {consumer}')
            self.same(Run(row_of(GRADIENT, 'soft=true'), consumer), gradient, consumer)

    def test_absent(self):
        """A feature without a histogram is one error, which says what to put where."""
        for consumer in CONSUMERS:
            name = consumer.split()[0]
            run = Run(row_of(HUE, LUMA), f'{consumer} feature=hsv')
            self.assertEqual(len(run.errors), 1)
            self.assertIn(f'no integral histogram of feature=hsv: put cudaintegralhist '
                          f'feature=hsv before {name}', run.errors[0])
            self.assertIn(f'"... ! cudaintegralhist feature=hsv ! {name} feature=hsv ! ..."',
                          run.errors[0])
            run = Run(row_of(HUE), f'{consumer} feature=hues')
            self.assertEqual(len(run.errors), 1)
            self.assertIn('feature="hues" is not a feature: leave it empty, or set it to one of '
                          'luma',
                          run.errors[0])

    def test_interval(self):
        """Frames that a producer leaves out are no error, though others have histograms."""
        for consumer in CONSUMERS:
            run = Run(row_of(f'{HUE} interval=3', LUMA), f'{consumer} feature=hue')
            self.assertEqual((run.errors, len(run.frames)), ([], 4), consumer)

    def test_weights(self):
        """A likelihood map of weights is the formula of the tensor's sums."""
        numpy = questions.numpy
        for settings in (GRADIENT, 'bins=8 soft=true', 'feature=lbp weight=gradient'):
            run = Run(row_of(settings), 'integralhistlikelihood mode=gray measure=l1 step=1 '
                      'model=50,40,24,16 window-width=9 window-height=6', 'snow', 'GRAY8')
            self.assertEqual((run.errors, len(run.frames)), ([], 4))
            model = None
            for buffer, frame in zip(run.buffers, run.frames):
                histogram = GstIntegralHist.buffer_get_integral_histogram_meta(buffer).histogram
                self.assertEqual(histogram.get_content().value_nick, 'weights')
                with histogram.get_buffer().map(Gst.MapFlags.READ) as info:
                    tensor = tensor_view(histogram, info.data).astype(numpy.int64)
                padded = numpy.pad(tensor, ((0, 0), (1, 0), (1, 0)))

                def sums(x0, y0, x1, y1):
                    x0, x1 = (min(max(x, 0), 160) for x in (x0, x1))
                    y0, y1 = (min(max(y, 0), 120) for y in (y0, y1))
                    return (padded[:, y1, x1] - padded[:, y0, x1] - padded[:, y1, x0]
                            + padded[:, y0, x0])

                if model is None:
                    model = shares(sums(50, 40, 74, 56))
                levels = numpy.frombuffer(frame, numpy.uint8).reshape(120, 160)
                for y in range(0, 120, 7):
                    for x in range(0, 160, 5):
                        window = shares(sums(x - 4, y - 3, x + 5, y + 3))
                        self.assertAlmostEqual(
                            levels[y, x], 255 * (1 - abs(window - model).sum() / 2), delta=1)

if __name__ == '__main__':
    unittest.main(verbosity=2)
