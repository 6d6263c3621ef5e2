#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""integralhist-archive: counts are NumPy's, tracks and likelihoods those of one video by itself

And what is done again when, what is bad, what is wrong with settings, and the commands about OUT.
archive_driver.py has what the driver does of what its engines say.
"""
import argparse
import contextlib
import errno
import io
import itertools
import json
import os
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


class Tables(archive_truth.Archive):
    def test_regions(self):
        """Each count is NumPy's, in the columns that are documented"""
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
                x, y, width, height = boxes[region]
                self.assertEqual((row.frame, row.region, row.x, row.y, row.width, row.height),
                                 (number, region, *boxes[region]))
                inside = luma[number, y:y + height, x:x + width].astype(int) * BINS // 256
                numpy.testing.assert_array_equal(
                    row.counts, numpy.bincount(inside.ravel(), minlength=BINS))

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
        """The tracker has a histogram of the same feature, and of every frame: it is not taken"""
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
        """It is noted which one decoded, and another one can be wanted"""
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
        self.assertRegex(self.said(), '000.avi: bad: vp8dec does not decode it; .* would')


class Documentation(archive_truth.Archive):
    VIDEOS = 1

    def test_page(self):
        """All settings of docs/archive.md are taken, and its program prints what is there"""
        from integralhist.archive import plan
        with open(os.path.join(os.path.dirname(__file__), '../../docs/archive.md'),
                  encoding='utf-8') as file:
            found = re.findall(r'^```(\w+)\n(.*?)^```', file.read(), re.MULTILINE | re.DOTALL)
        settings = [text for kind, text in found if kind == 'toml']
        self.assertEqual(len(settings), 2)
        for text in reversed(settings):
            self.write('settings.toml', text)
            self.write('settings.json', json.dumps(plan.read_settings(self.path('settings.toml'))))
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
        """It does nothing, and in seconds; changed settings and changed videos are done"""
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

    def test_inputs(self):
        """Lists, globs, paths relative and absolute, URIs of files, twice the same"""
        name = f'{self.videos}/000.avi'
        self.write('list', f'{name}\n\n{self.videos}/00[12].avi\n')
        self.assertRegex(self.run_archive('@list', '--jobs=1'), '^3 done')
        relative = os.path.relpath(name, self.folder)
        self.assertRegex(self.run_archive(relative, 'file://' + name, name), '^0 done, 3 there')
        shutil.rmtree(self.path('out'))
        self.assertRegex(self.run_archive(name, name, name, '--jobs=3'), '^1 done, 2 there before')

    def test_lists(self):
        """What a line names may be missing, in brackets, not UTF-8, or no URI: it alone fails"""
        name = b'\xff.avi'
        shutil.copy(f'{self.videos}/000.avi', os.path.join(self.folder.encode(), name))
        with open(self.path('list'), 'wb') as file:
            file.write(b'\n'.join([self.videos.encode() + b'/001.avi', b'clip[1].avi', name, b'',
                                   b'file://[a/b.avi', b'\xfe.avi']))
        told = self.run_archive('@list', '--retries=0', status=1, PYTHONIOENCODING='utf-8:strict')
        self.assertRegex(told, '^2 done, 0 there before, 0 bad, 3 given up, 0 left', self.said())
        for text in (r'/clip[1].avi: given up: ', r'file:/[a/b.avi: given up: ',
                     r'\xfe.avi: given up: '):
            self.assertIn(text, self.said())
        self.assertIn(r'\xfe.avi: No such file or directory', self.said())
        self.archive('status', 'out', PYTHONIOENCODING='utf-8:strict')
        # retry has the path itself
        shutil.copy(f'{self.videos}/000.avi', os.path.join(self.folder.encode(), b'\xfe.avi'))
        told = self.archive('retry', 'out', '--retries=0', status=1)
        self.assertRegex(told, '^1 done, .* 2 given up')

        self.write('list', 'a.avi\0b.avi\0')
        self.assertIn('list:1 has a zero byte: write one path in each line',
                      self.run_archive('@list', status=1))

    def test_unreadable_folder(self):
        """glob leaves it out without a word. Root reads all, so that is pretended"""
        from integralhist.archive.plan import Plan
        scandir = os.scandir

        def closed(path):
            if str(path).endswith('closed'):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
            return scandir(path)

        os.makedirs(self.path('deep/closed'))
        self.write('deep/a.avi', '')
        with mock.patch.object(os, 'scandir', side_effect=closed), \
                contextlib.redirect_stderr(io.StringIO()) as said:
            plan = Plan({}, [self.path('deep/**/*.avi')])
            self.assertEqual([len(list(plan)) for _ in range(2)], [1, 1])
        self.assertEqual(said.getvalue(), f'{self.path("deep/closed")}: Permission denied: its '
                                          'videos are left out\n')

    def test_shards(self):
        """They have no video together, and all of them all videos"""
        self.run_archive(out='whole')
        parts = []
        for part in range(3):
            self.run_archive(f'--shard={part}/3', out=f'part{part}')
            parts.append(self.files(f'part{part}'))
        self.assertEqual(sum(map(len, parts)), len(self.files('whole')))
        self.assertEqual({**parts[0], **parts[1], **parts[2]}, self.files('whole'))

    def test_verify_and_gc(self):
        self.run_archive()
        self.assertEqual(self.archive('verify', 'out'),
                         '4 videos, 0 files are not as they were committed')
        first, second, third, fourth = sorted(name for name in self.files() if 'regions/' in name)

        # what a killed job leaves: readers do not see it, and gc removes it once it is old
        shutil.copy(self.path(f'out/{third}'),
                    self.path('out/regions/0123456789abcdef0123-01234567.parquet'))
        self.write('out/_aside/0123.regions.host.1.aa', 'torn')
        in_use = f'0123.regions.{socket.gethostname()}.{os.getpid()}.aa'
        self.write(f'out/_aside/{in_use}', 'a job of this machine writes')
        self.assertEqual(len(self.dataset().regions.files), 4)
        self.assertNotIn('0123456789abcdef0123', ' '.join(self.dataset().regions.files))
        self.assertEqual(self.archive('gc', 'out'), '0 files, 0 bytes removed')
        # a job that has renamed its table, and has not written its marker
        self.write('out/_running/abcd.json', '{}')
        self.write('out/regions/abcd-01234567.parquet', 'whole')
        self.assertRegex(self.archive('gc', 'out', '--older', '0'), '^3 files, [0-9]+ bytes')
        self.assertEqual(os.listdir(self.path('out/_aside')), [in_use])
        self.assertEqual(len(os.listdir(self.path('out/regions'))), 5)
        self.assertRegex(self.archive('gc', 'out', '--older', '0'), '^1 files, ')
        self.assertEqual(len(os.listdir(self.path('out/regions'))), 4)

        with open(self.path(f'out/{first}'), 'r+b') as file:
            file.seek(100)
            byte = file.read(1)
            file.seek(100)
            file.write(bytes([byte[0] ^ 1]))
        os.unlink(self.path(f'out/{second}'))
        os.unlink(self.path(f'out/{third}'))
        os.mkdir(self.path(f'out/{third}'))
        marker = f'_done/{fourth.split("/")[1].split("-")[0]}.json'
        os.truncate(self.path(f'out/{marker}'), 200)
        self.archive('verify', 'out', status=1)
        for text in (f'{first}: has other bytes than were committed', f'{second}: is not there',
                     f'{third}: cannot be read: Is a directory', f'{marker}: is no marker'):
            self.assertIn(text, self.said())
        # no table is removed for the damage of a marker
        self.write('out/_aside/.nfs0001', 'of a file that NFS has open')
        self.assertRegex(self.archive('gc', 'out', '--older', '0'), '^1 files, ')
        self.assertTrue(os.path.exists(self.path(f'out/{fourth}')))
        os.rmdir(self.path(f'out/{third}'))
        self.archive('verify', 'out', '--forget', status=1)
        self.assertRegex(self.run_archive(), '^4 done, 0 there before')
        self.archive('verify', 'out')

    def test_equal_settings(self):
        """[5] and [5.0] are other settings: a video is in a dataset once"""
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
        """A bad video is mended, and the driver is killed behind its commit: it is done"""
        self.write('a.avi', 'no video')
        self.run_archive('a.avi', status=1)
        marker = 'out/_failed/' + os.listdir(self.path('out/_failed'))[0]
        with open(self.path(marker), encoding='utf-8') as file:
            failed = file.read()
        shutil.copy(f'{self.videos}/000.avi', self.path('a.avi'))
        self.run_archive('a.avi')
        self.write(marker, failed)
        os.utime(self.path(marker), (1, 1))
        self.assertRegex(self.archive('status', 'out'), '^1 done, 0 bad, 0 given up')

    def test_bad_videos(self):
        """Each is told with its reason, not tried again, and the others are done"""
        self.write('junk.avi', 'this is no video')
        with open(f'{self.videos}/000.avi', 'rb') as file:
            whole = file.read()
        with open(self.path('cut.avi'), 'wb') as file:
            file.write(whole[:300])
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

        # a bad one that is mended is done, and retry tries the others again
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
        """Frames end before the video says that it does: it is done, and that is told"""
        archive_truth.launch('videotestsrc num-buffers=50 pattern=snow ! video/x-raw,width=160,'
                             'height=120,framerate=10/1 ! jpegenc ! matroskamux ! '
                             f'filesink location={self.path("whole.mkv")}')
        with open(self.path('whole.mkv'), 'rb') as file:
            whole = file.read()
        with open(self.path('half.mkv'), 'wb') as file:
            file.write(whole[:len(whole) // 2])
        self.assertRegex(self.run_archive('whole.mkv', 'half.mkv'),
                         r'^2 done \(1 with warnings\), 0 there before, 0 bad')
        told = 'half.mkv: done: frames end after 2.[0-9] of 5.0 s'
        self.assertRegex(self.said(), told)
        self.archive('status', 'out')
        self.assertRegex(self.said(), told)

    @unittest.skipIf(archive_truth.NO_H264, archive_truth.NO_H264)
    def test_other_size(self):
        """A video whose frames become larger has no one grid, and is bad"""
        for name, size in (('a', 'width=160,height=120'), ('b', 'width=320,height=240')):
            archive_truth.launch(f'videotestsrc num-buffers=5 ! video/x-raw,{size} ! openh264enc ! '
                                 'video/x-h264,stream-format=byte-stream ! '
                                 f'filesink location={self.path(name)}')
        with open(self.path('both.h264'), 'wb') as both:
            for name in 'a', 'b':
                with open(self.path(name), 'rb') as file:
                    both.write(file.read())
        self.run_archive('both.h264', status=1)
        self.assertIn('both.h264: bad: frames are 160x120, and then 320x240', self.said())

    def test_uri(self):
        """A server that is away is tried again by the next run"""
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
        """What is told has no place, and all is done"""
        with open('/dev/full', 'w', encoding='utf-8') as full:
            done = subprocess.run(
                [sys.executable, '-m', 'integralhist.archive', 'run', 'settings.toml', 'none.avi',
                 f'{self.videos}/*.avi', '--out', 'out', '--retries=1'], cwd=self.folder,
                stderr=full, stdout=subprocess.PIPE, text=True, check=False)
        self.assertRegex(done.stdout.splitlines()[-1],
                         '^2 done, 0 there before, 0 bad, 1 given up, 0 left')
        self.assertEqual(done.returncode, 1)

    def test_aborting_decoder(self):
        """It is tried again, and given up"""
        environment = self.write_aborting('abort.avi')
        self.assertRegex(
            self.run_archive(f'{self.videos}/*.avi', 'abort.avi', '--retries=2', status=1,
                             **environment),
            '^2 done, 0 there before, 0 bad, 1 given up, 0 left')
        self.assertEqual(self.said().count('abort.avi: ended by SIGABRT'), 2)
        self.assertIn('abort.avi: given up: ended by SIGABRT', self.said())
        self.assertEqual(self.markers('_failed')[0]['attempts'], 3)

    def test_silent_decoder(self):
        """One that says nothing, not even the end, is noticed before the deadline"""
        environment = self.write_aborting('silent.avi', 'SILENCED')
        self.run_archive('silent.avi', '--retries=0', status=1, **environment)
        self.assertIn('silent.avi: given up: nothing has read it for 10 s', self.said())

    def test_deadline(self):
        """A video that never comes is ended, and its job too"""
        os.mkfifo(self.path('never'))
        holder = os.open(self.path('never'), os.O_RDWR)
        self.addCleanup(os.close, holder)
        self.assertRegex(self.run_archive('never', '--retries=1', '--deadline=1', status=1),
                         '^0 done, 0 there before, 0 bad, 1 given up, 0 left')
        self.assertRegex(self.said(), 'never: given up: had not ended after [1-9] s')

    def test_interrupted(self):
        """Ctrl-C ends the jobs, too, and the next run does the rest"""
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

    def test_settings(self):
        """Each error names the place and what to write"""
        regions = '[regions]\ngrid = [2, 2]\n'
        for text, said in (
                ('', 'nothing is asked: give [regions], [tracks] or [[likelihood]]'),
                ('[histogram', r'settings.toml: Expected'),
                ('[regions]\ngrid = "8x6"', '[regions] grid: give [columns, rows], as [8, 6]'),
                ('[regions]\nboxes = [[1, 2, 3]]', '[regions] boxes: give [[x, y, width, '),
                ('[regions]\nbox = 1', '[regions] has no box, only boxes, grid'),
                ('[region]\nboxes = []', '[region]: there are source, histogram, tracks, regions '),
                ('[tracks]', '[tracks]: give targets or detections'),
                (regions + '[source]\nmemory = "gpu"', '[source] memory: gpu is neither "system" '),
                ('[[likelihood]]\nname = "a"\nwindow = [1, 1]', '1 histogram: give a number for '),
                ('[[likelihood]]\nname = "a"\nhistogram = [1]', '1 window: give [width, height]'),
                ('[[likelihood]]\nhistogram = [1]\nwindow = [1, 1]', 'name: give each one of '),
                (regions + '[histogram]\nbin = 3', 'no property "bin" in element'),
                (regions + '[histogram]\nfeature = "smell"', 'smell')):
            with self.subTest(text):
                self.write('settings.toml', text)
                self.assertIn(said, self.run_archive(status=1))
                self.assertFalse(os.path.exists(self.path('out')))

    def test_arguments(self):
        for arguments, status, said in (
                (('run', 'none.toml', 'x', '--out', 'o'), 1, 'none.toml: No such file'),
                (('run', 'settings.toml', 'x*.mp4', '--out', 'o'), 1, 'x*.mp4: no such file'),
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
        """The error names the extra; of what jobs want, too"""
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
