#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Times integral images, integral histograms and medians of windows by other libraries.

    tests/benchmarks/peers.py --build build             # on an idle machine, with a GPU or without
    tests/benchmarks/peers.py --build build --quick     # small pictures, to see what is installed

    integral image      8-bit gray to sums of 32 bits, over all rows and columns
    integral histogram  8-bit gray to 32 planes of counts of 32 bits; making bins is part of it
    median              of the 15x15 pixels around each pixel, 8-bit gray

The peers are OpenCV on the CPU, and on the GPU PyTorch, CuPy, cuCIM, NPP and CUB. PyTorch's frames
are those of tests/inthist-check/peers/pytorch.py. nvcc builds peers.cu, which has CUB's scans. A
peer that is not installed has a line that starts with SKIP.

The times of our own strategies come from inthist-check of the folder --build, and so do those of
the peers that it was built with (NPP, CUB and the system's OpenCV).

A result is compared with NumPy's before it is timed: a difference is a line that starts with FAIL,
and the exit status is 1. For medians the outermost 7 pixels are not compared, as borders differ
from library to library. The picture is noise.

A time is the median of laps, without the first. A lap on the GPU is the time between two CUDA
events with up to 20 frames between them, so that the launches of a frame are prepared while the
frame before it runs. A small picture may still take as long as Python needs for its launches.
Pixels and results stay on the GPU. Frames write to the same memory again and again, ours too
(inthist-check --buffers 1), so that small results may stay in a cache.

"of ours" is the time divided by that of our strategy on the same device.
"""
import argparse
import collections
import concurrent.futures
import csv
import ctypes
import importlib
import io
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import numpy
except ImportError as error:
    print(f"SKIP: peers: {error}: NumPy verifies all results")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../inthist-check/peers"))
sys.path.insert(0, HERE)
import pytorch  # noqa: E402
from peers_gpu import CUDA_FOLDERS, Gpu, Missing, library  # noqa: E402

TABLE, HISTOGRAM, MEDIAN = "integral image", "integral histogram", "median"
BINS, WINDOW = 32, 15
SIZES = {TABLE: [(640, 480), (1920, 1080), (4096, 4096), (8192, 8192)],
         HISTOGRAM: [(640, 480), (1920, 1080)],
         MEDIAN: [(1920, 1080)]}
QUICK_SIZES = {TABLE: [(64, 48), (203, 131)], HISTOGRAM: [(67, 45)], MEDIAN: [(67, 45)]}
FRAMES_A_LAP, LEAST_LAPS = 20, 10

# frame() computes, fetch() gives the last result as an array of NumPy; device is CPU or CUDA
Candidate = collections.namedtuple("Candidate", "who device frame fetch")
Row = collections.namedtuple("Row", "what size who device us")


class Wrong(Exception):
    """How a result differs from NumPy's"""


class LostGpu(Exception):
    """A peer has left the GPU's context in an error, so that nothing more can run there"""


class Task:
    """A picture, and what a peer makes of it"""

    def __init__(self, what, width, height):
        self.what, self.width, self.height = what, width, height
        # the picture of pytorch.py
        self.pixels = numpy.random.default_rng(1).integers(0, 256, (height, width), numpy.uint8)
        if what == MEDIAN:
            self.medians = medians(self.pixels)

    def planes(self):
        """The planes of a right result, one at a time"""
        if self.what == TABLE:
            yield integral(self.pixels)
        elif self.what == HISTOGRAM:
            bin_of = self.pixels.astype(numpy.int32) * BINS // 256
            for b in range(BINS):
                yield integral(bin_of == b)
        else:
            yield self.medians

    def wrong(self, got):
        """Nothing, or what is wrong with a result"""
        if got.dtype == numpy.int32:  # the bits of our u32
            got = got.view(numpy.uint32)
        if self.what == MEDIAN:
            edge = WINDOW // 2
            got = got[edge:-edge, edge:-edge]
        if self.what != HISTOGRAM:
            got = got[None]
        for p, wanted in enumerate(self.planes()):
            if got[p].shape != wanted.shape:
                return f"a plane is of {got[p].shape}, must be of {wanted.shape}"
            if not numpy.array_equal(got[p], wanted):
                y, x = numpy.argwhere(got[p] != wanted)[0]
                return (f"first wrong (plane, y, x) = ({p}, {y}, {x}): {got[p][y, x]}, "
                        f"must be {wanted[y, x]}")
        return ""


def integral(plane):
    return plane.cumsum(0, dtype=numpy.uint32).cumsum(1, dtype=numpy.uint32)


def medians(pixels):
    """The median of each window that lies inside the picture"""
    windows = numpy.lib.stride_tricks.sliding_window_view(pixels, (WINDOW, WINDOW))
    middle = WINDOW * WINDOW // 2
    return numpy.stack([
        numpy.partition(row.reshape(len(row), -1), middle, axis=1)[:, middle] for row in windows])


def module(name, package):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Missing(f"no {package} ({error})") from None


def cpu_lap(frame, frames):
    """Seconds of a frame"""
    start = time.perf_counter()
    for _ in range(frames):
        frame()
    return (time.perf_counter() - start) / frames


# A function for each library gives its name with version, and a function that makes candidates
# of a task. It raises Missing if this machine does not have the library.


def opencv():
    cv2 = module("cv2", "opencv-python-headless")
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())

    def table(task):
        sums = numpy.zeros((task.height + 1, task.width + 1), numpy.int32)
        yield Candidate("cv::integral", "CPU",
                        lambda: cv2.integral(task.pixels, sums, cv2.CV_32S), lambda: sums[1:, 1:])

    def histogram(task):
        masks = numpy.empty((BINS, task.height, task.width), numpy.uint8)
        sums = numpy.zeros((BINS, task.height + 1, task.width + 1), numpy.int32)

        def plane(b):
            # values of a bin, first and last
            first, last = -(-b * 256 // BINS), ((b + 1) * 256 - 1) // BINS
            cv2.inRange(task.pixels, first, last, masks[b])
            cv2.integral(masks[b], sums[b], cv2.CV_32S)

        # a mask is 255 where a pixel is in the bin
        yield Candidate(f"inRange and cv::integral a bin, {os.cpu_count()} threads", "CPU",
                        lambda: list(pool.map(plane, range(BINS))), lambda: sums[:, 1:, 1:] / 255)

    def median(task):
        out = numpy.zeros_like(task.pixels)
        yield Candidate("cv::medianBlur", "CPU",
                        lambda: cv2.medianBlur(task.pixels, WINDOW, out), lambda: out)

    return (f"OpenCV {cv2.__version__}",
            {TABLE: table, HISTOGRAM: histogram, MEDIAN: median})


def keeping(frame, to_numpy):
    """A function that calls `frame` and keeps its result, and one that fetches the result"""
    last = []

    def kept():
        last[:] = [frame()]
    return kept, lambda: to_numpy(last[0])


def torch(gpu):
    torch = module("torch", "torch")
    if not torch.cuda.is_available():
        raise Missing("PyTorch sees no CUDA device")

    def to_numpy(tensor):
        return tensor.cpu().numpy()

    def table(task):
        frame, _ = pytorch.table(torch, numpy, task.width, task.height, 1, "u8", "u32")
        yield Candidate("cumsum, twice", "CUDA", *keeping(frame, to_numpy))

    def histogram(task):
        frame, _ = pytorch.histogram(torch, numpy, task.width, task.height, BINS)
        yield Candidate("compare, cumsum twice", "CUDA", *keeping(frame, to_numpy))

    return f"PyTorch {torch.__version__}", {TABLE: table, HISTOGRAM: histogram}


def cupy(gpu):
    cupy = module("cupy", "cupy-cuda13x")
    filters = module("cupyx.scipy.ndimage", "cupy-cuda13x")

    def table(task):
        image = cupy.asarray(task.pixels)

        def frame():
            return image.cumsum(0, cupy.uint32).cumsum(1, cupy.uint32)
        yield Candidate("cumsum, twice", "CUDA", *keeping(frame, cupy.asnumpy))

    def histogram(task):
        image = cupy.asarray(task.pixels)
        bins = cupy.arange(BINS, dtype=cupy.int32)[:, None, None]

        def frame():
            in_bin = (image.astype(cupy.int32) * BINS // 256)[None] == bins
            return in_bin.cumsum(1, cupy.uint32).cumsum(2, cupy.uint32)
        yield Candidate("compare, cumsum twice", "CUDA", *keeping(frame, cupy.asnumpy))

    def median(task):
        image = cupy.asarray(task.pixels)
        out = cupy.zeros_like(image)
        yield Candidate("median_filter", "CUDA",
                        lambda: filters.median_filter(image, WINDOW, output=out, mode="nearest"),
                        lambda: cupy.asnumpy(out))

    return f"CuPy {cupy.__version__}", {TABLE: table, HISTOGRAM: histogram, MEDIAN: median}


def cucim(gpu):
    cupy = module("cupy", "cupy-cuda13x")
    version = module("cucim", "cucim-cu13").__version__
    filters = module("cucim.skimage.filters", "cucim-cu13")
    rank = module("cucim.skimage.filters.rank", "cucim-cu13")

    def median(task):
        image = cupy.asarray(task.pixels)
        window = cupy.ones((WINDOW, WINDOW), bool)
        out = cupy.zeros_like(image)

        def by_histogram():
            return filters.median(image, window.shape, algorithm="histogram")
        yield Candidate("filters.median, by histograms", "CUDA",
                        *keeping(by_histogram, cupy.asnumpy))
        yield Candidate("filters.rank.median", "CUDA",
                        lambda: rank.median(image, window, out=out), lambda: cupy.asnumpy(out))

    return f"cuCIM {version}", {MEDIAN: median}


class NppSize(ctypes.Structure):
    _fields_ = [("width", ctypes.c_int), ("height", ctypes.c_int)]


class NppVersion(ctypes.Structure):
    _fields_ = [("major", ctypes.c_int), ("minor", ctypes.c_int), ("build", ctypes.c_int)]


class NppContext(ctypes.Structure):
    """NppStreamContext of nppdefs.h"""
    _fields_ = [("stream", ctypes.c_void_p), ("device", ctypes.c_int),
                ("processors", ctypes.c_int), ("threads_a_processor", ctypes.c_int),
                ("threads_a_block", ctypes.c_int), ("shared_bytes_a_block", ctypes.c_size_t),
                ("major", ctypes.c_int), ("minor", ctypes.c_int), ("flags", ctypes.c_uint),
                ("reserved", ctypes.c_uint)]


def npp(gpu):
    core, statistics_functions = library("libnppc"), library("libnppist")
    core.nppGetLibVersion.restype = ctypes.POINTER(NppVersion)
    version = core.nppGetLibVersion().contents
    # numbers of CUdevice_attribute
    context = NppContext(None, 0, gpu.attribute(16), gpu.attribute(39), gpu.attribute(1),
                         gpu.attribute(8), gpu.attribute(75), gpu.attribute(76), 0, 0)

    def call(function, *arguments):
        status = function(*arguments, context)
        if status != 0:
            raise RuntimeError(f"NPP status {status}")

    def table(task):  # with a row and a column of zeros before the sums
        rows, columns = task.height + 1, task.width + 1
        pitch = (columns * 4 + 255) // 256 * 256
        pixels, sums = gpu.put(task.pixels), gpu.allocate(rows * pitch)
        yield Candidate("nppiIntegral_8u32s_C1R_Ctx", "CUDA",
                        lambda: call(statistics_functions.nppiIntegral_8u32s_C1R_Ctx, pixels,
                                     task.width, sums, pitch, NppSize(task.width, task.height), 0),
                        lambda: gpu.get(sums, (rows, pitch // 4), numpy.int32)[1:, 1:columns])

    def median(task):
        edge, width = WINDOW // 2, task.width
        window, anchor = NppSize(WINDOW, WINDOW), NppSize(edge, edge)  # NppiPoint is two int too
        inner = NppSize(width - 2 * edge, task.height - 2 * edge)  # windows lie in the picture
        scratch_bytes = ctypes.c_uint32()
        call(filters.nppiFilterMedianGetBufferSize_8u_C1R_Ctx, inner, window,
             ctypes.byref(scratch_bytes))
        scratch = gpu.allocate(max(1, scratch_bytes.value))
        pixels, out = gpu.put(task.pixels), gpu.allocate(task.pixels.nbytes)
        first = edge * width + edge
        yield Candidate("nppiFilterMedian_8u_C1R_Ctx", "CUDA",
                        lambda: call(filters.nppiFilterMedian_8u_C1R_Ctx,
                                     ctypes.c_void_p(pixels.value + first), width,
                                     ctypes.c_void_p(out.value + first), width, inner, window,
                                     anchor, scratch),
                        lambda: gpu.get(out, task.pixels.shape, numpy.uint8))

    functions = {TABLE: table}
    try:
        filters = library("libnppif")
        functions[MEDIAN] = median
    except Missing as missing:
        print(f"SKIP: NPP, {MEDIAN}: {missing}", flush=True)
    return f"NPP {version.major}.{version.minor}.{version.build}", functions


def build_cub(folder, *options):
    """peers.cu as a shared library"""
    nvcc = shutil.which("nvcc") or os.path.join(CUDA_FOLDERS[0], "bin/nvcc")
    if not os.path.exists(nvcc):
        raise Missing("there is no nvcc to build peers.cu")
    built = os.path.join(folder, "libpeers.so")
    done = subprocess.run([nvcc, "-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", *options,
                           os.path.join(HERE, "peers.cu"), "-o", built],
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise Missing(f"nvcc cannot build peers.cu: {done.stderr.strip()}")
    cub = ctypes.CDLL(built)
    cub.peers_scratch_bytes.restype = ctypes.c_size_t
    return cub


def cub(gpu):
    with tempfile.TemporaryDirectory() as folder:
        cub = build_cub(folder, f"-arch=sm_{gpu.attribute(75)}{gpu.attribute(76)}")
    version = cub.peers_cub_version()

    def call(function, *arguments):
        status = function(*arguments)
        if status != 0:
            raise RuntimeError(f"CUDA error {status}")

    def table(task):
        shape = task.pixels.shape
        size = cub.peers_scratch_bytes(task.width, task.height)
        if size == 0:
            raise RuntimeError("CUB does not say how much scratch memory it needs")
        pixels, scratch = gpu.put(task.pixels), gpu.allocate(size)
        between, first, second = (gpu.allocate(4 * task.pixels.size) for _ in range(3))
        rest = scratch, ctypes.c_size_t(size), task.width, task.height
        yield Candidate("scan by key and transpose, twice", "CUDA",
                        lambda: call(cub.peers_transposed, pixels, first, between, *rest),
                        lambda: gpu.get(first, shape, numpy.uint32))
        yield Candidate("scan by key, then a thread a column", "CUDA",
                        lambda: call(cub.peers_column_threads, pixels, second, *rest),
                        lambda: gpu.get(second, shape, numpy.uint32))

    return f"CUB {version // 100000}.{version // 100 % 1000}.{version % 100}", {TABLE: table}


def time_candidate(candidate, task, gpu, seconds):
    """Microseconds of a frame; raises Wrong if the result is wrong"""
    candidate.frame()
    how = task.wrong(candidate.fetch())
    if how:
        raise Wrong(how)
    lap = gpu.lap if candidate.device == "CUDA" else cpu_lap
    lap(candidate.frame, 2)
    frames = max(1, min(FRAMES_A_LAP, int(seconds / LEAST_LAPS / lap(candidate.frame, 2))))
    lap(candidate.frame, frames)
    laps, end = [], time.monotonic() + seconds
    while len(laps) < LEAST_LAPS or time.monotonic() < end:
        laps.append(lap(candidate.frame, frames))
    return 1e6 * statistics.median(laps)


def libraries(gpu, why_no_gpu):
    """(name with version, functions for tasks) of each installed library"""
    names = {opencv: "OpenCV", torch: "PyTorch", cupy: "CuPy", cucim: "cuCIM", npp: "NPP",
             cub: "CUB"}
    for of, name in names.items():
        try:
            if of is opencv:
                yield of()
            elif gpu is None:
                raise Missing(why_no_gpu)
            else:
                yield of(gpu)
        except Missing as missing:
            print(f"SKIP: {name}: {missing}", flush=True)


def time_peers(task, found, gpu, seconds, known, rows):
    """How many peers failed; the others are added to `rows`. `known` are the peers that
    inthist-check has timed."""
    failed = 0
    size = f"{task.width}x{task.height}"
    for name, functions in found:
        if task.what not in functions or (name.split()[0].lower(), task.what) in known:
            continue
        who = name
        try:
            for candidate in functions[task.what](task):
                who = f"{name}, {candidate.who}"
                print(f"{task.what}, {size}: {who}", file=sys.stderr, flush=True)
                us = time_candidate(candidate, task, gpu, seconds)
                rows.append(Row(task.what, size, who, candidate.device, us))
        except Exception as error:  # the other libraries are timed still
            print(f"FAIL: {who}: {task.what}, {size}: {type(error).__name__}: {error}", flush=True)
            failed += 1
        if gpu:
            try:
                gpu.free()
            except RuntimeError as error:
                raise LostGpu(f"nothing can run after {who}: {error}") from None
    return failed


def our_rows(build, sizes, seconds):
    """(rows, how many runs failed) of our strategies, and of the peers in the build"""
    program = os.path.join(build, "tests/inthist-check/inthist-check")
    if not os.path.exists(program):
        sys.exit(f"peers.py: no {program}: build it first, with -Dtests=enabled")
    listed = subprocess.run([program, "--list"], stdout=subprocess.PIPE, text=True, check=True)
    strategies = [line.split()[0] for line in listed.stdout.split("\n\n")[0].splitlines()[1:]]
    rows, failed, said = [], 0, set()
    for what, wanted, options in (
            (TABLE, ("look-back", "rows"), ["--table", "u8:u32"]),
            (HISTOGRAM, ("strip", "rows"), ["--bins", str(BINS), "--picture", "noise"])):
        command = [program, *(name for name in wanted if name in strategies), "--bench", "--peers",
                   "--buffers", "1", "--format", "csv", "--seconds", str(seconds), *options]
        for width, height in sizes[what]:
            command += ["--size", f"{width}x{height}"]
        print(" ".join(command), file=sys.stderr, flush=True)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        words = done.stderr.splitlines()
        for line in words:
            if line.startswith(("SKIP: ", "FAIL: ")) and line not in said:
                print(line.replace(": ", ": inthist-check: ", 1), flush=True)
                said.add(line)
        if done.returncode not in (0, 77):
            print(f"FAIL: inthist-check: exit status {done.returncode}: {words[-1:]}", flush=True)
            failed += 1
        for row in csv.DictReader(io.StringIO(done.stdout)):
            ours, mode = row["name"] in strategies, row["mode"]
            if ours and mode == "alone":
                who = f"ours, {row['name']}"
            elif row["name"] in ("opencv", "npp", "cub"):
                who = f"{row['name']} of inthist-check, {mode}"
            else:
                continue
            rows.append(Row(what, f"{row['width']}x{row['height']}", who, row["device"],
                            float(row["median_us"])))
    return rows, failed


def print_table(rows):
    ours = {(row.what, row.size, row.device): row.us for row in rows
            if row.who.startswith("ours, ")}
    print("\n| what | size | who | device | us | of ours |\n|---|---|---|---|---|---|")
    for what in SIZES:
        for size in dict.fromkeys(row.size for row in rows if row.what == what):
            for row in sorted((row for row in rows if (row.what, row.size) == (what, size)),
                              key=lambda row: (row.device, row.us)):
                base = ours.get((what, size, row.device))
                ratio = f"{row.us / base:.2f}" if base else "-"
                print(f"| {what} | {size} | {row.who} | {row.device} | {row.us:,.1f} | {ratio} |")


def print_machine(gpu):
    cpu = "unknown"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                cpu = line.split(": ", 1)[1].strip()
    print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    print(f"CPU: {cpu}, {os.cpu_count()} cores; NumPy {numpy.__version__}")
    if gpu:
        driver = ctypes.c_int()
        gpu.call("cuDriverGetVersion", ctypes.byref(driver))
        print(f"GPU: {gpu.name}; its driver knows CUDA {driver.value // 1000}."
              f"{driver.value % 1000 // 10}", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", metavar="DIR", help="a build folder with inthist-check")
    parser.add_argument("--quick", action="store_true", help="small pictures, short times")
    parser.add_argument("--seconds", type=float, help="for each time (0.5; 0.02 with --quick)")
    options = parser.parse_args()
    sizes = QUICK_SIZES if options.quick else SIZES
    seconds = options.seconds or (0.02 if options.quick else 0.5)
    gpu, why_no_gpu = None, ""
    try:
        gpu = Gpu()
    except Missing as missing:
        why_no_gpu = str(missing)
    print_machine(gpu)
    rows, failed = our_rows(options.build, sizes, seconds) if options.build else ([], 0)
    if not options.build:
        print("SKIP: ours: no --build")
    print(f"SKIP: ours, {MEDIAN}: inthist-check has no windows of a histogram")
    known = {(row.who.split()[0], row.what) for row in rows if row.device == "CUDA"}
    found = list(libraries(gpu, why_no_gpu))
    try:
        for what in SIZES:
            for size in sizes[what]:
                failed += time_peers(Task(what, *size), found, gpu, seconds, known, rows)
    except LostGpu as lost:
        print(f"FAIL: {lost}")
        print_table(rows)
        sys.stdout.flush()
        os._exit(1)  # objects of the libraries would complain about the lost context
    if rows:
        print_table(rows)
    return 1 if failed else 0 if rows else 77


if __name__ == "__main__":
    sys.exit(main())
