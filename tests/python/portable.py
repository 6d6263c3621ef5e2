#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Regions and tracks from Python, as bytes, and from one process to another through unixfdsink."""
import os
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from pipelines import GLib, Gst, GstIntegralHist, GstVideo, counts_of, first_frame, luma_of

WIDTH, HEIGHT, BINS = 320, 240, 8
REGIONS = [(16, 8, 64, 48), (0, 0, WIDTH, HEIGHT), (300, 200, 20, 40)]
TEXT = ';'.join(','.join(map(str, region)) for region in REGIONS)
SOURCE = (f'videotestsrc num-buffers=40 ! '
          f'video/x-raw,format=GRAY8,width={WIDTH},height={HEIGHT},framerate=25/1')
ELEMENTS = (f'cudaintegralhist backend=cpu tuning-time=0 bins={BINS} regions="{TEXT}" ! '
            'integralhisttrack method=fragments targets="40,40,40,30"')


class Portable(unittest.TestCase):
    def check(self, buffer):
        """Checks that a buffer has the regions, and the track with its region of interest"""
        meta = GstIntegralHist.buffer_get_integral_histogram_regions_meta(buffer)
        self.assertIsNotNone(meta)
        self.assertEqual(meta.get_n_regions(), len(REGIONS))
        self.assertEqual(meta.get_bins(), BINS)
        self.assertEqual(meta.get_content(), GstIntegralHist.IntegralHistogramContent.BINS)
        self.assertEqual(meta.get_feature(), GstIntegralHist.IntegralHistogramFeature.LUMA)
        self.assertEqual(list(meta.get_quantization()), [0, 0, 0])
        self.assertEqual(meta.get_weight_unit(), 1)
        for index, region in enumerate(REGIONS):
            self.assertEqual(meta.get_region(index), (True, *region))
            self.assertEqual(list(meta.get_values(index)), counts_of(
                luma_of(buffer, WIDTH, HEIGHT), *region, BINS).tolist())
            self.assertEqual(meta.get_pixels(index), region[2] * region[3])
        with self.assertRaises(GLib.Error):
            meta.get_values(len(REGIONS))
        tracks = GstIntegralHist.buffer_get_integral_histogram_tracks_meta(buffer)
        self.assertEqual(tracks.get_n_tracks(), 1)
        track = tracks.get_track(0)
        self.assertIsNone(tracks.get_track(1))
        boxes = [GstVideo.buffer_get_video_region_of_interest_meta_id(buffer, 1)]
        self.assertEqual([track.get_uint('id')[1]] + [track.get_int(name)[1] for name in
                                                      ('x', 'y', 'width', 'height')],
                         [1] + [number for box in boxes for number in
                                (box.x, box.y, box.w, box.h)])
        return meta, tracks

    def test_bytes(self):
        buffer = first_frame(f'{SOURCE} ! {ELEMENTS}')
        meta, tracks = self.check(buffer)
        frame = GstIntegralHist.buffer_get_integral_histogram_meta(buffer)
        self.assertEqual(frame.get_original(*REGIONS[0]), (True, *REGIONS[0]))
        regions_bytes, tracks_bytes = meta.to_bytes(), tracks.to_bytes()
        # docs/pipelines.md has the format
        data = regions_bytes.get_data()
        self.assertEqual(struct.unpack_from('<BBHII3HIII', data),
                         (1, 0, BINS, 0, 1, 0, 0, 0, WIDTH, HEIGHT, len(REGIONS)))
        size = struct.calcsize('<BBHII3HIII')
        self.assertEqual(len(data), size + len(REGIONS) * (24 + 4 * BINS))
        copy = Gst.Buffer.new_wrapped(buffer.extract_dup(0, buffer.get_size()))
        GstIntegralHist.buffer_add_integral_histogram_regions_meta_from_bytes(copy, regions_bytes)
        GstIntegralHist.buffer_add_integral_histogram_tracks_meta_from_bytes(copy, tracks_bytes)
        self.check(copy)
        with self.assertRaises(GLib.Error):
            GstIntegralHist.buffer_add_integral_histogram_regions_meta_from_bytes(
                copy, GLib.Bytes.new(data[:-1]))

    def send(self, folder):
        """A process that sends; its frames go on until it is killed"""
        path = os.path.join(folder, 'socket')
        line = SOURCE.replace('num-buffers=40', 'is-live=true')
        sender = subprocess.Popen(['gst-launch-1.0', '-q', *f'{line} ! {ELEMENTS} ! '.split(),
                                   'unixfdsink', f'socket-path={path}'])
        self.addCleanup(sender.wait)
        self.addCleanup(sender.kill)
        return path

    def receive(self, path, line):
        """The first buffers; a source that comes before its sink tries again"""
        end, why = time.monotonic() + 30, 'nothing came'
        while time.monotonic() < end:
            pipeline = Gst.parse_launch(f'unixfdsrc socket-path={path} ! {line} ! '
                                        'appsink name=sink sync=false')
            pipeline.set_state(Gst.State.PLAYING)
            sink = pipeline.get_by_name('sink')
            samples = []
            while len(samples) < 5 and (sample := sink.try_pull_sample(2 * Gst.SECOND)):
                samples.append(sample)
                self.check(sample.get_buffer())
            if message := pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR):
                why = ': '.join(map(str, message.parse_error()))
            pipeline.set_state(Gst.State.NULL)
            if samples:
                return samples
            time.sleep(0.2)
        self.fail(why)

    def test_processes(self):
        if not Gst.ElementFactory.find('unixfdsrc'):
            self.skipTest('GStreamer before 1.24 has no unixfdsrc')
        with tempfile.TemporaryDirectory() as folder:
            path = self.send(folder)
            # elements of the plugin make the metas known
            self.assertEqual(len(self.receive(path, 'cudaintegralimage backend=cpu')), 5)

    def test_registry(self):
        """A process that uses nothing of the plugin: its registry finds the metas"""
        if Gst.version() < (1, 28):
            self.skipTest('GStreamer before 1.28 does not look for metas in its registry')
        with tempfile.TemporaryDirectory() as folder:
            path = self.send(folder)
            self.receive(path, 'identity')
            said = subprocess.run(
                ['gst-launch-1.0', '-q', 'unixfdsrc', f'socket-path={path}', 'num-buffers=3', '!',
                 'fakesink'], env={**os.environ, 'GST_DEBUG': 'GST_META_FACTORY:5',
                                   'GST_DEBUG_NO_COLOR': '1'},
                capture_output=True, text=True, timeout=60)
            # the first loads the plugin, which then has the other
            self.assertIn('Loaded type GstIntegralHistogramRegionsMeta', said.stderr)
            self.assertRegex(said.stderr, r'existing feature .*GstIntegralHistogramTracksMeta')


if __name__ == '__main__':
    sys.exit(unittest.main(verbosity=2))
