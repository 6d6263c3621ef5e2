# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs integralhisttrack in live pipelines.

No frame is dropped, the track is on the ball, and the overlay draws it there.
"""
import os
import re
import sys
import unittest

import numpy
from pipelines import DATA, ROOT, Gst, frames, messages, playing

sys.path.insert(0, os.path.join(ROOT, "tests", "benchmarks"))
from multi_target import attach_regions  # noqa: E402
from sequences import play  # noqa: E402

WIDTH, HEIGHT, FRAMES = 320, 240, 90
BALL = (f"pattern=ball num-buffers={FRAMES} ! "
        f"video/x-raw,format=I420,width={WIDTH},height={HEIGHT},framerate=30/1")
TRACK = re.compile(r"x=\(int\)(-?\d+), y=\(int\)(-?\d+), width=\(int\)(\d+), height=\(int\)(\d+), "
                   r"confidence=\(double\)[^,]+, lost=\(boolean\)(\w+)")


def run(line):
    """Tracks (x, y, width, height, lost) of all messages, and the sink's (rendered, dropped)."""
    with playing(line) as pipeline:
        tracks = []
        for structure in messages(pipeline):
            if structure.get_name() == "integral-histogram-track":
                text = structure.to_string().replace("\\", "")
                x, y, w, h, lost = TRACK.search(text).groups()
                tracks.append((int(x), int(y), int(w), int(h), lost == "true"))
        stats = pipeline.get_by_name("sink").get_property("stats")
        return tracks, (stats.get_value("rendered"), stats.get_value("dropped"))


def pictures(line):
    """Y of each frame"""
    return [numpy.frombuffer(buffer.extract_dup(0, WIDTH * HEIGHT), numpy.uint8).reshape(
        HEIGHT, WIDTH) for buffer in frames(line)]


class Tracking(unittest.TestCase):
    def balls(self):
        """The place of the ball in each frame: first and last column and row."""
        places = []
        for picture in pictures(f"videotestsrc {BALL}"):
            rows, columns = numpy.nonzero(picture > 100)
            places.append((columns.min(), rows.min(), columns.max(), rows.max()))
        return places

    def test_live_ball(self):
        balls = self.balls()
        x0, y0, x1, y1 = balls[0]
        target = f"{x0 - 1},{y0 - 1},{x1 - x0 + 3},{y1 - y0 + 3}"
        tracks, (rendered, dropped) = run(
            f"videotestsrc is-live=true {BALL} ! cudatrackfeatures qos=false ! "
            f"integralhisttrack targets={target} ! fakesink name=sink sync=true qos=true")
        self.assertEqual((rendered, dropped, len(tracks)), (FRAMES, 0, FRAMES))
        for frame, ((x, y, width, height, lost), ball) in enumerate(zip(tracks, balls)):
            self.assertFalse(lost)
            where = f"frame {frame}: {x},{y}, the ball is at {ball}"
            self.assertLessEqual(abs(x + width / 2 - (ball[0] + ball[2] + 1) / 2), 2, where)
            self.assertLessEqual(abs(y + height / 2 - (ball[1] + ball[3] + 1) / 2), 2, where)

    def test_overlay_is_where_the_track_is(self):
        if Gst.ElementFactory.find("integralhistoverlay") is None:
            print("SKIP: overlay: built without cairo")
            return
        balls = self.balls()
        x0, y0, x1, y1 = balls[0]
        target = f"{x0 - 1},{y0 - 1},{x1 - x0 + 3},{y1 - y0 + 3}"
        drawn = pictures(
            f"videotestsrc {BALL} ! "
            f"cudatrackfeatures ! integralhisttrack targets={target} ! "
            "integralhistoverlay trail=0 labels=false histograms=false line-width=2")
        plain = pictures(f"videotestsrc {BALL}")
        self.assertEqual(len(drawn), FRAMES)
        for frame, (after, before, ball) in enumerate(zip(drawn, plain, balls)):
            rows, columns = numpy.nonzero(after != before)
            edges = columns.min(), rows.min(), columns.max(), rows.max()
            for edge, wanted in zip(edges, (ball[0] - 1, ball[1] - 1, ball[2] + 1, ball[3] + 1)):
                self.assertLessEqual(abs(edge - wanted), 2,
                                     f"frame {frame}: drawn {edges}, the ball is at {ball}")

    def test_video_at_its_own_rate(self):
        video = os.path.join(DATA, "vtest.avi")
        if not os.path.exists(video):
            print(f"SKIP: video at its own rate: no {video}; "
                  "set INTHIST_TEST_DATA to a folder with it (package opencv-doc)")
            return
        if Gst.ElementFactory.find("avdec_msmpeg4") is None:
            print("SKIP: video at its own rate: no avdec_msmpeg4 (package gstreamer1.0-libav)")
            return
        tracks, (rendered, dropped) = run(
            f'filesrc location="{video}" ! avidemux ! avdec_msmpeg4 ! identity eos-after=30 ! '
            'videoconvert ! cudatrackfeatures ! '
            'integralhisttrack targets="297,187,30,70;600,120,24,60" ! '
            "fakesink name=sink sync=true qos=true")
        self.assertEqual(dropped, 0)
        self.assertGreaterEqual(rendered, 29)
        self.assertEqual(len(tracks), rendered)

    def test_second_run(self):
        """After a stop nothing is remembered, not even how detections looked."""
        video = os.path.join(DATA, "vtest.avi")
        detector = os.path.join(DATA, "mot", "PETS09-S2L1", "det_frcnn.txt")
        for path in (video, detector):
            if not os.path.exists(path):
                self.skipTest(f"no {path}; set INTHIST_TEST_DATA to a folder with it")
        if Gst.ElementFactory.find("avdec_msmpeg4") is None:
            self.skipTest("no avdec_msmpeg4 (package gstreamer1.0-libav)")
        pixels = list(frames(f'filesrc location="{video}" ! avidemux ! avdec_msmpeg4 ! '
                             "identity eos-after=150 ! videoconvert ! video/x-raw,format=I420"))
        detections = [[] for _ in range(1000)]
        for frame, _, x, y, width, height, confidence, *_ in numpy.loadtxt(detector, delimiter=","):
            detections[int(frame) - 1].append(((x - 1, y - 1, width, height), confidence))
        pipeline = Gst.parse_launch(
            "appsrc name=source format=time max-bytes=0 "
            "caps=video/x-raw,format=I420,width=768,height=576,framerate=10/1 ! "
            "cudatrackfeatures ! integralhisttrack ! fakesink sync=false")
        runs = [[message.get_structure().to_string() for message in play(
            pipeline, [attach_regions(buffer, found, i * Gst.SECOND // 10)
                       for i, (buffer, found) in enumerate(zip(pixels, detections))])]
                for _ in range(2)]
        self.assertEqual(len(runs[0]), len(pixels))
        self.assertEqual(*runs)


if __name__ == "__main__":
    unittest.main()
