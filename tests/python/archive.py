#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""integralhist-archive: counts are NumPy's, tracks and likelihoods those of one video by itself

Also: which videos are done again, and which are bad. archive_settings.py, archive_inputs.py and
archive_leases.py test the rest of the package, and archive_driver.py how the driver reacts to its
engines.
"""
import argparse
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
from unittest import mock

import archive_truth
import numpy
from archive_truth import BINS, HEIGHT, SETTINGS, WIDTH
from integralhist.archive import commit, plan, settings
from pipelines import counts_of


class Tables(archive_truth.Archive):
    def test_regions(self):
        """Each count is that of NumPy, in the documented columns"""
        self.assertRegex(self.run_archive(), r'^4 done, 0 there before, 0 bad, 0 given up, 0 left; '
                                             r'48 frames in [0-9.]+ s$')
        rows = self.dataset().to_pandas('regions')
        self.assertEqual(list(rows.columns), ['video', 'frame', 'pts', 'region', 'x', 'y', 'width',
                                              'height', 'counts'])
        self.assertEqual(len(rows), 4 * 12 * 2)
        boxes = [(0, 0, WIDTH, HEIGHT), (30, 20, 50, 40)]
        for video, of_video in rows.groupby('video'):
            luma = self.luma(video)
            self.assertEqual(len(luma), 12)
            for row, (number, region) in zip(of_video.itertuples(), itertools.product(
                    range(12), range(2)), strict=True):
                self.assertEqual((row.frame, row.region, row.x, row.y, row.width, row.height),
                                 (number, region, *boxes[region]))
                numpy.testing.assert_array_equal(
                    row.counts, counts_of(luma[number], *boxes[region]))

    def test_tracks(self):
        """Tracks are those of table.py, which tests/python/results.py compares with the tracker"""
        self.run_archive()
        rows = self.dataset().tracks.to_table().to_pylist()
        found = {}
        for number in range(4):
            video = f'{self.videos}/{number:03d}.avi'
            subprocess.run(
                [sys.executable, os.path.join(os.path.dirname(__file__), '../../examples/table.py'),
                 video, self.path(f'one{number}'), '--targets', '60,40,30,30'], check=True,
                stdout=subprocess.DEVNULL)
            import pyarrow.parquet
            table = pyarrow.parquet.read_table(
                self.path(f'one{number}/000000000000-000000000011/tracks.parquet'))
            found[video] = table.drop_columns(['time']).to_pylist()
        self.assertEqual(len(rows), 48)
        for video, wanted in found.items():
            self.assertEqual([row for row in rows if row['video'] == video], wanted)

    def test_likelihood(self):
        """The best window and the map are those of a brute force over all windows"""
        model = numpy.array([9, 4] + [1] * (BINS - 2), float)
        self.write('settings.toml', f'''
[histogram]
interval = 3
[[likelihood]]
name = "dark"
histogram = {model.astype(int).tolist()}
window = [24, 16]
step = 5
maps = true
[[likelihood]]
name = "bright"
histogram = {model[::-1].astype(int).tolist()}
window = [8, 8]
''')
        video = f'{self.videos}/001.avi'
        self.run_archive(video)
        rows = self.dataset().to_pandas('likelihood')
        self.assertEqual(list(rows.columns), [
            'video', 'frame', 'pts', 'model', 'x', 'y', 'width', 'height', 'value', 'columns',
            'rows', 'map'])
        self.assertEqual(rows[['frame', 'model']].values.tolist(), [
            [frame, name] for frame in (0, 3, 6, 9) for name in ('dark', 'bright')])
        bins = self.luma(video).astype(int) * BINS // 256
        for row in rows.itertuples():
            width, height, step, histogram = ((24, 16, 5, model) if row.model == 'dark'
                                              else (8, 8, 1, model[::-1]))
            self.assertEqual((row.width, row.height), (width, height))
            ones = bins[row.frame][..., None] == numpy.arange(BINS)
            table = numpy.zeros((HEIGHT + 1, WIDTH + 1, BINS), int)
            table[1:, 1:] = ones.cumsum(0).cumsum(1)
            counts = (table[height:, width:] - table[:-height, width:] - table[height:, :-width]
                      + table[:-height, :-width])[::step, ::step]
            alike = numpy.sqrt(counts / (width * height) * histogram / histogram.sum()).sum(2)
            far = numpy.sqrt(1 - alike)  # the distance of Bhattacharyya
            self.assertAlmostEqual(row.value, far.min(), places=4)
            self.assertEqual((row.x % step, row.y % step), (0, 0))
            self.assertAlmostEqual(far[row.y // step, row.x // step], far.min(), places=4)
            if row.model == 'dark':
                self.assertEqual((int(row.rows), int(row.columns)), far.shape)
                numpy.testing.assert_allclose(
                    numpy.array(row.map, numpy.float32).reshape(far.shape), far, atol=2e-3)
            else:
                self.assertIsNone(row.map)

    def test_beside_the_tracker(self):
        """The tracker's own histogram, of the same feature and of every frame, is not taken"""
        text = '''
[histogram]
feature = "signed-gradient"
bins = 18
interval = 5
[regions]
grid = [3, 2]
[[likelihood]]
name = "even"
histogram = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
window = [30, 30]
step = 6
'''
        video = f'{self.videos}/002.avi'
        found = []
        for more in '', '[tracks]\ntargets = [[60, 40, 30, 30]]\n':
            self.write('settings.toml', text + more)
            self.run_archive(video)
            found.append([getattr(self.dataset(), name).to_table().to_pylist()
                          for name in ('regions', 'likelihood')])
        self.assertEqual(*found)
        regions, likelihood = found[0]
        self.assertEqual([row['frame'] for row in likelihood], [0, 5, 10])
        self.assertEqual(len(regions), 3 * 6)

    def test_detections(self):
        """A file of boxes for each video begins the targets, and changes what is done"""
        self.write('settings.toml', '[tracks]\ndetections = "{stem}.csv"\n')
        self.write('000.csv', '0,60,40,30,30\n5,20,20,30,30\n')
        video = f'{self.videos}/000.avi'
        self.run_archive(video)
        first = self.dataset().to_pandas('tracks')
        self.assertEqual(first[first.frame == 0][['x', 'y', 'width', 'height']].values.tolist(),
                         [[60, 40, 30, 30]])
        self.assertEqual(sorted(first[first.frame == 5].id.unique()), [1, 2])
        self.assertRegex(self.run_archive(video), '^0 done, 1 there before')
        self.write('000.csv', '0,60,40,30,30\n')
        self.assertRegex(self.run_archive(video), '^1 done, 0 there before')
        self.assertEqual(self.dataset().to_pandas('tracks').id.unique().tolist(), [1])
        self.write('000.csv', '0,60,40,30\n')
        self.run_archive(video, status=1)
        self.assertIn('000.csv:1: write frame,x,y,width,height in whole numbers', self.said())

    def test_decoder(self):
        """The marker notes which decoder ran, and the settings can ask for another one"""
        def decoder():
            return self.markers('_done')[0]['decoders'][0].split()[0]

        video = f'{self.videos}/000.avi'
        found = set()
        for name in ('jpegdec', 'avdec_mjpeg'):
            shutil.rmtree(self.path('out'), ignore_errors=True)
            self.write('settings.toml', SETTINGS + f'[source]\ndecoder = "{name}"\n')
            self.run_archive(video)
            found.add(decoder())
        self.assertEqual(found, {'jpegdec', 'avdec_mjpeg'})
        self.write('settings.toml', SETTINGS + '[source]\ndecoder = "vp8dec"\n')
        self.run_archive(video, status=1)
        self.assertRegex(self.said(), '000.avi: bad: vp8dec does not decode it: use ')

    @unittest.skipIf(archive_truth.NO_H264, archive_truth.NO_H264)
    def test_decoder_without_codec(self):
        """openh264dec, whose class is Decoder/Video and not Codec/Decoder/Video, is a decoder"""
        archive_truth.launch('videotestsrc num-buffers=5 ! video/x-raw,width=160,height=120 ! '
                             'openh264enc ! h264parse ! mp4mux ! filesink '
                             f'location={self.path("h264.mp4")}')
        self.write('settings.toml', SETTINGS + '[source]\ndecoder = "openh264dec"\n')
        self.run_archive(self.path('h264.mp4'))
        self.assertRegex(self.markers('_done')[0]['decoders'][0], '^openh264dec ')


class Documentation(archive_truth.Archive):
    VIDEOS = 1

    def test_page(self):
        """The settings of docs/archive.md are valid, and the page's program prints the counts"""
        with open(os.path.join(os.path.dirname(__file__), '../../docs/archive.md'),
                  encoding='utf-8') as file:
            found = re.findall(r'^```(\w+)\n(.*?)^```', file.read(), re.MULTILINE | re.DOTALL)
        texts = [text for kind, text in found if kind == 'toml']
        self.assertEqual(len(texts), 2)
        for text in reversed(texts):
            self.write('settings.toml', text)
            self.write('settings.json', json.dumps(
                settings.read_settings(self.path('settings.toml'))))
            subprocess.run([sys.executable, '-m', 'integralhist.archive.job', '--check',
                            self.path('settings.json')], check=True, stdout=subprocess.DEVNULL)
        self.run_archive()
        program, = (text for kind, text in found if kind == 'python')
        said = subprocess.run([sys.executable, '-c', program], cwd=self.folder, check=True,
                              stdout=subprocess.PIPE, text=True).stdout.splitlines()
        self.assertEqual((said[0], said[-1]), (str(12 * 8 * 6), '[12]'))
        self.assertIn('counts', said[1])


class Again(archive_truth.Archive):
    def test_second_run(self):
        """A second run does nothing, in seconds; changed settings and changed videos are done"""
        self.run_archive()
        before = self.files()
        started = time.monotonic()
        self.assertRegex(self.run_archive(), '^0 done, 4 there before, .* 0 frames')
        self.assertLess(time.monotonic() - started, 10)
        self.assertEqual(self.files(), before)

        video = f'{self.videos}/zzz.avi'
        archive_truth.make_video(video, 50, count=5)
        self.addCleanup(os.unlink, video)
        self.assertRegex(self.run_archive(), '^1 done, 4 there before, .* 5 frames')
        archive_truth.make_video(video, 50, count=7)
        self.assertRegex(self.run_archive(), '^1 done, 4 there before, .* 7 frames')
        self.assertEqual(self.dataset().regions.count_rows(), (4 * 12 + 7) * 2)

        self.write('settings.toml', SETTINGS.replace('bins = 16', 'bins = 8'))
        self.assertRegex(self.run_archive(), '^5 done, 0 there before')
        archive = self.dataset()
        self.assertEqual(archive.regions.count_rows(), (4 * 12 + 7) * 2)
        self.assertEqual({len(counts) for counts in archive.to_pandas('regions').counts}, {8})
        old = {**archive.settings, 'histogram': {'bins': 16}}
        self.assertEqual(self.dataset(settings=old).regions.count_rows(), (4 * 12 + 7) * 2)
        self.write('settings.toml', SETTINGS)
        self.assertRegex(self.run_archive(), '^0 done, 5 there before')

    def test_equal_settings(self):
        """[5] and [5.0] are different settings, but a video is in a dataset only once"""
        model = '[[likelihood]]\nname = "m"\nwindow = [20, 20]\nhistogram = [{}]\n'
        for number in '5', '5.0':
            self.write('settings.toml', '[histogram]\nbins = 2\n' + model.format(
                ', '.join([number] * 2)))
            self.assertRegex(self.run_archive(f'{self.videos}/000.avi'), '^1 done, 0 there')
        self.assertEqual(len(self.dataset().videos), 1)
        self.assertEqual(self.dataset().others, 1)


class Bad(archive_truth.Archive):
    VIDEOS = 2

    def test_mended_unseen(self):
        """A bad video is mended, and the driver is killed after its commit: the video is done"""
        self.write('a.avi', 'no video')
        self.run_archive('a.avi', status=1)
        marker = 'out/_failed/' + os.listdir(self.path('out/_failed'))[0]
        failed = pathlib.Path(self.path(marker)).read_text(encoding='utf-8')
        shutil.copy(f'{self.videos}/000.avi', self.path('a.avi'))
        self.run_archive('a.avi')
        self.write(marker, failed)
        os.utime(self.path(marker), (1, 1))
        self.assertRegex(self.archive('status', 'out'), '^1 done, 0 bad, 0 given up')

    def test_bad_videos(self):
        """Each bad video is reported with a reason and not tried again; the others are done"""
        self.write('junk.avi', 'this is no video')
        whole = pathlib.Path(f'{self.videos}/000.avi').read_bytes()
        pathlib.Path(self.path('cut.avi')).write_bytes(whole[:300])
        archive_truth.launch('videotestsrc num-buffers=2 ! video/x-raw,width=32,height=24 ! '
                             f'jpegenc ! avimux ! filesink location={self.path("small.avi")}')
        self.write('empty.avi', '')
        inputs = f'{self.videos}/*.avi', '*.avi', 'none.avi', '--retries=1'
        reasons = {'junk.avi': 'bad: .*Could not determine type of stream',
                   'cut.avi': 'bad: .*', 'empty.avi': 'bad: .*',
                   'small.avi': 'bad: .*lies outside of the 32x24 frame',
                   'none.avi': 'given up: .*No such file or directory'}
        self.assertRegex(self.run_archive(*inputs, status=1),
                         '^2 done, 0 there before, 4 bad, 1 given up, 0 left; 24 frames')
        for name, reason in reasons.items():
            self.assertRegex(self.said(), f'{self.folder}/{name}: {reason}')
        self.archive('status', 'out')
        for name, reason in reasons.items():
            self.assertRegex(self.said(), f'{self.folder}/{name}: {reason}')
        self.assertRegex(self.said(), '2 done, 4 bad, 1 given up, 0 begun; 24 frames')
        self.assertRegex(self.run_archive(*inputs, status=1),
                         '^0 done, 2 there before, 4 bad, 1 given up, 0 left')

        # a bad video that is mended is done, and retry tries the others again
        shutil.copy(f'{self.videos}/000.avi', self.path('junk.avi'))
        shutil.copy(f'{self.videos}/001.avi', self.path('none.avi'))
        self.assertRegex(self.archive('retry', 'out', status=1), '^2 done, 0 there before, 3 bad')
        self.assertEqual(len(self.markers('_failed')), 3)
        self.assertRegex(self.archive('status', 'out'), '^4 done, 3 bad, 0 given up, 0 begun')
        self.write('settings.toml', SETTINGS.replace('bins = 16', 'bins = 8'))
        self.run_archive(f'{self.videos}/000.avi')
        self.assertRegex(self.archive('status', 'out'), '^5 done, 0 bad, 0 given up, 0 begun')
        self.assertIn('3 more have failed with other settings', self.said())

    def test_half(self):
        """A video whose frames end early is done, with a warning"""
        archive_truth.launch('videotestsrc num-buffers=50 pattern=snow ! video/x-raw,width=160,'
                             'height=120,framerate=10/1 ! jpegenc ! matroskamux ! '
                             f'filesink location={self.path("whole.mkv")}')
        whole = pathlib.Path(self.path('whole.mkv')).read_bytes()
        pathlib.Path(self.path('half.mkv')).write_bytes(whole[:len(whole) // 2])
        self.assertRegex(self.run_archive('whole.mkv', 'half.mkv'),
                         r'^2 done \(1 with warnings\), 0 there before, 0 bad')
        told = 'half.mkv: done: frames end after 2.[0-9] of 5.0 s'
        self.assertRegex(self.said(), told)
        self.archive('status', 'out')
        self.assertRegex(self.said(), told)

    def test_longer_sound(self):
        """Sound that is longer than the video is no warning; a file that is cut off is one"""
        video = ('videotestsrc num-buffers=40 pattern=snow ! video/x-raw,format=I420,width=160,'
                 'height=120,framerate=10/1 ! jpegenc ! queue')
        sound = 'audiotestsrc num-buffers=520 ! audio/x-raw,rate=44100,channels=1 ! {} ! queue'
        for name, muxer, encoder in (('long.mkv', 'matroskamux', 'vorbisenc'),
                                     ('long.mov', 'qtmux faststart=true', 'identity'),
                                     ('long.avi', 'avimux', 'identity')):
            archive_truth.launch(f'{video} ! mux. {sound.format(encoder)} ! mux. {muxer} name=mux '
                                 f'! filesink location={self.path(name)}')
        self.assertRegex(self.run_archive('long.mkv', 'long.mov', 'long.avi'), '^3 done, 0 there')
        for marker in self.markers('_done'):
            self.assertEqual((marker['frames'], marker['warnings']), (40, []), marker['video'])
        for name in 'long.mkv', 'long.mov':
            whole = pathlib.Path(self.path(name)).read_bytes()
            pathlib.Path(self.path(name)).write_bytes(whole[:len(whole) // 4])
        self.assertRegex(self.run_archive('long.mkv', 'long.mov'), r'^2 done \(2 with warnings\)')
        for name in 'long.mkv', 'long.mov':
            self.assertRegex(self.said(), rf'{name}: done: frames end after \d\.\d of 12\.\d s')

    def test_undecodable_end(self):
        """Frames that the decoder does not give, though the file goes on, are missing"""
        archive_truth.launch('videotestsrc num-buffers=50 pattern=snow ! video/x-raw,width=160,'
                             'height=120,framerate=10/1 ! jpegenc ! matroskamux ! '
                             f'filesink location={self.path("whole.mkv")}')
        whole = pathlib.Path(self.path('whole.mkv')).read_bytes()
        half = len(whole) // 2
        with open(self.path('broken.mkv'), 'wb') as file:  # no picture begins there any more
            file.write(whole[:half] + whole[half:].replace(b'\xff\xd8', b'\0\0'))
        self.run_archive('broken.mkv')
        self.assertRegex(self.said(), 'broken.mkv: done: frames end after 2.[0-9] of 5.0 s')

    def test_several_videos(self):
        """A warning says which of the video streams of a file was read"""
        one = ('videotestsrc num-buffers={} ! video/x-raw,format=I420,width={},height=120,'
               'framerate=10/1 ! jpegenc ! queue ! mux.')
        archive_truth.launch(f'{one.format(5, 160)} {one.format(5, 320)} matroskamux name=mux ! '
                             f'filesink location={self.path("two.mkv")}')
        self.run_archive('two.mkv')
        marker, = self.markers('_done')
        text, = marker['warnings']
        found = re.fullmatch(r'number ([12]) of 2 video streams is read: '
                             r'1 is image/jpeg (\d+)x120, 2 is image/jpeg (\d+)x120', text)
        self.assertTrue(found, text)
        self.assertEqual(int(found[1 + int(found[1])]), marker['width'])
        self.assertEqual({found[2], found[3]}, {'160', '320'})

    def test_without_histograms(self):
        """A video with frames that have no histogram is not done, and the reason lists them"""
        program = '''
from integralhist.archive import job
real = job.Video.meta
def meta(self, buffer):
    number = self.asked = getattr(self, 'asked', -1) + 1
    return None if number in (2, 3, 4, 9) else real(self, buffer)
job.Video.meta = meta
job.main()
'''
        self.write('job.py', program)
        commit.prepare(self.path('out'))
        model = ('[[likelihood]]\nname = "m"\nwindow = [20, 20]\nhistogram = '
                 f'{[1] * 16}\n')
        for text, said in (
                (SETTINGS, '4 frames have no histogram: 2 to 4, 9'),
                (model, '4 frames have no histogram: 2 to 4, 9'),
                (SETTINGS.replace('bins = 16', 'bins = 16\ninterval = 4'),
                 '1 frame has no histogram: 8')):
            self.write('settings.toml', text)
            item = next(iter(plan.Plan(settings.read_settings(self.path('settings.toml')),
                                       [f'{self.videos}/000.avi'])))
            self.write('item.json', json.dumps({**item, 'out': self.path('out')}))
            done = subprocess.run([sys.executable, self.path('job.py'), self.path('item.json')],
                                  stdout=subprocess.PIPE, text=True, check=False)
            self.assertEqual((done.returncode, json.loads(done.stdout)), (1, {'reason': said}))
        self.assertEqual(os.listdir(self.path('out/regions')) + self.markers('_done'), [])

    @unittest.skipIf(archive_truth.NO_H264, archive_truth.NO_H264)
    def test_other_size(self):
        """A video whose frames become larger has no one grid, and is bad"""
        for name, size in (('a', 'width=160,height=120'), ('b', 'width=320,height=240')):
            archive_truth.launch(f'videotestsrc num-buffers=5 ! video/x-raw,{size} ! openh264enc ! '
                                 'video/x-h264,stream-format=byte-stream ! '
                                 f'filesink location={self.path(name)}')
        with open(self.path('both.h264'), 'wb') as both:
            for name in 'a', 'b':
                both.write(pathlib.Path(self.path(name)).read_bytes())
        self.run_archive('both.h264', status=1)
        self.assertIn('both.h264: bad: frames are 160x120, and then 320x240', self.said())

    def test_uri(self):
        """If a server is away, the next run tries its videos again"""
        with socket.create_server(('127.0.0.1', 0)) as server:
            port = server.getsockname()[1]
        self.assertRegex(self.run_archive(f'http://127.0.0.1:{port}/a.avi', '--retries=0',
                                          status=1), ' 0 bad, 1 given up')

    def test_odd_uris(self):
        """A login may have an @, and nothing in a URI is taken for elements"""
        from integralhist import frames, without_login
        frames.Gst.init(None)
        self.assertEqual(without_login('rtsp://u:p@ss@h/x?y=a@b'), 'rtsp://h/x?y=a@b')
        options = argparse.Namespace(launch=None, video=r'http://h/a\" ! filesink location="b')
        self.assertEqual(frames.source_of(options)[0],
                         'uridecodebin uri="http://h/a%5C%22 ! filesink location=%22b"')

    def test_full_log(self):
        """All videos are done although the log has no space left"""
        with open('/dev/full', 'w', encoding='utf-8') as full:
            done = subprocess.run(
                [sys.executable, '-m', 'integralhist.archive', 'run', 'settings.toml', 'none.avi',
                 f'{self.videos}/*.avi', '--out', 'out', '--retries=1'], cwd=self.folder,
                stderr=full, stdout=subprocess.PIPE, text=True, check=False)
        self.assertRegex(done.stdout.splitlines()[-1],
                         '^2 done, 0 there before, 0 bad, 1 given up, 0 left')
        self.assertEqual(done.returncode, 1)

    def test_aborting_decoder(self):
        """A video that aborts its decoder is tried again, and then given up"""
        self.write('abort.avi', 'ABORTING')
        self.assertRegex(
            self.run_archive(f'{self.videos}/*.avi', 'abort.avi', '--retries=2', status=1),
            '^2 done, 0 there before, 0 bad, 1 given up, 0 left')
        self.assertEqual(self.said().count('abort.avi: ended by SIGABRT'), 2)
        self.assertIn('abort.avi: given up: ended by SIGABRT', self.said())
        self.assertEqual(self.markers('_failed')[0]['attempts'], 3)

    def test_silent_decoder(self):
        """A decoder that says nothing, not even the end, is noticed before the deadline"""
        self.write('silent.avi', 'SILENCED')
        self.run_archive('silent.avi', '--retries=0', status=1)
        self.assertIn('silent.avi: given up: nothing has read it for 10 s', self.said())

    def test_stalled(self):
        """A file that stalls in the middle, and a picture that never comes, are errors"""
        from integralhist import frames
        options = argparse.Namespace(video=f'{self.videos}/000.avi', launch=None, targets=[],
                                     regions=[(0, 0, 9, 9)], grid=None, detections=False,
                                     feature='luma', bins=4)
        with mock.patch.object(frames, 'STALLED', 1):
            # the sink keeps a tensor, so the only one never comes free
            with frames.Stream(options, counting='max-tensors=1') as stream, \
                    self.assertRaisesRegex(frames.StreamError, 'no frame came for 1 s, after 1$'):
                for _ in stream:
                    pass
            os.mkfifo(self.path('fifo'))
            options.video = self.path('fifo')
            with self.assertRaisesRegex(frames.StreamError, 'nothing was written to it for 1 s'):
                frames.Stream(options)
            pipeline = frames.Gst.parse_launch('appsrc ! appsink name=sink')
            self.addCleanup(pipeline.set_state, frames.Gst.State.NULL)
            with self.assertRaisesRegex(frames.StreamError, 'a picture was not counted in 1 s'):
                frames.one_sample(pipeline)
        pipeline = frames.Gst.parse_launch('filesrc location=/none ! appsink name=sink')
        self.addCleanup(pipeline.set_state, frames.Gst.State.NULL)
        with self.assertRaisesRegex(frames.StreamError, 'Resource not found'):
            frames.one_sample(pipeline)

    def test_deadline(self):
        """A video that never comes is ended at the deadline, with its job"""
        os.mkfifo(self.path('never'))
        holder = os.open(self.path('never'), os.O_RDWR)
        self.addCleanup(os.close, holder)
        self.assertRegex(self.run_archive('never', '--retries=1', '--deadline=1', status=1),
                         '^0 done, 0 there before, 0 bad, 1 given up, 0 left')
        self.assertRegex(self.said(), 'never: given up: had not ended after [1-9] s')

    def test_interrupted(self):
        """Ctrl-C ends the jobs as well, and the next run does the rest"""
        process = self.start('run', 'settings.toml', f'{self.videos}/*.avi', '--out', 'out')
        self.await_jobs(process)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(20), 130, self.said())
        self.assertIn(', stopped', self.said().splitlines()[-1])
        self.assertEqual(self.jobs(), [])
        self.assertRegex(self.run_archive(), ' 0 bad, 0 given up, 0 left')
        self.assertEqual(self.dataset().regions.count_rows(), 2 * 12 * 2)


class Refused(archive_truth.Archive):
    VIDEOS = 1

    def test_arguments(self):
        for arguments, status, said in (
                (('run', 'none.toml', 'x', '--out', 'o'), 1, 'none.toml: No such file'),
                (('run', 'settings.toml', 'x*.mp4', '--out', 'o'), 1,
                 'x*.mp4: no such file: check the pattern'),
                (('run', 'settings.toml', '.', '--out', 'o'), 1, '. is a folder: give "./*.mp4"'),
                (('run', 'settings.toml', '@none', '--out', 'o'), 1, '@none: No such file'),
                (('run', 'settings.toml', 'x', '--out', 'o', '--shard', '3/3'), 2,
                 'I from 0 to N-1'),
                (('run', 'settings.toml', 'x', '--out', 'o', '--deadline', 'x'), 2, 'give 10x'),
                (('run', 'settings.toml', 'x', '--out', 'o', '--deadline', 'nan'), 2, 'give 10x'),
                (('run', 'settings.toml', 'x', '--out', 'o', '--jobs', '0'), 2, 'of 1 or more'),
                (('run', 'settings.toml', 'x', '--out', 'o', '--python', 'none'), 2,
                 'there is no such program'),
                (('run', 'settings.toml', 'x', '--out', 'settings.toml/o'), 1, 'settings.toml'),
                (('run', 'settings.toml', 'x', '--out', 'o', '--address', 'a:1'), 2,
                 '--address is for --engine ray'),
                (('run', 'settings.toml', 'x', '--out', 'o', '--engine', 'ray', '--address', 'a'),
                 2, 'give HOST:PORT'),
                (('status', 'none'), 1, 'no run was begun there'),
                (('verify', 'none'), 1, 'no run was begun there'),
                (('gc', 'none'), 1, 'no run was begun there'),
                (('retry', 'none'), 1, 'no run was begun there')):
            with self.subTest(arguments):
                self.assertIn(said, self.archive(*arguments, status=status))

    def test_without_gpu(self):
        self.assertIn('there is no GPU here: leave --gpus-per-file out', self.run_archive(
            '--gpus-per-file=1', status=1, CUDA_VISIBLE_DEVICES=''))

    def test_without_packages(self):
        """The error names the extra, also for packages that only jobs need"""
        os.mkdir(self.path('none'))
        for name in ('ray', 'pyarrow'):
            self.write(f'none/{name}.py', f'raise ImportError("no {name}")\n')
            python = os.pathsep.join([self.path('none'), os.environ['PYTHONPATH']])
            said = self.run_archive('--engine=ray', status=1, PYTHONPATH=python)
            os.unlink(self.path(f'none/{name}.py'))
            self.assertIn("pip install 'integralhist-archive[ray]', or take --engine local"
                          if name == 'ray' else 'no pyarrow', said)


if __name__ == '__main__':
    unittest.main(verbosity=2)
