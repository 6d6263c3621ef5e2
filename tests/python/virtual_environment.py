# SPDX-License-Identifier: LGPL-2.1-or-later
"""The virtual environment with NumPy, OpenCV and scikit-image, which PYTHON_VENV names."""
import os
import sys


def enter():
    """Runs this program again with its interpreter. Without one, says so and skips the test."""
    python = os.path.join(os.environ.get('PYTHON_VENV', ''), 'bin', 'python')
    name = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    if not os.path.exists(python):
        print(f"SKIP: {name}: no {python}; tests/run.sh makes it, with PyPI's NumPy, OpenCV and "
              'scikit-image, where there is a network')
        sys.exit(77)
    if 'GI_TYPELIB_PATH' not in os.environ:
        print(f'SKIP: {name}: built without introspection (no GI_TYPELIB_PATH)')
        sys.exit(77)
    if sys.prefix != os.path.abspath(os.environ['PYTHON_VENV']):
        os.execv(python, [python, *sys.argv])
