# SPDX-License-Identifier: LGPL-2.1-or-later
"""SETTINGS.toml: what may be in it, and the line of each error

Types and ranges are checked here, before anything runs. job.py --check compares the properties with
those of the elements. Each error names the line.
"""
import math
import os
import re
import tomllib

MOST = 65535           # pixels of a side or a step
INT32 = 2 ** 31 - 1
# properties that keep answers, or some of them, from the tables
REFUSED = {'regions', 'name', 'qos', 'first-bin', 'n-bins', 'lut-location', 'parent'}


class PlanError(Exception):
    """An error in settings or inputs, with a text for users"""


class Wrong(Exception):
    """A value is wrong; `where` is (section, number from 1 on, key or None)"""

    def __init__(self, text, section, key=None, number=1):
        table = f'[[{section}]] {number}' if section == 'likelihood' else f'[{section}]'
        super().__init__(f'{table} {key}: {text}' if key else f'{table}: {text}')
        self.where = section, number, key


def is_whole(value, least=1, most=INT32):
    return type(value) is int and least <= value <= most  # True is an int, too


def is_number(value):
    return type(value) in (int, float) and math.isfinite(value)


def is_text(value):
    return isinstance(value, str) and value.isprintable() and value != ''


def is_pair(value, most=MOST):
    return isinstance(value, list) and len(value) == 2 and all(
        is_whole(number, 1, most) for number in value)


def is_boxes(value):
    return isinstance(value, list) and all(
        isinstance(box, list) and len(box) == 4
        and all(is_whole(number, -INT32) for number in box[:2])
        and all(is_whole(number) for number in box[2:]) for box in value)


def is_property(value):
    return isinstance(value, bool) or is_number(value) or is_text(value)


BOXES = is_boxes, 'give [[x, y, width, height], ...] in whole pixels, and none empty'
PROPERTY = is_property, 'a property is a number, a text, true or false'
# {section: {key: (function that checks a value, what to write)}}; None stands for all other keys
SCHEMA = {
    'source': {
        'decoder': (is_text, 'give an element\'s name, as "avdec_h264"'),
        'memory': (lambda value: value in ('system', 'cuda'),
                   '{value} is neither "system" nor "cuda"')},
    'histogram': {
        'bins': (is_whole, 'give a whole number, 1 or more'),
        'interval': (is_whole, 'give a whole number, 1 or more'),
        'feature': (lambda value: is_text(value) and value != 'labels',
                    'give a feature; no video has labels'),
        'max-tensors': (lambda value: is_whole(value, 0) and value != 1,
                        'give 0 or 2 and more: the sink of an archive keeps one'),
        None: PROPERTY},
    'tracks': {
        'targets': BOXES,
        'detections': (is_text, 'give the path of a file, which may have {{stem}} in it'),
        None: PROPERTY},
    'regions': {
        'boxes': BOXES,
        'grid': (lambda value: is_pair(value, INT32), 'give [columns, rows], as [8, 6]')},
    'likelihood': {
        'name': (is_text, 'give each one of its own'),
        'histogram': (lambda value: isinstance(value, list) and value and all(
            map(is_number, value)), 'give a number for each bin'),
        'window': (is_pair, f'give [width, height], each 1 to {MOST} pixels'),
        'step': (lambda value: is_whole(value, 1, MOST), f'give pixels, 1 to {MOST}'),
        'measure': (is_text, 'give a text, as "bhattacharyya"'),
        'maps': (lambda value: isinstance(value, bool), 'give true or false')},
}
NEEDED = {'likelihood': ('name', 'histogram', 'window')}


def check_section(name, section, number=1):
    if not isinstance(section, dict):
        raise Wrong(f'write [{name}] and its settings below it', name)
    known = SCHEMA[name]
    for key, value in section.items():
        if key not in known and None not in known:
            raise Wrong(f'there is no such setting: use {", ".join(sorted(known))}', name, key,
                        number)
        if name == 'histogram' and key in REFUSED:
            raise Wrong('that is not for archives: leave it out', name, key)
        is_right, text = known.get(key) or known[None]
        if not is_right(value):
            raise Wrong(text.format(value=value), name, key, number)
    for key in NEEDED.get(name, ()):
        if key not in section:
            raise Wrong(known[key][1], name, key, number)


def check(settings):
    """Raises Wrong for errors that can be found without GStreamer"""
    for name, section in settings.items():
        if name not in SCHEMA:
            raise Wrong(f'there is no such section: use {", ".join(SCHEMA)}', name)
        if name != 'likelihood':
            check_section(name, section)
            continue
        if not isinstance(section, list):
            raise Wrong('write [[likelihood]], once for each model', name)
        for number, model in enumerate(section, 1):
            check_section(name, model, number)
    models, tracks = settings.get('likelihood', []), settings.get('tracks')
    names = [model['name'] for model in models]
    for number, each in enumerate(names, 1):
        if each in names[:number - 1]:
            raise Wrong('give each one of its own', 'likelihood', 'name', number)
    if tracks is not None and not (tracks.get('targets') or tracks.get('detections')):
        raise Wrong('give targets or detections', 'tracks')
    regions = settings.get('regions')
    if regions is not None and not (regions.get('boxes') or regions.get('grid')):
        raise Wrong('give boxes or a grid', 'regions')
    if 'histogram' in settings and not (regions or models):
        raise Wrong('it is for [regions] and [[likelihood]]: add one of them', 'histogram')


def line_of(text, section, number=1, key=None):
    """The line of a section or its key in the text of a file; None if it is not found"""
    found, here, count = None, None, 0
    for line, content in enumerate(text.splitlines(), 1):
        if head := re.match(r'\s*\[\[?\s*["\']?([A-Za-z_][\w-]*)["\']?\s*\]', content):
            here = head[1]
            if here == section:
                count += 1
                found = line if count == number else found
        elif here is None and re.match(
                rf'\s*["\']?{re.escape(section)}["\']?\s*(=|\.\s*["\']?{re.escape(key or "")})',
                content):
            return line
        elif here == section and count == number and key and re.match(
                rf'\s*["\']?{re.escape(key)}["\']?\s*=', content):
            return line
    return found


def place(path, where):
    """ "FILE:LINE" of an error"""
    with open(path, encoding='utf-8') as file:
        line = line_of(file.read(), *where)
    return f'{path}:{line}' if line else path


def read_settings(path):
    """The settings of a TOML file. Paths in it are relative to its folder"""
    try:
        with open(path, 'rb') as file:
            settings = tomllib.load(file)
        check(settings)
    except OSError as problem:
        raise PlanError(f'{path}: {problem.strerror}') from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise PlanError(f'{path}: {problem}') from None
    except Wrong as problem:
        raise PlanError(f'{place(path, problem.where)}: {problem}') from None
    if not settings.keys() & {'regions', 'tracks', 'likelihood'}:
        raise PlanError(f'{path}: nothing is asked: give [regions], [tracks] or [[likelihood]]')
    detections = settings.get('tracks', {}).get('detections')
    if detections:
        settings['tracks']['detections'] = os.path.join(
            os.path.dirname(os.path.abspath(path)), detections)
    return settings
