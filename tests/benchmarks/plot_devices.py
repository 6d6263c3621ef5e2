#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plots what `devices --csv FILE` measured: frames a second over the size of the frame.

There is a curve for each place of the tensors and each number of devices.

    plot_devices.py FILE.csv FILE.png

Needs matplotlib.
"""
import csv
import sys
from collections import defaultdict

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

STYLES = {
    "CPU, 1 thread": ("#999999", ":"),
    "CPU, all cores": ("#555555", ":"),
    "resident": (None, "-"),
    "downloaded": (None, "--"),
    "rounds, a tenth": (None, "-."),
}
COLOURS = {1: "#0072b2", 2: "#d55e00", 4: "#009e73", 8: "#cc79a7"}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    curves = defaultdict(lambda: defaultdict(dict))  # bins, (where, devices), pixels
    names = {}
    try:
        with open(sys.argv[1], newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                pixels = int(row["width"]) * int(row["height"])
                names[pixels] = f'{row["width"]}x{row["height"]}'
                curve = curves[int(row["bins"])][row["where"], int(row["devices"])]
                curve[pixels] = float(row["frames_per_second"])
    except (OSError, KeyError, ValueError) as error:
        sys.exit(f"{sys.argv[1]} is no file of devices --csv: {error!r}")
    if not curves:
        sys.exit(f"{sys.argv[1]} has no measurements")
    figure, axes = plt.subplots(
        1, len(curves), figsize=(7.5 * len(curves), 6), squeeze=False, sharey=True)
    for axis, (bins, lines) in zip(axes[0], sorted(curves.items())):
        for (where, devices), points in sorted(lines.items()):
            colour, dashes = STYLES.get(where, (None, "-"))
            gpus = "GPU" if devices == 1 else "GPUs"
            label = where if where.startswith("CPU") else f"{devices} {gpus}, {where}"
            xs = sorted(points)
            axis.plot([x / 1e6 for x in xs], [points[x] for x in xs], dashes,
                      color=colour or COLOURS.get(devices, "#000000"),
                      marker="o", markersize=4, label=label)
        axis.set(xscale="log", yscale="log", title=f"{bins} bins, u32", xlabel="frame")
        axis.set_xticks([x / 1e6 for x in sorted(names)], [names[x] for x in sorted(names)],
                        rotation=30, ha="right")
        axis.minorticks_off()
        axis.grid(color="#dddddd")
    axes[0][0].set_ylabel("frames a second")
    axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    figure.tight_layout()
    figure.savefig(sys.argv[2], dpi=96)
    measurements = sum(len(points) for lines in curves.values() for points in lines.values())
    print(f"{sys.argv[2]}: {measurements} measurements")


if __name__ == "__main__":
    main()
