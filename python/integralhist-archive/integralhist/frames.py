# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames of a stream with their regions and tracks

    with Stream(options) as stream:
        for frame in stream:
            print(frame.number, frame.tracks)

A file gives the same frames with the same numbers whenever it is read. All other inputs, such as
a camera, a FIFO or HLS without an end, are live: frames are numbered from Stream.first on, and have
the time of day when they were taken, or when they came.
"""
import argparse
import collections
import os
import pathlib
import select
import signal
import stat
import sys
import time

try:
    import gi
    gi.require_versions({'Gst': '1.0', 'GstApp': '1.0', 'GstIntegralHist': '1.0'})
    # GstApp gives appsink its methods
    from gi.repository import GLib, Gst, GstApp, GstIntegralHist  # noqa: F401
    GstIntegralHist.tracks  # fails without the project's override for PyGObject
except (AttributeError, ImportError, ValueError) as error:
    sys.exit(f'{error}\nThis needs the distribution\'s Python with python3-gi and python3-gst-1.0, '
             'in the environment of meson devenv')

from integralhist import printable, without_login  # noqa: E402
from integralhist.container import Container  # noqa: E402

IDLE = 10      # seconds without a reading thread, for a file that has had no frame
STALLED = 300  # seconds without another frame of a file, or for the histogram of a picture
RANGES = 10    # ranges of frames without a histogram that a message lists
# features with a number of bins of their own, which ignore the property bins unless lut is set
OWN_BINS = 'rgb', 'ycbcr', 'hue-saturation', 'hsv', 'lbp', 'uniform-lbp'
# number: 0 for the first; pts: ns, or None; time: ns since 1970 of a live frame, or None
# regions: [((x, y, width, height), counts of each bin)]; tracks: [GstIntegralHist.Track]
Frame = collections.namedtuple('Frame', 'number pts time regions tracks')


class StreamError(Exception):
    """An error of a stream, with a text for users; `bad` if another try would fail alike"""

    def __init__(self, text, bad=False):
        super().__init__(text)
        self.bad = bad

    @classmethod
    def of(cls, name, error):
        """The StreamError of a GError. Bad contents stay bad; an unreadable file may come back"""
        stream, settings = Gst.StreamError, (Gst.LibraryError, Gst.ResourceError)
        bad = (error.domain == GLib.quark_to_string(stream.quark())
               and error.code != stream.CODEC_NOT_FOUND
               or any(error.matches(kind.quark(), kind.SETTINGS) for kind in settings))
        return cls(f'{name}: {error.message}', bad)


def boxes(text):
    """Parses [(x, y, width, height)] from "x,y,width,height;..." """
    found = []
    for part in filter(str.strip, text.split(';')):
        try:
            x, y, width, height = map(int, part.split(','))
        except ValueError:
            raise argparse.ArgumentTypeError(
                f'"{part.strip()}" is not a box: give x,y,width,height in whole pixels') from None
        if width < 1 or height < 1:
            raise argparse.ArgumentTypeError(f'"{part.strip()}" has no pixels: give width '
                                             'and height of 1 or more')
        found.append((x, y, width, height))
    if not found:
        raise argparse.ArgumentTypeError('there is no box: give x,y,width,height;...')
    return found


def grid(text):
    """Parses (columns, rows) from "8x6" """
    try:
        columns, rows = map(int, text.split('x'))
    except ValueError:
        columns = rows = 0
    if columns < 1 or rows < 1:
        raise argparse.ArgumentTypeError(f'"{text}" is not a grid: give COLUMNSxROWS, such as 8x6')
    return columns, rows


def add_arguments(parser, with_regions=False):
    parser.add_argument('video', nargs='?', metavar='VIDEO',
                        help='a file, a URI such as rtsp://camera/stream, or /dev/video0')
    parser.add_argument('--launch', metavar='LINE',
                        help='elements in place of VIDEO, as gst-launch-1.0 takes them; a detector '
                             'may be among them')
    parser.add_argument('--targets', type=boxes, metavar='X,Y,W,H;...', default=[],
                        help='follow what is in these boxes in the first frame')
    parser.add_argument('--detections', action='store_true',
                        help='follow the regions of interest that --launch attaches')
    if with_regions:
        parser.add_argument('--regions', type=boxes, metavar='X,Y,W,H;...', default=[],
                            help='count the pixels of these rectangles')
        parser.add_argument('--grid', type=grid, metavar='COLUMNSxROWS',
                            help='count the pixels of equal parts of the frame')
        nicks = [value.value_nick for value in
                 GstIntegralHist.IntegralHistogramFeature.__enum_values__.values()]
        parser.add_argument('--feature', default='luma', choices=nicks, metavar='NICK',
                            help='what of a pixel is counted (luma)')
        parser.add_argument('--bins', type=int, default=16, help='bins of a histogram (16); '
                            'features of several values, and patterns, have their own number')


def source_of(options):
    """(elements, name, what distinguishes this video from others)"""
    if options.launch:
        return (options.launch, without_login(options.launch),
                {'launch': without_login(options.launch)})
    video = options.video
    if not video:
        raise StreamError('give VIDEO or --launch; --help has more')
    if video.startswith('/dev/') and not os.path.isfile(video):
        if not os.path.exists(video):
            raise StreamError(f'no camera at {video}: give another device')
        return f'v4l2src device={video} ! decodebin', video, {'video': video}
    is_uri = Gst.uri_is_valid(printable(video))
    if is_uri and not video.startswith('file:'):
        uri = video.replace('"', '%22').replace('\\', '%5C')  # they would end the string
        return (f'uridecodebin uri="{uri}"', without_login(video),
                {'video': without_login(video)})
    path = os.path.abspath(GLib.filename_from_uri(video)[0] if is_uri else video)
    if not os.path.exists(path) or os.path.isdir(path):
        raise StreamError(f'{video}: no such file')
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):  # a FIFO, which GStreamer would open twice
        return f'fdsrc fd={open_pipe(path)} ! decodebin', video, {'video': path}
    return (f'uridecodebin uri="{pathlib.Path(path).as_uri()}"', video,
            {'video': path, 'bytes': status.st_size, 'modified': status.st_mtime_ns})


def open_pipe(path):
    """Opens a FIFO that has a writer. A plain open () would wait for ever without a writer"""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    if not waiting.poll(STALLED * 1000):
        os.close(descriptor)
        raise StreamError(f'{path}: nothing was written to it for {STALLED} s')
    os.set_blocking(descriptor, True)
    return descriptor


def is_file(pipeline, sink):
    """Returns whether another run should give the same frames. Needs the first frame"""
    query = Gst.Query.new_latency()  # asks the peer, because a sink with sync=false is never live
    if sink.peer_query(query) and query.parse_latency()[0]:
        return False
    found = []
    pipeline.iterate_recurse().foreach(found.append)
    for element in found:
        factory = element.get_factory()
        if factory and factory.get_metadata('klass') == 'Source/File' and \
                element.find_property('location'):
            try:
                path = element.get_property('location') or ''
            except UnicodeDecodeError:  # a file: a FIFO as VIDEO is not a Source/File
                return True
            return os.path.isfile(path) or not os.path.exists(path)  # img%d.jpg, or a FIFO
    # HTTP and generated videos: HLS without an end allows seeking, but does not say how long it is
    query = Gst.Query.new_seeking(Gst.Format.TIME)
    return (sink.peer_query(query) and query.parse_seeking()[1]
            and sink.peer_query_duration(Gst.Format.TIME)[1] > 0)


class Stream:
    """Frames as they come, in order and each once

    `options` are the options of add_arguments (). `wanted (number)` says for which frames regions
    are asked: regions cost the most. `counting` and `following` are more properties of the
    elements, such as "lut=0,1,1". Every `interval`-th frame has a histogram. `before` are elements
    after the source, and memory="cuda" takes frames where a decoder on a GPU leaves them. With
    `counts` there are histograms even without regions.

    `late` counts the frames that should have a histogram but have none. A file must have all of
    them: if not, the iteration ends with an error that names the frames. `video_streams` describes
    the video streams of the file, and `taken` is the index of the stream with these frames, or
    None.
    """

    def __init__(self, options, wanted=lambda number: True, *, counting='', following='',
                 interval=1, before='videoconvert', counts=False, memory=None):
        Gst.init(None)
        source, self.name, self.identity = source_of(options)
        if memory == 'cuda':
            source += ' caps="video/x-raw(memory:CUDAMemory)"'
        self.rectangles = list(getattr(options, 'regions', []))
        self.grid = getattr(options, 'grid', None)
        self.wants_regions = bool(self.rectangles or self.grid)
        self.wants_tracks = bool(options.targets or options.detections)
        self.wanted = wanted
        self.first, self.live, self.stopped = 0, None, False
        self.bins, self.late, self.gaps, self.warnings = None, 0, [], []
        self.interval, self.video_streams, self.taken = interval, [], None
        elements, self.counting, self.following = [source, *filter(None, [before])], None, None
        if self.wants_regions or counts:
            features = {value.value_nick: value for value in
                        GstIntegralHist.IntegralHistogramFeature.__enum_values__.values()}
            if options.feature not in features:
                raise StreamError(f'there is no feature {options.feature}: use one of '
                                  f'{", ".join(features)}')
            self.feature = features[options.feature]
            is_own = options.feature in OWN_BINS and 'lut=' not in counting
            bins = '' if is_own else f'bins={options.bins} '
            self.counting = (f'cudaintegralhist feature={options.feature} {bins}'
                             f'interval={interval} {counting}')
            elements.append(self.counting)
        if self.wants_tracks:
            targets = ';'.join(','.join(map(str, box)) for box in options.targets)
            self.following = 'cudatrackfeatures ! integralhisttrack ' + following
            elements.append(f'{self.following} targets="{targets}" '
                            f'detections={str(options.detections).lower()}')
        # each sample that the sink keeps holds a tensor, and max-tensors may allow few
        elements.append('appsink name=sink sync=false max-buffers=8 enable-last-sample=false')
        try:
            self.pipeline = Gst.parse_launch(' ! '.join(elements))
        except GLib.Error as problem:
            raise StreamError(problem.message) from None
        self.sink, self.bus = self.pipeline.get_by_name('sink'), self.pipeline.get_bus()
        self.container = Container(self.pipeline, Gst)

    def __enter__(self):
        self.read = time.monotonic()  # when a thread was last seen to read the video
        self.pipeline.set_state(Gst.State.PLAYING)
        return self

    def __exit__(self, *_):
        self.pipeline.set_state(Gst.State.NULL)

    def stop(self):
        """Ends the iteration with the next frame, from any thread or a signal's handler"""
        self.stopped = True

    def __iter__(self):
        count, ended, came = 0, False, time.monotonic()
        while not (ended or self.stopped):
            sample = self.sink.try_pull_sample(Gst.SECOND // 10)
            if sample:
                if self.live is None:
                    self.find_out(sample)
                elif self.size_of(sample) != self.size:
                    raise StreamError('{}: frames are {}x{}, and then {}x{}'.format(
                        self.name, *self.size, *self.size_of(sample)), bad=True)
                if count % 100 == 0:  # elements post some messages for each frame
                    self.look_at_bus()
                frame = self.frame(sample, self.first * self.live + count)
                del sample  # so that its tensor is free before the next frame is here
                yield frame
                count, came = count + 1, time.monotonic()
                continue
            ended = self.sink.is_eos()  # an error may have come before that
            self.look_at_bus()
            if 'bytes' in self.identity and not (ended or count):  # a file
                self.look_for_tasks()
            if not ended and self.live is False and time.monotonic() - came > STALLED:
                raise StreamError(f'{self.name}: no frame came for {STALLED} s, after {count}')
        if ended and not count:
            raise StreamError(f'{self.name}: no frame came', bad=True)
        if ended and self.late and not self.live:
            raise StreamError(f'{self.name}: {self.what_is_late()}')

    @staticmethod
    def size_of(sample):
        caps = sample.get_caps()[0]  # from 1.26 on get_structure() works only in `with`
        return caps.get_value('width'), caps.get_value('height')

    def look_for_tasks(self):
        """Raises an error if nothing reads the file, because decodebin has lost a demuxer's error

        decodebin drops errors while it adds an element. A demuxer rarely fails that early, and
        another try may find its error. Network sources may read without tasks of pads.
        """
        now, pads = time.monotonic(), []
        self.pipeline.iterate_recurse().foreach(
            lambda element: element.iterate_pads().foreach(pads.append))
        if any(pad.get_task_state() == Gst.TaskState.STARTED for pad in pads):
            self.read = now
        elif now - self.read > IDLE:
            raise StreamError(f'{self.name}: nothing has read it for {IDLE} s')

    def look_at_bus(self):
        """Raises the pipeline's error, and keeps the first of its warnings"""
        while message := self.bus.pop():
            if message.type == Gst.MessageType.ERROR:
                raise StreamError.of(self.name, message.parse_error()[0])
            if message.type == Gst.MessageType.WARNING and len(self.warnings) < 10:
                text = message.parse_warning()[0].message
                if text not in self.warnings:
                    self.warnings.append(text)

    def find_out(self, sample):
        """Finds out from the first frame whether the stream is live, and how large frames are"""
        pad, query = self.sink.get_static_pad('sink'), Gst.Query.new_latency()
        self.live = not is_file(self.pipeline, pad)
        self.timed = pad.peer_query(query) and query.parse_latency()[0]
        clock = self.pipeline.get_clock()
        self.day = time.time_ns() - clock.get_time() if clock else 0
        width, height = self.size = self.size_of(sample)
        self.rectangles = [self.clip(box, width, height) for box in self.rectangles]
        if self.grid:
            columns, rows = self.grid
            if columns > width or rows > height:
                raise StreamError(f'{self.name}: grid {columns}x{rows} has parts without pixels, '
                                  f'because frames are {width}x{height}: give fewer',
                                  bad=True)
            xs = [width * i // columns for i in range(columns + 1)]
            ys = [height * i // rows for i in range(rows + 1)]
            self.rectangles += [(x, y, right - x, bottom - y)
                                for y, bottom in zip(ys, ys[1:]) for x, right in zip(xs, xs[1:])]
        self.values = [value for box in self.rectangles for value in box]
        self.find_out_which()

    def find_out_which(self):
        """Finds out which of the video streams of a file has these frames"""
        pads, start = self.container.videos(), self.sink.get_static_pad('sink').get_sticky_event(
            Gst.EventType.STREAM_START, 0)
        self.video_streams = [self.container.describe(pad) for pad in pads]
        names = [pad.get_stream_id() for pad in pads]
        name = start.parse_stream_start() if start else None
        self.taken = names.index(name) if name in names else 0 if len(pads) == 1 else None
        self.taken_id = None if self.taken is None else names[self.taken]
        if len(pads) > 1:
            self.warnings.insert(0, self.which())

    def which(self):
        """A sentence about the streams if a file has several videos, or '' """
        if len(self.video_streams) < 2:
            return ''
        listed = ', '.join(f'{number} is {text}' for number, text in enumerate(
            self.video_streams, 1))
        taken = 'one' if self.taken is None else f'number {self.taken + 1}'
        return f'{taken} of {len(self.video_streams)} video streams is read: {listed}'

    def clip(self, box, frame_width, frame_height):
        """Returns the part of a rectangle that lies in the frame"""
        x, y, width, height = box
        right, bottom = min(x + width, frame_width), min(y + height, frame_height)
        x, y = max(x, 0), max(y, 0)
        if right <= x or bottom <= y:
            raise StreamError(f'{self.name}: region {",".join(map(str, box))} is outside of the '
                              f'{frame_width}x{frame_height} frame: give one that overlaps it',
                              bad=True)
        return x, y, right - x, bottom - y

    def frame(self, sample, number):
        buffer = sample.get_buffer()
        pts = None if buffer.pts == Gst.CLOCK_TIME_NONE else buffer.pts
        taken = self.time_of(sample) if self.live else None
        tracks = GstIntegralHist.tracks(buffer) if self.wants_tracks else []
        is_asked = self.wants_regions and number % self.interval == 0 and self.wanted(number)
        regions = self.ask(buffer, number) if is_asked else []
        return Frame(number, pts, taken, regions, tracks)

    def time_of(self, sample):
        """Returns when a live frame was taken, or when it came if the timestamps do not say that"""
        clock, pts, running = self.pipeline.get_clock(), sample.get_buffer().pts, None
        if self.timed and pts != Gst.CLOCK_TIME_NONE:
            running = sample.get_segment().to_running_time(Gst.Format.TIME, pts)
        if running in (None, Gst.CLOCK_TIME_NONE):
            return self.day + clock.get_time()
        return self.day + self.pipeline.get_base_time() + running

    def ask(self, buffer, number):
        meta = self.meta(buffer)
        if meta is None:
            self.note_late(number)
            return []
        try:
            counts = memoryview(meta.histogram.regions(self.values).get_data()).cast('I')
        except GLib.Error as problem:
            raise StreamError(f'{self.name}: {problem.message}') from None
        self.bins = meta.histogram.get_bins()
        return [(box, counts[i * self.bins:(i + 1) * self.bins])
                for i, box in enumerate(self.rectangles)]

    def note_late(self, number):
        """Counts a frame that should have a histogram"""
        self.late += 1
        if self.gaps and number <= self.gaps[-1][1] + self.interval:
            self.gaps[-1][1] = number
        elif len(self.gaps) < RANGES:
            self.gaps.append([number, number])

    def what_is_late(self):
        """Which frames have no histogram, such as "3 frames have no histogram: 5, 7 to 8" """
        ranges = [str(first) if first == last else f'{first} to {last}'
                  for first, last in self.gaps]
        told = sum((last - first) // self.interval + 1 for first, last in self.gaps)
        listed = ', '.join(ranges) + ', ...' * (told < self.late)
        return (f'{self.late} frames have no histogram: {listed}' if self.late != 1 else
                f'1 frame has no histogram: {listed}')

    def meta(self, buffer):
        """Returns the frame's histogram of the stream's feature, or None"""
        return GstIntegralHist.buffer_get_integral_histogram_meta_of_feature(buffer, self.feature)

    def count_bins(self):
        """Returns the number of bins, even if no frame had a histogram; None without regions"""
        if self.counting and self.bins is None:
            self.bins = self.histogram_of_a_picture().get_bins()
        return self.bins

    def histogram_of_a_picture(self, width=320, height=240):
        """A histogram with the settings of this stream. StreamError if an element refuses one"""
        elements = [f'videotestsrc num-buffers=1 ! video/x-raw,width={width},height={height}',
                    *filter(None, [self.counting, self.following]), 'appsink name=sink sync=false']
        pipeline = Gst.parse_launch(' ! '.join(elements))
        try:
            buffer = one_sample(pipeline).get_buffer()
            return GstIntegralHist.buffer_get_integral_histogram_meta_of_feature(
                buffer, self.feature).histogram if self.counting else None
        finally:
            pipeline.set_state(Gst.State.NULL)


def one_sample(pipeline):
    """Starts a pipeline, and returns the first sample of its sink "sink". StreamError if there is
    no sample, or if an element has failed"""
    sink, bus = pipeline.get_by_name('sink'), pipeline.get_bus()
    until = time.monotonic() + STALLED
    pipeline.set_state(Gst.State.PLAYING)
    while time.monotonic() < until:
        sample = sink.try_pull_sample(Gst.SECOND // 10)
        if sample:
            return sample
        message = bus.pop_filtered(Gst.MessageType.ERROR)
        if message:
            raise StreamError(message.parse_error()[0].message, bad=True)
    raise StreamError(f'a picture was not counted in {STALLED} s')


class Progress:
    """Prints a line every other second"""

    def __init__(self):
        self.started = self.last = time.monotonic()
        self.count = 0

    def step(self, text=lambda: ''):
        self.count += 1
        self.idle(text)

    def idle(self, text=lambda: ''):
        now = time.monotonic()
        if now - self.last >= 2:
            self.last = now
            print(f'{self.count:8d} frames, {self.count / (now - self.started):.1f} a second'
                  f'{text()}', flush=True)


def on_signals(stop):
    """Calls `stop ()` at Ctrl-C, and at SIGTERM, which systemd sends. A second signal kills"""
    def handle(number, _):
        signal.signal(number, signal.SIG_DFL)
        stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)
