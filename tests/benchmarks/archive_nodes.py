#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""archive_nodes.py: integralhist-archive on nodes with networks of their own, and their faults

    sudo -E archive_nodes.py [--runs 20] [--videos 200] [--seed N]    faults at random times
    sudo -E archive_nodes.py --scale 1,2,4,8 [--share 0.2]            frames a second by nodes

A node is a network namespace with Ray in it; a bridge in another one joins them, and there is no
way out. All share the folder OUT, on a disk of its own that can be filled. In each run some of the
videos are bad: one is not a video, one is torn, one aborts its decoder. Some faults come at random
times: a worker, a job, a raylet, which may be the driver's, a node or the driver is killed, a
node's network is cut, the disk is full. Then the driver is started until it has ended by itself.

A run is good if all good videos have the bytes that one process of this machine gave them, each bad
one is reported with its reason, `verify` agrees, and the dataset has these rows and no others.

--scale gives each node a share of a core, by cgroups, and takes the time of videos that do not
hurry each other.

It needs root, iproute2, PyPI's ray, pyarrow, pandas and tqdm in this Python, and the environment of
meson devenv. The last line counts the runs.
"""
import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SETTINGS = ('[histogram]\nbins = 16\n[regions]\ngrid = [4, 3]\n'
            '[tracks]\ntargets = [[60, 40, 30, 30]]\n')
ABORTING = os.path.join(os.environ.get('BUILD_ROOT', ''), 'tests/python')
FAULTS = 'worker', 'job', 'raylet', 'node', 'driver', 'network', 'disk'
PROCESSES = {'worker': 'ray::run_job', 'job': 'integralhist.archive.job',
             'raylet': 'raylet/raylet'}


def sh(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Node:
    """A namespace, and Ray's processes in it"""

    def __init__(self, number, folder, environment, cores):
        self.number, self.folder, self.cores = number, folder, cores
        self.space, self.link = f'ih{os.getpid()}-{number}', f'ih{number}-{os.getpid() % 10000}'
        self.address = f'10.77.0.{number + 1}'
        self.environment, self.log, self.process, self.started = environment, None, None, 0
        hub = f'ih{os.getpid()}-hub'
        sh('ip', 'netns', 'add', self.space)
        sh('ip', 'link', 'add', self.link, 'netns', hub, 'type', 'veth', 'peer', 'name', 'eth0',
           'netns', self.space)
        for where, *command in ((hub, 'set', self.link, 'master', 'bridge'),
                                (hub, 'set', self.link, 'up'), (self.space, 'set', 'lo', 'up'),
                                (self.space, 'set', 'eth0', 'up')):
            sh('ip', '-n', where, 'link', *command)
        sh('ip', '-n', self.space, 'address', 'add', f'{self.address}/24', 'dev', 'eth0')
        self.hub = hub

    def command(self, *command):
        return ['ip', 'netns', 'exec', self.space, *command]

    def start(self):
        ray = os.path.join(os.path.dirname(sys.executable), 'ray')
        role = (['--head', '--port=6379', '--include-dashboard=false'] if self.number == 0 else
                ['--address=10.77.0.1:6379'])
        self.started = time.monotonic()
        self.log = open(f'{self.folder}/ray{self.number}.log', 'a', encoding='utf-8')
        self.process = subprocess.Popen(
            self.command(ray, 'start', *role, f'--node-ip-address={self.address}',
                         f'--num-cpus={self.cores}', '--object-store-memory=80000000',
                         '--disable-usage-stats', '--block'),
            env=self.environment, stdout=self.log, stderr=subprocess.STDOUT)

    def processes(self, what=''):
        """The processes in the namespace with `what` in the command line"""
        found = subprocess.run(['ip', 'netns', 'pids', self.space], capture_output=True, text=True,
                               check=True).stdout.split()
        pids = []
        for pid in found:
            with contextlib.suppress(OSError), open(f'/proc/{pid}/cmdline', 'rb') as file:
                if what.encode() in file.read():
                    pids.append(int(pid))
        return pids

    def kill(self, but=()):
        for pid in self.processes():
            if pid not in but:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        if self.process:
            self.process.wait()
            self.log.close()
            self.process = None

    def is_alive(self):
        return self.process is not None and self.process.poll() is None and \
            bool(self.processes(PROCESSES['raylet']))

    def is_late(self):
        """Returns whether it is time to start the node again: Ray may also hang"""
        return self.process is None or self.process.poll() is not None or \
            time.monotonic() - self.started > 60

    def said(self):
        with open(f'{self.folder}/ray{self.number}.log', encoding='utf-8') as file:
            return f'node {self.number}: ' + '\n'.join(file.read().splitlines()[-8:])

    def cut(self, down=True):
        sh('ip', '-n', self.hub, 'link', 'set', self.link, 'down' if down else 'up')

    def limit(self, share):
        """Limits all processes of the node, and those that they start, to a share of a core"""
        group = f'/sys/fs/cgroup/cpu/{self.space}'
        os.makedirs(group, exist_ok=True)
        for name, value in (('cpu.cfs_period_us', 100000),
                            ('cpu.cfs_quota_us', int(share * 100000))):
            pathlib.Path(f'{group}/{name}').write_text(str(value), encoding='utf-8')
        for pid in self.processes():
            with contextlib.suppress(OSError), open(f'{group}/cgroup.procs', 'w',
                                                    encoding='utf-8') as file:
                file.write(str(pid))


class Cluster:
    def __init__(self, count, folder, head_cores=1):
        self.hub = f'ih{os.getpid()}-hub'
        from integralhist.archive.engines.ray import KEEPALIVE
        self.environment = {**os.environ, **KEEPALIVE, 'RAY_AUTH_TOKEN': os.urandom(32).hex(),
                            'RAY_TMPDIR': folder,
                            'GST_PLUGIN_PATH': f'{os.environ.get("GST_PLUGIN_PATH")}:{ABORTING}'}
        sh('ip', 'netns', 'add', self.hub)
        sh('ip', '-n', self.hub, 'link', 'add', 'bridge', 'type', 'bridge')
        sh('ip', '-n', self.hub, 'link', 'set', 'bridge', 'up')
        self.nodes = [Node(number, folder, self.environment, 1 if number else head_cores)
                      for number in range(count)]
        self.head = self.nodes[0]

    def mend(self, seconds=300):
        """Starts the nodes that are down, again if Ray gives up on a slow machine

        It starts one at a time: the nodes share a folder, and two might name their sockets alike.
        """
        for node in self.nodes:
            node.cut(False)
        deadline = time.monotonic() + seconds
        while gone := [node for node in self.nodes if not node.is_alive()]:
            if gone[0].is_late():
                for node in self.nodes if gone[0] is self.head else gone[:1]:
                    node.kill()  # no node outlives its head
                gone[0].start()
            if time.monotonic() > deadline:
                raise RuntimeError('Ray does not start:\n' + '\n'.join(
                    node.said() for node in gone if node.log))
            time.sleep(0.2)

    def close(self):
        for node in self.nodes:
            node.kill()
            sh('ip', 'netns', 'delete', node.space)
            with contextlib.suppress(OSError):
                os.rmdir(f'/sys/fs/cgroup/cpu/{node.space}')
        sh('ip', 'netns', 'delete', self.hub)

    def driver(self, log, *arguments, retries=5):
        return subprocess.Popen(
            self.head.command(sys.executable, '-m', 'integralhist.archive', 'run', *arguments,
                              '--engine', 'ray', '--address', '10.77.0.1:6379', '--retries',
                              str(retries)),
            env=self.environment, stdout=log, stderr=subprocess.STDOUT)


def hashes(out):
    found = {}
    for kind in ('regions', 'tracks', '_done'):
        for name in os.listdir(f'{out}/{kind}'):
            with open(f'{out}/{kind}/{name}', 'rb') as file:
                found[f'{kind}/{name}'] = hashlib.sha256(file.read()).hexdigest()
    return found


def make_videos(folder, count, frames, size='width=160,height=120'):
    os.makedirs(folder)
    for number in range(count):
        sh('gst-launch-1.0', '-q', *(
            f'videotestsrc num-buffers={frames} pattern=ball animation-mode=frames '
            f'timestamp-offset={number * 1000000000} ! video/x-raw,format=I420,{size},'
            f'framerate=25/1 ! jpegenc ! avimux ! filesink location={folder}/{number:04d}.avi'
        ).split())


class Faults:
    """Strikes at random times while a driver runs"""

    def __init__(self, cluster, disk, chance, kinds):
        self.cluster, self.disk, self.random, self.kinds = cluster, disk, chance, kinds
        self.later = []  # (when, what to do)
        self.struck = []

    def strike(self, driver):
        kind = self.random.choice(self.kinds)
        nodes = self.cluster.nodes
        now = time.monotonic()
        if kind in PROCESSES:
            pids = [pid for node in nodes for pid in node.processes(PROCESSES[kind])]
            if not pids:
                return
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.random.choice(pids), signal.SIGKILL)
        elif kind == 'node':
            self.random.choice(nodes[1:]).kill()
        elif kind == 'driver':
            driver.kill()
            driver.wait()
        elif kind == 'network':
            node = self.random.choice(nodes[1:])
            node.cut()
            self.later.append((now + self.random.uniform(5, 60), lambda: node.cut(False)))
        else:
            full = os.path.join(self.disk, 'ballast')
            with contextlib.suppress(OSError), open(full, 'wb', buffering=0) as file:
                while True:
                    file.write(bytes(65536))
            self.later.append((now + self.random.uniform(1, 4),
                               lambda: pathlib.Path(full).unlink(missing_ok=True)))
        self.struck.append(kind)

    def due(self, everything=False):
        for entry in list(self.later):
            if everything or entry[0] <= time.monotonic():
                self.later.remove(entry)
                entry[1]()


def check(out, wanted, bad, settings):
    """Returns lines that say what is wrong"""
    if hashes(out) != wanted:
        yield 'the bytes are others'
    found = {}
    for name in os.listdir(f'{out}/_failed'):
        with open(f'{out}/_failed/{name}', encoding='utf-8') as file:
            marker = json.load(file)
        found[os.path.basename(marker['item']['name'])] = marker['reason']
    if found.keys() != bad:
        yield f'failed are {sorted(found)}'
    if not all(found.values()):
        yield 'one has no reason'
    if subprocess.run([sys.executable, '-m', 'integralhist.archive', 'verify', out],
                      stdout=subprocess.DEVNULL, check=False).returncode:
        yield 'verify disagrees'
    from integralhist.archive import dataset
    rows = dataset.open(out).regions.to_table(columns=['video', 'frame', 'region']).to_pylist()
    keys = {(row['video'], row['frame'], row['region']) for row in rows}
    good = sum(name.startswith('_done/') for name in wanted)
    if len(rows) != len(keys) or len(rows) != good * settings.frames * 12:
        yield f'the dataset has {len(rows)} rows, {len(keys)} of them different'


def one_run(number, cluster, options, folder, wanted, chance):
    out, bad = f'{folder}/disk/out', {'junk.avi', 'torn.avi', 'abort.avi'}
    faults = Faults(cluster, f'{folder}/disk', chance, options.faults.split(','))
    arguments = (f'{folder}/settings.toml', f'{folder}/videos/*.avi', f'{folder}/bad/*.avi',
                 '--out', out)
    cluster.mend()
    started, drivers, strikes = time.monotonic(), 0, chance.randint(3, 6)
    try:
        with open(f'{folder}/driver{number}.log', 'w', encoding='utf-8') as log:
            while True:
                drivers += 1
                process = cluster.driver(log, *arguments, retries=5 if strikes else 2)
                strike_at = time.monotonic() + chance.uniform(5, 20)
                while process.poll() is None:
                    faults.due()
                    if strikes and time.monotonic() >= strike_at:
                        faults.strike(process)
                        strikes -= 1
                        strike_at = time.monotonic() + chance.uniform(1, 15)
                    time.sleep(0.1)
                    if time.monotonic() - started > 900:
                        process.kill()
                        process.wait()
                        yield from ('had not ended after 900 s',)
                        return
                faults.due(everything=True)
                if process.returncode == 1 and not strikes:  # a last one without faults
                    names = set()
                    for name in os.listdir(f'{out}/_failed'):
                        with open(f'{out}/_failed/{name}', encoding='utf-8') as file:
                            names.add(os.path.basename(json.load(file)['item']['name']))
                    with open(log.name, encoding='utf-8') as file:
                        is_whole = any(' 0 left; ' in line for line in file.readlines()[-2:])
                    if names == bad and is_whole:
                        break
                if drivers > 20:
                    yield '20 drivers have not ended it'
                    return
                strikes = max(0, strikes - 1)  # also where the work is over before
                cluster.mend()
        yield from check(out, wanted, bad, options)
    finally:
        print(f'{number:4d}  {time.monotonic() - started:6.0f} s  {drivers} drivers  '
              f'{", ".join(faults.struck)}', end='  ', flush=True)
        faults.due(everything=True)
        shutil.rmtree(out)


def run_faults(options, folder):
    seed = options.seed if options.seed is not None else random.randrange(10000)
    chance = random.Random(seed)
    print(f'seed {seed}; {options.videos} videos of {options.frames} frames')
    make_videos(f'{folder}/videos', options.videos, options.frames)
    os.mkdir(f'{folder}/bad')
    whole = pathlib.Path(f'{folder}/videos/0000.avi').read_bytes()
    for name, data in (('junk.avi', b'no video'), ('torn.avi', whole[:300]),
                       ('abort.avi', b'ABORTING')):
        pathlib.Path(f'{folder}/bad/{name}').write_bytes(data)
    started = time.monotonic()
    subprocess.run([sys.executable, '-m', 'integralhist.archive', 'run', f'{folder}/settings.toml',
                    f'{folder}/videos/*.avi', '--out', f'{folder}/whole'], check=True,
                   stderr=subprocess.DEVNULL)
    print(f'one process a core took {time.monotonic() - started:.0f} s')
    wanted = hashes(f'{folder}/whole')
    # before there are nodes, whose namespaces see no later mount
    os.mkdir(f'{folder}/disk')
    sh('mount', '-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', f'{folder}/disk')
    cluster, failed = Cluster(4, folder), 0
    print(' run    time  drivers  faults')
    try:
        for number in range(options.runs):
            wrong = list(one_run(number, cluster, options, folder, wanted, chance))
            failed += bool(wrong)
            print('; '.join(wrong) or 'good', flush=True)
    finally:
        cluster.close()
        sh('umount', '--lazy', f'{folder}/disk')
    print(f'{options.runs - failed} runs good, {failed} not')
    return 1 if failed else 0


def run_scale(options, folder):
    """Runs from most nodes to fewest, as no node is started again"""
    counts = sorted({int(text) for text in options.scale.split(',')}, reverse=True)
    make_videos(f'{folder}/videos', options.videos, options.frames)
    cluster = Cluster(counts[0] + 1, folder, head_cores=0)
    print(f'{options.videos} videos of {options.frames} frames; {options.share} of a core a node; '
          'node 0 has the driver and no jobs')
    taken, wanted = {}, None
    try:
        cluster.mend()
        for node in cluster.nodes[1:]:
            node.limit(options.share)
        for count in counts:
            for node in cluster.nodes[1 + count:]:
                node.kill()
            out = f'{folder}/out{count}'
            with open(f'{folder}/driver.log', 'w', encoding='utf-8') as log:
                status = cluster.driver(log, f'{folder}/settings.toml', f'{folder}/videos/*.avi',
                                        '--out', out).wait()
            last = pathlib.Path(f'{folder}/driver.log').read_text(encoding='utf-8').splitlines()[-1]
            if status:
                raise RuntimeError(last)
            print(f'{count} nodes: {last}', flush=True)
            taken[count] = float(last.split()[-2])
            if wanted and hashes(out) != wanted:
                raise RuntimeError('the bytes are others')
            wanted = hashes(out)
    finally:
        cluster.close()
    print('nodes  seconds  frames/s  efficiency')
    for count, seconds in reversed(taken.items()):
        print(f'{count:5d}  {seconds:7.1f}  {options.videos * options.frames / seconds:8.1f}  '
              f'{taken[counts[-1]] * counts[-1] / (seconds * count):10.2f}')
    print('all have the same bytes')
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--runs', type=int, default=20)
    parser.add_argument('--videos', type=int, default=200)
    parser.add_argument('--frames', type=int, default=10)
    parser.add_argument('--seed', type=int)
    parser.add_argument('--faults', default=','.join(FAULTS))
    parser.add_argument('--scale', metavar='1,2,4,8')
    parser.add_argument('--share', type=float, default=0.2, help='of a core, for each node')
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was made is unmade
    if os.geteuid() != 0 or not shutil.which('ip'):
        print('SKIP: archive_nodes: it wants root and iproute2')
        return 77
    with tempfile.TemporaryDirectory(prefix='ihn', ignore_cleanup_errors=True) as folder:
        pathlib.Path(f'{folder}/settings.toml').write_text(SETTINGS, encoding='utf-8')
        return (run_scale if options.scale else run_faults)(options, folder)


if __name__ == '__main__':
    sys.exit(main())
