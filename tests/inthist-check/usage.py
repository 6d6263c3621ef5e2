#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests inthist-check as a command: what it refuses, its exit status, what it prints for programs.

usage.py INTHIST_CHECK [UNITTEST ARGUMENT...]
"""
import csv
import io
import json
import os
import re
import resource
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else 'inthist-check'
TIMEOUT = 240
COLUMNS = ('date cpu gpu driver runtime device content width height planes pixel counter picture '
           'name mode tile threads laps median_us p5_us p95_us frames_per_s useful_bytes_per_s '
           'share_of_ceiling stages').split()
NO_GPU = dict(os.environ, CUDA_VISIBLE_DEVICES='', INTHIST_CASES='all')
QUICK = '--bench --device cpu --size 64x48 --seconds 0.01'.split()


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *arguments], env=NO_GPU, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=TIMEOUT, check=False, **options)


def listed(*names):
    """[(name, device)] of the strategies and of the peers"""
    strategies, peers = run('--list', *names).stdout.split('\n\n')
    return [[tuple(line.split()[:2]) for line in part.splitlines()[1:]]
            for part in (strategies, peers)]


class Usage(unittest.TestCase):
    def expect(self, status, said, *arguments, **options):
        """The last line of stdout, or all that was said with an error"""
        done = run(*arguments, **options)
        self.assertEqual(done.returncode, status, f'{arguments}: {done.stdout}{done.stderr}')
        self.assertIn(said, done.stdout + done.stderr, arguments)
        return done

    def wrong_usage(self, said, *arguments):
        done = self.expect(2, said, *arguments)
        self.assertEqual(done.stdout, '', arguments)
        self.assertIn("Try 'inthist-check --help'", done.stderr, arguments)

    def test_help(self):
        self.assertEqual(self.expect(0, '77 nothing ran', '-h').stdout,
                         self.expect(0, 'Usage:', '--help').stdout)

    def test_wrong_options(self):
        for said, arguments in (
                ('unrecognized option', '--sise 4x4'),
                ("invalid option -- 'x'", '-x'),
                ('requires an argument', '--size'),
                ('"gpu" is not one of cpu, cuda, all', '--device gpu'),
                ('"4" is not of the form WIDTHxHEIGHT', '--size 4'),
                ('--size: "0" is not a number from 1 to 1048576', '--size 0x4'),
                ('--size: "4x" is not a number', '--size 4x4x'),
                ('--bins: "257" is not a number from 1 to 256', '--bins 257'),
                ('--seed: "-1" is not a number from 0 to 4294967295', '--seed -1'),
                ('--counter: "u8" is not one of u32, u16, u8-tiled', '--counter u8'),
                ('--table: "u8:u16" is not one of '
                 'u8:u32, u8:s32, u8:f32, u32:u32, f32:f32, f64:f64, f32x4:f32x4',
                 '--table u8:u16'),
                ('--table: "u8" is not one of u8:u32', '--table u8'),
                ('--bins 3: a table has one plane', '--table u8:u32 --bins 3'),
                ('--bins 2: a table has one plane', '--table f32:f32 --bins 2'),
                ('--counter does not go with it', '--table u8:u32 --counter u32'),
                ('--counter is given twice', '--counter u16 --counter u32'),
                ('--cases small does not go with', '--cases small --size 4x4'),
                ('--cases does not go with --bench', '--bench --cases small'),
                ('"most" is not one of all, small', '--cases most'),
                ('"xml" is not one of table, csv, json', '--bench --format xml'),
                ('"abc" is not a number from 0 to 3600', '--bench --seconds abc'),
                ('"nan" is not a number from 0 to 3600', '--bench --seconds nan'),
                ('--seconds goes with --bench', '--seconds 1'),
                ('--buffers goes with --bench', '--buffers 1'),
                ('--buffers: "0" is not a number from 1', '--bench --buffers 0'),
                ('--picture goes with --bench', '--picture noise'),
                ('"sky" is not one of landscape, noise, constant, checkerboard, frame',
                 '--bench --picture sky'),
                ('--picture frame takes --size 768x576', '--bench --picture frame'),
                ('--picture is of a histogram', '--bench --table u8:u32 --picture noise'),
                ('--regions goes with --bench', '--regions 10'),
                ('--transfers goes with --bench', '--transfers'),
                ('--regions are of a histogram', '--bench --table u8:u32 --regions 10'),
                ('--format goes with --bench', '--format csv'),
                ('no strategy in question offers 12345', '--tile 12345'),
                ('no strategy in question offers 256', '--device cpu --threads 256'),
                ('/nowhere/at/all', '--bench --output /nowhere/at/all'),
                ('GiB are free: a smaller --size or fewer --bins', '--size 1000000x1000000'),
        ):
            self.wrong_usage(said, *arguments.split())

    def test_names_that_never_run(self):
        for said, arguments in (
                ('"nobody" is neither a strategy (', 'nobody'),
                ('"opencv" is a peer: it is there to be timed, with --bench', 'opencv'),
                ('"rows" takes 8-bit or weighted pixels, and integer elements: not 4x4 f32x4:f32x4',
                 'rows --size 4x4 --table f32x4:f32x4'),
                ('"rows" takes 8-bit or weighted pixels, and integer elements: not 640x480 '
                 'f32x4:f32x4, ...',
                 '--bench rows --table f32x4:f32x4'),
                ('"rows" takes no tiles: not 4x4x32 u8-tiled',
                 'rows --counter u8-tiled --size 4x4'),
                ('"byte-rows" takes u8-tiled counters: not 4x4x32 u32', 'byte-rows --size 4x4'),
                ('"serial" takes integer elements', 'wavefront serial --table u8:f32'),
                ('"rows" does not offer this --tile', 'rows wavefront --tile 64'),
        ):
            self.wrong_usage(said, *arguments.split())

    def test_names_of_the_other_device(self):
        strategies, peers = listed()
        for name, device in strategies:
            if device == 'CUDA':
                self.wrong_usage(f'"{name}" runs on CUDA only: --device cpu leaves it out',
                                 name, '--device', 'cpu')
                self.wrong_usage(f'"{name}" runs on CUDA only',
                                 '--bench', 'rows', name, '--device', 'cpu')
        self.wrong_usage('"npp" runs on CUDA only', '--bench', 'npp', '--device', 'cpu')
        if ('strip', 'CUDA') in strategies:
            self.wrong_usage('"rows" runs on CPU only', 'rows', '--device', 'cuda')
        else:
            self.wrong_usage('this build has no CUDA', '--device', 'cuda')
        for line in run('--list').stdout.splitlines():
            if line.endswith('not in this build'):
                self.wrong_usage('is not in this build', '--bench', line.split()[0])
        self.assertTrue(peers)

    def test_nothing_ran(self):
        said = 'inthist-check: nothing ran ('
        done = self.expect(77, said, 'wavefront', '--size', '60000x60000', '--bins', '64')
        self.assertRegex(done.stdout, r'SKIP: 60000x60000x64 u32 on CPU: '
                                      r"needs [0-9.]+ GiB of the host's memory, "
                                      r'[0-9.]+ GiB are free')
        self.expect(77, said, *'--bench --device cpu --size 60000x60000 --bins 64'.split())
        if ('strip', 'CUDA') not in listed()[0]:
            self.skipTest('this build has no CUDA')
        for arguments in (
                'strip',
                'strip --bench',
                '--device cuda',
                '--bench --device cuda',
                '--threads 256',
                '--bench strip cudaMemsetAsync --format csv',
                '--bench cudaMemsetAsync'):
            done = self.expect(77, said, *arguments.split())
            messages = done.stderr if 'csv' in arguments else done.stdout
            self.assertTrue(messages.splitlines()[-1].startswith(said), arguments)
            self.assertRegex(done.stdout + done.stderr, r'(?m)^SKIP: strategies on CUDA: ')
            self.assertNotIn('cases:', done.stderr, 'the case list was walked')
            self.assertEqual('csv' in arguments, done.stdout == '')

    def test_list(self):
        strategies, peers = listed()
        names = {name for name, _ in strategies}
        self.assertTrue({'rows', 'wavefront', 'cross-weave', 'serial'} <= names)
        self.assertEqual(len(strategies), len(names))
        self.assertIn(('memset', 'CPU'), peers)
        self.assertEqual(listed('serial', 'memset', 'rows'),
                         [[('rows', 'CPU'), ('serial', 'CPU')], [('memset', 'CPU')]])

    def test_pictures_and_regions(self):
        arguments = 'rows --picture noise --picture constant --regions 30 --format csv'
        done = self.expect(0, '', *QUICK, *arguments.split())
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual({row['picture'] for row in rows}, {'noise', 'constant'})
        self.assertEqual([row['mode'] for row in rows if row['name'] == 'regions'],
                         ['30, 64x64', '30, any size'] * 2)

    def test_checks(self):
        done = self.expect(0, '', *'rows serial --size 37x21 --bins 5 --seed 7'.split())
        self.assertRegex(done.stdout.splitlines()[-1],
                         r'^inthist-check: \d+ runs, 0 failed, \d+ refused \(seed 7\)$')
        for name in ('rows', 'serial'):
            self.assertRegex(done.stdout, rf'(?m)^\[OK\] {name}: shapes, 6 runs$')
        self.assertNotIn('wavefront', done.stdout)

    def rows_of(self, text):
        rows = list(csv.DictReader(io.StringIO(text), strict=True))
        for row in rows:
            self.assertEqual(list(row), COLUMNS)
            self.assertRegex(row['stages'], r'^$|^[^;]+ [0-9.]+(;[^;]+ [0-9.]+)*$')
            self.assertGreater(float(row['median_us']), 0)
        return rows

    def test_csv(self):
        done = self.expect(0, '', *QUICK, '--format', 'csv', 'rows', 'wavefront')
        self.assertIn('candidates gave the right tensor', done.stderr)
        rows = {row['name']: row for row in self.rows_of(done.stdout)
                if row['mode'] != 'alone, 1 thread'}
        self.assertEqual(set(rows), {'memset', 'rows', 'wavefront'})
        self.assertIn('bins ', rows['rows']['stages'])
        self.assertEqual(rows['memset']['stages'], '')
        shape = 'device', 'content', 'width', 'height', 'planes', 'pixel', 'counter'
        self.assertEqual([rows['rows'][key] for key in shape],
                         ['CPU', 'bins', '64', '48', '32', 'u8', 'u32'])

    def test_json(self):
        done = self.expect(0, '', *QUICK, '--format', 'json', '--table', 'u8:u32', 'rows')
        rows = {row['name']: row for row in json.loads(done.stdout)['results']}
        self.assertEqual(set(rows), {'memset', 'rows'})
        self.assertEqual(set(rows['rows']), set(COLUMNS[5:]))
        self.assertTrue(all(stage['us'] >= 0 for stage in rows['rows']['stages']))

    def test_threads(self):
        cores = len(os.sched_getaffinity(0))
        peer = re.search('(?m)^opencv .*', run('--list').stdout)[0]
        names = ['rows'] if peer.endswith('not in this build') else ['rows', 'opencv']
        for planes in '12':
            done = self.expect(0, '', *QUICK, '--format', 'csv', '--table', 'u8:u32',
                               '--bins', planes, '--buffers', '1', *names)
            modes = [(row['name'], row['mode']) for row in self.rows_of(done.stdout)]
            self.assertIn(('rows', 'alone'), modes)
            self.assertEqual(('rows', 'alone, 1 thread') in modes, cores > 1)
            for squares in ('s32, ', 'f64, ') if planes == '2' else ('',):
                self.assertEqual(('opencv', squares + '1 thread') in modes, 'opencv' in names)

    def test_output(self):
        self.expect(1, 'could not be written',
                    *QUICK, '--format', 'csv', '--output', '/dev/full', 'rows')
        for arguments in (['--list'], ['rows', '--size', '10x10']):
            with open('/dev/full', 'w') as full:
                done = subprocess.run([PROGRAM, *arguments], env=NO_GPU, stdout=full,
                                      stderr=subprocess.PIPE, text=True, timeout=TIMEOUT,
                                      check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn('stdout could not be written', done.stderr)

    def test_what_was_timed_outlives_a_failure(self):
        # The buffers of a small frame, which exceed the caches, fit into most; the tensor of a
        # large frame does not. 191 and 194 are glibc's _SC_LEVEL2_CACHE_SIZE and
        # _SC_LEVEL3_CACHE_SIZE.
        level2, level3 = os.sysconf(191), os.sysconf(194)
        caches = max(4 * level2, 2 * level3, 64 << 20)
        most = caches + (400 << 20)

        def little_memory():
            # each thread takes address space
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            resource.setrlimit(resource.RLIMIT_AS, (most, most))

        size = f'1024x{most // (1024 * 64 * 4) + 1}'
        arguments = [*QUICK, '--size', size, '--bins', '64', 'serial', '--format']
        for form in ('csv', 'json'):
            done = run(*arguments, form, preexec_fn=little_memory)
            if 'Sanitizer' in done.stderr:
                self.skipTest('sanitizers need address space')
            if 'SKIP: 1024x' in done.stderr:
                self.skipTest(re.search('needs [0-9.]+ GiB.*', done.stderr)[0])
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertRegex(done.stderr,
                             r'(?m)^inthist-check: FAIL: cannot go on: out of memory, '
                             r'[0-9.]+ GiB are free: a smaller --size or')
            if form == 'csv':
                rows = self.rows_of(done.stdout)
            else:
                rows = json.loads(done.stdout)['results']
            self.assertEqual({(row['name'], int(row['width'])) for row in rows},
                             {('memset', 64), ('serial', 64)})

    def test_failures_are_told(self):
        environment = dict(NO_GPU, INTHIST_TEST_FRAMES='/dev/null')
        done = subprocess.run([PROGRAM, 'rows'], env=environment, text=True, capture_output=True,
                              timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r'(?m)^inthist-check: FAIL: cannot go on: '
                                      r'\$INTHIST_TEST_FRAMES: /dev/null')


if __name__ == '__main__':
    unittest.main(verbosity=2)
