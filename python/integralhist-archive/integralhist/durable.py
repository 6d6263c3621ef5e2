# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes files that exist, and are complete, after a power failure"""
import json
import os


def sync_folder(folder):
    """After this, a file that was made or renamed in the folder survives a power failure"""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path):
    """Makes the folder, and the folders above it, so that they survive a power failure"""
    path = os.path.abspath(path)
    if not os.path.isdir(path):
        make_folder(os.path.dirname(path))
        os.makedirs(path, exist_ok=True)
        sync_folder(os.path.dirname(path))


def write_json(path, value, aside=None):
    """Replaces the file, so that it is the old or the new file even if the power fails

    `aside` is the file that is written first. Two writers of one file need different ones.
    """
    aside = aside or path + '.new'
    with open(aside, 'w', encoding='utf-8') as file:
        json.dump(value, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)
    sync_folder(os.path.dirname(path))
