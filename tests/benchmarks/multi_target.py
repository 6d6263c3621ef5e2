# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trackers of many targets behind a detector: integralhisttrack, and those of PyPI's trackers.

Each has a name, and follow(clip, detections, every, rate), which has {id: box} of each frame of a
Clip, the tracks that are not lost. `detections` has [(box, confidence)] for each frame. The
detector looks at every `every`-th frame, and the other frames' lists are empty. A detector without
confidences has None in their place. `rate` is the number of frames a second.
"""
import re

import numpy

from sequences import Clip, Gst, GstVideo, play

PRODUCERS = {
    "correlation": "cudatrackfeatures",
    "fragments": "cudaintegralhist bins=16",
}
PEERS = {
    "SORT": "SORTTracker",
    "ByteTrack": "ByteTrackTracker",
    "OC-SORT": "OCSORTTracker",
    "C-BIoU": "CBIoUTracker",
    "BoT-SORT": "BoTSORTTracker",
}
OF_PICTURES = {"BoT-SORT"}  # peers that read the frame, for the camera's motion


def load_clip(path):
    """The frames of a video in the form in which integralhisttrack gets them"""
    return Clip(f'filesrc location="{path}" ! decodebin ! videoconvert ! '
                "video/x-raw,format=I420")


class IntegralHistTrack:
    """The element, behind the element that counts

    The regions of interest are attached to frames that are converted already. videoconvert of
    GStreamer 1.22 copies a region of interest without its parameters, so that behind it the
    tracker would see no confidence.
    """

    def __init__(self, settings, backend):
        self.name = f"integralhisttrack {settings}".strip()
        producer = PRODUCERS["fragments" if "method=fragments" in settings else "correlation"]
        producer = re.sub(r"\b(cuda\w+)", rf"\1 backend={backend}", producer)
        self.elements = f"{producer} ! integralhisttrack {settings} ! fakesink sync=false"

    def follow(self, clip, detections, _, rate):
        """All frames at once: the element's messages wait until the stream has ended."""
        times = {int(i * Gst.SECOND / rate): i for i in range(len(detections))}
        pipeline, buffers = clip.push(self.elements)
        messages = play(pipeline, map(attach_regions, buffers, detections, times))
        tracks = [{} for _ in detections]
        for structure in (message.get_structure() for message in messages):
            if structure.get_name() == "integral-histogram-track":
                tracks[times[structure.get_uint64("timestamp").value]] = {
                    track.get_value("id"): tuple(
                        track.get_value(side) for side in ("x", "y", "width", "height"))
                    for track in structure.get_value("tracks") if not track.get_value("lost")}
        return tracks


def attach_regions(frame, detections, time):
    """A copy of a frame, which shares its pixels, with a region of interest for each detection"""
    shared = Gst.BufferCopyFlags.META | Gst.BufferCopyFlags.MEMORY
    buffer = frame.copy_region(shared, 0, frame.get_size())
    buffer.pts = time
    for (x, y, width, height), confidence in detections:
        left, top = max(0, round(x)), max(0, round(y))
        region = GstVideo.buffer_add_video_region_of_interest_meta(
            buffer, "target", left, top, max(1, round(x + width) - left),
            max(1, round(y + height) - top))
        if confidence is not None:
            region.add_param(Gst.Structure.new_from_string(
                f"detection, confidence=(double){confidence}"))
    return buffer


class Peer:
    """A tracker of PyPI's trackers with its defaults, which sees boxes only

    It is given those frames at which the detector looks. Its boxes stand still in the others.
    """

    def __init__(self, name):
        import supervision
        import trackers

        self.name, self.supervision = name, supervision
        self.kind = getattr(trackers, PEERS[name], None)
        if self.kind is None:
            raise ImportError(f"the installed trackers has no {PEERS[name]}")

    def follow(self, clip, detections, every, rate):
        """One frame at a time"""
        tracker, boxes = self.kind(frame_rate=rate / every), {}
        pictures = clip.pictures() if self.name in OF_PICTURES else None
        for i, found in enumerate(detections):
            if i % every == 0:
                frame = {"frame": pictures[i]} if pictures else {}
                tracked = tracker.update(self.convert(found), **frame)
                ids = [] if tracked.tracker_id is None else tracked.tracker_id
                boxes = {int(number): (left, top, right - left, bottom - top)
                         for number, (left, top, right, bottom) in zip(ids, tracked.xyxy)
                         if number >= 0}
            yield boxes

    def convert(self, found):
        """Detections as supervision has them"""
        if not found:
            return self.supervision.Detections.empty()
        corners = numpy.array([(x, y, x + width, y + height)
                               for (x, y, width, height), _ in found])
        confidences = [confidence for _, confidence in found]
        return self.supervision.Detections(
            xyxy=corners, class_id=numpy.zeros(len(found), int),
            confidence=None if None in confidences else numpy.array(confidences))
