#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""torch_model.py [--backend cuda] [FILE | URI]: a PyTorch model of what is usual in each cell.

The integral histogram is a tensor of PyTorch where it lies, without a copy: on the GPU with
backend=cuda. Four corners of it give the histograms of all cells, and a small autoencoder, which
learns while the video runs, gives them back. The cell that it gives back worst is what it has not
seen before. It prints a line every 15 frames. In the build directory's environment (paths are
relative to build/):

    meson devenv -C build ../examples/torch_model.py video.mp4

It needs the distribution's Python with python3-gi and python3-gst-1.0, a build with the bindings,
and PyTorch: python3-torch, or torch from PyPI in a virtual environment with --system-site-packages.
"""
import argparse
import sys

try:
    import torch
    from numpy_regions import Gst, histograms
except (ImportError, ValueError) as error:
    sys.exit(print(__doc__) if {'-h', '--help'} & {*sys.argv} else f'{error}\n{__doc__}')


def cells_of(tensor, columns, rows):
    """The share of each bin in each cell of a grid: (rows * columns, bins)"""
    bins, height, width = tensor.shape
    x = torch.arange(1, columns + 1, device=tensor.device) * (width // columns) - 1
    y = torch.arange(1, rows + 1, device=tensor.device) * (height // rows) - 1
    corners = tensor[:, y][:, :, x]  # copies only the corners
    corners = torch.nn.functional.pad(corners, (1, 0, 1, 0))
    counts = corners.diff(dim=1).diff(dim=2)
    pixels = (width // columns) * (height // rows)
    return counts.reshape(bins, -1).T / pixels


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('video', nargs='?', metavar='FILE | URI')
    parser.add_argument('--backend', default='auto', choices=['auto', 'cuda', 'cpu'])
    parser.add_argument('--bins', default=32, type=int, help='of brightness (32)')
    options = parser.parse_args()
    columns, rows = 8, 6
    Gst.init(None)
    torch.manual_seed(1)

    model = torch.nn.Sequential(torch.nn.Linear(options.bins, 4), torch.nn.ReLU(),
                                torch.nn.Linear(4, options.bins), torch.nn.Softmax(dim=1))
    learning, number = None, 0
    settings = f'bins={options.bins} backend={options.backend} compute=eager'
    for number, histogram in enumerate(histograms(options.video, settings), 1):
        try:
            cells = cells_of(histogram.torch(), columns, rows)
        except (BufferError, RuntimeError) as error:  # another context, or a PyTorch without CUDA
            print(f'taking a copy in host memory: {error}', file=sys.stderr)
            cells = cells_of(torch.from_numpy(histogram.numpy().astype('int32')), columns, rows)
        if learning is None:
            model.to(cells.device)
            learning = torch.optim.Adam(model.parameters(), lr=0.01)
        lost = (model(cells) - cells).abs().sum(dim=1) / 2
        learning.zero_grad()
        lost.mean().backward()
        learning.step()
        if number % 15 == 0:
            row, column = divmod(int(lost.argmax()), columns)
            print(f'frame {number:6d}  {cells.device}  mean error {100 * float(lost.mean()):3.0f} '
                  f'%  most in column {column}, row {row}: {100 * float(lost.max()):3.0f} %')
    print(f'{number} frames')


if __name__ == '__main__':
    from integralhist import console
    console.run(main)
