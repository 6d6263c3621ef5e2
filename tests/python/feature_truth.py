# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random pictures in every format, and what their pixels add to bins, by NumPy and OpenCV.

Formats are decoded here as GStreamer's documentation describes their bytes. Results about a picture
are kept: tests use the same pictures for every feature, and change no array.
"""
import ctypes
import dataclasses
import functools

import cv2
import numpy
from pipelines import Gst, GstVideo

RGB_PACKED = ('RGB', 'BGR', 'RGBx', 'BGRx', 'xRGB', 'xBGR', 'RGBA', 'BGRA', 'ARGB', 'ABGR')
RGB_10 = ('RGB10A2_LE', 'BGR10A2_LE')
YCBCR = ('NV12', 'NV21', 'I420', 'YV12', 'Y42B', 'Y444', 'YUY2', 'UYVY')
GRAY = ('GRAY8', 'GRAY16_LE')
FORMATS = GRAY + YCBCR + RGB_PACKED + RGB_10


@dataclasses.dataclass
class Component:
    """Byte `first` of each `step` of a plane; 2^right columns and 2^down rows have it in common"""
    plane: int
    first: int
    step: int
    right: int = 0
    down: int = 0


def components(name):
    """Y, Cb and Cr, Y alone, or R, G and B"""
    luma, c = Component(0, 0, 1), Component
    if name in RGB_PACKED:
        return [c(0, name.index(colour), len(name)) for colour in 'RGB']
    return {
        'GRAY8': [luma],
        'GRAY16_LE': [c(0, 1, 2)],  # of 16 bits, the upper 8
        'NV12': [luma, c(1, 0, 2, 1, 1), c(1, 1, 2, 1, 1)],
        'NV21': [luma, c(1, 1, 2, 1, 1), c(1, 0, 2, 1, 1)],
        'I420': [luma, c(1, 0, 1, 1, 1), c(2, 0, 1, 1, 1)],
        'YV12': [luma, c(2, 0, 1, 1, 1), c(1, 0, 1, 1, 1)],
        'Y42B': [luma, c(1, 0, 1, 1), c(2, 0, 1, 1)],
        'Y444': [luma, c(1, 0, 1), c(2, 0, 1)],
        'YUY2': [c(0, 0, 2), c(0, 1, 4, 1), c(0, 3, 4, 1)],
        'UYVY': [c(0, 1, 2), c(0, 0, 4, 1), c(0, 2, 4, 1)],
        'RGB10A2_LE': [c(0, 0, 4)] * 3,
        'BGR10A2_LE': [c(0, 0, 4)] * 3,
    }[name]


@dataclasses.dataclass
class Matrix:
    """How luma is made of red and blue, and the caps that say so"""
    red: float
    blue: float
    number: int     # GstVideoColorMatrix
    primaries: int  # GstVideoColorPrimaries, which say the matrix of RGB


MATRICES = {
    'bt601': Matrix(0.299, 0.114, 4, 4),
    'bt709': Matrix(0.2126, 0.0722, 3, 1),
    'bt2020': Matrix(0.2627, 0.0593, 6, 7),
}


@dataclasses.dataclass
class Variant:
    """A picture's size and layout, and the part that GstVideoCropMeta leaves (x, y, w, h)"""
    width: int
    height: int
    layout: str = 'usual'  # or 'padded', 'aligned', 'upside-down', 'random'
    crop: tuple = None
    matrix: str = 'bt709'
    full: bool = False
    interlace: str = 'progressive'  # or 'interleaved', 'mixed'
    has_fields: bool = False        # of a mixed frame, by its buffer's flags
    cut: tuple = None               # as crop, but by an element

    def is_woven(self):
        """Returns whether the rows belong to two fields in turn"""
        return self.interlace == 'interleaved' or self.has_fields


class Picture:
    """A picture of random bytes, these bytes, or channels that `texture (height, width)` makes"""

    def __init__(self, name, variant, random, pixels=None, texture=None):
        self.name, self.variant = name, variant
        self.width, self.height = variant.width, variant.height
        self.is_noise = texture is None
        self.info = GstVideo.VideoInfo()
        mode = getattr(GstVideo.VideoInterlaceMode, variant.interlace.upper())
        self.info.set_interlaced_format(GstVideo.VideoFormat.from_string(name), mode, self.width,
                                        self.height)
        n = self.info.finfo.n_planes
        usual = list(self.info.stride)[:n]
        rows = [max(self.rows_of(c) for c in components(name) if c.plane == p) for p in range(n)]
        if variant.layout == 'usual':
            self.strides, self.offsets = usual, list(self.info.offset)[:n]
            size = self.info.size
        else:
            pitch = {'padded': lambda s: s + 13, 'aligned': lambda s: s // 16 * 16 + 32,
                     'upside-down': lambda s: s + 5,
                     'random': lambda s: s + int(random.integers(0, 70))}[variant.layout]
            self.strides, self.offsets, size = [pitch(s) for s in usual], [], 3
            for stride, n_rows in zip(self.strides, rows):
                self.offsets.append(size)
                size += stride * n_rows + 7
            if variant.layout == 'upside-down':
                self.offsets = [o + s * (n_rows - 1)
                                for o, s, n_rows in zip(self.offsets, self.strides, rows)]
                self.strides = [-s for s in self.strides]
        self.bytes = random.integers(0, 256, size, numpy.uint8)
        if pixels is not None:  # of a format of one plane
            for y, row in enumerate(pixels.reshape(self.height, -1)):
                start = self.offsets[0] + y * self.strides[0]
                self.bytes[start:start + row.size] = row
        for component in components(name) if texture else ():
            places = self.places_of(component)
            self.bytes[places] = texture(*places.shape)

    def rows_of(self, component):
        """Rows of the plane; those of an interlaced one are an even number where rows share one"""
        rows = -(-self.height // 2**component.down)
        of_fields = component.down > 0 and self.variant.interlace != 'progressive'
        return rows + rows % 2 if of_fields else rows

    def caps(self):
        variant, matrix = self.variant, MATRICES[self.variant.matrix]
        width, height = variant.crop[2:] if variant.crop else (self.width, self.height)
        if self.name in RGB_PACKED + RGB_10:
            colorimetry = f'1:1:0:{matrix.primaries}'
        else:
            colorimetry = f'{1 if variant.full else 2}:{matrix.number}:0:{matrix.primaries}'
        return Gst.Caps.from_string(
            f'video/x-raw,format={self.name},width={width},height={height},framerate=0/1,'
            f'colorimetry={colorimetry},interlace-mode={variant.interlace}')

    def buffer(self):
        buffer = Gst.Buffer.new_wrapped(self.bytes.tobytes())
        if self.variant.layout != 'usual' or self.variant.crop:
            n = len(self.strides)
            GstVideo.buffer_add_video_meta_full(
                buffer, GstVideo.VideoFrameFlags.NONE, self.info.finfo.format, self.width,
                self.height, n, self.offsets + [0] * (4 - n), self.strides + [0] * (4 - n))
        if self.variant.is_woven():
            buffer.set_flags(Gst.BufferFlags(int(GstVideo.VideoBufferFlags.INTERLACED)))
        if self.variant.crop:
            add_crop(buffer, self.variant.crop)
        return buffer

    def places_of(self, c):
        """[row, column]: where a component's bytes are"""
        y, x = numpy.ogrid[:self.rows_of(c), :-(-self.width // 2**c.right)]
        return self.offsets[c.plane] + y * self.strides[c.plane] + x * c.step + c.first

    def component(self, c):
        """A component's bytes, or little-endian words, in the frame"""
        at = self.places_of(c)
        if self.name in RGB_10:
            values = sum(self.bytes[at + i].astype(numpy.int64) << 8 * i for i in range(4))
        else:
            values = self.bytes[at].astype(numpy.int64)
        values = values.repeat(2**c.right, axis=1)
        if self.variant.is_woven():
            fields = [values[field::2].repeat(2**c.down, axis=0) for field in (0, 1)]
            values = numpy.empty((self.height, values.shape[1]), values.dtype)
            for field in (0, 1):
                values[field::2] = fields[field][:len(values[field::2])]
        else:
            values = values.repeat(2**c.down, axis=0)
        x, y, width, height = (self.variant.crop or self.variant.cut
                               or (0, 0, self.width, self.height))
        return values[y:y + height, x:x + width]

    @functools.cached_property
    def channels(self):
        """The channels of the format, at each pixel"""
        found = [self.component(c) for c in components(self.name)]
        if self.name in RGB_10:
            found = [word >> 10 * i + 2 & 255 for i, word in enumerate(found)]
            return found[::-1] if self.name.startswith('BGR') else found
        if self.name in GRAY:
            return found + [numpy.full_like(found[0], 128)] * 2
        return found

    def is_rgb(self):
        return self.name in RGB_PACKED + RGB_10

    @functools.cached_property
    def luma(self):
        channels = self.channels
        if not self.is_rgb():
            return channels[0]
        matrix = MATRICES[self.variant.matrix]
        red, blue = (int(share * 65536 + 0.5) for share in (matrix.red, matrix.blue))
        weights = [red, 65536 - red - blue, blue]
        found = sum(w * c for w, c in zip(weights, channels)) + 32768 >> 16
        exact = sum(s * c for s, c in zip((matrix.red, 1 - matrix.red - matrix.blue, matrix.blue),
                                          channels))
        assert abs(found - exact).max() < 0.5 + 0.004
        return found

    @functools.cached_property
    def rgb(self):
        return self.channels if self.is_rgb() else self.transformed(self.rgb_factors())

    @functools.cached_property
    def ycbcr(self):
        return self.transformed(self.ycbcr_factors()) if self.is_rgb() else self.channels

    def rgb_factors(self):
        """R, G, B = factors @ (channels - before) + after; ITU-R BT.601, BT.709 and BT.2020"""
        matrix, full = MATRICES[self.variant.matrix], self.variant.full
        green = 1 - matrix.red - matrix.blue
        y, c = (1, 2) if full else (255 / 219, 2 * 255 / 224)
        return ([[y, 0, (1 - matrix.red) * c],
                 [y, -(1 - matrix.blue) * c * matrix.blue / green,
                  -(1 - matrix.red) * c * matrix.red / green],
                 [y, (1 - matrix.blue) * c, 0]],
                [0 if full else 16, 128, 128], [0, 0, 0])

    def ycbcr_factors(self):
        """Y, Cb and Cr of 0 to 255, the differences around 128"""
        matrix = MATRICES[self.variant.matrix]
        luma = numpy.array([matrix.red, 1 - matrix.red - matrix.blue, matrix.blue])
        return ([luma, ([0, 0, 1] - luma) / (2 * (1 - matrix.blue)),
                 ([1, 0, 0] - luma) / (2 * (1 - matrix.red))], [0, 0, 0], [0, 128, 128])

    def transformed(self, by):
        """The channels, transformed in integers by factors and offsets with 16 bits of fraction

        The result is never far from the rounded exact numbers, and seldom another number.
        """
        factors, before, after = map(numpy.array, by)
        channels = numpy.array(self.channels)
        fixed = numpy.rint(factors * 65536).astype(numpy.int64)
        offsets = numpy.rint((after + 0.5) * 65536 - fixed @ before).astype(numpy.int64)
        found = numpy.einsum('ij,jyx->iyx', fixed, channels) + offsets[:, None, None] >> 16
        found = found.clip(0, 255)
        exact = numpy.einsum('ij,jyx->iyx', factors, channels - before[:, None, None])
        exact = (exact + after[:, None, None]).clip(0, 255)
        assert abs(found - exact).max() < 0.5 + 0.005
        rounded = numpy.floor(exact + 0.5).clip(0, 255)
        assert not self.is_noise or (found != rounded).sum() <= 2 + 0.003 * found.size
        return list(found)

    @functools.cached_property
    def hsv(self):
        image = numpy.stack(self.rgb, axis=-1).astype(numpy.uint8)
        return list(cv2.cvtColor(image, cv2.COLOR_RGB2HSV).astype(int).transpose(2, 0, 1))

    @functools.cached_property
    def neighbours(self):
        """[dy, dx]: luma of the pixels around, those of the border repeated outside"""
        height, width = self.luma.shape
        padded = numpy.pad(self.luma, 1, mode='edge')
        return {(dy, dx): padded[1 + dy:1 + dy + height, 1 + dx:1 + dx + width]
                for dy in (-1, 0, 1) for dx in (-1, 0, 1)}

    @functools.cached_property
    def gradient(self):
        """(dx, dy) of luma by [-1 0 1]"""
        at = self.neighbours
        return at[0, 1] - at[0, -1], at[1, 0] - at[-1, 0]


def add_crop(buffer, crop):
    """Adds a GstVideoCropMeta, whose fields PyGObject cannot set"""
    meta = buffer.add_meta(GstVideo.VideoCropMeta.get_info(), None)
    ctypes.memmove(hash(meta) + 16, (ctypes.c_uint * 4)(*crop), 16)  # behind flags and info


def joint(values, ranges, parts):
    """Joins the parts of several values to one number"""
    number = 0
    for value, n_values, n in zip(values, ranges, parts):
        number = number * n + value * n // n_values
    return number


DEFAULT_PARTS = {'rgb': (6, 6, 6), 'ycbcr': (4, 8, 8), 'hue-saturation': (16, 8), 'hsv': (16, 4, 4)}
TURNS = {'gradient': numpy.pi, 'signed-gradient': 2 * numpy.pi}


def sectors(picture, n, turn):
    """The sector of luma's gradient, of n in a turn of pi or 2 pi; -1 without a gradient

    An angle that is within a billionth of a border must be on it, a multiple of 45 degrees: the
    tangents of others are irrational. There integers say the sector.
    """
    dx, dy = picture.gradient
    angle = numpy.arctan2(dy, dx) % turn
    position = angle / turn * n
    eighths = numpy.rint(angle / (numpy.pi / 4)).astype(int)  # of 2 pi
    exact = (dx == 0) | (dy == 0) | (abs(dx) == abs(dy))
    assert (abs(position - numpy.rint(position))[~exact] > 1e-9).all()
    around = 8 if turn > 4 else 4
    found = numpy.where(exact, eighths % around * n // around, numpy.floor(position).astype(int))
    return numpy.where((dx == 0) & (dy == 0), -1, found)


def patterns(picture):
    """Bit i is the neighbour at i * 45 degrees, counterclockwise, y going down"""
    at = picture.neighbours
    around = [(round(-numpy.sin(i * numpy.pi / 4)), round(numpy.cos(i * numpy.pi / 4)))
              for i in range(8)]
    return sum((at[place] >= at[0, 0]).astype(int) << i for i, place in enumerate(around))


@functools.cache
def uniform_labels():
    """Labels by pattern: 58 for every pattern with more than one run of bits"""
    labels = numpy.full(256, 58)
    labels[0], labels[255] = 0, 57
    for bits in range(1, 8):
        for first in range(8):
            run = ((1 << bits) - 1) << first
            labels[run & 255 | run >> 8] = 1 + 8 * (bits - 1) + (8 - first) % 8
    return labels


def values_of(feature, picture, bins, parts):
    """(the value of each pixel, or -1; how many values there are)"""
    if feature in ('luma', 'labels'):
        return picture.luma, 256
    if feature in ('red', 'green', 'blue'):
        return picture.rgb[('red', 'green', 'blue').index(feature)], 256
    if feature in ('cb', 'cr'):
        return picture.ycbcr[1 if feature == 'cb' else 2], 256
    if feature == 'hue':
        hue, saturation, value = picture.hsv
        return numpy.where((saturation >= 30) & (value >= 10), hue, -1), 180
    if feature in ('saturation', 'value'):
        return picture.hsv[1 if feature == 'saturation' else 2], 256
    if feature in ('rgb', 'ycbcr'):
        return joint(getattr(picture, feature), (256, 256, 256), parts), numpy.prod(parts)
    if feature in ('hue-saturation', 'hsv'):
        return joint(picture.hsv, (180, 256, 256), parts), numpy.prod(parts)
    if feature in TURNS:
        return sectors(picture, bins, TURNS[feature]), bins
    assert feature in ('lbp', 'uniform-lbp')
    return (patterns(picture), 256) if feature == 'lbp' \
        else (uniform_labels()[patterns(picture)], 59)


def bins_of(feature, picture, bins, parts=(), table=None):
    """The bin of each pixel, -1 for pixels without a bin"""
    values, n_values = values_of(feature, picture, 180 if table else bins, parts)
    if table:
        found = numpy.append(numpy.resize(table, 256), 0)
        found[len(table):] = -1
        found = found[values]
    elif feature == 'labels':
        found = values
    else:
        found = numpy.where(values < 0, -1, values * bins // n_values)
    return numpy.where(found < bins, found, -1)


def weights_of(picture, weight, soft):
    """[y, x]: the weight of each pixel, in eighths of a gray level, or 1, or 256"""
    if weight == 'gradient':
        return numpy.rint(8 * numpy.hypot(*picture.gradient)).astype(numpy.int64)
    return numpy.full(picture.luma.shape, 256 if soft else 1)


def one_hot(bins, weights, n):
    return numpy.where(bins == numpy.arange(n)[:, None, None], weights, 0)


def shares_of(feature, picture, n, weights):
    """[bin, y, x]: soft bins share a pixel by its distance from their middles"""
    if feature in TURNS:
        dx, dy = picture.gradient
        turn = TURNS[feature]
        position = numpy.arctan2(dy, dx) % turn / turn * n
        none = (dx == 0) & (dy == 0)
    else:
        values, n_values = values_of(feature, picture, n, ())
        position, none = (values + 0.5) * n / n_values, values < 0
    from_middle = position - 0.5
    if feature != 'hue' and feature not in TURNS:
        from_middle = from_middle.clip(0, n - 1)
    first = numpy.floor(from_middle).astype(int)
    fraction = numpy.floor((from_middle - first) * 256 + 1e-9).astype(int)
    weights = numpy.where(none, 0, weights)
    to_next = weights * fraction + 128 >> 8
    return (one_hot(first % n, weights - to_next, n) + one_hot((first + 1) % n, to_next, n))
