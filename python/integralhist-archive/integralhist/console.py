# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints safely, even if stdout or stderr is a file on a full disk or a closed pipe

    if __name__ == '__main__':
        console.run(main)

The exit status is that of `main ()`. It is 1 instead of 0 if stdout took no more, but not if the
reader of a pipe has gone, such as `head`. Python itself would exit with 120, or print a traceback.
"""
import contextlib
import errno
import io
import os
import select
import sys
import traceback

PATIENCE = 60  # seconds until a terminal or pipe that does not block takes more


class Sink(io.RawIOBase):
    """A file descriptor that remembers its first error, and drops all later output"""

    def __init__(self, descriptor, raises):
        super().__init__()
        self.descriptor, self.raises, self.error = descriptor, raises, None

    def writable(self):
        return True

    def fileno(self):
        return self.descriptor

    def isatty(self):
        return os.isatty(self.descriptor)

    def write(self, data):
        data = memoryview(data).cast('B')
        count = len(data)
        while data and not self.error:
            try:
                data = data[os.write(self.descriptor, data):]
            except BlockingIOError as problem:
                if not select.select([], [self.descriptor], [], PATIENCE)[1]:
                    self.error = problem
            except OSError as problem:
                self.error = problem
            if self.error and self.raises:
                raise self.error
        return count


def discard(stream):
    """Drops the buffer of a stream, which the interpreter would try to write at its end"""
    kept, nowhere = os.dup(stream.fileno()), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    stream.flush()
    os.dup2(kept, stream.fileno())
    for descriptor in kept, nowhere:
        os.close(descriptor)


def wrapped(stream, is_line_buffered, raises=False):
    """(stream over a Sink, the Sink); (None, None) if the stream was closed from the start"""
    if stream is None:
        return None, None
    try:
        sink = Sink(stream.fileno(), raises)
    except (OSError, ValueError):  # for example a test that collects the output
        return stream, None
    try:
        stream.flush()
    except OSError:
        discard(stream)
    return io.TextIOWrapper(io.BufferedWriter(sink), stream.encoding, stream.errors,
                            line_buffering=is_line_buffered), sink


def run(main, goes_on=False):
    """Ends the process with the result or the exception of `main ()`, once everything is printed

    A print to a stdout that takes no more raises an OSError, which ends a program whose output is
    its purpose. With `goes_on` the work goes on.
    """
    is_lined = sys.stdout is not None and (sys.stdout.line_buffering or sys.stdout.write_through)
    sys.stdout, out = wrapped(sys.stdout, is_lined, not goes_on)
    sys.stderr, _ = wrapped(sys.stderr, True)
    try:
        status = main() or 0
    except KeyboardInterrupt:
        status = 130
    except SystemExit as ended:
        status = ended.code or 0
    except Exception as problem:
        is_known = out and problem is out.error
        status = 0 if is_known else traceback.format_exc().rstrip()
    if sys.stdout:
        with contextlib.suppress(OSError):
            sys.stdout.flush()  # before stderr gets the message of the end
    text, status = (status, 1) if isinstance(status, str) else ('', status)
    if out and out.error and out.error.errno != errno.EPIPE:
        lost = f'{os.path.basename(sys.argv[0])}: stdout: {out.error.strerror}'
        text, status = '\n'.join(filter(None, (text, lost))), status or 1
    if sys.stderr and text:
        print(text, file=sys.stderr)
    sys.exit(status)
