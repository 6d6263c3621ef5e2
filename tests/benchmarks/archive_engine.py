# SPDX-License-Identifier: LGPL-2.1-or-later
"""The nodes and jobs of archive_simulation.py, as an engine of integralhist-archive"""
import collections
import contextlib
import hashlib
import heapq
import itertools
import math
import os
import random
import statistics
import time
import zlib

from integralhist.archive import commit, plan
from integralhist.archive.child import Outcome

SLOTS = 8  # jobs of a node

# Videos: half of a random sample of YouTube are shorter than 64 s (McGrady and others, "Dialing for
# Videos", 2023). The spread is an assumption: with it 1 % takes 45 minutes and more.
MEDIAN, SPREAD, SHORTEST, LONGEST = 64, 1.6, 2, 4 * 3600
# Assumptions of a job: 300 frames a second of videos with 30, and Python and GStreamer first
SPEED, TO_BEGIN = 10, 1.0
# Assumptions about failures, as shares of files and of tries; worse than one would hope for
BAD, ABORTING = 0.005, 0.0005
CRASH, HANG, UNHEARD, STRAGGLE = 0.003, 0.0005, 0.001, 0.005
# Failures of nodes: seconds between two failures of a node, and until it is back; two of three die,
# and one is cut off. The engine notices after some 25 s (engines/ray.py), and counts slots each 5 s
NODE_LIVES, NODE_IS_AWAY, NOTICED, COUNTED = 24 * 3600, 600, 25, 5

FAULTS = 'nodes died', 'nodes cut off', 'crashed', 'hung', 'straggled', 'unheard', 'stopped'
FOR_EVER = 1e7  # seconds after which something hangs
TABLE = b'as a table of Parquet '


def table_name(key):
    return f'regions/{key}-{hashlib.sha256(TABLE + key.encode()).hexdigest()[:8]}.parquet'


def need(truth, text):
    if not truth:
        raise AssertionError(text)


def name_of(index):
    return f'/videos/{index:07d}.mp4'


def index_of(name):
    return int(name[-11:-4])


def is_there(name):
    return index_of(name) % 1000 != 777


def is_given_twice(name):
    return index_of(name) % 1000 == 500


class Video:
    """The properties of an item, computed from its name, so that they are always the same"""

    NORMAL = statistics.NormalDist()

    def __init__(self, seed, name):
        def share(what):
            return (zlib.crc32(f'{seed} {what} {self.index}'.encode()) + 0.5) / 2**32

        self.index = index_of(name)
        seconds = MEDIAN * math.exp(SPREAD * self.NORMAL.inv_cdf(share('seconds')))
        self.seconds = min(max(seconds, SHORTEST), LONGEST)
        kind = share('kind')
        self.kind = ('missing' if not is_there(name) else 'bad' if kind < BAD else
                     'aborting' if kind < BAD + ABORTING else 'good')


class Node:
    def __init__(self):
        self.up, self.jobs = True, set()

    def in_order(self):
        """The jobs of the node, in the same order in each run of a seed"""
        return sorted(self.jobs, key=lambda job: job.video.index)


class Job:
    """`alive`: the job goes on; `heard`: the engine will report that it ended"""

    def __init__(self, item, video):
        self.item, self.video, self.node = item, video, None
        self.alive = self.heard = True


class Killed(Exception):
    """Raised to kill the driver"""


class Clock:
    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class Engine:
    """Nodes with jobs, an engine as engines/__init__.py describes it. A node that comes back is a
    new one. wait () returns one job each time"""

    is_shared = False

    def __init__(self, files, out, seed, nodes, faults):
        self.files, self.clock, self.out, self.seed = files, files.clock, out, seed
        self.random, self.faults = random.Random(seed), faults
        self.events, self.number = [], itertools.count()  # a heap by time
        self.ended, self.queue = collections.deque(), collections.deque()
        all_nodes = [Node() for _ in range(nodes)]
        self.free = collections.deque(all_nodes * SLOTS)  # each as often as it has free slots
        self.up = self.known = nodes
        self.looked = self.started = self.most = self.cpu = self.busy = 0
        self.kill_after, self.happened = math.inf, collections.Counter()
        files.go_on = self.go_on
        for node in all_nodes:
            self.lose_later(node)

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
        """Counts work on files and processor time in this block as not the driver's"""
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

    # functions that the driver calls

    def slots(self):
        if self.clock.now - self.looked >= COUNTED:
            self.go_on()
            self.looked, self.known = self.clock.now, self.up
        return self.known * SLOTS

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
            if self.started > self.kill_after:
                raise Killed
            until = self.clock.now + seconds
            while not self.ended and self.events[0][0] <= until:
                self.run_event()
            if not self.ended:
                self.clock.now = until
            while self.ended:
                job, outcome = self.ended.popleft()
                if job in handles:  # and not stopped meanwhile
                    return [(job, outcome)]
            return []

    def stop(self, job):
        with self.others():
            self.happened['stopped'] += 1
            job.heard = False
            if job.node is None or job.node.up:
                self.kill(job)

    def close(self):
        pass

    # jobs

    def place(self):
        while self.queue and self.free:
            if not self.queue[0].alive:
                self.queue.popleft()
            elif (node := self.free.popleft()).up:
                job = self.queue.popleft()
                job.node = node
                node.jobs.add(job)
                self.begin(job)

    def begin(self, job):
        chance = self.random.random
        takes = TO_BEGIN + job.video.seconds / SPEED
        self.busy += takes
        if job.video.kind == 'bad':
            self.at(TO_BEGIN, self.end, job, Outcome('bad', 'no video stream'))
            return
        if job.video.kind == 'aborting':
            self.at(TO_BEGIN, self.end, job, Outcome('again', 'ended by SIGABRT'))
            return
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
            commit.note(self.out, '_running', job.item['key'], {'seconds': job.video.seconds})

    def write(self, job):
        """Writes the table and the marker, as job.py does at its end"""
        if not job.alive:
            return
        seen, frames = plan.fingerprint(job.item), round(job.video.seconds * 30)
        with commit.Commit(self.out, job.item['key']) as writing:
            writing.open('regions').write(TABLE + job.item['key'].encode())
            plan.fingerprint(job.item)
            writing.done({'video': job.item['name'], 'fingerprint': seen,
                          'settings': job.item['settings'], 'frames': frames, 'warnings': []})
        self.happened['committed'] += 1
        if self.random.random() < UNHEARD * self.faults:
            self.happened['unheard'] += 1
            self.end(job, Outcome('again', 'its worker is gone'))
        else:
            self.end(job, Outcome('done', frames=frames))

    def end(self, job, outcome):
        if not job.alive:
            return
        job.alive = False
        if job.node:
            job.node.jobs.discard(job)
            if job.node.up:
                self.free.append(job.node)
        if job.heard:
            self.ended.append((job, outcome))
        self.place()

    def leave(self, job):
        """Leaves what a killed job had written: nothing, half a table aside, or a table"""
        what = self.random.randrange(3) if job.node else 0
        if not what or job.video.kind != 'good':
            return
        key, disk = job.item['key'], self.files.disk
        path = (commit.aside(self.out, f'{key}.regions') if what == 1 else
                os.path.join(self.out, table_name(key)))
        if not self.files.exists(path):
            with disk.open(path, 'wb') as file:
                file.write(TABLE[:7] if what == 1 else TABLE + key.encode())
                file.flush()

    def crash(self, job):
        if job.alive:
            self.happened['crashed'] += 1
            self.leave(job)
            self.end(job, Outcome('again', 'ended by SIGSEGV'))

    def kill(self, job):
        """Kills a job without a report to the engine"""
        if job.alive:
            job.heard = False
            self.leave(job)
            self.end(job, None)

    # nodes

    def lose_later(self, node):
        self.at(self.random.expovariate(self.faults / NODE_LIVES), self.lose, node)

    def lose(self, node):
        dies = self.random.random() < 2 / 3
        self.happened['nodes died' if dies else 'nodes cut off'] += 1
        node.up = False
        self.up -= 1
        for job in node.in_order():
            if job.heard:
                self.at(NOTICED, self.give_up, job)
            if dies:
                job.alive = False
                self.leave(job)
        if dies:
            node.jobs.clear()
        self.at(NODE_IS_AWAY * self.random.uniform(0.2, 2), self.replace, node)

    def give_up(self, job):
        """The engine gives the job up. On a node that was cut off the job may go on, and commit"""
        if job.heard:
            job.heard = False
            self.ended.append((job, Outcome('again', 'WorkerCrashedError')))

    def replace(self, node):
        for job in node.in_order():
            self.kill(job)
        new = Node()
        self.up += 1
        self.free.extend([new] * SLOTS)
        self.lose_later(new)
        self.place()
