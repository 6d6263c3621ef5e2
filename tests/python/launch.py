#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares what gst-launch-1.0 -m prints for a real video with NumPy, and runs the Python example.

NumPy counts in frames that are decoded independently; every number must be equal.

Environment:
  INTHIST_TEST_DATA=folder  where vtest.avi and woman.mp4 are
  INTHIST_BACKEND=cpu|cuda  the element's backend (auto by default)
"""
import os
import re
import subprocess
import sys
import unittest

import numpy

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.environ.get('INTHIST_TEST_DATA', os.path.join(os.path.dirname(ROOT), 'shared', 'data'))
VTEST, WOMAN = os.path.join(DATA, 'vtest.avi'), os.path.join(DATA, 'woman.mp4')
WIDTH, HEIGHT, FRAMES = 768, 576, 795
TIMEOUT = 240

ONE = [(100, 100, 64, 128)]
SEVERAL = ONE + [(-20, 500, 100, 100), (700, 0, 69, 576), (0, 0, WIDTH, HEIGHT), (-5, -5, 6, 6)]


def clip(x, y, width, height):
    left, top = max(x, 0), max(y, 0)
    return left, top, min(x + width, WIDTH) - left, min(y + height, HEIGHT) - top


def value_counts(regions):
    """How many pixels each clipped region has of each value: [frame, region, value]"""
    size = WIDTH * HEIGHT * 3 // 2
    command = ['gst-launch-1.0', '-q', 'filesrc', f'location={VTEST}', '!', 'decodebin', '!',
               'videoconvert', '!', f'video/x-raw,format=I420,width={WIDTH},height={HEIGHT}', '!',
               'fdsink', 'fd=1', 'sync=false']
    clipped = [clip(*region) for region in regions]
    counts = []
    with subprocess.Popen(['timeout', str(TIMEOUT)] + command,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        while frame := process.stdout.read(size):
            luma = numpy.frombuffer(frame, numpy.uint8, WIDTH * HEIGHT).reshape(HEIGHT, WIDTH)
            parts = [luma[y:y + height, x:x + width] for x, y, width, height in clipped]
            counts.append([numpy.bincount(part.ravel(), minlength=256) for part in parts])
    if process.returncode != 0:
        raise RuntimeError(f'{command} ended with {process.returncode}')
    return numpy.array(counts)


def binned(counts, bins):
    """The same with bins instead of values: value * bins // 256"""
    answer = numpy.zeros(counts.shape[:2] + (bins,), numpy.int64)
    for value in range(256):
        answer[:, :, value * bins // 256] += counts[:, :, value]
    return answer


def numbers(text):
    """(rectangles or counts) "< < (int)1, (int)2 >, < (int)3 > >" as lists"""
    lists = re.findall(r'<([^<>]+)>', text)
    return [[int(number) for number in re.findall(r'\)(-?\d+)', inner)] for inner in lists]


def launch(bins, regions, *properties):
    """Frame numbers, rectangles and counts of the messages"""
    if 'INTHIST_BACKEND' in os.environ:
        properties += ('backend=' + os.environ['INTHIST_BACKEND'],)
    text = ';'.join(','.join(map(str, region)) for region in regions)
    command = ['gst-launch-1.0', '-m', 'filesrc', f'location={VTEST}', '!', 'decodebin', '!',
               'videoconvert', '!', 'cudaintegralhist', f'bins={bins}', f'regions={text}',
               *properties, '!', 'fakesink']
    process = subprocess.run(['timeout', str(TIMEOUT)] + command, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, check=False)
    if process.returncode != 0:
        raise AssertionError(
            f'{command} ended with {process.returncode}:\n{process.stdout[-3000:]}')
    messages = re.findall(r'\(element\): integral-histogram, .*frame=\(guint64\)(\d+), '
                          r'feature=\(string\)luma, '
                          r'rectangles=\(int\)(.*), counts=\(uint\)(.*);$',
                          process.stdout, re.MULTILINE)
    frames = [int(frame) for frame, _, _ in messages]
    rectangles = [numbers(text) for _, text, _ in messages]
    counts = [numbers(text) for _, _, text in messages]
    return frames, rectangles, counts


@unittest.skipUnless(
    os.path.exists(VTEST),
    f'no {VTEST}; set INTHIST_TEST_DATA to a folder with it (package opencv-doc)')
class Launch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.counts = value_counts(SEVERAL)

    def check(self, bins, regions, *properties):
        self.assertEqual(len(self.counts), FRAMES)
        frames, rectangles, counts = launch(bins, regions, *properties)
        self.assertEqual(frames, list(range(FRAMES)))
        clipped = [list(clip(*region)) for region in regions]
        self.assertEqual(rectangles, [clipped] * FRAMES)
        counts = numpy.array(counts)
        areas = [width * height for _, _, width, height in clipped]
        self.assertTrue((counts.sum(axis=2) == areas).all())
        numpy.testing.assert_array_equal(counts, binned(self.counts[:, :len(regions)], bins))

    def test_one_region(self):
        self.assertEqual(clip(*ONE[0])[2] * clip(*ONE[0])[3], 8192)
        self.check(32, ONE)

    def test_several_regions_u16(self):
        self.check(32, SEVERAL, 'counter=u16')

    def test_several_regions_u8_tiled(self):
        self.check(32, SEVERAL, 'counter=u8-tiled')

    def test_odd_bins(self):
        self.check(7, SEVERAL)


class Cameras(unittest.TestCase):
    def test_streams(self):
        """The frames are those of live sources; whether all keep up depends on the machine"""
        process = subprocess.run(
            [sys.executable, os.path.join(ROOT, 'examples', 'cameras.py'), '--streams', '3',
             '--seconds', '2', '--size', '320x240', '--target', '150,100,40,60'],
            timeout=TIMEOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)
        self.assertIn(process.returncode, (0, 1), process.stdout)
        lines = process.stdout.splitlines()
        frames = [int(line.split()[1]) for line in lines[1:3]]
        self.assertEqual(len(lines), 4, process.stdout)
        self.assertTrue(90 <= sum(frames) <= 3 * 30 * 2 + 6, process.stdout)
        self.assertRegex(lines[-1], r'^3 streams: the slowest had [\d.]+ frames a second')


@unittest.skipUnless('GI_TYPELIB_PATH' in os.environ,
                     'built without introspection (no GI_TYPELIB_PATH)')
@unittest.skipUnless(os.path.exists(WOMAN),
                     f'no {WOMAN}; set INTHIST_TEST_DATA to a folder with it')
class Example(unittest.TestCase):
    def run_histquery(self, *arguments):
        return subprocess.run(
            [sys.executable, os.path.join(ROOT, 'examples', 'histquery.py'), *arguments],
            timeout=TIMEOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)

    def test_histquery(self):
        process = self.run_histquery(WOMAN)
        self.assertEqual(process.returncode, 0, process.stdout)
        self.assertIn('596 frames, all equal', process.stdout.splitlines()[-1])

    def test_histquery_of_a_feature(self):
        process = self.run_histquery('--feature', 'hue')
        self.assertEqual(process.returncode, 0, process.stdout)
        self.assertRegex(process.stdout, r'(?m)^frame +15  hue  largest bin')
        self.assertIn('150 frames, all equal', process.stdout.splitlines()[-1])
        process = self.run_histquery('--feature', 'hues')
        self.assertEqual(process.returncode, 2, process.stdout)
        self.assertIn("invalid choice: 'hues'", process.stdout)


if __name__ == '__main__':
    unittest.main(verbosity=2)
