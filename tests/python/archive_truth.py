# SPDX-License-Identifier: LGPL-2.1-or-later
"""Archives of short videos, for archive.py, archive_kills.py and archive_ray.py

Environment:
  PYTHON_VENV=folder  an environment with pyarrow, pandas, tqdm, and Ray
"""
import contextlib
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import virtual_environment

virtual_environment.enter()
import numpy  # noqa: E402

if 'kills' in sys.argv[0] or 'ray' in sys.argv[0]:
    if os.environ.get('INTHIST_CASES') == 'small':
        print('SKIP: kills and nodes: they are for full cases (INTHIST_CASES=small is set)')
        sys.exit(77)

# A registry for all these tests: GStreamer looks at all plugins once, and not in each test again.
# plugins/abortdec.c decodes videos that begin with ABORTING or SILENCED.
BUILD = os.environ['BUILD_ROOT']
os.environ['GST_PLUGIN_PATH'] = f"{os.environ.get('GST_PLUGIN_PATH', '')}:{BUILD}/tests/python"
os.environ['GST_REGISTRY'] = f'{BUILD}/tests/archive-registry.bin'
from pipelines import SeededTest  # noqa: E402

WIDTH, HEIGHT, BINS = 160, 120, 16
NO_H264 = subprocess.run(['gst-inspect-1.0', '--exists', 'openh264enc'], check=False).returncode \
    and 'no openh264enc: install gstreamer1.0-plugins-bad'
SETTINGS = '''
[histogram]
bins = 16
[regions]
boxes = [[0, 0, 160, 120], [30, 20, 50, 40]]
[tracks]
targets = [[60, 40, 30, 30]]
'''


def launch(line):
    subprocess.run(['gst-launch-1.0', '-q', *line.split()], check=True)


def make_video(path, number, count=12):
    """Makes a video; `number` says where the ball begins"""
    launch(f'videotestsrc num-buffers={count} pattern=ball animation-mode=frames '
           f'timestamp-offset={number * 1000000000} ! '
           f'video/x-raw,format=I420,width={WIDTH},height={HEIGHT},framerate=25/1 ! jpegenc ! '
           f'avimux ! filesink location={path}')


class Archive(SeededTest):
    VIDEOS = 4

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.videos = os.path.join(folder.name, 'videos')
        os.mkdir(cls.videos)
        for number in range(cls.VIDEOS):
            make_video(os.path.join(cls.videos, f'{number:03d}.avi'), number)

    def setUp(self):
        super().setUp()
        self.write('settings.toml', SETTINGS)

    def write(self, name, text):
        pathlib.Path(self.path(name)).write_text(text, encoding='utf-8')

    def start(self, *arguments, **environment):
        """Starts integralhist-archive, and returns its Popen; the output goes to a file"""
        self.log = open(self.path('log'), 'w+', encoding='utf-8')
        self.addCleanup(self.log.close)
        return subprocess.Popen(
            [sys.executable, '-m', 'integralhist.archive', *arguments], cwd=self.folder,
            stdout=self.log, stderr=subprocess.STDOUT, env={**os.environ, **environment})

    def said(self):
        return pathlib.Path(self.path('log')).read_text(encoding='utf-8')

    def await_(self, condition, process):
        """Waits until `condition ()` finds something, before `process` ends, and returns that"""
        deadline = time.monotonic() + 200
        while not (found := condition()):
            self.assertIsNone(process.poll(), self.said())
            self.assertLess(time.monotonic(), deadline, self.said())
            time.sleep(0.01)
        return found

    def processes(self, pattern, is_ours):
        """Processes with `pattern` in the command line for which `is_ours ('/proc/PID')` is true"""
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            with contextlib.suppress(OSError), open(f'/proc/{pid}/cmdline', 'rb') as command:
                if re.search(pattern, command.read()) and is_ours(f'/proc/{pid}'):
                    found.append(int(pid))
        return found

    def jobs(self):
        """The processes of the jobs, without the one that a driver runs with --check"""
        return self.processes(rb'archive\.job import (?!.*--check)', lambda process:
                              os.path.samefile(f'{process}/cwd', self.folder))

    def await_jobs(self, process):
        return self.await_(self.jobs, process)

    def count_done(self):
        done = self.path('out/_done')
        return len(os.listdir(done)) if os.path.isdir(done) else 0

    def await_done(self, count, process):
        self.await_(lambda: self.count_done() >= count, process)

    def archive(self, *arguments, status=0, timeout=120, **environment):
        """Runs integralhist-archive, which must end with `status`; returns its last line"""
        process = self.start(*arguments, **environment)
        try:
            process.wait(timeout)
        finally:
            process.kill()
            process.wait()
        said = self.said()
        self.assertEqual(process.returncode, status, said)
        self.assertNotIn('Traceback', said)
        return said.splitlines()[-1]

    def run_archive(self, *arguments, out='out', **options):
        inputs = [text for text in arguments if not text.startswith('--')] or [
            f'{self.videos}/*.avi']
        return self.archive('run', 'settings.toml', *inputs, '--out', out,
                            *(text for text in arguments if text.startswith('--')), **options)

    def files(self, out='out'):
        """{path: sha256} of all files below OUT that a reader sees"""
        found = {}
        for kind in ('regions', 'tracks', 'likelihood', '_done'):
            for name in os.listdir(self.path(f'{out}/{kind}')):
                with open(self.path(f'{out}/{kind}/{name}'), 'rb') as file:
                    found[f'{kind}/{name}'] = hashlib.sha256(file.read()).hexdigest()
        return found

    def whole(self):
        """files () of an undisturbed run: one for all tests of a class"""
        if 'undisturbed' not in vars(type(self)):
            self.run_archive(out='whole')
            type(self).undisturbed = self.files('whole')
        return self.undisturbed

    def markers(self, kind, out='out'):
        found = []
        for name in sorted(os.listdir(self.path(f'{out}/{kind}'))):
            with open(self.path(f'{out}/{kind}/{name}'), encoding='utf-8') as file:
                found.append(json.load(file))
        return found

    def dataset(self, out='out', settings=None):
        from integralhist.archive import dataset
        return dataset.open(self.path(out), settings)

    def luma(self, video):
        """Its decoded pixels, [frame, y, x]"""
        raw = self.path('raw')
        launch(f'filesrc location={video} ! decodebin ! video/x-raw,format=I420 ! '
               f'filesink location={raw}')
        return numpy.fromfile(raw, numpy.uint8).reshape(-1, HEIGHT * 3 // 2, WIDTH)[:, :HEIGHT]
