# SPDX-License-Identifier: LGPL-2.1-or-later
"""What makes results exactly once: names that follow from the item, a rename, and a marker last

    OUT/regions/KEY.parquet   and tracks/, likelihood/: tables
    OUT/_done/KEY.json        the marker: names the tables of an item, with their sha256
    OUT/_failed/KEY.json      why there are none
    OUT/_running/KEY.json     how long the video is that a job reads
    OUT/_aside/               where files are written before they are renamed
    OUT/_settings.json        the settings of the last run

Each job writes aside, to the disk (fsync), and renames. Two jobs of an item write the same bytes
under the same names, so the order of their renames does not matter. Who reads follows markers.
"""
import contextlib
import hashlib
import json
import os
import socket
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
            found[f'{table}/{self.key}.parquet'] = {
                'sha256': sha256(file.name), 'bytes': os.fstat(file.fileno()).st_size}
        before = marker(self.out, '_done', self.key)
        if before and before['files'] != found:  # of an older video: nobody may read half of each
            remove_marker(self.out, '_done', self.key)
            sync_folder(os.path.join(self.out, '_done'))
        for table, file in self.files.items():
            os.replace(file.name, os.path.join(self.out, table, f'{self.key}.parquet'))
            sync_folder(os.path.join(self.out, table))
        write_marker(self.out, '_done', self.key, {'key': self.key, **value, 'files': found})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for file in self.files.values():
            file.close()
            remove(file.name)


def state(out, item, seen):
    """("done", "bad" or "open", and why it is bad) of an item and of its files' fingerprint now"""
    found = marker(out, '_done', item['key'])
    if found and found['fingerprint'] == seen:
        return 'done', ''
    found = marker(out, '_failed', item['key'])
    if found and found['bad'] and found['fingerprint'] == seen:
        return 'bad', found['reason']
    return 'open', ''


def verify(out):
    """Lines of what is wrong with the files that markers name; none if all are as committed"""
    for found in markers(out, '_done'):
        for name, wanted in found['files'].items():
            path = os.path.join(out, name)
            if not os.path.exists(path):
                yield f'{name}: is not there ({found["video"]})'
            elif sha256(path) != wanted['sha256']:
                yield f'{name}: has other bytes than were committed ({found["video"]})'


def orphans(out, older):
    """Paths of files that no marker names, and that are older than `older` seconds"""
    import time
    before = time.time() - older
    for folder in (*TABLES, '_running', '_aside'):
        for name in os.listdir(os.path.join(out, folder)):
            path = os.path.join(out, folder, name)
            key = name.split('.')[0]
            found = folder in TABLES and marker(out, '_done', key)
            if found and f'{folder}/{name}' in found['files']:
                continue
            with contextlib.suppress(FileNotFoundError):
                if os.stat(path).st_mtime < before:
                    yield path
