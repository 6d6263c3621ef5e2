#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""integralhist-archive has the same bytes after it was killed at random times

The driver and jobs get SIGKILL, and the disk fills up. ARCHIVE_KILLS (3) says how often the driver
is killed.
"""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

import archive_truth

KILLS = int(os.environ.get('ARCHIVE_KILLS', '3'))


class Kills(archive_truth.Archive):
    VIDEOS = 8

    def compare(self):
        """All files exist once, and no others"""
        self.assertEqual(self.files(), self.whole())
        self.archive('verify', 'out')
        self.assertEqual(self.dataset().regions.count_rows(), self.VIDEOS * 12 * 2)

    def test_driver(self):
        """Jobs end with a killed driver; a torn file is not seen, and the next run does the rest"""
        for _ in range(KILLS):
            done = self.count_done()
            if done >= self.VIDEOS // 2:
                shutil.rmtree(self.path('out'))
                done = 0
            process = self.start('run', 'settings.toml', f'{self.videos}/*.avi', '--out', 'out',
                                 '--jobs', '2')
            self.await_jobs(process)
            # enough is left that even a fast machine is not done before the kill
            self.await_done(done + self.random.randint(0, (self.VIDEOS - done) // 2 - 1), process)
            time.sleep(self.random.uniform(0, 0.1))
            jobs = self.jobs()
            process.kill()
            self.assertEqual(process.wait(), -signal.SIGKILL, self.said())
            deadline = time.monotonic() + 10
            while any(os.path.exists(f'/proc/{pid}') for pid in jobs):
                self.assertLess(time.monotonic(), deadline, 'jobs outlive the driver')
                time.sleep(0.01)
            for marker in self.markers('_done'):
                self.assertEqual([name.split('-')[0] for name in sorted(marker['files'])], [
                    f'{table}/{marker["key"]}' for table in ('regions', 'tracks')])
            self.archive('verify', 'out')
        self.assertRegex(self.run_archive(), ' 0 bad, 0 given up, 0 left')
        self.compare()
        self.archive('gc', 'out', '--older', '0')
        self.assertEqual(os.listdir(self.path('out/_aside')), [])

    def test_jobs(self):
        """Killed jobs are tried again"""
        process = self.start('run', 'settings.toml', f'{self.videos}/*.avi', '--out', 'out',
                             '--retries', '20')
        os.kill(self.await_jobs(process)[0], signal.SIGKILL)  # as it begins: never too late
        for _ in range(3 * KILLS):
            time.sleep(self.random.uniform(0, 0.5))
            for pid in self.random.sample(jobs := self.jobs(), min(1, len(jobs))):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.assertEqual(process.wait(120), 0, self.said())
        self.assertIn('ended by SIGKILL; trying again', self.said())
        self.compare()

    def test_aborting_among_others(self):
        """A video that ends its jobs is reported, and the others have the same bytes"""
        self.write('abort.avi', 'ABORTING')
        self.write('junk.avi', 'no video')
        self.assertRegex(
            self.run_archive(f'{self.videos}/*.avi', 'abort.avi', 'junk.avi', '--retries=1',
                             status=1),
            '^8 done, 0 there before, 1 bad, 1 given up, 0 left')
        self.compare()

    @unittest.skipIf(os.geteuid() != 0, 'a full disk wants root, who may mount one')
    def test_full_disk(self):
        """A video without room is reported and left out; with room the next run does it"""
        os.mkdir(self.path('out'))
        mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=80k', 'tmpfs',
                                  self.path('out')], capture_output=True, text=True, check=False)
        if mounted.returncode:
            self.skipTest(f'a full disk wants a mount: {mounted.stderr.strip()}')
        try:
            self.run_archive('--retries=1', status=1)
            self.assertIn('No space left on device', self.said())
            self.archive('verify', 'out')
            done = len(self.markers('_done'))
            self.assertLess(done, 8)
            subprocess.run(['mount', '-o', 'remount,size=10m', self.path('out')], check=True)
            self.assertRegex(self.run_archive(),
                             f'^{8 - done} done, {done} there before, 0 bad, 0 given up, 0 left')
            self.compare()
        finally:
            subprocess.run(['umount', self.path('out')], check=True)

    def test_many(self):
        """Two drivers run with the same items at the same time"""
        processes = [self.start('run', 'settings.toml', f'{self.videos}/*.avi', '--out', 'out')
                     for _ in range(2)]
        self.assertEqual([process.wait(120) for process in processes], [0, 0], self.said())
        self.compare()


if __name__ == '__main__':
    print(f'kills of the driver: {KILLS}', file=sys.stderr)
    unittest.main(verbosity=2)
