# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws trackers' success and precision, and their accuracy over their speed, as an SVG."""
import math

from scores import mean

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
DASHES = ["", "6 3", "2 3", "8 3 2 3"]
WIDTH, HEIGHT, LEFT, TOP = 380, 300, 60, 40
BOTTOM = TOP + HEIGHT


def stroke(row):
    """Colour and dashes of a tracker"""
    return (f'stroke="{COLOURS[row % len(COLOURS)]}" stroke-width="2" '
            f'stroke-dasharray="{DASHES[row // len(COLOURS) % len(DASHES)]}"')


def axes(column, title, xlabel, ticks):
    """The frame of a chart: ticks are (share of the width, text)"""
    x0 = LEFT + column * (LEFT + WIDTH)
    yield (f'<text x="{x0 + WIDTH / 2}" y="{TOP - 14}" text-anchor="middle" '
           f'font-size="15">{title}</text>')
    yield f'<text x="{x0 + WIDTH / 2}" y="{BOTTOM + 40}" text-anchor="middle">{xlabel}</text>'
    for share, text in ticks:
        x = x0 + WIDTH * share
        yield f'<path d="M{x:.1f} {TOP}V{BOTTOM}" stroke="#dddddd"/>'
        yield f'<text x="{x:.1f}" y="{BOTTOM + 18}" text-anchor="middle">{text}</text>'
    for i in range(6):
        y = TOP + HEIGHT * i / 5
        yield f'<path d="M{x0} {y}h{WIDTH}" stroke="#dddddd"/>'
        yield f'<text x="{x0 - 8}" y="{y + 4}" text-anchor="end">{1 - i / 5:g}</text>'


def curves(column, rows, attribute):
    """A line for each tracker: the mean over its sequences"""
    x0 = LEFT + column * (LEFT + WIDTH)
    for row, results in enumerate(rows.values()):
        values = [mean(each) for each in zip(*(getattr(r, attribute) for r in results))]
        points = " ".join(f"{x0 + WIDTH * i / (len(values) - 1):.1f},{TOP + HEIGHT * (1 - v):.1f}"
                          for i, v in enumerate(values))
        yield f'<polyline points="{points}" fill="none" {stroke(row)}/>'


def speeds(column, rows):
    """A point for each tracker, on a logarithmic axis of frames a second"""
    rates = [mean(r.rate for r in results) for results in rows.values()]
    low, high = math.floor(math.log10(min(rates))), math.ceil(math.log10(max(rates)))
    high = max(high, low + 1)
    ticks = [((exponent - low) / (high - low), f"{10.0 ** exponent:g}")
             for exponent in range(low, high + 1)]
    yield from axes(column, "AUC over speed", "frames a second, mean over sequences", ticks)
    for row, (rate, results) in enumerate(zip(rates, rows.values())):
        x = (LEFT + column * (LEFT + WIDTH)
             + WIDTH * (math.log10(rate) - low) / (high - low))
        y = TOP + HEIGHT * (1 - mean(r.auc for r in results))
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="none" {stroke(row)}/>'


def plot(rows, path):
    """Draws {tracker: its results}."""
    total = BOTTOM + 60 + 20 * len(rows)
    fifths = [i / 5 for i in range(6)]
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{3 * (LEFT + WIDTH) + 40}" '
           f'height="{total}" font-family="sans-serif" font-size="13">',
           '<rect width="100%" height="100%" fill="white"/>',
           *axes(0, "Success: share of frames", "overlap above", [(i, f"{i:g}") for i in fifths]),
           *curves(0, rows, "success"),
           *axes(1, "Precision: share of frames", "centre error up to, pixels",
                 [(i, f"{50 * i:g}") for i in fifths]),
           *curves(1, rows, "precision"), *speeds(2, rows)]
    for row, (name, results) in enumerate(rows.items()):
        y = BOTTOM + 66 + 20 * row
        out.append(f'<path d="M{LEFT} {y - 4}h40" {stroke(row)}/>')
        out.append(f'<text x="{LEFT + 50}" y="{y}">{name}: '
                   f'AUC {mean(r.auc for r in results):.3f}, '
                   f'{mean(r.precision[20] for r in results):.3f} within 20 pixels, '
                   f'{mean(r.rate for r in results):.0f} frames a second</text>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out + ["</svg>"]) + "\n")
