#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every example on raw MJPEG, of which only the first frame has a timestamp. All frames come
through, as many as the file has pictures, and nothing invents when they were.

Environment:
  TRACKDEMO=program   build/examples/trackdemo
  HISTQUERY=program   build/examples/histquery
"""
import csv
import os
import re
import sys
import unittest

from pipelines import EXAMPLES, FolderTest, Gst, frames, run

sys.path.insert(0, EXAMPLES)
FRAMES = 60
BOX = '100,80,60,60'


class NoTimes(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.video = cls.file('raw.mjpeg')
        line = ('videotestsrc pattern=ball num-buffers={} ! video/x-raw,format=I420,width=320,'
                'height=240,framerate=25/1 ! jpegenc ! filesink location={}')
        run(line.format(FRAMES, cls.video))

    def example(self, name, *arguments):
        return self.run_program(sys.executable, os.path.join(EXAMPLES, name), *arguments)

    def test_the_video(self):
        """Only the first frame of raw MJPEG has a time"""
        times = [buffer.pts for buffer in frames(f'filesrc location={self.video} ! decodebin')]
        self.assertEqual(times, [0] + [Gst.CLOCK_TIME_NONE] * (FRAMES - 1))

    def test_detect(self):
        boxes = self.file('boxes')
        with open(boxes, 'w', encoding='utf-8') as file:
            file.write(f'0,{BOX}\n')
        said = self.example('detect.py', '--boxes', boxes, self.video)
        rows = re.findall(r'^ +(\S+) +1  1:(\S+):', said, re.M)
        self.assertEqual(len(rows), FRAMES, said)
        self.assertEqual([time for time, _ in rows], ['0.000'] + ['-'] * (FRAMES - 1))
        self.assertEqual(rows[0][1], BOX)

    def test_table(self):
        out = self.file('out')
        self.example('table.py', self.video, out, '--grid', '2x2', '--bins', '4', '--targets', BOX,
                     '--format', 'csv')
        for table, rows_of_frame in ('regions', 4), ('tracks', 1):
            with open(os.path.join(out, f'{table}.csv'), encoding='utf-8') as file:
                rows = list(csv.DictReader(file))
            self.assertEqual([int(row['frame']) for row in rows],
                             [frame for frame in range(FRAMES) for _ in range(rows_of_frame)])
            self.assertEqual([row['pts'] for row in rows],
                             ['0'] * rows_of_frame + [''] * (len(rows) - rows_of_frame))

    def test_histograms(self):
        for name, last in (('histquery.py', rf'^{FRAMES} frames, all equal'),
                           ('numpy_regions.py', rf'^{FRAMES} frames')):
            self.assertRegex(self.example(name, self.video).splitlines()[-1], last)

    def test_publish(self):
        """The messages of a spool"""
        from integralhist.frames import Stream
        import argparse
        import publish
        options = argparse.Namespace(video=self.video, launch=None, targets=[(100, 80, 60, 60)],
                                     detections=False)
        with Stream(options) as stream:
            names = [publish.message_of('gate', 'mark', frame)[0] for frame in stream]
        self.assertEqual(names, ['gate:mark:0:0', *(f'gate:mark:-:{n}' for n in range(1, FRAMES))])

    def test_hog_output(self):
        """A WebM file has a time of each frame, by the rate"""
        import hog
        path = self.file('hog.webm')
        output = hog.Output(path)
        for frame in hog.frames(self.video):
            output.add(frame)
        output.close()
        self.check_film(path)

    def check_film(self, path):
        times = [buffer.pts for buffer in frames(f'filesrc location={path} ! decodebin')]
        self.assertEqual(len(times), FRAMES)
        self.assertEqual(len(set(times)), FRAMES)
        self.assertAlmostEqual(times[-1] / Gst.SECOND, (FRAMES - 1) / 25, delta=0.5)

    @unittest.skipUnless(os.path.exists(os.environ.get('TRACKDEMO', '')),
                         'built without the examples (no TRACKDEMO)')
    @unittest.skipUnless(Gst.init(None) or Gst.ElementFactory.find('integralhistoverlay'),
                         'built without cairo')
    def test_demo(self):
        said = self.run_program(os.environ['TRACKDEMO'], '--output', self.folder, self.video)
        self.assertIn(f'{FRAMES} frames in', said)
        self.check_film(self.file('trackdemo.webm'))

    @unittest.skipUnless(os.path.exists(os.environ.get('HISTQUERY', '')),
                         'built without the examples (no HISTQUERY)')
    def test_histquery(self):
        said = self.run_program(os.environ['HISTQUERY'], self.video)
        self.assertRegex(said.splitlines()[-1], rf'^{FRAMES} frames in ')
        self.assertGreater(len(re.findall(r'^ *[\d.]+ s +\d+ \|', said, re.M)), 3)


if __name__ == '__main__':
    unittest.main(verbosity=2)
