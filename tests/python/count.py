#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""tests/count.py on a log of Meson's: the numbers are known here, and each reason of skipped checks
comes once, the most frequent one first."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'count.py')
CHECK = '100%: Checks: {}, Failures: {}, Errors: 0\n'
UNITTEST = "test_a (M.T) ... ok\ntest_b (M.T) ... skipped 'no network'\n\nRan 2 tests in 0.1s\n\n" \
           'OK (skipped=1)\n'


def result_of(name, stdout='', stderr='', result='OK'):
    return {'name': f'project:suite / {name}', 'result': result, 'stdout': stdout,
            'stderr': stderr}


class Count(unittest.TestCase):
    def count(self, *results):
        with tempfile.NamedTemporaryFile('w', suffix='.json') as log:
            log.writelines(f'{json.dumps(result)}\n' for result in results)
            log.flush()
            ended = subprocess.run([sys.executable, PROGRAM, log.name], stdout=subprocess.PIPE,
                                   text=True, check=False)
        return ended.returncode, ended.stdout.splitlines()

    def test_reasons(self):
        status, lines = self.count(
            result_of('first', CHECK.format(9, 0) + 'SKIP: no device\nSKIP: no device\n'),
            result_of('second', CHECK.format(3, 0) + 'SKIP: second: no device\n'),
            result_of('third', stderr=UNITTEST),
            result_of('fourth', 'SKIP: fourth: no network\n', result='SKIP'))
        self.assertEqual(lines, ['SKIP: 3 of first, second: no device',
                                 'SKIP: 2 of fourth, third: no network',
                                 '10 passed, 0 failed, 5 skipped'])
        self.assertEqual(status, 0)

    def test_failures(self):
        """Failures come behind the reasons, and make the program fail"""
        status, lines = self.count(
            result_of('wrong', CHECK.format(4, 1) + 'what it said\n', result='FAIL'),
            result_of('crash', 'SKIP: no device\n', result='TIMEOUT'))
        self.assertEqual(lines[0], 'SKIP: 1 of crash: no device')
        self.assertIn('FAIL: wrong: 1 failed (FAIL)', lines)
        self.assertIn('    what it said', lines)
        self.assertIn('FAIL: crash: 1 failed (TIMEOUT)', lines)
        self.assertEqual((status, lines[-1]), (1, '3 passed, 2 failed, 1 skipped'))

    def test_nothing_ran(self):
        self.assertEqual(self.count(), (1, ['no test ran', '0 passed, 0 failed, 0 skipped']))


if __name__ == '__main__':
    unittest.main(verbosity=2)
