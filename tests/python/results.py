#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""examples/table.py, publish.py and consume.py, killed at random times, and brokers that are killed

Counts are those of NumPy over the decoded pixels, and tracks those of the tracker's messages in a
pipeline of this file. After kills the files have the same bytes as without.

Environment:
  PYTHON_VENV=folder  an environment with pyarrow and nats-py
  RESULTS_KILLS=N     how often each test kills (3)
  RESULTS_SEED=N      when it does; each test prints its seed
"""
import contextlib
import csv
import filecmp
import getpass
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

import gi
import numpy

gi.require_version('Gst', '1.0')
from gi.repository import Gst  # noqa: E402

Gst.init(None)
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'examples')
VENV_PYTHON = os.path.join(os.environ.get('PYTHON_VENV', ''), 'bin', 'python')
KILLS = int(os.environ.get('RESULTS_KILLS', '3'))
TIMEOUT = 60 + 10 * KILLS
WIDTH, HEIGHT, BINS = 160, 120, 16
COUNT = max(300, 60 * KILLS)
TARGET = '60,40,30,30'
REGIONS = [(0, 0, 160, 120), (30, 20, 50, 40), (100, 90, 60, 30)]
LIVE = ('videotestsrc is-live=true pattern=ball ! video/x-raw,format=I420,width=160,height=120,'
        'framerate=60/1')


def find_program(name):
    return shutil.which(name) or shutil.which(name, path='/usr/sbin:/usr/local/sbin')


def has_module(python, name):
    return os.path.exists(python) and subprocess.run(
        [python, '-c', f'import {name}'], stderr=subprocess.DEVNULL, check=False).returncode == 0


PYARROW = None if has_module(VENV_PYTHON, 'pyarrow') else \
    'no pyarrow in PYTHON_VENV; tests/run.sh installs it'
MQTT = None if find_program('mosquitto') and has_module(sys.executable, 'paho.mqtt.client') else \
    'no mosquitto or python3-paho-mqtt: install both (Debian then runs mosquitto as a service)'
NATS = None if find_program('nats-server') and has_module(VENV_PYTHON, 'nats') else \
    'no nats-server (Debian then runs it as a service), or no nats-py in PYTHON_VENV'


def wait_for(condition, what, seconds=TIMEOUT):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f'waited {seconds} s for {what}')
        time.sleep(0.05)


def read(path):
    """The text of a file that may not be there"""
    try:
        with open(path, encoding='utf-8') as file:
            return file.read()
    except FileNotFoundError:
        return ''


def messages_of(line):
    """{pts: [track]} of a pipeline's messages"""
    pipeline, found = Gst.parse_launch(line), {}
    pipeline.set_state(Gst.State.PLAYING)
    kinds = Gst.MessageType.ELEMENT | Gst.MessageType.EOS | Gst.MessageType.ERROR
    while message := pipeline.get_bus().timed_pop_filtered(TIMEOUT * Gst.SECOND, kinds):
        if message.type != Gst.MessageType.ELEMENT:
            break
        structure = message.get_structure()
        if structure.get_name() == 'integral-histogram-track':
            found[structure.get_value('timestamp')] = [
                {name: track.get_value(name) for name in (
                    'id', 'parent', 'x', 'y', 'width', 'height', 'confidence', 'lost')}
                for track in structure.get_value('tracks')]
    pipeline.set_state(Gst.State.NULL)
    return found


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.video = os.path.join(folder.name, 'ball.avi')
        raw = os.path.join(folder.name, 'raw')
        for line in (
                f'videotestsrc num-buffers={COUNT} pattern=ball ! video/x-raw,format=I420,'
                f'width={WIDTH},height={HEIGHT},framerate=25/1 ! jpegenc ! avimux ! '
                f'filesink location={cls.video}',
                f'filesrc location={cls.video} ! decodebin ! video/x-raw,format=I420 ! '
                f'filesink location={raw}'):
            subprocess.run(['gst-launch-1.0', '-q', *line.split()], check=True)
        frames = numpy.fromfile(raw, numpy.uint8).reshape(COUNT, HEIGHT * 3 // 2, WIDTH)
        cls.luma = frames[:, :HEIGHT]
        cls.tracks = messages_of(
            f'filesrc location={cls.video} ! decodebin ! videoconvert ! cudatrackfeatures ! '
            f'integralhisttrack targets="{TARGET}" ! fakesink')
        assert len(cls.tracks) == COUNT
        cls.times = sorted(cls.tracks)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        seed = int(os.environ.get('RESULTS_SEED', random.randrange(10000)))
        print(f'(RESULTS_SEED={seed})', end=' ', file=sys.stderr, flush=True)
        self.random = random.Random(seed)

    def path(self, name):
        return os.path.join(self.folder, name)

    @contextlib.contextmanager
    def start(self, script, *arguments, python=sys.executable):
        """A process, which has ended behind the block"""
        with open(self.path(f'{script}.log'), 'a+', encoding='utf-8') as log:
            process = subprocess.Popen(
                [python, os.path.join(EXAMPLES, script), *arguments], cwd=self.folder,
                stdout=log, stderr=subprocess.STDOUT)
            try:
                yield process
            finally:
                process.kill()
                process.wait()

    def said(self, script):
        """What all its runs have printed"""
        return read(self.path(f'{script}.log'))

    def run_script(self, script, *arguments, status=0, **options):
        """The last line that it prints"""
        with self.start(script, *arguments, **options) as process:
            process.wait(TIMEOUT)
        said = self.said(script)
        self.assertEqual(process.returncode, status, said)
        self.assertNotIn('Traceback', said)
        return said.splitlines()[-1]


class Table(Results):
    ASKED = ('--regions', ';'.join(','.join(map(str, box)) for box in REGIONS),
             '--targets', TARGET, '--part', '7')

    def asked(self, out, form, video=None):
        return video or self.video, out, '--format', form, *self.ASKED

    def kill_at_random(self, out, *arguments, **options):
        """Kills it, starts it again, and lets the last one end by itself

        Some are killed wherever they are, and some soon behind a commit.
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
        """They have the same files, of the same bytes"""
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
            inside = self.luma[number, y:y + height, x:x + width].astype(int) * BINS // 256
            wanted = {'video': self.video, 'frame': number, 'pts': self.times[number], 'time': '',
                      'region': region, 'x': x, 'y': y, 'width': width, 'height': height,
                      **{f'count{j}': count for j, count in enumerate(
                          numpy.bincount(inside.ravel(), minlength=BINS))}}
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
        """What a kill may leave behind: rows that are not committed, and a torn line"""
        self.run_script('table.py', *self.asked('whole', 'csv'))
        with self.start('table.py', *self.asked('out', 'csv')):
            state = self.path('out/state.json')
            wait_for(lambda: 'frames' in read(state), 'a commit')
        for table in ('regions', 'tracks'):
            with open(self.path(f'out/{table}.csv'), 'a', encoding='utf-8') as file:
                file.write(f'{self.video},7,280000000,,0,0,0,160,120\n{self.video},7,28')
        with open(state + '.new', 'w', encoding='utf-8') as file:
            file.write('{"settings"')
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
        shutil.rmtree(self.path(f'out/{COUNT // 7 * 7:08d}-{COUNT - 1:08d}'))
        os.makedirs(self.path(f'out/.part-{COUNT // 7 * 7:08d}-{COUNT - 1:08d}'))
        state = read(self.path('out/state.json'))
        with open(self.path('out/state.json'), 'w', encoding='utf-8') as file:
            file.write(state.replace('"done": true', '"done": false'))
        self.run_script('table.py', *self.asked('out', 'parquet'), python=VENV_PYTHON)
        with open(self.path('out/state.json'), 'w', encoding='utf-8') as file:
            file.write(state)
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

        shutil.rmtree(self.path('out/00000007-00000013'))
        self.assertEqual(self.run_script('table.py', *self.asked('out', 'parquet'), status=1,
                                         python=VENV_PYTHON),
                         'table.py: out: frames 7 to 13 are missing')

    def test_live(self):
        """Frames are numbered on, and none comes twice"""
        arguments = '--launch', LIVE, 'out', '--grid', '2x2', '--part', '5', '--format', 'csv'
        state = self.path('out/state.json')
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT):
            before = read(state)
            with self.start('table.py', *arguments) as process:
                wait_for(lambda: 'frames' in read(state) and read(state) != before, 'a commit')
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
        # each of the three runs has its first frame
        starts = [int(row['pts']) for row, last in zip(rows[::4], [{'pts': 'inf'}, *rows[::4]])
                  if float(row['pts']) < float(last['pts'])]
        self.assertEqual(len(starts), 3)
        self.assertLess(max(starts), 80e6)  # no five frames are left out
        times = [int(row['time']) for row in rows[::4]]
        self.assertEqual(times, sorted(set(times)))
        self.assertLess(abs(times[-1] / 1e9 - time.time()), 30)
        self.assertEqual([[row[side] for side in ('x', 'y', 'width', 'height')]
                          for row in rows[:4]],
                         [['0', '0', '80', '60'], ['80', '0', '80', '60'],
                          ['0', '60', '80', '60'], ['80', '60', '80', '60']])

    def test_errors(self):
        with open(self.path('text.avi'), 'w', encoding='utf-8') as file:
            file.write('no video ' * 100)
        os.mkdir(self.path('other'))
        open(self.path('other/notes'), 'w', encoding='utf-8').close()
        csv_grid = '--format', 'csv', '--grid', '2x2'
        self.run_script('table.py', '--launch', 'videotestsrc num-buffers=3', 'begun', *csv_grid)
        for status, arguments, said in (
                (1, ('nothing.avi', 'out', *csv_grid), 'table.py: nothing.avi: no such file'),
                (1, ('text.avi', 'out', *csv_grid), 'table.py: text.avi: '),
                (1, ('/dev/video99', 'out', *csv_grid), 'table.py: no camera at /dev/video99'),
                (1, ('out', *csv_grid), 'table.py: give VIDEO or --launch'),
                (1, (self.video, 'other', *csv_grid), 'table.py: other has other files'),
                (1, ('--launch', 'videotestsrc num-buffers=3', 'begun', *csv_grid, '--bins', '9'),
                 'table.py: begun was begun with bins 16, not 9'),
                (1, ('--launch', 'nosuchsrc', 'out2', *csv_grid), 'table.py: no element "nosuch'),
                (2, (self.video, 'out'), 'table.py: error: nothing is asked'),
                (2, (self.video, 'out', '--grid', '0x2'),
                 'table.py: error: argument --grid: "0x2" is no grid'),
                (2, (self.video, 'out', '--regions', '1,2,3'),
                 'table.py: error: argument --regions: "1,2,3" is no box')):
            line = self.run_script('table.py', *arguments, status=status)
            self.assertEqual(line[:len(said)], said)
        with self.start('table.py', '--launch', LIVE, 'out3', *csv_grid):
            wait_for(lambda: os.path.exists(self.path('out3/state.json')), 'out3')
            self.run_script('table.py', '--launch', LIVE, 'out3', *csv_grid, status=1)
            self.assertIn('table.py: out3: another table.py writes there\n', self.said('table.py'))


class Broker:
    """A server on loopback, which can be killed"""

    def __init__(self, folder, **settings):
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', 0))
            self.port = probe.getsockname()[1]
        self.folder, self.url = folder, f'{self.SCHEME}://127.0.0.1:{self.port}'
        self.config, self.process = os.path.join(folder, 'broker.conf'), None
        with open(self.config, 'w', encoding='utf-8') as file:
            file.write(self.CONFIG.format(port=self.port, folder=folder, user=getpass.getuser(),
                                          **{'autosave': 1, **settings}))

    def start(self):
        with open(os.path.join(self.folder, 'broker.log'), 'a', encoding='utf-8') as log:
            self.process = subprocess.Popen([find_program(self.PROGRAM), '-c', self.config],
                                            stdout=log, stderr=subprocess.STDOUT)

        def answers():
            with socket.socket() as probe:
                return probe.connect_ex(('127.0.0.1', self.port)) == 0

        wait_for(answers, self.PROGRAM)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()


class Mosquitto(Broker):
    # what docs/results.md says
    SCHEME, PROGRAM, PYTHON, HOLD = 'mqtt', 'mosquitto', sys.executable, 4
    CONFIG = '''listener {port} 127.0.0.1
allow_anonymous true
user {user}
persistence true
persistence_location {folder}/
autosave_interval {autosave}
max_queued_messages 0
'''

    def save(self):
        self.process.send_signal(signal.SIGUSR1)

    def knows(self, client):
        """Whether it has written the client's subscription to the disk"""
        path = os.path.join(self.folder, 'mosquitto.db')
        if not os.path.exists(path):
            return False
        with open(path, 'rb') as file:
            return client.encode() in file.read()


class NatsServer(Broker):
    SCHEME, PROGRAM, PYTHON, HOLD = 'nats', 'nats-server', VENV_PYTHON, 1
    CONFIG = 'listen: "127.0.0.1:{port}"\njetstream {{ store_dir: "{folder}/jetstream" }}\n'

    def knows(self, _):
        return True


class Publish(Results):
    def published(self):
        """{frame: message} of what consume.py has written; each frame is there once"""
        path = self.path('got.db')
        with contextlib.closing(sqlite3.connect(f'file:{path}?mode=ro', uri=True)) as database:
            rows = database.execute('SELECT id, camera, frame, text FROM frames ORDER BY frame, id'
                                    ).fetchall()
        self.assertEqual(len({row[2] for row in rows}), len(rows), 'a frame came twice')
        for name, camera, number, text in rows:
            message = json.loads(text)
            self.assertEqual((message['id'], message['camera'], message['frame']),
                             (name, camera, number))
        return {row[2]: json.loads(row[3]) for row in rows}

    def count(self):
        try:
            with contextlib.closing(sqlite3.connect(self.path('got.db'))) as database:
                return database.execute('SELECT count(*) FROM frames').fetchone()[0]
        except sqlite3.Error:  # not yet
            return -1

    def check_file(self):
        messages = self.published()
        self.assertEqual(sorted(messages), list(range(COUNT)))
        for number, message in messages.items():
            pts = self.times[number]
            self.assertEqual(message, {
                'id': f'gate:{pts}:{number}', 'camera': 'gate', 'frame': number, 'pts': pts,
                'time': None, 'tracks': self.tracks[pts]})

    def arguments(self, broker):
        return ('--camera', 'gate', '--targets', TARGET, '--broker', broker.url, '--hold',
                str(broker.HOLD))

    def victims(self, broker, source):
        """Starts all three, and kills one after another at random; returns publish.py"""
        consumer = 'consume.py', 'got.db', '--broker', broker.url
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        stack.callback(broker.kill)
        broker.start()

        def start(script, *arguments):
            context = self.start(script, *arguments, python=broker.PYTHON)
            return context, context.__enter__()

        running = {'consume': start(*consumer)}
        wait_for(lambda: self.count() == 0 and broker.knows('consume'), 'consume.py')
        publisher = 'publish.py', *source, *self.arguments(broker)
        running['publish'] = start(*publisher)
        stack.callback(lambda: [context.__exit__(None, None, None)
                                for context, _ in running.values()])
        kills = dict.fromkeys(('publish', 'broker', 'consume'), 0)
        for turn in range(KILLS):
            time.sleep(self.random.uniform(0.1, 1.5))
            # the first two are never left to chance
            victim = list(kills)[turn] if turn < 2 else self.random.choice(list(kills))
            kills[victim] += 1
            if victim == 'broker':
                broker.kill()
                time.sleep(self.random.uniform(0, 0.5))
                broker.start()
                continue
            running[victim][0].__exit__(None, None, None)
            running[victim] = start(*(publisher if victim == 'publish' else consumer))
        print('kills:', kills, end=' ', file=sys.stderr)
        return running['publish'][1]

    def check_killed(self, broker):
        publish = self.victims(broker, (self.video,))
        publish.wait(TIMEOUT)
        self.assertEqual(publish.returncode, 0, self.said('publish.py'))
        self.assertRegex(self.said('publish.py').splitlines()[-1],
                         f'^{COUNT} frames, .* published, 0 left in gate.spool$')
        wait_for(lambda: self.count() >= COUNT, 'all frames', 40)
        self.check_file()
        # and a second run has nothing to do, not even with a broker
        broker.kill()
        self.assertEqual(self.run_script('publish.py', self.video, *self.arguments(broker),
                                         python=broker.PYTHON),
                         f'{COUNT} frames, {COUNT} from before; 0 messages published, 0 left in '
                         'gate.spool')

    def check_live(self, broker):
        """A camera's frames are numbered without a gap, across kills"""
        publish = self.victims(broker, ('--launch', LIVE))
        had = self.count()
        wait_for(lambda: self.count() > had + 60, 'frames of the last run')
        publish.send_signal(signal.SIGTERM)
        publish.wait(TIMEOUT)
        last = self.said('publish.py').splitlines()[-1]
        self.assertRegex(last, r'^\d+ frames, \d+ from before; .*, stopped$')
        # what is left in the spool follows when it is started again
        spooled = int(last.split()[0])
        with self.start('publish.py', '--launch', LIVE, *self.arguments(broker),
                        python=broker.PYTHON):
            wait_for(lambda: self.count() > spooled, 'the rest')
        messages = self.published()
        self.assertLessEqual(set(range(spooled)), set(messages))
        times = [messages[number]['time'] for number in range(spooled)]
        self.assertEqual(times, sorted(set(times)))

    @unittest.skipIf(MQTT, MQTT)
    def test_mqtt_killed(self):
        self.check_killed(Mosquitto(self.folder))

    @unittest.skipIf(MQTT, MQTT)
    def test_mqtt_live(self):
        self.check_live(Mosquitto(self.folder))

    @unittest.skipIf(NATS, NATS)
    def test_nats_killed(self):
        self.check_killed(NatsServer(self.folder))

    @unittest.skipIf(NATS, NATS)
    def test_nats_live(self):
        self.check_live(NatsServer(self.folder))

    @unittest.skipIf(MQTT, MQTT)
    def test_mqtt_forgets(self):
        """A broker gets again what it had acknowledged and lost, and what comes twice is dropped"""
        broker = Mosquitto(self.folder, autosave=1800)
        consumer = 'consume.py', 'got.db', '--broker', broker.url
        self.addCleanup(broker.kill)
        broker.start()
        with self.start(*consumer):
            wait_for(lambda: 'the broker is there' in self.said('consume.py'), 'consume.py')
        broker.save()
        wait_for(lambda: broker.knows('consume'), 'the subscription')
        everything = f'acknowledged to frame {COUNT - 1}\n'
        with self.start('publish.py', self.video, *self.arguments(broker)[:-1], '3600') as publish:
            wait_for(lambda: everything in self.said('publish.py'), 'acknowledgements')
            self.assertEqual(self.count(), 0)

            def restart(times):
                broker.kill()
                broker.start()
                wait_for(lambda: self.said('publish.py').count('the broker is there') >= times,
                         'a connection')
                wait_for(lambda: everything in self.said('publish.py').split(
                    'the broker is there')[-1], 'acknowledgements')

            restart(1)
            with self.start(*consumer) as consume:
                wait_for(lambda: self.count() == COUNT, 'all frames')
                restart(2)
                wait_for(lambda: any(int(twice) >= COUNT for twice in re.findall(
                    r'(\d+) came twice', self.said('consume.py'))), 'all frames again')
                consume.send_signal(signal.SIGTERM)
                consume.wait(TIMEOUT)
            self.check_file()
            publish.send_signal(signal.SIGTERM)
            publish.wait(TIMEOUT)
        self.assertEqual(self.said('publish.py').splitlines()[-1],
                         f'{COUNT} frames, 0 from before; 0 messages published, {COUNT} left in '
                         'gate.spool, stopped')

    @unittest.skipIf(MQTT, MQTT)
    def test_away(self):
        """Messages wait for a broker that is not there yet"""
        broker = Mosquitto(self.folder)
        with self.start('publish.py', self.video, *self.arguments(broker)):
            wait_for(lambda: 'the broker is away' in self.said('publish.py'), 'the complaint')
            wait_for(lambda: os.path.exists(self.path('gate.spool')), 'the spool')
            self.run_script('publish.py', self.video, *self.arguments(broker), status=1)
            self.assertIn('publish.py: gate.spool: another publish.py uses it\n',
                          self.said('publish.py'))
            broker.start()
            self.addCleanup(broker.kill)
            with self.start('consume.py', 'got.db', '--broker', broker.url):
                wait_for(lambda: self.count() >= 0, 'consume.py')
                wait_for(lambda: 'the broker is there' in self.said('publish.py'), 'publish.py')

    @unittest.skipIf(MQTT, MQTT)
    def test_errors(self):
        for status, arguments, said in (
                (1, ('nothing.avi', '--camera', 'a', '--targets', TARGET),
                 'publish.py: nothing.avi: no such file'),
                (2, (self.video, '--camera', 'a b', '--targets', TARGET),
                 'publish.py: error: --camera a b: take letters'),
                (2, (self.video, '--camera', 'a'), 'publish.py: error: nothing is followed'),
                (2, (self.video, '--camera', 'a', '--targets', TARGET, '--broker', 'kafka://b'),
                 'publish.py: error: argument --broker: "kafka://b" is no broker')):
            line = self.run_script('publish.py', *arguments, status=status)
            self.assertEqual(line[:len(said)], said)


if __name__ == '__main__':
    unittest.main(verbosity=2)
