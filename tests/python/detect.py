#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""examples/detect.py behind a detector that is a file, and behind OpenCV's.

The file has boxes of the walker in the drawn street, whose speed is known; those of people in
vtest.avi are its truth.

Environment:
  TRACKDEMO=program        build/examples/trackdemo
  PYTHON_VENV=folder       an environment with OpenCV
  INTHIST_TEST_DATA=folder where vtest.avi and its truth are
"""
import os
import re
import sys
import unittest

import numpy

from pipelines import DATA, EXAMPLES, FolderTest, launch, overlap, playing

TRACKDEMO = os.environ.get('TRACKDEMO', '')
VENV_PYTHON = os.path.join(os.environ.get('PYTHON_VENV', ''), 'bin', 'python')
VTEST = os.path.join(DATA, 'vtest.avi')
FRAMES, RATE = 150, 30
HIDDEN = range(105, 126)  # by the column


def walker(frame):
    """Four pixels a frame, less the camera's 0.8"""
    return 41 + 4 * frame - round(0.8 * frame), 252, 62, 150


def read_tracks(text):
    """{frame: {id: (box, lost)}}"""
    frames = {}
    for line in text.splitlines()[1:]:
        time, count, *tracks = line.split()
        seen = {}
        for track in tracks:
            number, box, state = track.split(':')
            seen[int(number)] = tuple(map(int, box.split(','))), state == 'lost'
        assert len(seen) == int(count), line
        frames[round(float(time) * RATE)] = seen
    return frames


class Detect(FolderTest):
    def detect(self, *arguments, python=sys.executable, status=0):
        return self.run_program(python, os.path.join(EXAMPLES, 'detect.py'), *arguments,
                                status=status)

    def write(self, name, lines):
        with open(os.path.join(self.folder, name), 'w', encoding='utf-8') as file:
            file.write('\n'.join(lines) + '\n')
        return name

    @unittest.skipUnless(os.path.exists(TRACKDEMO), 'built without the examples (no TRACKDEMO)')
    def test_boxes(self):
        """One id, also behind the column, which hides the walker in two of the frames that the
        detector sees"""
        self.run_program(TRACKDEMO, '--write-test', 'street.webm')
        beside = '0,-50,10,20,20'  # of the frame, and so nobody
        boxes = self.write('boxes.csv', [beside] + [','.join(map(str, (frame, *walker(frame))))
                                                    for frame in range(FRAMES)
                                                    if frame not in HIDDEN])
        tracks = read_tracks(self.detect('street.webm', '--boxes', boxes))
        self.assertEqual(sorted(tracks), list(range(FRAMES)))
        overlaps = []
        for frame, seen in tracks.items():
            self.assertEqual(list(seen), [1], frame)
            box, lost = seen[1]
            if frame in HIDDEN:
                continue
            if frame % 10 == 0:
                self.assertFalse(lost, frame)
                self.assertGreater(overlap(box, walker(frame)), 0.9, frame)
            overlaps.append(0 if lost else overlap(box, walker(frame)))
        self.assertGreater(sum(overlaps) / len(overlaps), 0.85)

        # a detector that looks once
        tracks = read_tracks(self.detect('street.webm', '--boxes', boxes, '--every', '1000'))
        self.assertEqual(tracks[0], {1: (walker(0), False)})
        self.assertNotEqual(tracks[10][1][0], walker(10))

    @unittest.skipUnless(os.path.exists(TRACKDEMO), 'built without the examples (no TRACKDEMO)')
    def test_mot_and_film(self):
        """A file of MOTChallenge counts frames and pixels from 1. The film has every frame, with
        the box of the track and without that of the detection."""
        self.run_program(TRACKDEMO, '--write-test', 'street.webm')
        x, y, width, height = walker(0)
        boxes = self.write('det.txt', [f'1,-1,{x + 1},{y + 1},{width},{height},0.9,-1,-1,-1'])
        tracks = read_tracks(self.detect('street.webm', '--boxes', boxes, '--film', 'film.webm'))
        self.assertEqual(tracks[0], {1: (walker(0), False)})
        frames = self.decode('film.webm')
        self.assertEqual(len(frames), FRAMES)
        before = self.decode('street.webm')[0].astype(int)
        changed = numpy.abs(frames[0].astype(int) - before).max(axis=2) > 60
        self.assertGreater(changed[y:y + height, x].mean(), 0.5, 'the left side of the box')
        self.assertLess(changed[y + height + 2:].sum(), 50, 'the label of the detection')

    def decode(self, name):
        """The frames of a film, as arrays of RGB"""
        found = []
        with playing(f'filesrc location={self.folder}/{name} ! decodebin ! videoconvert ! '
                     'video/x-raw,format=RGB ! appsink name=sink sync=false') as pipeline:
            while sample := pipeline.get_by_name('sink').pull_sample():
                size = [sample.get_caps()[0].get_int(side)[1] for side in ('height', 'width')]
                data = sample.get_buffer().extract_dup(0, sample.get_buffer().get_size())
                found.append(numpy.frombuffer(data, numpy.uint8).reshape(*size, -1))
        return found

    @unittest.skipUnless(os.path.exists(VENV_PYTHON),
                         f'no {VENV_PYTHON} with OpenCV; tests/run.sh makes it')
    @unittest.skipUnless(os.path.exists(VTEST), f'no {VTEST}; set INTHIST_TEST_DATA')
    def test_people(self):
        """What OpenCV finds first are people. It is not sure of all before the second frame."""
        launch(f'filesrc location={VTEST} ! decodebin ! identity eos-after=12 ! videoconvert ! '
               f'jpegenc quality=95 ! avimux ! filesink location={self.folder}/people.avi')
        said = self.detect('people.avi', python=VENV_PYTHON)
        truth = []
        with open(os.path.join(DATA, 'vtest_groundtruth_mot.txt'), encoding='utf-8') as file:
            for line in file:
                frame, _, *box = map(float, line.split(',')[:6])
                if frame == 2:
                    truth.append(box)
        first = list(read_tracks(said).values())[1]
        self.assertGreaterEqual(len(first), 2, said)
        for box, _ in first.values():
            self.assertGreater(max(overlap(box, person) for person in truth), 0.3, said)

    @unittest.skipUnless(os.path.exists(TRACKDEMO), 'built without the examples (no TRACKDEMO)')
    def test_scores(self):
        """Scores are scaled: next to the walker, of 95 to 105, a box of 5 starts no target. NaN is
        not a score, and the tracker's warning says so."""
        self.run_program(TRACKDEMO, '--write-test', 'street.webm')
        for score, ids in ((lambda frame: 95 + frame % 11, {1}), (lambda _: 'nan', set())):
            lines = []
            for frame in range(40):
                for x, y, width, height, its in ((*walker(frame), score(frame)),
                                                 (400, 20, 60, 60, 'nan' if not ids else 5)):
                    lines.append(f'{frame + 1},-1,{x + 1},{y + 1},{width},{height},{its}')
            text = self.detect('street.webm', '--every', '1', '--boxes',
                               self.write('det.txt', lines))
            tracks = '\n'.join(line for line in text.splitlines()
                               if not line.startswith('detect.py: '))
            said = 'from 5 to 105 are scaled' if ids else 'confidence'
            self.assertRegex(text, f'detect.py: .*{said}')
            self.assertEqual({number for seen in read_tracks(tracks).values() for number in seen},
                             ids, text)

    def test_errors(self):
        for arguments, said in (
                (('--boxes', 'nothing.csv', 'x.avi'), 'nothing.csv: No such file'),
                (('--boxes', self.write('bad.csv', ['1,2,3,4,5', '', '1,2,3']), 'x.avi'),
                 'bad.csv:3: write frame,x,y,width,height'),
                (('--boxes', self.write('good.csv', ['0,2,3,4,5']), 'x.avi'), 'x.avi: ')):
            text = self.detect(*arguments, status=1)
            self.assertRegex(text.splitlines()[-1], '^detect.py: ' + re.escape(said))
        self.detect('--every', '0', 'x.avi', status=2)


if __name__ == '__main__':
    unittest.main(verbosity=2)
