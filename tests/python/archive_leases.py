#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""gc, verify and markers of integralhist-archive: jobs lose nothing, and bad markers do not count

Owners elsewhere are files that the test renews. The archive is compared with the bytes of an
undisturbed run.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

import archive_truth
from integralhist.archive import commit, lease
from integralhist.archive.lease import Lease, Leases, owner

DAY = 86400
MOUNT = os.geteuid() != 0 and 'a full disk wants root, who may mount one'


class Elsewhere:
    """A clock for Leases. Its sleep () calls `act`, in place of an owner on another machine"""

    def __init__(self, act=lambda: None):
        self.act, self.slept = act, 0

    def sleep(self, seconds):
        self.slept += seconds
        self.act()


class Gc(archive_truth.Archive):
    def test_verify_and_gc(self):
        self.run_archive()
        self.assertEqual(self.archive('verify', 'out'),
                         '4 videos, 0 files are not as they were committed')
        first, second, third, fourth = sorted(name for name in self.files() if 'regions/' in name)

        # files of a killed job: readers do not see them, and gc removes them once they are old
        shutil.copy(self.path(f'out/{third}'),
                    self.path('out/regions/0123456789abcdef0123-01234567.parquet'))
        self.write('out/_aside/0123.regions.host.1.aa', 'torn')
        in_use = f'abcd.regions.{owner()}.aa'
        self.write(f'out/_aside/{in_use}', 'a job of this machine writes')
        os.mkdir(self.path('out/_aside/folder'))
        self.assertEqual(len(self.dataset().regions.files), 4)
        self.assertNotIn('0123456789abcdef0123', ' '.join(self.dataset().regions.files))
        self.assertEqual(self.archive('gc', 'out'), '0 files, 0 bytes removed')
        # a job that has renamed its table, and has not written its marker
        with Lease(self.path('out'), 'abcd'):
            self.write('out/_running/abcd.json', '{}')
            self.write('out/regions/abcd-01234567.parquet', 'whole')
            self.assertRegex(self.archive('gc', 'out', '--older', '0'), '^2 files, [0-9]+ bytes')
            self.assertIn('_aside/folder is a folder, which no job makes: it is left', self.said())
            self.assertEqual(sorted(os.listdir(self.path('out/_aside'))), [in_use, 'folder'])
            self.assertEqual(len(os.listdir(self.path('out/regions'))), 5)
        self.assertRegex(self.archive('gc', 'out', '--older', '0'), '^3 files, ')
        self.assertEqual(len(os.listdir(self.path('out/regions'))), 4)

        with open(self.path(f'out/{first}'), 'r+b') as file:
            file.seek(100)
            byte = file.read(1)
            file.seek(100)
            file.write(bytes([byte[0] ^ 1]))
        os.unlink(self.path(f'out/{second}'))
        os.unlink(self.path(f'out/{third}'))
        os.mkdir(self.path(f'out/{third}'))
        marker = f'_done/{fourth.split("/")[1].split("-")[0]}.json'
        os.truncate(self.path(f'out/{marker}'), 200)
        self.archive('verify', 'out', status=1)
        for text in (f'{first}: has other bytes than were committed', f'{second}: is not there',
                     f'{third}: cannot be read: Is a directory', f'{marker}: is no marker'):
            self.assertIn(text, self.said())
        # a damaged marker does not cost a table
        self.write('out/_aside/.nfs0001', 'of a file that NFS has open')
        self.assertRegex(self.archive('gc', 'out', '--older', '0'), '^1 files, ')
        self.assertTrue(os.path.exists(self.path(f'out/{fourth}')))
        os.rmdir(self.path(f'out/{third}'))
        self.archive('verify', 'out', '--forget', status=1)
        self.assertRegex(self.run_archive(), '^4 done, 0 there before')
        self.archive('verify', 'out')

    def test_beside_jobs(self):
        """gc takes nothing from a run of this machine, however often it looks"""
        process = self.start('run', 'settings.toml', f'{self.videos}/*.avi', '--out', 'out',
                             '--jobs', '4')
        passes = 0
        while process.poll() is None:
            if os.path.isdir(self.path('out/_leases')):
                for path in commit.orphans(self.path('out'), 0):
                    commit.remove(path)
                passes += 1
        self.assertGreater(passes, 5)
        self.assertEqual(process.returncode, 0, self.said())
        self.archive('verify', 'out')
        self.assertEqual(self.files(), self.whole())

    def test_beginning(self):
        """Each command works, or says that no run was begun, while a run makes the folders"""
        real = commit.make_folder

        def make(path):
            real(path)
            status = 0 if os.path.isdir(self.path('out/_done')) else 1
            for command in 'gc', 'status', 'verify':
                said = self.archive(command, 'out', status=status)
                self.assertEqual('no run was begun there' in said, status == 1)

        with mock.patch.object(commit, 'make_folder', make):
            commit.prepare(self.path('out'))

    def test_same_table(self):
        """While gc takes a table, a job begins to write the same one: the table stays"""
        self.run_archive(f'{self.videos}/000.avi')
        marker = 'out/_done/' + os.listdir(self.path('out/_done'))[0]
        table = self.path('out/regions/' + os.listdir(self.path('out/regions'))[0])
        whole = pathlib.Path(table).read_bytes()
        key = self.markers('_done')[0]['key']
        os.unlink(self.path(marker))
        none = set(), set()
        for link, again in ((os.link, False), (os.link, True), (None, False), (None, True)):
            def look(_, asked=[], again=again):  # noqa: B006
                asked.append(1)
                if len(asked) <= len(commit.TABLES) + 2:  # before it is taken
                    return none
                if again and not os.path.exists(table):
                    pathlib.Path(table).write_bytes(whole)
                return {key}, set()

            def no_link(*_):
                raise PermissionError

            with mock.patch.object(Leases, 'keys_and_owners', look), \
                    mock.patch.object(os, 'link', link or no_link):
                leases = mock.Mock(keys_and_owners=lambda: look(None, [1] * 9))
                self.assertIsNone(commit.take(self.path('out'), 'regions', os.path.basename(table),
                                              leases))
            self.assertEqual(pathlib.Path(table).read_bytes(), whole)
            self.assertEqual(os.listdir(self.path('out/_aside')), [])

    def test_missing_table(self):
        """A run does a video again if its table is missing, or shorter than it was"""
        self.run_archive()
        tables = sorted(name for name in self.files() if not name.startswith('_'))
        os.unlink(self.path(f'out/{tables[0]}'))
        os.truncate(self.path(f'out/{tables[1]}'), 10)
        self.assertRegex(self.run_archive(), '^2 done, 2 there before, 0 bad')
        self.assertEqual(self.files(), self.whole())
        os.unlink(self.path(f'out/{tables[0]}'))  # and where its job fails, it is not done
        self.assertRegex(self.run_archive(
            '--retries=0', status=1, GST_PLUGIN_FEATURE_RANK='jpegdec:0,avdec_mjpeg:0'),
            '^0 done, 3 there before')


class Owners(archive_truth.Archive):
    VIDEOS = 1

    def setUp(self):
        super().setUp()
        commit.prepare(self.folder)

    def elsewhere(self, age=0):
        """The path of a lease of a process on another machine"""
        path = self.path('_leases/abcd.0123456789ab-1-1')
        self.write(path, '')
        renewed = time.time() - age
        os.utime(path, (renewed, renewed))
        return path

    def is_held(self, clock, older=0):
        return 'abcd' in Leases(self.folder, older, clock).keys_and_owners()[0]

    def test_elsewhere(self):
        """A lease of another machine holds until it is old and not renewed while gc looks"""
        clock = Elsewhere()
        self.elsewhere(lease.EXPIRY - 30)
        self.assertTrue(self.is_held(clock))
        self.assertEqual(clock.slept, 0)
        for age in (lease.EXPIRY + 30, DAY, -DAY):  # -DAY: a clock went back
            path = self.elsewhere(age)
            clock = Elsewhere(lambda path=path: os.utime(path))
            self.assertTrue(self.is_held(clock), age)
            self.assertGreater(clock.slept, 3 * lease.RENEWED)
            path = self.elsewhere(age)
            self.assertFalse(self.is_held(Elsewhere()), age)
            self.assertEqual(Leases(self.folder, 0, Elsewhere()).ended(), [path])
        self.elsewhere(lease.EXPIRY + 30)
        self.assertTrue(self.is_held(Elsewhere(), older=DAY))

    def test_gc_of_expired(self):
        """gc removes an expired lease with its tables; an owner that slept commits nothing later"""
        with Lease(self.folder, 'abcd') as held, commit.Commit(self.folder, 'abcd', held) as one:
            one.open('regions').write(b'table')
            for name in os.listdir(self.path('_leases')):
                if name.startswith('abcd'):
                    os.unlink(self.path(f'_leases/{name}'))  # as gc does
            with self.assertRaises(FileNotFoundError):
                one.done({})
        for folder in '_done', 'regions':
            self.assertEqual(os.listdir(self.path(folder)), [])
        # and if gc takes the table just before the marker is written
        renew = mock.Mock()
        real = commit.write_marker

        def late(out, *arguments):
            shutil.rmtree(self.path('regions'))
            real(out, *arguments)

        with commit.Commit(self.folder, 'abcd', renew) as one, \
                mock.patch.object(commit, 'write_marker', late):
            one.open('regions').write(b'table')
            with self.assertRaises(OSError):
                one.done({})
        self.assertEqual(os.listdir(self.path('_done')), [])

    def test_processes(self):
        """A lease ends with its process, a zombie or not, even if the number is used again"""
        program = ('import sys; from integralhist.archive.lease import Lease\n'
                   'with Lease(sys.argv[1], "abcd"): print(1, flush=True); sys.stdin.read()')
        process = subprocess.Popen([sys.executable, '-c', program, self.folder],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdout.readline()
        self.assertTrue(self.is_held(None))
        name = next(name for name in os.listdir(self.path('_leases')))
        os.utime(self.path(f'_leases/{name}'), (1, 1))  # whatever the clock says
        self.assertTrue(self.is_held(None))
        process.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        self.assertFalse(self.is_held(None))  # a zombie
        process.communicate()
        self.assertFalse(self.is_held(None))
        machine, pid, started = owner().split('-')
        self.write(f'_leases/abcd.{machine}-{pid}-{int(started) + 1}', '')
        self.assertFalse(self.is_held(None))
        self.write(f'_leases/abcd.{machine}-{pid}-{started}', '')
        self.assertTrue(self.is_held(None))

    def test_renewal(self):
        """A thread of the owner renews the lease"""
        with mock.patch.object(lease, 'RENEWED', 0.05), Lease(self.folder, 'abcd') as held:
            os.utime(held.path, (1, 1))
            until = time.monotonic() + 20
            while os.stat(held.path).st_mtime == 1:
                self.assertLess(time.monotonic(), until)
                time.sleep(0.02)
        self.assertEqual(os.listdir(self.path('_leases')), [])

    @unittest.skipIf(MOUNT, MOUNT)
    def test_full_disk(self):
        """A lease is renewed on a full disk, and gc makes room there"""
        out = self.path('disk')
        os.mkdir(out)
        mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=200k', 'tmpfs', out],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode:
            self.skipTest(f'a full disk wants a mount: {mounted.stderr.strip()}')
        try:
            commit.prepare(out)
            with Lease(out, 'abcd') as held:
                with self.assertRaises(OSError), open(f'{out}/_aside/torn.regions.host.1.aa',
                                                      'wb', buffering=0) as file:
                    while file.write(bytes(4096)) == 4096:
                        pass
                    file.write(b'1')
                os.utime(held.path, (1, 1))
                held.renew()
                self.assertGreater(os.stat(held.path).st_mtime, 1)
                self.assertRegex(self.archive('gc', 'disk', '--older', '0'), '^1 files, ')
                self.assertIn('abcd', Leases(out).keys_and_owners()[0])
        finally:
            subprocess.run(['umount', out], check=True)


class Markers(archive_truth.Archive):
    VIDEOS = 1

    def test_other_json(self):
        """JSON that is not a marker counts as missing, for each command and kind"""
        inputs = f'{self.videos}/000.avi'
        self.write('bad.avi', 'no video')
        self.run_archive(inputs, 'bad.avi', status=1)
        kept = {kind: self.path(f'out/{kind}/' + os.listdir(self.path(f'out/{kind}'))[0])
                for kind in ('_done', '_failed')}
        done, = self.markers('_done')
        failed, = self.markers('_failed')
        for kind, whole in (('_done', done), ('_failed', failed)):
            texts = ['', '{}', '[]', '123', '"x"', 'null', '[' * 100000, '\udcff']
            for name in whole:
                if name in ('width', 'height', 'rows', 'decoders', 'versions', 'attempts'):
                    continue  # which nobody reads
                for value in (None, 5, [5], {'a': 5}):
                    if (name, value) in (('settings', {'a': 5}), ('frames', 5)):
                        continue
                    texts.append(json.dumps({**whole, name: value}))
                texts.append(json.dumps({key: whole[key] for key in whole if key != name}))
            for key in ('../../etc/passwd', 'regions/../../x-01234567.parquet'):
                texts.append(json.dumps({**done, 'files': {key: {'sha256': '', 'bytes': 1}}}))
            for text in texts:
                with open(kept[kind], 'w', encoding='utf-8', errors='surrogateescape') as file:
                    file.write(text)
                key = os.path.basename(kept[kind]).removesuffix('.json')
                self.assertIsNone(commit.marker(self.path('out'), kind, key), text[:200])
            os.unlink(kept[kind])
            os.mkdir(kept[kind])
            self.assertIsNone(commit.marker(self.path('out'), kind, key))
            os.rmdir(kept[kind])
        for text in '{}', '[' * 100000:
            for command, status in ((('status', 'out'), 0), (('verify', 'out'), 1),
                                    (('gc', 'out', '--older', '0'), 0), (('retry', 'out'), 0)):
                for path in kept.values():
                    pathlib.Path(path).write_text(text, encoding='utf-8')
                self.archive(*command, status=status)
        self.assertRegex(self.run_archive(inputs, 'bad.avi', status=1), '^1 done, .* 1 bad')
        self.assertEqual(self.markers('_done'), [done])
        for text in '[]', '{':
            self.write('out/_settings.json', text)
            self.archive('status', 'out')
            with self.assertRaisesRegex(FileNotFoundError, 'its settings are damaged'):
                self.dataset()


if __name__ == '__main__':
    unittest.main(verbosity=2)
