# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a program prints, also if stdout or stderr is a file on a full disk or a closed pipe

    if __name__ == '__main__':
        console.run(main)

A print never raises an error in the middle of the work. The exit status is that of `main ()`. It is
1 in place of 0 if stdout took no more, but 0 if the reader of a pipe has gone, as `head` does.
Python itself would exit with 120, and print a traceback.
"""
import errno
import io
import os
import select
import sys
import traceback

PATIENCE = 60  # seconds until a terminal or pipe that does not block takes more


class Sink(io.RawIOBase):
    """A file descriptor that takes everything, and remembers the first error"""

    def __init__(self, descriptor):
        super().__init__()
        self.descriptor, self.error = descriptor, None

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
        return count


def wrapped(stream, is_line_buffered):
    """(stream over a Sink, the Sink); (None, None) of one that was closed from the start"""
    if stream is None:
        return None, None
    try:
        sink = Sink(stream.fileno())
        stream.flush()
    except (OSError, ValueError):  # as of a test that collects what is printed
        return stream, None
    return io.TextIOWrapper(io.BufferedWriter(sink), stream.encoding, stream.errors,
                            line_buffering=is_line_buffered), sink


def run(main):
    """Ends the process with what `main ()` returns, or raises, once everything is printed"""
    is_lined = sys.stdout is not None and (sys.stdout.line_buffering or sys.stdout.write_through)
    sys.stdout, out = wrapped(sys.stdout, is_lined)
    sys.stderr, _ = wrapped(sys.stderr, True)
    try:
        status = main() or 0
    except KeyboardInterrupt:
        status = 130
    except SystemExit as ended:
        status = ended.code or 0
    except Exception:
        status = traceback.format_exc().rstrip()
    if sys.stdout:
        sys.stdout.flush()  # before what stderr says of the end
    text, status = (status, 1) if isinstance(status, str) else ('', status)
    if out and out.error and out.error.errno != errno.EPIPE:
        lost = f'{os.path.basename(sys.argv[0])}: stdout: {out.error.strerror}'
        text, status = '\n'.join(filter(None, (text, lost))), status or 1
    if sys.stderr and text:
        print(text, file=sys.stderr)
    sys.exit(status)
