# SPDX-License-Identifier: LGPL-2.1-or-later
"""What there is to do: inputs and settings to items

An item is one video with its settings. Its key is a hash of both, and names its files. So the same
video with the same settings has the same files in every run, on every machine.
"""
import contextlib
import glob
import hashlib
import json
import os
import sys
import tomllib
from urllib.parse import unquote, urlsplit

from integralhist import printable, without_login

# What SETTINGS.toml has; [histogram] and [tracks] have all other properties of their elements
SECTIONS = {'source': {'decoder', 'memory'}, 'histogram': None, 'tracks': None,
            'regions': {'boxes', 'grid'}}
# what would not reach the tables, or not all of it
REFUSED = {'regions', 'name', 'qos', 'first-bin', 'n-bins', 'lut-location'}
LIKELIHOOD = {'name', 'histogram', 'window', 'step', 'measure', 'maps'}


class PlanError(Exception):
    """What is wrong with settings or inputs, for users"""


def is_box(value):
    return isinstance(value, list) and len(value) == 4 and all(
        isinstance(number, int) for number in value) and value[2] > 0 and value[3] > 0


def is_pair(value, least=1):
    return isinstance(value, list) and len(value) == 2 and all(
        isinstance(number, int) and number >= least for number in value)


def check(settings):
    """Raises a PlanError of what can be seen without GStreamer"""
    def need(truth, text):
        if not truth:
            raise PlanError(text)

    for name, section in settings.items():
        if name == 'likelihood':
            need(isinstance(section, list) and all(isinstance(model, dict) for model in section),
                 'likelihood: write [[likelihood]], once for each model')
            continue
        need(name in SECTIONS, f'[{name}]: there are {", ".join(SECTIONS)} and likelihood')
        need(isinstance(section, dict), f'{name}: write [{name}]')
        known = SECTIONS[name]
        for key, value in section.items():
            need(known is None or key in known,
                 f'[{name}] has no {key}, only {", ".join(sorted(known or ()))}')
            need(known or key in ('targets', 'detections')
                 or isinstance(value, (bool, int, float, str)),
                 f'[{name}] {key}: a property is a number, a text, true or false')
    source, regions = settings.get('source', {}), settings.get('regions', {})
    histogram = settings.get('histogram', {})
    for key in REFUSED & histogram.keys():
        raise PlanError(f'[histogram] {key}: that is not for archives')
    need(histogram.get('feature') != 'labels', '[histogram] feature: no video has labels')
    for key in {'interval', 'bins'} & histogram.keys():
        need(type(histogram[key]) is int and histogram[key] > 0,
             f'[histogram] {key}: give a whole number, 1 or more')
    need(not histogram or regions or settings.get('likelihood'),
         '[histogram] is for [regions] and [[likelihood]], and there is neither')
    need(source.get('memory', 'system') in ('system', 'cuda'),
         f'[source] memory: {source.get("memory")} is neither "system" nor "cuda"')
    need(isinstance(source.get('decoder', ''), str), '[source] decoder: give an element\'s name')
    need('grid' not in regions or is_pair(regions['grid']),
         '[regions] grid: give [columns, rows], as [8, 6]')
    for name, boxes in (('[regions] boxes', regions.get('boxes', [])),
                        ('[tracks] targets', settings.get('tracks', {}).get('targets', []))):
        need(isinstance(boxes, list) and all(map(is_box, boxes)),
             f'{name}: give [[x, y, width, height], ...] in whole pixels, and none empty')
    need(isinstance(settings.get('tracks', {}).get('detections', ''), str),
         '[tracks] detections: give the path of a file, which may have {stem} in it')
    tracks = settings.get('tracks', {})
    need('tracks' not in settings or tracks.get('targets') or tracks.get('detections'),
         '[tracks]: give targets or detections')
    names = []
    for number, model in enumerate(settings.get('likelihood', []), 1):
        where = f'[[likelihood]] {number}'
        need(not model.keys() - LIKELIHOOD,
             f'{where} has no {", ".join(sorted(model.keys() - LIKELIHOOD))}, only '
             f'{", ".join(sorted(LIKELIHOOD))}')
        histogram = model.get('histogram')
        need(isinstance(histogram, list) and histogram
             and all(isinstance(value, (int, float)) for value in histogram),
             f'{where} histogram: give a number for each bin')
        need(is_pair(model.get('window')), f'{where} window: give [width, height]')
        need(isinstance(model.get('step', 1), int) and model.get('step', 1) > 0,
             f'{where} step: give pixels, 1 or more')
        names.append(model.get('name'))
    need(all(isinstance(name, str) for name in names) and len(set(names)) == len(names),
         '[[likelihood]] name: give each one of its own')
    need(regions.get('boxes') or regions.get('grid') or 'tracks' in settings or names,
         'nothing is asked: give [regions], [tracks] or [[likelihood]]')


def read_settings(path):
    """The settings of a TOML file. Paths in it are relative to its folder"""
    try:
        with open(path, 'rb') as file:
            settings = tomllib.load(file)
    except OSError as problem:
        raise PlanError(f'{path}: {problem.strerror}') from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise PlanError(f'{path}: {problem}') from None
    try:
        check(settings)
    except PlanError as problem:
        raise PlanError(f'{path}: {problem}') from None
    detections = settings.get('tracks', {}).get('detections')
    if detections:
        settings['tracks']['detections'] = os.path.join(
            os.path.dirname(os.path.abspath(path)), detections)
    return settings


def digest(*values):
    text = json.dumps(values, sort_keys=True, separators=(',', ':'))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def is_uri(text):
    return '://' in text and not text.startswith('file://')


def fingerprint(item):
    """What changes when a file does: sizes and times. Of URIs nothing is known. OSError if a file
    cannot be looked at"""
    found = {}
    for name in ('video', 'detections'):
        path = item.get(name)
        if path and not is_uri(path):
            status = os.stat(path)
            found[name] = [status.st_size, status.st_mtime_ns]
    return found


class Plan:
    """The items of inputs, which may be iterated over again; none is kept

    An input is a path, a glob, a URI, or @FILE with one of these in each line.
    """

    def __init__(self, settings, inputs, shard=(0, 1)):
        self.settings, self.inputs, self.shard = settings, inputs, shard
        self.counted = False  # or else this is the first time
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
        """Of a path or a glob"""
        path = text
        if text.startswith('file://'):
            with contextlib.suppress(ValueError):  # of what is no URI, and no file either
                path = unquote(urlsplit(text).path)
        path = os.path.abspath(path)
        if not where and os.path.isdir(path):  # of a long list nothing is looked up
            raise PlanError(f'{text} is a folder: give "{text}/*.mp4"')
        if not glob.has_magic(path) or os.path.exists(path):
            yield path
            return
        if '**' in path and not self.counted:
            self._warn_of_folders(path)
        found = None
        for found in glob.iglob(path, recursive=True):
            if not os.path.isdir(found):
                yield found
        if found is None:
            if not where and not self.counted:
                raise PlanError(f'{text}: no such file')
            yield path  # is told with the others that fail

    @staticmethod
    def _warn_of_folders(pattern):
        """glob leaves them out without a word"""
        def warn(problem):
            print(f'{printable(problem.filename)}: {problem.strerror}: its videos are left out',
                  file=sys.stderr)

        root = pattern.split('**')[0]
        while glob.has_magic(root):
            root = os.path.dirname(root)
        for _, folders, _ in os.walk(root, onerror=warn):
            folders[:] = [name for name in folders if not name.startswith('.')]  # as glob does

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
