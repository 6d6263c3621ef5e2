# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws with matplotlib what trackers are worth."""
from scores import ERRORS, OVERLAPS, mean


def pyplot():
    """matplotlib without a display"""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot

    return matplotlib.pyplot


def plot_detections(rows, path):
    """Draws HOTA and IDF1 over n, of detectors that look at every n-th frame

    `rows` are those of detections.py's table. The first tracker is drawn bold.
    """
    plt = pyplot()
    cases = {}
    for row in rows:
        lines = cases.setdefault((row["sequence"], row["detector"]), {})
        for score in ("HOTA", "IDF1"):
            line = lines.setdefault(row["tracker"], {}).setdefault(score, {})
            line[row["every"]] = 100 * row[score]
    figure, axes = plt.subplots(2, len(cases), figsize=(3.2 * len(cases), 6), squeeze=False,
                                sharex=True, sharey="row")
    for column, ((sequence, detector), lines) in zip(axes.T, cases.items()):
        column[0].set_title(f"{sequence}, {detector}", fontsize=10)
        column[-1].set(xlabel="boxes of every n-th frame")
        for axis, score in zip(column, ("HOTA", "IDF1")):
            for i, (tracker, scores) in enumerate(lines.items()):
                axis.plot(scores[score].keys(), scores[score].values(), marker="o", markersize=4,
                          color="#000000" if i == 0 else f"C{i - 1}", linewidth=2.5 if i == 0
                          else 1.2, label=tracker)
            axis.set(xticks=sorted(scores[score]))
            axis.grid(color="#dddddd")
    for axis, score in zip(axes[:, 0], ("HOTA", "IDF1")):
        axis.set(ylabel=score, ylim=(0, 100))
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="lower center", frameon=False,
                  ncols=len(lines))
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(path, dpi=80)


def plot(rows, path):
    """Draws {tracker: its results}: success, precision, and the accuracy over the speed."""
    plt = pyplot()
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
