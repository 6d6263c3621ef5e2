# SPDX-License-Identifier: LGPL-2.1-or-later
"""job.py ITEM.json: one video to tables. It knows nothing of engines

    python3 -m integralhist.archive.job ITEM.json     an item of plan.py, and "out"; - is stdin
    python3 -m integralhist.archive.job --check SETTINGS.json

The last line of its output is JSON: {"frames": 600}, or {"reason": "..."}. The exit status is 0 if
the tables are committed, 3 if the video is bad and another try would find the same, and another
one if a try may help.
"""
import argparse
import contextlib
import ctypes
import json
import os
import re
import signal
import sys
import time

from integralhist import frames, tables
from integralhist.archive import commit
from integralhist.archive.lease import Lease
from integralhist.archive.plan import fingerprint, is_uri
from integralhist.archive.settings import Wrong, is_number
from integralhist.container import video_seconds
from integralhist.frames import GLib, Gst

BAD = 3
BATCH = 65536  # rows that are in memory, and in a row group of Parquet
MAPS = 64      # the same for maps, each of which may be as large as a frame

frames.gi.require_versions({'GstBase': '1.0', 'GstVideo': '1.0'})
from gi.repository import GObject, GstBase, GstVideo  # noqa: E402

Gst.init(None)


def read_detections(path):
    """Reads {frame: [(x, y, width, height)]} from lines "frame,x,y,width,height" """
    found = {}
    with open(path, encoding='utf-8', errors='replace') as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    frame, *box = map(int, line.split(','))
                    x, y, width, height = box
                except ValueError:
                    raise frames.StreamError(
                        f'{path}:{number}: write frame,x,y,width,height in whole numbers',
                        bad=True) from None
                if min(x, y) < 0 or min(width, height) < 1 or max(box) >= 2 ** 31:
                    raise frames.StreamError(f'{path}:{number}: write a box with pixels, inside '
                                             'of the frame', bad=True)
                found.setdefault(frame, []).append((x, y, width, height))
    return found


class Detections(GstBase.BaseTransform):
    """Attaches the boxes of a file as regions of interest with a confidence of 1"""

    __gstmetadata__ = ('Detections', 'Filter/Analyzer/Video', 'Attaches boxes of a file',
                       'The gst-integralhist authors')
    __gsttemplates__ = tuple(
        Gst.PadTemplate.new(name, direction, Gst.PadPresence.ALWAYS, Gst.Caps.new_any())
        for name, direction in (('sink', Gst.PadDirection.SINK), ('src', Gst.PadDirection.SRC)))

    def __init__(self, boxes):
        super().__init__()
        self.boxes, self.number = boxes, 0

    def do_transform_ip(self, buffer):
        number, self.number = self.number, self.number + 1
        for box in self.boxes.get(number, ()):
            region = GstVideo.buffer_add_video_region_of_interest_meta(buffer, 'detection', *box)
            region.add_param(Gst.Structure.new_from_string('detection, confidence=(double)1'))
        return Gst.FlowReturn.OK


class Video(frames.Stream):
    """The frames of an item: (frames.Frame, what look_for_models () finds)"""

    def __init__(self, item, boxes):
        settings = item['settings']
        source, histogram, tracks = (dict(settings.get(name, {}))
                                     for name in ('source', 'histogram', 'tracks'))
        regions = settings.get('regions', {})
        self.models = settings.get('likelihood', [])
        self.with_maps = any(model.get('maps') for model in self.models)
        self.decoder = source.get('decoder')
        self.decoders, self.end = [], 0
        before = '' if source.get('memory') == 'cuda' else 'videoconvert'
        if tracks.get('detections'):
            before = f'{before or "identity"} ! identity name=boxes'
        options = argparse.Namespace(
            video=item['video'], launch=None,
            regions=[tuple(box) for box in regions.get('boxes', [])],
            grid=regions.get('grid') and tuple(regions['grid']),
            targets=[tuple(box) for box in tracks.pop('targets', [])],
            detections=bool(tracks.pop('detections', None)),
            feature=histogram.pop('feature', 'luma'), bins=histogram.pop('bins', 16))
        super().__init__(options, counts=bool(self.models), before=before,
                         interval=histogram.pop('interval', 1), counting=properties(histogram),
                         following=properties(tracks), memory=source.get('memory'))
        self.name = item.get('name', self.name)
        if old := self.pipeline.get_by_name('boxes'):
            self.put_in_place(old, Detections(boxes))
        if self.decoder:
            factory = Gst.ElementFactory.find(self.decoder)
            if not factory:
                raise frames.StreamError(f'there is no decoder {self.decoder} on this machine: '
                                         'install its plugin')
            factory.set_rank(Gst.Rank.PRIMARY + 1000)

    def put_in_place(self, old, new):
        pads = [old.get_static_pad(name).get_peer() for name in ('sink', 'src')]
        pads[0].unlink(old.get_static_pad('sink'))
        old.get_static_pad('src').unlink(pads[1])
        self.pipeline.remove(old)
        self.pipeline.add(new)
        pads[0].link(new.get_static_pad('sink'))
        new.get_static_pad('src').link(pads[1])

    def find_out(self, sample):
        super().find_out(sample)
        if self.live:
            raise frames.StreamError(f'{self.name} is live and has no end: leave it out', bad=True)
        found = []
        self.pipeline.iterate_recurse().foreach(found.append)
        for element in found:
            factory = element.get_factory()
            if factory and is_decoder(factory.get_metadata('klass').split('/')):
                plugin = Gst.Registry.get().find_plugin(factory.get_plugin_name())
                self.decoders.append(f'{factory.get_name()} {plugin.get_version()}')
        self.decoders.sort()
        if self.decoder and not any(text.split()[0] == self.decoder for text in self.decoders):
            raise frames.StreamError(f'{self.name}: {self.decoder} does not decode it: '
                                     f'use {", ".join(self.decoders)}', bad=True)

    def uri(self):
        """The URI of the source; None for a FIFO"""
        found = []
        self.pipeline.iterate_recurse().foreach(found.append)
        return next((element.get_property('uri') for element in found
                     if element.get_factory().get_name() == 'uridecodebin'), None)

    def seconds(self):
        duration = self.pipeline.query_duration(Gst.Format.TIME)[1]
        return duration / Gst.SECOND if duration > 0 else None

    def frame(self, sample, number):
        buffer = sample.get_buffer()
        if buffer.pts != Gst.CLOCK_TIME_NONE:
            duration = 0 if buffer.duration == Gst.CLOCK_TIME_NONE else buffer.duration
            self.end = sample.get_segment().to_stream_time(Gst.Format.TIME, buffer.pts) + duration
        return super().frame(sample, number), self.likelihoods(buffer, number)

    def likelihoods(self, buffer, number):
        if not self.models or number % self.interval:
            return []
        meta = self.meta(buffer)
        if meta is None:
            if not self.wants_regions:  # with regions, regions note it
                self.note_late(number)
            return []
        return self.look_for_models(meta.histogram)

    def what_is_missing(self, seconds):
        """Adds a warning if frames end well before the end of the video stream"""
        if not seconds:
            return
        end, slack = self.end / Gst.SECOND, max(1, seconds / 50)
        if end < seconds - slack and (uri := self.uri()):
            seconds = video_seconds(uri, self.taken_id, seconds, slack, Gst)
        if end < seconds - slack:
            self.warnings.append(f'frames end after {end:.1f} of {seconds:.1f} s')

    def look_for_models(self, histogram):
        """(name, x, y, width, height, value, columns, rows, map or None) of each model"""
        found = []
        for model in self.models:
            width, height = model['window']
            try:
                values, best = histogram.likelihood_maps(
                    model['histogram'], model.get('measure', 'bhattacharyya'),
                    window=(width, height), step=model.get('step', 1))
            except (GLib.Error, ValueError, TypeError) as problem:
                raise frames.StreamError(f'{self.name}: [[likelihood]] {model["name"]}: '
                                         f'{getattr(problem, "message", problem)}',
                                         bad=True) from None
            row = (model['name'], best.x, best.y, width, height, best.value)
            if self.with_maps:
                row += ((*values.shape[::-1], values.astype('float16').ravel())
                        if model.get('maps') else (0, 0, None))
            found.append(row)
        return found


def is_decoder(classes):
    """Tells whether an element's classes are those of a decoder, such as Codec/Decoder/Video

    openh264dec is Decoder/Video, and decodebin, which is none itself, Generic/Bin/Decoder.
    """
    return 'Decoder' in classes and not {'Audio', 'Bin'} & set(classes)


def properties(values):
    """Returns properties as gst-launch-1.0 takes them"""
    return ' '.join(f'{name}={json.dumps(value, ensure_ascii=False)}'
                    for name, value in sorted(values.items()))


class Table:
    """A Parquet file, with BATCH rows in memory"""

    def __init__(self, file, name, metadata, extra=(), batch=BATCH):
        self.file, self.name, self.metadata, self.batch = file, name, metadata, batch
        self.columns = tuple(column for column in tables.COLUMNS[name] if column != 'time') + extra
        self.rows, self.written, self.writer = [], 0, None

    def add(self, rows, bins):
        self.rows += rows
        if len(self.rows) >= self.batch:
            self.write(bins)

    def write(self, bins):
        import pyarrow.parquet
        if self.writer is None:
            self.fields = tables.schema(self.name, bins, self.columns, self.metadata)
            self.writer = pyarrow.parquet.ParquetWriter(self.file, self.fields, compression='zstd')
        self.writer.write_table(tables.table(self.fields, self.rows))
        self.written += len(self.rows)
        self.rows.clear()

    def close(self, bins):
        self.write(bins)
        self.writer.close()


def versions():
    import pyarrow
    plugin = Gst.Registry.get().find_plugin('integralhist')
    return {'integralhist': plugin.get_version(), 'gstreamer': Gst.version_string().split()[-1],
            'pyarrow': pyarrow.__version__}


def run(item):
    """Commits the tables of an item. Returns the number of frames"""
    with Lease(item['out'], item['key']) as lease:
        return run_leased(item, lease)


def run_leased(item, lease):
    out, key, settings = item['out'], item['key'], item['settings']
    seen = fingerprint(item)
    commit.note(out, '_running', key, {})
    boxes = read_detections(item['detections']) if item['detections'] else {}
    video = Video(item, boxes)
    metadata = {'integralhist': json.dumps({'video': item['name'], 'settings': settings},
                                           sort_keys=True)}
    with commit.Commit(out, key, lease) as writing:
        wanted = {'regions': video.wants_regions, 'tracks': video.wants_tracks,
                  'likelihood': bool(video.models)}
        files = {name: Table(writing.open(name), name, metadata,
                             ('columns', 'rows', 'map') * (name == 'likelihood'
                                                           and video.with_maps),
                             MAPS if name == 'likelihood' and video.with_maps else BATCH)
                 for name in wanted if wanted[name]}
        count, seconds = 0, None
        with video:
            for frame, likelihood in video:
                if count == 0:
                    seconds = video.seconds()
                    commit.note(out, '_running', key, {'seconds': seconds})
                rows = tables.rows_of(item['name'], frame)
                rows['likelihood'] = [(item['name'], frame.number, frame.pts, None, *row)
                                      for row in likelihood]
                for name, table in files.items():
                    table.add([row[:3] + row[4:] for row in rows[name]], video.bins)
                count += 1
        video.what_is_missing(seconds)
        for table in files.values():
            table.close(video.count_bins())
        if fingerprint(item) != seen:
            raise frames.StreamError(f'{item["name"]} was changed while it was read')
        writing.done({'video': item['name'], 'fingerprint': seen, 'settings': settings,
                      'frames': count, 'width': video.size[0], 'height': video.size[1],
                      'rows': {name: table.written for name, table in files.items()},
                      'decoders': video.decoders, 'warnings': video.warnings,
                      'versions': versions()})
    return count


def check_properties(section, name, values):
    """Raises Wrong if the element lacks a property, or if the property has another type or range"""
    element = Gst.ElementFactory.make(name)
    for key, value in values.items():
        spec = element.find_property(key)
        if spec is None or not spec.flags & GObject.ParamFlags.WRITABLE:
            raise Wrong(f'no property "{key}" in element "{name}": leave it out', section, key)
        kind = spec.value_type
        if kind.is_a(GObject.TYPE_ENUM):
            nicks = [each.value_nick for each in spec.enum_class.__enum_values__.values()]
            is_right, text = value in nicks, f'"{value}" is not one of {", ".join(nicks)}'
        elif kind == GObject.TYPE_BOOLEAN:
            is_right, text = isinstance(value, bool), 'give true or false'
        elif kind in (GObject.TYPE_FLOAT, GObject.TYPE_DOUBLE):
            is_right = is_number(value) and spec.minimum <= value <= spec.maximum
            text = f'give a number from {spec.minimum:g} to {spec.maximum:g}'
        elif hasattr(spec, 'minimum'):
            is_right = type(value) is int and spec.minimum <= value <= spec.maximum
            text = f'give a whole number from {spec.minimum} to {spec.maximum}'
        else:
            is_right, text = isinstance(value, str), 'give a text'
        if not is_right:
            raise Wrong(text, section, key)


def check(settings):
    """Raises Wrong or a StreamError if an element refuses a property, or a model does not fit.
    Returns the versions"""
    elements = {'histogram': 'cudaintegralhist', 'tracks': 'integralhisttrack'}
    values = {section: {key: value for key, value in settings.get(section, {}).items()
                        if key not in ('targets', 'detections')} for section in elements}
    for section, name in elements.items():
        check_properties(section, name, values[section])
    video = Video({'settings': settings, 'video': 'http://127.0.0.1/', 'detections': None}, {})
    try:
        histogram = video.histogram_of_a_picture()
    except frames.StreamError as problem:  # the message begins with the refused property
        for section, key in ((section, key) for section in elements for key in values[section]):
            if re.search(rf'\b{re.escape(key)}\b', str(problem)):
                raise Wrong(str(problem), section, key) from None
        raise
    for number, model in enumerate(video.models, 1):
        video.models = [{**model, 'window': [8, 8], 'step': 8}]  # in a small picture
        try:
            video.look_for_models(histogram)
        except frames.StreamError as problem:
            key = 'measure' if 'measure' in str(problem) else 'histogram'
            raise Wrong(str(problem).partition(f'{model["name"]}: ')[2], 'likelihood', key,
                        number) from None
    return versions()


class WithoutPandas:
    """Keeps pyarrow from importing pandas: a third of a job's start, and not needed"""

    @staticmethod
    def find_spec(name, *_):
        if name == 'pandas':
            raise ImportError('a job does without pandas')


def die_with_parent():
    """Ends this job when the process that started it (INTEGRALHIST_PARENT) ends"""
    parent = os.environ.get('INTEGRALHIST_PARENT')
    if parent:
        PR_SET_PDEATHSIG = 1
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):
            os.kill(os.getpid(), signal.SIGKILL)


def main():
    die_with_parent()
    sys.meta_path.insert(0, WithoutPandas)
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('item', metavar='ITEM.json')
    parser.add_argument('--check', action='store_true', help='look at settings alone')
    options = parser.parse_args()
    with (contextlib.nullcontext(sys.stdin) if options.item == '-' else
          open(options.item, encoding='utf-8')) as file:
        item = json.load(file)
    started = time.monotonic()
    try:
        if options.check:
            print(json.dumps({'versions': check(item)}))
        else:
            count = run(item)
            print(json.dumps({'frames': count, 'seconds': round(time.monotonic() - started, 3)}))
    except Wrong as problem:
        print(json.dumps({'reason': str(problem), 'where': problem.where}))
        sys.exit(BAD)
    except frames.StreamError as problem:
        print(json.dumps({'reason': str(problem).removeprefix(f'{item.get("name")}: ')}))
        # a server may answer differently tomorrow
        sys.exit(BAD if problem.bad and not is_uri(item.get('video', '')) else 1)
    except (OSError, GLib.Error) as problem:
        print(json.dumps({'reason': getattr(problem, 'message', None) or
                          f'{problem.filename or item.get("out")}: {problem.strerror}'}))
        sys.exit(1)
    except Exception as problem:  # a bug of ours: the driver shows this, and stderr has the place
        print(json.dumps({'reason': f'{type(problem).__name__}: {problem}'}), flush=True)
        raise


if __name__ == '__main__':
    main()
