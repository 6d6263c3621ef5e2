# SPDX-License-Identifier: LGPL-2.1-or-later
"""Replaces `os` and `open` for archive_simulation.py: files are counted and take the time of a
store"""
import collections
import contextlib
import errno
import io
import mmap
import os
import types
import zlib

from integralhist import durable
from integralhist.archive import commit, plan

# Requests of an operation on a store: (those that read, those that write)
#   NFS 4: LOOKUP; OPEN with READ, CLOSE; OPEN with CREATE, WRITE, COMMIT, CLOSE; RENAME; REMOVE
#   an object store behind a mount: HEAD; GET; PUT; COPY and DELETE; DELETE
# "look" opens a file that does not exist
REQUESTS = {
    'tmpfs': {},
    'nfs': {'stat': (1, 0), 'look': (1, 0), 'read': (3, 0), 'write': (1, 3), 'rename': (0, 1),
            'remove': (0, 1)},
    's3': {'stat': (1, 0), 'look': (1, 0), 'read': (1, 0), 'write': (0, 1), 'rename': (0, 2),
           'remove': (0, 1)},
}
# Seconds of a request that reads, and of one that writes
#   EFS, Regional, elastic: docs.aws.amazon.com/efs/latest/ug/performance.html
#   S3: docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html has 100 to 200 ms
LATENCY = {'tmpfs': (0, 0), 'nfs': (0.001, 0.0027), 's3': (0.1, 0.1)}
OPERATIONS = 'stat', 'look', 'read', 'write', 'rename', 'remove', 'sync'

Status = collections.namedtuple('Status', 'st_size st_mtime_ns st_mtime st_mode',
                                defaults=(0, 0, 0))


def requests(store, counts):
    """(those that read, those that write) of so many operations"""
    return [sum(counts[name] * each[kind] for name, each in REQUESTS[store].items())
            for kind in (0, 1)]


def waits(store, counts):
    """Seconds that a process waits for all operations, one after another"""
    return sum(count * seconds for count, seconds in zip(requests(store, counts), LATENCY[store]))


class Folder:
    """Real files"""

    open, stat, fstat = open, os.stat, os.fstat
    unlink, replace, listdir = os.unlink, os.replace, os.listdir


class Memory:
    """Files in memory that is not Python's. At most `count` files that stay are in slots of one
    mapping, by a hash of their names. The others, of which there are few at once, are in a dict"""

    SLOT, NAME = 768, 30  # bytes of a slot; of a name, with two of a size and the bytes behind it
    STAY = {'_done': ('d', '.json'), '_failed': ('f', '.json'), 'regions': ('r', '.parquet')}

    def __init__(self, count):
        self.map = mmap.mmap(-1, 2 * count * self.SLOT, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS
                             | mmap.MAP_POPULATE)  # all of it is there from now on
        self.others = {}

    def find(self, path):
        """(start of the slot, name in it) of a file that stays; None for other files"""
        _, folder, name = path.rsplit('/', 2)
        if folder not in self.STAY:
            return None
        name = (self.STAY[folder][0] + name.split('.')[0].ljust(self.NAME - 1)).encode()
        at = zlib.crc32(name) % (len(self.map) // self.SLOT) * self.SLOT
        while self.map[at] and self.map[at:at + self.NAME] != name:
            at = (at + self.SLOT) % len(self.map)
        return at, name

    def size(self, at):
        return int.from_bytes(self.map[at + self.NAME:at + self.NAME + 2], 'little')

    def read(self, path):
        if found := self.find(path):
            begin = found[0] + self.NAME + 2
            value = self.map[begin:begin + self.size(found[0])]
        else:
            value = self.others.get(path)
        if not value:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return value

    def write(self, path, value):
        """Writes a file; an empty value removes it"""
        if found := self.find(path):
            at, name = found
            whole = name + len(value).to_bytes(2, 'little') + value
            assert len(whole) <= self.SLOT, value
            self.map[at:at + len(whole)] = whole
        elif value:
            self.others[path] = value
        else:
            self.others.pop(path)

    def open(self, path, mode='r', encoding=None):
        file = Written(self, path) if 'w' in mode else io.BytesIO(self.read(path))
        return io.TextIOWrapper(file, encoding) if encoding else file

    def stat(self, path):
        return Status(len(self.read(path)))

    def fstat(self, file):
        return Status(len(file.getvalue()))

    def unlink(self, path):
        self.read(path)
        self.write(path, b'')

    def replace(self, old, new):
        self.write(new, self.read(old))
        self.write(old, b'')

    def listdir(self, path):
        folder = os.path.basename(path)
        if folder not in self.STAY:
            return [os.path.basename(name) for name in self.others if os.path.dirname(name) == path]
        letter, end = self.STAY[folder]
        return [self.map[at + 1:at + self.NAME].decode().rstrip() + end
                for at in range(0, len(self.map), self.SLOT)
                if self.map[at] == ord(letter) and self.size(at)]


class Written(io.BytesIO):
    """A file that is in Memory once it is flushed"""

    def __init__(self, files, name):
        super().__init__()
        self.files, self.name = files, name

    def flush(self):
        self.files.write(self.name, self.getvalue())

    def fileno(self):
        return self  # for `fstat`


class Files:
    """Stands in for `os` and `open` in the modules of the package, and counts what they do

    `who` is "driver" or "job". An operation of the driver takes the time of `store`, and then
    `go_on ()` lets the others go on. fsync is counted, not done: no power goes off here. Videos are
    only names, which `is_there` knows.
    """

    def __init__(self, disk, store, clock, is_there):
        self.disk, self.listdir, self.fstat = disk, disk.listdir, disk.fstat
        self.clock, self.is_there, self.who, self.go_on = clock, is_there, 'driver', None
        self.counts = {who: collections.Counter() for who in ('driver', 'job')}
        self.takes = {name: waits(store, collections.Counter([name])) for name in OPERATIONS}
        self.path = types.SimpleNamespace(**{**vars(os.path), 'exists': self.exists})
        for module in commit, durable, plan:
            module.os, module.open = self, self.open

    def __getattr__(self, name):
        return getattr(os, name)

    def count(self, name):
        self.counts[self.who][name] += 1
        if self.who == 'driver' and self.takes[name] and self.go_on:
            self.clock.now += self.takes[name]
            self.go_on()

    def stat(self, path, **_):
        self.count('stat')
        if not path.endswith('.mp4'):
            return self.disk.stat(path)
        if not self.is_there(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return Status(5)

    def exists(self, path):
        with contextlib.suppress(FileNotFoundError):
            self.disk.stat(path)
            return True
        return False

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

    def fsync(self, _):
        self.count('sync')

    def close(self, _):
        pass
