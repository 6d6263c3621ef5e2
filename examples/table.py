#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""table.py VIDEO OUT [--regions BOXES] [--grid 8x6] [--targets BOXES]: what is found, as rows

Writes the folder OUT: tables of Parquet, which are read as OUT/*/regions.parquet and
OUT/*/tracks.parquet, or with --format csv the files OUT/regions.csv and OUT/tracks.csv.

It may be killed at any time, and goes on when it is started again with the same arguments. Once it
has ended, each frame of a file is in OUT once. docs/results.md has the columns, and what it is that
is promised.

    meson devenv -C build python-venv/bin/python ../examples/table.py video.mp4 out --grid 8x6
    meson devenv -C build ../examples/table.py video.mp4 out --grid 8x6 --format csv

It needs python3-gi and python3-gst-1.0, and for Parquet pyarrow from PyPI.
"""
import argparse
import csv
import fcntl
import io
import json
import os
import re
import shutil
import sys

try:
    from integralhist import frames, tables
    from integralhist.durable import make_folder, sync_folder, write_json
except (ImportError, SystemExit) as error:  # `frames` exits if there is no GStreamer
    sys.exit(print(__doc__) if {'-h', '--help'} & {*sys.argv} else
             f'{error}\nThis needs the environment of meson devenv, or python3-gst-integralhist')

MOST_ROWS = 1000000  # of regions in a part, which are in memory until they are committed: 1 GB


class TableError(Exception):
    """An error in OUT, with a text for users"""


class Output:
    """The folder, and the code that both formats share

    state.json has the settings that OUT was begun with, and `done` after the end of a file.
    """

    def __init__(self, folder, settings):
        make_folder(folder)
        self.folder, self.path = folder, os.path.join(folder, 'state.json')
        self.lock = os.open(folder, os.O_RDONLY)  # the kernel unlocks it if this is killed
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise TableError(f'{folder}: another table.py writes there: '
                             'give another folder') from None
        try:
            with open(self.path, encoding='utf-8') as file:
                self.state = json.load(file)
        except FileNotFoundError:
            if set(os.listdir(folder)) - {'state.json.new'}:
                raise TableError(f'{folder} has other files: give a new folder') from None
            sync_folder(os.path.dirname(os.path.abspath(folder)))  # if a run was killed
            self.state = {'settings': settings}
            self.save()
        begun = self.state['settings']
        for name in sorted(begun.keys() | settings.keys()):
            if begun.get(name) != settings.get(name):
                raise TableError(f'{folder} was begun with {name} {begun.get(name)}, not '
                                 f'{settings.get(name)}: give another folder')

    def save(self, **changes):
        self.state.update(changes)
        write_json(self.path, self.state)


class Parquet(Output):
    """A folder for each part: OUT/000000000300-000000000599/ has the tables of these frames

    A part is written aside and renamed, which commits all its tables at once, and never changes.
    """

    def __init__(self, folder, settings, names):
        super().__init__(folder, settings)
        self.names, self.next = names, 0
        for name in sorted(os.listdir(folder)):
            if name.startswith('.part-'):
                shutil.rmtree(os.path.join(folder, name))  # an earlier run was killed
            match = re.fullmatch(r'(\d+)-(\d+)', name)
            if not match:
                continue
            if int(match[1]) != self.next:
                raise TableError(f'{folder}: frames {self.next} to {int(match[1]) - 1} are '
                                 'missing: give a new folder')
            self.next = int(match[2]) + 1

    def commit(self, end, rows, bins):
        import pyarrow.parquet
        name = f'{self.next:012d}-{end - 1:012d}'  # names sort in the order of frames
        aside = os.path.join(self.folder, f'.part-{name}')
        os.mkdir(aside)
        for table in self.names:
            with open(os.path.join(aside, f'{table}.parquet'), 'wb') as file:
                pyarrow.parquet.write_table(
                    tables.table(tables.schema(table, bins), rows[table]), file, compression='zstd')
                file.flush()
                os.fsync(file.fileno())
        sync_folder(aside)
        os.rename(aside, os.path.join(self.folder, name))
        sync_folder(self.folder)
        self.next = end


class Csv(Output):
    """A file for each table. state.json has the committed sizes, and the number of frames

    Bytes after that size, such as a torn line, come from a killed run, and are cut off.
    """

    def __init__(self, folder, settings, names):
        super().__init__(folder, settings)
        self.next = self.state.get('frames', 0)
        self.files, sizes = {}, self.state.get('bytes', {})
        for table in names:
            path = os.path.join(folder, f'{table}.csv')
            file = open(path, 'ab', buffering=0)
            if file.tell() < sizes.get(table, 0):
                raise TableError(f'{path} was {sizes[table]} bytes long, and is now {file.tell()}')
            file.truncate(sizes.get(table, 0))
            self.files[table] = file

    def commit(self, end, rows, bins):
        sizes = {}
        for table, file in self.files.items():
            text = io.StringIO()
            writer = csv.writer(text, lineterminator='\n')
            if os.fstat(file.fileno()).st_size == 0:
                columns = tables.COLUMNS[table]
                if columns[-1] == 'counts':
                    columns = (*columns[:-1], *(f'count{i}' for i in range(bins)))
                writer.writerow(columns)
            for row in rows[table]:
                writer.writerow((*row[:-1], *row[-1]) if table == 'regions' else row)
            data = memoryview(text.getvalue().encode())
            while data:
                data = data[file.write(data):]
            os.fsync(file.fileno())
            sizes[table] = os.fstat(file.fileno()).st_size
        self.save(frames=end, bytes=sizes)
        self.next = end


class Writer:
    """Collects rows, and commits them when a part is full"""

    def __init__(self, output, stream, options):
        self.output, self.stream, self.options = output, stream, options
        self.rows = {table: [] for table in tables.COLUMNS}
        self.end, self.written = output.next, dict.fromkeys(tables.COLUMNS, 0)

    def add(self, frame):
        for table, rows in tables.rows_of(self.options.name or self.stream.name, frame).items():
            self.rows[table] += rows
        self.end = frame.number + 1
        if self.end % self.options.part == 0:
            self.commit()

    def commit(self):
        if self.end == self.output.next:
            return
        if self.stream.late and not self.stream.live:  # a part is never changed afterwards
            raise frames.StreamError(f'{self.stream.name}: {self.stream.what_is_late()}')
        self.output.commit(self.end, self.rows, self.stream.count_bins())
        for table, rows in self.rows.items():
            self.written[table] += len(rows)
            rows.clear()


def settings_of(options, stream):
    names = 'targets', 'detections', 'regions', 'grid', 'feature', 'bins', 'part', 'format'
    return json.loads(json.dumps({**stream.identity, 'name': options.name or stream.name,
                                  **{name: getattr(options, name) for name in names}}))


def run(options):
    stream = frames.Stream(options, lambda number: number >= output.next)
    names = [table for table, wanted in (('regions', stream.wants_regions),
                                         ('tracks', stream.wants_tracks)) if wanted]
    kind = Parquet if options.format == 'parquet' else Csv
    output = kind(options.out, settings_of(options, stream), names)
    before = stream.first = output.next
    if output.state.get('done'):
        return f'{options.out}: all {before} frames were there already'
    writer, progress = Writer(output, stream, options), frames.Progress()
    frames.on_signals(stream.stop)
    try:
        with stream:
            for frame in stream:
                if frame.number >= before:
                    writer.add(frame)
                progress.step()
    except frames.StreamError:
        if stream.live:  # frames so far are complete, and do not come again
            writer.commit()
        raise
    finally:
        for warning in stream.warnings:  # such as which of several video streams this is
            print(f'table.py: {stream.name}: {warning}', file=sys.stderr)
    # The parts of a file are the same in each run, so one that is not full waits for the next run.
    if not stream.stopped or stream.live:
        writer.commit()
    if not stream.stopped and not stream.live:
        output.save(done=True)
    told = [f'{output.next} frames in {options.out}'
            + (f', {before} from before' if before else ''),
            *(f'{writer.written[table]} rows of {table} written' for table in names)]
    late = f'; {stream.what_is_late()}' if stream.late else ''
    return '; '.join(told) + late + (', stopped' if stream.stopped else '')


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    frames.add_arguments(parser, with_regions=True)
    parser.add_argument('out', metavar='OUT', help='a folder, which is made')
    parser.add_argument('--format', choices=('parquet', 'csv'), default='parquet')
    parser.add_argument('--name', help='the column video (VIDEO as it is given)')
    parser.add_argument('--part', type=int, default=300, metavar='FRAMES',
                        help='frames that are committed together (300)')
    options = parser.parse_intermixed_args()
    if not (options.regions or options.grid or options.targets or options.detections):
        parser.error('nothing is asked: give --regions, --grid, --targets or --detections')
    if options.part < 1 or not 1 <= options.bins <= 256:
        parser.error('set --part to 1 or more, and --bins to 1 to 256')
    columns, rows = options.grid or (0, 0)
    regions = len(options.regions) + columns * rows
    if regions * options.part > MOST_ROWS:
        parser.error(f'{regions} regions of {options.part} frames are {regions * options.part} '
                     f'rows, and a part has {MOST_ROWS} at most: ' + (
                         f'set --part {MOST_ROWS // regions}' if regions <= MOST_ROWS
                         else 'ask for fewer'))
    if options.format == 'parquet':
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            sys.exit('table.py: there is no pyarrow: pip install pyarrow, or take --format csv')
    try:
        print(run(options))
    except (frames.StreamError, TableError) as problem:
        sys.exit(f'table.py: {problem}')
    except OSError as problem:
        sys.exit(f'table.py: {problem.filename or options.out}: {problem.strerror}')


if __name__ == '__main__':
    from integralhist import console
    console.run(main, goes_on=True)
