# SPDX-License-Identifier: LGPL-2.1-or-later
"""The truth of differential.py: pictures, sums of rectangles, and measures by OpenCV."""
import cv2
import numpy


def texture(random, height, width):
    """Noise, a flat plane, black and white, stripes, or large spots"""
    kind = random.integers(0, 5)
    if kind == 0:
        return random.integers(0, 256, (height, width), numpy.uint8)
    if kind == 1:
        return numpy.full((height, width), random.integers(0, 256), numpy.uint8)
    if kind == 2:
        return (random.integers(0, 2, (height, width)) * 255).astype(numpy.uint8)
    if kind == 3:
        y, x = numpy.ogrid[:height, :width]
        return (x * random.integers(0, 9) + y * random.integers(0, 9) & 255).astype(numpy.uint8)
    spots = random.integers(0, 256, (height // 8 + 1, width // 8 + 1), numpy.uint8)
    return cv2.resize(spots, (width, height)).reshape(height, width)


class Sums:
    """Sums of planes in rectangles"""

    def __init__(self, planes):
        n, self.height, self.width = planes.shape
        self.table = numpy.zeros((n, self.height + 1, self.width + 1), numpy.int64)
        self.table[:, 1:, 1:] = planes.cumsum(1).cumsum(2)

    def of(self, x, y, width, height):
        x0, x1 = (min(max(at, 0), self.width) for at in (x, x + width))
        y0, y1 = (min(max(at, 0), self.height) for at in (y, y + height))
        table = self.table
        return table[:, y1, x1] - table[:, y0, x1] - table[:, y1, x0] + table[:, y0, x0]


COMPARED = {'intersection': cv2.HISTCMP_INTERSECT, 'bhattacharyya': cv2.HISTCMP_BHATTACHARYYA,
            'chi-square': cv2.HISTCMP_CHISQR, 'chi-square-alt': cv2.HISTCMP_CHISQR_ALT,
            'correlation': cv2.HISTCMP_CORREL, 'kullback-leibler': cv2.HISTCMP_KL_DIV}
MEASURES = (*COMPARED, 'l1', 'l2', 'emd', 'kolmogorov-smirnov', 'linear')


def likeness(measure, counts, pixels, model):
    """(the value, the most that an answer may differ); the counts are divided by `pixels`"""
    p = counts / max(pixels, 1)
    q = numpy.array(model, float)
    q = q if measure == 'linear' else q / q.sum()
    near = 3e-5 + 2e-6 * len(p)
    if measure in COMPARED:
        if measure == 'bhattacharyya':  # what is in no bin is a bin of its own
            p, q = numpy.append(p, 1 - p.sum()), numpy.append(q, 0)
            near = 5e-4  # compareHist takes the root of a difference
        if measure == 'correlation':
            near += 1e-5 * (p.mean() / p.std() if p.std() > 1e-9 else 0)
        value = cv2.compareHist(q.astype(numpy.float32), p.clip(0).astype(numpy.float32),
                                COMPARED[measure])
        return value, near * max(1, abs(value))
    difference = numpy.cumsum(p - q) if measure in ('emd', 'kolmogorov-smirnov') else p - q
    value = {'l1': lambda: abs(difference).sum(), 'emd': lambda: abs(difference).sum(),
             'l2': lambda: numpy.sqrt((difference ** 2).sum()),
             'kolmogorov-smirnov': lambda: abs(difference).max(),
             'linear': lambda: p @ q}[measure]()
    return value, near * max(1, abs(value))


def quantile(counts, pixels, part):
    """The bin of the pixel at that place of all; those in no bin come last, and are -1"""
    ranked = numpy.cumsum(counts)
    reached = (ranked >= part * pixels) & (ranked > 0)
    return int(reached.argmax()) if reached.any() else -1
