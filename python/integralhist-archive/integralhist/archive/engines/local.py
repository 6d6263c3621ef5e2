# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs as processes of this machine"""
import collections
import contextlib
import os
import selectors
import shutil
import subprocess

from integralhist.archive.child import Child

ANSWERS = 60  # seconds until nvidia-smi must have listed the GPUs


def gpus():
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them"""
    visible = os.environ.get('CUDA_VISIBLE_DEVICES')
    if visible is not None:
        return [name for name in visible.split(',') if name.strip()]
    if not shutil.which('nvidia-smi'):
        return []
    try:
        found = subprocess.run(['nvidia-smi', '-L'], capture_output=True, text=True, check=False,
                               timeout=ANSWERS)
    except subprocess.TimeoutExpired:
        raise OSError(f'nvidia-smi has not answered for {ANSWERS} s: look at the driver, or leave '
                      '--gpus-per-file out') from None
    return [str(i) for i, line in enumerate(found.stdout.splitlines()) if line.startswith('GPU ')]


def cores(limit='/sys/fs/cgroup/cpu.max'):
    """The number of cores for this process, also in a container with a part of a machine"""
    count = len(os.sched_getaffinity(0))
    with contextlib.suppress(OSError, ValueError):  # "max 100000" if there is no limit
        with open(limit, encoding='ascii') as file:
            most, period = map(int, file.read().split())
        count = min(count, max(1, most // period))
    return count


class Local:
    is_shared = False

    def __init__(self, python, jobs=None, gpus_per_file=0):
        """`jobs` is by default one for each core, or as many as the GPUs have room for"""
        self.python = python
        self.gpus = gpus() if gpus_per_file else []
        if gpus_per_file and not self.gpus:
            raise OSError('there is no GPU here: leave --gpus-per-file out')
        if gpus_per_file > 1:
            raise OSError('a job uses one GPU: give --gpus-per-file 1 or less')
        self.jobs = jobs or cores()
        if self.gpus:
            on_gpus = len(self.gpus) * int(1 / gpus_per_file)
            self.jobs = min(jobs or on_gpus, on_gpus)
        self.on_gpu = collections.Counter(dict.fromkeys(self.gpus, 0))
        self.ended = selectors.DefaultSelector()

    def slots(self):
        return self.jobs

    def start(self, item):
        gpu = min(self.gpus, key=self.on_gpu.get, default='')  # the one with the fewest jobs
        child = Child(item, self.python, gpu)
        self.on_gpu[gpu] += 1
        child.ends = os.pidfd_open(child.process.pid)
        self.ended.register(child.ends, selectors.EVENT_READ, child)
        return child

    def _forget(self, child):
        self.ended.unregister(child.ends)
        os.close(child.ends)
        self.on_gpu[child.gpu] -= 1

    def wait(self, handles, seconds):
        found = [key.data for key, _ in self.ended.select(seconds)]
        for child in found:
            self._forget(child)
        return [(child, child.outcome()) for child in found]

    def stop(self, child):
        self._forget(child)
        child.stop()

    def close(self):
        self.ended.close()
