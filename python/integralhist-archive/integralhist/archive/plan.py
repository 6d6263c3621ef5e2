# SPDX-License-Identifier: LGPL-2.1-or-later
"""The work to do: turns inputs and settings into items

An item is one video with its settings. Its key is a hash of both, and names its files. So the same
video with the same settings has the same files in every run, on every machine.
"""
import contextlib
import glob
import hashlib
import json
import os
import sys
from urllib.parse import unquote, urlsplit

from integralhist import printable, without_login
from integralhist.archive.settings import PlanError

def digest(*values):
    text = json.dumps(values, sort_keys=True, separators=(',', ':'))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def is_uri(text):
    return '://' in text and not text.startswith('file://')


def fingerprint(item):
    """Returns sizes and times, which change when a file changes. Nothing is known of URIs. Raises
    OSError if a file cannot be looked at"""
    found = {}
    for name in ('video', 'detections'):
        path = item.get(name)
        if path and not is_uri(path):
            status = os.stat(path)
            found[name] = [status.st_size, status.st_mtime_ns]
    return found


class Plan:
    """The items of inputs. They can be iterated over more than once, and are not kept

    An input is a path, a glob, a URI, or @FILE with one of these in each line.
    """

    def __init__(self, settings, inputs, shard=(0, 1)):
        self.settings, self.inputs, self.shard = settings, inputs, shard
        self.counted = False  # if not, this is the first time
        self.detections = settings.get('tracks', {}).get('detections')

    def _videos(self, inputs, where=''):
        for number, text in enumerate(inputs, 1):
            if '\0' in text:
                raise PlanError(f'{where}:{number} has a zero byte: write one path in each line, '
                                'as UTF-8')
            if text.startswith('@') and not where:
                try:
                    with open(text[1:], encoding='utf-8', errors='surrogateescape') as file:
                        if not os.path.isfile(text[1:]):
                            raise PlanError(f'{text}: a list is read twice: give a file')
                        yield from self._videos(map(str.strip, file), text[1:])
                except OSError as problem:
                    raise PlanError(f'{text}: {problem.strerror}') from None
            elif is_uri(text):
                yield text
            elif text or not where:
                yield from self._files(text, where)

    def _files(self, text, where):
        """Yields the files of a path or a glob"""
        path = text
        if text.startswith('file://'):
            with contextlib.suppress(ValueError):  # for a text that is neither a URI nor a file
                path = unquote(urlsplit(text).path)
        path = os.path.abspath(path)
        if not where and os.path.isdir(path):  # nothing is looked up for a long list
            raise PlanError(f'{text} is a folder: give "{text}/*.mp4"')
        if not glob.has_magic(path) or os.path.exists(path):
            yield path
            return
        found = None
        for found in self._matches('/', path.strip('/').split('/')):
            if not os.path.isdir(found):
                yield found
        if found is None:
            if not where and not self.counted:
                raise PlanError(f'{text}: no such file: check the pattern')
            yield path  # fails later, and is reported with the others that fail

    def _matches(self, root, parts):
        """Paths below `root`, as glob gives them, but ** enters no folder twice on its way"""
        if '**' not in parts:
            pattern = os.path.join(*parts)
            yield from (os.path.join(root, name) for name in glob.iglob(pattern, root_dir=root))
            return
        at = parts.index('**')
        roots = self._matches(root, parts[:at]) if at else [root]
        for begin in filter(os.path.isdir, roots):
            for folder in self._folders(begin):
                yield from self._matches(folder, parts[at + 1:] or ['*'])

    def _folders(self, folder, above=()):
        """The folder and all folders below it, also through links that do not lead back up"""
        try:
            status = os.stat(folder)
            here = status.st_dev, status.st_ino
            if here in above:
                return
            with os.scandir(folder) as entries:
                below = [entry.path for entry in entries if not entry.name.startswith('.')
                         and os.path.isdir(entry.path)]  # like glob
        except OSError as problem:
            if not self.counted:
                print(f'{printable(problem.filename)}: {problem.strerror}: its videos are left out',
                      file=sys.stderr)
            return
        yield folder
        for path in below:
            yield from self._folders(path, (*above, here))

    def __iter__(self):
        part, parts = self.shard
        for video in self._videos(self.inputs):
            name = printable(without_login(video))
            key = digest(name, self.settings)
            if int(key[:8], 16) % parts == part:
                yield {'key': key, 'video': video, 'name': name, 'settings': self.settings,
                       'detections': self.detections and self.detections.replace(
                           '{stem}', os.path.splitext(os.path.basename(video))[0])}
        self.counted = True
