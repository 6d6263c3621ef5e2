#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Simulates integralhist-archive with a thousand nodes and a million files

    archive_simulation.py [--items N] [--nodes N] [--store tmpfs|nfs|s3] [--seed N]
                          [--folder FOLDER] [--small]

The driver, the plan and the markers are the real ones. Nodes, jobs and time are simulated: a job
has a time to end, and the clock jumps there. So what is measured is the driver's own work, and what
is checked is its logic.

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
published of NFS as a service or of an object store (archive_files.py). The driver waits for each of
them.

Markers and tables are files in memory, which take half the time, or with --folder real files there.
Both have the same counts. "Peak memory" is what a run adds to the process, with the simulated nodes
and without these files.

--small is the test: 6,000 items on 60 nodes with four times as many faults, fewer on an object
store, and fewer both in memory and in a folder. It prints what the first of them measured.
"""
import argparse
import collections
import hashlib
import math
import os
import platform
import resource
import sys
import tempfile
import time
import types

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'python/integralhist-archive'))
from archive_engine import (FAULTS, SLOTS, TABLE, Clock, Engine, Killed, Video,  # noqa: E402
                            index_of, is_given_twice, is_there, name_of, need, table_name)
from archive_files import (LATENCY, OPERATIONS, Files, Folder, Memory, requests,  # noqa: E402
                           waits)
from integralhist.archive import commit, lease, plan  # noqa: E402
from integralhist.archive.driver import Deadline, Driver  # noqa: E402

RETRIES, DEADLINE = 3, '10x'  # as integralhist-archive has them


class Report:
    """Counts, and what became of each item: a byte each"""

    STATES = 'none', 'there', 'done', 'bad', 'given up'

    def __init__(self, options, clock):
        self.counts, self.became = collections.Counter(), bytearray(options.items)
        self.clock, self.told, self.every, self.times = clock, 0, options.items // 100, []

    def __call__(self, item, state, reason, frames):
        self.counts[state] += 1
        if state == 'again':
            self.counts['late'] += reason.startswith('had not ended')
            return
        index = index_of(item['name'])
        before, now = self.became[index], self.STATES.index(state)
        if state == 'there':  # given twice, or a driver was killed before it told the end
            self.became[index] = before or now
            return
        # a run reports `done` once; each driver reports the other states
        need(before < 2 or (before == now and state != 'done'),
             f'{item["name"]}: {self.STATES[before]}, and then {state}')
        need(state == 'done' or reason, f'{item["name"]}: no reason')
        self.became[index] = now
        self.told += 1
        if self.told % self.every == 0:
            self.times.append(self.clock.now)


class Run:
    """One driver from its start to its end, with its counts and times

    It is killed after `kill_after` started jobs, or stopped after `stop_after` reported items.
    """

    def __init__(self, engine, items, report, kill_after=math.inf, stop_after=math.inf):
        files, clock = engine.files, engine.clock
        before = {who: collections.Counter(counts) for who, counts in files.counts.items()}
        started, began, cpu = engine.started, clock.now, time.thread_time_ns() - engine.cpu
        self.told, self.killed = 0, False

        def hear(*arguments):
            with engine.others():
                report(*arguments)
                self.told += 1
                if self.told == stop_after:
                    driver.stop()

        driver = Driver(engine, engine.out, RETRIES, Deadline(DEADLINE), hear, clock)
        engine.kill_after = started + kill_after
        try:
            driver.run(items)
        except Killed:
            self.killed = True
        need(self.killed or self.told == stop_after
             or not (driver.keys or driver.flying or driver.again),
             f'it kept {len(driver.keys)} keys')
        self.cpu = (time.thread_time_ns() - engine.cpu - cpu) / 1e9
        self.hours, self.started = (clock.now - began) / 3600, engine.started - started
        self.counts = {who: files.counts[who] - counts for who, counts in before.items()}


def write_names(folder, options):
    """Writes two lists of paths: all names, and the names that no run does again"""
    paths = [os.path.join(folder, name) for name in ('all.txt', 'settled.txt')]
    with open(paths[0], 'w', encoding='utf-8') as names, \
         open(paths[1], 'w', encoding='utf-8') as settled:
        for name in map(name_of, range(options.items)):
            names.write(f'{name}\n' * (2 if is_given_twice(name) else 1))
            if Video(options.seed, name).kind in ('good', 'bad'):
                settled.write(f'{name}\n')
    return paths


def check(out, options, report, files):
    """Checks what must hold at the end. Returns how many items there are of each kind"""
    wanted = {'good': ('done', 'there'), 'bad': ('bad',), 'aborting': ('given up',),
              'missing': ('given up',)}
    kinds, markers = collections.Counter(), collections.Counter()
    for name in map(name_of, range(options.items)):
        kind = Video(options.seed, name).kind
        kinds[kind] += 1
        became = Report.STATES[report.became[index_of(name)]]
        need(became in wanted[kind], f'{name} is {kind}, and became {became}')
    for found in commit.markers(out, '_done'):
        table = TABLE + found['key'].encode()
        need(found['files'] == {table_name(found['key']): {
            'sha256': hashlib.sha256(table).hexdigest(), 'bytes': len(table)}}, f'_done: {found}')
        markers[Video(options.seed, found['video']).kind] += 1
    need(markers == {'good': kinds['good']}, f'_done: {markers} of {kinds}')
    for found in commit.markers(out, '_failed'):
        kind = Video(options.seed, found['item']['name']).kind
        need(kind != 'good' and found['reason'] and found['bad'] == (kind == 'bad'),
             f'_failed of a {kind} one: {found}')
        markers[kind] += 1
    need(markers == kinds, f'markers of {markers}, items of {kinds}')
    need((problem := next(commit.verify(out), None)) is None, problem)
    left = {os.path.join(out, folder, name) for folder in ('_aside', '_running')
            for name in files.listdir(os.path.join(out, folder))
            # all jobs are of this process, which lives
            if folder == '_running' or f'.{lease.owner()}.' not in name}
    orphans = set(commit.orphans(out, -60))  # of any age
    need(orphans == left, f'gc would take or leave {sorted(orphans ^ left)[:3]}')
    return kinds


def simulate(options, **changes):
    """Runs it all, and checks it. Returns what was measured"""
    options = types.SimpleNamespace(**{**vars(options), **changes})
    began, clock = time.monotonic(), Clock()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        names, settled = write_names(folder, options)
        out = os.path.join(folder, 'out')
        disk = Folder if options.folder else Memory(2 * options.items)
        files = Files(disk, options.store, clock, is_there)
        commit.prepare(out)
        base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        def items(path):
            settings = {'histogram': {'bins': 16}, 'regions': {'boxes': [[0, 0, 160, 120]]}}
            for number, item in enumerate(plan.Plan(settings, [f'@{path}']), 1):
                yield item
                if number % 100_000 == 0:
                    print(f'  {number:,} items, {time.monotonic() - began:.0f} s here, '
                          f'{clock.now / 3600:.2f} h there', file=sys.stderr, flush=True)

        engine = Engine(files, out, options.seed, options.nodes, options.faults)
        report = Report(options, clock)
        killed = Run(engine, items(names), report,
                     kill_after=min(options.items // 3, 2 * options.nodes * SLOTS))
        need(killed.killed, 'the driver was not killed')
        first = Run(engine, items(names), report)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base
        happened = collections.Counter(engine.happened)
        kinds = check(out, options, report, files)
        settled_count, nobody = kinds['good'] + kinds['bad'], Report(options, clock)
        stopped = Run(engine, items(settled), Report(options, clock), stop_after=100)
        need(stopped.told == 100, f'stopped after 100 items, told of {stopped.told}')
        again = Run(engine, items(settled), nobody)
        need(again.started == 0 and again.counts['driver']['remove'] == 0,
             f'a second run started {again.started} jobs')
        need(nobody.counts == {'there': kinds['good'], 'bad': kinds['bad']},
             f'a second run told {nobody.counts}')

    def each(counts, count):
        return {name: counts[name] / count for name in OPERATIONS}

    def both(who):
        return each(killed.counts[who] + first.counts[who], options.items)

    low, high, nine = (report.times[share * len(report.times) // 100] for share in (10, 90, 98))
    return types.SimpleNamespace(
        items=options.items, nodes=options.nodes, store=options.store,
        files='real' if options.folder else 'memory', kinds=kinds,
        told=report.counts, happened=happened, most=engine.most, memory=memory / 1024,
        rate=0.8 * options.items / (high - low), nine=nine / 3600, hours=killed.hours + first.hours,
        job=engine.busy / engine.started, cpu=(killed.cpu + first.cpu) / options.items,
        driver=both('driver'), jobs=both('job'), again_cpu=again.cpu / settled_count,
        again=each(again.counts['driver'], settled_count), seconds=time.monotonic() - began)


def table(*rows):
    for row in rows[0], ['---'] * len(rows[0]), *rows[1:]:
        print('| ' + ' | '.join(row) + ' |')
    print()


def print_run(run):
    table(('items', 'files', 'store', 'jobs in flight', 'driver CPU an item, us',
           'items a CPU second', 'peak memory, MiB', 'jobs a second there', '99 % after, h',
           'all after, h', 'seconds here'),
          (f'{run.items:,}', run.files, run.store, f'{run.most:,}', f'{run.cpu * 1e6:.0f}',
           f'{1 / run.cpu:,.0f}', f'{run.memory:.0f}', f'{run.rate:.1f}', f'{run.nine:.2f}',
           f'{run.hours:.2f}', f'{run.seconds:.0f}'))
    kinds, happened = ('good', 'bad', 'aborting', 'missing'), (
        'nodes died', 'nodes cut off', 'crashed', 'hung', 'unheard', 'committed')
    table(('items', 'store', *kinds, 'tried again', *happened),
          (f'{run.items:,}', run.store, *(f'{run.kinds[name]:,}' for name in kinds),
           f'{run.told["again"]:,}', *(f'{run.happened[name]:,}' for name in happened)))
    table(('operations an item', *OPERATIONS),
          *((text, *(f'{counts[name]:.2f}' for name in OPERATIONS)) for text, counts in (
              ('driver, first run', run.driver), ('jobs', run.jobs),
              ('driver, a run that does nothing', run.again))))


def print_stores(run):
    """Prints the time of the same operations and the same work of the driver on each store"""
    rows, total = [], {name: run.driver[name] + run.jobs[name] for name in OPERATIONS}
    for store in LATENCY:
        wait = waits(store, run.driver)
        item = run.cpu + wait
        again = run.again_cpu + waits(store, run.again)
        reads, writes = (count * run.nodes * SLOTS / run.job for count in requests(store, total))
        rows.append((store, f'{wait * 1e3:.1f}', f'{1 / item:,.1f}',
                     *(f'{job / item / SLOTS:,.0f}' for job in (run.job, 600)),
                     f'{item * 1e6 / 3600:.2f}', f'{again * 1e6 / 3600:.2f}',
                     f'{reads:,.0f} read, {writes:,.0f} write'))
    table(('store', 'it waits an item, ms', 'items a second',
           f'nodes it feeds, jobs of {run.job:.0f} s', 'jobs of 10 min', 'a million files, h',
           'a run that does nothing, h', 'requests of all jobs at once, a second'), *rows)
    print(f'Requests to S3 for a million files: {dollars(total):.2f} dollars, and '
          f'{dollars(run.again):.2f} for a run that does nothing\n')


def dollars(counts):
    """S3 Standard, us-east-1, for a million items: aws.amazon.com/s3/pricing. Removing is free"""
    return (0.4 * (counts['stat'] + counts['look'] + counts['read'])
            + 5 * (counts['write'] + counts['rename']))


def run_small(options):
    options.faults = 4
    run = simulate(options, items=6000, nodes=60)
    for name in FAULTS:
        need(run.happened[name], f'nothing {name}')
    need(run.told['late'], 'no deadline ended a job')
    simulate(options, items=1500, nodes=60, store='s3')
    one, other = (simulate(options, items=1000, nodes=10, folder=folder)
                  for folder in (None, options.folder or tempfile.gettempdir()))
    for name in 'told', 'happened', 'driver', 'jobs', 'again', 'hours':
        found = [getattr(one, name), getattr(other, name)]
        need(found[0] == found[1], f'in memory and in a folder, {name}: {found}')
    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--items', type=int, default=1_000_000)
    parser.add_argument('--nodes', type=int, default=1000)
    parser.add_argument('--store', choices=LATENCY, default='tmpfs')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--folder', help='for real files: a tmpfs (/dev/shm)')
    parser.add_argument('--small', action='store_true')
    parser.set_defaults(faults=1)
    options = parser.parse_args()
    print(f'Python {platform.python_version()}, seed {options.seed}')
    try:
        run = run_small(options) if options.small else simulate(options)
    except AssertionError as problem:
        sys.exit(f'archive_simulation: {problem} (--seed {options.seed})')
    print_run(run)
    print_stores(run)
    print(f'archive_simulation: {run.items:,} items on {run.nodes:,} nodes: '
          f'{run.kinds["good"]:,} committed once, {run.items - run.kinds["good"]:,} told with '
          f'their reason')


if __name__ == '__main__':
    main()
