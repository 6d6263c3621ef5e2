# SPDX-License-Identifier: LGPL-2.1-or-later
"""A job as a process, which dies with the one that started it

PyGObject belongs to the distribution's Python, Ray to any. A crash of a decoder is an exit status
here, and what a job holds of a GPU goes with it.
"""
import json
import os
import signal
import subprocess
import typing

import integralhist

BAD = 3  # exit status of a job whose video is bad


class Outcome(typing.NamedTuple):
    state: str  # "done", "bad" or "again"
    reason: str = ''
    frames: int = 0


class Child:
    """`job.py` with `arguments`, which reads `value`

    `gpu` is what CUDA may see: as CUDA_VISIBLE_DEVICES has it, "" for none, None for what this
    process sees.
    """

    def __init__(self, value, python, gpu, *arguments):
        self.gpu = gpu
        # files without a name: no pipe can fill up, and nothing is left behind
        files = [os.fdopen(os.memfd_create(name), 'w+') for name in ('input', 'output', 'errors')]
        given, self.output, self.errors = files
        json.dump(value, given)
        given.seek(0)
        environment = {**os.environ, 'INTEGRALHIST_PARENT': str(os.getpid())}
        package = os.path.dirname(os.path.dirname(os.path.abspath(integralhist.__file__)))
        environment['PYTHONPATH'] = os.pathsep.join(
            filter(None, [package, os.environ.get('PYTHONPATH')]))
        if gpu is not None:
            environment['CUDA_VISIBLE_DEVICES'] = gpu
        self.process = subprocess.Popen(
            [python, '-m', 'integralhist.archive.job', *arguments, '-'], env=environment,
            stdin=given, stdout=self.output, stderr=self.errors)
        given.close()

    def said(self):
        """What the last line of the output has"""
        self.output.seek(0)
        lines = self.output.read().splitlines()
        try:
            found = json.loads(lines[-1])
            return found if isinstance(found, dict) else {}
        except (IndexError, ValueError):
            return {}

    def outcome(self):
        """Waits for the end"""
        status = self.process.wait()
        said = self.said()
        self.errors.seek(0)
        errors = self.errors.read()[-2000:].strip().splitlines()
        self.output.close()
        self.errors.close()
        if status == 0:
            return Outcome('done', frames=said.get('frames', 0))
        ended = f'ended by {signal.Signals(-status).name}' if status < 0 else \
            f'ended with exit status {status}'
        reason = said.get('reason') or '; '.join([ended, *errors[-1:]])
        return Outcome('bad' if status == BAD else 'again', reason)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.output.close()
        self.errors.close()
