#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""GPU architectures and libraries that the build takes from a CUDA toolkit, on x86_64 and arm64.

The toolkit is a stand-in: its nvcc answers questions, and compiles nothing. A cross file
that says aarch64 and has this machine's compiler stands in for a Jetson. Nothing is built.
"""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# the output of nvcc --list-gpu-arch
KNOWN = {'12.0': '50 52 53 60 61 62 70 72 75 80 86 87 89 90',
         '12.9': '50 52 53 60 61 62 70 72 75 80 86 87 89 90 100 101 103 120 121',
         '13.0': '75 80 86 87 88 89 90 100 110 103 120 121'}
NVCC = '''#!/bin/sh
if [ "$1" = --list-gpu-arch ]; then
  for arch in %s; do echo compute_$arch; done
  exit
fi
while [ $# -gt 0 ]; do
  if [ "$1" = -o ]; then : >"$2"; fi
  shift
done
'''
CROSS = '''[binaries]
c = 'gcc'
cpp = 'g++'
ar = 'ar'
pkgconfig = 'pkg-config'
pkg-config = 'pkg-config'
[properties]
needs_exe_wrapper = true
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
'''
LEAVE_OUT = [f'-D{name}=disabled' for name in (
    'introspection', 'gstcuda', 'overlay', 'analytics', 'nvtx', 'published-strategies')]


def configure(release, kinds, cross=False):
    """(architectures, architecture of the PTX, where libcudart is, output)

    `kinds` are the folders of machines that the toolkit compiles for.
    """
    with tempfile.TemporaryDirectory() as folder:
        toolkit, build = os.path.join(folder, 'cuda'), os.path.join(folder, 'build')
        os.makedirs(os.path.join(toolkit, 'bin'))
        nvcc = os.path.join(toolkit, 'bin/nvcc')
        pathlib.Path(nvcc).write_text(NVCC % KNOWN[release], encoding='utf-8')
        os.chmod(nvcc, 0o755)
        for kind in kinds:
            for name in 'lib', 'include':
                os.makedirs(os.path.join(toolkit, 'targets', kind, name))
            with open(os.path.join(toolkit, 'targets', kind, 'include/cuda_runtime.h'), 'w',
                      encoding='utf-8'):
                pass
            subprocess.run(['ar', 'rc', os.path.join(
                toolkit, 'targets', kind, 'lib/libcudart_static.a')], check=True)
        more = []
        if cross:
            more = ['--cross-file', os.path.join(folder, 'cross.ini')]
            pathlib.Path(more[1]).write_text(CROSS, encoding='utf-8')
        process = subprocess.run(
            ['meson', 'setup', '-Dcuda=enabled', *LEAVE_OUT, *more, build, ROOT],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            env={**os.environ, 'PATH': f'{toolkit}/bin:{os.environ["PATH"]}'})
        if process.returncode:
            raise AssertionError(process.stdout)
        ninja = pathlib.Path(os.path.join(build, 'build.ninja')).read_text(encoding='utf-8')
        compiled = next(line for line in ninja.splitlines() if '-gencode=' in line)
        library = re.search(rf'{toolkit}/targets/([\w-]+)/lib/libcudart_static.a', ninja)
        return (re.findall(r'code=sm_(\d+)', compiled), re.findall(r'code=compute_(\d+)', compiled),
                library and library.group(1), compiled)


class Toolkits(unittest.TestCase):
    def test_x86_64(self):
        """Without Jetsons, whose machine code would only make the library larger"""
        if os.uname().machine != 'x86_64':
            self.skipTest('this machine is no x86_64')
        self.assertEqual(configure('13.0', ['x86_64-linux', 'sbsa-linux'])[:3],
                         ('75 80 86 89 90 100 120'.split(), ['120'], 'x86_64-linux'))

    def test_arm64(self):
        """With Orin, and Thor, whose number has changed"""
        *told, compiled = configure('13.0', ['x86_64-linux', 'sbsa-linux'], cross=True)
        self.assertEqual(told, ['75 80 86 87 89 90 100 110 120'.split(), ['120'], 'sbsa-linux'])
        self.assertRegex(compiled, r'-ccbin\S* g\+\+ \S*-target-dir\S* sbsa-linux')
        *told, compiled = configure('12.9', ['aarch64-linux', 'sbsa-linux'], cross=True)
        self.assertEqual(told, ['70 75 80 86 87 89 90 100 101 120'.split(), ['120'],
                                'aarch64-linux'])
        self.assertRegex(compiled, r'-target-dir\S* aarch64-linux')

    def test_first(self):
        """The oldest toolkit that builds"""
        self.assertEqual(configure('12.0', ['x86_64-linux', 'aarch64-linux'], cross=True)[:3],
                         ('70 75 80 86 87 89 90'.split(), ['90'], 'aarch64-linux'))


if __name__ == '__main__':
    unittest.main(verbosity=2)
