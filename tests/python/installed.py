#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The files of an install, and how programs find it: pkg-config, gst-inspect, tools/environment.

The version of all of them is the first of NEWS.md.

Environment:
  BUILD_ROOT=folder  the build directory
"""
import json
import os
import re
import shlex
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get('BUILD_ROOT', os.path.join(ROOT, 'build'))
OURS = 'gstreamer-integralhist-1.0'
GSTREAMER = ['gstreamer-1.0', 'gstreamer-video-1.0']
with open(os.path.join(ROOT, 'NEWS.md'), encoding='utf-8') as news:
    RELEASE = re.search(r'^## (\S+) \((?:unreleased|20\d\d-\d\d-\d\d)\)$', news.read(), re.M)[1]
VERSION = RELEASE.rpartition('.')[0]


def output(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **more).stdout


def flags(folder, *arguments):
    """The output of pkg-config, with the files of a folder of the build directory."""
    path = os.path.join(BUILD, folder)
    environment = {
        **os.environ,
        'PKG_CONFIG_ALLOW_SYSTEM_CFLAGS': '1',
        'PKG_CONFIG_ALLOW_SYSTEM_LIBS': '1',
        'PKG_CONFIG_PATH': os.pathsep.join([path, os.environ.get('PKG_CONFIG_PATH', '')]),
    }
    return shlex.split(output('pkg-config', *arguments, env=environment))


class PkgConfig(unittest.TestCase):
    def own(self, folder, *arguments):
        """The flags that do not come from GStreamer's own files."""
        gstreamer = flags(folder, *arguments, *GSTREAMER)
        return {flag for flag in flags(folder, *arguments, OURS) if flag not in gstreamer}

    def check(self, folder, headers, library):
        for static in ([], ['--static']):
            self.assertLessEqual(self.own(folder, '--cflags', *static), {f'-I{headers}'})
            self.assertLessEqual(self.own(folder, '--libs', *static),
                                 {f'-L{library}', '-lgstintegralhist-1.0'})
        self.assertIn('-lgstintegralhist-1.0', self.own(folder, '--libs'))

    def test_installed(self):
        folder = 'meson-private'
        headers, = flags(folder, '--variable=includedir', OURS)
        library, = flags(folder, '--variable=libdir', OURS)
        self.check(folder, os.path.join(headers, 'gstreamer-1.0'), library)
        self.assertIn(f'-I{headers}/gstreamer-1.0', flags(folder, '--cflags', OURS))
        self.assertIn(f'-L{library}', flags(folder, '--libs', OURS))
        self.assertEqual(flags(folder, '--print-requires-private', OURS), [])

    def test_in_the_build_directory(self):
        folder = 'meson-uninstalled'
        self.check(folder, ROOT, os.path.join(BUILD, 'gst', 'integralhist'))
        with tempfile.TemporaryDirectory() as place:
            program = os.path.join(place, 'histquery')
            output('cc', os.path.join(ROOT, 'examples', 'histquery.c'), '-o', program,
                   *flags(folder, '--cflags', '--libs', OURS, 'gstreamer-app-1.0'), '-lm')
            self.assertIn('--bins', output(program, '--help'))


class Inspect(unittest.TestCase):
    def test_plugin(self):
        said = output('gst-inspect-1.0', 'cudaintegralhist')
        self.assertRegex(said, r'Origin URL\s+https://\S+\n')
        self.assertRegex(said, rf'Version\s+{re.escape(RELEASE)}\n')

    def test_exists(self):
        """Runs the documentation's command: gst-inspect-1.0 alone asks for GStreamer's version."""
        with open(os.path.join(ROOT, 'docs', 'installing.md'), encoding='utf-8') as file:
            commands = re.findall(r'^(gst-inspect-1\.0 --exists .*) && ', file.read(), re.MULTILINE)
        self.assertEqual(
            commands, [f'gst-inspect-1.0 --exists --atleast-version={VERSION} cudaintegralhist'])
        output(*shlex.split(commands[0]))
        too_new = commands[0].replace(f'={VERSION} ', '=9.9 ')
        self.assertNotEqual(subprocess.run(shlex.split(too_new), check=False).returncode, 0)


class Install(unittest.TestCase):
    def test_environment(self):
        """tools/environment prints all that an install outside the system's paths needs."""
        tool = os.path.join(ROOT, 'tools', 'environment')
        with open(os.path.join(ROOT, 'docs', 'installing.md'), encoding='utf-8') as file:
            self.assertIn('\neval "$(tools/environment PREFIX)"', file.read())
        with tempfile.TemporaryDirectory() as place:
            nothing = subprocess.run([tool, place], stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(nothing.returncode, 1)
            self.assertIn(f'nothing is installed under {place}', nothing.stderr)
            output('meson', 'install', '-C', BUILD, '--no-rebuild', '--quiet', '--destdir', place)
            library, = flags('meson-private', '--variable=libdir', OURS)
            prefix = os.path.commonpath([library, *flags('meson-private', '--variable=includedir',
                                                         OURS)])
            clean = {name: value for name, value in os.environ.items()
                     if name not in ('GST_PLUGIN_PATH', 'LD_LIBRARY_PATH', 'GI_TYPELIB_PATH',
                                     'PYTHONPATH')}
            clean['GST_REGISTRY'] = os.path.join(place, 'registry.bin')
            said = output('sh', '-c', f'eval "$({tool} {place}{prefix})"; '
                          f'gst-inspect-1.0 cudaintegralhist; pkg-config --modversion {OURS}; '
                          'echo "$PYTHONPATH"; echo "$LD_LIBRARY_PATH"', env=clean)
            self.assertIn(f'{place}{prefix}', said.split('Filename')[1].splitlines()[0])
            self.assertIn(f'\n{RELEASE}\n', said)
            self.assertEqual(said.splitlines()[-1], f'{place}{library}')
            # in /usr the loader finds the library; elsewhere the plugin says where it is
            headers = output('readelf', '-d', os.path.join(
                place + library, 'gstreamer-1.0', 'libgstintegralhist.so'))
            self.assertEqual(re.findall(r'\(R(?:UN)?PATH\).*\[(.*)\]', headers),
                             [] if prefix == '/usr' else ['$ORIGIN/..'])
            if 'GI_TYPELIB_PATH' in os.environ:  # there are bindings
                python = said.splitlines()[-2].split(os.pathsep)[0]
                for name in 'GstIntegralHist', '_gstintegralhist_dlpack', '_gstintegralhist_docs':
                    self.assertTrue(os.path.exists(f'{python}/gi/overrides/{name}.py'), python)
                self.assertTrue(os.path.exists(f'{python}/gi-stubs/repository/GstIntegralHist.pyi'))

    def test_builds_what_is_asked_for(self):
        """Without options there are no tests and no examples."""
        with tempfile.TemporaryDirectory() as place:
            output('meson', 'setup', place, ROOT, '-Dcuda=disabled')
            targets = json.loads(output('meson', 'introspect', '--targets', place))
            self.assertEqual([t['name'] for t in targets if t['type'] == 'executable'], [])
            self.assertIn('gstintegralhist', [t['name'] for t in targets])


class Packages(unittest.TestCase):
    """debian/, beside what is built; tests/package.sh builds and tests the packages."""

    def test_version(self):
        with open(os.path.join(ROOT, 'debian', 'changelog'), encoding='utf-8') as file:
            self.assertRegex(file.readline(), rf'^gst-integralhist \({re.escape(RELEASE)}\) ')

    def test_symbols(self):
        """The symbols file has all functions of the C API, and nothing of the C++ names."""
        library = os.path.join(BUILD, 'gst', 'integralhist', 'libgstintegralhist-1.0.so')
        exported = {line.split()[-1].replace('@@', '@')
                    for line in output('nm', '-D', '--defined-only', library).splitlines()}
        functions = {name for name in exported if name.endswith('@INTEGRALHIST_1.0')}
        self.assertIn('gst_integral_histogram_region@INTEGRALHIST_1.0', functions)
        self.assertEqual({name for name in exported - functions
                          if not name.endswith('@INTEGRALHIST_PRIVATE')},
                         {'INTEGRALHIST_1.0', 'INTEGRALHIST_PRIVATE'})
        path = os.path.join(ROOT, 'debian', 'libgstintegralhist-1.0-0.symbols')
        with open(path, encoding='utf-8') as file:
            listed = dict(line.split() for line in file if line.startswith(' ') and '(' not in line)
        self.assertEqual(functions | {'INTEGRALHIST_1.0@INTEGRALHIST_1.0'}, set(listed), path)


if __name__ == '__main__':
    unittest.main(verbosity=2)
