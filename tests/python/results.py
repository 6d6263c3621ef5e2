#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""examples/table.py, killed at random times; results_truth.py says what it is compared with

After kills the files have the same bytes as without.
"""
import csv
import filecmp
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

from pipelines import counts_of
from results_truth import (BINS, COUNT, EXAMPLES, KILLS, LIVE, TARGET, TIMEOUT, VENV_PYTHON, Gst,
                           Results, has_module, listens, read, wait_for)

REGIONS = [(0, 0, 160, 120), (30, 20, 50, 40), (100, 90, 60, 30)]
HLS = None if all(Gst.ElementFactory.find(name) for name in (
    'openh264enc', 'h264parse', 'mpegtsmux', 'hlssink', 'hlsdemux', 'souphttpsrc')) else \
    'no openh264enc, hlssink, hlsdemux or souphttpsrc: install gstreamer1.0-plugins-bad and -good'
PYARROW = None if has_module(VENV_PYTHON, 'pyarrow') else \
    'no pyarrow in PYTHON_VENV; tests/run.sh installs it'


def pictures(rows):
    """The counts of each frame of a table of four regions"""
    counts = [tuple(value for name, value in row.items() if name.startswith('count'))
              for row in rows]
    return [tuple(counts[i:i + 4]) for i in range(0, len(counts), 4)]


class Table(Results):
    ASKED = ('--regions', ';'.join(','.join(map(str, box)) for box in REGIONS),
             '--targets', TARGET, '--part', '7')

    def asked(self, out, form, video=None):
        return video or self.video, out, '--format', form, *self.ASKED

    def kill_at_random(self, out, *arguments, **options):
        """Kills the program, starts it again, and lets the last one end by itself

        Some processes are killed at any moment, others soon after a commit.
        """
        def committed():
            return read(self.path(f'{out}/state.json')), \
                os.path.exists(self.path(out)) and os.listdir(self.path(out))

        kills = 0
        for turn in range(KILLS):
            with self.start('table.py', *arguments, **options) as process:
                before = committed()
                if turn % 2:
                    time.sleep(self.random.uniform(0, 0.6))
                else:
                    wait_for(lambda: committed() != before or process.poll() is not None,
                             'a commit')
                    time.sleep(self.random.uniform(0, 0.03))
                if process.poll() is not None:  # a fast machine is done before all kills
                    break
                kills += 1
        self.assertGreater(kills, 0)
        self.run_script('table.py', *arguments, **options)
        print(f'{kills} kills', end=' ', file=sys.stderr)

    def compare_folders(self, one, other):
        """Compares two folders: the same files with the same bytes"""
        names = [sorted(os.path.relpath(os.path.join(folder, name), self.path(out))
                        for folder, _, files in os.walk(self.path(out)) for name in files)
                 for out in (one, other)]
        self.assertEqual(*names)
        _, different, failed = filecmp.cmpfiles(self.path(one), self.path(other), names[0],
                                                shallow=False)
        self.assertEqual((different, failed), ([], []))

    def read_csv(self, name):
        with open(self.path(name), newline='', encoding='utf-8') as file:
            return list(csv.DictReader(file))

    def test_csv(self):
        """Each count is NumPy's, each track the tracker's, and a second run changes nothing"""
        said = self.run_script('table.py', *self.asked('out', 'csv'))
        self.assertEqual(said, f'{COUNT} frames in out; {3 * COUNT} rows of regions written; '
                               f'{COUNT} rows of tracks written')
        rows = self.read_csv('out/regions.csv')
        self.assertEqual(len(rows), COUNT * len(REGIONS))
        for i, row in enumerate(rows):
            number, region = divmod(i, len(REGIONS))
            x, y, width, height = REGIONS[region]
            wanted = {'video': self.video, 'frame': number, 'pts': self.times[number], 'time': '',
                      'region': region, 'x': x, 'y': y, 'width': width, 'height': height,
                      **{f'count{j}': count for j, count in enumerate(
                          counts_of(self.luma[number], x, y, width, height))}}
            self.assertEqual(row, {name: str(value) for name, value in wanted.items()})
        rows = self.read_csv('out/tracks.csv')
        self.assertEqual(len(rows), COUNT)
        for number, row in enumerate(rows):
            track, = self.tracks[self.times[number]]
            wanted = {'video': self.video, 'frame': number, 'pts': self.times[number], 'time': '',
                      **track, 'class': ''}
            self.assertEqual(row, {name: str(value) for name, value in wanted.items()})

        shutil.copytree(self.path('out'), self.path('before'))
        self.assertEqual(self.run_script('table.py', *self.asked('out', 'csv')),
                         f'out: all {COUNT} frames were there already')
        self.compare_folders('out', 'before')

    def test_csv_killed(self):
        self.run_script('table.py', *self.asked('whole', 'csv'))
        self.kill_at_random('out', *self.asked('out', 'csv'))
        self.compare_folders('out', 'whole')

    def test_csv_torn(self):
        """A kill may leave rows that are not committed, and a torn line"""
        self.run_script('table.py', *self.asked('whole', 'csv'))
        with self.start('table.py', *self.asked('out', 'csv')):
            state = self.path('out/state.json')
            wait_for(lambda: 'frames' in read(state), 'a commit')
        for table in ('regions', 'tracks'):
            with open(self.path(f'out/{table}.csv'), 'a', encoding='utf-8') as file:
                file.write(f'{self.video},7,280000000,,0,0,0,160,120\n{self.video},7,28')
        pathlib.Path(state + '.new').write_text('{"settings"', encoding='utf-8')
        said = self.run_script('table.py', *self.asked('out', 'csv'))
        self.assertRegex(said, f'{COUNT} frames in out, [0-9]+ from before; ')
        self.compare_folders('out', 'whole')

        with open(self.path('whole/regions.csv'), 'r+', encoding='utf-8') as file:
            file.truncate(1000)
        self.assertIn('bytes long, and is now 1000', self.run_script(
            'table.py', *self.asked('whole', 'csv'), status=1))

    @unittest.skipIf(PYARROW, PYARROW)
    def test_parquet(self):
        """Tables have the rows of the CSV files, the columns that are documented, and a part that a
        run has left is written anew"""
        self.run_script('table.py', *self.asked('csv', 'csv'))
        self.run_script('table.py', *self.asked('whole', 'parquet'), python=VENV_PYTHON)
        self.kill_at_random('out', *self.asked('out', 'parquet'), python=VENV_PYTHON)
        self.compare_folders('out', 'whole')
        shutil.rmtree(self.path(f'out/{COUNT // 7 * 7:012d}-{COUNT - 1:012d}'))
        os.makedirs(self.path(f'out/.part-{COUNT // 7 * 7:012d}-{COUNT - 1:012d}'))
        state = read(self.path('out/state.json'))
        with open(self.path('out/state.json'), 'w', encoding='utf-8') as file:
            file.write(state.replace('"done": true', '"done": false'))
        self.run_script('table.py', *self.asked('out', 'parquet'), python=VENV_PYTHON)
        pathlib.Path(self.path('out/state.json')).write_text(state, encoding='utf-8')
        self.compare_folders('out', 'whole')
        lines = subprocess.run([VENV_PYTHON, '-c', '''if True:
            import glob, json, pyarrow.parquet as parquet
            for table in ("regions", "tracks"):
                rows = parquet.read_table(sorted(glob.glob(f"out/*/{table}.parquet")))
                types = {field.name: str(field.type) for field in rows.schema}
                print(json.dumps([types, rows.to_pylist()]))'''], cwd=self.folder, check=True,
                              stdout=subprocess.PIPE, text=True).stdout.splitlines()
        common = {'video': 'string', 'frame': 'int64', 'pts': 'int64',
                  'time': 'timestamp[ns, tz=UTC]',
                  **dict.fromkeys(('x', 'y', 'width', 'height'), 'int32')}
        wanted = {
            'regions': {**common, 'region': 'int32',
                        'counts': f'fixed_size_list<element: uint32>[{BINS}]'},
            'tracks': {**common, 'id': 'uint32', 'parent': 'int32', 'confidence': 'double',
                       'lost': 'bool', 'class': 'string'}}
        for table, line in zip(wanted, lines):
            types, rows = json.loads(line)
            self.assertEqual(types, wanted[table])
            flat = []
            for row in rows:
                counts = row.pop('counts', [])
                row.update({f'count{i}': count for i, count in enumerate(counts)})
                flat.append({name: '' if value is None else str(value)
                             for name, value in row.items()})
            self.assertEqual(flat, self.read_csv(f'csv/{table}.csv'))

        shutil.rmtree(self.path('out/000000000007-000000000013'))
        self.assertEqual(self.run_script('table.py', *self.asked('out', 'parquet'), status=1,
                                         python=VENV_PYTHON),
                         'table.py: out: frames 7 to 13 are missing: give a new folder')

    def test_live(self):
        """Frame numbers go on after a restart, and no number comes twice"""
        arguments = '--launch', LIVE, 'out', '--grid', '2x2', '--part', '5', '--format', 'csv'
        def committed():  # frames; a run writes the state before its first ones, too
            return json.loads(read(self.path('out/state.json')) or '{}').get('frames', 0)

        starts = []
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT):
            before = committed()
            starts.append(before)
            with self.start('table.py', *arguments) as process:
                wait_for(lambda: committed() > before, 'a commit')
                process.send_signal(number)
                process.wait(TIMEOUT)
                self.assertEqual(process.returncode, -number if number == signal.SIGKILL else 0,
                                 self.said('table.py'))
        self.assertRegex(self.said('table.py').splitlines()[-1],
                         r'^\d+ frames in out, \d+ from before; \d+ rows of regions written'
                         r'.*, stopped$')
        rows = self.read_csv('out/regions.csv')
        self.assertEqual([(int(row['frame']), int(row['region'])) for row in rows],
                         [(number, region) for number in range(len(rows) // 4)
                          for region in range(4)])
        # each of the three runs leaves out less than five frames of its source at the start
        self.run_script('table.py', '--launch', LIVE.replace('is-live=true', 'num-buffers=5'),
                        'first', *arguments[3:])
        first = pictures(self.read_csv('first/regions.csv'))
        self.assertEqual(len(set(first)), 5)
        for start in starts:
            self.assertIn(pictures(rows)[start], first)
        times = [int(row['time']) for row in rows[::4]]
        self.assertEqual(times, sorted(set(times)))
        self.assertLess(abs(times[-1] / 1e9 - time.time()), 30)
        self.assertEqual([[row[side] for side in ('x', 'y', 'width', 'height')]
                          for row in rows[:4]],
                         [['0', '0', '80', '60'], ['80', '0', '80', '60'],
                          ['0', '60', '80', '60'], ['80', '60', '80', '60']])

    def test_fifo(self):
        """Frames that went through a FIFO do not come again, even if the format knows its length"""
        os.mkfifo(self.path('fifo'))
        for _ in range(2):
            writer = subprocess.Popen(['cp', self.video, 'fifo'], cwd=self.folder)
            self.addCleanup(writer.wait)
            self.addCleanup(writer.kill)
            said = self.run_script('table.py', 'fifo', 'out', '--grid', '2x2', '--format', 'csv')
        self.assertEqual(said, f'{2 * COUNT} frames in out, {COUNT} from before; {4 * COUNT} rows '
                               'of regions written')
        rows = self.read_csv('out/regions.csv')[::4]
        self.assertEqual([int(row['frame']) for row in rows], [*range(2 * COUNT)])
        times = [int(row['time']) for row in rows]
        self.assertEqual(times, sorted(set(times)))
        self.assertLess(abs(times[-1] / 1e9 - time.time()), 30)

    @unittest.skipIf(HLS, HLS)
    def test_hls(self):
        """A playlist without an end is live, and one with an end is a file"""
        with socket.create_server(('127.0.0.1', 0)) as probe:
            port = probe.getsockname()[1]
        line = ('videotestsrc num-buffers=300 ! video/x-raw,format=I420,width=160,height=120,'
                'framerate=25/1 ! openh264enc gop-size=25 ! h264parse ! mpegtsmux ! hlssink '
                'max-files=0 playlist-length=0 target-duration=2 playlist-location=ended.m3u8')
        subprocess.run(['gst-launch-1.0', '-q', *line.split()], cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(self.path('live.m3u8'), 'w', encoding='utf-8') as file:
            file.write(read(self.path('ended.m3u8')).replace('#EXT-X-ENDLIST', ''))
        server = subprocess.Popen([sys.executable, '-m', 'http.server', '--bind', '127.0.0.1',
                                   str(port)], cwd=self.folder, stderr=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        wait_for(lambda: listens(port), 'a server')
        for name in ('live', 'ended'):
            with self.start('table.py', f'http://127.0.0.1:{port}/{name}.m3u8', name, '--grid',
                            '1x1', '--part', '5', '--format', 'csv') as process:
                wait_for(lambda: 'frames' in read(self.path(f'{name}/state.json')), 'frames')
                process.send_signal(signal.SIGTERM)
                process.wait(TIMEOUT)
            self.assertEqual({row['time'] != '' for row in self.read_csv(f'{name}/regions.csv')},
                             {name == 'live'}, name)

    def test_login(self):
        """A camera's password is in no error, and not in what is written"""
        for arguments in (('rtsp://me:secret@127.0.0.1:1/x',), ('--launch', LIVE.replace(
                'pattern', 'name=http://me:secret@b/ num-buffers=5 pattern'))):
            self.run_script('table.py', *arguments, f'out{len(arguments)}', '--grid', '1x1',
                            '--format', 'csv', status=2 - len(arguments))
        self.assertEqual(len(self.read_csv('out2/regions.csv')), 5)
        for name in ('out1/state.json', 'out2/state.json', 'out2/regions.csv', 'table.py.log'):
            self.assertTrue(read(self.path(name)), name)
            self.assertNotIn('secret', read(self.path(name)), name)

    def test_live_fails(self):
        """Frames before a failure are committed, even if no part is full"""
        line = LIVE + ' ! identity error-after=38'
        said = self.run_script('table.py', '--launch', line, 'out', '--grid', '2x2', '--part', '30',
                               '--format', 'csv', status=1)
        self.assertTrue(said.startswith('table.py: '), said)
        self.assertEqual([int(row['frame']) for row in self.read_csv('out/regions.csv')[::4]],
                         [*range(37)])
        self.assertEqual(json.loads(read(self.path('out/state.json')))['frames'], 37)

    @unittest.skipIf(PYARROW, PYARROW)
    def test_parts_in_order(self):
        """The names of parts sort by frame, also for a camera that runs for months"""
        arguments = '--launch', 'videotestsrc is-live=true num-buffers=5', 'out', '--grid', '1x1'
        self.run_script('table.py', *arguments, python=VENV_PYTHON)
        part, = (name for name in os.listdir(self.path('out')) if name[0] == '0')
        os.rename(self.path(f'out/{part}'), self.path(f'out/{0:012d}-{10 ** 8 - 3:012d}'))
        for _ in range(2):
            self.run_script('table.py', *arguments, python=VENV_PYTHON)
        parts = sorted(name for name in os.listdir(self.path('out')) if name[0] == '0')
        self.assertEqual([[int(number) for number in part.split('-')] for part in parts],
                         [[0, 10 ** 8 - 3], [10 ** 8 - 2, 10 ** 8 + 2],
                          [10 ** 8 + 3, 10 ** 8 + 7]])

    def patched(self, patch, *arguments, python=sys.executable):
        """The output of table.py, after these lines of Python have changed its modules"""
        line = f'import sys, table\nsys.argv[1:] = {list(arguments)}\n{patch}\ntable.main()'
        return subprocess.run([python, '-c', line], cwd=self.folder, check=True,
                              env={**os.environ, 'PYTHONPATH': ':'.join(
                                  [EXAMPLES, os.environ.get('PYTHONPATH', '')])},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=TIMEOUT).stdout

    LATE = """if True:
            table.frames.Stream.meta = lambda stream, buffer: None"""

    def test_late_file(self):
        """A file promises each frame: one without a histogram is an error, and not written"""
        self.check_late_file('csv', sys.executable)

    @unittest.skipIf(PYARROW, PYARROW)
    def test_late_file_parquet(self):
        self.check_late_file('parquet', VENV_PYTHON)

    def check_late_file(self, form, python):
        patch = """if True:
            real = table.frames.Stream.meta
            def meta(stream, buffer):
                number = stream.asked = getattr(stream, 'asked', -1) + 1
                return None if number in (3, 4, 7) else real(stream, buffer)
            table.frames.Stream.meta = meta"""
        for part, listed in ('5', '3 to 4'), ('1000', '3 to 4, 7'):
            out = f'out-{part}'
            with self.assertRaises(subprocess.CalledProcessError) as raised:
                self.patched(patch, *self.asked(out, form), '--part', part, python=python)
            self.assertIn(f'frames have no histogram: {listed}', raised.exception.stderr)
            self.assertNotIn('Traceback', raised.exception.stderr)
            self.assertEqual([name for name in os.listdir(self.path(out))
                              if re.match(r'\d', name)], [])
            with open(self.path(f'{out}/state.json'), encoding='utf-8') as file:
                self.assertNotIn('done', json.load(file))

    def test_all_late(self):
        """If all frames of a live source are late, there are tracks, CSV columns and a report"""
        count = 90  # slowly, so that a busy machine follows in each
        arguments = list(self.asked('out', 'csv'))
        arguments[arguments.index(self.video)] = (
            f'--launch=videotestsrc is-live=true num-buffers={count} ! '
            'video/x-raw,width=320,height=240,framerate=30/1')
        said = self.patched(self.LATE, *arguments)
        self.assertIn(f'; 0 rows of regions written; {count} rows of tracks written; '
                      f'{count} frames have no histogram: 0 to {count - 1}', said)
        self.assertEqual(len(self.read_csv('out/tracks.csv')), count)
        self.assertEqual(read(self.path('out/regions.csv')).strip().split(',')[-BINS:],
                         [f'count{i}' for i in range(BINS)])

    def test_folders_synced(self):
        """New folders are on the disk before rows are in them"""
        patch = """if True:
            import os
            known = os.fsync
            def fsync(descriptor):
                print('synced', os.readlink(f'/proc/self/fd/{descriptor}'))
                known(descriptor)
            os.fsync = fsync"""
        said = self.patched(patch, *self.asked('a/b/out', 'csv')).splitlines()
        folder = os.path.realpath(self.folder)
        synced = [said.index(f'synced {folder}{name}') for name in ('', '/a', '/a/b', '/a/b/out')]
        self.assertEqual(synced, sorted(synced))

    def test_errors(self):
        pathlib.Path(self.path('text.avi')).write_text('no video ' * 100, encoding='utf-8')
        os.mkdir(self.path('other'))
        open(self.path('other/notes'), 'w', encoding='utf-8').close()
        csv_grid = '--format', 'csv', '--grid', '2x2'
        self.run_script('table.py', '--launch', 'videotestsrc num-buffers=3', 'begun', *csv_grid)
        self.run_script('table.py', self.video, 'begun2', *csv_grid)
        for status, arguments, said in (
                (1, ('nothing.avi', 'out', *csv_grid), 'table.py: nothing.avi: no such file'),
                (1, ('text.avi', 'out', *csv_grid), 'table.py: text.avi: '),
                (1, ('/dev/video99', 'out', *csv_grid), 'table.py: no camera at /dev/video99: '),
                (1, ('out', *csv_grid), 'table.py: give VIDEO or --launch'),
                (1, (self.video, 'other', *csv_grid), 'table.py: other has other files'),
                (1, ('--launch', 'videotestsrc num-buffers=3', 'begun', *csv_grid, '--bins', '9'),
                 'table.py: begun was begun with bins 16, not 9'),
                (1, (os.path.relpath(self.video, self.folder), 'begun2', *csv_grid),
                 'table.py: begun2 was begun with name ' + self.video),
                (1, ('--launch', 'nosuchsrc', 'out2', *csv_grid), 'table.py: no element "nosuch'),
                (1, ('--launch', 'videotestsrc ! video/x-raw,width=64,height=48', 'out4',
                     '--format', 'csv', '--grid', '65x2'),
                 'table.py: videotestsrc ! video/x-raw,width=64,height=48: grid 65x2 has parts '
                 'without pixels, because frames are 64x48: give fewer'),
                (1, ('--launch', 'videotestsrc ! video/x-raw,width=64,height=48', 'out5',
                     '--format', 'csv', '--regions', '0,0,9,9;64,0,9,9'),
                 'table.py: videotestsrc ! video/x-raw,width=64,height=48: region 64,0,9,9 is '
                 'outside of the 64x48 frame: give one that overlaps it'),
                (2, (self.video, 'out', '--grid', '400x300'),
                 'table.py: error: 120000 regions of 300 frames are 36000000 rows, and a part has '
                 '1000000 at most: set --part 8'),
                (2, (self.video, 'out', '--grid', '4000x3000'),
                 'table.py: error: 12000000 regions of 300 frames are 3600000000 rows, and a part '
                 'has 1000000 at most: ask for fewer'),
                (2, (self.video, 'out'), 'table.py: error: nothing is asked'),
                (2, (self.video, 'out', '--grid', '0x2'),
                 'table.py: error: argument --grid: "0x2" is not a grid'),
                (2, (self.video, 'out', '--regions', '1,2,3'),
                 'table.py: error: argument --regions: "1,2,3" is not a box')):
            line = self.run_script('table.py', *arguments, status=status)
            self.assertEqual(line[:len(said)], said)
        with self.start('table.py', '--launch', LIVE, 'out3', *csv_grid):
            wait_for(lambda: os.path.exists(self.path('out3/state.json')), 'out3')
            self.run_script('table.py', '--launch', LIVE, 'out3', *csv_grid, status=1)
            self.assertIn('table.py: out3: another table.py writes there: ', self.said('table.py'))


if __name__ == '__main__':
    unittest.main(verbosity=2)
