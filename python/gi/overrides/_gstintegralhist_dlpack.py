# SPDX-License-Identifier: LGPL-2.1-or-later
"""Python's side of DLPack: capsules of pointers that gst_integral_histogram_get_dlpack() returns.

It knows neither GObject introspection nor the class of a histogram, so code that has a pointer in
another way, such as by ctypes, can use it, too.
"""
import ctypes

LIBRARY = 'libgstintegralhist-1.0.so.0'
CPU, CUDA = 1, 2  # kDLCPU, kDLCUDA
UNVERSIONED, SIGNED, HOST = 1, 2, 4  # GstIntegralHistogramDLPackFlags


class _Array(ctypes.Structure):
    _fields_ = [('data', ctypes.c_void_p), ('device_type', ctypes.c_int32),
                ('device_id', ctypes.c_int32), ('n_dimensions', ctypes.c_int32),
                ('code', ctypes.c_uint8), ('bits', ctypes.c_uint8), ('lanes', ctypes.c_uint16),
                ('shape', ctypes.POINTER(ctypes.c_int64)),
                ('strides', ctypes.POINTER(ctypes.c_int64)), ('byte_offset', ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
    _fields_ = [('major', ctypes.c_uint32), ('minor', ctypes.c_uint32), ('owner', ctypes.c_void_p),
                ('deleter', ctypes.CFUNCTYPE(None, ctypes.c_void_p)), ('flags', ctypes.c_uint64),
                ('array', _Array)]


class Held:
    """Holds an array as long as this object lives. The array's deleter runs at the end."""

    def __init__(self, pointer):
        """Takes a DLManagedTensorVersioned."""
        self._pointer = pointer
        self._managed = _Versioned.from_address(pointer)

    def __del__(self):
        self._managed.deleter(self._pointer)

    @property
    def cuda_array_interface(self):
        """The dictionary of the CUDA Array Interface, version 3."""
        array = self._managed.array
        size = array.bits // 8
        return {
            'shape': tuple(array.shape[:array.n_dimensions]),
            'strides': tuple(size * stride for stride in array.strides[:array.n_dimensions]),
            'typestr': f'<{"iuf"[array.code]}{size}',
            'data': (array.data, True),
            'version': 3,
            'stream': None,
        }


def _capsule_functions():
    """PyCapsule_New, and the library's destructor of a capsule that was not used."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    # In Python, a destructor would run with an exception set if a consumer refused the capsule.
    library = ctypes.CDLL(LIBRARY)
    destructor = library.gst_integral_histogram_dlpack_capsule_free
    return new, ctypes.cast(destructor, ctypes.c_void_p).value


_new_capsule, _capsule_free = None, None


def capsule(pointer, versioned):
    """A capsule of a pointer. The consumer that takes the array out of it owns the array."""
    global _new_capsule, _capsule_free
    if _new_capsule is None:
        _new_capsule, _capsule_free = _capsule_functions()
    return _new_capsule(pointer, _NAMES[versioned], _capsule_free)


# Capsules point to these bytes, even after the interpreter has ended. They are never freed.
_NAMES = {True: b'dltensor_versioned', False: b'dltensor'}
for _name in _NAMES.values():
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_name))


def export(device, pointer, *, stream=None, max_version=None, dl_device=None, copy=None,
           signed=False):
    """The capsule that __dlpack__ returns.

    device is what __dlpack_device__ returned, and pointer (flags, stream) returns an array, or
    raises. The other arguments are those of __dlpack__ in the array API standard.
    """
    if stream is not None and (not isinstance(stream, int) or stream == 0 or stream < -1):
        raise ValueError(f'there is no stream {stream!r}: pass 1 for the legacy default stream, 2 '
                         'for the per-thread one, or -1 for none')
    versioned = max_version is not None and max_version[0] >= 1
    flags = (0 if versioned else UNVERSIONED) | (SIGNED if signed else 0)
    if copy:
        raise BufferError('the tensor is given without a copy: pass copy=None, and copy the array, '
                          'such as by .clone() or .copy()')
    if dl_device is not None and tuple(map(int, dl_device)) != tuple(device):
        if tuple(map(int, dl_device)) != (CPU, 0):
            raise BufferError(f'the tensor is on device {tuple(device)} and cannot be copied to '
                              f'{tuple(dl_device)}: ask for (1, 0), which is host memory')
        if copy is False:
            raise BufferError('the tensor is on a GPU and not in host memory: ask without '
                              'copy=False')
        flags |= HOST
    return capsule(pointer(flags, 1 if stream is None else stream), versioned)
