# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files of MOTChallenge, and the scores of tracks beside the true boxes.

Boxes are (x, y, width, height), and the first pixel is 0. Truth and tracks are [{id: box}], one
dictionary for each frame.
"""
import motmetrics
import numpy

from scores import overlap

PEDESTRIAN = 1  # the class that MOTChallenge scores, in files with nine columns


def read_lines(path):
    """(index of the frame, numbers) of each line; the first frame of a file is 1"""
    with open(path, encoding="ascii") as file:
        for line in file:
            if line.strip():
                numbers = [float(number) for number in line.split(",")]
                yield int(numbers[0]) - 1, numbers


def read_truth(path, with_ignored=False):
    """The true boxes of each frame, without those that MOTChallenge does not score"""
    frames = []
    for index, numbers in read_lines(path):
        frames += [{} for _ in range(index + 1 - len(frames))]
        ignored = (numbers[6:7] == [0] or len(numbers) == 9 and numbers[7] != PEDESTRIAN)
        if with_ignored or not ignored:
            x, y, width, height = numbers[2:6]
            frames[index][int(numbers[1])] = (x - 1, y - 1, width, height)
    return frames


def read_detections(path, count, sure):
    """[(box, confidence)] of each of `count` frames; without confidences if all are sure

    The confidences of some detectors are no probabilities. If any is outside of 0 to 1, all are
    scaled so that 96 % of them fill that range, and none is below 0.05.
    """
    lines = [(index, numbers) for index, numbers in read_lines(path) if index < count]
    confidences = numpy.array([numbers[6] for _, numbers in lines])
    if len(lines) > 0 and (confidences.min() < 0 or confidences.max() > 1):
        low, high = numpy.percentile(confidences, [2, 98])
        confidences = ((confidences - low) / max(high - low, 1e-9)).clip(0.05, 1)
    frames = [[] for _ in range(count)]
    for (index, (_, _, x, y, width, height, *_)), confidence in zip(lines, confidences):
        frames[index].append(((x - 1, y - 1, width, height), None if sure else float(confidence)))
    return frames


def overlaps(targets, found):
    """The overlap of each true box of a frame with each track"""
    return numpy.array([[overlap(target, box) for box in found.values()]
                        for target in targets.values()]).reshape(len(targets), len(found))


def identity_scores(truth, tracks):
    """MOTA, IDF1 and switches by motmetrics, at an overlap of 0.5"""
    accumulator = motmetrics.MOTAccumulator(auto_id=True)
    for targets, found in zip(truth, tracks):
        shared = overlaps(targets, found)
        accumulator.update(list(targets), list(found),
                           numpy.where(shared >= 0.5, 1 - shared, numpy.nan))
    summary = motmetrics.metrics.create().compute(
        accumulator, metrics=["mota", "idf1", "num_switches"])
    mota, idf1, switches = summary.iloc[0]
    return float(mota), float(idf1), int(switches)


def hota(truth, tracks):
    """HOTA, and its parts of detection and of association, by TrackEval"""
    from trackeval.metrics import HOTA

    def numbered(frames):
        numbers = {name: i for i, name in enumerate(sorted({n for frame in frames for n in frame}))}
        return numbers, [numpy.array([numbers[name] for name in frame], int) for frame in frames]

    (true_ids, targets), (track_ids, found) = numbered(truth), numbered(tracks)
    scores = HOTA().eval_sequence({
        "num_timesteps": len(truth),
        "gt_ids": targets,
        "tracker_ids": found,
        "similarity_scores": [overlaps(*frame) for frame in zip(truth, tracks)],
        "num_gt_ids": len(true_ids),
        "num_tracker_ids": len(track_ids),
        "num_gt_dets": sum(map(len, targets)),
        "num_tracker_dets": sum(map(len, found)),
    })
    return tuple(float(scores[name].mean()) for name in ("HOTA", "DetA", "AssA"))
