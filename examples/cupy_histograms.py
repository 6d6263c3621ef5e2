#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cupy_histograms.py [--cell 16] [FILE | URI]: where a video has detail, by entropy in CuPy.

CuPy takes the tensor on the GPU without a copy, by DLPack. Four corners give the histograms of all
windows, and their entropy is what the windows do not have in one bin. It prints a line every 15
frames. In the build directory's environment (paths are relative to build/):

    meson devenv -C build ../examples/cupy_histograms.py video.mp4

It needs an NVIDIA GPU, the distribution's Python with python3-gi and python3-gst-1.0, a build with
CUDA and the bindings, and CuPy: cupy-cuda12x or cupy-cuda13x from PyPI in a virtual environment
with --system-site-packages.
"""
import argparse
import sys

try:
    import cupy
    from numpy_regions import Gst, histograms
except (ImportError, ValueError) as error:
    sys.exit(print(__doc__) if {'-h', '--help'} & {*sys.argv} else f'{error}\n{__doc__}')


def entropies(tensor, cell):
    """Entropy in bits of each window of cell x cell pixels, every half cell: (rows, columns)"""
    padded = cupy.pad(tensor, ((0, 0), (1, 0), (1, 0)))  # a copy, with H = 0 above and on the left
    step = max(cell // 2, 1)
    upper, lower = padded[:, :-cell:step], padded[:, cell::step]
    counts = (lower[:, :, cell::step] - lower[:, :, :-cell:step]
              - upper[:, :, cell::step] + upper[:, :, :-cell:step])
    shares = counts.astype(cupy.float32) / (cell * cell)
    return -(shares * cupy.log2(cupy.maximum(shares, 1e-9))).sum(axis=0), step


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('video', nargs='?', metavar='FILE | URI')
    parser.add_argument('--cell', default=32, type=int, help='pixels of a window (32)')
    options = parser.parse_args()
    Gst.init(None)
    number = 0
    for number, histogram in enumerate(histograms(options.video, 'backend=cuda compute=eager'), 1):
        bits, step = entropies(cupy.from_dlpack(histogram), options.cell)
        if number % 15 == 0:
            row, column = divmod(int(bits.argmax()), bits.shape[1])
            print(f'frame {number:6d}  mean {float(bits.mean()):4.2f} bits  most at '
                  f'{column * step},{row * step}: {float(bits.max()):4.2f}')
    print(f'{number} frames')


if __name__ == '__main__':
    from integralhist import console
    console.run(main)
