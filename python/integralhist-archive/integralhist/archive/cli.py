# SPDX-License-Identifier: LGPL-2.1-or-later
"""integralhist-archive: regions, tracks and likelihoods of many videos, as Parquet

    integralhist-archive run SETTINGS.toml 'videos/*.mp4' --out OUT
    integralhist-archive status OUT

It may be killed at any time. The same command goes on, and does what is not done. docs/archive.md
has SETTINGS.toml, the tables, and how to run it on many machines.
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import sys
import time

from integralhist import console
from integralhist.archive import commit
from integralhist.archive.child import Child
from integralhist.archive.driver import Deadline, Driver
from integralhist.archive.engines import EngineGone
from integralhist.archive.lease import Lease
from integralhist.archive.plan import Plan, digest
from integralhist.archive.settings import PlanError, place, read_settings

SHOWN = 20      # reasons that are printed at the end; status has all
TO_CHECK = 330  # seconds until the elements must have checked their properties


class Failure(Exception):
    """An error that ends the command, with a text for users"""


class Report:
    """A progress bar, and the summary at the end"""

    def __init__(self, total, out):
        try:
            from tqdm import tqdm
        except ImportError:
            raise Failure('there is no tqdm: pip install tqdm') from None
        self.out, self.counts, self.failed, self.frames = out, dict.fromkeys(
            ('there', 'done', 'bad', 'given up', 'again'), 0), [], 0
        self.total, self.warned = total, 0  # warned: done items that have a warning
        self.started = time.monotonic()
        # stderr may be closed
        self.log = sys.stderr or open(os.devnull, 'w', encoding='utf-8')
        self.bar = tqdm(total=total, unit='file', file=self.log, dynamic_ncols=True, smoothing=0.1,
                        mininterval=0.5 if self.log.isatty() else 10)

    def __call__(self, item, state, reason, frames):
        self.counts[state] += 1
        self.frames += frames
        if state == 'again':
            self.bar.write(f'{item["name"]}: {reason}; trying again', file=self.log)
            return
        if reason:
            self.warned += state == 'done'
            if len(self.failed) < SHOWN:
                self.failed.append(f'{item["name"]}: {state}: {reason}')
        if state == 'there':  # took no time, so it says nothing about the time of the rest
            self.bar.initial += 1
        self.bar.set_postfix_str(
            f'{self.frames / (time.monotonic() - self.started):.0f} frames/s', refresh=False)
        self.bar.update()

    def close(self, stopped):
        """Prints the last lines. Returns the exit status"""
        counts, seconds = self.counts, time.monotonic() - self.started
        failures = counts['bad'] + counts['given up']
        # there are more items if files were added in the meantime
        left = max(0, self.total - counts['there'] - counts['done'] - failures)
        self.bar.close()
        for text in self.failed:
            print(text)
        more = failures + self.warned - len(self.failed)
        if more:
            print(f'and {more} more: integralhist-archive status '
                  f'{self.out}')
        warned = f' ({self.warned} with warnings)' if self.warned else ''
        print(f'{counts["done"]} done{warned}, {counts["there"]} there before, '
              f'{counts["bad"]} bad, '
              f'{counts["given up"]} given up, {left} left; {self.frames} frames in '
              f'{seconds:.1f} s' + (', stopped' if stopped else ''))
        return 130 if stopped else 1 if failures or left else 0


def make_engine(options):
    if options.engine == 'local':
        from integralhist.archive.engines.local import Local
        return Local(options.python, options.jobs, options.gpus_per_file)
    from integralhist.archive.engines.ray import Ray
    try:
        return Ray(options.python, options.address, options.gpus_per_file, options.jobs)
    except ImportError:
        raise Failure("there is no Ray: pip install 'integralhist-archive[ray]', or take "
                      '--engine local') from None
    except (ConnectionError, RuntimeError, ValueError) as problem:
        raise Failure(f'Ray: {str(problem).strip().splitlines()[0]}') from None


def drive(options, items, total, settings=None, bad_too=False):
    engine = make_engine(options)
    if engine.slots() == 0:
        engine.close()
        raise Failure('the cluster has no ' + ('GPU' if options.gpus_per_file else 'core')
                      + ' for a job: wait for one, or take another --address')
    if settings is not None:
        commit.prepare(options.out)
    with Lease(options.out, 'driver'):
        if settings is not None:
            commit.write_marker(options.out, '', '_settings', settings)
        return drive_leased(options, engine, items, total, bad_too)


def drive_leased(options, engine, items, total, bad_too):
    report = Report(total, options.out)
    driver = Driver(engine, options.out, options.retries, options.deadline, report,
                    bad_too=bad_too)

    def stop(number, _):
        signal.signal(number, signal.SIG_DFL)  # a second signal kills
        driver.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    lost = None
    try:
        driver.run(items)
    except EngineGone as problem:
        lost = problem
    finally:
        engine.close()  # first, as Ray may print something
    ended = report.close(driver.stopped)
    if lost:
        raise lost
    return ended


def run(options):
    settings = read_settings(options.settings)
    plan = Plan(settings, options.inputs, options.shard)
    child = Child(settings, options.python, None if options.gpus_per_file else '', '--check')
    outcome = child.outcome(TO_CHECK)
    if 'where' in outcome.said:
        raise Failure(f'{place(options.settings, outcome.said["where"])}: {outcome.reason}')
    if 'versions' not in outcome.said:
        raise Failure(f'{options.settings}: {outcome.reason}' if 'reason' in outcome.said else
                      f'{options.python} cannot run jobs: {outcome.reason}')
    return drive(options, plan, sum(1 for _ in plan), settings)


def retry(options):
    need(options.out)
    failed = [marker['item'] for marker in commit.markers(options.out, '_failed')]
    return drive(options, failed, len(failed), bad_too=True)


def need(out):
    if not os.path.isdir(os.path.join(out, '_done')):
        raise Failure(f'{out}: no run was begun there. Give the --out of a run')


def status(options):
    need(options.out)
    count = frames = 0
    for marker in commit.markers(options.out, '_done'):
        count, frames = count + 1, frames + marker['frames']
        if marker['warnings']:
            print(f'{marker["video"]}: done: {"; ".join(marker["warnings"])}')
    failed, others = {True: 0, False: 0}, 0
    settings = digest(commit.marker(options.out, '', '_settings'))
    for marker in commit.markers(options.out, '_failed'):
        if commit.is_done(options.out, marker):
            continue  # after all
        if digest(marker['item']['settings']) != settings:
            others += 1
            continue
        failed[marker['bad']] += 1
        print(f'{marker["item"]["name"]}: {"bad" if marker["bad"] else "given up"}: '
              f'{marker["reason"]}')
    if others:
        print(f'{others} more have failed with other settings; retry tries these, too')
    running = len(os.listdir(os.path.join(options.out, '_running')))
    print(f'{count} done, {failed[True]} bad, {failed[False]} given up, {running} begun; '
          f'{frames} frames')
    return 0


def verify(options):
    need(options.out)
    wrong = 0
    for text in commit.verify(options.out, options.forget):
        wrong += 1
        print(text)
    count = len(list(commit.markers(options.out, '_done')))
    print(f'{count} videos, {wrong} files are not as they were committed')
    return 1 if wrong else 0


def gc(options):
    need(options.out)
    count = size = 0
    for path in commit.orphans(options.out, options.older * 3600, print):
        with contextlib.suppress(FileNotFoundError):
            size += os.lstat(path).st_size
            os.unlink(path)
            count += 1
    print(f'{count} files, {size} bytes removed')
    return 0


def shard(text):
    try:
        part, parts = map(int, text.split('/'))
    except ValueError:
        part = parts = -1
    if not 0 <= part < parts:
        raise argparse.ArgumentTypeError(f'"{text}" is not a shard: give I/N, with I from 0 to N-1')
    return part, parts


def deadline(text):
    try:
        return Deadline(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}": give 10x, times the video\'s duration, or '
                                         'seconds') from None


def at_least(least, kind=int):
    def convert(text):
        value = kind(text)
        if value < least:
            raise ValueError
        return value

    convert.__name__ = f'number of {least} or more'
    return convert


def main():
    parser = argparse.ArgumentParser(prog='integralhist-archive', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar='COMMAND')

    def command(function, text):
        added = commands.add_parser(function.__name__, help=text, description=text)
        added.set_defaults(run=function)
        return added

    begin = command(run, 'do what is not done')
    begin.add_argument('settings', metavar='SETTINGS.toml')
    begin.add_argument('inputs', nargs='+', metavar='INPUT',
                       help='a path, a glob, a URI, or @FILE with one of these in each line')
    begin.add_argument('--out', required=True, help='a folder, which is made')
    begin.add_argument('--shard', type=shard, default=(0, 1), metavar='I/N',
                       help='the I-th of N parts of the inputs, I from 0 on')
    again = command(retry, 'try again what is bad or was given up')
    for added in (begin, again):
        added.add_argument('--engine', choices=('local', 'ray'), default='local')
        added.add_argument('--address', metavar='HOST:PORT', help='of a Ray cluster; without, Ray '
                                                                  'runs on this machine')
        added.add_argument('--gpus-per-file', type=at_least(0, float), default=0, metavar='G',
                           help='0.5 runs two jobs on each GPU; 0 leaves GPUs alone (0)')
        added.add_argument('--jobs', type=at_least(1), metavar='N', help='most that run at once')
        added.add_argument('--retries', type=at_least(0), default=3, help='tries after the first '
                                                                          '(3)')
        added.add_argument('--deadline', type=deadline, default='10x', metavar='10x|SECONDS',
                           help="most that a file may take: 10x its duration and at least 60 s, "
                                'or seconds (10x)')
        added.add_argument('--python', default=sys.executable,
                           help='the Python of the jobs, which has PyGObject (this one)')
    for function, text in ((status, 'what is done, and what is not, and why'),
                           (verify, 'compare all files with the sha256 of their markers'),
                           (gc, 'remove what jobs left that were killed')):
        command(function, text)
    for added in commands.choices.values():
        if added is not begin:
            added.add_argument('out', metavar='OUT')
    commands.choices['verify'].add_argument('--forget', action='store_true',
                                            help='let the next run do again what is wrong')
    commands.choices['gc'].add_argument('--older', type=at_least(0, float), default=24,
                                        metavar='HOURS', help='leave what is newer (24)')
    options = parser.parse_args()
    options.out = os.path.abspath(options.out)
    if getattr(options, 'address', None) and options.engine != 'ray':
        parser.error('--address is for --engine ray: give both, or leave it out')
    if getattr(options, 'address', None) and not re.fullmatch(r'\S+:\d+', options.address):
        parser.error(f'--address {options.address}: give HOST:PORT')
    if getattr(options, 'python', None) and not shutil.which(options.python):
        parser.error(f'--python {options.python}: there is no such program. Give a path to Python')
    try:
        return options.run(options)
    except (EngineGone, Failure, PlanError) as problem:
        sys.exit(f'integralhist-archive: {problem}')
    except OSError as problem:
        sys.exit(f'integralhist-archive: {problem.filename or options.out}: '
                 f'{problem.strerror or problem}')
    except json.JSONDecodeError as problem:
        sys.exit(f'integralhist-archive: {options.out}: {problem}')


def program():
    console.run(main, goes_on=True)


if __name__ == '__main__':
    program()
