#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""integralhist-archive on Ray: nodes, workers and the driver are killed, and the bytes are the same

The nodes are processes of this machine, on loopback. tests/benchmarks/archive_nodes.py has nodes
with networks of their own, which it cuts.
"""
import contextlib
import os
import signal
import sys
import unittest
from unittest import mock

import archive_truth
from integralhist.archive import commit, lease
from integralhist.archive.engines.ray import KEEPALIVE

os.environ.update(KEEPALIVE)
try:
    import ray
    from ray.cluster_utils import Cluster
except ImportError as error:
    print(f"SKIP: archive_ray: {error}; tests/run.sh installs PyPI's ray where it has a wheel")
    sys.exit(77)


class OnRay(archive_truth.Archive):
    VIDEOS = 12

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.token = os.environ['RAY_AUTH_TOKEN'] = os.urandom(32).hex()
        cls.cluster = Cluster(initialize_head=True, head_node_args={
            'num_cpus': 0, 'include_dashboard': False})
        cls.addClassCleanup(cls.cluster.shutdown)
        # by its address the driver knows which node is its own
        cls.nodes = [cls.cluster.add_node(num_cpus=1, node_ip_address=f'127.0.0.{number}')
                     for number in (2, 3)]

    def on_ray(self, *arguments, cluster=None, videos=None, **environment):
        process = self.start('run', 'settings.toml', f'{videos or self.videos}/*.avi', '--out',
                             'out', '--engine', 'ray', '--address',
                             (cluster or self.cluster).address, '--retries', '9', *arguments,
                             **environment)
        self.addCleanup(process.kill)
        return process

    def finish(self, process, status=0):
        self.assertEqual(process.wait(250), status, self.said())
        self.assertNotIn('Traceback', self.said())
        return self.said().splitlines()[-1]

    def has_token(self, process):
        """Returns whether a process has the token, which tells this cluster from others"""
        with open(f'{process}/environ', 'rb') as environment:
            return self.token.encode() in environment.read()

    def test_killed(self):
        """A worker, a job, the driver and a node are killed"""
        process = self.on_ray()
        self.await_done(2, process)
        for what in (b'ray::run_job', b'integralhist.archive.job'):
            for pid in self.processes(what, self.has_token)[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.await_done(4, process)
        process.kill()
        process.wait()

        process = self.on_ray()
        self.await_done(6, process)
        node = self.nodes.pop()
        self.cluster.remove_node(node, allow_graceful=False)
        self.nodes.append(self.cluster.add_node(num_cpus=1, node_ip_address='127.0.0.4'))
        self.assertRegex(self.finish(process), ' 0 bad, 0 given up, 0 left')
        self.assertEqual(self.files(), self.whole())
        self.archive('verify', 'out')
        self.assertEqual(self.dataset().regions.count_rows(), 12 * 12 * 2)

    def test_broken_node(self):
        """Every job fails at once on one node, so its places are always free: others do all jobs"""
        broken = self.cluster.add_node(num_cpus=2, node_ip_address='127.0.0.5', env_vars={
            'GST_PLUGIN_PATH': '', 'GST_REGISTRY': self.path('without.bin')})
        self.addCleanup(self.cluster.remove_node, broken)
        many = self.path('many')  # or the others are done before five jobs have failed there
        os.mkdir(many)
        for number in range(48):
            os.link(f'{self.videos}/{number % self.VIDEOS:03d}.avi', f'{many}/{number}.avi')
        said = self.finish(self.on_ray('--retries', '3', videos=many))
        self.assertRegex(said, '^48 done, 0 there before, 0 bad, 0 given up, 0 left')
        self.assertRegex(self.said(), r'no element "\w+" \(on 127.0.0.5, where the last 5 jobs')
        self.archive('verify', 'out')

    def test_gc(self):
        """gc takes nothing from jobs of nodes, whether it knows their processes or not"""
        process, passes = self.on_ray(), 0
        while process.poll() is None:
            if os.path.isdir(self.path('out/_leases')):
                other = mock.patch.object(lease, '_machine', lambda: 'ffffffffffff')
                with other if passes % 2 else contextlib.nullcontext():
                    for path in commit.orphans(self.path('out'), 0):
                        commit.remove(path)
                passes += 1
        self.assertGreater(passes, 5)
        self.assertRegex(self.finish(process), '^12 done, 0 there before, 0 bad, 0 given up')
        self.archive('verify', 'out')
        self.assertEqual(self.files(), self.whole())

    def test_own_node(self):
        """A driver whose machine has lost its raylet ends, instead of waiting for ever"""
        cluster = Cluster(initialize_head=True, head_node_args={
            'num_cpus': 1, 'include_dashboard': False})
        self.addCleanup(cluster.shutdown)
        process = self.on_ray(cluster=cluster)
        self.await_done(1, process)
        os.kill(cluster.head_node.all_processes['raylet'][0].process.pid, signal.SIGKILL)
        self.assertEqual(self.finish(process, 1), 'integralhist-archive: Ray has ended on this '
                         'machine: start it, and run this again')
        self.assertRegex(self.said(), '[0-9]+ done, 0 there before, 0 bad, 0 given up, [1-9]')

    def test_token(self):
        """A driver with another token is refused"""
        # Ray tries 20 times by itself, a second each
        process = self.on_ray(RAY_AUTH_TOKEN='0' * 64, RAY_NUM_REDIS_GET_RETRIES='2')
        said = self.finish(process, 1)
        self.assertRegex(said, '^integralhist-archive: Ray: ')
        self.assertFalse(os.path.exists(self.path('out')))

    def test_deadline(self):
        """A task that does not end is cancelled, and its job ends"""
        os.mkfifo(self.path('never'))
        holder = os.open(self.path('never'), os.O_RDWR)
        self.addCleanup(os.close, holder)
        process = self.start('run', 'settings.toml', 'never', '--out', 'out', '--engine', 'ray',
                             '--address', self.cluster.address, '--retries', '1', '--deadline', '4')
        self.assertRegex(self.finish(process, 1), ' 0 bad, 1 given up, 0 left')
        self.assertRegex(self.said(), 'never: given up: had not ended after [4-9] s')


if __name__ == '__main__':
    print(f'Ray {ray.__version__}', file=sys.stderr)
    unittest.main(verbosity=2)
