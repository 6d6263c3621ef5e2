# SPDX-License-Identifier: LGPL-2.1-or-later
"""Integral histograms in Python: arrays of NumPy, PyTorch and CuPy, and questions about them.

PyGObject loads this file with `from gi.repository import GstIntegralHist`. NumPy and PyTorch are
imported when they are first needed.
"""
from __future__ import annotations

import collections.abc
import inspect
import operator
import typing

from gi.docstring import get_doc_string_generator, set_doc_string_generator
from gi.module import get_introspection_module
from gi.overrides import override
from gi.repository import GLib

from . import _gstintegralhist_dlpack as _dlpack

if typing.TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

try:
    from ._gstintegralhist_docs import DOCS as _DOCS  # from the introspection data
except ImportError:
    _DOCS = {}

_introspected = get_introspection_module('GstIntegralHist')
_Grid = _introspected.IntegralHistogramGrid
_Histogram = _introspected.IntegralHistogram

__all__ = ['Best', 'IntegralHistogram', 'IntegralHistogramGrid', 'LikelihoodMap', 'Track',
           'integral_histogram', 'integral_image', 'tracks']

Integer = typing.SupportsIndex  # int, and NumPy's integers
Pair = typing.Union[Integer, 'tuple[Integer, Integer]']


class Best(typing.NamedTuple):
    """The window of a likelihood map that is most alike."""
    x: int
    """Its first column, in pixels."""
    y: int
    """Its first row."""
    value: float
    """The value of the measure."""


class LikelihoodMap(typing.NamedTuple):
    """How alike windows on a grid are to a model."""
    values: npt.NDArray[np.float32]
    """An array (rows, columns) of float32."""
    best: Best


class Track(typing.NamedTuple):
    """A target that integralhisttrack follows, in one frame."""
    id: int
    """The number of the target, as long as the target is followed."""
    parent: int
    """The id of the region of interest or detection that the track started from, or -1."""
    x: int
    y: int
    width: int
    height: int
    confidence: float
    """How likely the box overlaps the target by half, 0 to 1."""
    lost: bool
    """True if the target is not seen in this frame: the box is its last or expected place."""
    kind: str
    """The class of the last detection; empty without a detection."""
    detection_confidence: float | None
    """The confidence of the last detection, if that detection had one."""
    former_id: int = 0
    """The id until reidentify found that the target is a lost one; 0 if it never did."""


def _numpy():
    try:
        import numpy
    except ImportError as error:
        raise ImportError('arrays need NumPy: install python3-numpy, or numpy from PyPI; without '
                          'it region (), and regions () of a flat list, answer') from error
    return numpy


def _is_whole(value):
    """Returns whether the value is one whole number, such as an int or one of NumPy's integers."""
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _pair(value, what):
    """Returns (x, y) from one whole number or two."""
    try:
        x, y = map(operator.index, (value, value) if _is_whole(value) else value)
    except (TypeError, ValueError):
        raise ValueError(
            f'{what} is {value!r}: pass a whole number of pixels, or two') from None
    return x, y


def _rectangles(rectangles, numpy):
    boxes = numpy.asarray(rectangles)
    if len(boxes.shape) and len(boxes) == 0:  # of any type: frames without a detection
        return boxes.reshape(0, 4).astype(int)
    if boxes.ndim != 2 or boxes.shape[1] != 4 or boxes.dtype.kind not in 'iu':
        raise ValueError(f'rectangles are an array {boxes.shape} of {boxes.dtype}: pass rows of '
                         'x, y, width, height in whole pixels')
    return boxes


def _by_nick(value, kind, what):
    """Returns a value of an enumeration. Text is a nick, such as 'bhattacharyya'."""
    if not isinstance(value, str):
        return value
    # PyGObject's enumerations are those of Python from 3.52 on
    values = kind.__enum_values__.values() if hasattr(kind, '__enum_values__') else kind
    nicks = {each.value_nick: each for each in values}
    if value not in nicks:
        raise ValueError(f"there is no {what} '{value}': use one of {', '.join(nicks)}")
    return nicks[value]


def _measure(measure):
    return _by_nick(measure, _introspected.IntegralHistogramMeasure, 'measure')


class IntegralHistogramGrid(_Grid):
    """Windows of one size on a grid. The window in column i and row j has its first pixel at
    (x + i * step_x, y + j * step_y)."""

    def __init__(self, window_width: Integer = 1, window_height: Integer = 1, x: Integer = 0,
                 y: Integer = 0, step_x: Integer = 1, step_y: Integer = 1, columns: Integer = 1,
                 rows: Integer = 1) -> None:
        super().__init__()
        index = operator.index
        self.window_width, self.window_height = index(window_width), index(window_height)
        self.x, self.y, self.step_x, self.step_y = map(index, (x, y, step_x, step_y))
        self.columns, self.rows = index(columns), index(rows)

    def __new__(cls, *_args, **_fields):
        return _Grid.__new__(cls)


class _View:
    """An object for from_dlpack () of NumPy or PyTorch, with the options of that library."""

    def __init__(self, histogram, device, flags, signed=False, versioned=True):
        self._histogram, self._device, self._flags = histogram, device, flags
        self._signed, self._versioned = signed, versioned

    def __dlpack_device__(self):
        return self._device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return _dlpack.export(
            self._device,
            lambda flags, stream: self._histogram._array_of(flags | self._flags, stream),
            stream=stream, max_version=max_version if self._versioned else None,
            dl_device=dl_device, copy=copy, signed=self._signed)


class IntegralHistogram(_Histogram):
    """The integral histogram of one video frame, or the promise of it.

    The tensor is an array (bins, height, width): H[b, y, x] counts the pixels of bin b in rows 0..y
    and columns 0..x. numpy (), torch () and from_dlpack () of any library take it without a copy;
    region (), regions (), grid () and likelihood_maps () answer questions on the device that has
    the tensor, the CPU or a GPU, and work for any counter and for shards.

    - Arrays may only be read. They hold the memory of the tensor: the next frames get other memory,
      and the element waits at max-tensors. Keep a .clone() or .copy() instead.
    - Rows are padded to 64 bytes, so the array is not contiguous. .contiguous() copies it.
    - With counter=u16 elements are modulo 65536: four corners are right modulo 65536, and
      regions () gives full counts. A histogram with counter=u8-tiled has no array.
    """

    @property
    def shape(self) -> tuple[int, int, int]:
        """(bins, height, width)"""
        return self.get_bins(), self.get_height(), self.get_width()

    # arrays

    def _array_of(self, flags: int, stream: int) -> int:
        """Returns the pointer to a DLPack array."""
        kind = _introspected.IntegralHistogramDLPackFlags
        try:
            return _Histogram.get_dlpack(self, kind(flags), stream)
        except GLib.Error as error:
            raise BufferError(error.message) from error

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns (1, 0) for host memory, and (2, device) for memory of a GPU.

        A tensor that is computed on demand is computed now. Raises BufferError for a tensor in
        several shards: take get_shard () of each.
        """
        try:
            return tuple(_Histogram.get_dlpack_device(self))
        except GLib.Error as error:
            raise BufferError(error.message) from error

    def __dlpack__(self, *, stream: int | None = None,
                   max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None,
                   copy: bool | None = None) -> typing.Any:
        """A capsule for from_dlpack () of NumPy, PyTorch, CuPy, JAX and others, without a copy.

        On a GPU `stream` waits for the tensor: None or 1 is the legacy default stream, 2 the
        per-thread default stream, -1 no stream, and any other number a cudaStream_t. When the array
        is dropped, its memory is reused only after the work that the context's streams have then.

        `dl_device=(1, 0)` copies a tensor on a GPU to host memory, once.

        Raises BufferError for a tensor in several shards (take get_shard () of each), for u8-tiled
        counters (ask regions (), or set counter=u32), in a CUDA context that is not the device's
        primary one, and for copy=True; ValueError for a stream of 0.
        """
        return _dlpack.export(self.__dlpack_device__(), self._array_of, stream=stream,
                              max_version=max_version, dl_device=dl_device, copy=copy)

    @property
    def __cuda_array_interface__(self) -> dict[str, typing.Any]:
        """The CUDA Array Interface, version 3, for libraries without DLPack.

        Waits until the tensor is computed, because some libraries ignore the stream. This object
        holds the memory. When it is dropped, the memory waits as with __dlpack__.
        """
        if self.__dlpack_device__()[0] != _dlpack.CUDA:
            raise AttributeError('the tensor is in host memory: take numpy (), or __dlpack__')
        if '_held' not in self.__dict__:
            held = _dlpack.Held(self._array_of(0, -1))
            self.wait(GLib.MAXUINT64)
            self._held = held
        return self._held.cuda_array_interface

    def numpy(self) -> npt.NDArray[typing.Any]:
        """The tensor as a NumPy array (bins, height, width) in host memory that may only be read.

        A tensor in host memory is not copied. A tensor on a GPU is copied once, and shards are put
        together. The type is uint32, or uint16 (modulo 65536) with a counter of 16 bits. The array
        outlives the pipeline, and keeps the memory; .copy() keeps only the numbers.
        """
        return _numpy().from_dlpack(_View(self, (_dlpack.CPU, 0), _dlpack.HOST))

    def torch(self, signed: bool = True) -> typing.Any:
        """The tensor as a PyTorch tensor (bins, height, width) where it lies, without a copy.

        On a GPU PyTorch's current stream waits for the tensor. `signed` makes the type int32 or
        int16, because PyTorch computes little with unsigned integers. The bits are the same, and
        the difference of four corners is right if the rectangle has less than 2^31 (2^15) pixels.

        PyTorch does not know of memory that may only be read: do not write to it. Keep a .clone(),
        not the tensor, which keeps memory from the next frames. Rows are padded: .contiguous()
        copies.
        """
        import torch
        return torch.from_dlpack(
            _View(self, self.__dlpack_device__(), 0, signed=signed, versioned=False))

    # questions

    def _grid(self, window, step, origin, columns, rows):
        width, height = _pair(window, 'window')
        step_x, step_y = _pair(step, 'step')
        x, y = _pair(origin, 'origin')
        if min(step_x, step_y) < 1:
            raise ValueError(f'step is {step!r}: pass 1 or more')
        # all windows that lie in the frame
        if columns is None:
            columns = (self.get_width() - x - width) // step_x + 1
        if rows is None:
            rows = (self.get_height() - y - height) // step_y + 1
        if columns < 1 or rows < 1:
            raise ValueError(f'no window of {width}x{height} pixels from {x},{y} on is in a frame '
                             f'of {self.get_width()}x{self.get_height()}: use a smaller one')
        return IntegralHistogramGrid(width, height, x, y, step_x, step_y, columns, rows)

    def regions(self, rectangles: typing.Any) -> typing.Any:
        """The histograms of many rectangles at once: uint32 counts (rectangles, bins).

        `rectangles` are rows of x, y, width, height in pixels, as an array or a list. They are
        clipped to the frame. For a flat list x, y, width, height, x, ... the answer is a GLib.Bytes
        with these counts, which needs no NumPy.
        """
        return self._answers(_Histogram.regions, rectangles, 'uint32')

    def regions_sums(self, rectangles: typing.Any) -> typing.Any:
        """The sums of rectangles, in 64 bits: uint64 (rectangles, planes).

        `rectangles` are as in regions ().
        """
        return self._answers(_Histogram.regions_sums, rectangles, 'uint64')

    def _answers(self, question, rectangles, dtype):
        if isinstance(rectangles, collections.abc.Sequence):
            if rectangles and _is_whole(rectangles[0]):
                return question(self, list(map(operator.index, rectangles)))
        numpy = _numpy()
        boxes = _rectangles(rectangles, numpy)
        answers = question(self, boxes.ravel().tolist())
        return numpy.frombuffer(answers.get_data(), dtype).reshape(len(boxes), self.get_bins())

    def grid(self, window: Pair = (64, 64), step: Pair = 1, *, origin: Pair = 0,
             columns: Integer | None = None, rows: Integer | None = None) -> npt.NDArray[np.uint32]:
        """The histograms of windows on a grid: uint32 counts (rows, columns, bins).

        `window` is (width, height) in pixels, `step` one number or (x, y) from a window to the
        next, `origin` the first pixel (x, y) of the first window. Without `columns` and `rows` the
        grid has all windows that lie in the frame.
        """
        numpy = _numpy()
        grid = self._grid(window, step, origin, columns, rows)
        counts = numpy.frombuffer(_Histogram.grids(self, grid).get_data(), numpy.uint32)
        return counts.reshape(grid.rows, grid.columns, self.get_bins())

    def likelihood_maps(self, model: typing.Any = None, measure: typing.Any = 'bhattacharyya',
                        *more: typing.Any, grid: IntegralHistogramGrid | None = None,
                        window: Pair = (64, 64), step: Pair = 1, origin: Pair = 0,
                        columns: Integer | None = None, rows: Integer | None = None) -> typing.Any:
        """How alike the histograms of windows and a model are: a LikelihoodMap.

        `model` has a number for each bin, and `measure` is a nick or an IntegralHistogramMeasure;
        the grid is that of grid (). With an IntegralHistogramGrid as first argument, before model
        and measure, or as `grid`, the answer is a GLib.Bytes of float32 (rows, columns) and an
        IntegralHistogramBest.
        """
        if isinstance(model, _Grid):
            grid, (model, measure) = model, (measure, *more) if more else (measure, 'bhattacharyya')
        elif more:
            raise TypeError('likelihood_maps () takes a model and a measure: pass the rest as '
                            'keywords')
        if grid is not None:
            return _Histogram.likelihood_maps(self, grid, model, _measure(measure))
        numpy = _numpy()
        grid = self._grid(window, step, origin, columns, rows)
        numbers = numpy.asarray(model, numpy.float32).ravel().tolist()
        answers, best = _Histogram.likelihood_maps(self, grid, numbers, _measure(measure))
        values = numpy.frombuffer(answers.get_data(), numpy.float32)
        row, column = divmod(best.index, grid.columns)
        return LikelihoodMap(
            values.reshape(grid.rows, grid.columns),
            Best(grid.x + column * grid.step_x, grid.y + row * grid.step_y, best.value))

    def quantile_maps(self, quantile: typing.Any = 0.5, *more: typing.Any,
                      grid: IntegralHistogramGrid | None = None, window: Pair = (64, 64),
                      step: Pair = 1, origin: Pair = 0, columns: Integer | None = None,
                      rows: Integer | None = None) -> typing.Any:
        """The median of each window of a grid, or another quantile: int32 bins (rows, columns).

        The answer is -1 for a window without pixels, and if the pixel of the quantile is in no bin:
        such pixels come last. The grid is that of grid (). With an IntegralHistogramGrid as first
        argument, or as `grid`, the answer is a GLib.Bytes.
        """
        if isinstance(quantile, _Grid):
            grid, quantile = quantile, more[0] if more else 0.5
        elif more:
            raise TypeError('quantile_maps () takes a quantile: pass the rest as keywords')
        if grid is not None:
            return _Histogram.quantile_maps(self, grid, quantile)
        numpy = _numpy()
        grid = self._grid(window, step, origin, columns, rows)
        bins = _Histogram.quantile_maps(self, grid, quantile).get_data()
        return numpy.frombuffer(bins, numpy.int32).reshape(grid.rows, grid.columns)


def integral_histogram(
        buffer: Gst.Buffer,
        feature: IntegralHistogramFeature | str | None = None) -> IntegralHistogram | None:
    """The integral histogram that an element has attached to a Gst.Buffer; None without one.

    `feature`, an IntegralHistogramFeature or its nick such as 'hue', says which of several. A
    histogram of only some bins is then passed over.
    """
    if feature is None:
        meta = _introspected.buffer_get_integral_histogram_meta(buffer)
    else:
        feature = _by_nick(feature, _introspected.IntegralHistogramFeature, 'feature')
        meta = _introspected.buffer_get_integral_histogram_meta_of_feature(buffer, feature)
    return meta.histogram if meta else None


def integral_image(buffer: Gst.Buffer) -> IntegralHistogram | None:
    """The table that cudaintegralimage has attached to a Gst.Buffer; None without one.

    region_sums () and regions_sums () ask it.
    """
    meta = _introspected.buffer_get_integral_histogram_meta_of(
        buffer, _introspected.IntegralHistogramContent.SUMS)
    return meta.histogram if meta else None


def tracks(buffer: Gst.Buffer) -> list[Track]:
    """The tracks that integralhisttrack has attached to a Gst.Buffer, lost ones included."""
    meta = _introspected.buffer_get_integral_histogram_tracks_meta(buffer)
    found = []
    for index in range(meta.get_n_tracks() if meta else 0):
        track = meta.get_track(index)

        def field(name, otherwise, track=track):
            return track.get_value(name) if track.has_field(name) else otherwise

        found.append(Track(
            field('id', 0), field('parent', -1), field('x', 0), field('y', 0), field('width', 0),
            field('height', 0), field('confidence', 0.0), field('lost', False), field('class', ''),
            field('detection-confidence', None), field('former-id', 0)))
    return found


for _function in integral_histogram, integral_image, tracks:
    _function.__module__ = _introspected.__name__  # help () lists names of the module only

# Functions get their documentation from the introspection data.

_PIXELS = 'x', 'y', 'width', 'height'  # names of parameters


def _documented(function, name, qualified):
    """Returns a Python function that calls an introspected function."""
    parameters, text = _DOCS[qualified]

    def call(*arguments, **named):
        for parameter, value in (*zip(parameters or (), arguments), *named.items()):
            # PyGObject would cut off the digits after the point
            if parameter in _PIXELS and hasattr(value, '__float__') and not _is_whole(value):
                raise ValueError(f'{parameter} is {value!r}: pass a whole number of pixels')
        return function(*arguments, **named)

    call.__name__, call.__qualname__ = name, qualified
    call.__doc__ = text or function.__doc__
    call.__module__ = 'gi.repository.GstIntegralHist'
    call.__signature__ = inspect.Signature(
        [inspect.Parameter(parameter, inspect.Parameter.POSITIONAL_OR_KEYWORD)
         for parameter in parameters])
    return call


def _document():
    """Gives all introspected functions and types their documentation."""
    classes = {'IntegralHistogram': IntegralHistogram,
               'IntegralHistogramGrid': IntegralHistogramGrid}
    for qualified, (parameters, text) in _DOCS.items():
        holder, _, name = qualified.rpartition('.')
        if holder:
            base = getattr(_introspected, holder)
            if holder not in classes:
                classes[holder] = globals()[holder] = type(
                    holder, (base,), {'__module__': __name__, '__doc__': _DOCS[holder][1]})
                __all__.append(holder)
            # PyGObject may have put introspected methods into the class
            if not inspect.isfunction(classes[holder].__dict__.get(name)):
                function = _documented(getattr(base, name), name, qualified)
                is_method = parameters[:1] == ['self']
                setattr(classes[holder], name, function if is_method else staticmethod(function))
        elif parameters is not None and name not in globals():
            globals()[name] = _documented(getattr(_introspected, name), name, qualified)
            __all__.append(name)
        elif parameters is None and issubclass(getattr(_introspected, name), int):
            getattr(_introspected, name).__doc__ = text
    return classes


def _document_types(others):
    """Returns a function that makes the __doc__ of PyGObject's types."""
    own = {name: text for name, (parameters, text) in _DOCS.items() if parameters is None}
    own.update((each.__name__, inspect.cleandoc(each.__dict__['__doc__']))
               for each in (IntegralHistogram, IntegralHistogramGrid))

    def text_of(info):
        ours = info.get_namespace() == 'GstIntegralHist' and own.get(info.get_name())
        return ours or others(info)

    return text_of


set_doc_string_generator(_document_types(get_doc_string_generator()))
for _class in _document().values():
    if _class.__info__.get_g_type().is_a(_introspected.IntegralHistogram.__gtype__):
        override(_class)
