#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The driver of integralhist-archive, and its engines: tries, deadlines, places, GPUs

Simulated engines say what happens, and their clock runs as fast as the driver asks it.
"""
import errno
import os
import sys
import time
import unittest
from unittest import mock

import archive_truth
from integralhist.archive import commit, driver
from integralhist.archive.child import Outcome
from integralhist.archive.engines import local
from integralhist.archive.engines.local import Local, cores
from integralhist.archive.engines.ray import places, reason_of


class Simulated:
    """An engine and its clock; jobs end at once, and are bad"""
    started, now, is_shared, outcome = 0, 0.0, False, ('bad', 'it ran')

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds

    def slots(self):
        return 2

    def start(self, _):
        self.started += 1
        return self.started

    def wait(self, handles, seconds):
        self.now += max(seconds, 0.01)
        return [(handle, Outcome(*self.outcome)) for handle in handles if self.has_ended(handle)]

    def has_ended(self, _):
        return True

    def stop(self, _):
        pass


def environ(pid):
    """The environment of a process, empty if it has ended. One that begins has none for a moment"""
    for _ in range(50):
        try:
            with open(f'/proc/{pid}/environ', encoding='utf-8', errors='replace') as file:
                found = file.read()
        except OSError:
            return ''
        if found:
            return found
        time.sleep(0.02)
    return ''


class Driver(archive_truth.Archive):
    VIDEOS = 1

    def test_deadlines(self):
        """10x is ten times a video's duration, and at least a minute"""
        commit.prepare(self.folder)
        now = time.monotonic()
        for text, said, limit in (
                ('10x', {'seconds': 90}, 900), ('10x', {'seconds': 1}, 60),
                ('10x', {'seconds': None}, 3600), ('2x', {'seconds': 90}, 180), ('10x', {}, 120),
                ('5', {'seconds': 90}, 5), ('5', {}, 5)):
            commit.note(self.folder, '_running', 'a', said)
            attempt = driver.Attempt({'key': 'a'}, {})
            attempt.started = now - 500  # for so long an engine had no place for it
            deadline = driver.Deadline(text)
            for later, over in ((0, False), (limit - 1, False), (limit + 6, True)):
                self.assertEqual(deadline.is_over(attempt, self.folder, now + later), over,
                                 (text, said, later))
        attempt = driver.Attempt({'key': 'unseen'}, {})
        attempt.started = now
        for later, over in ((590, False), (610, True)):
            deadline = driver.Deadline('10x')
            self.assertEqual(deadline.is_over(attempt, self.folder, now + later), over)

    def simulate(self, engine, keys, retries, deadline='10x'):
        """[(state, reason)] that a driver reports"""
        commit.prepare(self.folder)
        self.write('video', '')
        told = []
        driver.Driver(engine, self.folder, retries, driver.Deadline(deadline),
                      lambda _, *said: told.append(said[:2]), engine).run(
            {'key': key, 'name': 'video', 'video': self.path('video'), 'settings': {},
             'detections': None} for key in keys)
        return told

    def test_moments(self):
        """A run survives an OUT that is away for a moment, and a process that cannot start"""
        real = commit.marker

        class Poor(Simulated):
            def start(self, item):
                self.started += 1
                if self.started == 2:
                    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
                return item['key'], self.now + 100

            def has_ended(self, handle):
                return handle[1] < self.now

        def away(out, kind, key):
            if kind == '_running' and engine.now < 80:
                raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
            return real(out, kind, key)

        engine = Poor()
        with mock.patch.object(commit, 'marker', away):
            told = self.simulate(engine, 'ab', 0)
        self.assertEqual(told, [
            ('again', 'cannot be started: Too many open files; give fewer --jobs'),
            ('bad', 'it ran'), ('bad', 'it ran')])
        self.assertGreater(engine.now, 80)

    def test_hidden_marker(self):
        """NFS may hide a marker: it asks its server only when a folder is opened"""
        real, sync, opened = commit.marker, commit.sync_folder, []

        class Elsewhere(Simulated):
            outcome = 'done', ''

            def start(self, item):
                commit.write_marker(item['out'], '_done', 'a', {
                    'key': 'a', 'video': item['name'], 'settings': {}, 'files': {},
                    'fingerprint': {}, 'warnings': [], 'frames': 1})
                opened.clear()
                return super().start(item)

        def hidden(out, kind, key):
            return real(out, kind, key) if kind != '_done' or opened else None

        def open_folder(path):
            sync(path)
            opened.append(path)

        with mock.patch.object(commit, 'marker', hidden), \
                mock.patch.object(commit, 'sync_folder', open_folder):
            self.assertEqual(self.simulate(Elsewhere(), 'a', 0), [('done', '')])

    def test_no_place(self):
        """If others hold all places of an engine, a wait is no try; without others it is one"""

        class Full(Simulated):
            def has_ended(self, handle):
                return handle == 4

        engine = Full()
        engine.is_shared = True
        told = self.simulate(engine, 'a', 0)
        self.assertEqual(told[3:], [('bad', 'it ran')])
        for state, reason in told[:3]:
            self.assertEqual(state, 'again')
            self.assertRegex(reason, '^had not begun after 60[0-9] s$')

        commit.remove_marker(self.folder, '_failed', 'a')
        self.assertEqual([state for state, _ in self.simulate(Full(), 'a', 1)],
                         ['again', 'given up'])

    def test_exact_deadline(self):
        """If no job waits for a place, the deadline counts from the start"""
        class Endless(Simulated):
            def has_ended(self, _):
                return False

        told = self.simulate(Endless(), 'a', 1, '60')
        self.assertEqual([state for state, _ in told], ['again', 'given up'])
        for _, reason in told:
            self.assertRegex(reason, '^had not ended after 6[0-2] s; --deadline gives more$')


class Engines(archive_truth.Archive):
    VIDEOS = 1

    def test_shared_out(self):
        """The next job gets the GPU with the fewest jobs; without --gpus-per-file it sees none"""
        os.mkfifo(self.path('never'))
        holder = os.open(self.path('never'), os.O_RDWR)
        self.addCleanup(os.close, holder)
        commit.prepare(self.path('out'))
        item = {'key': 'k', 'video': self.path('never'), 'name': 'never', 'detections': None,
                'settings': {'regions': {'grid': [1, 1]}}, 'out': self.path('out')}
        previous = os.environ.get('CUDA_VISIBLE_DEVICES')
        try:
            os.environ['CUDA_VISIBLE_DEVICES'] = '3,5'
            for share, jobs, wanted in ((0.5, 4, '3535'), (1, 2, '35')):
                engine = Local(sys.executable, gpus_per_file=share)
                self.assertEqual(engine.slots(), jobs)
                children = [engine.start(item) for _ in range(jobs)]
                self.assertEqual(''.join(child.gpu for child in children), wanted)
                for child in children:
                    self.assertIn(f'CUDA_VISIBLE_DEVICES={child.gpu}\0', environ(child.process.pid))
                engine.stop(children.pop(1))  # of GPU 5
                children.append(engine.start(item))
                self.assertEqual(children[-1].gpu, '5')
                for child in children:
                    engine.stop(child)
                engine.close()
            engine = Local(sys.executable, jobs=1)
            child = engine.start(item)
            self.assertIn('CUDA_VISIBLE_DEVICES=\0', environ(child.process.pid))
            engine.stop(child)
            engine.close()
        finally:
            os.environ.pop('CUDA_VISIBLE_DEVICES')
            if previous is not None:
                os.environ['CUDA_VISIBLE_DEVICES'] = previous

    def test_stuck_driver(self):
        """An nvidia-smi that never answers ends the run, with a reason"""
        self.write('nvidia-smi', '#!/bin/sh\nexec sleep 1000\n')
        os.chmod(self.path('nvidia-smi'), 0o755)
        environment = {**os.environ, 'PATH': f'{self.folder}:{os.environ["PATH"]}'}
        environment.pop('CUDA_VISIBLE_DEVICES', None)
        with mock.patch.dict(os.environ, environment, clear=True), \
                mock.patch.object(local, 'ANSWERS', 1), \
                self.assertRaisesRegex(OSError, 'nvidia-smi has not answered for 1 s'):
            Local(sys.executable, gpus_per_file=1)

    def test_places_of_ray(self):
        """Places as Ray gives them out: a part of one GPU for each job, and a core too"""
        for cores, gpus, share, wanted in (
                (8, 0, 0, 8), (8, 2, 0, 8), (8, 0, 0.5, 0), (8, 2, 0.5, 4), (8, 2, 0.6, 2),
                (32, 8, 0.4, 16), (32, 8, 0.3, 24), (3, 2, 0.5, 3), (8, 4, 1, 4), (8, 5, 2, 2)):
            self.assertEqual(places({'CPU': cores, 'GPU': gpus}, share), wanted,
                             (cores, gpus, share))

    def test_reason_of_ray(self):
        """The reason is the last line of what a task raised, else the first, without colours"""
        class TaskError(Exception):
            ip = '127.0.0.2'

        self.assertEqual(reason_of(TaskError('\x1b[36mray::run_job()\x1b[39m (pid=1)\n  File "x"\n'
                                             "ModuleNotFoundError: No module named 'y'\n")),
                         "TaskError: ModuleNotFoundError: No module named 'y'")
        self.assertEqual(reason_of(ValueError('gone\nfor a reason')), 'ValueError: gone')
        self.assertEqual(reason_of(ValueError()), 'ValueError: ')

    def test_cores(self):
        """A run takes as many cores as the container has"""
        count = len(os.sched_getaffinity(0))
        for text, wanted in (('max 100000', count), ('50000 100000', 1), ('100000 100000', 1),
                             (f'{(count + 1) * 100000} 100000', count), ('', count)):
            self.write('cpu.max', text + '\n')
            self.assertEqual(cores(self.path('cpu.max')), wanted, text)
        self.assertEqual(cores(self.path('none')), count)


if __name__ == '__main__':
    unittest.main(verbosity=2)
