# SPDX-License-Identifier: LGPL-2.1-or-later
"""The streams of a file, as its demuxer shows them: the number of videos, and each stream's end

GStreamer tells the duration of the whole file only. Sound or subtitles may be longer than the
video, so the ends of the packets say whether frames are missing.
"""
import time

PATIENCE = 60  # seconds without another packet


class Container:
    """The video streams of a pipeline's demuxers, in the file's order"""

    def __init__(self, pipeline, gst):
        self.gst, self.pads, found = gst, [], []
        pipeline.iterate_recurse().foreach(found.append)
        for element in found:
            self._watch(element)
        pipeline.connect('deep-element-added', lambda *arguments: self._watch(arguments[-1]))

    def _watch(self, element):
        factory = element.get_factory()
        kind = factory.get_metadata('klass') if factory else ''
        if kind.startswith('Codec/Demuxer') and not kind.endswith(('Adaptive', 'Metadata')):
            element.connect('pad-added', lambda _, pad: self.pads.append(pad))

    @staticmethod
    def _kind(pad):
        caps = pad.get_current_caps()
        return caps[0].get_name() if caps and caps.get_size() else ''

    def videos(self):
        """The demuxer's pads of video streams; empty for a file without a container"""
        return [pad for pad in list(self.pads) if self._kind(pad).startswith(('video/', 'image/'))]

    def describe(self, pad):
        structure = pad.get_current_caps()[0]
        sizes = [structure.get_value(name) for name in ('width', 'height')
                 if structure.has_field(name)]
        return ' '.join([self._kind(pad), *['x'.join(map(str, sizes))] * (len(sizes) == 2)])


def stream_ends(uri, gst):
    """{stream id: end of its packets, in seconds of the stream's own time}, as far as the file goes

    It reads the whole file, and decodes nothing.
    """
    pipeline = gst.Pipeline()
    source, parser = (gst.ElementFactory.make(name) for name in ('urisourcebin', 'parsebin'))
    source.set_property('uri', uri)
    ends, counts = {}, {}

    def note(pad, info):
        buffer = info.get_buffer()
        counts[pad] = counts.get(pad, 0) + 1
        if buffer.pts != gst.CLOCK_TIME_NONE:
            length = 0 if buffer.duration == gst.CLOCK_TIME_NONE else buffer.duration
            ends[pad] = max(buffer.pts + length, ends.get(pad, 0))
        return gst.PadProbeReturn.OK

    def add(_, pad):
        pad.add_probe(gst.PadProbeType.BUFFER, note)
        sink = gst.ElementFactory.make('fakesink')
        sink.set_property('async', False)
        pipeline.add(sink)
        sink.sync_state_with_parent()
        pad.link(sink.get_static_pad('sink'))

    pipeline.add(source)
    pipeline.add(parser)
    source.connect('pad-added', lambda _, pad: pad.link(parser.get_static_pad('sink')))
    parser.connect('pad-added', add)
    pipeline.set_state(gst.State.PLAYING)
    bus, seen, until = pipeline.get_bus(), 0, time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if bus.timed_pop_filtered(gst.SECOND // 10, gst.MessageType.EOS | gst.MessageType.ERROR):
            break  # an error means that the file is cut off here
        if sum(counts.values()) > seen:
            seen, until = sum(counts.values()), time.monotonic() + PATIENCE
    found = {}
    for pad, end in ends.items():
        segment = pad.get_sticky_event(gst.EventType.SEGMENT, 0).parse_segment()
        end = segment.to_stream_time(gst.Format.TIME, end)
        found[pad.get_stream_id()] = 0.0 if end == gst.CLOCK_TIME_NONE else end / gst.SECOND
    pipeline.set_state(gst.State.NULL)
    return found


def video_seconds(uri, taken, whole, slack, gst):
    """The duration of the video stream `taken`; `whole` is the duration of the whole file

    A file that was cut off ends in all its streams at about the same time: then the video was as
    long as the container says. If another stream goes on, the video ends where its packets end.
    """
    ends = stream_ends(uri, gst)
    own = ends.pop(taken, None)
    return own if own is not None and max(ends.values(), default=0) > own + slack else whole
