#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares examples/hog.py with sums of votes pixel by pixel, and with OpenCV's HOGDescriptor.

Environment: that of features.py, and
  INTHIST_TEST_DATA=folder  where vtest.avi is (package opencv-doc), with the true boxes of its
                            people in vtest_groundtruth_mot.txt
"""
import math
import os
import re
import sys
import unittest

if __name__ == '__main__':
    import virtual_environment
    virtual_environment.enter()

import cv2  # noqa: E402
import numpy  # noqa: E402
from features import SEED, Gst, Stream, pixels_in, tensor_view  # noqa: E402, I100
from feature_truth import Picture, Variant  # noqa: E402
from pipelines import DATA, EXAMPLES, FolderTest, decode, overlap  # noqa: E402

EXAMPLE = os.path.join(EXAMPLES, 'hog.py')
VTEST, TRUTH = (os.path.join(DATA, name) for name in ('vtest.avi', 'vtest_groundtruth_mot.txt'))
sys.path.insert(0, EXAMPLES)  # before this folder, which has a hog.py, too
import hog  # noqa: E402

UNIT = 8
# cell, least mean cosine of descriptors and OpenCV's with PLAIN (0.951 to 0.957 and 0.945 to 0.946
# were measured), and with GAUSSIAN (0.990, and 0.971 to 0.973)
LEAST_ALIKE = [(8, 0.94, 0.98), (12, 0.93, 0.96)]


def smooth_noise(width, height):
    """Gray levels with structures of many sizes, as pictures have them"""
    random = numpy.random.default_rng(SEED)
    pixels = sum(cv2.resize(random.normal(0, 2**i, (height >> i, width >> i)), (width, height))
                 for i in range(6))
    return (128 + pixels).clip(0, 255).astype(numpy.uint8)


def count(pixels):
    """(histogram of gray levels, the tensor by itself)"""
    height, width = pixels.shape
    picture = Picture('GRAY8', Variant(width, height), numpy.random.default_rng(SEED), pixels)
    with Stream(hog.SETTINGS) as stream:
        histogram = stream.histogram(picture)
        with histogram.get_buffer().map(Gst.MapFlags.READ) as info:
            return histogram, tensor_view(histogram, info.data).copy()


def unit_block(block):
    """L2-Hys as in OpenCV"""
    block = block / (math.sqrt((block * block).sum()) + 3.6)
    block = block.clip(max=0.2)
    return block / (math.sqrt((block * block).sum()) + 1e-3)


def place_weights(start, cell, size, weights):
    """The pixels of a block in the frame, and what each counts for the two cells of the block"""
    edges = [min(max(math.floor(start + k * cell / 2 + .5), 0), size) for k in range(5)]
    quarters = numpy.array([weights, weights[::-1]])
    return slice(edges[0], edges[4]), numpy.repeat(quarters, numpy.diff(edges), axis=1)


def direct_descriptor(votes, x, y, cell, weights):
    """The descriptor of gray levels' votes [bin, y, x], each by its place in every block"""
    answer = []
    for bx in range(7):
        columns, along_x = place_weights(x + bx * cell, cell, votes.shape[2], weights)
        for by in range(15):
            rows, along_y = place_weights(y + by * cell, cell, votes.shape[1], weights)
            block = numpy.einsum('byx,iy,jx->jib', votes[:, rows, columns], along_y, along_x,
                                 optimize=True)
            answer.append(unit_block(block.ravel() * 8 / cell))
    return numpy.concatenate(answer)


def alike(a, b):
    return a @ b / (numpy.linalg.norm(a) * numpy.linalg.norm(b))


def similarity_to_opencv(pixels, cell, weights, n, random):
    """Mean cosine of n random windows and OpenCV's descriptors, which need cells of 8 pixels"""
    descriptor = cv2.HOGDescriptor((64, 128), (16, 16), (8, 8), (8, 8), 9, 1, -1, 0, 0.2, False)
    _, tensor = count(pixels)
    height, width = pixels.shape
    answers = []
    for _ in range(n):
        x, y = random.integers(width - 8 * cell + 1), random.integers(height - 16 * cell + 1)
        window = pixels[y:y + 16 * cell, x:x + 8 * cell]
        if cell != 8:
            window = cv2.resize(window, (64, 128), interpolation=cv2.INTER_AREA)
        wanted = descriptor.compute(numpy.ascontiguousarray(window)).ravel()
        answers.append(alike(hog.descriptor(tensor, UNIT, x, y, cell, weights), wanted))
    return numpy.mean(answers)


def gray_frames(interval):
    for frame in hog.frames(VTEST, interval):
        yield cv2.cvtColor(frame.pixels, cv2.COLOR_RGB2GRAY)


class Hog(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.random = numpy.random.default_rng(SEED)
        cls.pixels = smooth_noise(352, 416)
        cls.histogram, cls.tensor = count(cls.pixels)
        cls.votes = pixels_in(cls.histogram) / UNIT
        cls.classifier = hog.people_detector()

    def need_video(self):
        for path in (VTEST, TRUTH):
            if not os.path.exists(path):
                self.skipTest(f'no {path}; set INTHIST_TEST_DATA to a folder with it')

    def run_example(self, *arguments, status=0):
        return self.run_program(sys.executable, EXAMPLE, *arguments, status=status)

    def test_descriptors(self):
        """Equal sums over pixels, at any place and size, beyond the frame too"""
        self.assertEqual(self.histogram.get_weight_unit(), UNIT)
        for cell in (2, 5, 8, 11, 16, 6.3, 9.75):
            for weights in (hog.PLAIN, hog.GAUSSIAN):
                x = self.random.integers(-2 * cell, 352 - 6 * cell)
                y = self.random.integers(-2 * cell, 416 - 14 * cell)
                if cell % 1:  # and no edge of a half cell in the middle of a pixel
                    x, y = x + 0.31, y + 0.73
                with self.subTest(cell=cell, weights=weights, x=x, y=y):
                    found = hog.descriptor(self.tensor, UNIT, x, y, cell, weights)
                    wanted = direct_descriptor(self.votes, x, y, cell, weights)
                    self.assertGreater(wanted.max(), 0.2)
                    numpy.testing.assert_allclose(found, wanted, atol=2e-5)

    def test_plain_cells(self):
        """Plain cells are squares of pixels."""
        for cell, x, y in ((5, 7, 30), (8, 40, 12), (13, 100, 2)):
            cells = self.votes[:, y:y + 16 * cell, x:x + 8 * cell].reshape(
                9, 16, cell, 8, cell).sum(axis=(2, 4)) * 8 / cell
            wanted = [unit_block(numpy.concatenate(
                [cells[:, by, bx], cells[:, by + 1, bx],
                 cells[:, by, bx + 1], cells[:, by + 1, bx + 1]]))
                for bx in range(7) for by in range(15)]
            found = hog.descriptor(self.tensor, UNIT, x, y, cell, hog.PLAIN)
            numpy.testing.assert_allclose(found, numpy.concatenate(wanted), atol=2e-5)

    def test_gaussian(self):
        """The weights are OpenCV's at the middles of a block's quarters, of 4 pixels each"""
        for k, middle in enumerate((2, 6, 10, 14)):
            share = min(max((12 - middle) / 8, 0), 1)  # the cells' own middles are 4 and 12
            # sigma is an eighth of both sides of the block together
            wanted = share * math.exp(-(middle - 8)**2 / (2 * 4**2))
            self.assertAlmostEqual(hog.GAUSSIAN[k], wanted)

    def test_sums_wrap(self):
        """Elements are modulo 2^32; sums of rectangles are right if they fit."""
        pixels = self.random.integers(0, 2**26, (2, 40, 60))
        whole = pixels.cumsum(axis=1).cumsum(axis=2)
        self.assertGreater(whole.max(), 2**34)
        x, y = numpy.array([-3, 0, 2, 7, 50, 60, 70]), numpy.array([-9, -1, 4, 6, 7, 45])
        found = hog.rectangle_sums(whole.astype(numpy.uint32), x, y)
        for j in range(len(y) - 1):
            for i in range(len(x) - 1):
                part = pixels[:, max(y[j], 0):max(y[j + 1], 0), max(x[i], 0):max(x[i + 1], 0)]
                numpy.testing.assert_array_equal(found[:, j, i], part.sum(axis=(1, 2)) % 2**32)
        with self.assertRaisesRegex(ValueError, 'counter=u32'):
            hog.rectangle_sums(whole.astype(numpy.uint16), x, y)

    def test_scores(self):
        """All scores are products with the descriptors, and all places those of windows."""
        for cell in (5, 8, 7.4):
            windows = hog.find_windows(self.tensor, UNIT, cell, self.classifier, -100)
            columns, rows = (int((size + 4 * cell) / (cell / 2)) - 2 * n + 1
                             for size, n in ((352, 8), (416, 16)))
            self.assertEqual(len(windows), columns * rows)
            for i in self.random.integers(0, len(windows), 20):
                row, column = divmod(i, columns)
                x, y = (-2 * cell + k * cell / 2 for k in (column, row))
                self.assertLessEqual(abs(windows[i, :2] - (x, y)).max(), 0.5)
                wanted = (hog.descriptor(self.tensor, UNIT, x, y, cell) @ self.classifier[:-1]
                          + self.classifier[-1])
                self.assertAlmostEqual(windows[i, 2], wanted, delta=1e-4)
        none = hog.find_windows(self.tensor[:, :50, :50].copy(), UNIT, 16, self.classifier, -100)
        self.assertEqual(none.shape, (0, 3))

    def test_suppress(self):
        boxes = numpy.array([[0, 0, 10, 20, 1], [1, 0, 10, 20, 3], [0, 10, 10, 20, 2],
                             [50, 0, 10, 20, 0.5], [1, 1, 9, 20, 2.5]])
        numpy.testing.assert_array_equal(hog.suppress(boxes), boxes[[1, 2, 3]])
        self.assertEqual(hog.suppress(boxes[:0]).shape, (0, 5))

    def test_opencv(self):
        """Descriptors are near to OpenCV's, for structures of all sizes"""
        for cell, plain, gaussian in LEAST_ALIKE:
            for weights, least in ((hog.PLAIN, plain), (hog.GAUSSIAN, gaussian)):
                found = similarity_to_opencv(self.pixels, cell, weights, 50, self.random)
                print(f'mean cosine of descriptors and OpenCV\'s, noise, cells of {cell}, '
                      f'{"plain" if weights == hog.PLAIN else "Gaussian"}: {found:.4f}')
                self.assertGreater(found, least)

    def test_opencv_on_video(self):
        self.need_video()
        for cell, plain, gaussian in LEAST_ALIKE:
            for weights, least in ((hog.PLAIN, plain), (hog.GAUSSIAN, gaussian)):
                found = numpy.mean([
                    similarity_to_opencv(pixels, cell, weights, 30, self.random)
                    for pixels in gray_frames(200)])
                print(f'mean cosine of descriptors and OpenCV\'s, vtest.avi, cells of {cell}, '
                      f'{"plain" if weights == hog.PLAIN else "Gaussian"}: {found:.4f}')
                self.assertGreater(found, least)

    def test_finds_people(self):
        """hog.py finds most people in vtest.avi, and little else"""
        self.need_video()
        truth = numpy.loadtxt(TRUTH, delimiter=',')
        said = self.run_example(VTEST, '--interval', '200', '--output', self.file('people.webm'))
        rows = re.findall(r'^ *(\d+) +\d+ % +(\d+)  (.*)$', said, re.M)
        self.assertEqual([int(number) for number, _, _ in rows], [0, 200, 400, 600])
        right = found = there = 0
        for number, n, boxes in rows:
            boxes = [[float(v) for v in re.split('[,:]', box)] for box in boxes.split()]
            self.assertEqual(len(boxes), int(n))
            found += len(boxes)
            true = [row[2:6] - (1, 1, 0, 0) for row in truth if row[0] == int(number) + 1]
            there += len(true)
            right += sum(any(overlap(box, b) >= 0.5 for b in boxes) for box in true)
        self.assertGreater(right, 0.75 * there, said)
        self.assertGreater(right, 0.7 * found, said)
        frames = decode(self.file('people.webm'), 'matroskademux ! vp8dec', 768, 576)
        self.assertEqual(len(frames), 4)
        for frame, (_, _, boxes) in zip(frames, rows):
            for box in boxes.split():
                x, y, w, h, _ = (float(v) for v in re.split('[,:]', box))
                line = frame[int(max(y, 0)):int(y + h), int(x) if x > 0 else 0]
                self.assertLess(abs(line - (255, 176, 0)).mean(), 90)

    def test_picture(self):
        """A picture goes in and out, of a width that is no multiple of four"""
        picture, drawn = self.file('in.png'), self.file('out.png')
        cv2.imwrite(picture, self.pixels[:, :351])
        said = self.run_example(picture, '--threshold', '-9', '--output', drawn)
        self.assertRegex(said, r'\n +0 +\S+( %)? +\d+  \S')
        self.assertIn(' people in 1 frames', said)
        people = int(re.search(r'(\d+) people', said).group(1))
        self.assertGreater(people, 3)
        before, after = self.pixels[:, :351, None], cv2.imread(drawn)[..., ::-1]
        changed = (after != before).any(axis=2)
        self.assertTrue((after[changed] == (255, 176, 0)).all())
        self.assertGreater(changed.sum(), 100 * people)
        none = self.run_example(picture, '--threshold', '99', '--output', drawn)
        self.assertIn('0 people in 1 frames', none)
        self.assertTrue((cv2.imread(drawn) == before).all())

    def test_errors(self):
        picture = self.file('small.png')
        cv2.imwrite(picture, self.pixels[:20, :20])
        self.assertIn('0 people in 1 frames', self.run_example(picture))
        for arguments, status, message in (
                (['/nowhere.avi'], 1, 'no such file: /nowhere.avi'),
                ([EXAMPLE], 1, 'hog.py: '),
                ([picture, '--people', '90'], 2, 'give two heights'),
                ([picture, '--people', '90-60'], 2, 'smaller height first'),
                ([picture, '--people', '10-60'], 2, 'at least 24'),
                ([picture, '--interval', '0'], 2, 'give 1 or more'),
                ([picture, '--output', '/nowhere/out.png'], 1, 'hog.py: /nowhere/out.png: ')):
            said = self.run_example(*arguments, status=status)
            self.assertIn(message, said)
            self.assertNotIn('Traceback', said)


if __name__ == '__main__':
    unittest.main(verbosity=2)
