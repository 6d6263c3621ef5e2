# SPDX-License-Identifier: LGPL-2.1-or-later
"""Leases: which processes work in OUT now, so that gc takes nothing from running jobs

    OUT/_leases/KEY.OWNER     an empty file; KEY is a job's, or "driver"

A lease is made before its owner writes anything else, and is removed once its marker is there. The
owner renews it (the time of the file) every RENEWED seconds, from a thread. It ends in three ways:

    the owner removes it
    the owner is a process of this machine, and has ended
    the owner is elsewhere, and has not renewed it for EXPIRY seconds (or gc's --older, if that is
    more) by the file system's clock, nor while gc watched it for WATCHED seconds by a clock
    that never jumps

So a clock that jumps, of any machine or of the file server, ends no lease: its owner renews it
while gc watches. A full disk ends none either, as a renewal needs no space.
"""
import contextlib
import errno
import functools
import hashlib
import os
import threading
import time
import uuid

RENEWED = 10
WATCHED = 35
EXPIRY = 300


@functools.cache
def _machine():
    """Returns a name of this machine, or of this container, that no other has"""
    with open('/proc/sys/kernel/random/boot_id', encoding='ascii') as file:
        boot = file.read()
    return hashlib.sha256(f'{boot} {os.readlink("/proc/self/ns/pid")}'.encode()).hexdigest()[:12]


def _process(pid):
    """(state, start time) of a process; None if it cannot be looked at"""
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
            fields = file.read().rpartition(')')[2].split()
    except OSError:
        return None
    return fields[0], fields[19]


@functools.cache
def _owner(pid):
    return f'{_machine()}-{pid}-{_process(pid)[1]}'


def owner():
    """A name for this process that no other process has, or will have"""
    return _owner(os.getpid())


def has_ended(name):
    """True if the process is of this machine and has ended; None if it is on another machine"""
    machine, pid, started = name.split('-')
    if machine != _machine():
        return None
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # a process of another user
        pass
    found = _process(pid)
    return found is not None and (found[0] in 'ZX' or found[1] != started)


class Lease:
    """The lease of this process for `key`

        with Lease(out, key) as lease:
            work
            lease.renew()
            commit

    renew () raises FileNotFoundError if gc has ended the lease, such as after an hour of sleep.
    """

    def __init__(self, out, key):
        self.path = os.path.join(out, '_leases', f'{key}.{owner()}')
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._renew_always, daemon=True)

    def renew(self):
        try:
            os.utime(self.path)
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, 'gc has ended this lease, which was not renewed '
                                    'for minutes', self.path) from None

    def _renew_always(self):
        while not self.done.wait(RENEWED):
            with contextlib.suppress(OSError):  # OUT may be away for a moment
                self.renew()

    def __enter__(self):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, 'w', encoding='ascii'):
            pass
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join(RENEWED)  # a renewal may hang on a dead mount
        with contextlib.suppress(OSError):
            os.unlink(self.path)


class Leases:
    """The leases in OUT, for gc"""

    def __init__(self, out, older=0, clock=time):
        self.folder, self.clock = os.path.join(out, '_leases'), clock
        self.most = max(EXPIRY, older)
        self.expired = set()  # names, which stay on the list until they are removed
        self._find_expired()

    def _times(self):
        """{name: when it was renewed} of the leases that are not known to have ended"""
        found = {}
        with contextlib.suppress(FileNotFoundError):  # OUT may be of an older version
            for name in os.listdir(self.folder):
                with contextlib.suppress(FileNotFoundError):
                    found[name] = os.stat(os.path.join(self.folder, name)).st_mtime_ns
        return found

    def _now(self):
        """The time by the clock of the file system, which may be the clock of another machine"""
        path = os.path.join(self.folder, f'now.{uuid.uuid4().hex}')
        try:
            with open(path, 'w', encoding='ascii') as file:
                return os.fstat(file.fileno()).st_mtime_ns
        except OSError:  # a full disk
            return time.time_ns()
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def _find_expired(self):
        before = self._times()
        elsewhere = {name for name in before
                     if is_lease(name) and has_ended(owner_of(name)) is None}
        now = self._now() if elsewhere else 0
        suspects = {name for name in elsewhere if abs(now - before[name]) > self.most * 1e9}
        if suspects:
            self.clock.sleep(WATCHED)
            after = self._times()
            self.expired = {name for name in suspects if after.get(name) == before[name]}

    def _is_live(self, name):
        return is_lease(name) and name not in self.expired and not has_ended(owner_of(name))

    def keys_and_owners(self):
        """The keys and the owners of the leases that hold now"""
        live = [name for name in self._times() if self._is_live(name)]
        return {name.split('.')[0] for name in live}, {owner_of(name) for name in live}

    def ended(self):
        """Paths of the leases that have ended, and of other files"""
        return [os.path.join(self.folder, name) for name in self._times()
                if not self._is_live(name)]


def is_lease(name):
    key, _, rest = name.partition('.')
    parts = rest.split('-')
    return bool(key) and len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit()


def owner_of(name):
    return name.partition('.')[2]
