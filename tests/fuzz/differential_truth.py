# SPDX-License-Identifier: LGPL-2.1-or-later
"""The truth of differential.py: pictures, what their pixels add to each bin, and measures.

It shares nothing with tests/python/feature_truth.py. That file reads random bytes as the formats
have them; this one draws channels, and lays them out as the formats have them.
"""
import ctypes

import cv2
import numpy
from gi.repository import Gst, GstVideo

# luma's share of red and of blue, GstVideoColorMatrix, GstVideoColorPrimaries
MATRICES = {'bt601': (0.299, 0.114, 4, 4), 'bt709': (0.2126, 0.0722, 3, 1),
            'bt2020': (0.2627, 0.0593, 6, 7)}
PACKED = ('RGB', 'BGR', 'RGBx', 'BGRx', 'xRGB', 'xBGR', 'RGBA', 'BGRA', 'ARGB', 'ABGR')
# pixels that have a chroma sample in common, as shifts of x and y
SHIFTS = {'I420': (1, 1), 'YV12': (1, 1), 'NV12': (1, 1), 'NV21': (1, 1), 'Y42B': (1, 0),
          'YUY2': (1, 0), 'UYVY': (1, 0), 'Y444': (0, 0)}
FORMATS = ('GRAY8', 'GRAY16_LE', *SHIFTS, *PACKED)
JOINT = {'rgb': (256, 256, 256), 'ycbcr': (256, 256, 256), 'hue-saturation': (180, 256),
         'hsv': (180, 256, 256)}
TURNS = {'gradient': numpy.pi, 'signed-gradient': 2 * numpy.pi}


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


def interleave(*planes):
    return numpy.stack(planes, -1).reshape(planes[0].shape[0], -1)


class Picture:
    """One frame: its channels at each pixel, and its bytes"""

    def __init__(self, random, name, info, is_interlaced, matrix, full, crop, gaps):
        self.matrix, self.full, self.crop, self.info, self.gaps = matrix, full, crop, info, gaps
        self.is_rgb = name in PACKED
        width, height = info.width, info.height
        if self.is_rgb:
            channels = {letter: texture(random, height, width) for letter in 'RGB'}
            planes = [interleave(*(channels.get(letter, texture(random, height, width))
                                   for letter in name.replace('A', 'x')))]
            self.channels = [channels[letter] for letter in 'RGB']
        else:
            planes = self.lay_out(random, name, width, height, is_interlaced)
        self.channels = [channel.astype(numpy.int64) for channel in self.channels]
        if crop:
            x, y, w, h = crop
            self.channels = [channel[y:y + h, x:x + w] for channel in self.channels]
        self.height, self.width = self.channels[0].shape
        self.place(random, planes)

    def lay_out(self, random, name, width, height, is_interlaced):
        luma = texture(random, height, width)
        if name not in SHIFTS:
            self.channels = [luma] + [numpy.full(luma.shape, 128)] * 2
            low = texture(random, height, width)
            return [luma if name == 'GRAY8' else interleave(low, luma)]
        right, down = SHIFTS[name]
        columns, rows = -(-width >> right), -(-height >> down)
        y, x = numpy.ogrid[:height, :width]
        row = y >> down
        if down and self.info.interlace_mode != GstVideo.VideoInterlaceMode.PROGRESSIVE:
            rows += rows % 2
            if is_interlaced:  # each field has chroma rows of its own
                row = (y >> 2) * 2 + y % 2
        blue, red = texture(random, rows, columns), texture(random, rows, columns)
        self.channels = [luma] + [chroma[row, x >> right] for chroma in (blue, red)]
        if name in ('YUY2', 'UYVY'):
            luma = numpy.pad(luma, ((0, 0), (0, width % 2)))
            pairs = [luma[:, ::2], blue, luma[:, 1::2], red]
            return [interleave(*(pairs if name == 'YUY2' else [pairs[i] for i in (1, 0, 3, 2)]))]
        if name.startswith('NV'):
            return [luma, interleave(*([blue, red] if name == 'NV12' else [red, blue]))]
        return [luma, red, blue] if name == 'YV12' else [luma, blue, red]

    def place(self, random, planes):
        """Puts the planes' rows where the format, or a GstVideoMeta with gaps, has them"""
        self.strides = list(self.info.stride)[:len(planes)]
        self.offsets = list(self.info.offset)[:len(planes)]
        size = self.info.size
        if self.gaps:
            self.strides, self.offsets, size = [], [], int(random.integers(0, 40))
            for plane in planes:
                self.offsets.append(size)
                self.strides.append(plane.shape[1] + int(random.integers(0, 70)))
                size += self.strides[-1] * plane.shape[0]
        self.bytes = random.integers(0, 256, size, numpy.uint8)
        for plane, stride, offset in zip(planes, self.strides, self.offsets):
            for y, row in enumerate(plane):
                self.bytes[offset + y * stride:][:row.size] = row

    def buffer(self):
        buffer = Gst.Buffer.new_wrapped(self.bytes.tobytes())
        if self.gaps or self.crop:
            n = len(self.strides)
            GstVideo.buffer_add_video_meta_full(
                buffer, 0, self.info.finfo.format, self.info.width, self.info.height, n,
                self.offsets + [0] * (4 - n), self.strides + [0] * (4 - n))
        if self.crop:  # PyGObject cannot set its fields, which lie behind flags and info
            meta = buffer.add_meta(GstVideo.VideoCropMeta.get_info(), None)
            ctypes.memmove(hash(meta) + 16, (ctypes.c_uint * 4)(*self.crop), 16)
        return buffer

    def luma(self):
        if not self.is_rgb:
            return self.channels[0]
        red, blue = (int(share * 65536 + 0.5) for share in MATRICES[self.matrix][:2])
        r, g, b = self.channels
        return red * r + (65536 - red - blue) * g + blue * b + 32768 >> 16

    def converted(self, factors, before, after):
        """The documented integers: 16 bits of fraction"""
        fixed = numpy.rint(numpy.array(factors) * 65536).astype(numpy.int64)
        offsets = numpy.rint((numpy.array(after) + 0.5) * 65536 - fixed @ numpy.array(before))
        sums = numpy.tensordot(fixed, numpy.array(self.channels), 1)
        return list((sums + offsets.astype(numpy.int64)[:, None, None] >> 16).clip(0, 255))

    def rgb(self):
        if self.is_rgb:
            return self.channels
        red, blue = MATRICES[self.matrix][:2]
        green = 1 - red - blue
        y, c = (1, 2) if self.full else (255 / 219, 255 / 112)
        return self.converted(
            [[y, 0, (1 - red) * c],
             [y, -(1 - blue) * c * blue / green, -(1 - red) * c * red / green],
             [y, (1 - blue) * c, 0]], [0 if self.full else 16, 128, 128], [0, 0, 0])

    def ycbcr(self):
        if not self.is_rgb:
            return self.channels
        red, blue = MATRICES[self.matrix][:2]
        luma = numpy.array([red, 1 - red - blue, blue])
        return self.converted([luma, ([0, 0, 1] - luma) / (2 - 2 * blue),
                               ([1, 0, 0] - luma) / (2 - 2 * red)], [0, 0, 0], [0, 128, 128])

    def hsv(self):
        rgb = numpy.stack(self.rgb(), -1).astype(numpy.uint8)
        return [c.astype(numpy.int64) for c in cv2.split(cv2.cvtColor(rgb, cv2.COLOR_RGB2HSV))]

    def gradient(self):
        around = numpy.pad(self.luma(), 1, 'edge')
        return (around[1:-1, 2:] - around[1:-1, :-2], around[2:, 1:-1] - around[:-2, 1:-1])


def sectors(picture, n, turn):
    dx, dy = picture.gradient()
    eighths = numpy.rint(numpy.arctan2(dy, dx) % turn / (numpy.pi / 4)).astype(int)
    around = round(turn / (numpy.pi / 4))
    is_exact = (dx == 0) | (dy == 0) | (abs(dx) == abs(dy))  # a multiple of 45 degrees
    found = numpy.floor(numpy.arctan2(dy, dx) % turn / turn * n).astype(int) % n
    found = numpy.where(is_exact, eighths % around * n // around, found)
    return numpy.where((dx == 0) & (dy == 0), -1, found)


def patterns(picture, uniform):
    luma = picture.luma()
    around = numpy.pad(luma, 1, 'edge')
    height, width = luma.shape
    places = ((1, 2), (0, 2), (0, 1), (0, 0), (1, 0), (2, 0), (2, 1), (2, 2))  # counterclockwise
    found = sum((around[y:y + height, x:x + width] >= luma).astype(int) << bit
                for bit, (y, x) in enumerate(places))
    if not uniform:
        return found
    labels = numpy.full(256, 58)
    labels[0], labels[255] = 0, 57
    for ones in range(1, 8):
        for turn in range(8):
            run = (1 << ones) - 1 << turn
            labels[run & 255 | run >> 8] = 1 + 8 * (ones - 1) + (8 - turn) % 8
    return labels[found]


def values_of(feature, picture, parts, directions):
    """(the value of each pixel, -1 for none; how many values there are)"""
    if feature in TURNS:
        return sectors(picture, directions, TURNS[feature]), directions
    if feature in JOINT:
        channels = picture.hsv() if feature.startswith('h') else getattr(picture, feature)()
        number = 0
        for channel, n_values, n in zip(channels, JOINT[feature], parts):
            number = number * n + channel * n // n_values
        return number, int(numpy.prod(parts))
    if feature == 'hue':
        hue, saturation, value = picture.hsv()
        return numpy.where((saturation >= 30) & (value >= 10), hue, -1), 180
    simple = {'red': lambda: picture.rgb()[0], 'green': lambda: picture.rgb()[1],
              'blue': lambda: picture.rgb()[2], 'cb': lambda: picture.ycbcr()[1],
              'cr': lambda: picture.ycbcr()[2], 'saturation': lambda: picture.hsv()[1],
              'value': lambda: picture.hsv()[2], 'luma': picture.luma, 'labels': picture.luma,
              'lbp': lambda: patterns(picture, False)}
    if feature == 'uniform-lbp':
        return patterns(picture, True), 59
    return simple[feature](), 256


def planes_of(picture, feature, bins, parts, table, weight, soft):
    """[bin, y, x]: the amount that a pixel adds to a bin"""
    if weight == 'gradient':
        amount = numpy.rint(8 * numpy.hypot(*picture.gradient())).astype(numpy.int64)
    else:
        amount = numpy.full((picture.height, picture.width), 256 if soft else 1)
    each = numpy.arange(bins)[:, None, None]
    values, n_values = values_of(feature, picture, parts, 180 if table else bins)
    if soft:
        middle = (values + 0.5) * bins / n_values - 0.5
        if feature != 'hue':
            middle = middle.clip(0, bins - 1)
        first = numpy.floor(middle).astype(int)
        amount = numpy.where(values < 0, 0, amount)
        second = amount * numpy.floor((middle - first) * 256 + 1e-9).astype(int) + 128 >> 8
        return (numpy.where(first % bins == each, amount - second, 0)
                + numpy.where((first + 1) % bins == each, second, 0))
    if table:
        bin_of = numpy.full(257, -1)
        bin_of[:len(table)] = table
        found = bin_of[numpy.where(values < 0, 256, values)]
    elif feature == 'labels':
        found = values
    else:
        found = numpy.where(values < 0, -1, values * bins // n_values)
    return numpy.where(found == each, amount, 0)


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
