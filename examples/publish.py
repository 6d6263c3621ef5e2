#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""publish.py VIDEO --camera NAME --targets BOXES [--broker URL]: publishes the tracks of a stream

Each frame is one message of JSON. It is written to a spool first, a file of SQLite, and leaves that
when the broker has had it for --hold seconds. So nothing is lost while the broker is away, or when
this script is killed and started again. A message may come twice: its `id` tells, and consume.py
shows how. docs/results.md has what that rests on, and how the broker must be set.

    meson devenv -C build ../examples/publish.py video.mp4 --camera gate --targets 100,100,64,128
    ... --broker nats://localhost

It needs python3-gi and python3-gst-1.0, for MQTT python3-paho-mqtt, for NATS nats-py from PyPI.
"""
import argparse
import collections
import contextlib
import fcntl
import hashlib
import json
import os
import re
import sqlite3
import sys
import threading
import time

import brokers
try:
    from integralhist import frames
except (ImportError, SystemExit) as error:  # `frames` exits if there is no GStreamer
    sys.exit(print(__doc__) if {'-h', '--help'} & {*sys.argv} else
             f'{error}\nThis needs the environment of meson devenv, or python3-gst-integralhist')


class SpoolError(Exception):
    """An error of the spool, with a text for users"""


class Spool:
    """Messages that the broker may not have. Once add () returns, a message is on the disk

    Each thread has its own Spool of the same file.
    """

    def __init__(self, path):
        self.database = sqlite3.connect(path, timeout=60, isolation_level=None)
        for line in ('PRAGMA journal_mode = WAL',
                     'PRAGMA synchronous = FULL',
                     'CREATE TABLE IF NOT EXISTS messages '
                     '(frame INTEGER PRIMARY KEY, id TEXT NOT NULL, text TEXT NOT NULL)',
                     'CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value)'):
            self.database.execute(line)

    def get(self, name):
        row = self.database.execute('SELECT value FROM state WHERE name = ?', (name,)).fetchone()
        return row and row[0]

    def set(self, name, value):
        self.database.execute('INSERT OR REPLACE INTO state VALUES (?, ?)', (name, value))

    def add(self, frame, name, text):
        self.database.execute('BEGIN IMMEDIATE')
        self.database.execute('INSERT INTO messages VALUES (?, ?, ?)', (frame, name, text))
        self.set('next', frame + 1)
        self.database.execute('COMMIT')

    def after(self, frame):
        """[(frame, id, text)] of the next messages"""
        return self.database.execute(
            'SELECT frame, id, text FROM messages WHERE frame > ? ORDER BY frame LIMIT ?',
            (frame, brokers.WINDOW)).fetchall()

    def forget(self, frame):
        """Deletes the messages up to this frame, and returns how many"""
        return self.database.execute('DELETE FROM messages WHERE frame <= ?', (frame,)).rowcount

    def count(self):
        return self.database.execute('SELECT count(*) FROM messages').fetchone()[0]


def open_spool(path, settings):
    """Opens the spool for this process only"""
    lock = os.open(path + '.lock', os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the kernel unlocks it at the end
    except OSError:
        raise SpoolError(f'{path}: another publish.py uses it: give another --spool') from None
    spool = Spool(path)
    begun = json.loads(spool.get('settings') or 'null')
    if begun is None:
        spool.set('settings', json.dumps(settings))
    elif begun != settings:
        raise SpoolError(f'{path} was begun with {begun}, not {settings}: give another --spool')
    return spool


class Sender(threading.Thread):
    """Sends the messages of the spool, in order

    Each new connection sends the whole spool, because a broker that went away may have lost
    messages that it had acknowledged but not written to its disk.
    """

    def __init__(self, options, mark):
        super().__init__(daemon=True)
        self.options, self.stopped, self.problem = options, threading.Event(), None
        self.client = f'publish-{options.camera}-{mark}'  # two of one name disconnect each other
        self.published, self.sent, self.is_away = 0, -1, ''

    def run(self):
        try:
            spool = Spool(self.options.spool)
            while not self.stopped.is_set():
                try:
                    with contextlib.closing(brokers.connect(self.options.broker,
                                                            self.client)) as broker:
                        self.say('')
                        self.forward(spool, broker)
                except brokers.Away as problem:
                    self.say(str(problem))
                    self.stopped.wait(1)
        except Exception as problem:  # such as a full disk; then the main thread ends
            self.problem = problem

    def say(self, why):
        if why and not self.is_away:
            print(f'the broker is away ({why}); messages wait in {self.options.spool}', flush=True)
        elif self.is_away and not why:
            print('the broker is there', flush=True)
        self.is_away = why

    def forward(self, spool, broker):
        held, tidied, self.sent = collections.deque(), time.monotonic(), -1
        while not self.stopped.is_set():
            messages = spool.after(self.sent)
            if messages:
                broker.send(self.options.camera, [message[1:] for message in messages])
                self.sent = messages[-1][0]
                held.append((time.monotonic(), self.sent))
            else:
                broker.check(0.1)
            now, safe = time.monotonic(), None
            if now - tidied < 0.5:  # a deletion waits for the disk
                continue
            while held and held[0][0] <= now - self.options.hold:
                safe = held.popleft()[1]
            if safe is not None:
                broker.check(0)  # deletes nothing if the broker has gone away
                self.published += spool.forget(safe)
            tidied = now


def mark_of(settings):
    """Returns digits that differ for another source or other settings"""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]


def message_of(camera, mark, frame):
    """(id, text): no other frame has the id, and a file gives the same ids every time"""
    when = frame.pts if frame.time is None else frame.time
    name = f'{camera}:{mark}:{"-" if when is None else when}:{frame.number}'
    names = 'id', 'parent', 'x', 'y', 'width', 'height', 'confidence', 'lost', 'class'
    tracks = [dict(zip(names, track[:9] if track.kind else track[:8])) for track in frame.tracks]
    return name, json.dumps({'id': name, 'camera': camera, 'frame': frame.number,
                             'pts': frame.pts, 'time': frame.time, 'tracks': tracks})


def run(options):
    stream = frames.Stream(options, lambda number: False)
    settings = json.loads(json.dumps({
        **stream.identity, 'camera': options.camera, 'targets': options.targets,
        'detections': options.detections}))
    mark, spool = mark_of(settings), open_spool(options.spool, settings)
    before = stream.first = spool.get('next') or 0
    sender, progress = Sender(options, mark), frames.Progress()

    def told():
        sent = f'acknowledged to frame {sender.sent}' if sender.sent >= 0 else 'none acknowledged'
        return f', {spool.count()} in the spool, {sent}'

    frames.on_signals(stream.stop)
    sender.start()
    if not spool.get('done'):
        with stream:
            for frame in stream:
                if frame.number >= before:
                    spool.add(frame.number, *message_of(options.camera, mark, frame))
                if sender.problem:
                    raise sender.problem
                progress.step(told)
        for warning in stream.warnings:
            print(f'publish.py: {stream.name}: {warning}', file=sys.stderr)
        if not stream.stopped and not stream.live:
            spool.set('done', 1)
    while spool.count() and not stream.stopped:  # a live stream may also end
        if sender.problem:
            raise sender.problem
        time.sleep(0.1)
        progress.idle(told)
    sender.stopped.set()
    sender.join(2 * brokers.TIMEOUT)
    return (f'{spool.get("next") or 0} frames, {before} from before; {sender.published} messages '
            f'published, {spool.count()} left in {options.spool}'
            + (', stopped' if stream.stopped else ''))


def broker(text):
    try:
        return brokers.parse(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    frames.add_arguments(parser)
    parser.add_argument('--camera', required=True, metavar='NAME',
                        help='part of the topic and of each id: letters, digits, - and _')
    parser.add_argument('--broker', type=broker, metavar='URL',
                        default=os.environ.get('BROKER', 'mqtt://localhost'),
                        help='mqtt:// or nats://[USER:PASSWORD@]HOST[:PORT]; by default that of '
                             'the environment variable BROKER, or mqtt://localhost')
    parser.add_argument('--spool', metavar='FILE', help='CAMERA.spool by default')
    parser.add_argument('--hold', type=float, default=10, metavar='SECONDS',
                        help='how long a message stays in the spool behind its acknowledgement: '
                             'longer than the broker takes to write it to its disk (10)')
    options = parser.parse_intermixed_args()
    if not re.fullmatch(r'[A-Za-z0-9_-]+', options.camera):
        parser.error(f'--camera {options.camera}: take letters, digits, - and _')
    if not (options.targets or options.detections):
        parser.error('nothing is followed: give --targets or --detections')
    options.spool = options.spool or f'{options.camera}.spool'
    brokers.need(options.broker, 'publish.py')
    try:
        print(run(options))
    except (frames.StreamError, SpoolError) as problem:
        sys.exit(f'publish.py: {problem}')
    except (OSError, sqlite3.Error) as problem:
        sys.exit(f'publish.py: {options.spool}: {getattr(problem, "strerror", None) or problem}')


if __name__ == '__main__':
    from integralhist import console
    console.run(main, goes_on=True)
