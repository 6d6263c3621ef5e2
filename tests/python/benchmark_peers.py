#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests tests/benchmarks/peers.py: a short run, what it takes for wrong, and its table.

Environment: BUILD_ROOT has inthist-check. Without PYTHON_VENV's OpenCV the test is skipped.
"""
import contextlib
import io
import os
import subprocess
import sys
import unittest

if __name__ == '__main__':
    import virtual_environment
    virtual_environment.enter()

import numpy  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
SCRIPT = os.path.join(ROOT, 'tests/benchmarks/peers.py')
sys.path.insert(0, os.path.dirname(SCRIPT))
import peers  # noqa: E402


def time_one(task, result):
    """Runs time_peers() with a peer that gives this result: (rows, failures, printed text)"""
    def make(_):
        yield peers.Candidate('test', 'CPU', lambda: None, lambda: result)
    with contextlib.redirect_stdout(io.StringIO()) as said, \
            contextlib.redirect_stderr(io.StringIO()):
        rows = []
        failed = peers.time_peers(task, [('Peer 1.0', {task.what: make})], None, 0.001, set(), rows)
    return rows, failed, said.getvalue()


class Peers(unittest.TestCase):
    def test_quick_run(self):
        done = subprocess.run(
            [sys.executable, SCRIPT, '--quick', '--build', os.environ['BUILD_ROOT']], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=280, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = [[cell.strip() for cell in line.split('|')[1:-1]]
                for line in done.stdout.splitlines() if line.startswith('| ')][1:]
        for what, sizes in peers.QUICK_SIZES.items():
            for width, height in sizes:
                cpu = [who for w, size, who, device, _, _ in rows
                       if (w, size, device) == (what, f'{width}x{height}', 'CPU')]
                self.assertTrue(any(who.startswith('OpenCV ') for who in cpu), (what, cpu))
                self.assertEqual('ours, rows' in cpu, what != peers.MEDIAN, (what, cpu))
        for name in ('PyTorch', 'CuPy', 'cuCIM', 'NPP', 'CUB'):
            there = any(row[2].startswith(f'{name} ') or row[2].startswith(f'{name.lower()} of ')
                        for row in rows)
            if not there:
                self.assertIn(f'SKIP: {name}: ', done.stdout)

    def test_right_and_wrong_results(self):
        for what in peers.SIZES:
            task = peers.Task(what, 20, 17)
            planes = [peers.integral(task.pixels)]
            if what == peers.HISTOGRAM:
                planes = [peers.integral(task.pixels // 8 == b) for b in range(peers.BINS)]
            elif what == peers.MEDIAN:
                planes = [numpy.zeros_like(task.pixels)]
                for y in range(7, 10):
                    for x in range(7, 13):
                        planes[0][y, x] = numpy.median(task.pixels[y - 7:y + 8, x - 7:x + 8])
            right = numpy.stack(planes) if what == peers.HISTOGRAM else planes[0]
            rows, failed, said = time_one(task, right)
            self.assertEqual((len(rows), failed, said), (1, 0, ''), what)
            wrong = right.copy()
            wrong[..., 9, 12] += 1
            rows, failed, said = time_one(task, wrong)
            self.assertEqual((rows, failed), ([], 1), what)
            self.assertIn(f'FAIL: Peer 1.0, test: {what}, 20x17: Wrong: first wrong', said)

    def test_lost_gpu(self):
        """After a peer has broken the GPU's context, the times of those before it remain"""
        class BrokenGpu:
            """Stands for a GPU whose context is in an error"""
            def free(self):
                raise RuntimeError('cuMemFree_v2: CUDA error 700')

        task, rows = peers.Task(peers.TABLE, 4, 4), []
        def make(_):
            yield peers.Candidate('test', 'CPU', lambda: None, lambda: peers.integral(task.pixels))
        with contextlib.redirect_stderr(io.StringIO()), \
                self.assertRaisesRegex(peers.LostGpu, 'after Peer 1.0, test: .*error 700'):
            peers.time_peers(task, [('Peer 1.0', {task.what: make})] * 2, BrokenGpu(), 0.001,
                             set(), rows)
        self.assertEqual([row.who for row in rows], ['Peer 1.0, test'])

    def test_ratio(self):
        rows = [peers.Row(peers.TABLE, '4x4', 'ours, look-back', 'CUDA', 2.0),
                peers.Row(peers.TABLE, '4x4', 'Peer 1.0', 'CUDA', 5.0),
                peers.Row(peers.TABLE, '4x4', 'Peer 2.0', 'CPU', 5.0)]
        with contextlib.redirect_stdout(io.StringIO()) as said:
            peers.print_table(rows)
        self.assertIn('| Peer 1.0 | CUDA | 5.0 | 2.50 |', said.getvalue())
        self.assertIn('| Peer 2.0 | CPU | 5.0 | - |', said.getvalue())


if __name__ == '__main__':
    unittest.main()
