# SPDX-License-Identifier: LGPL-2.1-or-later
"""What makes results exactly once: names that follow from the item, a rename, and a marker last

    OUT/regions/KEY-HASH.parquet   and tracks/, likelihood/: tables, with 8 digits of their sha256
    OUT/_done/KEY.json        the marker: names the tables of an item, with their sha256
    OUT/_failed/KEY.json      why there are none
    OUT/_running/KEY.json     how long the video is that a job reads
    OUT/_aside/               where files are written before they are renamed
    OUT/_settings.json        the settings of the last run

Each job writes aside, to the disk (fsync), and renames. Two jobs of an item write the same bytes
under the same names; one of an older version of the video has other names. So no table ever
changes, and the marker's rename commits all of them at once. Who reads follows markers.
"""
import contextlib
import hashlib
import json
import os
import socket
import time
import uuid

from integralhist.durable import make_folder, sync_folder, write_json

TABLES = 'regions', 'tracks', 'likelihood'
FOLDERS = *TABLES, '_done', '_failed', '_running', '_aside'


def prepare(out):
    for folder in FOLDERS:
        make_folder(os.path.join(out, folder))


def aside(out, name):
    """A path that nobody else has, for what becomes `name`"""
    return os.path.join(out, '_aside', f'{name}.{socket.gethostname()}.{os.getpid()}.'
                                       f'{uuid.uuid4().hex[:8]}')


def marker(out, kind, key):
    """The marker as a dict, or None; `kind` is "_done", "_failed" or "_running" """
    try:
        with open(os.path.join(out, kind, f'{key}.json'), encoding='utf-8') as file:
            return json.load(file)
    except FileNotFoundError:
        return None
    except ValueError:  # not ours, or the disk's fault: as if it were not there
        return None


def fresh_marker(out, kind, key):
    """As marker (), also where NFS remembers for a minute that there was none

    Whoever opens a folder asks the server whether it has changed.
    """
    found = marker(out, kind, key)
    if found is None:
        sync_folder(os.path.join(out, kind))
        found = marker(out, kind, key)
    return found


def markers(out, kind):
    """All of a kind, in the order of keys"""
    for name in sorted(os.listdir(os.path.join(out, kind))):
        found = marker(out, kind, name.removesuffix('.json')) if name.endswith('.json') else None
        if found is not None:
            yield found


def write_marker(out, kind, key, value):
    path = os.path.join(out, kind, f'{key}.json')
    new = aside(out, f'{key}.json')
    try:
        write_json(path, value, new)
    finally:
        remove(new)


def note(out, kind, key, value):
    """A marker that may be lost with the power"""
    new = aside(out, f'{key}.json')
    try:
        with open(new, 'w', encoding='utf-8') as file:
            json.dump(value, file)
        os.replace(new, os.path.join(out, kind, f'{key}.json'))
    finally:
        remove(new)


def remove(path):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def remove_marker(out, kind, key):
    remove(os.path.join(out, kind, f'{key}.json'))


def sha256(path):
    with open(path, 'rb') as file:
        return hashlib.file_digest(file, 'sha256').hexdigest()


class Commit:
    """The tables of one item, while they are written

        with Commit(out, key) as commit:
            write to commit.open('regions')
            commit.done({...})

    What is not done is removed, and nothing of it is seen.
    """

    def __init__(self, out, key):
        self.out, self.key, self.files = out, key, {}

    def open(self, table):
        path = aside(self.out, f'{self.key}.{table}')
        self.files[table] = open(path, 'w+b')
        return self.files[table]

    def done(self, value):
        """Puts the tables in place, and then the marker, which has `value`"""
        found = {}
        for table, file in self.files.items():
            file.flush()
            os.fsync(file.fileno())
            digest = sha256(file.name)
            name = f'{table}/{self.key}-{digest[:8]}.parquet'
            found[name] = {'sha256': digest, 'bytes': os.fstat(file.fileno()).st_size}
            os.replace(file.name, os.path.join(self.out, name))
            sync_folder(os.path.join(self.out, table))
        write_marker(self.out, '_done', self.key, {'key': self.key, **value, 'files': found})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for file in self.files.values():
            with contextlib.suppress(OSError):  # of a full disk
                file.close()
            remove(file.name)

    def touch(self):
        """Shows gc that somebody works on them"""
        for file in self.files.values():
            os.utime(file.name)


def state(out, item, seen):
    """("done", "bad" or "open", and why it is bad) of an item and of its files' fingerprint now"""
    found = marker(out, '_done', item['key'])
    if found and found['fingerprint'] == seen:
        return 'done', ''
    found = marker(out, '_failed', item['key'])
    if found and found['bad'] and found['fingerprint'] == seen:
        return 'bad', found['reason']
    return 'open', ''


def is_done(out, failed):
    """Whether the item of a "_failed" marker was done all the same, or in a later version"""
    key = failed['item']['key']
    found = marker(out, '_done', key)
    if not found or found['fingerprint'] == failed['fingerprint']:
        return bool(found)
    with contextlib.suppress(FileNotFoundError):
        return os.stat(os.path.join(out, '_done', f'{key}.json')).st_mtime_ns > \
            os.stat(os.path.join(out, '_failed', f'{key}.json')).st_mtime_ns
    return False


def verify(out, forget=False):
    """Lines of what is wrong with the files that markers name; none if all are as committed

    `forget` removes these markers, so that the next run does it again.
    """
    for name in sorted(os.listdir(os.path.join(out, '_done'))):
        if not name.endswith('.json'):
            continue
        key = name.removesuffix('.json')
        found = marker(out, '_done', key)
        if found is None:
            is_there = os.path.exists(os.path.join(out, '_done', name))
            wrong = [f'_done/{name}: is no marker'] * is_there
        else:
            wrong = [f'{name}: {problem} ({found["video"]})'
                     for name, wanted in found['files'].items()
                     if (problem := what_is_wrong(os.path.join(out, name), wanted['sha256']))]
        yield from wrong
        if wrong and forget:
            remove_marker(out, '_done', key)


def what_is_wrong(path, wanted):
    """With the bytes of a file, or ''"""
    try:
        return '' if sha256(path) == wanted else 'has other bytes than were committed'
    except FileNotFoundError:
        return 'is not there'
    except OSError as problem:
        return f'cannot be read: {problem.strerror}'


def is_in_use(name):
    """Whether a process of this machine works on what aside () named"""
    start, pid, _ = ('..' + name).rsplit('.', 2)  # which others name otherwise, as NFS
    return start.endswith(f'.{socket.gethostname()}') and os.path.exists(f'/proc/{pid}')


def is_named(out, key, name):
    """Whether a marker names a table, will do so, or may have done before it was damaged"""
    found = marker(out, '_done', key)
    if found and name in found['files']:
        return True
    is_there = {kind: os.path.exists(os.path.join(out, kind, f'{key}.json'))
                for kind in ('_running', '_done')}
    return is_there['_running'] or not found and is_there['_done']


def orphans(out, older):
    """Paths of files that no marker names, and that are older than `older` seconds"""
    before = time.time() - older
    for folder in (*TABLES, '_running', '_aside'):
        for name in os.listdir(os.path.join(out, folder)):
            path = os.path.join(out, folder, name)
            key = name.split('.')[0].split('-')[0]
            if folder in TABLES and is_named(out, key, f'{folder}/{name}'):
                continue
            if folder == '_aside' and is_in_use(name):
                continue
            with contextlib.suppress(FileNotFoundError):
                if os.stat(path).st_mtime < before:
                    yield path
