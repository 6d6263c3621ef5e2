#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""dlpack.py [BUILD_DIR] [UNITTEST ARGUMENTS]: tensors of a GPU in PyTorch and CuPy, without a copy.

Any Python 3.9 with PyTorch will do; it needs no GObject bindings. Frames come from
BUILD_DIR/tests/gpu/libdlpackframes.so, and capsules from the override's own module. GStreamer and
the plugin are found by GST_PLUGIN_PATH and LD_LIBRARY_PATH, as run.sh sets them.

Environment:
  INTHIST_FRAMES=n  frames for the late consumer (10000)
"""
import ctypes
import gc
import os
import subprocess
import sys
import threading
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'python', 'gi', 'overrides'))
import _gstintegralhist_dlpack as dlpack  # noqa: E402

try:
    import torch
    WHY_NOT = None if torch.cuda.is_available() else 'PyTorch finds no CUDA device'
except ImportError as error:
    WHY_NOT = str(error)
try:
    import cupy
except ImportError:
    cupy = None

BUILD = os.path.abspath(sys.argv.pop(1) if len(sys.argv) > 1 and os.path.isdir(sys.argv[1])
                        else os.path.join(ROOT, 'build'))
FRAMES = int(os.environ.get('INTHIST_FRAMES', '10000'))
WIDTH, HEIGHT, BINS = 320, 240, 16
MILLISECOND = 1_800_000  # cycles of the GPU's clock, about
RECTANGLES = [(0, 0, WIDTH, HEIGHT), (3, 5, 200, 100), (319, 239, 1, 1), (100, 0, 64, 240)]


def function(library, name, result, *arguments):
    found = getattr(library, name)
    found.restype, found.argtypes = result, arguments
    return found


class Native:
    """The functions of C, by ctypes."""

    def __init__(self):
        pointer, integer = ctypes.c_void_p, ctypes.c_int
        library = ctypes.CDLL(dlpack.LIBRARY)
        frames = ctypes.CDLL(os.path.join(BUILD, 'tests', 'gpu', 'libdlpackframes.so'))
        error = ctypes.POINTER(ctypes.POINTER(GError))
        prefix = 'gst_integral_histogram_'
        self.open = function(frames, 'dlpack_frames_open', pointer, ctypes.c_char_p)
        self.set_own_context = function(frames, 'dlpack_frames_set_own_context', integer, pointer)
        self.start = function(frames, 'dlpack_frames_start', None, pointer)
        self.next = function(frames, 'dlpack_frames_next', pointer, pointer)
        self.close = function(frames, 'dlpack_frames_close', None, pointer)
        self.forget_readers = function(frames, 'dlpack_frames_forget_readers', None, pointer,
                                       pointer)
        self.ref = function(library, f'{prefix}ref', pointer, pointer)
        self.unref = function(library, f'{prefix}unref', None, pointer)
        self.wait = function(library, f'{prefix}wait', integer, pointer, ctypes.c_uint64, error)
        self.regions = function(library, f'{prefix}regions', integer, pointer, pointer,
                                ctypes.c_uint, pointer, error)
        self.get_dlpack = function(library, f'{prefix}get_dlpack', pointer, pointer, integer,
                                   ctypes.c_int64, error)
        self.get_device = function(library, f'{prefix}get_dlpack_device', integer, pointer,
                                   ctypes.POINTER(integer), error)
        self.pointer = function(library, f'{prefix}get_device_pointer', ctypes.c_uint64, pointer)
        self.shard = function(library, f'{prefix}get_shard', pointer, pointer, ctypes.c_uint,
                              pointer)


class GError(ctypes.Structure):
    _fields_ = [('domain', ctypes.c_uint32), ('code', ctypes.c_int), ('message', ctypes.c_char_p)]


class Histogram:
    """The methods of the override's class, over ctypes."""

    def __init__(self, native, pointer, signed=False, forgets_readers=False):
        self._native, self._pointer = native, pointer
        self._signed, self._forgets_readers = signed, forgets_readers

    def __del__(self):
        self._native.unref(self._pointer)

    def of(self, **changed):
        """The same histogram with other settings of its questions."""
        return Histogram(self._native, self._native.ref(self._pointer), **changed)

    def _array_of(self, flags, stream):
        error = ctypes.POINTER(GError)()
        pointer = self._native.get_dlpack(self._pointer, flags, stream, ctypes.byref(error))
        if error:
            raise BufferError(error.contents.message.decode())
        if self._forgets_readers:
            self._native.forget_readers(pointer, self._pointer)
        return pointer

    def __dlpack_device__(self):
        device, error = ctypes.c_int(), ctypes.POINTER(GError)()
        kind = self._native.get_device(self._pointer, ctypes.byref(device), ctypes.byref(error))
        if error:
            raise BufferError(error.contents.message.decode())
        return kind, device.value

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if self._forgets_readers:
            max_version = 1, 0
        return dlpack.export(self.__dlpack_device__(), self._array_of, stream=stream,
                             max_version=max_version, dl_device=dl_device, copy=copy,
                             signed=self._signed)

    def device_pointer(self):
        return self._native.pointer(self._pointer)

    def regions(self, rectangles):
        flat = [number for rectangle in rectangles for number in rectangle]
        asked = (ctypes.c_int * len(flat))(*flat)
        counts = (ctypes.c_uint32 * (len(rectangles) * BINS))()
        assert self._native.regions(self._pointer, asked, len(rectangles), counts, None)
        return torch.tensor(list(counts), dtype=torch.int32).reshape(len(rectangles), BINS)

    def shard(self, index):
        return Histogram(self._native, self._native.shard(self._pointer, index, None))


class WithInterface(Histogram):
    """Has only the CUDA Array Interface."""

    __dlpack__ = __dlpack_device__ = None

    @property
    def __cuda_array_interface__(self):
        if not hasattr(self, '_held'):
            self._held = dlpack.Held(self._array_of(0, -1))
            assert self._native.wait(self._pointer, 2**64 - 1, None)
        return self._held.cuda_array_interface


class Frames:
    def __init__(self, properties='', frames=1, upload='', native=None, own_context=False):
        self.native = native or Native()
        self.pipeline = self.native.open((
            f'videotestsrc pattern=snow num-buffers={frames} ! '
            f'video/x-raw,format=NV12,width={WIDTH},height={HEIGHT} ! {upload} '
            f'cudaintegralhist bins={BINS} backend=cuda tuning-time=0 {properties} ! '
            'appsink name=sink sync=false max-buffers=1 enable-last-sample=false').encode())
        if not self.pipeline:
            raise unittest.SkipTest('the pipeline is not to be had')
        if own_context and not self.native.set_own_context(self.pipeline):
            raise unittest.SkipTest('the build has no libgstcuda')
        self.native.start(self.pipeline)

    def __iter__(self):
        while pointer := self.native.next(self.pipeline):
            yield Histogram(self.native, pointer)

    def __del__(self):
        if getattr(self, 'pipeline', None):
            self.native.close(self.pipeline)


class _OnHost:
    """Asks for a copy in host memory, as NumPy's and PyTorch's `device` argument does."""

    def __init__(self, histogram):
        self._histogram = histogram

    def __dlpack_device__(self):
        return dlpack.CPU, 0

    def __dlpack__(self, **named):
        return self._histogram.__dlpack__(**{**named, 'dl_device': (dlpack.CPU, 0)})


def corners(tensor, rectangles=RECTANGLES):
    """Counts (rectangles, bins) from a tensor of PyTorch, in its own memory, with an empty row
    above."""
    def at(x, y):
        return tensor[:, y - 1, x - 1] if x > 0 and y > 0 else torch.zeros_like(tensor[:, 0, 0])
    return torch.stack([at(x + w, y + h) - at(x, y + h) - at(x + w, y) + at(x, y)
                        for x, y, w, h in rectangles])


@unittest.skipIf(WHY_NOT, WHY_NOT)
class PyTorch(unittest.TestCase):
    def test_four_corners(self):
        for properties in ('', 'download=never', 'counter=u16', 'compute=on-demand',
                           'compute=eager'):
            for histogram in Frames(properties, frames=3):
                tensor = torch.from_dlpack(histogram.of(signed=True))
                self.assertEqual((tensor.device.type, tuple(tensor.shape)),
                                 ('cuda', (BINS, HEIGHT, WIDTH)))
                self.assertEqual(tensor.data_ptr(), histogram.device_pointer())
                modulus = 2**16 if 'u16' in properties else 2**32
                got, right = corners(tensor).cpu().to(torch.int64), histogram.regions(RECTANGLES)
                self.assertTrue(torch.equal(got % modulus, right.to(torch.int64) % modulus),
                                properties)
                unsigned = torch.from_dlpack(histogram)
                self.assertEqual(unsigned.dtype, torch.uint16 if 'u16' in properties
                                 else torch.uint32)
                self.assertEqual(unsigned.data_ptr(), tensor.data_ptr())

    def late(self, frames, max_tensors, milliseconds, **changed):
        """The number of frames whose numbers are wrong when a stream comes to them late."""
        stream = torch.cuda.Stream()
        right, got = [], []
        native = Native()
        for histogram in Frames(f'download=never max-tensors={max_tensors} compute=eager', frames,
                                native=native):
            right.append(histogram.regions(RECTANGLES))
            with torch.cuda.stream(stream):
                tensor = torch.from_dlpack(histogram.of(signed=True, **changed))
                torch.cuda._sleep(int(milliseconds * MILLISECOND))
                got.append(corners(tensor))
            del tensor, histogram
        torch.cuda.synchronize()
        self.assertEqual(len(right), frames)
        return sum(not torch.equal(a.cpu(), b) for a, b in zip(got, right))

    def test_late_consumer(self):
        for max_tensors in 2, 4:  # appsink keeps the one that was pulled last
            self.assertEqual(self.late(FRAMES // 2, max_tensors, 0.2), 0)

    def test_without_the_fence(self):
        """Without the fence frames are wrong; otherwise the test above would prove nothing."""
        self.assertGreater(self.late(200, 2, 5, forgets_readers=True), 0)
        self.assertEqual(self.late(200, 2, 5), 0)

    def test_streams(self):
        histogram = next(iter(Frames()))
        right = histogram.regions(RECTANGLES)
        for stream in None, 1, 2, -1, torch.cuda.Stream().cuda_stream:
            capsule = histogram.of(signed=True).__dlpack__(stream=stream)
            torch.cuda.synchronize()
            self.assertTrue(torch.equal(corners(torch.from_dlpack(capsule)).cpu(), right))
        for stream in 0, -2:
            with self.assertRaisesRegex(ValueError, 'there is no stream'):
                histogram.__dlpack__(stream=stream)

    def test_host(self):
        import numpy
        histogram = next(iter(Frames()))
        self.assertEqual(histogram.__dlpack_device__(), (2, 0))
        on_host = torch.from_dlpack(_OnHost(histogram.of(signed=True)))
        self.assertEqual(on_host.device.type, 'cpu')
        self.assertTrue(torch.equal(corners(on_host), histogram.regions(RECTANGLES)))
        with self.assertRaises((BufferError, RuntimeError, TypeError)):
            numpy.from_dlpack(histogram)  # NumPy does not copy from a GPU by itself

    def test_shards(self):
        histogram = next(iter(Frames('cuda-device-ids=0 task-bins=4')))
        with self.assertRaisesRegex(BufferError, r'get_shard \(\)'):
            torch.from_dlpack(histogram)
        right = histogram.regions(RECTANGLES)
        parts = [torch.from_dlpack(histogram.shard(i).of(signed=True)) for i in range(4)]
        self.assertTrue(torch.equal(torch.cat([corners(part) for part in parts], 1).cpu(), right))

    def test_another_context(self):
        """In an application's own context kernels of PyTorch cannot read."""
        for upload in '', 'cudaupload !':
            histogram = next(iter(Frames(upload=upload, own_context=True)))
            with self.assertRaisesRegex(BufferError, 'NEED_CONTEXT'):
                torch.from_dlpack(histogram)
            on_host = torch.from_dlpack(_OnHost(histogram.of(signed=True)))
            self.assertTrue(torch.equal(corners(on_host), histogram.regions(RECTANGLES)))

    def test_neighbours_take_the_primary_context(self):
        """Elements share the primary context, else frames of a decoder would lie in another one."""
        for histogram in Frames(upload='cudaupload !', frames=3):
            tensor = torch.from_dlpack(histogram.of(signed=True))
            self.assertTrue(torch.equal(corners(tensor).cpu(), histogram.regions(RECTANGLES)))

    def test_threads(self):
        """Arrays are dropped in other threads than the ones that made them."""
        taken, wrong = [], []
        for histogram in Frames('download=never max-tensors=20', frames=300):
            right = histogram.regions(RECTANGLES)
            taken.append((torch.from_dlpack(histogram.of(signed=True)), right))
            if len(taken) == 10:
                def look(pairs):
                    for tensor, counts in pairs:
                        if not torch.equal(corners(tensor).cpu(), counts):
                            wrong.append(counts)
                    pairs.clear()
                threads = [threading.Thread(target=look, args=(taken[i::2],)) for i in range(2)]
                taken = []
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
        self.assertEqual(wrong, [])

    def test_outlives_the_pipeline(self):
        frames = Frames(frames=2)
        pairs = [(torch.from_dlpack(histogram.of(signed=True)), histogram.regions(RECTANGLES))
                 for histogram in frames]
        del frames
        gc.collect()
        for tensor, right in pairs:
            self.assertTrue(torch.equal(corners(tensor).cpu(), right))

    def test_end_of_the_process(self):
        program = (f'import sys; sys.argv = ["dlpack.py", {BUILD!r}]; '
                   f'sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r}); '
                   'import dlpack, torch; histograms = list(dlpack.Frames(frames=4)); '
                   'tensors = [torch.from_dlpack(h.of(signed=True)) for h in histograms]; '
                   'sys.capsules = [h.__dlpack__() for h in histograms]; print(len(tensors))')
        ended = subprocess.run([sys.executable, '-c', program], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((ended.returncode, ended.stdout), (0, '4\n'), ended.stderr)

    def test_cuda_array_interface(self):
        for histogram in Frames(frames=3):
            right = histogram.regions(RECTANGLES)
            # as_tensor has no uint32 in older versions
            interface = histogram.of(signed=True)
            interface.__class__ = WithInterface
            interface._signed = True
            array = interface.__cuda_array_interface__
            self.assertEqual((array['shape'], array['version'], array['data']),
                             ((BINS, HEIGHT, WIDTH), 3, (histogram.device_pointer(), True)))
            self.assertEqual(right.sum(1)[0], WIDTH * HEIGHT)


@unittest.skipIf(WHY_NOT, WHY_NOT)
@unittest.skipIf(cupy is None, 'there is no CuPy')
class CuPy(unittest.TestCase):
    def check(self, array, histogram):
        self.assertEqual((array.shape, str(array.dtype)), ((BINS, HEIGHT, WIDTH), 'uint32'))
        self.assertEqual(array.data.ptr, histogram.device_pointer())
        padded = cupy.pad(array, ((0, 0), (1, 0), (1, 0)))
        counts = [padded[:, y + h, x + w] - padded[:, y + h, x] - padded[:, y, x + w]
                  + padded[:, y, x] for x, y, w, h in RECTANGLES]
        self.assertEqual(cupy.stack(counts).get().tolist(),
                         histogram.regions(RECTANGLES).tolist())

    def test_both_protocols(self):
        native = Native()
        for histogram in Frames('download=never', frames=5, native=native):
            self.check(cupy.from_dlpack(histogram), histogram)
            interface = histogram.of()
            interface.__class__ = WithInterface
            self.check(cupy.asarray(interface), histogram)

    def test_streams_that_go(self):
        """The stream of an exchange is destroyed before the array is."""
        for histogram in Frames('download=never max-tensors=2', frames=200):
            stream = cupy.cuda.Stream(non_blocking=True)
            with stream:
                array = cupy.from_dlpack(histogram)
                total = array[:, -1, -1].sum()
            stream.synchronize()
            self.assertEqual(int(total), WIDTH * HEIGHT)
            del stream
            gc.collect()
            del array


class Result(unittest.TextTestResult):
    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f'SKIP: dlpack: {reason}')


if __name__ == '__main__':
    if WHY_NOT:
        print(f'SKIP: dlpack: {WHY_NOT}')
        sys.exit(77)
    unittest.main(verbosity=2, testRunner=unittest.TextTestRunner(resultclass=Result))
