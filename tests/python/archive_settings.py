#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Settings of integralhist-archive: an error names the line before anything runs"""
import os
import subprocess
import sys
import time
import unittest

import archive_truth
from integralhist.archive import settings as archive_settings

REGIONS = '[regions]\ngrid = [1, 1]\n'
MODEL = '[histogram]\nbins = 2\n[[likelihood]]\nname = "a"\nhistogram = [1, 1]\nwindow = [8, 8]\n'


class Settings(archive_truth.Archive):
    VIDEOS = 1

    def refuse(self, text, line, said):
        """The last line of output has "settings.toml:LINE: " and `said`, and OUT is not made"""
        with self.subTest(text):
            self.write('settings.toml', text)
            last = self.run_archive(status=1, timeout=60)
            self.assertIn(f'settings.toml:{line}: ', last)
            self.assertIn(said, last)
            self.assertFalse(os.path.exists(self.path('out')))

    def test_settings(self):
        """Each error names the place and what to write"""
        regions = '[regions]\ngrid = [2, 2]\n'
        for text, said in (
                ('', 'nothing is asked: give [regions], [tracks] or [[likelihood]]'),
                ('[histogram', r'settings.toml: Expected'),
                ('[regions]\ngrid = "8x6"', '[regions] grid: give [columns, rows], as [8, 6]'),
                ('[regions]\nboxes = [[1, 2, 3]]', '[regions] boxes: give [[x, y, width, '),
                ('[regions]\nbox = 1',
                 'settings.toml:2: [regions] box: there is no such setting: use boxes, grid'),
                ('[region]\nboxes = []',
                 'settings.toml:1: [region]: there is no such section: use source, '),
                ('[tracks]', '[tracks]: give targets or detections'),
                (regions + '[source]\nmemory = "gpu"', '[source] memory: gpu is neither "system" '),
                ('[[likelihood]]\nname = "a"\nwindow = [1, 1]', '1 histogram: give a number for '),
                ('[[likelihood]]\nname = "a"\nhistogram = [1]', '1 window: give [width, height]'),
                ('[[likelihood]]\nhistogram = [1]\nwindow = [1, 1]', 'name: give each one of '),
                (regions + '[histogram]\nbin = 3', 'no property "bin" in element'),
                (regions + '[histogram]\nfeature = "smell"', 'smell')):
            with self.subTest(text):
                self.write('settings.toml', text)
                self.assertIn(said, self.run_archive(status=1))
                self.assertFalse(os.path.exists(self.path('out')))

    def test_types(self):
        """TOML has dates, NUL, infinities, and numbers of any length; booleans are no numbers"""
        for text, line, said in (
                (MODEL + 'measure = 2020-01-01', 7, '[[likelihood]] 1 measure: give a text'),
                (MODEL + 'maps = 12:00:00', 7, '[[likelihood]] 1 maps: give true or false'),
                (MODEL + 'maps = 1', 7, 'maps: give true or false'),
                (MODEL + 'step = 999999999999', 7, 'step: give pixels, 1 to 65535'),
                (MODEL + 'step = true', 7, 'step: give pixels'),
                (MODEL.replace('[8, 8]', '[99999999999, 8]'), 6, 'window: give [width, height]'),
                (MODEL.replace('[8, 8]', '[true, 8]'), 6, 'window: give [width, height]'),
                (MODEL.replace('[1, 1]', '[nan, 1]'), 5, 'histogram: give a number for each bin'),
                (MODEL.replace('[1, 1]', '[true, 1]'), 5, 'histogram: give a number for each bin'),
                (MODEL.replace('"a"', '"a\\u0000"'), 4, 'name: give each one of its own'),
                (MODEL.replace('"a"', '3'), 4, 'name: give each one of its own'),
                (MODEL + MODEL.partition('bins = 2\n')[2], 8, '2 name: give each one of its own'),
                ('[regions]\nboxes = [[true, 0, 9, 9]]', 2, 'boxes: give [[x, y, width, height]'),
                ('[regions]\nboxes = [[0, 0, 9, 99999999999]]', 2, 'boxes: give [[x, y, width'),
                ('[regions]\ngrid = [1.0, 1]', 2, 'grid: give [columns, rows]'),
                ('# a comment\n\n[tracks]\ndetections = "\\u0000"', 4, 'detections: give the path'),
                ('[tracks]\ntargets = [[1, 2, 3, false]]', 2, 'targets: give [[x, y, width'),
                (REGIONS + '[histogram]\nbins = true', 4, 'bins: give a whole number'),
                (REGIONS + '[histogram]\nbins = 2020-01-01', 4, 'bins: give a whole number'),
                (REGIONS + '[histogram]\nlut = [1]', 4, 'lut: a property is a number, a text'),
                (REGIONS + '[histogram]\nfeature = 3', 4, 'feature: give a feature'),
                (REGIONS + '[histogram]\nmax-tensors = 1', 4, 'max-tensors: give 0 or 2 and more'),
                (REGIONS + '[source]\ndecoder = 1', 4, 'decoder: give an element'),
                ('regions = 3', 1, '[regions]: write [regions]'),
                ('regions.grid = [0, 1]', 1, 'grid: give [columns, rows]'),
                ('regions = {grid = [1, 1], box = 3}', 1, 'box: there is no such setting')):
            self.refuse(text, line, said)

    def test_elements(self):
        """The values that an element refuses are an error, though a sink would wait for frames"""
        started = time.monotonic()
        for text, key, said in (
                ('bins = 300', 'bins', 'give a whole number from 1 to 256'),
                ('quantization = "99,99,99"', 'quantization', 'feature=luma is not joint'),
                ('lut = "x"', 'lut', '"x" is not a bin'),
                ('compute = "never"', 'compute', '"never" is not one of '),
                ('soft = 1', 'soft', 'give true or false'),
                ('max-tensors = -1', 'max-tensors', 'give 0 or 2 and more'),
                ('max-device-memory = 99999999999999999999', 'max-device-memory',
                 'give a whole number from 0 to 18446744073709551615'),
                ('stats = "a"', 'stats', 'no property "stats" in element "cudaintegralhist"'),
                ('bin = 3', 'bin', 'no property "bin" in element "cudaintegralhist"')):
            self.refuse(f'{REGIONS}[histogram]\n\n{text}\n', 5, f'[histogram] {key}: ')
            self.assertIn(said, self.said())
        tracks = '[tracks]\ntargets = [[1, 2, 30, 40]]\n'
        self.refuse(tracks + 'method = "magic"', 3, '[tracks] method: "magic" is not one of ')
        self.refuse(tracks + 'search = 3', 3, 'no property "search" in element "integralhisttrack"')
        self.refuse(MODEL.replace('[1, 1]', '[1, 1, 1]'), 5, '[[likelihood]] 1 histogram: ')
        self.refuse(MODEL + 'measure = "smell"', 7, '[[likelihood]] 1 measure: ')
        self.assertLess(time.monotonic() - started, 60)

    def test_check_that_never_ends(self):
        """The check has a deadline, and its process ends then"""
        self.write('python', '#!/bin/sh\necho $$ >pid\nexec sleep 1000\n')
        os.chmod(self.path('python'), 0o755)
        program = ('from integralhist.archive import cli\ncli.TO_CHECK = 1\ncli.program ()')
        done = subprocess.run(
            [sys.executable, '-c', program, 'run', 'settings.toml', f'{self.videos}/*.avi',
             '--out', 'out', '--python', './python'], cwd=self.folder, timeout=60, text=True,
            stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn('cannot run jobs: had not ended after 1 s', done.stderr)
        with open(self.path('pid'), encoding='ascii') as file:
            self.assertFalse(os.path.exists(f'/proc/{int(file.read())}'))

    def test_lines(self):
        """The line numbers are those that a search by hand finds, in all ways to write a key"""
        text = ('a = 1\n[one]\nkey = 1\nother = [\n  1,\n  [2],\n]\n\n[[many]]\nkey = 2\n'
                '[[many]]\n  "key"=3\n[two.three]\nkey = 4\n')
        for where, wanted in (
                (('one', 1, 'key'), 3), (('one', 1, 'other'), 4), (('one', 1, None), 2),
                (('many', 1, 'key'), 10), (('many', 2, 'key'), 12), (('many', 2, None), 11),
                (('many', 2, 'none'), 11), (('a', 1, None), 1), (('none', 1, 'key'), None)):
            self.assertEqual(archive_settings.line_of(text, *where), wanted, where)


if __name__ == '__main__':
    unittest.main(verbosity=2)
