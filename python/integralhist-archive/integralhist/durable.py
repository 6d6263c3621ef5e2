# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files that are there, whole, after the power was off"""
import json
import os


def sync_folder(folder):
    """A file that was made or renamed is then still there after the power was off"""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path):
    """Makes it, and those above it, so that they are there after the power was off"""
    path = os.path.abspath(path)
    if not os.path.isdir(path):
        make_folder(os.path.dirname(path))
        os.makedirs(path, exist_ok=True)
        sync_folder(os.path.dirname(path))


def write_json(path, value, aside=None):
    """Replaces the file, so that it is the old or the new one whenever the power goes off

    `aside` is where it is written before: two who write the same file need two of them.
    """
    aside = aside or path + '.new'
    with open(aside, 'w', encoding='utf-8') as file:
        json.dump(value, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)
    sync_folder(os.path.dirname(path))
