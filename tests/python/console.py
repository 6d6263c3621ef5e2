#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs print no traceback if stdout or stderr takes nothing: exit status and order of lines

/dev/full stands for a full disk; `| head -1` leaves a pipe without a reader. Each is tried with
Python's own buffers, and with PYTHONUNBUFFERED.
"""
import os
import subprocess
import sys
import tempfile
import unittest

import virtual_environment

virtual_environment.enter()
from pipelines import EXAMPLES, ROOT, launch  # noqa: E402

TIMEOUT = 100
PROGRAM = '''
import sys
from integralhist import console
def main():
    for number in range(3):
        print("line", number)
        print("error", number, file=sys.stderr)
    ended = {!r}
    sys.exit(1 / 0 if ended is None else ended)
console.run(main, goes_on={})
'''


class Console(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.video = os.path.join(self.folder, 'video.avi')
        launch('videotestsrc num-buffers=300 pattern=ball ! video/x-raw,format=I420,width=160,'
               f'height=120 ! jpegenc ! avimux ! filesink location={self.video}')

    def run_all(self, command, **streams):
        """The runs of a command, with and without PYTHONUNBUFFERED"""
        return [subprocess.run(command, cwd=self.folder, text=True, timeout=TIMEOUT, check=False,
                               env={**os.environ, 'PYTHONUNBUFFERED': name}, **streams)
                for name in ('', '1')]

    def full(self):
        file = open('/dev/full', 'w', encoding='ascii')
        self.addCleanup(file.close)
        return file

    def closed_pipe(self):
        reader, writer = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, writer)
        return writer

    def test_statuses(self):
        for ended, status, text in ((0, 0, ''), (3, 3, ''), ('what is wrong', 1, 'what is wrong'),
                                    (None, 1, 'ZeroDivisionError: division by zero')):
            command = [sys.executable, '-c', PROGRAM.format(ended, True)]
            for done in self.run_all(command, stdout=self.full(), stderr=subprocess.PIPE):
                self.assertEqual(done.returncode, status or 1)
                self.assertEqual(done.stderr.splitlines()[-1],
                                 '-c: stdout: No space left on device')
                self.assertIn(text, done.stderr)
            for done in self.run_all(command, stdout=self.closed_pipe(), stderr=subprocess.PIPE):
                self.assertEqual(done.returncode, status)
                self.assertEqual(done.stderr.splitlines()[-1], text or 'error 2')
            for stream in self.full(), self.closed_pipe():
                for done in self.run_all(command, stdout=subprocess.PIPE, stderr=stream):
                    self.assertEqual((done.returncode, done.stdout),
                                     (status, 'line 0\nline 1\nline 2\n'))
            for done in self.run_all(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT):
                lines = done.stdout.splitlines()
                self.assertEqual(sorted(lines[:6]), [f'{kind} {number}' for kind in (
                    'error', 'line') for number in range(3)])
                self.assertEqual(lines[-1:] if text else [], [text] if text else [])
            for done in self.run_all(['sh', '-c', '"$0" "$@" >&- 2>&-', *command]):
                self.assertEqual(done.returncode, status)
            early = ['-c', 'import warnings; warnings.warn("early")' + command[-1]]  # before run ()
            for done in self.run_all([sys.executable, *early], stderr=self.full(),
                                     stdout=subprocess.PIPE):
                self.assertEqual((done.returncode, done.stdout),
                                 (status, 'line 0\nline 1\nline 2\n'))

    def test_output_is_purpose(self):
        """A failed print ends the program, with 1, or with 0 if the reader has gone"""
        command = [sys.executable, '-c', PROGRAM.format('went on', False)]
        for done in self.run_all(command, stdout=self.full(), stderr=subprocess.PIPE)[1:]:
            self.assertEqual((done.returncode, done.stderr),
                             (1, '-c: stdout: No space left on device\n'))
        for done in self.run_all(command, stdout=self.closed_pipe(), stderr=subprocess.PIPE)[1:]:
            self.assertEqual((done.returncode, done.stderr), (0, ''))

    def programs(self):
        """(command, exit status) of programs that read the video to its end, and print"""
        python = sys.executable
        here = [(name, os.path.join(EXAMPLES, name)) for name in (
            'histquery.py', 'numpy_regions.py', 'detect.py', 'hog.py', 'cameras.py', 'table.py')]
        more = {'cameras.py': ['--seconds', '1', '--streams', '1'],
                'detect.py': [self.video, '--boxes', os.path.join(self.folder, 'boxes')],
                'table.py': [self.video, 'out', '--grid', '1x1', '--format', 'csv']}
        with open(os.path.join(self.folder, 'boxes'), 'w', encoding='ascii') as file:
            file.write('0,60,40,30,30\n')
        for name, path in here:
            yield [python, path, *more.get(name, [self.video])]
        yield [python, '-m', 'integralhist.archive', 'status', 'archive']

    def test_programs(self):
        """A full disk ends each with 1 and a sentence, a reader that has gone without a word"""
        with open(os.path.join(self.folder, 'settings.toml'), 'w', encoding='ascii') as file:
            file.write('[regions]\ngrid = [1, 1]\n')
        subprocess.run([sys.executable, '-m', 'integralhist.archive', 'run', 'settings.toml',
                        'video.avi', '--out', 'archive'], cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for command in self.programs():
            for done in self.run_all(command, stdout=self.full(), stderr=subprocess.PIPE):
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn('No space left on device', done.stderr.splitlines()[-1], command)
                self.assertNotIn('Traceback', done.stderr)
                self.assertNotIn('Exception ignored', done.stderr)
            for done in self.run_all(command, stdout=self.closed_pipe(), stderr=subprocess.PIPE):
                self.assertIn(done.returncode, (0, 1) if 'cameras.py' in command[1] else (0,),
                              done.stderr)
                self.assertNotIn('Traceback', done.stderr)
                self.assertNotIn('Exception ignored', done.stderr)
                self.assertNotIn('Broken pipe', done.stderr)

    def test_examples_in_c(self):
        for name, arguments in ('HISTQUERY', []), ('TRACKDEMO', ['--frames=20']):
            program = os.environ.get(name, '')
            if not os.path.exists(program):
                self.skipTest(f'no {name}: the build has no examples')
            command = [program, *arguments, self.video]
            for stdout, status in (self.full(), 1), (subprocess.DEVNULL, 0):
                done = subprocess.run(command, cwd=self.folder, stdout=stdout, text=True,
                                      stderr=subprocess.PIPE, timeout=TIMEOUT, check=False)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(status, int('stdout takes no more text' in done.stderr))

    def test_bare_environment(self):
        """tests/run.sh runs the tests without what only this machine has set"""
        kept = {'PATH': os.environ['PATH'], 'HOME': '/a b', 'LANG': 'C', 'CK_RUN_CASE': 'x',
                'INTHIST_SEED': '1', 'GST_REGISTRY_FORK': 'no', 'UBSAN_OPTIONS': 'a=1:b=2',
                'ASAN_OPTIONS': 'x', 'CCACHE_DIR': '/c', 'CUDA_VISIBLE_DEVICES': ''}
        gone = {'PYTHONUNBUFFERED': '1', 'PYTHONPATH': '/x', 'GST_PLUGIN_PATH': '/x', 'LC_ALL': 'C',
                'LD_LIBRARY_PATH': '/x', 'GST_DEBUG': '9', 'TERM': 'xterm', 'ODD': 'a\nPATH=/y'}
        setup = os.path.join(ROOT, 'tools/setup.sh')
        done = subprocess.run(['bash', '-c', f'set -eu; . {setup}; bare env -0'], check=True,
                              env={**kept, **gone}, stdout=subprocess.PIPE, text=True)
        found = dict(line.split('=', 1) for line in done.stdout.split('\0') if line)
        self.assertEqual(found, kept)
        with open(os.path.join(ROOT, 'tests/run.sh'), encoding='utf-8') as file:
            self.assertIn('\nbare meson test ', file.read())


if __name__ == '__main__':
    unittest.main(verbosity=2)
