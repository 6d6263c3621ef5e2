#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks docs/papers.md: tests/benchmarks/papers.py makes this page from the data, and every
number of a paper has an experiment that measures it. Also runs a small experiment to the end."""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get('BUILD_ROOT', os.path.join(ROOT, 'build'))
SCRIPT = os.path.join(ROOT, 'tests/benchmarks/papers.py')
spec = importlib.util.spec_from_file_location('papers_script', SCRIPT)
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)

TINY = '''
title = "A paper"
reference = "It"
machines = "one"
[[experiment]]
name = "tiny"
figure = "Figure 1"
about = "Two algorithms."
commands = ["inthist-check --bench --device cpu serial wavefront --size 96x64 --bins 4 --bins 8"]
where = { mode = "alone", name = ["serial", "wavefront"] }
columns = ["size", "planes"]
unread = "Nothing."
sentence = "It is {ratio}."
claims = [
  ["slower", "1", "1000000..", "serial", "wavefront", { id = "ratio" }],
  ["rate", "2", "0.5", "serial; planes=8"],
  ["a part of it", "3", "..1000", "serial; stage=recursion", "serial"],
]
'''


def papers(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True,
                          check=False, timeout=200)


class Page(unittest.TestCase):
    def test_page_is_what_the_data_make(self):
        with tempfile.TemporaryDirectory() as folder:
            done = papers('page', '--docs', folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            made = pathlib.Path(os.path.join(folder, 'papers.md')).read_text(encoding='utf-8')
        with open(os.path.join(ROOT, 'docs/papers.md'), encoding='utf-8') as file:
            self.assertEqual(made, file.read(), 'run tests/benchmarks/papers.py page')

    def test_every_claim_has_an_experiment(self):
        claims = 0
        for paper, content in script.papers(os.path.join(ROOT, 'tests/benchmarks/papers')).items():
            for experiment in content['experiment']:
                words = set(' '.join(experiment['commands']).split())
                ids = {claim['id'] for claim in experiment['claims'] if 'id' in claim}
                self.assertEqual(set(re.findall(r'\{(\w+)\}', experiment['sentence'])) - ids, set())
                for claim in experiment['claims']:
                    claims += 1
                    with self.subTest(paper=paper, said=claim['said']):
                        self.check_claim(claim, words)
        self.assertGreater(claims, 25)

    def check_claim(self, claim, words):
        # a stated value names its place; without a stated value nothing is compared
        stated = {'published', 'least', 'most'} & set(claim)
        self.assertEqual(bool(stated), 'at' in claim)
        for selector in (claim['over'], claim.get('under', {})):
            self.assertLessEqual(set(selector) - {'stage'}, set(script.KEPT))
            if 'devices' in words or selector.get('name') in ('npp', 'opencv-cuda'):
                continue  # what devices calls the places of tensors, and peers
            self.assertLessEqual({selector[key] for key in selector if key == 'name'}, words)

    def test_a_small_experiment(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(os.path.join(folder, '1-it-2000.toml')).write_text(TINY, encoding='utf-8')
            common = ('--papers', folder)
            done = papers('run', '--build', BUILD, '--out', folder, '--seconds', '0.01', *common)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertRegex(done.stdout.splitlines()[-1], r'1 experiments in \d+ s, 0 skipped')
            done = papers('page', '--data', folder, '--docs', folder, *common)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            page = pathlib.Path(os.path.join(folder, 'papers.md')).read_text(encoding='utf-8')
            data = script.Data(os.path.join(folder, 'it-2000-tiny.csv'))
        us = {(row['name'], row['planes']): float(row['median_us'])
              for row in data.rows if row['mode'] == 'alone'}
        ratios = [us['serial', n] / us['wavefront', n] for n in '48']
        shown = script.range_of((min(ratios), max(ratios)))
        self.assertIn(f'It is {shown}.', page)
        self.assertIn(f'| slower (1) | more than 1e+06 | {shown} | no, less |', page)
        rate = 1e6 / us['serial', '8']
        self.assertIn(f'| rate (2) | 0.5 | {script.number(rate)} | '
                      f'{script.number(rate / 0.5)} times as much |', page)
        self.assertRegex(page, r'\| a part of it \(3\) \| up to 1000 \| [\d.]+.*\| yes \|')
        self.assertIn(f'| serial | {script.number(us["serial", "4"])} | '
                      f'{script.number(us["serial", "8"])} |', page)

    def test_what_is_not_here_is_skipped(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(os.path.join(folder, '1-it-2000.toml')).write_text(TINY, encoding='utf-8')
            done = papers('run', '--build', folder, '--out', folder, '--papers', folder)
            self.assertEqual(done.returncode, 77)
            self.assertIn('SKIP: inthist-check --bench', done.stdout)
            self.assertNotIn('it-2000-tiny.csv', os.listdir(folder))


if __name__ == '__main__':
    unittest.main()
