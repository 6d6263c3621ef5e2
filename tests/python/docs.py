#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs every example in the documentation, follows every link, and checks docs/elements.md.

Each ```-block of README.md, CONTRIBUTING.md, docs/ and examples/README.md is a test, by its info
string:

  sh      runs in a folder with a street.webm and a video.mp4, which is above the folder too. Test
          pictures stand in for cameras, fakesink for windows, and 20 frames for hundreds. Programs
          of NOT_HERE are skipped, with the reason
  cpp     a whole file of a strategy: compiles, and is formatted as the others are
  c       compiles against the build and runs on a frame: a whole program, a function of a buffer,
          or statements
  cuda    the same with nvcc; it runs if the histogram lies on a GPU
  python  runs, a whole program or statements about a frame
  text    behind one of these: what it prints, with ... for what is left out
  others  NOT_RUN says why; one that it does not know fails

Environment:
  BUILD_ROOT=folder  the build directory (build/ by default)
"""
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get('BUILD_ROOT', os.path.join(ROOT, 'build')))
PAGES = ['README.md', 'CONTRIBUTING.md', 'examples/README.md', *sorted(
    os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, 'docs', '*.md')))]
TIMEOUT = 120
ANALYTICS_HEADERS = '#include <gst/analytics/'
NO_TENSORS = 'tensors are of GStreamer 1.26'
UNIXFD = 'it needs another process, and GStreamer 1.24: portable.py has both'
HAS_CUDA = os.path.exists(os.path.join(BUILD, 'probe.o'))  # nvcc compiled Meson's probe
NVCC = HAS_CUDA and (shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc')
HAS_PYTHON = os.path.exists(os.path.join(BUILD, 'gst/integralhist/GstIntegralHist-1.0.typelib'))

# first words of commands that run
HERE = {'cat', 'examples/table.py', 'export', 'gcc', 'gst-inspect-1.0', 'gst-launch-1.0',
        'pkg-config'}
NOT_HERE = {
    r'.*\b(nvh264dec|nvv4l2decoder)\b': 'it needs an NVIDIA decoder',
    r'.*\bnvtracker\b': 'it needs NVIDIA DeepStream',
    r'.*\bunixfdsink\b': UNIXFD,
    r'.*\bgvametapublish\b': 'it needs DL Streamer',
    r'(\S*/)?(build\S*/\S+|inthist-check)\b': 'it is a test or a benchmark of its own',
    r'(\S*/)?trackdemo\b': 'demo.py runs it',
    r'eval "\$\(tools/environment PREFIX\)"': 'installed.py runs it',
    r'(\S*/)?(meson|ninja)\b': 'it builds or installs, as tests/run.sh does',
    r'(examples/demo|(\S*/)?tests/\S+|\.ci/run|tools/\S+|eval "\$\(tools/\S+)\b':
        'it installs, builds or tests, as .ci/run does',
    r'(archive-venv/\S+|ray|integralhist-archive)\b': 'archive.py and archive_ray.py run it',
    r'(sudo|apt-get|dpkg-buildpackage|git|(/usr/bin/)?python3|ncu|nsys|clang-format|nvidia-smi)\b':
        'it changes the machine, or needs more than a build',
    r'taskset\b':
        'it changes the machine, or needs more than a build',
}
NOT_RUN = {
    'diff': 'part of a change',
    'meson': 'part of a build file',
    'ini': 'part of a file',
    'csv': 'a file',
    'json': 'a message',
    'toml': 'archive.py runs it',
    'bash': 'it needs Slurm',
    'yaml': 'it needs Kubernetes',
}
STAND_INS = ((r'v4l2src device=\S+( num-buffers=\d+)?', 'videotestsrc num-buffers=9 ! jpegenc'),
             (r'rtspsrc location=\S+ latency=\d+', 'videotestsrc num-buffers=9 ! jpegenc'),
             (r'\b(auto|gl|x|xv)(image|video)sink\b', 'fakesink'),
             (r'\bnum-buffers=\d{3,}', 'num-buffers=20'))
PICTURE = 'videotestsrc num-buffers=1 ! video/x-raw,format=I420,width=640,height=480'
COMPUTE = f'{PICTURE} ! cudaintegralhist ! cudaintegralimage squared=true ! appsink name=sink'
C_PROGRAM = '''#include <gst/app/gstappsink.h>
#include <gst/integralhist/gstintegralhist.h>
%(cuda)s
static GError *error = NULL;
%(function)s
int main (void)
{
  gst_init (NULL, NULL);
  GstElement *pipeline = gst_parse_launch ("%(launch)s", NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "sink");
  GstSample *sample = gst_app_sink_pull_sample (GST_APP_SINK (sink));
  GstBuffer *buffer = gst_sample_get_buffer (sample);
  GstIntegralHistogram *histogram = gst_buffer_get_integral_histogram_meta (buffer)->histogram;
  if (%(on_gpu)d && gst_integral_histogram_get_cuda_device (histogram) < 0)
    return 77;
  %(call)s
  if (error)
    g_error ("%%s", error->message);
  gst_sample_unref (sample);
  return gst_element_set_state (pipeline, GST_STATE_NULL) == GST_STATE_CHANGE_FAILURE;
}
'''
C_ASK = '''static void
ask (GstBuffer *buffer, GstIntegralHistogramMeta *meta, GstIntegralHistogram *histogram)
{
  (void) buffer; (void) meta; (void) histogram;
  {
%s
  }
}
'''
PYTHON_PROGRAM = f'''import gi
gi.require_versions({{'Gst': '1.0', 'GstApp': '1.0', 'GstIntegralHist': '1.0'}})
from gi.repository import GLib, Gst, GstApp, GstIntegralHist
import numpy
Gst.init(None)
pipeline = Gst.parse_launch('{COMPUTE}')
pipeline.set_state(Gst.State.PLAYING)
buffer = pipeline.get_by_name('sink').pull_sample().get_buffer()
meta = GstIntegralHist.buffer_get_integral_histogram_meta(buffer)
histogram = meta.histogram
'''


def read(page):
    return pathlib.Path(os.path.join(ROOT, page)).read_text(encoding='utf-8')


def blocks(page):
    """(first line, last line, info string, text) of each block; an open one goes to the end"""
    found, start, info, inside = [], None, None, []
    for number, line in enumerate(read(page).splitlines() + ['```'], 1):
        fence = re.match(r'\s*(```|~~~)(.*)', line)
        if fence and start is None:
            start, info, inside = number, fence.group(2).strip(), []
        elif fence:
            found.append((start, number, info, '\n'.join(inside)))
            start = None
        elif start is not None:
            inside.append(line)
    return found


def commands(text):
    """Whole command lines without comments"""
    for line in re.sub(r'\\\n\s*', '', text).splitlines():
        line = re.sub(r'(^|\s)#\s.*$', '', line).strip()
        if line:
            yield line


def squeezed(text):
    """The text to compare: without spaces, and without the number of earlier messages"""
    return re.sub(r'#\d+', '#', re.sub(r'\s+', '', text))


class Docs(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = os.path.join(cls.folder.name, 'build')
        os.mkdir(cls.work)
        library = os.path.join(BUILD, 'gst/integralhist')
        cls.environment = {
            **os.environ,
            'GST_PLUGIN_PATH': os.path.join(BUILD, 'gst/elements'),
            'LD_LIBRARY_PATH': library,
            'GI_TYPELIB_PATH': library,
            'PKG_CONFIG_PATH': os.path.join(BUILD, 'meson-uninstalled'),
            'GST_REGISTRY': os.path.join(cls.work, 'registry.bin'),
        }
        pictures = PICTURE.replace('=1 ', '=30 ')
        cls.run_in(cls.work, f'gst-launch-1.0 -q {pictures} ! jpegenc ! qtmux ! '
                                    'filesink location=video.mp4')
        os.symlink('video.mp4', os.path.join(cls.work, 'street.webm'))
        os.symlink('build/video.mp4', os.path.join(cls.folder.name, 'video.mp4'))
        overlay = cls.run_in(cls.work, 'gst-inspect-1.0 integralhistoverlay', range(256))
        cls.has_overlay = overlay.returncode == 0
        tensors = cls.run_in(cls.work, 'pkg-config "gstreamer-analytics-1.0 >= 1.26"',
                             range(256))
        cls.has_tensors = tensors.returncode == 0
        os.symlink(os.path.join(ROOT, 'examples'), os.path.join(cls.work, 'examples'))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def run_in(cls, folder, script, allowed=(0,)):
        process = subprocess.run(
            ['timeout', str(TIMEOUT), 'bash', '-euo', 'pipefail', '-c', script],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=cls.environment, check=False)
        if process.returncode not in allowed:
            raise AssertionError(
                f'ended with {process.returncode}:\n{script}\n{process.stdout[-3000:]}')
        return process

    def check_tests(self, text):
        """A page that builds and runs the tests enables them, and names only tests that exist."""
        runs_tests = r'^(.*&& )?(meson test|tests/(gpu|fuzz)/run\.sh)'
        if 'meson setup' in text and re.search(runs_tests, text, re.MULTILINE):
            self.assertIn('-Dtests=enabled', text)
        with open(os.path.join(BUILD, 'meson-info/intro-tests.json'), encoding='utf-8') as file:
            there = {test['name'] for test in json.load(file)}
        for line in re.findall(r'^meson test -C \S+((?: [\w-]+)+)', text, re.MULTILINE):
            names = re.sub(r' --.*', '', line).split()
            self.assertLessEqual(set(names), there)

    def run_cpp(self, text):
        if not text.startswith('// SPDX'):
            return None, ['part of a source file']
        is_cuda = '__global__' in text
        if is_cuda and not HAS_CUDA:
            return None, ['built without CUDA']
        folder = os.path.join(ROOT, 'kernels', 'published', 'cuda' if is_cuda else 'cpu')
        name = os.path.join(self.work, 'strategy' + ('.cu' if is_cuda else '.cpp'))
        # its includes are those of a file in the folder
        there = re.sub(r'#include "(\.\./)', rf'#include "{folder}/\1', text)
        pathlib.Path(name).write_text(there, encoding='utf-8')
        nvcc = shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
        compiler = [nvcc, '--expt-relaxed-constexpr'] if is_cuda else ['g++', '-Wall', '-Werror']
        self.run_in(self.work, ' '.join(
            [*compiler, '-std=c++20', '-I', folder, '-c', name, '-o', '/dev/null']))
        if not shutil.which('clang-format'):
            return None, ['there is no clang-format']
        formatted = subprocess.run(
            ['clang-format', f'--assume-filename={folder}/my_scan.cpp'], cwd=ROOT, input=text,
            stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(text, formatted)
        return None, []

    def run_sh(self, text):
        self.check_tests(text)
        script, skipped = [], []
        for command in commands(text):
            # without assignments
            bare = re.sub(r'''^(\w+=("[^"]*"|'[^']*'|[^\s'"]*)(\s+|$))+''', '', command)
            reason = next((why for what, why in NOT_HERE.items() if re.match(what, bare)), None)
            if 'integralhistoverlay' in command and not self.has_overlay:
                reason = 'built without cairo'
            if reason:
                # of a program in build/ it checks the folder of the source
                program = re.match(r'(build/)?(\S+/)(\S+)|', bare)
                place = program.group(2) or '' if program.group(1) else program.group()
                if place.startswith('archive-venv/') and ' -m venv ' in text:
                    place = ''  # these commands make it
                self.assertTrue(any(os.path.exists(os.path.join(ROOT, place + suffix))
                                    for suffix in ('', '.c')), f'{command}: there is no {place}')
                skipped.append(reason)
                continue
            self.assertIn((bare.split() or ['export'])[0], HERE,
                          f'{command}: neither in HERE nor in NOT_HERE')
            for what, instead in STAND_INS:
                command = re.sub(what, instead, command)
            script.append(command)
        output = self.run_in(self.work, '\n'.join(script)).stdout if script else None
        return output, skipped

    def run_c(self, text, cuda=False):
        if ANALYTICS_HEADERS in text and not self.has_tensors:
            return None, [NO_TENSORS]
        name = os.path.join(self.work, 'program')
        includes = re.findall(r'^#include.*$', text, re.MULTILINE)
        body = re.sub(r'^#include.*$', '', text, flags=re.MULTILINE)
        function = re.search(r'^(?:static void )?(\w+) \(GstBuffer \*buffer\)$', body, re.MULTILINE)
        if function:
            call = f'{function.group(1)} (buffer);'
        else:
            call = 'ask (buffer, gst_buffer_get_integral_histogram_meta (buffer), histogram);'
        program = body if 'main (' in body else C_PROGRAM % {
            'cuda': '#include <cuda_runtime.h>' if cuda else '',
            'on_gpu': cuda,
            'launch': COMPUTE.replace('cudaintegralhist', 'cudaintegralhist regions=0,0,64,64')
                      if ANALYTICS_HEADERS in text else COMPUTE,
            'function': body if function else C_ASK % body,
            'call': call,
        }
        source = name + ('.cu' if cuda else '.c')
        pathlib.Path(source).write_text('\n'.join(includes) + '\n' + program, encoding='utf-8')
        modules = 'gstreamer-integralhist-1.0 gstreamer-app-1.0'
        if ANALYTICS_HEADERS in text:
            modules += ' gstreamer-analytics-1.0'
        flags = f'$(pkg-config --cflags --libs {modules} | sed s/-pthread//g)'
        compiler = f'{NVCC} -std=c++20' if cuda else 'gcc -std=gnu11 -Wall -Wextra -Werror'
        self.run_in(self.work, f'{compiler} {source} -o {name} {flags}')
        process = self.run_in(self.work, name, allowed=(0, 77) if cuda else (0,))
        return process.stdout, ['it compiles; it runs on a GPU only'] if process.returncode else []

    def run_python(self, text):
        if 'GstAnalytics' in text and not self.has_tensors:
            return None, [NO_TENSORS]
        if 'unixfdsrc' in text:
            return None, [UNIXFD]
        if 'ultralytics' in text:
            compile(text, 'the page', 'exec')
            return None, ['it needs a network of YOLO']
        if 'integralhist.archive' in text:
            return None, ['archive.py runs it']
        if 'Gst.init(' not in text:  # statements about a frame
            text = f'{PYTHON_PROGRAM}{text}\npipeline.set_state(Gst.State.NULL)\n'
        with open(os.path.join(self.work, 'program.py'), 'w', encoding='utf-8') as file:
            file.write(text)
        return self.run_in(self.work, f'{sys.executable} program.py').stdout, []

    def check_block(self, info, text, expected):
        if info in NOT_RUN:
            self.skipTest(NOT_RUN[info])
        if info == 'cuda' and not NVCC:
            self.skipTest('built without CUDA')
        if info == 'python' and not HAS_PYTHON:
            self.skipTest('built without introspection')
        runners = {
            'sh': self.run_sh,
            'c': self.run_c,
            'python': self.run_python,
            'cuda': lambda text: self.run_c(text, True),
            'cpp': self.run_cpp,
        }
        self.assertIn(info, runners,
                      f'a block has the info string "{info}", which this test does not know')
        output, skipped = runners[info](text)
        if not skipped and 'print' in text:
            self.assertNotEqual(output, '', 'it prints nothing')
        if output is not None and expected is not None:
            rest = squeezed(output)
            for part in map(squeezed, expected.split('...')):
                self.assertIn(part, rest, f'what is printed is\n{output[-3000:]}')
                rest = rest.split(part, 1)[1] if part else rest
        if skipped:
            self.skipTest('; '.join(sorted(set(skipped))))

    def test_elements_page(self):
        if not HAS_PYTHON:
            self.skipTest('built without introspection')
        self.run_in(ROOT, f'{sys.executable} tools/generate-element-docs --check')

    def test_readme_is_short(self):
        lines = read('README.md').splitlines()
        self.assertLessEqual(len(lines), 120)
        for page in PAGES:
            if page != 'docs/elements.md':
                long = [line for line in read(page).splitlines()
                        if len(line) > 100 and not re.match(r'\s*\||.*\]\(', line)]
                self.assertEqual(long, [], page)


def anchors(page):
    """The anchors that GitHub makes of headings"""
    text = re.sub(r'^```.*?^```', '', read(page), flags=re.MULTILINE | re.DOTALL)
    return {re.sub(r'[^\w\- ]', '', heading.lower()).strip().replace(' ', '-')
            for heading in re.findall(r'^#+ (.*)$', text, re.MULTILINE)}


class Links(unittest.TestCase):
    """A method for each page."""

    def check_page(self, page):
        text = re.sub(r'^\s*```.*?^\s*```', '', read(page), flags=re.MULTILINE | re.DOTALL)
        broken, pictures = [], []
        for picture, target in re.findall(r'(!?)\[[^\]]*\]\(([^)\s]+)\)', text):
            if re.match(r'\w+:', target):
                continue
            path, _, anchor = target.partition('#')
            path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if not os.path.exists(os.path.join(ROOT, path)):
                (pictures if picture else broken).append(target)
            elif anchor and anchor not in anchors(path):
                broken.append(target)
        self.assertEqual(broken, [])
        if pictures:
            self.skipTest('there is no ' + ', '.join(pictures))


def add_tests():
    for page in PAGES:
        name = re.sub(r'\W', '_', page)
        setattr(Links, f'test_{name}', lambda self, page=page: self.check_page(page))
        found = blocks(page)
        followers = found[1:] + [(0, 0, '', '')]
        for (line, end, info, text), (start, _, kind, output) in zip(found, followers):
            if info == 'text':
                continue
            block = info, text, output if kind == 'text' and start - end < 5 else None
            setattr(Docs, f'test_{name}_{line:03}',
                    lambda self, block=block: self.check_block(*block))


add_tests()
if __name__ == '__main__':
    unittest.main(verbosity=2)
