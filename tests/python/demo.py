#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The demo without a display: output, video and contact sheet. The test decodes the video and the
sheet independently.

Environment:
  TRACKDEMO=program   build/examples/trackdemo
  HISTQUERY=program   build/examples/histquery
  MEDIANS=program     build/examples/medians
"""
import os
import re
import subprocess
import tempfile
import unittest

import numpy
from pipelines import DATA, ROOT, FolderTest, decode, launch, overlap

PROGRAM = os.environ.get('TRACKDEMO', '')
HISTQUERY = os.environ.get('HISTQUERY', '')
MEDIANS = os.environ.get('MEDIANS', '')
WIDTH, HEIGHT, FRAMES = 320, 240, 60
SCENE = 640, 480
SCENE_FRAMES = 150
SHEET_GAP, SHEET_WIDTH = 4, 1280
TIMEOUT = 120
COLOUR = [87, 181, 232]  # of the first target


def ball(frame):
    """The centre of the white pixels"""
    white = frame.min(axis=2) > 200
    y, x = numpy.nonzero(white)
    return numpy.array([x.mean(), y.mean()])


def ball_box(frame):
    y, x = numpy.nonzero(frame.min(axis=2) > 128)
    return x.min(), y.min(), numpy.ptp(x) + 1, numpy.ptp(y) + 1


def shirt(frame):
    """The middle column of the walker's red stripes; None if they are hidden"""
    band = frame[285:325]
    red = (band[:, :, 0] > 165) & (band[:, :, 1] < 64) & (band[:, :, 2] < 76)
    return numpy.nonzero(red)[1].mean() if red.sum() > 60 else None


def box_middle(frame):
    """The middle column of the box that is drawn around the walker, by its upright lines"""
    drawn = (abs(frame[262:400] - COLOUR).max(axis=2) < 90).mean(axis=0)
    lines = numpy.argsort(drawn)[-6:]  # three columns each
    return lines.mean() if drawn[lines].min() > 0.9 else None


def tiles(path):
    """The pictures of a contact sheet"""
    with open(path, 'rb') as file:
        head = file.read(24)
    assert head[:8] == b'\x89PNG\r\n\x1a\n'
    width, height = int.from_bytes(head[16:20], 'big'), int.from_bytes(head[20:24], 'big')
    assert width == SHEET_WIDTH
    sheet = decode(path, 'pngdec', width, height)[0]
    tile_width, tile_height = (width - 4 * SHEET_GAP) // 3, (height - 4 * SHEET_GAP) // 3
    return [sheet[y:y + tile_height, x:x + tile_width]
            for y in range(SHEET_GAP, height - tile_height, tile_height + SHEET_GAP)
            for x in range(SHEET_GAP, width - tile_width, tile_width + SHEET_GAP)]


OVERLAY_MISSING = subprocess.run(['gst-inspect-1.0', 'integralhistoverlay'],
                                 stdout=subprocess.DEVNULL, check=False).returncode


@unittest.skipUnless(os.path.exists(PROGRAM), 'built without the examples (no TRACKDEMO)')
@unittest.skipIf(OVERLAY_MISSING, 'built without cairo')
class Demo(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.clip = cls.file('clip.avi')
        launch(f'videotestsrc pattern=ball num-buffers={FRAMES} !',
               f'video/x-raw,format=I420,width={WIDTH},height={HEIGHT},framerate=30/1 !',
               f'jpegenc quality=95 ! avimux ! filesink location={cls.clip}')

    def demo(self, *arguments, status=0):
        return self.run_program(PROGRAM, '--output', self.folder, *arguments, status=status)

    def video(self, width=WIDTH, height=HEIGHT):
        return decode(self.file('trackdemo.webm'), 'matroskademux ! vp8dec', width, height)

    def test_scene(self):
        """The demo follows the walker, and reports that truly"""
        said = self.demo('--test')
        self.assertIn('update-rate=0.1 feature=luma\n', said)
        self.assertIn('Following', said)
        rows = re.findall(r'^  (seen|half or more hidden) +(\d+) +(\d+) +([\d.]+)$', said, re.M)
        (_, seen, followed, overlap), (_, hidden, followed_hidden, overlap_hidden) = rows
        self.assertEqual(int(seen) + int(hidden), SCENE_FRAMES)
        self.assertIn(f'{SCENE_FRAMES} frames in ', said)
        self.assertGreater(int(hidden), 10)
        self.assertGreater(int(followed), 0.85 * int(seen))
        self.assertGreater(float(overlap), 0.75)
        self.assertLess(int(followed_hidden), int(hidden))  # nobody is followed behind a column
        self.assertLess(float(overlap_hidden), float(overlap))
        times = re.search(r'Hidden until frame (\d+), .* frame (\d+)', said).groups()
        until, found = map(int, times)
        self.assertLess(until, found)
        self.assertLess(found, until + 20)
        lost = int(re.search(r'reported the walker as lost in (\d+) frame', said).group(1))
        self.assertLess(0, lost)
        self.assertLess(lost, SCENE_FRAMES - int(followed))
        last = said.splitlines()[-1]
        self.assertIn(f'in {followed} of the {seen} frames', last)
        self.assertIn(f'mean overlap {overlap}.', last)

        # the drawn boxes are on the shirt, in as many frames as the demo reports
        frames = self.video(*SCENE)
        self.assertEqual(len(frames), SCENE_FRAMES)
        places = [(shirt(frame), box_middle(frame)) for frame in frames]
        shown = [(at, box) for at, box in places if at is not None]
        near = [box is not None and abs(box - at) < 15 for at, box in shown]
        self.assertGreater(len(shown), int(seen) - 25)
        self.assertGreater(sum(near), 0.88 * len(shown))  # half of the shirt may be hidden
        walked = places[95][0] - places[5][0]
        self.assertLess(abs(walked - 90 * 3.2), 12)  # 4 pixels a frame, less the camera's 0.8

        sheet = tiles(self.file('trackdemo.png'))
        self.assertEqual(len(sheet), 9)
        for tile in sheet:
            self.assertGreater(tile.std(), 30)
        boxes = [(abs(tile - COLOUR).max(axis=2) < 60).sum() > 150 for tile in sheet]
        self.assertGreaterEqual(sum(boxes), 7)

    def test_scene_is_the_same(self):
        self.demo('--test', '--frames', '12')
        first = self.video(*SCENE)
        self.demo('--test', '--frames', '12')
        self.assertEqual(len(first), 12)
        self.assertTrue((first == self.video(*SCENE)).all())

    def test_write_scene(self):
        """--write-test writes the same film, without a box"""
        street = self.file('street.webm')
        self.assertEqual(self.demo('--write-test', street).strip(), f'150 frames: {street}')
        frames = decode(street, 'matroskademux ! vp8dec', *SCENE)
        self.assertEqual(len(frames), SCENE_FRAMES)
        self.assertLess(abs(shirt(frames[5]) - 88), 8)
        self.assertIsNone(box_middle(frames[5]))
        self.demo('--write-test', '/nothing/street.webm', status=1)

    def test_file_is_not_graded(self):
        """The demo does not grade a file, whose truth it does not know"""
        black = '--target', '0,0,40,40'
        for arguments in (), black, (*black, '--feature', 'luma'):
            said = self.demo(*arguments, self.clip)
            self.assertRegex(said, r'\d+ frames with 1 target; .* reported one as lost in \d')
            self.assertNotRegex(said, 'overlap|followed')
        # method=fragments never loses black on black, but its place is arbitrary
        self.assertIn('as lost in 0,\nand could not tell one from what is around it in', said)

    def test_what_moves(self):
        said = self.demo(self.clip)
        self.assertIn('Tracking with cudatrackfeatures ! integralhisttrack\n', said)
        self.assertIn(self.file('trackdemo.webm'), said)
        self.assertIn(self.file('trackdemo.png'), said)
        box_text, start = re.search(r'Following (\S+), which moves; from frame (\d+)',
                                    said).groups()
        x, y, width, height = map(int, box_text.split(','))
        source = decode(self.clip, 'avidemux ! jpegdec', WIDTH, HEIGHT)
        self.assertGreater(overlap((x, y, width, height), ball_box(source[int(start)])), 0.5)
        from_ball = [x + width / 2, y + height / 2] - ball(source[int(start)])

        frames = self.video()
        self.assertEqual(len(frames), FRAMES)
        before = numpy.abs(frames[:int(start)] - source[:int(start)])
        self.assertLess(before.mean(), 4)  # no box yet
        for number in range(int(start), FRAMES):  # the box goes where the ball goes
            px, py = ball(source[number]) + from_ball
            drawn = abs(frames[number] - COLOUR).max(axis=2) < 90
            # its sides are the lines that go past the ball, half its size away
            for lines, centre, across, half in ((drawn, px, py, width / 2),
                                                (drawn.T, py, px, height / 2)):
                near = lines[max(int(across) - 8, 0):int(across) + 9].mean(axis=0)
                for side in (centre - half, centre + half):
                    if 6 <= side < len(near) - 6:
                        at = round(side)
                        self.assertGreater(near[at - 6:at + 7].max(), 0.6, (number, side))

    def test_sheet(self):
        self.demo(self.clip)
        sheet = tiles(self.file('trackdemo.png'))
        self.assertEqual(len(sheet), 9)
        for tile in sheet:
            self.assertLess(abs(tile.shape[0] - tile.shape[1] * HEIGHT / WIDTH), 2)
            self.assertGreater((abs(tile - COLOUR).max(axis=2) < 90).sum(), 100)  # an overlay
            self.assertGreater((tile.min(axis=2) > 200).sum(), 300)               # and the ball
            self.assertGreater((tile.max(axis=2) < 60).mean(), 0.5)

    def test_target_and_frames(self):
        said = self.demo('--target', '0,0,40,40', '--frames', '20', self.clip)
        self.assertIn('Following 0,0,40,40; from frame 0', said)
        self.assertEqual(len(self.video()), 20)

    def test_feature(self):
        """The demo follows the walker by colour too, and finds something that moves by luma."""
        said = self.demo('--test', '--feature', 'hue-saturation', '--frames', '45')
        self.assertIn('update-rate=0.1 feature=hue-saturation\n', said)
        seen = re.search(r'^  seen +(\d+) +(\d+) ', said, re.M)
        self.assertGreaterEqual(int(seen[2]), 0.7 * int(seen[1]), said)
        self.assertIn('Following ', self.demo('--feature', 'gradient', self.clip))
        self.assertIn('--feature hues is not a feature',
                      self.demo('--feature', 'hues', '--test', status=2))

    def test_one_frame(self):
        launch('videotestsrc num-buffers=1 ! video/x-raw,width=321,height=241 ! videoconvert !',
               f'pngenc ! filesink location={self.file("one.png")}')
        self.assertIn('the centre', self.demo(self.file('one.png')))
        self.assertEqual(self.video(321, 241).shape[0], 1)

    def test_no_video(self):
        audio = self.file('audio.wav')
        launch(f'audiotestsrc num-buffers=10 ! wavenc ! filesink location={audio}')
        self.assertEqual(self.demo(audio, status=1).splitlines()[-1],
                         f'trackdemo: {audio}: there is no video in it')


@unittest.skipUnless(os.path.exists(PROGRAM), 'built without the examples (no TRACKDEMO)')
@unittest.skipIf(OVERLAY_MISSING, 'built without cairo')
@unittest.skipUnless(
    os.path.exists(os.path.join(DATA, 'vtest.avi')),
    f'no vtest.avi in {DATA}; set INTHIST_TEST_DATA to a folder with it (package opencv-doc)')
class ResearchVideo(unittest.TestCase):
    """The demo's own choice, against what people marked by hand"""

    def demo(self, name, folder):
        command = ['timeout', str(TIMEOUT), PROGRAM, '--output', folder, os.path.join(DATA, name)]
        process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, check=False)
        if 'missing is' in process.stdout:
            self.skipTest(f'no decoder (package gstreamer1.0-libav): {process.stdout}')
        self.assertEqual(process.returncode, 0, process.stdout)
        self.assertIn('it is high on a lookalike, too', ' '.join(process.stdout.split()))
        box, start = re.search(r'Following (\S+), which moves; from frame (\d+)',
                               process.stdout).groups()
        return tuple(map(int, box.split(','))), int(start), process.stdout

    def test_woman(self):
        """All of her is in the box, though the camera pans"""
        with tempfile.TemporaryDirectory() as folder:
            box, start, said = self.demo('woman.mp4', folder)
        with open(os.path.join(DATA, 'woman_groundtruth.txt'), encoding='utf-8') as file:
            truth = [tuple(map(int, line.split())) for line in file]
        self.assertGreater(overlap(box, truth[start]), 0.7)
        self.assertIn('the first 10 s of 19.87 s', said)

    def test_walker(self):
        """The box stays on the walker that it began with, and is as wide as he is"""
        with tempfile.TemporaryDirectory() as folder:
            _, start, said = self.demo('vtest.avi', folder)
            frames = decode(os.path.join(folder, 'trackdemo.webm'), 'matroskademux ! vp8dec',
                            768, 576)
        self.assertIn('the first 10 s of 79.5 s', said)
        self.assertEqual(len(frames), 100)
        source = decode(os.path.join(DATA, 'vtest.avi'), 'decodebin ! identity eos-after=101',
                        768, 576)
        truth = {}
        with open(os.path.join(DATA, 'vtest_groundtruth_mot.txt'), encoding='utf-8') as file:
            for line in file:
                number, person, *box = map(float, line.split(',')[:6])
                truth.setdefault(int(number) - 1, {})[int(person)] = box
        nearest = []
        for number in range(start + 10, len(frames)):
            drawn = abs(frames[number] - source[number]).max(axis=2) > 50
            drawn[500:, :120] = False  # the chart
            lines = numpy.nonzero(drawn.sum(axis=0) > 50)[0]  # upright ones
            left, width = lines.min(), numpy.ptp(lines) + 1
            rows = numpy.nonzero(drawn[:, left:left + width].mean(axis=1) > 0.7)[0]
            bottom = rows.max() + 1  # above the box there is its label

            def away(person, left=left, width=width, bottom=bottom, number=number):
                x, y, wide, high = truth[number][person]
                return max(abs(x - left), abs(x + wide - left - width), abs(y + high - bottom))

            nearest.append(min(truth[number], key=away))
            self.assertLess(away(nearest[-1]), 20, number)
        self.assertEqual(set(nearest), {nearest[0]})


@unittest.skipUnless(os.path.exists(HISTQUERY), 'built without the examples (no HISTQUERY)')
class Histquery(unittest.TestCase):
    def query(self, *arguments):
        command = ['timeout', str(TIMEOUT), HISTQUERY, '--test', *arguments]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def test_frames(self):
        """The program computes as many frames as the user asks for"""
        for arguments, frames in ((), 150), (('--frames', '7'), 7):
            said = self.query(*arguments)
            self.assertIn(f'of {frames} frames', said)
            self.assertRegex(said.splitlines()[-1], rf'^{frames} frames in [\d.]+ s: ')
            self.assertEqual(len(re.findall(r'^ *[\d.]+ s +\d+ \|', said, re.M)),
                             (frames + 14) // 15)
            self.assertLessEqual(max(map(len, said.splitlines())), 100)

    def test_feature(self):
        said = self.query('--feature', 'hue-saturation', '--frames', '9')
        self.assertIn('640 x 480 pixels, 128 bins', said)
        self.assertRegex(said, r'by number of the bin[^|]*time  frame \|   0\+  32\+  64\+  96\+ ')

    def test_no_zeros(self):
        """The program leaves out lines that do not apply to a CPU"""
        said = self.query()
        if 'computed on the CPU' not in said:
            self.skipTest('computed on a GPU')
        self.assertNotRegex(said, 'upload|download|bytes|device')
        times = re.findall(r'^  [a-z ]+ +(\d+) +(\d+)$', said, re.M)
        self.assertTrue(times)
        self.assertNotIn(('0', '0'), times)


@unittest.skipUnless(os.path.exists(MEDIANS), 'built without the examples (no MEDIANS)')
class Medians(FolderTest):
    def ask(self, *arguments):
        done = subprocess.run(['timeout', str(TIMEOUT), MEDIANS, *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return done.returncode, done.stdout.splitlines(), done.stderr

    def test_medians(self):
        """The medians are those of the decoded frames"""
        path = os.path.join(self.folder, 'ball.y4m')
        launch(f'videotestsrc num-buffers=4 pattern=ball ! video/x-raw,format=I420,width={WIDTH},'
               f'height={HEIGHT},framerate=30/1 ! y4menc ! filesink location={path}')
        boxes = [(0, 0, WIDTH, HEIGHT), (140, 10, 40, 41), (300, 200, 64, 64)]
        status, lines, said = self.ask(path, *(','.join(map(str, box)) for box in boxes))
        self.assertEqual((status, said), (0, ''))
        self.assertEqual(len(lines), 4)
        with open(path, 'rb') as file:
            file.readline()
            frames = numpy.frombuffer(file.read(), numpy.uint8).reshape(4, -1)[:, len('FRAME\n'):]
        for line, frame in zip(lines, frames):
            picture = frame[:WIDTH * HEIGHT].reshape(HEIGHT, WIDTH)
            for found, (x, y, width, height) in zip(line.split()[2:], boxes):
                region = numpy.sort(picture[y:y + height, x:x + width], None)
                self.assertEqual(int(found), region[(region.size - 1) // 2])

    def test_errors(self):
        for status, said, arguments in (
                (2, 'give FILE, URI or --test', ()),
                (2, '1,2,3 is not a region: give X,Y', ('--test', '1,2,3')),
                (2, '0,0,0,9 is not a region', ('--test', '0,0,0,9')),
                (1, 'nothing.avi: ', (os.path.join(self.folder, 'nothing.avi'), '0,0,9,9'))):
            found, _, error = self.ask(*arguments)
            self.assertEqual(found, status)
            self.assertIn(said, error)


class Script(unittest.TestCase):
    """demo.sh, with stand-ins for the programs that install and build"""
    FAKES = {
        'dpkg-query': 'for package; do echo "installed $package"; done',
        'meson': 'echo "[3/7] meson $*"; exit 1',
    }

    def run_script(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            for name, body in self.FAKES.items():
                with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
                    file.write(f'#!/bin/sh\n{body}\n')
                os.chmod(file.name, 0o755)
            path = f'{folder}:{os.environ["PATH"]}'
            return subprocess.run([os.path.join(ROOT, 'examples', 'demo.sh'), *arguments],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env={**os.environ, 'PATH': path}, timeout=TIMEOUT, check=False)

    def test_help(self):
        process = self.run_script('--help')
        self.assertEqual(process.returncode, 0)
        for words in 'Builds the project', '-o FOLDER', '-DNAME=VALUE', 'TARGET is', 'Ctrl-C':
            self.assertIn(words, process.stdout)
        self.assertNotIn('set -e', process.stdout)

    def test_options(self):
        for arguments in (('-Dcuda=disabled', '-Dexamples=enabled'),
                          ('-o', '/tmp', '-Dcuda=disabled')):
            process = self.run_script(*arguments)
            self.assertEqual(process.returncode, 1)
            self.assertRegex(process.stdout, r'\[3/7\] meson \w+ .*-Dcuda=disabled')
            self.assertIn('the build failed', process.stdout)
        for wrong in '-Dcuda', '-x', '--nothing':
            self.assertIn('unknown option', self.run_script(wrong).stdout)


if __name__ == '__main__':
    unittest.main(verbosity=2)
