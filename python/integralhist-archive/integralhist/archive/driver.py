# SPDX-License-Identifier: LGPL-2.1-or-later
"""Gives items to an engine, tries again, and watches deadlines

Markers in OUT are the truth, not what an engine says. The driver keeps what is in flight and
nothing else, and may be killed at any time.
"""
import collections
import time

from integralhist.archive import commit
from integralhist.archive.child import Outcome
from integralhist.archive.plan import fingerprint

TO_START = 120  # seconds until a job must have read its first frame
LEAST = 60      # seconds that each may take
ENDLESS = 3600  # of a video that does not say how long it is
LOOK = 5        # seconds between two looks
LONGEST = 30    # seconds until the next try; the first comes after 1, the second after 2


class Deadline:
    """How long a file may take: "10x" times its duration, or a number of seconds"""

    def __init__(self, text):
        self.factor = float(text[:-1]) if text.endswith('x') else None
        self.seconds = None if self.factor else float(text)
        if (self.factor or self.seconds) <= 0:
            raise ValueError(text)

    def is_over(self, attempt, out):
        now = time.monotonic()
        taken = now - attempt.started
        if self.seconds:
            return taken > self.seconds
        if taken <= LEAST or now < attempt.look_again:
            return False
        attempt.look_again = now + LOOK
        running = commit.marker(out, '_running', attempt.item['key'])
        if running is None:
            return taken > TO_START
        return taken > max(LEAST, self.factor * (running['seconds'] or ENDLESS / self.factor))


class Attempt:
    def __init__(self, item, seen):
        self.item, self.seen, self.reasons = item, seen, []
        self.started = self.look_again = self.not_before = 0


class Driver:
    def __init__(self, engine, out, retries, deadline, report):
        """`report (item, state, reason, frames)` hears of each item: "there" already, "done",
        "bad", or "given up", or that it is tried "again" """
        self.engine, self.out, self.retries, self.deadline = engine, out, retries, deadline
        self.report, self.stopped = report, False
        self.flying, self.again = {}, collections.deque()

    def stop(self):
        """Ends run () soon, from any thread or a signal's handler"""
        self.stopped = True

    def run(self, items):
        self.items = iter(items)
        more = True
        try:
            while not self.stopped:
                while len(self.flying) < self.engine.slots() and not self.stopped:
                    attempt, more = self._next()
                    if attempt is None:
                        break
                    self._start(attempt)
                if not (self.flying or self.again or more):
                    return
                if self.flying:
                    for handle, outcome in self.engine.wait(self.flying, 0.5):
                        self._settle(self.flying.pop(handle), outcome)
                    self._end_late()
                else:
                    time.sleep(0.1)
        finally:
            for handle in self.flying:
                self.engine.stop(handle)
            self.flying.clear()

    def _next(self):
        """(attempt or None, whether more may come)"""
        now = time.monotonic()
        for _ in range(len(self.again)):
            attempt = self.again.popleft()
            if attempt.not_before <= now:
                return attempt, True
            self.again.append(attempt)
        for item in self.items:
            item = {**item, 'out': self.out}
            if any(attempt.item['key'] == item['key']
                   for attempt in (*self.flying.values(), *self.again)):
                self.report(item, 'there', '', 0)  # given twice
                continue
            try:
                seen = fingerprint(item)
            except OSError as problem:
                self._fail(Attempt(item, {}), 'given up', f'{problem.filename}: {problem.strerror}')
                continue
            state, reason = commit.state(self.out, item, seen)
            if state == 'open':
                return Attempt(item, seen), True
            self.report(item, 'there' if state == 'done' else 'bad', reason, 0)
        return None, False

    def _start(self, attempt):
        commit.remove_marker(self.out, '_running', attempt.item['key'])
        attempt.started = time.monotonic()
        self.flying[self.engine.start(attempt.item)] = attempt

    def _end_late(self):
        for handle, attempt in list(self.flying.items()):
            if self.deadline.is_over(attempt, self.out):
                del self.flying[handle]
                self.engine.stop(handle)
                taken = time.monotonic() - attempt.started
                self._settle(attempt, Outcome('again', f'had not ended after {taken:.0f} s'))

    def _settle(self, attempt, outcome):
        key = attempt.item['key']
        commit.remove_marker(self.out, '_running', key)
        found = commit.marker(self.out, '_done', key)
        # also where the engine lost sight of a job that ended well
        if found and (outcome.state == 'done' or found['fingerprint'] == attempt.seen):
            commit.remove_marker(self.out, '_failed', key)
            self.report(attempt.item, 'done', '', found['frames'])
            return
        if outcome.state == 'bad':
            self._fail(attempt, 'bad', outcome.reason)
            return
        attempt.reasons.append(outcome.reason or 'said that it was done, and left no marker')
        if len(attempt.reasons) > self.retries:
            self._fail(attempt, 'given up', attempt.reasons[-1])
            return
        self.report(attempt.item, 'again', attempt.reasons[-1], 0)
        attempt.not_before = time.monotonic() + min(2 ** (len(attempt.reasons) - 1), LONGEST)
        self.again.append(attempt)

    def _fail(self, attempt, state, reason):
        item = {name: attempt.item[name] for name in ('key', 'name', 'settings', 'detections')}
        item['video'] = item['name']  # without a login
        try:
            commit.write_marker(self.out, '_failed', item['key'], {
                'item': item, 'fingerprint': attempt.seen, 'bad': state == 'bad',
                'reason': reason, 'attempts': len(attempt.reasons) or 1})
        except OSError as problem:  # the next run tries again
            reason += f'; and that could not be noted: {problem.strerror}'
        self.report(attempt.item, state, reason, 0)
