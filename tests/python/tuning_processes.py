#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Processes that share one tuning cache: none loses what another has measured, or waits for ever"""
import concurrent.futures
import configparser
import fcntl
import os
import subprocess
import tempfile
import time
import unittest

PROCESSES = 8


class Processes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = os.path.join(folder.name, 'gst-integralhist')
        self.environment = {**os.environ, 'XDG_CACHE_HOME': folder.name,
                            'GST_DEBUG': 'integralhist:5', 'GST_DEBUG_NO_COLOR': '1'}
        self.environment.setdefault('GST_REGISTRY', os.path.join(folder.name, 'registry.bin'))
        self.launch(64, tuning=0)  # has the registry written

    def launch(self, width, tuning=50):
        """What the log says of where the strategy is from"""
        line = (f'videotestsrc num-buffers=1 ! video/x-raw,format=GRAY8,width={width},height=64 ! '
                f'cudaintegralhist backend=cpu compute=eager tuning-time={tuning} ! fakesink')
        done = subprocess.run(['gst-launch-1.0', '-q', *line.split()], env=self.environment,
                              check=True, timeout=100, stderr=subprocess.PIPE, text=True)
        return [text for text in done.stderr.splitlines() if ': strategy ' in text]

    def launch_all(self, widths):
        with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
            return list(pool.map(self.launch, widths))

    def entries(self):
        parser = configparser.ConfigParser()
        parser.read(os.path.join(self.cache, 'tuning.ini'))
        return [key for section in parser.sections() for key in parser[section]]

    def test_different_sizes(self):
        """All measure something else: the file has all of it"""
        for start in 100, 1100:
            before = len(self.entries())
            self.launch_all(range(start, start + 16 * PROCESSES, 16))
            self.assertEqual(len(self.entries()), before + PROCESSES)
        self.assertEqual(os.listdir(self.cache), ['tuning.ini'])

    def test_same_size(self):
        """One of them measures, and the others take that"""
        told = self.launch_all([320] * PROCESSES)
        counts = [sum(any(word in line for line in lines) for lines in told)
                  for word in ('measured in', 'from the cache')]
        self.assertEqual(counts, [1, PROCESSES - 1], told)

    def test_stuck_process(self):
        """One that holds the lock and does not go on delays others for a moment only"""
        os.makedirs(self.cache, exist_ok=True)
        folder = os.open(self.cache, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        fcntl.flock(folder, fcntl.LOCK_EX)
        started = time.monotonic()
        line, = self.launch(640)
        self.assertIn('measured in', line)
        self.assertLess(time.monotonic() - started, 30)
        self.assertEqual(len(self.entries()), 1)


if __name__ == '__main__':
    unittest.main(verbosity=2)
