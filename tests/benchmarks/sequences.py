# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sequences with the true boxes of a target, and their frames in memory."""
import os
import re
import sys

PROGRAM = os.path.splitext(os.path.basename(sys.argv[0]))[0]

try:
    import gi

    gi.require_versions({"Gst": "1.0", "GstVideo": "1.0"})
    from gi.repository import GLib, Gst, GstVideo  # noqa: F401
except (ImportError, ValueError) as error:
    sys.exit(f"{PROGRAM}: {error}: it needs Python's bindings of GStreamer "
             "(python3-gst-1.0, gir1.2-gst-plugins-base-1.0), with the interpreter that has them "
             "(/usr/bin/python3)")


def run(main):
    """Ends a benchmark with the status of its function, or the error of a pipeline"""
    try:
        sys.exit(main())
    except (RuntimeError, GLib.Error) as error:
        sys.exit(f"{PROGRAM}: {error}")


def read_truth(path):
    """The box of each frame as (x, y, width, height), with the first pixel being 0"""
    with open(path, encoding="ascii") as file:
        lines = [re.split(r"[,\s]+", line.strip()) for line in file if line.strip()]
    boxes = [[float(number) for number in line] for line in lines]
    return [(x - 1, y - 1, width, height) for x, y, width, height in boxes]


def can_decode(path):
    """Returns whether a decoder is installed whose frames can be trusted; says so if not

    openh264dec is not such a decoder: most of its frames of woman.mp4 differ from those of
    avdec_h264, whose luma is that of NVIDIA's decoder.
    """
    Gst.init(None)
    untrusted = Gst.Registry.get().lookup_feature("openh264dec")
    if untrusted:
        untrusted.set_rank(Gst.Rank.NONE)  # so that decodebin takes another one
    if path.endswith(".mp4") and not Gst.ElementFactory.find("avdec_h264"):
        print(f"SKIP: {path}: no avdec_h264 (package gstreamer1.0-libav)")
        return False
    return True


def find_sequences(folder):
    """{name: (launch line of a source, boxes)}"""
    sequences = {}
    if os.path.exists(os.path.join(folder, "groundtruth_rect.txt")):  # it is one itself
        parent, name = os.path.split(os.path.abspath(folder))
        beside = find_sequences(parent)
        return {name: beside[name]} if name in beside else {}
    for entry in sorted(os.listdir(folder)):
        path = os.path.join(folder, entry)
        stem, extension = os.path.splitext(path)
        truth = stem + "_groundtruth.txt"
        if extension == ".mp4" and os.path.exists(truth) and can_decode(path):
            source = f'filesrc location="{path}" ! decodebin'
            sequences[os.path.basename(stem)] = (source, read_truth(truth))
        truth = os.path.join(path, "groundtruth_rect.txt")
        if os.path.exists(truth):
            pictures = os.path.join(path, "img")
            if not os.path.isdir(pictures):
                pictures = path
            names = sorted(name for name in os.listdir(pictures) if re.fullmatch(r"\d+\.jpg", name))
            if names:
                digits, first = len(names[0]) - 4, int(names[0][:-4])
                source = (f'multifilesrc location="{pictures}/%0{digits}d.jpg" start-index={first} '
                          'caps=image/jpeg,framerate=25/1 ! jpegdec')
                sequences[entry] = (source, read_truth(truth))
    return sequences


def play(pipeline, buffers=()):
    """Pushes buffers into what is called `source`; messages of elements until the end"""
    bus, messages = pipeline.get_bus(), []
    kinds = Gst.MessageType.ELEMENT | Gst.MessageType.EOS | Gst.MessageType.ERROR
    try:
        pipeline.set_state(Gst.State.PLAYING)
        source = pipeline.get_by_name("source")
        if source:
            for buffer in buffers:
                source.emit("push-buffer", buffer)
            source.emit("end-of-stream")
        while True:
            message = bus.timed_pop_filtered(60 * Gst.SECOND, kinds)
            if message is None:
                raise RuntimeError("no frame for a minute")
            if message.type == Gst.MessageType.ERROR:
                raise RuntimeError(message.parse_error().gerror.message)
            if message.type == Gst.MessageType.EOS:
                return messages
            messages.append(message)
    finally:
        pipeline.set_state(Gst.State.NULL)


def pull_samples(pipeline):
    """All samples that come to what is called `sink`"""
    samples = []

    def keep(sink):
        samples.append(sink.emit("pull-sample"))
        return Gst.FlowReturn.OK

    pipeline.get_by_name("sink").connect("new-sample", keep)
    return samples


class Clip:
    """The decoded frames of a sequence, as the decoder left them and in BGR"""

    SINK = "appsink name=sink sync=false emit-signals=true"

    def __init__(self, source):
        pipeline = Gst.parse_launch(f"{source} ! videoconvert ! {self.SINK}")
        samples = pull_samples(pipeline)
        play(pipeline)
        if not samples:
            raise RuntimeError(f"no frames: {source}")
        self.caps = samples[0].get_caps()
        # decoders may have few buffers of their own
        self.buffers = [sample.get_buffer().copy_deep() for sample in samples]
        structure = self.caps[0]
        self.size = tuple(structure.get_int(name)[1] for name in ("width", "height"))
        self.bgr = []

    def __len__(self):
        return len(self.buffers)

    def push(self, elements, first=0):
        """Sends the frames from `first` on through elements; (prepared pipeline, buffers)"""
        pipeline = Gst.parse_launch(f"appsrc name=source format=time max-bytes=0 ! {elements}")
        pipeline.get_by_name("source").set_property("caps", self.caps)
        return pipeline, self.buffers[first:]

    def pictures(self):
        """The frames as arrays of NumPy, converted once"""
        if not self.bgr:
            import numpy

            width, height = self.size
            pipeline, buffers = self.push(f"videoconvert ! video/x-raw,format=BGR ! {self.SINK}")
            samples = pull_samples(pipeline)
            play(pipeline, buffers)
            for sample in samples:
                buffer = sample.get_buffer()
                rows = numpy.frombuffer(buffer.extract_dup(0, buffer.get_size()), numpy.uint8)
                rows = rows.reshape(height, -1)[:, :3 * width]  # rows may be padded
                self.bgr.append(numpy.ascontiguousarray(rows.reshape(height, width, 3)))
        return self.bgr
