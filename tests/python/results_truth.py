# SPDX-License-Identifier: LGPL-2.1-or-later
"""Scripts that are killed, and the truth about a video: for results.py and results_brokers.py

Counts are those of NumPy over the decoded pixels, and tracks those of the tracker's messages in a
pipeline of this file.

Environment:
  PYTHON_VENV=folder  an environment with pyarrow and nats-py
  RESULTS_KILLS=N     how often each test kills (3)
"""
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time

import numpy
from pipelines import EXAMPLES, Gst, SeededTest, launch, messages, playing  # noqa: F401

VENV_PYTHON = os.path.join(os.environ.get('PYTHON_VENV', ''), 'bin', 'python')
KILLS = int(os.environ.get('RESULTS_KILLS', '3'))
TIMEOUT = 60 + 10 * KILLS
WIDTH, HEIGHT, BINS = 160, 120, 16
COUNT = max(300, 60 * KILLS)
TARGET = '60,40,30,30'
# each of the first frames has other counts
LIVE = ('videotestsrc is-live=true pattern=zone-plate kx2=20 ky2=20 kt=1 ! '
        'video/x-raw,format=I420,width=160,height=120,framerate=60/1')


def has_module(python, name):
    return os.path.exists(python) and subprocess.run(
        [python, '-c', f'import {name}'], stderr=subprocess.DEVNULL, check=False).returncode == 0


def wait_for(condition, what, seconds=TIMEOUT):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f'waited {seconds} s for {what}')
        time.sleep(0.05)


def listens(port):
    """Returns whether a server of this machine listens at the port"""
    with socket.socket() as probe:
        return probe.connect_ex(('127.0.0.1', port)) == 0


def read(path):
    """The text of a file; empty if the file does not exist"""
    try:
        with open(path, encoding='utf-8') as file:
            return file.read()
    except FileNotFoundError:
        return ''


def messages_of(line):
    """{pts: [track]} of a pipeline's messages"""
    found = {}
    with playing(line) as pipeline:
        for structure in messages(pipeline):
            if structure.get_name() == 'integral-histogram-track':
                found[structure.get_value('timestamp')] = [
                    {name: track.get_value(name) for name in (
                        'id', 'parent', 'x', 'y', 'width', 'height', 'confidence', 'lost')}
                    for track in structure.get_value('tracks')]
    return found


class Results(SeededTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.video = os.path.join(folder.name, 'ball.avi')
        raw = os.path.join(folder.name, 'raw')
        for line in (
                f'videotestsrc num-buffers={COUNT} pattern=ball ! video/x-raw,format=I420,'
                f'width={WIDTH},height={HEIGHT},framerate=25/1 ! jpegenc ! avimux ! '
                f'filesink location={cls.video}',
                f'filesrc location={cls.video} ! decodebin ! video/x-raw,format=I420 ! '
                f'filesink location={raw}'):
            launch(line)
        frames = numpy.fromfile(raw, numpy.uint8).reshape(COUNT, HEIGHT * 3 // 2, WIDTH)
        cls.luma = frames[:, :HEIGHT]
        cls.tracks = messages_of(
            f'filesrc location={cls.video} ! decodebin ! videoconvert ! cudatrackfeatures ! '
            f'integralhisttrack targets="{TARGET}" ! fakesink')
        assert len(cls.tracks) == COUNT
        cls.times = sorted(cls.tracks)

    @contextlib.contextmanager
    def start(self, script, *arguments, python=sys.executable):
        """Starts a process, which has ended behind the block"""
        with open(self.path(f'{script}.log'), 'a+', encoding='utf-8') as log:
            process = subprocess.Popen(
                [python, os.path.join(EXAMPLES, script), *arguments], cwd=self.folder,
                stdout=log, stderr=subprocess.STDOUT)
            try:
                yield process
            finally:
                process.kill()
                process.wait()

    def said(self, script):
        """The output of all runs of the script"""
        return read(self.path(f'{script}.log'))

    def run_script(self, script, *arguments, status=0, **options):
        """Runs the script, and returns its last line"""
        with self.start(script, *arguments, **options) as process:
            process.wait(TIMEOUT)
        said = self.said(script)
        self.assertEqual(process.returncode, status, said)
        self.assertNotIn('Traceback', said)
        return said.splitlines()[-1]
