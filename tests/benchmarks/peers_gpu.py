# SPDX-License-Identifier: LGPL-2.1-or-later
"""The GPU and the shared libraries of peers.py, by ctypes."""
import ctypes
import glob
import os
import sys

import numpy

CUDA_FOLDERS = [os.environ.get("CUDA_HOME", "/usr/local/cuda"), "/usr/local/cuda"]


class Missing(Exception):
    """Names a thing that a peer needs and that this machine does not have"""


def library(name):
    """A shared library of the CUDA toolkit, or of NVIDIA's packages for Python"""
    folders = [""] + [os.path.join(cuda, "lib64") for cuda in CUDA_FOLDERS]
    folders += [found for path in sys.path for found in glob.glob(f"{path}/nvidia/*/lib")]
    reasons = []
    for folder in folders:
        names = glob.glob(os.path.join(folder, name + ".so*")) if folder else [name + ".so"]
        for path in sorted(names, reverse=True):
            try:
                return ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
            except OSError as error:
                reasons.append(str(error))
    raise Missing(reasons[-1])


class Gpu:
    """Memory and times of the first GPU, by the driver's API, in the context that CUDA's runtime
    shares among all libraries. The stream is the default one."""

    def __init__(self):
        try:
            self.driver = ctypes.CDLL("libcuda.so.1")
        except OSError:
            raise Missing("there is no NVIDIA driver") from None
        device, context = ctypes.c_int(), ctypes.c_void_p()
        if self.driver.cuInit(0) != 0:
            raise Missing("the NVIDIA driver sees no device")
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.device, self.taken = device, []
        self.start, self.stop = ctypes.c_void_p(), ctypes.c_void_p()
        for event in (self.start, self.stop):
            self.call("cuEventCreate", ctypes.byref(event), 0)
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, len(name), device)
        self.name = name.value.decode()

    def call(self, name, *arguments):
        status = getattr(self.driver, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name}: CUDA error {status}")

    def attribute(self, number):
        """An attribute of the device, by its number in cuda.h"""
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), number, self.device)
        return value.value

    def allocate(self, size):
        """The address of memory on the GPU, which holds no earlier result; free() frees it"""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self.call("cuMemsetD8_v2", address, ctypes.c_ubyte(0xa5), ctypes.c_size_t(size))
        self.taken.append(address)
        return ctypes.c_void_p(address.value)

    def put(self, array):
        address = self.allocate(array.nbytes)
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address.value),
                  array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes))
        return address

    def get(self, address, shape, dtype):
        array = numpy.empty(shape, dtype)
        self.call("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p),
                  ctypes.c_uint64(address.value), ctypes.c_size_t(array.nbytes))
        return array

    def free(self):
        for address in self.taken:
            self.call("cuMemFree_v2", address)
        self.taken = []

    def lap(self, frame, frames):
        """Seconds of a frame"""
        milliseconds = ctypes.c_float()
        self.call("cuEventRecord", self.start, None)
        for _ in range(frames):
            frame()
        self.call("cuEventRecord", self.stop, None)
        self.call("cuEventSynchronize", self.stop)
        self.call("cuEventElapsedTime", ctypes.byref(milliseconds), self.start, self.stop)
        return milliseconds.value / 1e3 / frames
