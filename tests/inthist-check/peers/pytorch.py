#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""PyTorch's way to an integral histogram, timed as inthist-check --bench times its candidates:

    ((image * bins // 256)[None] == arange(bins)[:, None, None]).int().cumsum(1).cumsum(2)

It warms up, takes the median of laps between two CUDA events, compares the last result with NumPy,
and prints the columns of inthist-check. Without PyTorch or without a GPU it says SKIP and ends.
inthist-check does not call it.
"""
import argparse
import sys
import time


def measure(torch, width, height, bins, seconds):
    """Seconds a frame, for each lap; exits where the last result is wrong"""
    import numpy
    random = numpy.random.default_rng(1)
    pixels = random.integers(0, 256, (height, width), dtype=numpy.uint8)
    device = torch.device('cuda')
    image = torch.from_numpy(pixels).to(device)
    planes = torch.arange(bins, dtype=torch.int32, device=device)[:, None, None]

    def frame():
        bin_of = (image.int() * bins) // 256
        in_bin = (bin_of[None] == planes).int()
        # without dtype the sums would be of 64 bits
        return in_bin.cumsum(1, dtype=torch.int32).cumsum(2, dtype=torch.int32)

    frames = 20
    for _ in range(frames):
        tensor = frame()
    laps, end = [], time.monotonic() + seconds
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    while len(laps) < 10 or time.monotonic() < end:
        start.record()
        for _ in range(frames):
            tensor = frame()
        stop.record()
        stop.synchronize()
        laps.append(start.elapsed_time(stop) / 1e3 / frames)

    got = tensor.cpu().numpy()
    bin_of = pixels.astype(numpy.int32) * bins // 256
    for b in range(bins):
        wanted = (bin_of == b).astype(numpy.int32).cumsum(0).cumsum(1)
        if not numpy.array_equal(got[b], wanted):
            y, x = numpy.argwhere(got[b] != wanted)[0]
            sys.exit(f'FAIL: pytorch: first wrong (bin, y, x) = ({b}, {y}, {x}): '
                     f'{got[b][y, x]}, must be {wanted[y, x]}')
    return laps


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--size', metavar='WxH', action='append',
                        help='640x480, 1280x720 and 1920x1080 without')
    parser.add_argument('--bins', type=int, default=32)
    parser.add_argument('--seconds', type=float, default=2, help='for each size')
    parser.add_argument('--csv', action='store_true')
    options = parser.parse_args()
    try:
        texts = options.size or ['640x480', '1280x720', '1920x1080']
        sizes = [tuple(map(int, size.split('x'))) for size in texts]
        if any(len(size) != 2 or min(size) < 1 for size in sizes):
            raise ValueError
    except ValueError:
        parser.error('a size is WIDTHxHEIGHT')
    if not 1 <= options.bins <= 256:
        parser.error('bins are 1 to 256')

    try:
        import torch
    except ImportError:
        print('SKIP: pytorch: PyTorch is not installed')
        return
    if not torch.cuda.is_available():
        print('SKIP: pytorch: PyTorch sees no CUDA device')
        return

    if options.csv:
        print('gpu,runtime,device,content,width,height,planes,counter,name,mode,laps,'
              'median_us,p5_us,p95_us,frames_per_s,useful_bytes_per_s')
    else:
        print(f'GPU: {torch.cuda.get_device_name()}; PyTorch {torch.__version__}')
    for width, height in sizes:
        laps = sorted(measure(torch, width, height, options.bins, options.seconds))
        p5, median, p95 = (laps[round(share * (len(laps) - 1))] for share in (0.05, 0.5, 0.95))
        useful = width * height * (4 * options.bins + 1)
        if options.csv:
            print(f'"{torch.cuda.get_device_name()}","PyTorch {torch.__version__}",'
                  f'CUDA,bins,{width},{height},{options.bins},s32,pytorch,alone,{len(laps)},'
                  f'{1e6 * median:.3f},{1e6 * p5:.3f},{1e6 * p95:.3f},'
                  f'{1 / median:.3f},{useful / median:.0f}')
        else:
            print(f'\n{width}x{height}x{options.bins} s32 on CUDA')
            print(f'{"what":<26} {"how":<24} {"median us":>11} {"p5":>11} {"p95":>11} '
                  f'{"frames/s":>11} {"GB/s":>9}')
            print(f'{"pytorch":<26} {"alone":<24} '
                  f'{1e6 * median:11.1f} {1e6 * p5:11.1f} {1e6 * p95:11.1f} '
                  f'{1 / median:11.1f} {useful / median / 1e9:9.1f}')


if __name__ == '__main__':
    main()
