# SPDX-License-Identifier: LGPL-2.1-or-later
"""The streams of a file, as its demuxer shows them: how many are video, and where each one ends

GStreamer tells the duration of the whole file only. Sound or subtitles may be longer than the
video, so the end of the packets says whether frames are missing.
"""
import time

PATIENCE = 10  # seconds until the demuxer has read on, behind the last frame


class Container:
    def __init__(self, pipeline, gst):
        self.gst = gst
        self.pads, self.ends, self.ended = [], {}, set()  # of demuxers, in the file's order
        found = []
        pipeline.iterate_recurse().foreach(found.append)
        for element in found:
            self._watch(element)
        pipeline.connect('deep-element-added', lambda *arguments: self._watch(arguments[-1]))

    def _watch(self, element):
        factory = element.get_factory()
        kind = factory.get_metadata('klass') if factory else ''
        if kind.startswith('Codec/Demuxer') and not kind.endswith(('Adaptive', 'Metadata')):
            element.connect('pad-added', self._add)

    def _add(self, _, pad):
        kinds = self.gst.PadProbeType
        self.pads.append(pad)
        pad.add_probe(kinds.BUFFER, self._note_packet)
        pad.add_probe(kinds.EVENT_DOWNSTREAM, self._note_end)

    def _note_packet(self, pad, info):
        buffer = info.get_buffer()
        if buffer.pts != self.gst.CLOCK_TIME_NONE:
            end = buffer.pts
            if buffer.duration != self.gst.CLOCK_TIME_NONE:
                end += buffer.duration
            self.ends[pad] = max(end, self.ends.get(pad, 0))
        return self.gst.PadProbeReturn.OK

    def _note_end(self, pad, info):
        if info.get_event().type == self.gst.EventType.EOS:
            self.ended.add(pad)
        return self.gst.PadProbeReturn.OK

    @staticmethod
    def _kind(pad):
        caps = pad.get_current_caps()
        return caps[0].get_name() if caps and caps.get_size() else ''

    def videos(self):
        """The demuxer's pads of video streams; none of a file without a container"""
        return [pad for pad in list(self.pads) if self._kind(pad).startswith(('video/', 'image/'))]

    def describe(self, pad):
        structure = pad.get_current_caps()[0]
        sizes = [structure.get_value(name) for name in ('width', 'height')
                 if structure.has_field(name)]
        return ' '.join([self._kind(pad), *['x'.join(map(str, sizes))] * (len(sizes) == 2)])

    def seconds(self, pad):
        """The end of the packets of a stream, in its own time; 0 of a stream without times"""
        event = pad.get_sticky_event(self.gst.EventType.SEGMENT, 0)
        if pad not in self.ends or event is None:
            return 0.0
        end = event.parse_segment().to_stream_time(self.gst.Format.TIME, self.ends[pad])
        return 0.0 if end == self.gst.CLOCK_TIME_NONE else end / self.gst.SECOND

    def video_seconds(self, taken, whole, slack):
        """The duration of the video stream itself, where the container's is `whole`

        A file that was cut off ends in all its streams at about the same time: then the video was
        as long as the container says. If another stream goes on, the video ends where its packets
        end. A demuxer may send the end of the video long before it has read the others.
        """
        others = [pad for pad in self.pads if pad is not taken]
        until = time.monotonic() + PATIENCE
        while taken is not None:
            end = self.seconds(taken)
            if any(self.seconds(pad) > end + slack for pad in others):
                return end
            if self.ended.issuperset(others) or time.monotonic() > until:
                break
            time.sleep(0.02)
        return whole
