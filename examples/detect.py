#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""detect.py [--boxes FILE] [--every N] [--show | --film FILE.webm] VIDEO

Follows what a detector finds now and then.

The detector is an element in Python, which looks at every N-th frame and attaches a region of
interest for each person that it finds. integralhisttrack follows them in the frames between, and
keeps their ids. To use another detector, write a function as people_finder() returns.

It is OpenCV's detector of people, or with --boxes a file: a line "frame,x,y,width,height" for each
box, in pixels, of which the detector is sure; the first frame is 0. Or the file is one of
MOTChallenge, such as det.txt, with "frame,id,x,y,width,height,confidence,..."; its first frame and
pixel are 1. If a confidence is not within 0 and 1, all are scaled to 0.05 to 1. --film writes a
film of the tracks.

    meson devenv -C build ../examples/detect.py video.mp4

It needs the distribution's Python with python3-gi, python3-gst-1.0 and python3-numpy, and
python3-opencv without --boxes.
"""
import argparse
import os
import sys

try:
    import gi
    import numpy

    gi.require_versions({'Gst': '1.0', 'GstBase': '1.0', 'GstVideo': '1.0'})
except (ImportError, ValueError) as error:
    sys.exit(print(__doc__) if {'-h', '--help'} & {*sys.argv} else f'{error}\n{__doc__}')
from gi.repository import GLib, Gst, GstBase, GstVideo  # noqa: E402

Gst.init(None)
CAPS = Gst.Caps.from_string('video/x-raw,format=BGR')


class Detector(GstBase.BaseTransform):
    """Attaches what `find (number of the frame, pixels[y, x, BGR])` returns for every n-th frame:
    (x, y, width, height, confidence) of each person"""

    __gstmetadata__ = ('Detector', 'Filter/Analyzer/Video', 'Attaches regions of interest',
                       'The gst-integralhist authors')
    __gsttemplates__ = tuple(
        Gst.PadTemplate.new(name, direction, Gst.PadPresence.ALWAYS, CAPS)
        for name, direction in (('sink', Gst.PadDirection.SINK), ('src', Gst.PadDirection.SRC)))

    def __init__(self, find, every):
        super().__init__()
        self.find, self.every, self.number, self.info = find, every, 0, None

    def do_set_caps(self, caps, _):
        self.info = GstVideo.VideoInfo.new_from_caps(caps)
        return True

    def do_transform_ip(self, buffer):
        number = self.number
        self.number += 1
        if number % self.every == 0:
            with buffer.map(Gst.MapFlags.READ) as mapped:
                people = self.find(number, self.pixels(mapped.data))
            for x, y, width, height, confidence in people:
                width, height = width + min(x, 0), height + min(y, 0)
                if width <= 0 or height <= 0:
                    continue  # the box is outside the frame
                region = GstVideo.buffer_add_video_region_of_interest_meta(
                    buffer, 'person', max(x, 0), max(y, 0), width, height)
                region.add_param(Gst.Structure.new_from_string(
                    f'detection, confidence=(double){confidence}'))
        return Gst.FlowReturn.OK

    def pixels(self, data):
        width, height, stride = self.info.width, self.info.height, self.info.stride[0]
        rows = numpy.frombuffer(data, numpy.uint8, stride * height).reshape(height, stride)
        return rows[:, :3 * width].reshape(height, width, 3)


class DetectionFilter(GstBase.BaseTransform):
    """Removes the detections, whose id is 0, so that only tracks are drawn"""

    __gstmetadata__ = ('Detection filter', 'Filter/Video', 'Removes regions of interest',
                       'The gst-integralhist authors')
    __gsttemplates__ = Detector.__gsttemplates__

    def do_transform_ip(self, buffer):
        while region := GstVideo.buffer_get_video_region_of_interest_meta_id(buffer, 0):
            buffer.remove_meta(region.meta)
        return Gst.FlowReturn.OK


def people_finder():
    """OpenCV's HOG and its classifier, at the speed of OpenCV"""
    try:
        import cv2
    except ImportError:
        sys.exit('detect.py: there is no OpenCV: install python3-opencv, or give --boxes FILE')
    hog = cv2.HOGDescriptor()
    hog.setSVMDetector(cv2.HOGDescriptor_getDefaultPeopleDetector())

    def find(_, pixels):
        boxes, scores = hog.detectMultiScale(numpy.ascontiguousarray(pixels), winStride=(8, 8))
        # a person is the middle of a box: half as wide, two thirds as high
        return [(int(x + w / 4), int(y + h / 6), int(w / 2), int(h * 2 / 3),
                 1 / (1 + numpy.exp(-score)))
                for (x, y, w, h), score in zip(boxes, numpy.ravel(scores))]

    return find


def read_box(text):
    """Parses (frame, box and confidence) from a line"""
    numbers = text.split(',')
    if len(numbers) < 7:
        frame, x, y, width, height = map(int, numbers)
        return frame, (x, y, width, height, 1.0)
    frame, _, x, y, width, height, confidence = map(float, numbers[:7])
    return int(frame) - 1, (round(x - 1), round(y - 1), round(width), round(height), confidence)


def boxes_finder(name):
    boxes = {}
    try:
        with open(name, encoding='utf-8') as file:
            for line, text in enumerate(file, 1):
                if text.strip():
                    frame, box = read_box(text)
                    boxes.setdefault(frame, []).append(box)
    except OSError as problem:
        sys.exit(f'detect.py: {name}: {problem.strerror}')
    except (ValueError, OverflowError):
        sys.exit(f'detect.py: {name}:{line}: write frame,x,y,width,height in whole numbers, '
                 'or a line of MOTChallenge')
    scale_confidences(name, boxes.values())
    return lambda number, _: boxes.get(number, [])


def scale_confidences(name, frames):
    """Turns scores into confidences: the middle 96 % fill 0 to 1, and none is below 0.05"""
    scores = numpy.array([box[4] for boxes in frames for box in boxes])
    if not len(scores) or numpy.isnan(scores).any() or 0 <= scores.min() <= scores.max() <= 1:
        return
    low, high = numpy.percentile(scores, [2, 98])
    for boxes in frames:
        boxes[:] = [(*box, float(numpy.clip((score - low) / max(high - low, 1e-9), 0.05, 1)))
                    for *box, score in boxes]
    print(f'detect.py: {name}: confidences from {scores.min():g} to {scores.max():g} are scaled '
          'to 0.05 to 1', file=sys.stderr)


def print_tracks(structure):
    tracks = structure.get_value('tracks')
    texts = []
    for track in tracks:
        box = ','.join(str(track.get_value(side)) for side in ('x', 'y', 'width', 'height'))
        state = 'lost' if track.get_value('lost') else f'{track.get_value("confidence"):.2f}'
        texts.append(f'{track.get_value("id")}:{box}:{state}')
    time = structure.get_value('timestamp')  # raw MJPEG has no timestamp
    seconds = '-' if time is None else f'{time / Gst.SECOND:.3f}'
    print(f'{seconds:>8} {len(texts):7d}  {"  ".join(texts)}', flush=True)


def run(pipeline):
    """Prints until the end; returns what went wrong, or None"""
    bus = pipeline.get_bus()
    kinds = (Gst.MessageType.ELEMENT | Gst.MessageType.EOS | Gst.MessageType.ERROR
             | Gst.MessageType.WARNING)
    pipeline.set_state(Gst.State.PLAYING)
    while True:
        message = bus.timed_pop_filtered(Gst.SECOND // 4, kinds)
        if message is None:
            continue
        if message.type == Gst.MessageType.EOS:
            return None
        if message.type == Gst.MessageType.ERROR:
            return message.parse_error()[0].message
        if message.type == Gst.MessageType.WARNING:
            print(f'detect.py: {message.parse_warning()[0].message}', file=sys.stderr)
        elif message.get_structure().get_name() == 'integral-histogram-track':
            print_tracks(message.get_structure())


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('video', metavar='VIDEO')
    parser.add_argument('--boxes', metavar='FILE')
    parser.add_argument('--every', type=int, default=10, metavar='N',
                        help='look at every N-th frame (default: 10), also of a file of boxes')
    output = parser.add_mutually_exclusive_group()
    output.add_argument('--show', action='store_true', help='show the tracks in a window')
    output.add_argument('--film', metavar='FILE.webm', help='write a film of the tracks')
    options = parser.parse_args()
    if options.every < 1:
        parser.error(f'--every {options.every}: give 1 or more')
    if options.film and not options.film.endswith('.webm'):
        parser.error(f'--film {options.film}: give a name that ends in .webm')
    detector = Detector(boxes_finder(options.boxes) if options.boxes else people_finder(),
                        options.every)
    draw = 'integralhistoverlay name=drawing histograms=false ! videoconvert'
    end = 'fakesink name=drawing sync=false'
    if options.show:
        end = f'{draw} ! autovideosink'
    elif options.film:
        end = (f'{draw} ! vp8enc deadline=1 target-bitrate=2000000 ! webmmux ! '
               'filesink name=film')
    try:
        pipeline = Gst.parse_launch(
            'filesrc name=file ! decodebin ! videoconvert name=before  '
            f'cudatrackfeatures name=behind ! integralhisttrack name=tracker  {end}')
    except GLib.Error as problem:
        sys.exit(f'detect.py: {problem.message}')
    pipeline.get_by_name('file').set_property('location', options.video)
    if options.film:
        pipeline.get_by_name('film').set_property('location', options.film)
    for element, before, behind in ((detector, 'before', 'behind'),
                                    (DetectionFilter(), 'tracker', 'drawing')):
        pipeline.add(element)
        pipeline.get_by_name(before).link(element)
        element.link(pipeline.get_by_name(behind))
    print('    time  tracks  id:x,y,width,height:confidence')
    problem = None
    try:
        problem = run(pipeline)
    except (KeyboardInterrupt, BrokenPipeError):  # stopped, or the reader of the pipe has gone
        sys.stdout = open(os.devnull, 'w')
    finally:
        pipeline.set_state(Gst.State.NULL)
    if problem:
        sys.exit(f'detect.py: {options.video}: {problem}')


if __name__ == '__main__':
    from integralhist import console
    console.run(main)
