#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""consume.py FILE [--broker URL]: writes what publish.py publishes, each frame once

FILE is of SQLite: a table `frames` with id, camera, frame and text. The id is its key, so a message
that comes twice changes nothing. A message is acknowledged when it is on the disk. Start it before
publish.py: a broker of MQTT keeps messages only for those whom it knows.

    examples/consume.py tracks.db

It runs until Ctrl-C. It needs python3-paho-mqtt for MQTT, nats-py from PyPI for NATS.
"""
import argparse
import contextlib
import json
import os
import signal
import sqlite3
import sys
import time

import brokers


def row_of(data):
    """(id, camera, frame, text) of a message; ValueError if publish.py did not make it"""
    try:
        message = json.loads(data)
        name, camera, frame = (message[key] for key in ('id', 'camera', 'frame'))
        text = bytes(data).decode()
        f'{name}{camera}'.encode()  # half a surrogate pair fails here, not in SQLite
    except (ValueError, LookupError, TypeError, RecursionError) as problem:
        raise ValueError(str(problem)) from None
    if not (isinstance(name, str) and isinstance(camera, str) and isinstance(frame, int)
            and 0 <= frame < 2 ** 63):
        raise ValueError('id, camera or frame is of another type: let publish.py write it')
    return name, camera, frame, text


class Store:
    def __init__(self, path):
        self.database = sqlite3.connect(path)
        self.database.executescript('''
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = FULL;
            CREATE TABLE IF NOT EXISTS frames
                (id TEXT PRIMARY KEY, camera TEXT, frame INTEGER, text TEXT)''')
        self.new, self.doubled, self.foreign = 0, 0, 0

    def add(self, texts):
        """Stores messages. Skips messages of other programs, which are acknowledged all the same"""
        rows = []
        for text in texts:
            try:
                rows.append(row_of(text))
            except ValueError as problem:
                self.foreign += 1
                print(f'a message that is not of publish.py: {bytes(text[:60])!r} ({problem})',
                      flush=True)
        before = self.database.total_changes
        with self.database:  # one transaction
            self.database.executemany('INSERT OR IGNORE INTO frames VALUES (?, ?, ?, ?)', rows)
        new = self.database.total_changes - before
        self.new += new
        self.doubled += len(rows) - new


def collect(options, store, stopped):
    """Receives until `stopped` is set"""
    is_away, last, told = None, time.monotonic(), None
    while not stopped:
        try:
            with contextlib.closing(brokers.connect(options.broker, options.client,
                                                    store.add)) as broker:
                print('the broker is there', flush=True)
                is_away = None
                while not stopped:
                    broker.check(0.2)
                    now = f'{store.new:8d} frames, {store.doubled} came again and are there once'
                    if now != told and time.monotonic() - last >= 2:
                        last, told = time.monotonic(), now
                        print(now, flush=True)
        except brokers.Away as problem:
            if is_away is None:
                print(f'the broker is away ({problem})', flush=True)
            is_away = problem
            time.sleep(0.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('file', metavar='FILE')
    parser.add_argument('--broker', metavar='URL',
                        default=os.environ.get('BROKER', 'mqtt://localhost'),
                        help='as of publish.py')
    parser.add_argument('--client', default='consume', metavar='NAME',
                        help='what the broker knows it by (consume)')
    options = parser.parse_args()
    try:
        options.broker = brokers.parse(options.broker)
    except ValueError as problem:
        parser.error(str(problem))
    brokers.need(options.broker, 'consume.py')

    stopped = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.append(True))
    try:
        store = Store(options.file)
        collect(options, store, stopped)
    except sqlite3.Error as problem:  # a message that is not stored is not acknowledged
        sys.exit(f'consume.py: {options.file}: {problem}')
    print(f'{store.new} frames written to {options.file}, {store.doubled} came again'
          + (f', {store.foreign} messages of others' if store.foreign else ''))


if __name__ == '__main__':
    from integralhist import console
    console.run(main, goes_on=True)
