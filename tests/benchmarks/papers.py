#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs what five papers measured, and writes docs/papers.md from it.

  papers.py run [--build DIR] [--out DIR] [--paper NAME] [--seconds S]
  papers.py page [--data DIR] [--docs DIR]
  papers.py                       both, on this machine

"run" needs only Python 3.11 and inthist-check. It writes a CSV for each experiment, and leaves
out those whose device or program is not here. "page" also plots where matplotlib is installed. It
needs no GPU: docs/measurements/papers has the data.

papers/*.toml has a paper each. An experiment has the commands to run, the figures that it stands
for, and claims, which are what the paper's text states, with the place:

  commands            of inthist-check, or of devices; what gives a wrong tensor is left out
  where               columns of the CSV and their values, for the table and the plot
  shown               more of these, for the table only; false if the plot is enough
  rows, columns       columns of the CSV that name the table's rows ("name") and columns; "size" is
                      the frame's, "table" the types
  rate, best          frames a second instead of microseconds; the fastest of a column is bold
  sentence            what agrees, what does not and why; {id} is a claim's value here
  unread              what is not compared, if the page needs to say it
  claims              [said, at, stated, over, under, {...}]: what is said, and where. `stated` is
                      a value, beside ours, or "least..most" of a ratio, of which one may be
                      missing; "" if nothing is compared.
      over, under     "NAME; column=value; ..." of the CSV ("alone" where no mode is given). The
                      claim's value is the time of one over that of the other, for each size, bins
                      and type (`each` names other columns), the fastest where several rows match.
                      `stage` is the time of one stage. `factor` is multiplied with it. Without
                      `under` it is frames a second, or GB/s of so many `passes` over the table's
                      bytes
      {...}           these, and `id`, which the sentence calls it
"""
import argparse
import csv
import glob
import io
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import time

import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
KEPT = ('device,content,width,height,planes,pixel,counter,picture,name,mode,tile,threads,median_us,'
        'p5_us,p95_us,stages').split(',')
SAME = ('size', 'planes', 'pixel', 'counter')
BYTES = {'u8': 1, 'u16': 2, 'u32': 4, 's32': 4, 'f32': 4, 'f64': 8, 'f32x4': 16}
NEAR = 1.25  # a ratio agrees that is off by less: it is another GPU
TITLES = {'size': 'frame', 'planes': 'bins'}


def selector(text):
    return dict(part.split('=', 1) if '=' in part else ('name', part) for part in text.split('; '))


def claim_of(said, at, stated, over, *rest):
    """The keys that a claim has, by name"""
    claim = {'said': said, 'over': selector(over), **({'at': at} if at else {})}
    for part in rest:
        claim.update({'under': selector(part)} if isinstance(part, str) else part)
    least, dots, most = stated.partition('..')
    ends = ({'least': least, 'most': most if dots else least} if 'under' in claim
            else {'published': stated})
    return {**claim, **{key: float(end) for key, end in ends.items() if end}}


def papers(folder):
    """{name: paper}, in the order of the page"""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, '*.toml'))):
        with open(path, 'rb') as file:
            paper = tomllib.load(file)
        for experiment in paper['experiment']:
            experiment['claims'] = [claim_of(*claim) for claim in experiment['claims']]
        found[os.path.basename(path)[:-5].split('-', 1)[1]] = paper
    return found


def one_line(text):
    return ' '.join(text.split())


# run


def programs(build):
    return {'inthist-check': os.path.join(build, 'tests/inthist-check/inthist-check'),
            'devices': os.path.join(build, 'tests/benchmarks/devices')}


def measure(command, options):
    """(rows, machine) of one command; raises RuntimeError if there are no rows"""
    words = shlex.split(command)
    at = next(i for i, word in enumerate(words) if word in programs(options.build))
    program, words[at] = words[at], programs(options.build)[words[at]]
    words += ['--seconds', str(options.seconds)]
    if words[:3] == ['taskset', '-c', '0']:
        words[2] = str(min(os.sched_getaffinity(0)))  # the first core that we may use
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, 'csv')
        words += ['--csv', path] if program == 'devices' else ['--format', 'csv', '--output', path]
        try:
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, errors='replace', check=False, timeout=600)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RuntimeError(str(error)) from error
        said = done.stdout.splitlines()
        wrong = {match.groups() for match in (
            re.match(r'FAIL: (\d+x\d+)\S* .*?on \w+, ([^,]+),', line) for line in said) if match}
        rows = []
        if os.path.exists(path):
            with open(path, newline='', encoding='utf-8') as file:
                rows = [row for row in csv.DictReader(file)
                        if (f'{row["width"]}x{row["height"]}', row.get('name')) not in wrong]
    if not rows or (done.returncode != 0 and not wrong):
        why = [line for line in said if line.startswith('SKIP: ')] or said
        raise RuntimeError(why[-1].removeprefix('SKIP: ') if why else 'nothing was measured')
    for line in said:
        if line.startswith(('FAIL', 'SKIP')):
            print(f'  {line}')
    if program == 'devices':
        rows = [dict(row, device='CPU' if row['where'].startswith('CPU') else 'CUDA',
                     content='bins', planes=row['bins'], pixel='u8', counter='u32', mode='alone',
                     name=row['where'], tile=0, threads=0,
                     median_us=f'{1e6 / float(row["frames_per_second"]):.3f}') for row in rows]
    return rows, {key: rows[0].get(key) for key in ('cpu', 'gpu', 'driver', 'runtime')}


def commit():
    done = subprocess.run(['git', 'rev-parse', '--short', 'HEAD'], cwd=ROOT, capture_output=True,
                          text=True, check=False) if os.path.exists(f'{ROOT}/.git') else None
    return done.stdout.strip() if done and done.returncode == 0 else 'unknown'


def run(options):
    os.makedirs(options.out, exist_ok=True)
    chosen = {name: paper for name, paper in papers(options.papers).items()
              if options.paper in (None, name)}
    if not chosen:
        sys.exit(f'papers.py: no paper {options.paper}: {", ".join(papers(options.papers))}')
    ran, skipped, started = 0, 0, time.monotonic()
    for name, paper in chosen.items():
        for experiment in paper['experiment']:
            label = f'{name}-{experiment["name"]}'
            print(f'{label} ({time.monotonic() - started:.0f} s)', flush=True)
            rows, machine, commands = [], {}, []
            for command in map(one_line, experiment['commands']):
                try:
                    measured, seen = measure(command, options)
                except RuntimeError as error:
                    print(f'  SKIP: {command}: {error}', flush=True)
                    continue
                rows += measured
                commands.append(command)
                machine.update({key: value for key, value in seen.items() if value})
            skipped += not rows
            if not rows:
                continue
            path = os.path.join(options.out, f'{label}.csv')
            if 'gpu' not in machine and os.path.exists(path) and 'gpu' in Data(path).head:
                print(f'  SKIP: {path} is of a GPU, and stays')
                skipped += 1
                continue
            ran += 1
            with open(path, 'w', encoding='utf-8') as file:
                for key, value in {'date': time.strftime('%Y-%m-%d'), **machine,
                                   'commit': options.commit or commit()}.items():
                    file.write(f'# {key}: {value}\n')
                for command in commands:
                    file.write(f'# command: {command} --seconds {options.seconds}\n')
                writer = csv.DictWriter(file, KEPT, extrasaction='ignore', lineterminator='\n')
                writer.writeheader()
                writer.writerows(rows)
    print(f'papers.py: {ran} experiments in {time.monotonic() - started:.0f} s, {skipped} skipped; '
          f'{options.out}')
    return ran


# page


class Data:
    """The measurements of an experiment"""

    def __init__(self, path):
        with open(path, encoding='utf-8') as file:
            lines = file.readlines()
        heads = [line[2:].rstrip('\n').split(': ', 1) for line in lines if line.startswith('# ')]
        self.head = {key: value for key, value in heads if key != 'command'}
        self.rows = list(csv.DictReader(io.StringIO(
            ''.join(line for line in lines if not line.startswith('# ')))))
        for row in self.rows:
            row['size'] = f'{row["width"]}x{row["height"]}'
            row['table'] = f'{row["pixel"]}:{row["counter"]}'

    def select(self, where):
        return [row for row in self.rows if all(
            row[key] in (value if isinstance(value, list) else [value])
            for key, value in where.items())]

    def times(self, selector, each):
        """{group: the shortest time}; of a stage if the selector names one"""
        where = {'mode': 'alone', **selector}
        stage = where.pop('stage', None)
        groups = {}
        for row in self.select(where):
            value = float(row['median_us'])
            if stage:
                stages = dict(part.rsplit(' ', 1) for part in row['stages'].split(';') if part)
                if stage not in stages:
                    continue
                value = float(stages[stage])
            key = tuple(row[column] for column in each)
            groups[key] = min(groups.get(key, math.inf), value)
        return groups

    def value(self, claim):
        """The least and the greatest of a claim's values; None without measurements"""
        each = claim.get('each', SAME)
        over = self.times(claim['over'], each)
        if 'under' in claim:
            under = self.times(claim['under'], each)
            values = [claim.get('factor', 1) * over[key] / under[key]
                      for key in over if key in under]
        elif 'passes' in claim:
            values = [claim['passes'] * number_of_bytes(dict(zip(each, key))) / 1e3 / us
                      for key, us in over.items()]
        else:
            values = [1e6 / us for us in over.values()]
        return (min(values), max(values)) if values else None


def number_of_bytes(group):
    width, height = map(int, group['size'].split('x'))
    return width * height * int(group['planes']) * BYTES[group['counter']]


def number(value):
    """Three digits"""
    digits = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 0
    return f'{value:,.{digits}f}'


def range_of(pair):
    low, high = map(number, pair)
    return low if low == high else f'{low} to {high}'


def published(claim):
    if 'published' in claim:
        return f'{claim["published"]:g}'
    least, most = claim.get('least'), claim.get('most')
    if least is None or most is None:
        return (f'more than {least:g}' if least is not None
                else f'up to {most:g}' if most is not None else '-')
    return f'{least:g}' if least == most else f'{least:g} to {most:g}'


def verdict(claim, value):
    if value is None:
        return '-'
    if 'published' in claim:
        return f'{number(value[1] / claim["published"])} times as much'
    if 'least' not in claim and 'most' not in claim:
        return '-'
    near = NEAR if 'least' in claim and 'most' in claim else 1
    least, most = claim.get('least', 0) / near, claim.get('most', math.inf) * near
    if value[1] < least or value[0] > most:
        return 'no, less' if value[1] < least else 'no, more'
    return 'yes' if least <= value[0] and value[1] <= most else 'in part'


def text_of(claim, value):
    """The text for {id} in a sentence: our value, or how many times the published one it is"""
    if not value:
        return 'an unknown number of'
    return range_of([one / claim.get('published', 1) for one in value])


def row_name(row, experiment):
    return ', '.join(row[key] if key in ('name', 'mode', 'device', 'table') else
                     f'{TITLES.get(key, key)} {row[key]}'
                     for key in experiment.get('rows', ['name']) if row[key] not in ('', '0'))


def column_name(row, experiment):
    return 'x'.join(row[key] for key in experiment['columns'])


def series(experiment, data, more=None):
    """{row: {column: microseconds or frames a second}} of the experiment's `where`, and of more"""
    lines = {}
    for row in data.select({**experiment.get('where', {}), **(more or {})}):
        us = float(row['median_us'])
        line = lines.setdefault(row_name(row, experiment), {})
        line[column_name(row, experiment)] = 1e6 / us if experiment.get('rate') else us
    return lines


def order(name):
    return [int(part) for part in re.findall(r'\d+', name)]


def table_of(experiment, lines):
    columns = sorted({column for line in lines.values() for column in line}, key=order)
    best = {column: min(line[column] for line in lines.values() if column in line)
            for column in columns} if experiment.get('best') else {}

    def cell(line, column):
        text = number(line[column]) if column in line else '-'
        return f'**{text}**' if column in line and line[column] == best.get(column) else text

    unit = 'frames/s' if experiment.get('rate') else 'us'
    title = 'x'.join(TITLES.get(key, key) for key in experiment['columns'])
    return [f'| {unit}, by {title} | {" | ".join(columns)} |', '|---' * (len(columns) + 1) + '|',
            *(f'| {name} | {" | ".join(cell(line, c) for c in columns)} |'
              for name, line in lines.items())]


def wrapped(text, most=100):
    """Lines of at most so many columns"""
    lines = ['']
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > most:
            lines.append('')
        lines[-1] += (' ' if lines[-1] else '') + word
    return lines


def measured_on(data):
    """Date, commit and machine, in a sentence"""
    head = data.head
    where = '; '.join(f'{key.upper() if key != "driver" else key} {head[key]}'
                      for key in ('gpu', 'driver', 'cpu') if key in head)
    return f'Measured on {head["date"]}, commit {head["commit"]}: {where}.'


def claims_of(experiment, data):
    """Rows of the table of claims"""
    rows = []
    for claim in experiment['claims']:
        value = data and data.value(claim)
        rows.append(f'| {claim["said"]} ({claim.get("at", "this project")}) | {published(claim)} '
                    f'| {range_of(value) if value else "-"} | {verdict(claim, value)} |')
    return rows


def section(label, experiment, data, usual):
    """Lines about an experiment; `usual` is where most experiments were measured"""
    about = f'**{experiment["figure"]}:** {experiment["about"]}'
    if not data:
        return [*wrapped(f'{about} Not measured yet.'), '']
    texts = {claim['id']: text_of(claim, data.value(claim))
             for claim in experiment['claims'] if 'id' in claim}
    where = measured_on(data)
    lines = wrapped(' '.join((
        about, experiment['sentence'].format(**texts), experiment.get('unread', ''),
        where if where != usual else '',
        f'[Data](measurements/papers/{label}.csv), [plot](images/papers/{label}.png).')))
    if experiment.get('shown', True):
        lines += ['', *table_of(experiment, series(experiment, data, experiment.get('shown')))]
    return lines + ['']


def plot(path, experiment, data):
    """Plots our curves, and next to them each claim: the published range, and ours"""
    import matplotlib
    matplotlib.use('Agg')
    matplotlib.rcParams['font.size'] = 8
    import matplotlib.pyplot as plt
    lines = series(experiment, data)
    columns = sorted({column for line in lines.values() for column in line}, key=order)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
    for name, line in list(lines.items())[:10]:  # as many as there are colours
        xs = [i for i, column in enumerate(columns) if column in line]
        left.plot(xs, [line[columns[i]] for i in xs], marker='o', markersize=3, label=name)
    left.set_xticks(range(len(columns)), columns, rotation=30, ha='right')
    left.set(yscale='log', ylabel='frames a second' if experiment.get('rate') else 'microseconds')
    left.legend(fontsize=6, frameon=False)
    shown = [(claim, data.value(claim)) for claim in experiment['claims']
             if any(key in claim for key in ('published', 'least', 'most'))]
    for i, (claim, value) in enumerate(reversed(shown)):
        ends = [claim['published']] * 2 if 'published' in claim else [
            claim.get('least', claim.get('most')), claim.get('most', claim.get('least'))]
        mark = '<' if 'least' not in claim else '>' if 'most' not in claim else '|'
        right.plot(ends, [i + 0.15] * 2, color='#999999', linewidth=4,
                   marker='|' if 'published' in claim else mark,
                   label='published' if i == 0 else None)
        if value:
            right.plot(value, [i - 0.15] * 2, marker='|', color='#0072b2', linewidth=4,
                       label='here' if i == 0 else None)
    right.set_yticks(range(len(shown)), fontsize=6, labels=[
        textwrap.shorten(claim['said'], 55, placeholder=' ...') for claim, _ in reversed(shown)])
    right.set(xscale='log', xlabel='published, and here')
    right.legend(fontsize=6, frameon=False)
    for axis in (left, right):
        axis.grid(color='#dddddd')
    left.xaxis.minorticks_off()
    figure.tight_layout()
    figure.savefig(path, dpi=120, metadata={'Software': None})
    plt.close(figure)


def text_of_page(found, data_of):
    places = [measured_on(data) for data in data_of.values()]
    usual = max(places, key=places.count, default='')
    lines = ['<!-- SPDX-License-Identifier: LGPL-2.1-or-later -->', '# The papers, reproduced', '',
             *wrapped('This page compares the figures of five papers with what this project '
                      'measures. All algorithms are [built in](elements.md#cudaintegralhist). '
                      'This measures again and writes this page:'),
             '', '```sh', 'tests/benchmarks/papers.py', '```', '',
             *wrapped('The column "published" has figures that the text states. '
                      'Curves without numbers are not compared. '
                      f'A range agrees within a factor of {NEAR}, because the GPUs differ; "more '
                      'than" and "up to" are strict. Times are of one frame after another, from '
                      'pixels on the GPU to the tensor. Transfers use pinned memory. The data have '
                      'the commands at their head.'),
             '', *wrapped(f'{usual}' if usual else ''), '']
    for name, paper in found.items():
        lines += [f'## {paper["title"]}', '', *wrapped(
            f'{paper["reference"]}. {paper.get("describes", "")} Machines: {paper["machines"]}.'),
            '']
        labels = {f'{name}-{experiment["name"]}': experiment for experiment in paper['experiment']}
        lines += ['| time or rate | published | here | agrees |', '|---' * 4 + '|']
        for label, experiment in labels.items():
            lines += claims_of(experiment, data_of.get(label))
        lines.append('')
        for label, experiment in labels.items():
            lines += section(label, experiment, data_of.get(label), usual)
    return '\n'.join(lines).rstrip('\n') + '\n'


def page(options):
    found, data_of = papers(options.papers), {}
    for name, paper in found.items():
        for experiment in paper['experiment']:
            path = os.path.join(options.data, f'{name}-{experiment["name"]}.csv')
            if os.path.exists(path):
                data_of[f'{name}-{experiment["name"]}'] = Data(path)
    os.makedirs(options.docs, exist_ok=True)
    with open(os.path.join(options.docs, 'papers.md'), 'w', encoding='utf-8') as file:
        file.write(text_of_page(found, data_of))
    images = os.path.join(options.docs, 'images', 'papers')
    os.makedirs(images, exist_ok=True)
    try:
        for name, paper in found.items():
            for experiment in paper['experiment']:
                label = f'{name}-{experiment["name"]}'
                if label in data_of:
                    plot(os.path.join(images, f'{label}.png'), experiment, data_of[label])
    except ImportError as error:
        print(f'papers.py: SKIP: plots: {error.name} is not installed')
    print(f'papers.py: {os.path.join(options.docs, "papers.md")}, '
          f'{len(data_of)} experiments with data')


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', nargs='?', choices=('run', 'page'))
    data = os.path.join(ROOT, 'docs', 'measurements', 'papers')
    parser.add_argument('--build', default=os.path.join(ROOT, 'build'))
    parser.add_argument('--out', default=data, help='where "run" puts its files')
    parser.add_argument('--paper', help='one paper alone, such as chen-2018')
    parser.add_argument('--seconds', type=float, default=1, help='for each shape and device')
    parser.add_argument('--commit', help='where there is no git')
    parser.add_argument('--data', default=data, help='where "page" finds them')
    parser.add_argument('--docs', default=os.path.join(ROOT, 'docs'))
    parser.add_argument('--papers', default=os.path.join(HERE, 'papers'))
    options = parser.parse_args()
    if options.what != 'page' and run(options) == 0:
        sys.exit(77)
    if options.what != 'run':
        page(options)


if __name__ == '__main__':
    main()
