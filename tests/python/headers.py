#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""headers.py: compiles each header of kernels/ and gst/ alone, as C++.

The headers are those that an object of this build includes, so a build without CUDA leaves out what
needs CUDA. A header that its own .cpp includes first is compiled alone by the build itself. The
.cuh files need nvcc, and are left out.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

BUILD = pathlib.Path(os.environ['BUILD_ROOT']).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = 'kernels', 'gst/integralhist', 'gst/properties', 'gst/track', 'gst/elements'


def opens_its_source(header):
    source = header.with_suffix('.cpp')
    first = source.exists() and re.search(r'^#include (.*)', source.read_text(), re.MULTILINE)
    return bool(first) and first[1] == f'"{header.name}"'


def headers():
    """the headers to compile, as paths from the root of the source"""
    deps = subprocess.run(['ninja', '-C', BUILD, '-t', 'deps'], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    indented = {line.strip() for line in deps.splitlines() if line.startswith(' ')}
    found = {(BUILD / path).resolve() for path in indented if path.endswith(('.h', '.hpp'))}
    return sorted(str(path.relative_to(SOURCE)) for path in found
                  if any(SOURCE / folder in path.parents for folder in FOLDERS)
                  and path.exists() and not opens_its_source(path))


def command(folder):
    """how the build compiles a C++ source of the folder, up to what it writes"""
    for entry in json.loads((BUILD / 'compile_commands.json').read_text()):
        if entry['output'].startswith(folder + '/') and entry['file'].endswith('.cpp'):
            words = shlex.split(entry['command'])
            return words[:words.index('-MD')]
    raise LookupError(f'no C++ source of {folder} is compiled')


def compiles(header):
    folder = next(folder for folder in FOLDERS if header.startswith(folder + '/'))
    done = subprocess.run([*COMMANDS[folder], '-fsyntax-only', '-x', 'c++', '-include',
                           str(SOURCE / header), '/dev/null'], cwd=BUILD)
    if done.returncode != 0:
        print(f'{header} does not compile alone', file=sys.stderr)
    return done.returncode == 0


COMMANDS = {folder: command(folder) for folder in FOLDERS}
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    results = list(pool.map(compiles, headers()))
print(f'{sum(results)} of {len(results)} headers compile alone')
sys.exit(not results or not all(results))
