#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The times in element messages: a field for each time that a frame has, and none for others."""
import unittest

from pipelines import Gst, messages, playing

WIDTH, HEIGHT = 64, 48
PTS, DURATION = 2 * Gst.SECOND, Gst.SECOND // 25
NONE = Gst.CLOCK_TIME_NONE
HISTOGRAM = 'cudaintegralhist backend=cpu tuning-time=0'
PRODUCERS = {
    'integral-histogram': f'{HISTOGRAM} regions="1,1,9,9"',
    'integral-image': 'cudaintegralimage backend=cpu tuning-time=0 regions="1,1,9,9"',
    'integral-histogram-track':
        'cudatrackfeatures backend=cpu ! integralhisttrack targets="1,1,20,20"',
    'integral-histogram-likelihood': f'{HISTOGRAM} ! integralhistlikelihood messages=true',
}
TIMES = {'timestamp', 'stream-time', 'running-time', 'duration'}


def run(line, push=lambda pipeline: None):
    """The structures of all element messages"""
    with playing(line) as pipeline:
        push(pipeline)
        return list(messages(pipeline))


def times_of(structure):
    return {name: structure.get_uint64(name)[1] for name in TIMES if structure.has_field(name)}


class Messages(unittest.TestCase):
    def check(self, pts, duration, wanted, form='time'):
        """Sends two frames with these times through appsrc, and compares the messages"""
        def push(pipeline):
            source = pipeline.get_by_name('source')
            for number in range(2):
                buffer = Gst.Buffer.new_wrapped(bytes([number]) * (WIDTH * HEIGHT))
                buffer.pts, buffer.duration = pts, duration
                source.push_buffer(buffer)
            source.end_of_stream()

        caps = f'video/x-raw,format=GRAY8,width={WIDTH},height={HEIGHT},framerate=0/1'
        for name, elements in PRODUCERS.items():
            with self.subTest(name):
                found = run(f'appsrc name=source format={form} caps={caps} ! {elements} ! '
                            'fakesink sync=false', push)
                self.assertEqual([structure.get_name() for structure in found], [name] * 2)
                for structure in found:
                    self.assertEqual(times_of(structure), wanted)

    def test_all(self):
        self.check(PTS, DURATION, {'timestamp': PTS, 'stream-time': PTS, 'running-time': PTS,
                                   'duration': DURATION})

    def test_no_duration(self):
        self.check(PTS, NONE, {'timestamp': PTS, 'stream-time': PTS, 'running-time': PTS})

    def test_no_timestamp(self):
        self.check(NONE, DURATION, {'duration': DURATION})

    def test_neither(self):
        self.check(NONE, NONE, {})

    def test_a_segment_of_bytes(self):
        """A stream that is not timed has no place in stream or running time."""
        self.check(PTS, NONE, {'timestamp': PTS}, form='bytes')

    def test_what_is_counted(self):
        for settings, feature, parts in (('bins=8', 'luma', None),
                                         ('feature=hue bins=8', 'hue', None),
                                         ('feature=hue-saturation', 'hue-saturation', [16, 8]),
                                         ('feature=hsv quantization=2,3,4', 'hsv', [2, 3, 4]),
                                         ('feature=uniform-lbp', 'uniform-lbp', None)):
            found = run('videotestsrc num-buffers=1 ! '
                        f'video/x-raw,format=RGB,width={WIDTH},height={HEIGHT} ! '
                        f'cudaintegralhist {settings} regions=0,0,9,9 ! fakesink')
            self.assertEqual([s.get_value('feature') for s in found], [feature])
            self.assertEqual(found[0].has_field('quantization'), parts is not None)
            if parts:
                self.assertEqual(list(found[0].get_value('quantization')), parts)
        found = run(f'videotestsrc num-buffers=1 ! video/x-raw,width={WIDTH},height={HEIGHT} ! '
                    'cudaintegralimage regions=0,0,9,9 ! fakesink')
        self.assertFalse(found[0].has_field('feature'))

    def test_a_source_without_a_frame_rate(self):
        for name, elements in PRODUCERS.items():
            with self.subTest(name):
                found = run('videotestsrc num-buffers=1 ! video/x-raw,format=GRAY8,'
                            f'width={WIDTH},height={HEIGHT},framerate=0/1 ! {elements} ! fakesink')
                self.assertEqual([structure.get_name() for structure in found], [name])
                self.assertNotIn('duration', times_of(found[0]))
                self.assertNotIn(NONE, times_of(found[0]).values())


if __name__ == '__main__':
    unittest.main(verbosity=2)
