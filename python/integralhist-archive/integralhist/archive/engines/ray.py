# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs as tasks of Ray core

Not Ray Data, which tries a record that ends its worker again without end. Ray places the tasks and
its GPUs; tries and deadlines are the driver's.
"""
import os
import socket
import time

from integralhist.archive.child import Child, Outcome
from integralhist.archive.engines import EngineGone

# A node that is cut off without a word is noticed after some 25 s with these, in place of minutes.
# `ray start` of each node wants the first three, too.
KEEPALIVE = {'RAY_grpc_client_keepalive_time_ms': '10000',
             'RAY_grpc_client_keepalive_timeout_ms': '10000',
             'RAY_health_check_failure_threshold': '3',
             # whoever reaches a cluster without it can run programs there
             'RAY_AUTH_MODE': 'token',
             'RAY_USAGE_STATS_ENABLED': '0'}
LOOK_AGAIN = 5  # seconds, for nodes that came or went


def run_job(item, python, gpu):
    return tuple(Child(item, python, gpu).outcome())


def places(has, gpus_per_file):
    """How many jobs a node's resources let it run"""
    cores, gpus = int(has.get('CPU', 0)), int(has.get('GPU', 0))
    if not gpus_per_file:
        return cores
    if gpus_per_file > 1:
        return min(cores, int(gpus / gpus_per_file))
    return min(cores, gpus * int(1 / gpus_per_file))  # no job has parts of two


class Ray:
    def __init__(self, python, address=None, gpus_per_file=0, jobs=None):
        for name, value in KEEPALIVE.items():
            os.environ.setdefault(name, value)
        import ray  # which looks at them once
        if address:  # or else Ray would try for minutes
            host, _, port = address.rpartition(':')
            try:
                socket.create_connection((host, int(port)), 10).close()
            except OSError as problem:
                raise ConnectionError(f'no cluster answers at {address}: {problem}') from None
        self.ray, self.python, self.gpus, self.most = ray, python, gpus_per_file, jobs
        try:
            ray.init(address=address or 'local', include_dashboard=None if address else False,
                     log_to_driver=False, logging_level='error')
        except ray.exceptions.RayError as problem:  # as without the token
            raise ConnectionError(str(problem)) from None
        # the driver counts tries; a worker with a GPU is not started anew for each task
        self.task = ray.remote(num_cpus=1, num_gpus=self.gpus, max_retries=0,
                               max_calls=0)(run_job)
        self.is_shared = bool(address)
        self.node = ray.get_runtime_context().get_node_id()
        self.counted, self.looked = 0, -LOOK_AGAIN

    def slots(self):
        if time.monotonic() - self.looked >= LOOK_AGAIN:
            self.looked = time.monotonic()
            alive = {node['NodeID']: node['Resources'] for node in self.ray.nodes()
                     if node['Alive']}
            if self.node not in alive:  # without it this process hears of nothing
                start = 'start it, and ' if self.is_shared else ''
                raise EngineGone(f'Ray has ended on this machine: {start}run this again')
            self.counted = sum(places(has, self.gpus) for has in alive.values())
        return min(self.counted, self.most or self.counted)

    def start(self, item):
        return self.task.remote(item, self.python, None if self.gpus else '')  # Ray says which

    def wait(self, handles, seconds):
        handles = list(handles)
        ready, _ = self.ray.wait(handles, num_returns=1, timeout=seconds)
        if ready:  # take all that are: to look at thousands takes milliseconds
            ready, _ = self.ray.wait(handles, num_returns=len(handles), timeout=0)
        return [(handle, self._outcome(handle)) for handle in ready]

    def _outcome(self, handle):
        try:
            return Outcome(*self.ray.get(handle))
        except self.ray.exceptions.RayError as problem:  # its worker or node is gone
            text = str(problem).strip().splitlines()
            return Outcome('again', f'{type(problem).__name__}: {text[0] if text else ""}')

    def stop(self, handle):
        self.ray.cancel(handle, force=True)

    def close(self):
        self.ray.shutdown()
