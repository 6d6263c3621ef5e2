# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trackers that follow a box over the frames of a Clip: integralhisttrack, and OpenCV's.

Each has a name, and follow(clip, first, box, cost), which has for each frame from `first` on a box,
the confidence, and whether the target is lost. It adds to a Cost what that took, without decoding.
"""
import re
import time

from sequences import play

OPENCV = {"csrt": "TrackerCSRT", "kcf": "TrackerKCF", "kcf-raw": "TrackerKCF",
          "mil": "TrackerMIL", "mosse": "legacy.TrackerMOSSE"}


class Cost:
    """Frames, and what they took: seconds, and seconds of all threads' processor time"""

    def __init__(self):
        self.frames, self.seconds, self.processor = 0, 0, 0

    def __enter__(self):
        self.since = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_):
        self.seconds += time.perf_counter() - self.since[0]
        self.processor += time.process_time() - self.since[1]


class IntegralHistTrack:
    """The element, behind the elements that count, with frames from memory"""

    def __init__(self, backend, settings, counted):
        self.name = " ".join(filter(None, (settings or "defaults", counted)))
        if "method=fragments" not in settings:
            elements = "cudatrackfeatures"
        elif counted:
            elements = f"cudaintegralhist {counted}"
        else:
            elements = "video/x-raw,format=GRAY8 ! cudaintegralhist bins=16"
        count = re.sub(r"\b(cuda\w+)", rf"\1 backend={backend}", elements)
        self.elements = f"videoconvert ! {count} ! integralhisttrack {settings}"

    def follow(self, clip, first, box, cost):
        """All frames at once: the element's messages wait until the stream has ended."""
        targets = ",".join(str(number) for number in box)
        pipeline, buffers = clip.push(f'{self.elements} targets="{targets}" ! fakesink sync=false',
                                      first)
        with cost:
            messages = play(pipeline, buffers)
        cost.frames += len(buffers)
        return [frame for frame in map(read_track, messages) if frame]


def read_track(message):
    """The first track of a message, or None"""
    field = re.compile(r"\b(x|y|width|height|confidence|lost)=\((?:int|double|boolean)\)([^,;]+)")
    structure = message.get_structure()
    if structure.get_name() != "integral-histogram-track":
        return None
    track = dict(field.findall(structure.to_string().replace("\\", "")))
    box = tuple(int(track[name]) for name in ("x", "y", "width", "height"))
    return box, float(track["confidence"]), track["lost"] == "true"


class OpenCV:
    """A tracker of opencv-contrib with its defaults; kcf-raw has no threshold of detection"""

    def __init__(self, name):
        self.name = name
        try:
            import cv2
        except ImportError as error:
            raise RuntimeError(
                f"--opencv: {error}: install PyPI's opencv-contrib-python-headless; "
                "build/python-venv/bin/python has it after tests/run.sh") from None
        self.cv2, self.kind = cv2, cv2
        for part in OPENCV[name].split("."):
            self.kind = getattr(self.kind, part, None)
        if self.kind is None:
            raise RuntimeError(f"--opencv: cv2 {cv2.__version__} has no {OPENCV[name]}: "
                               "install PyPI's opencv-contrib-python-headless")

    def create(self):
        """A new one"""
        if self.name == "kcf-raw":
            parameters = self.cv2.TrackerKCF_Params()
            parameters.detect_thresh = -1
            return self.kind.create(parameters)
        create = getattr(self.kind, "create", None) or getattr(
            self.cv2.legacy, self.kind.__name__ + "_create")
        return create()

    def follow(self, clip, first, box, cost):
        """One frame at a time. A target that is not found stays where it was."""
        pictures = clip.pictures()
        with cost:
            tracker = self.create()
            tracker.init(pictures[first], box)
        cost.frames += 1
        yield box, 1.0, False
        for picture in pictures[first + 1:]:
            with cost:
                try:
                    found, place = tracker.update(picture)
                except self.cv2.error:  # a search that leaves the frame
                    found = False
            cost.frames += 1
            if found and place[2] > 0 and place[3] > 0:
                box = tuple(place)
            yield box, float(found), not found
