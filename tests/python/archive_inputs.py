#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Inputs of integralhist-archive: each video is an item once, whatever its name and the links to it

os.walk and the bytes of names are the truth.
"""
import contextlib
import errno
import fnmatch
import io
import os
import shutil
import unittest
from unittest import mock

import archive_truth
from integralhist import printable
from integralhist.archive.plan import Plan


class Inputs(archive_truth.Archive):
    def test_inputs(self):
        """Lists, globs, paths relative and absolute, URIs of files, twice the same"""
        name = f'{self.videos}/000.avi'
        self.write('list', f'{name}\n\n{self.videos}/00[12].avi\n')
        self.assertRegex(self.run_archive('@list', '--jobs=1'), '^3 done')
        relative = os.path.relpath(name, self.folder)
        self.assertRegex(self.run_archive(relative, 'file://' + name, name), '^0 done, 3 there')
        shutil.rmtree(self.path('out'))
        self.assertRegex(self.run_archive(name, name, name, '--jobs=3'), '^1 done, 2 there before')

    def test_lists(self):
        """A line may name a missing file, brackets, no UTF-8, or no URI: only that line fails"""
        name = b'\xff.avi'
        shutil.copy(f'{self.videos}/000.avi', os.path.join(self.folder.encode(), name))
        with open(self.path('list'), 'wb') as file:
            file.write(b'\n'.join([self.videos.encode() + b'/001.avi', b'clip[1].avi', name, b'',
                                   b'file://[a/b.avi', b'\xfe.avi']))
        told = self.run_archive('@list', '--retries=0', status=1, PYTHONIOENCODING='utf-8:strict')
        self.assertRegex(told, '^2 done, 0 there before, 0 bad, 3 given up, 0 left', self.said())
        for text in (r'/clip[1].avi: given up: ', r'file:/[a/b.avi: given up: ',
                     r'\xfe.avi: given up: '):
            self.assertIn(text, self.said())
        self.assertIn(r'\xfe.avi: No such file or directory', self.said())
        self.archive('status', 'out', PYTHONIOENCODING='utf-8:strict')
        # retry uses the path itself
        shutil.copy(f'{self.videos}/000.avi', os.path.join(self.folder.encode(), b'\xfe.avi'))
        told = self.archive('retry', 'out', '--retries=0', status=1)
        self.assertRegex(told, '^1 done, .* 2 given up')

        self.write('list', 'a.avi\0b.avi\0')
        self.assertIn('list:1 has a zero byte: write one path in each line',
                      self.run_archive('@list', status=1))

    def test_unreadable_folder(self):
        """glob skips an unreadable folder without a word. Root can read all, so one is pretended"""
        scandir = os.scandir

        def closed(path):
            if str(path).endswith('closed'):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
            return scandir(path)

        os.makedirs(self.path('deep/closed'))
        self.write('deep/a.avi', '')
        with mock.patch.object(os, 'scandir', side_effect=closed), \
                contextlib.redirect_stderr(io.StringIO()) as said:
            plan = Plan({}, [self.path('deep/**/*.avi')])
            self.assertEqual([len(list(plan)) for _ in range(2)], [1, 1])
        self.assertEqual(said.getvalue(), f'{self.path("deep/closed")}: Permission denied: its '
                                          'videos are left out\n')

    def test_shards(self):
        """No two shards share a video, and all shards have all videos"""
        parts = []
        for part in range(3):
            self.run_archive(f'--shard={part}/3', out=f'part{part}')
            parts.append(self.files(f'part{part}'))
        self.assertEqual(sum(map(len, parts)), len(self.whole()))
        self.assertEqual({**parts[0], **parts[1], **parts[2]}, self.whole())

    def test_names(self):
        """A byte that is not UTF-8 and its escape are two names, and two items"""
        names = [b'a\xff.avi', rb'a\xff.avi', rb'a\\xff.avi', b'a\\\xff.avi', rb'a\\\xff.avi']
        for number, name in enumerate(names):
            path = os.path.join(self.folder.encode(), name)
            shutil.copy(f'{self.videos}/{number % 4:03d}.avi', path)
            os.utime(path, (1, 1))
        self.assertRegex(self.run_archive('*.avi'), '^5 done, 0 there before')
        self.assertRegex(self.run_archive('*.avi'), '^0 done, 5 there before')
        videos = {marker['video'] for marker in self.markers('_done')}
        self.assertEqual(len(videos), 5)
        rows = self.dataset().to_pandas('regions')
        self.assertEqual(set(rows.video), videos)
        self.assertEqual(len(rows), 5 * 12 * 2)

    def test_printable(self):
        """No two short names have the same text, and plain names stay as they are"""
        alphabet = b'\\', b'x', b'f', b'\xff', b'\xc3', b'\xbf'
        names = [b'']
        for _ in range(6):
            names += [name + byte for name in names for byte in alphabet]
            names = sorted(set(names))[:9000]
        texts = {printable(os.fsdecode(name)) for name in names}
        self.assertEqual(len(texts), len(names))
        for plain in 'a.avi', r'C:\videos\x.avi', 'wäre.avi':
            self.assertEqual(printable(plain), plain)

    def test_links(self):
        """Links that lead back up give no video again; other links are like folders"""
        os.makedirs(self.path('root/a/b'))
        os.makedirs(self.path('beside'))
        for name in ('root/x.avi', 'root/a/y.avi', 'root/a/b/z.avi', 'root/.hidden.avi',
                     'beside/w.avi'):
            self.write(name, '')
        for name, to in (('root/up', '.'), ('root/again', '.'), ('root/a/up', '..'),
                         ('root/a/b/top', '../..'), ('root/self', 'self'),
                         ('root/beside', '../beside')):
            os.symlink(to, self.path(name))
        found = [item['video'] for item in Plan({}, [self.path('root/**/*.avi')])]
        self.assertEqual(sorted(found), [self.path(name) for name in (
            'root/a/b/z.avi', 'root/a/y.avi', 'root/beside/w.avi', 'root/x.avi')])
        # without links the same videos are found as by glob
        for pattern in '**/*.avi', 'root/a/**/*.avi', '*/a/**', 'root/**/b/*.avi', '**/z.avi':
            walked = {path for path in self.walked() if matches(path, pattern)}
            found = {os.path.relpath(item['video'], self.folder)
                     for item in Plan({}, [self.path(pattern)])}
            self.assertEqual({path for path in found if os.path.realpath(self.path(path)) ==
                              os.path.realpath(self.folder) + '/' + path}, walked, pattern)

    def walked(self):
        return [os.path.relpath(os.path.join(folder, name), self.folder)
                for folder, _, names in os.walk(self.folder) for name in names
                if not name.startswith('.') and not os.path.islink(os.path.join(folder, name))]


def matches(path, pattern):
    """Returns whether a path matches a pattern of pathlib, compared part by part"""
    def match(parts, wanted):
        if not wanted:
            return not parts
        if wanted[0] == '**':
            return any(match(parts[i:], wanted[1:] or ['*']) for i in range(len(parts)))
        return bool(parts) and fnmatch.fnmatchcase(parts[0], wanted[0]) and \
            match(parts[1:], wanted[1:])
    return match(path.split('/'), pattern.split('/'))


if __name__ == '__main__':
    unittest.main(verbosity=2)
