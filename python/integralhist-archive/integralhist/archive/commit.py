# SPDX-License-Identifier: LGPL-2.1-or-later
"""Commits each result exactly once: names that follow from the item, a rename, and a marker last

    OUT/regions/KEY-HASH.parquet   and tracks/, likelihood/: tables, with 8 digits of their sha256
    OUT/_done/KEY.json        the marker: names the tables of an item, with their sha256
    OUT/_failed/KEY.json      why there are no tables
    OUT/_running/KEY.json     how long the video is that a job reads
    OUT/_leases/              which processes work here now: lease.py
    OUT/_aside/               where files are written before they are renamed
    OUT/_settings.json        the settings of the last run

Each job writes aside, to the disk (fsync), and renames. Two jobs of an item write the same bytes
under the same names. A job of an older version of the video has other names. So no table ever
changes, and the marker's rename commits all of them at once. Readers follow markers.

A user may have edited a marker, or a disk may have damaged it. So it counts only if all fields that
are read later have the right type.
"""
import contextlib
import errno
import hashlib
import json
import os
import re
import stat
import time
import uuid

from integralhist.archive.lease import Lease, Leases, owner
from integralhist.durable import make_folder, sync_folder, write_json

TABLES = 'regions', 'tracks', 'likelihood'
FOLDERS = *TABLES, '_failed', '_running', '_aside', '_leases', '_done'  # last: then all exist


def prepare(out):
    for folder in FOLDERS:
        make_folder(os.path.join(out, folder))


def aside(out, name):
    """A path that no other process uses, for a file that is then renamed to `name`"""
    return os.path.join(out, '_aside', f'{name}.{owner()}.{uuid.uuid4().hex[:8]}')


def is_text(value):
    return isinstance(value, str)


def is_count(value):
    return type(value) is int and value >= 0


def is_fingerprint(value):
    return isinstance(value, dict) and all(
        isinstance(each, list) and all(type(number) is int for number in each)
        for each in value.values())


def is_table(name, value):
    return (re.fullmatch(rf'({"|".join(TABLES)})/\w+-[0-9a-f]{{8}}\.parquet', name)
            and isinstance(value, dict) and is_text(value.get('sha256'))
            and is_count(value.get('bytes')))


def is_item(value):
    return (isinstance(value, dict) and all(is_text(value.get(name))
                                            for name in ('key', 'name', 'video'))
            and isinstance(value.get('settings'), dict)
            and isinstance(value.get('detections'), str | None))


# the fields that are read of each kind of marker
FIELDS = {
    '_done': {'key': is_text, 'video': is_text, 'fingerprint': is_fingerprint, 'frames': is_count,
              'settings': lambda value: isinstance(value, dict),
              'warnings': lambda value: isinstance(value, list) and all(map(is_text, value)),
              'files': lambda value: isinstance(value, dict) and all(
                  is_table(*each) for each in value.items())},
    '_failed': {'item': is_item, 'fingerprint': is_fingerprint, 'reason': is_text,
                'bad': lambda value: isinstance(value, bool)},
    '_running': {'seconds': lambda value: value is None or type(value) in (int, float)},
    '': {},  # the settings
}
OPTIONAL = {'_running': {'seconds'}}  # until the first frame


def is_marker(kind, key, value):
    if not isinstance(value, dict):
        return False
    if not all(is_right(value[name]) if name in value else name in OPTIONAL.get(kind, ())
               for name, is_right in FIELDS[kind].items()):
        return False
    return key == {'_done': value, '_failed': value.get('item')}.get(kind, {}).get('key', key)


def marker(out, kind, key):
    """The marker as a dict, or None; `kind` is "_done", "_failed" or "_running" """
    try:
        with open(os.path.join(out, kind, f'{key}.json'), encoding='utf-8') as file:
            found = json.load(file)
    except (FileNotFoundError, IsADirectoryError):
        return None
    except (ValueError, RecursionError):  # not ours, or damaged by the disk: as if it did not exist
        return None
    return found if is_marker(kind, key, found) else None


def fresh_marker(out, kind, key):
    """Like marker (), but also right if NFS remembers for a minute that there was no marker

    Opening the folder asks the server whether the folder has changed.
    """
    found = marker(out, kind, key)
    if found is None:
        sync_folder(os.path.join(out, kind))
        found = marker(out, kind, key)
    return found


def markers(out, kind):
    """All markers of a kind, in the order of keys"""
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
    """Writes a marker that may be lost if the power fails"""
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

    If done () is not called, the tables are removed, and no reader sees them. With the `lease` of a
    job, nothing is committed after gc has ended the lease.
    """

    def __init__(self, out, key, lease=None):
        self.out, self.key, self.files, self.lease = out, key, {}, lease

    def open(self, table):
        path = aside(self.out, f'{self.key}.{table}')
        self.files[table] = open(path, 'w+b')
        return self.files[table]

    def done(self, value):
        """Puts the tables in place, and then the marker, which has `value`"""
        found = {}
        if self.lease:
            self.lease.renew()
        for table, file in self.files.items():
            file.flush()
            os.fsync(file.fileno())
            digest = sha256(file.name)
            name = f'{table}/{self.key}-{digest[:8]}.parquet'
            found[name] = {'sha256': digest, 'bytes': os.fstat(file.fileno()).st_size}
            os.replace(file.name, os.path.join(self.out, name))
            sync_folder(os.path.join(self.out, table))
        write_marker(self.out, '_done', self.key, {'key': self.key, **value, 'files': found})
        if not are_there(self.out, found):  # the lease ended in between
            remove_marker(self.out, '_done', self.key)
            raise OSError(errno.ESTALE, 'its tables were removed while it committed them')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for file in self.files.values():
            with contextlib.suppress(OSError):  # the disk may be full
                file.close()
            remove(file.name)


def are_there(out, files):
    """Returns whether all files of a marker exist, with the sizes in the marker"""
    try:
        return all(os.stat(os.path.join(out, name)).st_size == wanted['bytes']
                   for name, wanted in files.items())
    except FileNotFoundError:
        return False


def state(out, item, seen):
    """("done", "bad" or "open", and why it is bad) of an item and of its files' fingerprint now"""
    found = marker(out, '_done', item['key'])
    if found and found['fingerprint'] == seen and are_there(out, found['files']):
        return 'done', ''
    found = marker(out, '_failed', item['key'])
    if found and found['bad'] and found['fingerprint'] == seen:
        return 'bad', found['reason']
    return 'open', ''


def is_done(out, failed):
    """Returns whether the item of a "_failed" marker is done all the same, or in a later version"""
    key = failed['item']['key']
    found = marker(out, '_done', key)
    if not found or found['fingerprint'] == failed['fingerprint']:
        return bool(found)
    with contextlib.suppress(FileNotFoundError):
        return os.stat(os.path.join(out, '_done', f'{key}.json')).st_mtime_ns > \
            os.stat(os.path.join(out, '_failed', f'{key}.json')).st_mtime_ns
    return False


def verify(out, forget=False):
    """Yields a line for each file of a marker that is not as committed

    `forget` removes these markers, so that the next run does the items again.
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
    """Returns what is wrong with the bytes of a file, or ''"""
    try:
        return '' if sha256(path) == wanted else 'has other bytes than were committed'
    except FileNotFoundError:
        return 'is not there'
    except OSError as problem:
        return f'cannot be read: {problem.strerror}'


def is_named(out, key, name):
    """Returns whether a marker names a table, or may have named it before it was damaged"""
    found = fresh_marker(out, '_done', key)
    if found:
        return name in found['files']
    return os.path.exists(os.path.join(out, '_done', f'{key}.json'))


def take(out, folder, name, leases):
    """Moves a table that no marker names out of the way. Returns the new path, or None

    A job may have begun in the meantime, and written the same table. So this looks again once the
    table is out of the way, and puts the table back if a job or a marker needs it.
    """
    path, taken = os.path.join(out, folder, name), aside(out, f'gc.{name}')
    with contextlib.suppress(FileNotFoundError):
        os.replace(path, taken)
        if key_of(name) not in leases.keys_and_owners()[0] and \
                not is_named(out, key_of(name), f'{folder}/{name}'):
            return taken
        try:
            os.link(taken, path)
        except FileExistsError:  # the job has written its own table
            pass
        except OSError:  # a file system without links
            if not os.path.exists(path):
                os.replace(taken, path)
                return None
        os.unlink(taken)
    return None


def key_of(name):
    return name.split('.')[0].split('-')[0]


def orphans(out, older, tell=lambda text: None):
    """Yields the paths to be removed: files older than `older` seconds that no marker names and no
    job works on. Calls `tell` with a text about files that are not ours"""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # a full disk, which gc may help
            stack.enter_context(Lease(out, 'gc'))
        leases, before = Leases(out, older), time.time() - older

        def is_old(path):
            try:
                status = os.stat(path, follow_symlinks=False)
            except FileNotFoundError:
                return False
            if stat.S_ISDIR(status.st_mode):
                tell(f'{path} is a folder, which no job makes: it is left')
                return False
            return status.st_mtime < before

        yield from filter(is_old, leases.ended())  # the owners of these leases notice
        for folder in (*TABLES, '_running', '_aside'):
            names = os.listdir(os.path.join(out, folder))
            # in this order: a job keeps its lease until it has written its marker
            keys, owners = leases.keys_and_owners()
            for name in names:
                path, key = os.path.join(out, folder, name), key_of(name)
                if folder == '_aside' and name.split('.')[-2:][0] in owners or \
                        folder != '_aside' and key in keys or \
                        folder in TABLES and is_named(out, key, f'{folder}/{name}') or \
                        not is_old(path):
                    continue
                if folder in TABLES:
                    path = take(out, folder, name, leases)
                if path:
                    yield path
