#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""histquery.py [--feature NICK] [FILE | URI]: maps integral histograms as NumPy arrays.

Nothing is copied. The histogram of a rectangle comes from four corners of the tensor, and must
equal what the library answers. Run it after `tools/setup.sh test` and `tests/run.sh` or
`meson compile -C build`, in the build directory's environment (paths are relative to build/):

    meson devenv -C build ../examples/histquery.py

It needs the distribution's Python with python3-gi, python3-gst-1.0 and python3-numpy, and a build
with the bindings: gobject-introspection and libgirepository1.0-dev. tools/setup.sh installs all of
them.
"""
import argparse
import os
import sys

try:
    import gi
    import numpy

    gi.require_version('Gst', '1.0')
    gi.require_version('GstApp', '1.0')
    gi.require_version('GstIntegralHist', '1.0')
except (ImportError, ValueError) as error:
    sys.exit(print(__doc__) if {'-h', '--help'} & {*sys.argv} else f'{error}\n{__doc__}')
# GstApp gives appsink its methods
from gi.repository import Gst, GstApp, GstIntegralHist  # noqa: E402, F401


def tensor_view(histogram, data):
    """The tensor H[bin, y, x] over the mapped bytes of histogram.get_buffer()

    With u16 counters the elements are modulo 65536. A tensor in tiles is copied.
    """
    if histogram.get_tiles()[0]:
        return untiled(histogram, data)
    u32 = histogram.get_counter() == GstIntegralHist.IntegralHistogramCounter.U32
    dtype = numpy.dtype(numpy.uint32 if u32 else numpy.uint16)
    return numpy.lib.stride_tricks.as_strided(
        numpy.frombuffer(data, dtype),
        shape=(histogram.get_bins(), histogram.get_height(), histogram.get_width()),
        strides=(histogram.get_plane_pitch(), histogram.get_row_pitch(), dtype.itemsize),
        writeable=False)


def untiled(histogram, data):
    """The tensor H[bin, y, x] of a u8-tiled histogram, in full"""
    _, columns, rows, size, wide = histogram.get_tiles()
    bins, height, width = histogram.get_bins(), histogram.get_height(), histogram.get_width()
    tiles = numpy.lib.stride_tricks.as_strided(  # [bin, row, column, line, byte]
        numpy.frombuffer(data, numpy.uint8),
        shape=(bins, rows, columns, size // 16, 16),
        strides=(histogram.get_plane_pitch(), histogram.get_row_pitch(), size, 16, 1))
    top = tiles[..., :2, :].reshape(bins, rows, columns, 32).view('<u2').astype(numpy.uint32)
    more = tiles[..., 2:-15, :].astype(numpy.uint32)
    corner = top[..., 0] + (more[..., 0, 0] << 16)
    left = tiles[..., -16:, 0] + (more[..., 0, :] << 8)
    if wide:
        corner += more[..., 1, 0] << 24
        top += more[..., 1, :] << 16
        left += more[..., 2, :] << 16
    inside = tiles[..., -16:, :].astype(numpy.uint32)
    top[..., 0] = left[..., 0] = inside[..., 0, :] = inside[..., 0] = 0
    inside += corner[..., None, None] + top[..., None, :] + left[..., None]
    return inside.swapaxes(2, 3).reshape(bins, rows * 16, columns * 16)[:, :height, :width]


def four_corners(tensor, x, y, width, height):
    """Counts of a rectangle inside the frame

    H(bottom right) - H(right, above) - H(left, below) + H(left, above)
    """
    if tensor.dtype != numpy.uint32:
        raise ValueError('four corners of a u16 tensor are modulo 65536: ask histogram.region()')
    right, bottom = x + width - 1, y + height - 1
    counts = tensor[:, bottom, right].astype(numpy.int64)
    if y > 0:
        counts -= tensor[:, y - 1, right]
    if x > 0:
        counts -= tensor[:, bottom, x - 1]
    if x > 0 and y > 0:
        counts += tensor[:, y - 1, x - 1]
    return counts


def show_frame(number, buffer):
    meta = GstIntegralHist.buffer_get_integral_histogram_meta(buffer)
    if meta is None:  # a frame that the property interval leaves out, or a gap
        return
    histogram = meta.histogram
    width, height = histogram.get_width(), histogram.get_height()
    centre = width // 4, height // 4, (width + 1) // 2, (height + 1) // 2
    answer = numpy.array(histogram.region(*centre))

    host = histogram.get_buffer()
    with host.map(Gst.MapFlags.READ) as info:
        counts = four_corners(tensor_view(histogram, info.data), *centre)
    if not numpy.array_equal(counts, answer):
        sys.exit(f'frame {number}: four corners give {counts}, the library says {answer}')
    if number % 15 == 0:
        share = 100 * counts / max(counts.sum(), 1)
        feature = histogram.get_feature().value_nick
        print(f'frame {number:6d}  {feature}  '
              f'largest bin {share.argmax():3d} with {share.max():5.1f} %  '
              f'mean bin {share @ numpy.arange(len(share)) / 100:5.1f}')


def main(argument=None, feature='luma'):
    Gst.init(None)
    source = ('videotestsrc pattern=smpte horizontal-speed=4 num-buffers=150 ! '
              'video/x-raw,format=I420,width=640,height=480')
    name = 'test picture'
    if argument:
        name = argument if Gst.uri_is_valid(argument) else os.path.abspath(argument)
        if name != argument and not os.path.isfile(name):
            sys.exit(f'no such file: {name}')
        uri = argument if Gst.uri_is_valid(argument) else Gst.filename_to_uri(name)
        source = f'uridecodebin uri="{uri}"'
    pipeline = Gst.parse_launch(f'{source} ! videoconvert ! '
                                f'cudaintegralhist name=hist feature={feature} ! '
                                'appsink name=sink sync=false max-buffers=4')
    sink, bus = pipeline.get_by_name('sink'), pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)

    frames = 0
    try:
        while not sink.is_eos():
            sample = sink.try_pull_sample(Gst.SECOND // 10)
            if sample:
                show_frame(frames, sample.get_buffer())
                frames += 1
            message = bus.pop_filtered(Gst.MessageType.ERROR)
            if message:
                sys.exit(f'{name}: {message.src.name}: {message.parse_error()[0].message}')
    except (KeyboardInterrupt, BrokenPipeError):  # stopped, or the reader of the pipe has gone
        sys.stdout = open(os.devnull, 'w')
    finally:
        stats = pipeline.get_by_name('hist').get_property('stats')
        pipeline.set_state(Gst.State.NULL)
    print(f'{frames} frames, all equal (backend {stats.get_value("backend")}, '
          f'strategy {stats.get_value("strategy")})')


if __name__ == '__main__':
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('video', nargs='?', metavar='FILE | URI')
    features = GstIntegralHist.IntegralHistogramFeature.__enum_values__.values()
    parser.add_argument('--feature', default='luma', help='what is counted (luma)',
                        choices=[value.value_nick for value in features])
    options = parser.parse_args()
    from integralhist import console
    console.run(lambda: main(options.video, options.feature))
