# SPDX-License-Identifier: LGPL-2.1-or-later
"""A job as a process, which dies with the process that started it

PyGObject needs the distribution's Python, and Ray may run on another one. If a decoder crashes, the
driver sees an exit status, and the memory that the job had on a GPU is freed.
"""
import contextlib
import json
import os
import signal
import subprocess
import typing

import integralhist

BAD = 3  # exit status of a job whose video is bad
# like -m integralhist.archive.job, for a Python that may not know where that module is
RUN = ('import sys; sys.path.append (sys.argv.pop (1)); '
       'from integralhist.archive.job import main; main ()')
REGISTRY = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'),
                        'gstreamer-1.0', 'registry.integralhist.bin')


class Outcome(typing.NamedTuple):
    state: str  # "done", "bad" or "again"
    reason: str = ''
    frames: int = 0
    said: dict = {}  # the last line of the output, as JSON


class Child:
    """`job.py` with `arguments`, which reads `value`

    `gpu` is the value of CUDA_VISIBLE_DEVICES: "" for no GPU, None for the GPUs of this
    process.
    """

    def __init__(self, value, python, gpu, *arguments):
        self.gpu = gpu
        # files without a name: no pipe can fill up, and nothing is left behind
        files = [os.fdopen(os.memfd_create(name), 'w+', errors='replace')
                 for name in ('input', 'output', 'errors')]
        given, self.output, self.errors = files
        json.dump(value, given)
        given.seek(0)
        environment = {**os.environ, 'INTEGRALHIST_PARENT': str(os.getpid())}
        package = os.path.dirname(os.path.dirname(os.path.abspath(integralhist.__file__)))
        if gpu is not None:
            environment['CUDA_VISIBLE_DEVICES'] = gpu
        if gpu == '':  # then GStreamer finds no decoders of a GPU, and remembers that
            environment['GST_REGISTRY'] = os.environ.get('GST_REGISTRY', REGISTRY) + '.without-gpu'
        self.process = subprocess.Popen(
            [python, '-c', RUN, package, *arguments, '-'], env=environment,
            stdin=given, stdout=self.output, stderr=self.errors)
        given.close()

    def said(self):
        """The JSON of the last line of the output"""
        self.output.seek(0)
        lines = self.output.read().splitlines()
        try:
            found = json.loads(lines[-1])
            return found if isinstance(found, dict) else {}
        except (IndexError, ValueError):
            return {}

    def outcome(self, seconds=None):
        """Waits for the end of the job, and ends the job after this many seconds"""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.stop()
            return Outcome('again', f'had not ended after {seconds} s')
        said, file = self.said(), self.errors.fileno()
        tail = os.pread(file, 2000, max(0, os.fstat(file).st_size - 2000))
        errors = tail.decode(errors='replace').strip().splitlines()
        self.output.close()
        self.errors.close()
        if status == 0:
            return Outcome('done', frames=said.get('frames', 0), said=said)
        ended = f'ended with exit status {status}'
        if status < 0:
            names = {number.value: number.name for number in signal.Signals}
            ended = f'ended by {names.get(-status, f"signal {-status}")}'
        reason = said.get('reason') or '; '.join([ended, *errors[-1:]])
        return Outcome('bad' if status == BAD else 'again', integralhist.escaped(str(reason)),
                       said=said)

    def stop(self):
        self.process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # a dead mount may keep the process
            self.process.wait(10)
        self.output.close()
        self.errors.close()
