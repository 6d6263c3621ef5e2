#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""hog.py VIDEO [--output FILE.webm | FILE.png]: finds people of any size, without an image pyramid

VIDEO is a file or a URI, a picture too. Each frame prints a row with its people: x, y, width and
height in pixels, and the score behind a colon. --output draws the boxes: on all frames in a video,
or on the last frame in a picture.

    meson devenv -C build ../examples/hog.py street.webm

It needs the distribution's Python with python3-gi, python3-gst-1.0, python3-numpy and
python3-opencv, of which it takes the numbers of a classifier alone.
"""
# `cudaintegralhist feature=gradient bins=9 weight=gradient soft=true` adds up the votes of HOG
# (Dalal and Triggs, CVPR 2005). A cell of any size is then four reads a bin (Zhu, Avidan, Yeh and
# Cheng, CVPR 2006): cells grow, and the picture is read only once. A window has 8 x 16 cells;
# blocks are 2 x 2 cells each, at steps of a cell, normalised. The classifier is linear: each of the
# 7 x 15 blocks has weights of its own, and the score is the sum over all blocks.
#
# Dalal and Triggs weigh a pixel by its place in the block: a Gaussian, and shares for the cells on
# both sides. Integral histograms count whole rectangles: here the 4 x 4 half cells of a block have
# such weights.
import argparse
import math
import os
import sys
import time

try:
    import gi
    import numpy

    gi.require_versions({'Gst': '1.0', 'GstApp': '1.0', 'GstIntegralHist': '1.0'})
    # GstApp gives appsink and appsrc their methods
    from gi.repository import GLib, Gst, GstApp, GstIntegralHist  # noqa: F401
except (ImportError, ValueError) as error:
    sys.exit(print(__doc__) if {'-h', '--help'} & {*sys.argv} else f'{error}\n{__doc__}')
from histquery import tensor_view

SETTINGS = 'feature=gradient bins=9 weight=gradient soft=true'
BINS = 9
CELLS_X, CELLS_Y = 8, 16  # of a window
BLOCKS_X, BLOCKS_Y = CELLS_X - 1, CELLS_Y - 1
CELL = 8  # pixels of a cell when the classifier was trained
# The weights of the four quarters of a block, along an axis, for the first of the two cells. The
# second cell has the same weights in reverse.
PLAIN = (1, 1, 0, 0)
GAUSSIAN = tuple(share * math.exp(-place * place / 2) for share, place in
                 ((1, 1.5), (0.75, 0.5), (0.25, 0.5), (0, 1.5)))
# The person's box in a window: 96 of 128 pixels high in the pictures of Dalal and Triggs; the width
# is 0.41 of the height (Dollar, Wojek, Schiele and Perona 2012)
PERSON_HEIGHT = 0.75 * CELLS_Y
PERSON_WIDTH = 0.41 * PERSON_HEIGHT


def edges(start, cell, count):
    """The edges of half cells, in pixels: count + 1 integers

    If `cell` is an integer, two halves have `cell` pixels. If not, cells differ by one pixel.
    """
    return numpy.floor(start + cell / 2 * numpy.arange(count + 1) + 0.5).astype(int)


def rectangle_sums(tensor, x_edges, y_edges):
    """Sums of all rectangles between neighbouring edges, by four reads of each: [bin, row, column]

    The tensor is H[bin, y, x] of uint32, modulo 2^32. A sum below 2^32 is exact. Outside of the
    frame nothing is counted. Raises ValueError if the elements are not of uint32.
    """
    if tensor.dtype != numpy.uint32:
        raise ValueError(f'sums of {tensor.dtype} are not those of weights: take counter=u32')
    _, height, width = tensor.shape
    x, y = numpy.clip(x_edges, 0, width), numpy.clip(y_edges, 0, height)
    corners = tensor[:, (y - 1)[:, None], x - 1]
    corners[:, y == 0] = 0
    corners[:, :, x == 0] = 0
    return (corners[:, 1:, 1:] - corners[:, :-1, 1:]
            - corners[:, 1:, :-1] + corners[:, :-1, :-1])


def block_map(sums, unit, cell, weights=GAUSSIAN):
    """Normalised blocks at all steps of half a cell: [36, row, column]

    `sums` are the sums of half cells, [bin, row, column]; `unit` is the vote of 1 gray level. A
    block has its cells column by column, as OpenCV has them, and each cell's 9 bins. It has length
    1, with no element above 0.2 of the length before (L2-Hys), with OpenCV's epsilon for blocks of
    16 pixels. Votes are scaled to those of a picture in which cells have 8 pixels: in that picture
    gradients are cell / 8 times as long, and there are (8 / cell)^2 times as many pixels.
    """
    sums = sums.astype(numpy.float32) * numpy.float32(CELL / cell / unit)
    rows, columns = sums.shape[1] - 3, sums.shape[2] - 3
    first, second = numpy.float32(weights), numpy.float32(weights[::-1])

    def along_x(w):
        return sum(w[k] * sums[:, :, k:k + columns] for k in range(4) if w[k])

    def along_y(part, w):
        return sum(w[k] * part[:, k:k + rows] for k in range(4) if w[k])

    blocks = numpy.concatenate([along_y(part, w) for part in (along_x(first), along_x(second))
                                for w in (first, second)])
    blocks /= numpy.sqrt((blocks * blocks).sum(axis=0)) + numpy.float32(0.1 * len(blocks))
    numpy.minimum(blocks, numpy.float32(0.2), out=blocks)
    blocks /= numpy.sqrt((blocks * blocks).sum(axis=0)) + numpy.float32(1e-3)
    return blocks


def descriptor(tensor, unit, x, y, cell, weights=GAUSSIAN):
    """The 3780 numbers of the window of 8 x 16 cells of `cell` pixels at (x, y)

    They are in OpenCV's order: blocks column by column, and so are the cells in a block. `x`, `y`
    and `cell` may be any real numbers. Outside of the frame all is empty.
    """
    sums = rectangle_sums(tensor, edges(x, cell, 2 * CELLS_X), edges(y, cell, 2 * CELLS_Y))
    blocks = block_map(sums, unit, cell, weights)[:, ::2, ::2]
    return blocks.transpose(2, 1, 0).ravel()


def window_scores(blocks, classifier):
    """The scores of a linear classifier for all windows, every half cell: [row, column]

    `blocks` are [36, row, column] of block_map(), `classifier` 3780 weights and the bias. The
    result is empty if no window fits.
    """
    n, rows, columns = blocks.shape
    rows, columns = rows - 2 * (BLOCKS_Y - 1), columns - 2 * (BLOCKS_X - 1)
    if rows <= 0 or columns <= 0:
        return numpy.empty((0, 0), numpy.float32)
    weights = classifier[:-1].reshape(BLOCKS_X * BLOCKS_Y, n)
    answers = (weights @ blocks.reshape(n, -1)).reshape(-1, *blocks.shape[1:])
    scores = numpy.full((rows, columns), classifier[-1], numpy.float32)
    for i, answer in enumerate(answers):
        bx, by = divmod(i, BLOCKS_Y)
        scores += answer[2 * by:2 * by + rows, 2 * bx:2 * bx + columns]
    return scores


def find_windows(tensor, unit, cell, classifier, threshold=0.0, weights=GAUSSIAN, outside=2):
    """Windows of 8 x 16 cells with a score above the threshold: (x, y, score) of each, [n, 3]

    They lie half a cell apart, and up to `outside` cells beyond the frame: as much as there is
    around people in windows.
    """
    _, height, width = tensor.shape
    start = -outside * cell
    x, y = (edges(start, cell, int((size - 2 * start) / (cell / 2))) for size in (width, height))
    scores = window_scores(
        block_map(rectangle_sums(tensor, x, y), unit, cell, weights), classifier)
    row, column = numpy.nonzero(scores > threshold)
    return numpy.stack([x[column], y[row], scores[row, column]], axis=1)


def person_boxes(windows, cell):
    """The boxes of the people in windows: x, y, width, height, score, [n, 5]"""
    width, height = PERSON_WIDTH * cell, PERSON_HEIGHT * cell
    x = windows[:, 0] + (CELLS_X * cell - width) / 2
    y = windows[:, 1] + (CELLS_Y * cell - height) / 2
    return numpy.stack([x, y, numpy.full_like(x, width), numpy.full_like(x, height),
                        windows[:, 2]], axis=1)


def suppress(boxes, limit=0.4):
    """The best boxes, without boxes that overlap a better one by more than `limit`: [n, 5] sorted

    The overlap is the intersection over the union.
    """
    boxes = boxes[numpy.argsort(-boxes[:, 4], kind='stable')]
    kept = []
    while len(boxes):
        best, boxes = boxes[0], boxes[1:]
        kept.append(best)
        size = (numpy.minimum(boxes[:, :2] + boxes[:, 2:4], best[:2] + best[2:4])
                - numpy.maximum(boxes[:, :2], best[:2])).clip(0)
        shared = size.prod(axis=1)
        union = boxes[:, 2:4].prod(axis=1) + best[2:4].prod() - shared
        boxes = boxes[shared <= limit * union]
    return numpy.array(kept).reshape(-1, 5)


def cells_between(smallest, largest, ratio=1.1):
    """Cells in pixels, from one size to another: each `ratio` times the one before"""
    count = int(math.log(largest / smallest) / math.log(ratio) + 1e-9) + 1
    return [smallest * ratio ** i for i in range(count)]


def find_people(tensor, unit, cells, classifier, threshold=0.0, weights=GAUSSIAN):
    """People in a frame: x, y, width, height in pixels and score, best first, [n, 5]"""
    return suppress(numpy.concatenate([
        person_boxes(find_windows(tensor, unit, cell, classifier, threshold, weights), cell)
        for cell in cells]))


def people_detector():
    """OpenCV's classifier of people, by Dalal and Triggs: 3780 weights and the bias"""
    try:
        import cv2
        return cv2.HOGDescriptor_getDefaultPeopleDetector().ravel()
    except (ImportError, AttributeError) as error:
        sys.exit(f'hog.py: {error}: install OpenCV with its objdetect or xobjdetect module, which '
                 'has the classifier of people (python3-opencv, or PyPI\'s '
                 'opencv-contrib-python-headless)')


class Frame:
    """A frame with its votes: `number`, `tensor`, `unit`, `pixels` [y, x, RGB], `sample`

    `done` is the share of the video that has passed, from 0 to 1, or None if the length is unknown.
    The tensor is valid until the next frame is requested.
    """

    def __init__(self, number, histogram, tensor, sample, done):
        self.number, self.tensor, self.sample, self.done = number, tensor, sample, done
        self.unit = histogram.get_weight_unit()
        caps = sample.get_caps()[0]
        width, height = caps.get_value('width'), caps.get_value('height')
        with sample.get_buffer().map(Gst.MapFlags.READ) as info:
            rows = numpy.frombuffer(info.data, numpy.uint8).reshape(height, -1)
            self.pixels = rows[:, :3 * width].reshape(height, width, 3).copy()


def stop_on_error(pipeline, name):
    """Ends the program with what went wrong in a pipeline, if anything did"""
    message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
    if message:
        pipeline.set_state(Gst.State.NULL)
        sys.exit(f'hog.py: {name}: {message.parse_error()[0].message}')


def frames(video, interval=1):
    """Every interval-th Frame of a file or a URI"""
    uri = video
    if not Gst.uri_is_valid(video):
        if not os.path.isfile(video):
            sys.exit(f'hog.py: no such file: {video}')
        uri = Gst.filename_to_uri(os.path.abspath(video))
    pipeline = Gst.parse_launch(
        f'uridecodebin uri="{uri}" ! videoconvert ! video/x-raw,format=RGB ! '
        f'cudaintegralhist {SETTINGS} interval={interval} ! '
        'appsink name=sink sync=false max-buffers=4')
    sink, number = pipeline.get_by_name('sink'), 0
    pipeline.set_state(Gst.State.PLAYING)
    try:
        while not sink.is_eos():
            sample = sink.try_pull_sample(Gst.SECOND // 10)
            stop_on_error(pipeline, video)
            if not sample:
                continue
            meta = GstIntegralHist.buffer_get_integral_histogram_meta(sample.get_buffer())
            if meta:  # the property interval leaves frames out
                known, duration = pipeline.query_duration(Gst.Format.TIME)
                pts = sample.get_buffer().pts
                timed = known and duration > 0 and pts != Gst.CLOCK_TIME_NONE
                done = pts / duration if timed else None
                with meta.histogram.get_buffer().map(Gst.MapFlags.READ) as info:
                    tensor = tensor_view(meta.histogram, info.data)
                    yield Frame(number, meta.histogram, tensor, sample, done)
            number += 1
        stop_on_error(pipeline, video)
    finally:
        pipeline.set_state(Gst.State.NULL)


def draw_boxes(pixels, boxes):
    """Draws the boxes' outlines on [y, x, RGB], two pixels wide"""
    height, width, _ = pixels.shape
    for x, y, w, h in boxes[:, :4]:
        left, right = (int(min(max(v, 0), width)) for v in (x, x + w))
        top, bottom = (int(min(max(v, 0), height)) for v in (y, y + h))
        box = pixels[top:bottom, left:right]
        for side in (box[:2], box[-2:], box[:, :2], box[:, -2:]):
            side[:] = 255, 176, 0


class Output:
    """A video of frames (VP8 in WebM), or a picture of the last frame if the name ends in .png"""

    def __init__(self, name):
        self.name, self.is_picture = name, name.lower().endswith('.png')
        encoder = ('pngenc' if self.is_picture else
                   'vp8enc deadline=1 cpu-used=16 target-bitrate=4000000 ! webmmux')
        self.pipeline = Gst.parse_launch(
            'appsrc name=source format=time block=true max-bytes=20000000 ! videoconvert ! '
            f'{encoder} ! filesink name=file')
        self.pipeline.get_by_name('file').set_property('location', name)
        self.source, self.last = self.pipeline.get_by_name('source'), None
        self.pipeline.set_state(Gst.State.PLAYING)

    def add(self, frame):
        buffer = frame.sample.get_buffer()
        # rows of RGB begin at multiples of four bytes
        height, width, _ = frame.pixels.shape
        rows = numpy.pad(frame.pixels.reshape(height, -1), ((0, 0), (0, -3 * width % 4)))
        drawn = Gst.Buffer.new_wrapped(rows.tobytes())
        drawn.pts, drawn.duration = buffer.pts, buffer.duration
        if drawn.pts == Gst.CLOCK_TIME_NONE:  # raw MJPEG has none, but WebM needs one
            known, rate, unit = frame.sample.get_caps()[0].get_fraction('framerate')
            drawn.pts = frame.number * Gst.SECOND * unit // rate if known and rate else (
                frame.number * Gst.SECOND // 25)
        self.last = Gst.Sample.new(drawn, frame.sample.get_caps(), None, None)
        if not self.is_picture:
            self.source.push_sample(self.last)
        stop_on_error(self.pipeline, self.name)

    def close(self):
        if self.is_picture and self.last:
            self.source.push_sample(self.last)
        self.source.end_of_stream()
        message = self.pipeline.get_bus().timed_pop_filtered(
            60 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
        self.pipeline.set_state(Gst.State.NULL)
        if message is None or message.type == Gst.MessageType.ERROR:
            why = message.parse_error()[0].message if message else 'not written in a minute'
            sys.exit(f'hog.py: {self.name}: {why}')


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('video', metavar='VIDEO')
    parser.add_argument('--output', metavar='FILE')
    parser.add_argument('--threshold', type=float, default=1.0,
                        help='least score of a person (default: 1.0)')
    parser.add_argument('--people', default='60-190', metavar='LEAST-MOST',
                        help='heights of people in pixels (default: 60-190)')
    parser.add_argument('--interval', type=int, default=1, metavar='N',
                        help='look at every N-th frame (default: 1)')
    options = parser.parse_args()
    try:
        least, most = (float(number) for number in options.people.split('-'))
    except ValueError:
        parser.error(f'--people {options.people}: give two heights in pixels, as 60-190')
    if not 2 * PERSON_HEIGHT <= least <= most:
        parser.error(f'--people {options.people}: give the smaller height first, and at least '
                     f'{2 * PERSON_HEIGHT:.0f}: cells have two pixels and more')
    if not 1 <= options.interval < 2**32:
        parser.error(f'--interval {options.interval}: give 1 or more')
    Gst.init(None)
    classifier = people_detector()
    cells = cells_between(least / PERSON_HEIGHT, most / PERSON_HEIGHT)
    output = Output(options.output) if options.output else None
    seen, found, started = 0, 0, time.monotonic()
    print('   frame   done  people  x,y,width,height:score')
    try:
        for frame in frames(options.video, options.interval):
            people = find_people(frame.tensor, frame.unit, cells, classifier, options.threshold)
            done = '-' if frame.done is None else f'{100 * frame.done:.0f} %'
            boxes = '  '.join(f'{x:.0f},{y:.0f},{w:.0f},{h:.0f}:{score:.1f}'
                              for x, y, w, h, score in people)
            print(f'{frame.number:8d} {done:>6} {len(people):7d}  {boxes}', flush=True)
            seen, found = seen + 1, found + len(people)
            if output:
                draw_boxes(frame.pixels, people)
                output.add(frame)
    except (KeyboardInterrupt, BrokenPipeError):  # stopped, or the reader of the pipe has gone
        sys.stdout = open(os.devnull, 'w')
    if output:
        output.close()
    rate = seen / (time.monotonic() - started)
    print(f'{found} people in {seen} frames, {rate:.1f} frames a second; cells of '
          f'{cells[0]:.1f} to {cells[-1]:.1f} pixels, {len(cells)} sizes')


if __name__ == '__main__':
    from integralhist import console
    console.run(main)
