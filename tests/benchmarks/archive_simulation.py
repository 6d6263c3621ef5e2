#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Simulates integralhist-archive with a thousand nodes and a million files

    archive_simulation.py [--items N] [--nodes N] [--slots N] [--store tmpfs|nfs|s3] [--faults N]
                          [--seed N] [--folder FOLDER] [--files real|memory] [--small] [--table]

The driver, the plan and the markers are the real ones, in a real folder. Nodes, jobs and time are
simulated: a job has a time to end, and the clock jumps there. Videos are a few files under many
names. So what is measured is the driver's own work, and what is checked is its logic.

What happens to jobs and nodes:

    bad files, files that abort every decoder, files that are not there, files given twice
    crashes: with nothing left behind, with half a table aside, with a table and no marker
    stragglers, jobs that hang, jobs whose end the engine does not hear of
    nodes that die and come back, nodes that are cut off from the driver and write on
    the driver is killed, and a second one goes on

At the end every good file is committed once, with the bytes of its sha256; every other one is
reported with its reason; nothing else is there but what `gc` finds; and a run after it starts no
job. It exits with 1 if not.

--store says what the driver's file operations take: nothing, as on tmpfs; or the latency that is
published of NFS as a service or of an object store (OPERATIONS below). The driver waits for each of
them. fsync is counted, not done: no power goes off here.

--files memory has the markers in memory, with the same counts: a million of files of a real folder
take Python several times as long. "Peak memory" is what a run adds to the process, with the
simulated nodes and without these files.

--table runs 10,000, 100,000 and a million items, each in a process of its own, and 20,000 on each
store; --small is the test: 6,000 items on 60 nodes, with four times as many faults.
"""
import argparse
import builtins
import collections
import contextlib
import errno
import heapq
import io
import itertools
import json
import mmap
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'python/integralhist-archive'))
from integralhist import durable  # noqa: E402
from integralhist.archive import commit, plan  # noqa: E402
from integralhist.archive.child import Outcome  # noqa: E402
from integralhist.archive.driver import Deadline, Driver  # noqa: E402

RETRIES, DEADLINE = 3, '10x'  # as integralhist-archive has them

# Videos: half of a random sample of YouTube are shorter than 64 s (McGrady and others, "Dialing for
# Videos", 2023). The spread is an assumption: with it 1 % takes 45 minutes and more.
MEDIAN, SPREAD, SHORTEST, LONGEST = 64, 1.6, 2, 4 * 3600
# Assumptions of a job: 300 frames a second of videos with 30, and Python and GStreamer first
SPEED, TO_BEGIN = 10, 1.0
# Assumptions of what goes wrong, as shares of files and of tries; worse than one would hope for
BAD, ABORTING = 0.005, 0.0005
TWICE = 1000  # of which one is given twice
CRASH, HANG, UNHEARD, STRAGGLE = 0.003, 0.0005, 0.001, 0.005
# And of nodes: seconds between two failures of a node, and until it is back; two of three die, and
# one is cut off. The engine notices after some 25 s (engines/ray.py), and counts slots each 5 s
NODE_LIVES, NODE_IS_AWAY, NOTICED, COUNTED = 24 * 3600, 600, 25, 5

FAULTS = 'nodes died', 'nodes cut off', 'crashed', 'hung', 'straggled', 'unheard', 'stopped'
FOR_EVER = 1e7  # seconds after which something hangs
FILES = 1000  # that there are, under as many names as items want
MISSING = 777  # but not this one
TABLE = b'as a table of Parquet '


class Clock:
    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


# What an operation is on a store: (requests that read, requests that write). Where it is a pair of
# such pairs, the first is for what is not there.
#   NFS 4: LOOKUP; OPEN with READ, CLOSE; OPEN with CREATE, WRITE, COMMIT, CLOSE; RENAME; REMOVE
#   an object store behind a mount: HEAD; GET; PUT; COPY and DELETE; DELETE
OPERATIONS = {
    'nfs': {'stat': (1, 0), 'look': (1, 0), 'read': (3, 0), 'write': (1, 3), 'rename': (0, 1),
            'remove': (0, 1), 'sync': (0, 0)},
    's3': {'stat': (1, 0), 'look': (1, 0), 'read': (1, 0), 'write': (0, 1), 'rename': (0, 2),
           'remove': (0, 1), 'sync': (0, 0)},
}
# Seconds of a request that reads, and of one that writes, and most of each in a second
# EFS, Regional, elastic: docs.aws.amazon.com/efs/latest/ug/performance.html
# S3: docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html has 100 to 200 ms,
# and at least 5,500 GET and HEAD, 3,500 PUT, COPY, POST and DELETE a second for each prefix
LATENCY = {'tmpfs': (0, 0), 'nfs': (0.001, 0.0027), 's3': (0.1, 0.1)}
LIMIT = {'s3': (5500, 3500)}
# Dollars for 1,000 requests of S3 Standard, us-east-1: aws.amazon.com/s3/pricing
PRICES = {'stat': 0.0004, 'look': 0.0004, 'read': 0.0004, 'write': 0.005, 'rename': 0.005,
          'remove': 0, 'sync': 0}


class Disk:
    """Files of a folder. fsync is left out: no power goes off here"""

    stat, unlink, replace, listdir = os.stat, os.unlink, os.replace, os.listdir
    open, fstat, exists, isdir = builtins.open, os.fstat, os.path.exists, os.path.isdir

    @staticmethod
    def prepare(out):
        commit.prepare(out)


class Memory:
    """Stands in for a folder, several times as fast, with as little of Python's memory for a
    million files as for none: those that stay are in slots of one shared mapping, by their keys"""

    SLOT = 640
    STAY = {'_done': b'd', '_failed': b'f', 'regions': b'r'}
    Status = collections.namedtuple('Status', 'st_size st_mtime_ns st_mtime', defaults=(0, 0))

    def __init__(self, count):
        self.slots = 4 * count
        self.map = mmap.mmap(-1, self.slots * self.SLOT)
        for at in range(0, len(self.map), 1 << 20):  # all of it is there from now on
            self.map[at:at + (1 << 20)] = bytes(min(1 << 20, len(self.map) - at))
        self.others, self.sizes, self.number = {}, {}, itertools.count()

    def prepare(self, out):
        pass

    def find(self, path):
        """(where its slot begins or would, its name there); or None if it does not stay"""
        _, folder, name = path.rsplit('/', 2)
        if folder not in self.STAY:
            return None
        name = self.STAY[folder] + name[:20].encode()
        slot = zlib.crc32(name) % self.slots
        while True:
            at = slot * self.SLOT
            if self.map[at] == 0 or self.map[at:at + len(name)] == name:
                return at, name
            slot = (slot + 1) % self.slots

    def read(self, path):
        """None where there is nothing"""
        if (found := self.find(path)) is None:
            return self.others.get(path)
        at, name = found
        size = int.from_bytes(self.map[at + 21:at + 23], 'little')  # of a removed one: 0
        return self.map[at + 23:at + 23 + size] if self.map[at] and size else None

    def write(self, path, value):
        if (found := self.find(path)) is None:
            self.others[path] = value
            return
        at, name = found
        assert len(value) < self.SLOT - 23, value
        whole = name + len(value).to_bytes(2, 'little') + value
        self.map[at:at + len(whole)] = whole

    def need(self, path):
        if (value := self.read(path)) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return value

    def stat(self, path):
        if path.endswith('.mp4'):
            if path.endswith(f'{MISSING}.mp4'):
                self.need(path)
            return self.Status(5)
        return self.Status(len(self.need(path)))

    def unlink(self, path):
        self.need(path)
        if self.others.pop(path, None) is None:
            at, _ = self.find(path)
            self.map[at + 21:at + 23] = bytes(2)

    def replace(self, old, new):
        self.write(new, self.need(old))
        del self.others[old]

    def listdir(self, path):
        folder = os.path.basename(path)
        if folder not in self.STAY:
            return [name for name in self.others if name.startswith(path + '/')]
        end = '.parquet' if folder == 'regions' else '.json'
        return [self.map[at + 1:at + 21].decode() + end
                for at in range(0, len(self.map), self.SLOT)
                if self.map[at:at + 1] == self.STAY[folder]
                and self.map[at + 21:at + 23] != bytes(2)]

    def exists(self, path):
        return self.read(path) is not None

    def isdir(self, path):
        return False

    def open(self, path, mode='r', encoding=None):
        if 'w' in mode:
            return MemoryFile(self, path, encoding)
        value = self.need(path)
        return io.StringIO(value.decode()) if encoding else io.BytesIO(value)

    def fstat(self, number):
        return self.Status(self.sizes.pop(number))


class MemoryFile(io.BytesIO):
    def __init__(self, files, name, encoding):
        super().__init__()
        self.files, self.name, self.encoding = files, name, encoding
        files.write(name, b'')

    def write(self, value):
        super().write(value.encode() if self.encoding else value)

    def flush(self):
        self.files.write(self.name, self.getvalue())

    def close(self):
        if not self.closed and self.files.exists(self.name):
            self.flush()
        super().close()

    def fileno(self):
        number = next(self.files.number)
        self.files.sizes = {number: len(self.getvalue())}
        return number


class Files:
    """Stands in for `os` and `open` in the modules of the package, and counts what they do

    `who` is "driver" or "job". What the driver does takes time, and then others go on.
    """

    def __init__(self, clock, store, disk):
        self.clock, self.who, self.go_on = clock, 'driver', None  # the last is the engine's
        self.disk, self.listdir, self.fstat = disk, disk.listdir, disk.fstat
        self.counts = {'driver': collections.Counter(), 'job': collections.Counter()}
        self.path = Paths(self)
        self.takes = {name: 0 for name in PRICES}
        if store in OPERATIONS:
            self.takes = {
                name: sum(count * seconds for count, seconds in zip(found, LATENCY[store]))
                for name, found in OPERATIONS[store].items()}
        for module in commit, durable, plan:
            module.os, module.open = self, self.open
        durable.json = Json

    def __getattr__(self, name):
        return getattr(os, name)

    def count(self, name):
        self.counts[self.who][name] += 1
        if self.who == 'driver' and self.takes[name] and self.go_on:
            self.clock.now += self.takes[name]
            self.go_on()

    def stat(self, path):
        self.count('stat')
        return self.disk.stat(path)

    def unlink(self, path):
        try:
            self.disk.unlink(path)
        except FileNotFoundError:
            self.count('look')
            raise
        self.count('remove')

    def replace(self, old, new):
        self.count('rename')
        self.disk.replace(old, new)

    def fsync(self, _):
        self.count('sync')

    def open(self, path, mode='r', **named):
        if isinstance(mode, int):  # a folder, for fsync
            return None
        if path.endswith('.txt'):  # the list of names
            return open(path, mode, **named)
        try:
            file = self.disk.open(path, mode, **named)
        except FileNotFoundError:
            self.count('look')
            raise
        self.count('write' if 'w' in mode else 'read')
        return file

    def close(self, _):
        pass


class Json:
    """Without lines: with them Python's encoder is slow, and jobs' markers are not measured"""

    @staticmethod
    def dump(value, file, indent):
        file.write(json.dumps(value))


class Paths:
    def __init__(self, files):
        self.files, self.join, self.exists = files, os.path.join, files.disk.exists

    def __getattr__(self, name):
        return getattr(os.path, name)

    def isdir(self, path):
        self.files.count('stat')
        return self.files.disk.isdir(path)


def share(seed, index, salt):
    """A number from 0 to 1 that belongs to an item, whenever it is asked"""
    return (zlib.crc32(f'{seed} {salt} {index}'.encode()) + 0.5) / 2**32


class Video:
    """What is known of an item by its name"""

    NORMAL = statistics.NormalDist()

    def __init__(self, seed, name):
        folder, number = name.removesuffix('.mp4').rsplit('/', 2)[-2:]
        self.index = int(folder) * FILES + int(number)
        self.seconds = min(max(MEDIAN * 2.718281828 ** (
            SPREAD * self.NORMAL.inv_cdf(share(seed, self.index, 'seconds'))), SHORTEST), LONGEST)
        kind = share(seed, self.index, 'kind')
        self.kind = ('missing' if int(number) == MISSING else 'bad' if kind < BAD else
                     'aborting' if kind < BAD + ABORTING else 'good')


class Job:
    """`alive`: it goes on; `heard`: the engine will tell its end"""

    def __init__(self, item, video):
        self.item, self.video, self.node = item, video, None
        self.alive, self.heard, self.frames = True, True, round(video.seconds * 30)


class Killed(Exception):
    """Of the driver"""


class Engine:
    """Nodes with jobs, as engines/__init__.py describes an engine. Each wait () returns one job,
    as that of Ray does"""

    def __init__(self, files, options, out):
        self.files, self.clock, self.out, self.kill_after = files, files.clock, out, None
        self.seed, self.random = options.seed, random.Random(options.seed)
        self.faults, self.lives_for = options.faults, NODE_LIVES / options.faults
        self.events, self.number = [], itertools.count()
        self.ended, self.queue = collections.deque(), collections.deque()
        self.per_node, self.nodes = options.slots, options.nodes
        self.up, self.lives = [True] * options.nodes, [0] * options.nodes
        self.running = [set() for _ in range(options.nodes)]
        self.free = collections.deque((node, 0) for _ in range(options.slots)
                                      for node in range(options.nodes))
        self.known, self.looked, self.started, self.most = options.nodes, 0, 0, 0
        self.happened, self.cpu, self.busy = collections.Counter(), 0, 0.0
        files.go_on = self.go_on
        for node in range(options.nodes):
            self.at(self.random.expovariate(1 / self.lives_for), self.lose_node, node)

    def at(self, seconds, do, *arguments):
        heapq.heappush(self.events, (self.clock.now + seconds, next(self.number), do, arguments))

    def run_event(self):
        when, _, do, arguments = heapq.heappop(self.events)
        now = self.clock.now
        self.clock.now = when
        do(*arguments)
        self.clock.now = max(now, when)

    @contextlib.contextmanager
    def others(self):
        """Of what is not the driver's work"""
        began = time.thread_time_ns()
        who, self.files.who = self.files.who, 'job'
        try:
            yield
        finally:
            self.files.who = who
            self.cpu += time.thread_time_ns() - began

    def go_on(self):
        if self.events[0][0] <= self.clock.now:
            with self.others():
                while self.events[0][0] <= self.clock.now:
                    self.run_event()

    # what the driver calls

    def slots(self):
        if self.clock.now - self.looked >= COUNTED:
            self.go_on()
            self.looked, self.known = self.clock.now, sum(self.up)
        return self.known * self.per_node

    def start(self, item):
        with self.others():
            self.started += 1
            job = Job(item, Video(self.seed, item['name']))
            self.queue.append(job)
            self.place()
            return job

    def wait(self, handles, seconds):
        with self.others():
            self.most = max(self.most, len(handles))
            need(self.clock.now < FOR_EVER, 'it does not end')
            if self.kill_after is not None and self.started > self.kill_after:
                raise Killed
            until = self.clock.now + seconds
            while not self.ended and self.events[0][0] <= until:
                self.run_event()
            if not self.ended:
                self.clock.now = until
            found = []
            while self.ended and not found:
                job, outcome = self.ended.popleft()
                if job in handles:  # and not stopped meanwhile
                    found.append((job, outcome))
            return found

    def stop(self, job):
        with self.others():
            self.happened['stopped'] += 1
            job.heard = False
            if job.node is None or self.up[job.node]:
                self.kill(job)

    def close(self):
        pass

    # jobs

    def place(self):
        while self.queue and self.free:
            if not self.queue[0].alive:
                self.queue.popleft()
                continue
            node, life = self.free.popleft()
            if self.up[node] and self.lives[node] == life:
                job = self.queue.popleft()
                job.node = node
                self.running[node].add(job)
                self.begin(job)

    def begin(self, job):
        chance = self.random.random
        takes = TO_BEGIN + job.video.seconds / SPEED
        self.busy += takes
        if job.video.kind == 'bad':
            self.at(TO_BEGIN, self.end, job, Outcome('bad', 'no video stream'))
        elif job.video.kind == 'aborting':
            self.at(TO_BEGIN, self.end, job, Outcome('again', 'ended by SIGABRT'))
        else:
            self.at(TO_BEGIN, self.note, job)
            what = chance() / self.faults
            if what < CRASH:
                self.at(TO_BEGIN + takes * chance(), self.crash, job)
            elif what < CRASH + HANG:
                self.happened['hung'] += 1
            else:
                if chance() < STRAGGLE * self.faults:
                    self.happened['straggled'] += 1
                    takes *= self.random.uniform(3, 30)
                self.at(takes, self.write, job)

    def note(self, job):
        if job.alive:
            commit.write_marker(self.out, '_running', job.item['key'],
                                {'seconds': job.video.seconds})

    def write(self, job):
        """What job.py does at the end"""
        if not job.alive:
            return
        seen = plan.fingerprint(job.item)
        with commit.Commit(self.out, job.item['key']) as writing:
            writing.open('regions').write(TABLE + job.item['key'].encode())
            plan.fingerprint(job.item)
            writing.done({'video': job.item['name'], 'fingerprint': seen,
                          'settings': job.item['settings'], 'frames': job.frames})
        self.happened['committed'] += 1
        if self.random.random() < UNHEARD * self.faults:
            self.happened['unheard'] += 1
            self.end(job, Outcome('again', 'its worker is gone'))
        else:
            self.end(job, Outcome('done', frames=job.frames))

    def end(self, job, outcome):
        if not job.alive:
            return
        job.alive = False
        if job.node is not None:
            self.running[job.node].discard(job)
            if self.up[job.node]:
                self.free.append((job.node, self.lives[job.node]))
        if job.heard:
            self.ended.append((job, outcome))
        self.place()

    def leave(self, job):
        """What it had written when it was killed"""
        what = self.random.randrange(3) if job.node is not None else 0
        if what and job.video.kind == 'good':
            key = job.item['key']
            name = (commit.aside(self.out, f'{key}.regions') if what == 1 else
                    os.path.join(self.out, 'regions', f'{key}.parquet'))
            if what == 1 or not self.files.disk.exists(name):
                with self.files.disk.open(name, 'wb') as file:
                    file.write(TABLE[:7] if what == 1 else TABLE + key.encode())

    def crash(self, job):
        if job.alive:
            self.happened['crashed'] += 1
            self.leave(job)
            self.end(job, Outcome('again', 'ended by SIGSEGV'))

    def kill(self, job):
        if job.alive:
            job.heard = False
            self.leave(job)
            self.end(job, None)  # nobody hears of it

    # nodes

    def in_order(self, node):
        """Its jobs, in each run of a seed in the same order"""
        return sorted(self.running[node], key=lambda job: job.video.index)

    def lose_node(self, node):
        dies = self.random.random() < 2 / 3
        self.happened['nodes died' if dies else 'nodes cut off'] += 1
        self.up[node] = False
        for job in self.in_order(node):
            if job.heard:
                self.at(NOTICED, self.lose_job, job)
            if dies:
                job.alive = False
                self.running[node].discard(job)
                self.leave(job)
        self.at(NODE_IS_AWAY * self.random.uniform(0.2, 2), self.find_node, node)

    def lose_job(self, job):
        """The engine gives it up; on a node that was cut off it may go on, and commit"""
        if job.heard:
            job.heard = False
            self.ended.append((job, Outcome('again', 'WorkerCrashedError')))

    def find_node(self, node):
        for job in self.in_order(node):  # it begins anew
            self.kill(job)
        self.up[node] = True
        self.lives[node] += 1
        self.free.extend([(node, self.lives[node])] * self.per_node)
        self.at(self.random.expovariate(1 / self.lives_for), self.lose_node, node)
        self.place()


class Report:
    """Counts, and what became of each item: a byte each"""

    STATES = 'none', 'there', 'done', 'bad', 'given up'

    def __init__(self, options, clock):
        self.counts, self.became = collections.Counter(), bytearray(options.items)
        self.again, self.seed, self.clock = collections.Counter(), options.seed, clock
        self.told, self.every, self.times = 0, options.items // 100, []

    def __call__(self, item, state, reason, frames):
        self.counts[state] += 1
        if state == 'again':
            self.again[reason.split(' after')[0]] += 1
            return
        index = Video(self.seed, item['name']).index
        before, now = self.became[index], self.STATES.index(state)
        if state == 'there':  # given twice, or a driver was killed before it told the end
            self.became[index] = before or now
        else:
            if before > 1 and (before != now or state == 'done'):  # others each driver tells
                raise AssertionError(f'{item["name"]}: {self.STATES[before]}, and then {state}')
            self.became[index] = now
            if state != 'done' and not reason:
                raise AssertionError(f'{item["name"]}: no reason')
            self.told += 1
            if self.told % self.every == 0:
                self.times.append(self.clock.now)


class Run:
    """One driver from its start to its end: what it counted and took"""

    def __init__(self, engine, items, report, kill_after=None, stop_after=None):
        files, clock, told = engine.files, engine.clock, itertools.count(1)
        before = {who: collections.Counter(counts) for who, counts in files.counts.items()}
        started, began = engine.started, clock.now

        def hear(*arguments):
            with engine.others():
                report(*arguments)
                if next(told) == stop_after:
                    driver.stop()

        driver = Driver(engine, engine.out, RETRIES, Deadline(DEADLINE), hear, clock)
        engine.kill_after = kill_after and started + kill_after
        engine.cpu, cpu = 0, time.thread_time_ns()
        self.stopped_early = kill_after or stop_after
        self.killed = False
        try:
            driver.run(items)
        except Killed:
            self.killed = True
        self.cpu = (time.thread_time_ns() - cpu - engine.cpu) / 1e9
        need(self.stopped_early or not (driver.keys or driver.flying or driver.again),
             f'it kept {len(driver.keys)} keys')
        self.hours, self.started = (clock.now - began) / 3600, engine.started - started
        self.told = next(told) - 1
        self.counts = {who: files.counts[who] - counts for who, counts in before.items()}


def need(truth, text):
    if not truth:
        raise AssertionError(text)


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def name_of(index):
    return f'{index // FILES:04d}/{index % FILES:03d}.mp4'


def make_inputs(folder, options):
    """The list of all names, the one of those that no run does again, and what is behind them"""
    videos = os.path.join(folder, 'videos')
    os.makedirs(os.path.join(folder, 'files'))
    os.mkdir(videos)
    for number in range(FILES):
        if number != MISSING:
            with open(os.path.join(folder, 'files', f'{number:03d}.mp4'), 'wb') as file:
                file.write(b'video')
    paths = [os.path.join(folder, name) for name in ('all.txt', 'settled.txt')]
    with open(paths[0], 'w', encoding='utf-8') as names, \
         open(paths[1], 'w', encoding='utf-8') as settled:
        for index in range(options.items):
            if index % FILES == 0:
                os.symlink('../files', os.path.join(videos, f'{index // FILES:04d}'))
            name = os.path.join(videos, name_of(index))
            names.write(f'{name}\n' * (2 if index % TWICE == TWICE // 2 else 1))
            if Video(options.seed, name).kind in ('good', 'bad'):
                settled.write(f'{name}\n')
    return paths


def check(out, options, report, disk):
    """What must hold in the end. Returns how long `verify` took"""
    kinds, wrong = collections.Counter(), collections.Counter()
    wanted = {'good': ('done', 'there'), 'bad': ('bad',), 'aborting': ('given up',),
              'missing': ('given up',)}
    for index in range(options.items):
        kind = Video(options.seed, name_of(index)).kind
        kinds[kind] += 1
        became = Report.STATES[report.became[index]]
        if became not in wanted[kind]:
            wrong[kind, became] += 1
    need(not wrong, f'became something else: {dict(wrong)}')
    names = {folder: disk.listdir(os.path.join(out, folder)) for folder in commit.FOLDERS}
    for folder, kind in (('_done', 'good'), ('_failed', 'others')):
        count = kinds['good'] if kind == 'good' else options.items - kinds['good']
        need(len(names[folder]) == count, f'{folder}: {len(names[folder])} of {count}')
    done = {name.removesuffix('.json') for name in names['_done']}
    need({name.removesuffix('.parquet') for name in names['regions']} == done,
         'a table without a marker, or a marker without a table')
    aside = len(names['_aside'])
    del names, done
    for found in commit.markers(out, '_failed'):
        kind = Video(options.seed, found['item']['name']).kind
        need(kind != 'good' and found['reason'] and found['bad'] == (kind == 'bad'),
             f'_failed of a {kind} one: {found}')
    began = time.monotonic()
    need((problem := next(commit.verify(out), None)) is None, problem)
    took = time.monotonic() - began
    orphans = list(commit.orphans(out, -60))  # of any age
    wrong = [path for path in orphans if '/_aside/' not in path and '/_running/' not in path]
    need(not wrong, f'gc would remove {wrong[:3]}')
    need(len(orphans) >= aside, 'gc would leave files aside')
    return kinds, took


def simulate(options):
    """Runs it all, and checks it. Returns what was measured"""
    random.seed(options.seed)
    say(f'{options.items} items, {options.nodes} nodes with {options.slots} jobs each, '
        f'{options.store}, seed {options.seed}')
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        names, settled = make_inputs(folder, options)
        out = os.path.join(folder, 'out')
        disk = Memory(options.items) if options.files == 'memory' else Disk
        files = Files(Clock(), options.store, disk)
        settings = {'histogram': {'bins': 16}, 'regions': {'boxes': [[0, 0, 160, 120]]}}
        disk.prepare(out)
        base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        began, slots = time.monotonic(), options.nodes * options.slots

        def items(path):
            for number, item in enumerate(plan.Plan(settings, [f'@{path}']), 1):
                yield item
                if number % 100_000 == 0:
                    say(f'  {number} items, {time.monotonic() - began:.0f} s here, '
                        f'{files.clock.now / 3600:.2f} h there')

        engine, report = Engine(files, options, out), Report(options, files.clock)
        killed = Run(engine, items(names), report, kill_after=min(options.items // 3, 2 * slots))
        need(killed.killed, 'the driver was not killed')
        first = Run(engine, items(names), report)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - base
        busy = engine.busy / engine.started
        say(f'  checking, after {time.monotonic() - began:.0f} s')
        kinds, verify = check(out, options, report, disk)
        nobody = Report(options, files.clock)
        stopped = Run(engine, items(settled), nobody, stop_after=100)
        need(stopped.told == 100, f'stopped after 100 items, told of {stopped.told}')
        resumed = Run(engine, items(settled), nobody)
        need(resumed.started == 0 and resumed.counts['driver']['remove'] == 0,
             f'a second run started {resumed.started} jobs')
        need(nobody.counts['there'] + nobody.counts['bad'] == 100 + kinds['good'] + kinds['bad'],
             f'a second run told {nobody.counts}')

        def each(counts, count):
            return {name: counts[name] / count for name in PRICES}

        low, high = report.times[len(report.times) // 10], report.times[len(report.times) * 9 // 10]
        return {
            'items': options.items, 'nodes': options.nodes, 'store': options.store,
            'files': options.files,
            'kinds': kinds, 'happened': engine.happened, 'again': report.again,
            'counts': report.counts, 'most': engine.most, 'memory': memory, 'job': busy,
            'hours': killed.hours + first.hours, 'rate': 0.8 * options.items / (high - low),
            'nine': report.times[len(report.times) * 99 // 100 - 1] / 3600,
            'cpu': (killed.cpu + first.cpu) / options.items,
            'first': each(killed.counts['driver'] + first.counts['driver'], options.items),
            'jobs': each(killed.counts['job'] + first.counts['job'], options.items),
            'resume cpu': resumed.cpu / (kinds['good'] + kinds['bad']),
            'resume': each(resumed.counts['driver'], kinds['good'] + kinds['bad']),
            'resume hours': resumed.hours, 'verify': verify,
            'here': time.monotonic() - began}


def waits(store, counts):
    """Seconds of a driver that waits for each of these"""
    return sum(counts[name] * sum(n * seconds for n, seconds in zip(requests, LATENCY[store]))
               for name, requests in OPERATIONS[store].items())


def requests(store, counts):
    return [sum(counts[name] * found[kind] for name, found in OPERATIONS[store].items())
            for kind in (0, 1)]


def cost(counts):
    """Dollars"""
    return sum(counts[name] * price / 1000 for name, price in PRICES.items())


def row(*cells):
    print('| ' + ' | '.join(cells) + ' |')


def head(*cells):
    row(*cells)
    print('|' + '---|' * len(cells))


def print_table(found, slots):
    """Of several runs"""
    head('items', 'files', 'store', 'jobs in flight', 'driver CPU an item, us',
         'items a CPU second', 'peak memory, MiB', 'jobs a second there', '99 % after, h',
         'all after, h', 'seconds here')
    for one in found:
        row(f'{one["items"]:,}', one['files'], one['store'], f'{one["most"]:,}',
            f'{one["cpu"] * 1e6:.0f}', f'{1 / one["cpu"]:,.0f}', f'{one["memory"]:.0f}',
            f'{one["rate"]:.1f}',
            f'{one["nine"]:.2f}', f'{one["hours"]:.2f}', f'{one["here"]:.0f}')
    print()
    head('items', 'store', 'good', 'bad', 'aborting', 'missing', 'tried again', 'nodes died',
         'cut off', 'crashed', 'hung', 'unheard', 'commits', 'resume: CPU an item, us',
         'verify, us an item')
    for one in found:
        kinds, happened = one['kinds'], one['happened']
        row(f'{one["items"]:,}', one['store'],
            *(f'{kinds.get(name, 0):,}' for name in ('good', 'bad', 'aborting', 'missing')),
            *(f'{value:,}' for value in (
                one['counts'].get('again', 0), happened.get('nodes died', 0),
                happened.get('nodes cut off', 0), happened.get('crashed', 0),
                happened.get('hung', 0), happened.get('unheard', 0), happened.get('committed', 0))),
            f'{one["resume cpu"] * 1e6:.0f}', f'{one["verify"] / kinds["good"] * 1e6:.0f}')
    most = max(found, key=lambda one: one['items'])
    print()
    head('an item', 'stat', 'open, not there', 'read', 'written', 'renamed', 'removed', 'fsync')
    for text, name in (('driver, first run', 'first'), ('jobs', 'jobs'),
                       ('driver, a run that does nothing', 'resume')):
        row(text, *(f'{most[name][operation]:.2f}' for operation in PRICES))
    print()
    head('a million files', 'driver waits, ms an item', 'first run, h', 'items a second',
         'a run that does nothing, h', 'requests of all at once, a second',
         'first run, $', 'a run that does nothing, $')
    mean, rates = most['job'], {'tmpfs': 1 / most['cpu']}
    row('tmpfs', '0', f'{most["cpu"] * 1e6 / 3600:.2f}', f'{rates["tmpfs"]:,.0f}',
        f'{most["resume cpu"] * 1e6 / 3600:.2f}', '', '', '')
    for store in OPERATIONS:
        each, again = (waits(store, most[name]) for name in ('first', 'resume'))
        rates[store] = 1 / (each + most['cpu'])
        total = {name: most['first'][name] + most['jobs'][name] for name in PRICES}
        read, written = requests(store, total)
        row(store, f'{each * 1e3:.1f}', f'{1e6 / rates[store] / 3600:.1f}', f'{rates[store]:.1f}',
            f'{1e6 * (again + most["resume cpu"]) / 3600:.1f}',
            f'{read * slots / mean:,.0f} read, {written * slots / mean:,.0f} write',
            *((f'{1e6 * cost(total):.2f}', f'{1e6 * cost(most["resume"]):.2f}')
              if store == 's3' else ('', '')))
    print()
    head('nodes with 8 jobs each that a driver feeds', *(
        f'jobs of {text}' for text in ('1 s', '10 s', f'{mean:.0f} s (here)', '1 min', '10 min')))
    for store, rate in rates.items():  # as if nothing but the driver were in the way
        row(store, *(f'{rate * seconds / 8:,.0f}' for seconds in (1, 10, mean, 60, 600)))
    print()
    return rates


def summary(found):
    most = max(found, key=lambda one: one['items'])
    return (f'archive_simulation: {most["items"]:,} items on {most["nodes"]:,} nodes: '
            f'{most["kinds"]["good"]:,} committed once, '
            f'{most["items"] - most["kinds"]["good"]:,} told with their reason, '
            f'{1 / most["cpu"]:,.0f} items a CPU second, {most["memory"]:.0f} MiB')


def run_alone(options, **changes):
    """In a process of its own, for its memory"""
    values = {**vars(options), **changes}
    arguments = [text for name in ('items', 'nodes', 'slots', 'store', 'seed', 'folder', 'files',
                                           'faults')
                 for text in (f'--{name}', str(values[name]))]
    ended = subprocess.run([sys.executable, __file__, '--json', *arguments], check=False,
                           stdout=subprocess.PIPE, text=True)
    if ended.returncode:
        sys.exit(ended.returncode)
    return json.loads(ended.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--items', type=int, default=1_000_000)
    parser.add_argument('--nodes', type=int, default=1000)
    parser.add_argument('--slots', type=int, default=8, help='jobs of a node (8)')
    parser.add_argument('--faults', type=float, default=1, help='how many times as often (1)')
    parser.add_argument('--store', choices=LATENCY, default='tmpfs')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--folder', default='/dev/shm' if os.access('/dev/shm', os.W_OK) else
                        tempfile.gettempdir(), help='for the markers: a tmpfs (/dev/shm)')
    parser.add_argument('--files', choices=('real', 'memory'), default='real')
    parser.add_argument('--small', action='store_true')
    parser.add_argument('--table', action='store_true')
    parser.add_argument('--json', action='store_true', help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        if options.table:
            found = [run_alone(options, items=items, files=files) for items, files in (
                (10_000, 'real'), (100_000, 'real'), (10_000, 'memory'), (100_000, 'memory'),
                (options.items, 'memory'))]
            found += [run_alone(options, items=20_000, store=store, files='memory')
                      for store in OPERATIONS]
        elif options.small:
            options.faults = 4
            found = [run_alone(options, items=6000, nodes=60, files='memory'),
                     run_alone(options, items=1000, nodes=10, files='memory'),
                     run_alone(options, items=1000, nodes=10),
                     run_alone(options, items=1500, nodes=60, store='s3', files='memory')]
            for name in FAULTS:
                need(found[0]['happened'].get(name), f'nothing {name}: --seed {options.seed}')
            need(found[0]['again'].get('had not ended'), 'no deadline ended a job')
            for name in 'counts', 'happened', 'first', 'jobs', 'resume', 'hours':
                need(found[1][name] == found[2][name],
                     f'in memory and in a folder {name} differ: {found[1][name]}, '
                     f'{found[2][name]}')
        else:
            found = [simulate(options)]
    except AssertionError as problem:
        sys.exit(f'archive_simulation: {problem} (--seed {options.seed})')
    if options.json:
        print(json.dumps(found[0]))
        return
    print(f'Python {platform.python_version()}, seed {options.seed}, {options.folder}')
    print_table(found, options.nodes * options.slots)
    print(summary(found))


if __name__ == '__main__':
    main()
