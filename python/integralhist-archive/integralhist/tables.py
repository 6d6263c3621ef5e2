# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables of regions and tracks: columns, rows, and their types in Parquet

docs/results.md and docs/archive.md have the columns for users.
"""
COLUMNS = {
    'regions': ('video', 'frame', 'pts', 'time', 'region', 'x', 'y', 'width', 'height', 'counts'),
    'tracks': ('video', 'frame', 'pts', 'time', 'id', 'parent', 'x', 'y', 'width', 'height',
               'confidence', 'lost', 'class'),
    'likelihood': ('video', 'frame', 'pts', 'time', 'model', 'x', 'y', 'width', 'height', 'value'),
}


def rows_of(video, frame):
    """Returns {table: rows} of a frames.Frame"""
    start = video, frame.number, frame.pts, frame.time
    return {
        'regions': [(*start, number, *box, counts)
                    for number, (box, counts) in enumerate(frame.regions)],
        'tracks': [(*start, *track[:8], track.kind or None) for track in frame.tracks],
    }


def schema(name, bins=None, columns=None, metadata=None):
    """The pyarrow schema of a table. `columns` are by default all columns of the table"""
    import pyarrow as pa
    types = {'video': pa.string(), 'frame': pa.int64(), 'pts': pa.int64(),
             'time': pa.timestamp('ns', 'UTC'), 'region': pa.int32(), 'id': pa.uint32(),
             'counts': pa.list_(pa.uint32(), bins or 0), 'confidence': pa.float64(),
             'lost': pa.bool_(), 'class': pa.string(), 'model': pa.string(),
             'value': pa.float32(), 'columns': pa.int32(), 'rows': pa.int32(),
             'map': pa.list_(pa.float16())}
    return pa.schema([(column, types.get(column, pa.int32()))
                      for column in columns or COLUMNS[name]], metadata)


def table(fields, rows):
    """A pyarrow.Table of a schema and of rows; counts are memoryviews of uint32"""
    import pyarrow as pa
    columns = list(zip(*rows)) or [()] * len(fields)
    return pa.table([_array(column, field.type) for column, field in zip(columns, fields)], fields)


def _array(column, kind):
    import pyarrow as pa
    if pa.types.is_fixed_size_list(kind) and kind.list_size:  # without an object for each count
        values = pa.py_buffer(b''.join(column))
        return pa.FixedSizeListArray.from_arrays(
            pa.Array.from_buffers(kind.value_type, len(column) * kind.list_size, [None, values]),
            type=kind)
    return pa.array(column, kind)
