#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""PyTorch's way to an integral histogram, timed as inthist-check --bench times its candidates:

    ((image * bins // 256)[None] == arange(bins)[:, None, None]).int().cumsum(1).cumsum(2)

With --table it is that to a summed-area table: image.cumsum(0).cumsum(1), with two planes
stack((image, image * image)).cumsum(1).cumsum(2). Its integers are signed, with the bits of u32.

It warms up, takes the median of laps between two CUDA events, compares the last result with NumPy,
and prints the columns of inthist-check. Without PyTorch or without a GPU it says SKIP and ends.
inthist-check does not call it.
"""
import argparse
import csv
import sys
import time

TABLES = ('u8:u32', 'u8:s32', 'u8:f32', 'u32:u32', 'f32:f32', 'f64:f64', 'f32x4:f32x4')
BYTES = {'u8': 1, 'u32': 4, 's32': 4, 'f32': 4, 'f64': 8, 'f32x4': 16}
COLUMNS = ('date,cpu,gpu,driver,runtime,device,content,width,height,planes,pixel,counter,picture,'
           'name,mode,tile,threads,laps,median_us,p5_us,p95_us,frames_per_s,useful_bytes_per_s,'
           'share_of_ceiling,stages').split(',')


def histogram(torch, numpy, width, height, bins):
    """The frame to time, and what compares its result: nothing, or what is wrong"""
    pixels = numpy.random.default_rng(1).integers(0, 256, (height, width), dtype=numpy.uint8)
    image = torch.from_numpy(pixels).cuda()
    planes = torch.arange(bins, dtype=torch.int32, device='cuda')[:, None, None]

    def frame():
        bin_of = (image.int() * bins) // 256
        in_bin = (bin_of[None] == planes).int()
        # without dtype the sums would be of 64 bits
        return in_bin.cumsum(1, dtype=torch.int32).cumsum(2, dtype=torch.int32)

    def wrong(got):
        bin_of = pixels.astype(numpy.int32) * bins // 256
        for b in range(bins):
            wanted = (bin_of == b).astype(numpy.int32).cumsum(0).cumsum(1)
            if not numpy.array_equal(got[b], wanted):
                y, x = numpy.argwhere(got[b] != wanted)[0]
                return (f'first wrong (bin, y, x) = ({b}, {y}, {x}): {got[b][y, x]}, '
                        f'must be {wanted[y, x]}')

    return frame, wrong


def table(torch, numpy, width, height, planes, pixel, counter):
    """The same for a table"""
    random = numpy.random.default_rng(1)
    integer = counter in ('u32', 's32')
    if pixel in ('u8', 'u32'):
        pixels = random.integers(0, 256, (height, width), dtype=numpy.uint8)
        if pixel == 'u32':
            pixels = pixels.astype(numpy.int32)
    else:
        shape = (height, width) + ((4,) if pixel == 'f32x4' else ())
        pixels = random.random(shape, dtype=numpy.float64 if pixel == 'f64' else numpy.float32)
    image = torch.from_numpy(pixels).cuda()
    sums = torch.int32 if integer else torch.float64 if counter == 'f64' else torch.float32

    def frame():
        if planes == 1:
            return image.cumsum(0, dtype=sums).cumsum(1, dtype=sums)
        values = image.int()
        return torch.stack((values, values * values)).cumsum(1, dtype=sums).cumsum(2, dtype=sums)

    def wrong(got):
        wide = numpy.int64 if integer else numpy.longdouble
        unit = 0 if integer else numpy.finfo(got.dtype).eps / 2
        for p, plane in enumerate([got] if planes == 1 else got):
            wanted = (pixels.astype(wide) ** (p + 1)).cumsum(0).cumsum(1)
            if integer:
                bad = wanted.astype(numpy.int32) != plane
            else:  # as shape.hpp has it; pixels are not negative
                bad = ~(abs(plane - wanted) <= (width + height) * unit * wanted)
            if bad.any():
                at = tuple(numpy.argwhere(bad)[0])
                return f'plane {p}, first wrong (y, x) = {at}: {plane[at]}, must be {wanted[at]}'

    return frame, wrong


def measure(torch, frame, wrong, seconds):
    """Seconds a frame, for each lap; exits where the last result is wrong"""
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
    how = wrong(tensor.cpu().numpy())
    if how:
        sys.exit(f'FAIL: pytorch: {how}')
    return sorted(laps)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--size', metavar='WxH', action='append',
                        help='640x480, 1280x720 and 1920x1080 without')
    parser.add_argument('--bins', type=int, help='bins, or planes of a table (32; 1)')
    parser.add_argument('--table', choices=TABLES, metavar='PIXEL:COUNTER',
                        help='a table, of ' + ', '.join(TABLES))
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
    planes = (1 if options.table else 32) if options.bins is None else options.bins
    if not 1 <= planes <= (256 if not options.table else 2 if options.table == 'u8:u32' else 1):
        parser.error('bins are 1 to 256; a table has one plane, of u8:u32 one or two')

    try:
        import numpy
        import torch
    except ImportError as error:
        print(f'SKIP: pytorch: {error.name} is not installed')
        return
    if not torch.cuda.is_available():
        print('SKIP: pytorch: PyTorch sees no CUDA device')
        return

    pixel, counter = options.table.split(':') if options.table else ('u8', 's32')
    if options.csv:
        writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator='\n')
        writer.writeheader()
    else:
        print(f'GPU: {torch.cuda.get_device_name()}; PyTorch {torch.__version__}')
    for width, height in sizes:
        if options.table:
            frame, wrong = table(torch, numpy, width, height, planes, pixel, counter)
            what = f'{width}x{height} {options.table}{"x2" if planes == 2 else ""}'
        else:
            frame, wrong = histogram(torch, numpy, width, height, planes)
            what = f'{width}x{height}x{planes} s32'
        laps = measure(torch, frame, wrong, options.seconds)
        p5, median, p95 = (laps[round(share * (len(laps) - 1))] for share in (0.05, 0.5, 0.95))
        useful = width * height * (BYTES[counter] * planes + BYTES[pixel])
        if options.csv:
            writer.writerow({
                'date': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()),
                'gpu': torch.cuda.get_device_name(), 'runtime': f'PyTorch {torch.__version__}',
                'device': 'CUDA', 'content': 'powers' if options.table else 'bins',
                'width': width, 'height': height, 'planes': planes, 'pixel': pixel,
                'counter': counter, 'picture': 'noise', 'name': 'pytorch', 'mode': 'alone',
                'laps': len(laps), 'median_us': f'{1e6 * median:.3f}', 'p5_us': f'{1e6 * p5:.3f}',
                'p95_us': f'{1e6 * p95:.3f}', 'frames_per_s': f'{1 / median:.3f}',
                'useful_bytes_per_s': f'{useful / median:.0f}'})
            sys.stdout.flush()
        else:
            print(f'\n{what} on CUDA')
            print(f'{"what":<26} {"how":<24} {"median us":>11} {"p5":>11} {"p95":>11} '
                  f'{"frames/s":>11} {"GB/s":>9}')
            print(f'{"pytorch":<26} {"alone":<24} '
                  f'{1e6 * median:11.1f} {1e6 * p5:11.1f} {1e6 * p95:11.1f} '
                  f'{1 / median:11.1f} {useful / median / 1e9:9.1f}')


if __name__ == '__main__':
    main()
