# SPDX-License-Identifier: LGPL-2.1-or-later
"""Gives items to an engine, tries again, and watches deadlines

The markers in OUT say what is done, not the engine. The driver keeps only the items in flight, and
may be killed at any time. The work for one item does not depend on the number of items
in flight: tests/benchmarks/archive_simulation.py has ten thousand of them.
"""
import contextlib
import heapq
import math
import time

from integralhist import printable
from integralhist.archive import commit
from integralhist.archive.child import Outcome
from integralhist.archive.plan import fingerprint, is_uri

TO_BEGIN = 600  # seconds until a job must run, or is given to the engine anew
TO_START = 120  # seconds from the begin until it must have read its first frame
LEAST = 60      # seconds that each may take
ENDLESS = 3600  # seconds for a video that does not say how long it is
LOOK = 5        # seconds between two looks at a job's note about its video
LONGEST = 30    # seconds until the next try; the first comes after 1, the second after 2
SWEEP = 1       # seconds between two looks at all jobs in flight, and the most to start jobs


class Deadline:
    """How long a file may take: "10x" times its duration, or a number of seconds"""

    def __init__(self, text):
        self.factor = float(text[:-1]) if text.endswith('x') else None
        self.seconds = None if self.factor else float(text)
        if not 0 < (self.factor or self.seconds) < math.inf:
            raise ValueError(text)
        self.look_after = min(LEAST, self.seconds or LEAST)  # most jobs have ended by then

    def is_over(self, attempt, out, now):
        """`attempt.look_again` is the time when the answer may change"""
        if now < attempt.look_again:
            return False
        running = None
        if attempt.most is None:
            with contextlib.suppress(OSError):  # OUT may be away for a moment
                running = commit.marker(out, '_running', attempt.item['key'])
        if running is not None and attempt.begun is None:
            attempt.begun = now
        if attempt.begun is not None:
            if self.seconds:
                attempt.most = self.seconds
            elif running and 'seconds' in running:
                attempt.most = max(LEAST, self.factor * (
                    running['seconds'] or ENDLESS / self.factor))
        if attempt.begun is None:
            attempt.look_again = now + LOOK
            return now - attempt.started > TO_BEGIN
        most = TO_START if attempt.most is None else attempt.most
        attempt.look_again = now + LOOK if attempt.most is None else attempt.begun + most
        return now - attempt.begun > most


class Attempt:
    def __init__(self, item, seen):
        self.item, self.seen, self.reasons = item, seen, []
        self.started = self.look_again = 0
        self.begun = None  # when the job was first seen to run
        self.most = None   # seconds that the job may take, once known


class Driver:
    def __init__(self, engine, out, retries, deadline, report, clock=time, bad_too=False):
        """`report (item, state, reason, frames)` is called for each item. `state` is "there" (done
        before), "done", "bad", "given up", or "again" (there is another try). `clock` has
        monotonic () and sleep (). `bad_too` also tries items that are known to be bad"""
        self.engine, self.out, self.retries, self.deadline = engine, out, retries, deadline
        self.report, self.clock, self.stopped = report, clock, False
        self.flying, self.keys = {}, set()  # keys of items in flight or to be tried again
        self.again, self.added = [], 0      # a heap by the earliest time of the next try
        self.swept, self.bad_too = clock.monotonic(), bad_too

    def stop(self):
        """Ends run () soon, from any thread or a signal's handler"""
        self.stopped = True

    def run(self, items):
        self.items = iter(items)
        more = True
        try:
            while not self.stopped:
                until = self.clock.monotonic() + SWEEP
                while len(self.flying) < self.engine.slots() and self._has_time(until):
                    attempt, more = self._next(until)
                    if attempt is None or not self._start(attempt):
                        break
                if not (self.flying or self.again or more):
                    return
                has_time = self._has_time(until)  # if not, there may be more to start at once
                if self.flying:
                    self._settle_ended(0.5 if has_time else 0)
                    self._end_late()
                elif has_time:
                    self.clock.sleep(0.1)
        finally:
            for handle in self.flying:
                self.engine.stop(handle)
            self.flying.clear()

    def _has_time(self, until):
        return self.clock.monotonic() < until and not self.stopped

    def _next(self, until):
        """Returns (attempt or None, whether more may come), in time even if all items are done"""
        if self.again and self.again[0][0] <= self.clock.monotonic():
            return heapq.heappop(self.again)[-1], True
        for item in self.items:
            item = {**item, 'out': self.out}
            if item['key'] in self.keys:
                self.report(item, 'there', '', 0)  # the input was given twice
                continue
            seen = {}
            try:
                seen = fingerprint(item)
                state, reason = commit.state(self.out, item, seen)
            except OSError as problem:
                self._fail(Attempt(item, seen), 'given up',
                           f'{printable(str(problem.filename))}: {problem.strerror}')
            else:
                if state == 'open' or state == 'bad' and self.bad_too:
                    return Attempt(item, seen), True
                self.report(item, 'there' if state == 'done' else 'bad', reason, 0)
            if not self._has_time(until):
                return None, True
        return None, False

    def _start(self, attempt):
        """Returns whether more may be started"""
        with contextlib.suppress(OSError):
            commit.remove_marker(self.out, '_running', attempt.item['key'])
        attempt.started = self.clock.monotonic()
        attempt.look_again = attempt.started + self.deadline.look_after
        # if no job waits for a place, all jobs begin at once
        attempt.begun = None if self.engine.is_shared else attempt.started
        attempt.most = None
        self.keys.add(attempt.item['key'])
        try:
            self.flying[self.engine.start(attempt.item)] = attempt
        except OSError as problem:  # no memory for a process, or too many open files
            outcome = Outcome('again', f'cannot be started: {problem.strerror}; give fewer --jobs')
            self._settle(attempt, outcome, is_try=not self.flying)
            return False
        return True

    def _settle_ended(self, seconds):
        """Settles the jobs that have ended. Returns whether there were any"""
        ended = self.engine.wait(self.flying, seconds)
        for handle, outcome in ended:
            self._settle(self.flying.pop(handle), outcome)
        return bool(ended)

    def _end_late(self):
        if self.clock.monotonic() - self.swept < SWEEP:
            return
        while self.flying and self._settle_ended(0):
            pass  # a job that has ended is not late, however long it waited for a slow OUT
        self.swept = now = self.clock.monotonic()
        for handle, attempt in list(self.flying.items()):
            if self.deadline.is_over(attempt, self.out, now):
                del self.flying[handle]
                self.engine.stop(handle)
                begun = attempt.begun is not None
                reason = (f'had not {"ended" if begun else "begun"} after '
                          f'{now - attempt.started:.0f} s' + '; --deadline gives more' * begun)
                # or others have the places of a shared engine
                self._settle(attempt, Outcome('again', reason),
                             is_try=begun or not self.engine.is_shared)

    def _settle(self, attempt, outcome, is_try=True):
        if self.stopped and outcome.state == 'again':
            return  # Ctrl-C ended it
        key, found = attempt.item['key'], None
        try:
            commit.remove_marker(self.out, '_running', key)
            found = commit.fresh_marker(self.out, '_done', key)
            # also if the engine lost sight of a job that ended well
            is_done = found and (outcome.state == 'done' or found['fingerprint'] == attempt.seen
                                 and commit.are_there(self.out, found['files']))
            if is_done:
                commit.remove_marker(self.out, '_failed', key)
            elif found and outcome.state == 'bad':  # the marker is of another version of the video
                commit.remove_marker(self.out, '_done', key)
        except OSError as problem:
            is_done, outcome = False, Outcome('again', f'{self.out}: {problem.strerror}')
        if is_done:
            self.keys.discard(key)
            self.report(attempt.item, 'done', '; '.join(found['warnings']), found['frames'])
            return
        if outcome.state == 'bad':
            self._fail(attempt, 'bad', outcome.reason)
            return
        reason = outcome.reason or 'said that it was done, and left no marker'
        if is_try:
            attempt.reasons.append(reason)
        if len(attempt.reasons) > self.retries:
            self._fail(attempt, 'given up', reason)
            return
        self.report(attempt.item, 'again', reason, 0)
        self.added += 1  # so that the heap never compares two attempts
        pause = min(2 ** max(0, len(attempt.reasons) - 1), LONGEST)
        heapq.heappush(self.again, (self.clock.monotonic() + pause, self.added, attempt))

    def _fail(self, attempt, state, reason):
        item = {name: attempt.item[name] for name in ('key', 'name', 'settings', 'detections')}
        item['video'] = attempt.item['video']
        if is_uri(item['video']):
            item['video'] = item['name']  # without a login
        try:
            commit.write_marker(self.out, '_failed', item['key'], {
                'item': item, 'fingerprint': attempt.seen, 'bad': state == 'bad',
                'reason': reason, 'attempts': len(attempt.reasons) or 1})
        except OSError as problem:  # the next run tries again
            reason += f'; and that could not be noted: {problem.strerror}'
        self.keys.discard(item['key'])
        self.report(attempt.item, state, reason, 0)
