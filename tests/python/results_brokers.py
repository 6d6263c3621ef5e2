#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""examples/publish.py, consume.py and a broker, killed at random times

Every frame must come out once, with the numbers of results_truth.py.
"""
import configparser
import contextlib
import getpass
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import unittest

from results_truth import (COUNT, EXAMPLES, KILLS, LIVE, TARGET, TIMEOUT, VENV_PYTHON, Results,
                           has_module, listens, read, wait_for)


def find_program(name):
    return shutil.which(name) or shutil.which(name, path='/usr/sbin:/usr/local/sbin')


MQTT = None if find_program('mosquitto') and has_module(sys.executable, 'paho.mqtt.client') else \
    'no mosquitto or python3-paho-mqtt: install both (Debian then runs mosquitto as a service)'
NATS = None if find_program('nats-server') and has_module(VENV_PYTHON, 'nats') else \
    'no nats-server (Debian then runs it as a service), or no nats-py in PYTHON_VENV'


class Broker:
    """A server on loopback, which can be killed"""

    def __init__(self, folder, extra='', login='', **settings):
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', 0))
            self.port = probe.getsockname()[1]
        self.folder, self.url = folder, f'{self.SCHEME}://{login}127.0.0.1:{self.port}'
        self.config, self.process = os.path.join(folder, 'broker.conf'), None
        with open(self.config, 'w', encoding='utf-8') as file:
            file.write(self.CONFIG.format(port=self.port, folder=folder, user=getpass.getuser(),
                                          **{'autosave': 1, 'anonymous': 'true', **settings}))
            file.write(extra)

    def start(self):
        with open(os.path.join(self.folder, 'broker.log'), 'a', encoding='utf-8') as log:
            self.process = subprocess.Popen([find_program(self.PROGRAM), '-c', self.config],
                                            stdout=log, stderr=subprocess.STDOUT)
        wait_for(lambda: listens(self.port), self.PROGRAM)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()


class Mosquitto(Broker):
    # the settings in docs/results.md
    SCHEME, PROGRAM, PYTHON, HOLD = 'mqtt', 'mosquitto', sys.executable, 4
    CONFIG = '''listener {port} 127.0.0.1
allow_anonymous {anonymous}
user {user}
persistence true
persistence_location {folder}/
autosave_interval {autosave}
max_queued_messages 0
'''

    def save(self):
        self.process.send_signal(signal.SIGUSR1)

    def knows(self, client):
        """Returns whether the broker has written the client's subscription to the disk"""
        path = os.path.join(self.folder, 'mosquitto.db')
        if not os.path.exists(path):
            return False
        return client.encode() in pathlib.Path(path).read_bytes()


class NatsServer(Broker):
    SCHEME, PROGRAM, PYTHON, HOLD = 'nats', 'nats-server', VENV_PYTHON, 1
    CONFIG = 'listen: "127.0.0.1:{port}"\njetstream {{ store_dir: "{folder}/jetstream" }}\n'

    def knows(self, _):
        return True

    def publish(self, subject, *texts):
        """Publishes by the protocol's own text, and returns what the server said"""
        with socket.create_connection(('127.0.0.1', self.port), 10) as connection:
            connection.sendall(b'CONNECT {"verbose": false}\r\nSUB answer 1\r\n')
            for text in texts:
                head = f'PUB {subject} answer {len(text)}\r\n'
                connection.sendall(head.encode() + text + b'\r\n')
            said = b''
            while said.count(b'\nMSG answer ') < len(texts) or not said.endswith(b'}\r\n'):
                said += connection.recv(65536)
        return said


class Refusing(threading.Thread):
    """A server that answers each subscription of MQTT with this code"""

    def __init__(self, code):
        super().__init__(daemon=True)
        self.code, self.socket = code, socket.create_server(('127.0.0.1', 0))
        self.url = f'mqtt://127.0.0.1:{self.socket.getsockname()[1]}'

    def run(self):
        while True:
            with self.socket.accept()[0] as connection:
                connection.recv(1000)
                connection.sendall(bytes([0x20, 2, 0, 0]))
                request = connection.recv(1000)  # byte 2 and 3 are its number
                connection.sendall(bytes([0x90, 3, *request[2:4], self.code]))
                connection.recv(1000)


class Publish(Results):
    def published(self):
        """{frame: message} from the file that consume.py writes; each frame comes once"""
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
        mark = messages[0]['id'].split(':')[1]
        self.assertRegex(mark, '^[0-9a-f]{12}$')
        for number, message in messages.items():
            pts = self.times[number]
            self.assertEqual(message, {
                'id': f'gate:{mark}:{pts}:{number}', 'camera': 'gate', 'frame': number, 'pts': pts,
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
            # the first two victims are never left to chance
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
        # messages left in the spool follow when publish.py starts again
        spooled = int(last.split()[0])
        with self.start('publish.py', '--launch', LIVE, *self.arguments(broker),
                        python=broker.PYTHON):
            wait_for(lambda: self.count() > spooled, 'the rest')
        messages = self.published()
        self.assertLessEqual(set(range(spooled)), set(messages))
        times = [messages[number]['time'] for number in range(spooled)]
        self.assertEqual(times, sorted(set(times)))

    @unittest.skipIf(MQTT, MQTT)
    def test_mqtt_forgets(self):
        """A broker that loses acknowledged messages gets them again; duplicates are dropped"""
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
                    r'(\d+) came again', self.said('consume.py'))), 'all frames again')
                consume.send_signal(signal.SIGTERM)
                consume.wait(TIMEOUT)
            self.check_file()
            publish.send_signal(signal.SIGTERM)
            publish.wait(TIMEOUT)
        self.assertEqual(self.said('publish.py').splitlines()[-1],
                         f'{COUNT} frames, 0 from before; 0 messages published, {COUNT} left in '
                         'gate.spool, stopped')

    def check_files(self, broker):
        """Two files and other targets of one camera are all kept, also if they are published at the
        same time; messages published again from an empty spool are not kept twice"""
        shutil.copy(self.video, self.path('other.avi'))
        with open(self.path('other.avi'), 'ab') as file:
            file.write(b'JUNK' + bytes(4))
        self.addCleanup(broker.kill)
        broker.start()
        with self.start('consume.py', 'got.db', '--broker', broker.url, python=broker.PYTHON):
            wait_for(lambda: 'the broker is there' in self.said('consume.py'), 'consume.py')
            common = '--camera', 'gate', '--broker', broker.url, '--hold', '2'
            runs = [(self.video, *common, '--targets', TARGET),
                    (self.path('other.avi'), *common, '--targets', TARGET),
                    (self.video, *common, '--targets', '10,10,40,40')]
            with contextlib.ExitStack() as stack:
                for i, arguments in enumerate(runs):
                    process = stack.enter_context(self.start(
                        'publish.py', *arguments, '--spool', f'{i}.spool', python=broker.PYTHON))
                    stack.callback(process.wait, TIMEOUT)
            wait_for(lambda: self.count() >= 3 * COUNT, 'all frames', 20)
            self.run_script('publish.py', *runs[0], '--spool', 'again.spool', python=broker.PYTHON)
            said = self.said('publish.py')
            self.assertEqual(said.count(f'{COUNT} messages published, 0 left in '), 4, said)
            self.assertNotIn('the broker is away', said)
            time.sleep(1)
        with contextlib.closing(sqlite3.connect(self.path('got.db'))) as database:
            rows = database.execute('SELECT frame, text FROM frames').fetchall()
        self.assertEqual(sorted(number for number, _ in rows), sorted([*range(COUNT)] * 3))
        first = [json.loads(text)['tracks'] for number, text in rows if number == 0]
        self.assertEqual(sorted([track['x'] for track, in first]), [10, 60, 60])

    def check_login(self, broker):
        """User and password have characters that a URL writes in another way"""
        self.addCleanup(broker.kill)
        broker.start()
        with self.start('consume.py', 'got.db', '--broker', broker.url, python=broker.PYTHON):
            wait_for(lambda: 'the broker is' in self.said('consume.py'), 'consume.py')
            self.run_script('publish.py', self.video, *self.arguments(broker),
                            python=broker.PYTHON)
            wait_for(lambda: self.count() >= COUNT, 'all frames', 20)
        broker.kill()
        self.assertNotIn('refuses', self.said('consume.py'))
        self.assertNotIn('p%40ss', self.said('consume.py') + self.said('publish.py'))

    LOGIN, PASSWORD = 'ga%20te:p%40ss%3A%2F%25%23%C3%BC@', 'p@ss:/%#\u00fc'

    @unittest.skipIf(MQTT, MQTT)
    def test_mqtt_login(self):
        subprocess.run([find_program('mosquitto_passwd'), '-c', '-b', self.path('passwords'),
                        'ga te', self.PASSWORD], check=True)
        self.check_login(Mosquitto(
            self.folder, f'password_file {self.path("passwords")}\n', self.LOGIN,
            anonymous='false'))

    @unittest.skipIf(NATS, NATS)
    def test_nats_login(self):
        self.check_login(NatsServer(
            self.folder, f'authorization {{ user: "ga te", password: "{self.PASSWORD}" }}\n',
            self.LOGIN))

    @unittest.skipIf(NATS, NATS)
    def test_nats_token(self):
        self.check_login(NatsServer(
            self.folder, 'authorization { token: "p@ss" }\n', 'p%40ss@'))

    FOREIGN = (b'', b'no JSON', b'\xff\xfe', b'[]', b'"id"', b'{}', b'[' * 100000,
               b'{"id": 1, "camera": "gate", "frame": 1}',
               b'{"id": "a", "camera": "gate", "frame": "1"}',
               b'{"id": "b", "camera": "gate", "frame": -1}',
               b'{"id": "c", "camera": "gate", "frame": 1' + b'0' * 30 + b'}',
               b'{"id": "\\ud800", "camera": "gate", "frame": 1}')

    def check_foreign(self, broker, publish):
        """Messages of others come before and between those of publish.py, and stop nothing"""
        self.addCleanup(broker.kill)
        broker.start()
        with self.start('consume.py', 'got.db', '--broker', broker.url,
                        python=broker.PYTHON) as consume:
            wait_for(lambda: 'the broker is there' in self.said('consume.py'), 'consume.py')
            publish(self.FOREIGN)
            self.run_script('publish.py', self.video, *self.arguments(broker),
                            python=broker.PYTHON)
            publish(self.FOREIGN[:1])
            lines = len(self.FOREIGN) + 1
            wait_for(lambda: self.count() >= COUNT and self.said('consume.py').count(
                'a message that is not of publish.py: ') >= lines, 'all messages', 20)
            consume.send_signal(signal.SIGTERM)
            consume.wait(TIMEOUT)
        self.assertEqual(self.said('consume.py').count('the broker is there'), 1)
        self.assertRegex(self.said('consume.py').splitlines()[-1],
                         f'^{COUNT} frames written to got.db, [0-9]+ came again, {lines} messages '
                         'of others$')
        self.check_file()

    @unittest.skipIf(MQTT, MQTT)
    def test_mqtt_foreign(self):
        broker = Mosquitto(self.folder)

        def publish(texts):
            from paho.mqtt import publish as paho
            paho.multiple([('integralhist/gate/tracks', text, 1) for text in texts],
                          '127.0.0.1', broker.port)

        self.check_foreign(broker, publish)

    @unittest.skipIf(NATS, NATS)
    def test_nats_foreign(self):
        """As check_foreign (); also, the stream does not keep messages for ever"""
        broker = NatsServer(self.folder)
        self.check_foreign(broker, lambda texts: broker.publish('integralhist.gate.tracks', *texts))
        said = broker.publish('$JS.API.STREAM.INFO.integralhist', b'')
        config = json.loads(said[said.index(b'{', said.index(b'\nMSG answer')):])['config']
        self.assertEqual(config['max_age'], 7 * 24 * 3600 * 10 ** 9)

    @unittest.skipIf(MQTT, MQTT)
    def test_mqtt_refused(self):
        """consume.py reports a subscription that is refused, or granted without acknowledgements"""
        for code in (0x80, 0):
            broker = Refusing(code)
            broker.start()
            with self.start('consume.py', 'got.db', '--broker', broker.url):
                wait_for(lambda: f'refuses the subscription with QoS 1: {code}' in
                         self.said('consume.py'), 'the reason', 20)

    def test_service(self):
        """systemd reads the unit of docs/results.md, and publish.py its arguments"""
        unit = re.search(r'```ini\n(\[Unit\]\n.*?)```', read(os.path.join(
            EXAMPLES, '..', 'docs', 'results.md')), re.DOTALL)[1]
        command = re.search(r'^ExecStart=(\S+) /opt/examples/publish.py (.*?)\n\w', unit,
                            re.DOTALL | re.MULTILINE)
        self.assertEqual(command[1], '/usr/bin/python3')
        arguments = command[2].replace('\\\n', '').replace('rtsp://camera/stream', 'no.avi')
        self.assertEqual(self.run_script('publish.py', *arguments.split(), status=1),
                         'publish.py: no.avi: no such file')
        settings = configparser.ConfigParser(strict=True)
        settings.optionxform = str
        settings.read_string(unit)
        self.assertEqual(settings['Unit']['StartLimitIntervalSec'], '0')
        self.assertIn('DynamicUser', settings['Service'])
        spool = re.search(r'--spool (\S+)', arguments)[1]
        self.assertEqual(os.path.dirname(spool),
                         '/var/lib/' + settings['Service']['StateDirectory'])
        if not shutil.which('systemd-analyze'):
            print('SKIP: no systemd-analyze, which reads the unit: install systemd')
            return
        pathlib.Path(self.path('gate.service')).write_text(unit, encoding='utf-8')
        checked = subprocess.run(['systemd-analyze', 'verify', '--man=no',
                                  self.path('gate.service')], check=False, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual([line for line in checked.stdout.splitlines() if 'gate.service' in line],
                         [])

    @unittest.skipIf(MQTT, MQTT)
    def test_away(self):
        """Messages wait for a broker that has not started yet"""
        broker = Mosquitto(self.folder)
        with self.start('publish.py', self.video, *self.arguments(broker)):
            wait_for(lambda: 'the broker is away' in self.said('publish.py'), 'the complaint')
            wait_for(lambda: os.path.exists(self.path('gate.spool')), 'the spool')
            self.run_script('publish.py', self.video, *self.arguments(broker), status=1)
            self.assertIn('publish.py: gate.spool: another publish.py uses it: ',
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
                 'publish.py: error: argument --broker: this is not a broker: give mqtt://')):
            line = self.run_script('publish.py', *arguments, status=status)
            self.assertEqual(line[:len(said)], said)
        for url in ('kafka://me:secret@b', 'mqtt://me:secret', 'mqtt://me:secret/@b', 'mqtt://[b',
                    'mqtt://me:secret@b:x', 'mqtt://me:1#secret@b', 'mqtt://me:secret\u2100@b'):
            for script, arguments in (
                    ('consume.py', ('got.db',)),
                    ('publish.py', (self.video, '--camera', 'a', '--targets', TARGET))):
                said = self.run_script(script, *arguments, '--broker', url, status=2)
                self.assertIn('this is not a broker', said)
                self.assertNotIn('secret', self.said(script))


def add_tests():
    for name, broker, missing in ('mqtt', Mosquitto, MQTT), ('nats', NatsServer, NATS):
        for check in 'killed', 'live', 'files':
            def test(self, check=check, broker=broker):
                getattr(self, f'check_{check}')(broker(self.folder))
            setattr(Publish, f'test_{name}_{check}', unittest.skipIf(missing, missing)(test))


add_tests()
if __name__ == '__main__':
    unittest.main(verbosity=2)
