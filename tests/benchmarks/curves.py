# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws trackers' success and precision, and their accuracy over their speed, with matplotlib."""
from scores import ERRORS, OVERLAPS, mean


def plot(rows, path):
    """Draws {tracker: its results}."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (success, precision, speed) = plt.subplots(1, 3, figsize=(14, 4.5 + 0.2 * len(rows)))
    for name, results in rows.items():
        auc, rate = mean(r.auc for r in results), mean(r.rate for r in results)
        success.plot(OVERLAPS, [mean(each) for each in zip(*(r.success for r in results))])
        precision.plot(ERRORS, [mean(each) for each in zip(*(r.precision for r in results))])
        speed.plot(rate, auc, "o", label=(
            f"{name}: AUC {auc:.3f}, {mean(r.precision[20] for r in results):.3f} within 20 "
            f"pixels, {rate:.0f} frames a second"))
    success.set(title="Success: share of frames", xlabel="overlap above", ylim=(0, 1))
    precision.set(title="Precision: share of frames", xlabel="centre error up to, pixels",
                  ylim=(0, 1))
    speed.set(title="AUC over speed", xlabel="frames a second, mean over sequences", xscale="log",
              ylim=(0, 1))
    for axis in (success, precision, speed):
        axis.grid(color="#dddddd")
    figure.legend(loc="lower left", frameon=False)
    figure.tight_layout(rect=(0, 0.04 + 0.04 * len(rows), 1, 1))
    figure.savefig(path)
