#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What examples/trackdemo leaves where there is no display: the video and the contact sheet, decoded independently.

Environment:
  TRACKDEMO=program   build/examples/trackdemo
"""
import os
import re
import subprocess
import tempfile
import unittest

import numpy

PROGRAM = os.environ.get('TRACKDEMO', '')
WIDTH, HEIGHT, FRAMES = 320, 240, 60
TIMEOUT = 120
COLOUR = [87, 181, 232]  # of the first target


def launch(*line):
    return subprocess.run(['timeout', str(TIMEOUT), 'gst-launch-1.0', '-q', *' '.join(line).split()], stdout=subprocess.PIPE, check=True).stdout


def decode(path, decoder, width, height):
    """[frame, y, x, RGB] of a file"""
    data = launch(f'filesrc location={path} ! {decoder} ! videoconvert ! video/x-raw,format=RGB,width={width},height={height} ! fdsink fd=1')
    rows = numpy.frombuffer(data, numpy.uint8).reshape(-1, height, (width * 3 + 3) // 4 * 4)[:, :, :width * 3]
    return rows.reshape(-1, height, width, 3).astype(int)


def ball(frame):
    """The centre of what is white"""
    white = frame.min(axis=2) > 200
    y, x = numpy.nonzero(white)
    return numpy.array([x.mean(), y.mean()])


@unittest.skipUnless(os.path.exists(PROGRAM), 'built without the examples (no TRACKDEMO)')
@unittest.skipIf(subprocess.run(['gst-inspect-1.0', 'integralhistoverlay'], stdout=subprocess.DEVNULL, check=False).returncode, 'built without cairo')
class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.clip = cls.file('clip.avi')
        launch(f'videotestsrc pattern=ball num-buffers={FRAMES} ! video/x-raw,format=I420,width={WIDTH},height={HEIGHT},framerate=30/1 !',
               f'jpegenc quality=95 ! avimux ! filesink location={cls.clip}')

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def file(cls, name):
        return os.path.join(cls.folder.name, name)

    def demo(self, *arguments, status=0):
        process = subprocess.run(['timeout', str(TIMEOUT), PROGRAM, '--output', self.folder.name, *arguments], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(process.returncode, status, process.stdout)
        return process.stdout

    def video(self):
        return decode(self.file('trackdemo.webm'), 'matroskademux ! vp8dec', WIDTH, HEIGHT)

    def test_what_moves(self):
        said = self.demo(self.clip)
        self.assertIn(self.file('trackdemo.webm'), said)
        self.assertIn(self.file('trackdemo.png'), said)
        box_text, start = re.search(r'Following (\S+), which moves; from frame (\d+)', said).groups()
        x, y, width, height = map(int, box_text.split(','))
        source = decode(self.clip, 'avidemux ! jpegdec', WIDTH, HEIGHT)
        at = ball(source[int(start)])
        self.assertLess(numpy.abs(at - [x + width / 2, y + height / 2]).max(), 8)

        frames = self.video()
        self.assertEqual(len(frames), FRAMES)
        self.assertLess(numpy.abs(frames[:int(start)] - source[:int(start)]).mean(), 4)  # no box yet
        for number in range(int(start), FRAMES):  # the box is drawn where the ball is
            px, py = ball(source[number])
            drawn = abs(frames[number] - COLOUR).max(axis=2) < 90
            # its sides are the lines that go past the ball, half its size away
            for lines, centre, across, half in ((drawn, px, py, width / 2), (drawn.T, py, px, height / 2)):
                near = lines[max(int(across) - 8, 0):int(across) + 9].mean(axis=0)
                for side in (centre - half, centre + half):
                    if 6 <= side < len(near) - 6:
                        self.assertGreater(near[round(side) - 6:round(side) + 7].max(), 0.6, (number, side))

    def test_sheet(self):
        self.demo(self.clip)
        with open(self.file('trackdemo.png'), 'rb') as file:
            head = file.read(24)
        self.assertEqual(head[:8], b'\x89PNG\r\n\x1a\n')
        width, height = int.from_bytes(head[16:20], 'big'), int.from_bytes(head[20:24], 'big')
        tile_width, gap = 421, 4
        tile_height = (height - 4 * gap) // 3
        self.assertEqual(width, 1280)
        self.assertLess(abs(tile_height - tile_width * HEIGHT / WIDTH), 2)
        sheet = decode(self.file('trackdemo.png'), 'pngdec', width, height)[0]
        for row in range(3):
            for column in range(3):
                y, x = gap + row * (tile_height + gap), gap + column * (tile_width + gap)
                tile = sheet[y:y + tile_height, x:x + tile_width]
                self.assertGreater((abs(tile - COLOUR).max(axis=2) < 90).sum(), 100)  # an overlay
                self.assertGreater((tile.min(axis=2) > 200).sum(), 300)                     # and the ball
                self.assertGreater((tile.max(axis=2) < 60).mean(), 0.5)

    def test_target_and_frames(self):
        said = self.demo('--target', '0,0,40,40', '--frames', '20', self.clip)
        self.assertIn('Following 0,0,40,40; from frame 0', said)
        self.assertEqual(len(self.video()), 20)

    def test_one_frame(self):
        launch(f'videotestsrc num-buffers=1 ! video/x-raw,width=321,height=241 ! videoconvert ! pngenc ! filesink location={self.file("one.png")}')
        self.assertIn('the centre', self.demo(self.file('one.png')))
        self.assertEqual(decode(self.file('trackdemo.webm'), 'matroskademux ! vp8dec', 321, 241).shape[0], 1)

    def test_no_video(self):
        launch(f'audiotestsrc num-buffers=10 ! wavenc ! filesink location={self.file("audio.wav")}')
        self.assertEqual(self.demo(self.file('audio.wav'), status=1).strip(), f'trackdemo: {self.file("audio.wav")}: there is no video in it')


if __name__ == '__main__':
    unittest.main(verbosity=2)
