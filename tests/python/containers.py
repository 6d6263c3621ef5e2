#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""table.py on files with more than one upright video: with a note to turn it, or with several
video streams. The test writes the files, and so knows their pictures."""
import csv
import os
import sys
import unittest

from integralhist import frames
from pipelines import EXAMPLES, FolderTest, run

TABLE = os.path.join(EXAMPLES, 'table.py')
FRAMES = 10
VIDEO = ('videotestsrc num-buffers={} ! '
         'video/x-raw,format=I420,width={},height={},framerate=10/1 ! jpegenc')


class Containers(FolderTest):
    def write(self, line):
        self.assertIsNone(run(line))

    def table(self, name, *source):
        """(what it says, {(x, y, width, height)} of the regions, frames)"""
        out = self.file(name)
        said = self.run_program(sys.executable, TABLE, *source, out, '--grid', '1x1', '--bins', '2',
                                '--format', 'csv')
        with open(os.path.join(out, 'regions.csv'), encoding='utf-8') as file:
            rows = list(csv.DictReader(file))
        return (said, {(int(row['width']), int(row['height'])) for row in rows}, len(rows))

    def test_rotated(self):
        """Coordinates are those of the stored picture, and behind videoflip of the shown one"""
        path = self.file('turned.mov')
        self.write(f'{VIDEO.format(FRAMES, 320, 240)} ! qtmux ! filesink location={path}')
        source = (f'filesrc location={path} ! decodebin ! '  # the tag as qtdemux has it of phones
                  'taginject tags=image-orientation=rotate-90 ! videoconvert')
        _, sizes, count = self.table('stored', '--launch', source)
        self.assertEqual((sizes, count), ({(320, 240)}, FRAMES))
        _, sizes, count = self.table('shown', '--launch',
                                     f'{source} ! videoflip video-direction=auto')
        self.assertEqual((sizes, count), ({(240, 320)}, FRAMES))

    def test_two_videos(self):
        """table.py says which stream it takes; a pad of the demuxer selects another one"""
        path = self.file('two.mkv')
        self.write(f'matroskamux name=mux ! filesink location={path} '
                   f'{VIDEO.format(FRAMES, 320, 240)} ! mux.video_0 '
                   f'{VIDEO.format(FRAMES, 160, 120)} ! mux.video_1')
        for number, size in enumerate(((320, 240), (160, 120))):
            _, sizes, count = self.table(
                f'number-{number}', '--launch', f'filesrc location={path} ! '
                f'matroskademux name=file file.video_{number} ! decodebin ! videoconvert')
            self.assertEqual((sizes, count), ({size}, FRAMES))
        if not hasattr(frames.Stream, 'which'):
            print('SKIP: containers: integralhist.frames does not say which stream it reads')
            self.skipTest('integralhist.frames does not say which stream it reads')
        said, ((width, height),), _ = self.table('some', path)
        self.assertRegex(said, r'of 2 video streams')
        self.assertIn(f'{width}x{height}', said)


if __name__ == '__main__':
    unittest.main(verbosity=2)
