# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs as tasks of Ray core

Ray Data is not used, because it never stops retrying a record that ends its worker. Ray places the
tasks and their GPUs; tries and deadlines are the driver's.
"""
import collections
import os
import re
import socket
import time

from integralhist.archive.child import Child, Outcome
from integralhist.archive.engines import EngineGone

# With these settings, a node that is cut off is noticed after some 25 s instead of minutes. `ray
# start` of each node also needs the first three.
KEEPALIVE = {'RAY_grpc_client_keepalive_time_ms': '10000',
             'RAY_grpc_client_keepalive_timeout_ms': '10000',
             'RAY_health_check_failure_threshold': '3',
             # without it, anyone who reaches a cluster can run programs there
             'RAY_AUTH_MODE': 'token',
             'RAY_USAGE_STATS_ENABLED': '0'}
LOOK_AGAIN = 5  # seconds, for nodes that came or went
SUSPECT = 5     # jobs in a row that fail on a node before the node rests
REST = 60       # seconds; then the node gets one job at a time until one ends well


def run_job(item, python, gpu):
    """Runs a job. Returns (Outcome, node)"""
    import ray
    try:
        outcome = Child(item, python, gpu).outcome()
    except OSError as problem:  # no such Python
        outcome = Outcome('again', f'{problem.filename}: {problem.strerror}')
    return tuple(outcome), ray.get_runtime_context().get_node_id()


def reason_of(error):
    """The text of an exception of Ray. For a task, the last line is the exception that it raised"""
    lines = re.sub(r'\x1b\[[0-9;]*m', '', str(error)).strip().splitlines() or ['']
    return f'{type(error).__name__}: {lines[-1 if hasattr(error, "ip") else 0]}'


def places(has, gpus_per_file):
    """How many jobs a node's resources let it run"""
    cores, gpus = int(has.get('CPU', 0)), int(has.get('GPU', 0))
    if not gpus_per_file:
        return cores
    if gpus_per_file > 1:
        return min(cores, int(gpus / gpus_per_file))
    return min(cores, gpus * int(1 / gpus_per_file))  # no job has parts of two GPUs


class Ray:
    def __init__(self, python, address=None, gpus_per_file=0, jobs=None):
        for name, value in KEEPALIVE.items():
            os.environ.setdefault(name, value)
        import ray  # Ray reads these settings once, at the import
        if address:  # without this check Ray would try for minutes
            host, _, port = address.rpartition(':')
            try:
                socket.create_connection((host, int(port)), 10).close()
            except OSError as problem:
                raise ConnectionError(f'no cluster answers at {address} ({problem}): '
                                      'start its head') from None
        self.ray, self.python, self.gpus, self.most = ray, python, gpus_per_file, jobs
        try:
            ray.init(address=address or 'local', include_dashboard=None if address else False,
                     log_to_driver=False, logging_level='error')
        except ray.exceptions.RayError as problem:  # for example without the token
            raise ConnectionError(str(problem)) from None
        # the driver counts tries; a worker with a GPU is not started anew for each task
        self.task = ray.remote(num_cpus=1, num_gpus=self.gpus, max_retries=0,
                               max_calls=0)(run_job)
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
        self.affinity = NodeAffinitySchedulingStrategy
        self.is_shared = bool(address)
        self.node = ray.get_runtime_context().get_node_id()
        self.alive, self.looked = {}, -LOOK_AGAIN  # {node: number of places}
        self.addresses = {}                        # {node: its IP address}
        self.failures = collections.Counter()      # of a node's last jobs, in a row
        self.rests = {}                            # {node: until when}
        self.sent = {}                             # {handle: the node that it was sent to}

    def look_at_nodes(self):
        self.looked = time.monotonic()
        nodes = [node for node in self.ray.nodes() if node['Alive']]
        self.alive = {node['NodeID']: places(node['Resources'], self.gpus) for node in nodes}
        self.addresses.update((node['NodeID'], node['NodeManagerAddress']) for node in nodes)
        if self.node not in self.alive:  # without its own node, this process gets no results
            start = 'start it, and ' if self.is_shared else ''
            raise EngineGone(f'Ray has ended on this machine: {start}run this again')

    def nodes(self):
        """{node: number of places}, without nodes where every job fails: those are always free"""
        good, now = {}, time.monotonic()
        for node, count in self.alive.items():
            if self.failures[node] < SUSPECT:
                good[node] = count
            elif now >= self.rests[node]:
                good[node] = min(count, 1)
        return good if any(good.values()) else self.alive

    def slots(self):
        if time.monotonic() - self.looked >= LOOK_AGAIN:
            self.look_at_nodes()
        count = sum(self.nodes().values())
        return min(count, self.most or count)

    def start(self, item):
        task, node, nodes = self.task, None, self.nodes()
        if nodes != self.alive:  # if not, Ray places the task
            busy = collections.Counter(self.sent.values())
            node = min((node for node in nodes if nodes[node]),
                       key=lambda node: busy[node] / nodes[node])
            task = task.options(scheduling_strategy=self.affinity(node, soft=True))
        handle = task.remote(item, self.python, None if self.gpus else '')  # Ray says which GPU
        self.sent[handle] = node
        return handle

    def wait(self, handles, seconds):
        handles = list(handles)
        ready, _ = self.ray.wait(handles, num_returns=1, timeout=seconds)
        if ready:  # take all that are ready: to look at thousands takes milliseconds
            ready, _ = self.ray.wait(handles, num_returns=len(handles), timeout=0)
        return [(handle, self._outcome(handle)) for handle in ready]

    def _outcome(self, handle):
        self.sent.pop(handle, None)
        try:
            outcome, node = self.ray.get(handle)
            outcome = Outcome(*outcome)
        except self.ray.exceptions.RayError as problem:  # the worker or the node is gone
            outcome = Outcome('again', reason_of(problem))
            node = next((node for node, address in self.addresses.items()
                         if address == getattr(problem, 'ip', None)), None)
        if node is None:
            return outcome
        if outcome.state != 'again':
            self.failures[node] = 0
            return outcome
        text = f'{outcome.reason} (on {self.addresses.get(node, node)}'
        self.failures[node] += 1
        if self.failures[node] >= SUSPECT:
            self.rests[node] = time.monotonic() + REST
            text += f', where the last {self.failures[node]} jobs failed: it rests'
        return outcome._replace(reason=text + ')')

    def stop(self, handle):
        self.sent.pop(handle, None)
        self.ray.cancel(handle, force=True)

    def close(self):
        self.ray.shutdown()
