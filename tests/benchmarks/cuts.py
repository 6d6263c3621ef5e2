#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures when integralhisttrack says that a target has disappeared, and when it is found again.

    cuts.py [--settings PROPERTIES] [--cuts FRAME,...] [--check] [FOLDER]

FOLDER ($INTHIST_TEST_DATA, or else ../shared/data beside the project, and there tracking/) has
sequences as accuracy.py reads them. A film is made of each sequence and each cut: the frames before
the cut, the first 40 frames of the next sequence at the same size, and the frames behind the cut.
Films in which the target is not followed at the cut, with an overlap of half, do not count.

    lost    share of the films in which the target is lost within 15 frames of the other sequence
    found   share in which it is followed again, with an overlap of half, within 25 frames

--check fails if less than 0.85 are lost, or less than 0.7 are found again.
"""
import os

from scores import inside, is_there, mean, overlap, parser_of
from sequences import Clip, Gst, find_sequences, run
from single_target import Cost, IntegralHistTrack

GONE, LOST_WITHIN, FOUND_WITHIN, BEHIND = 40, 15, 25, 60
FRAME = Gst.SECOND // 25


class Film(Clip):
    """Frames of a clip with frames of another source in between"""

    def __init__(self, clip, other, cut):  # pylint: disable=super-init-not-called
        self.caps, self.size, self.bgr = clip.caps, clip.size, []
        frames = clip.buffers[:cut] + other + clip.buffers[cut:cut + BEHIND]
        self.buffers = [frame.copy_deep() for frame in frames]
        for number, buffer in enumerate(self.buffers):
            buffer.pts, buffer.duration = number * FRAME, FRAME


def frames_like(clip, source):
    """The first frames of a source, in the clip's format and size"""
    structure = clip.caps[0]
    caps = f"video/x-raw,format={structure.get_string('format')}"
    caps += ",width={},height={},pixel-aspect-ratio=1/1".format(*clip.size)
    return Clip(f"{source} ! videoconvert ! videoscale add-borders=false ! {caps}").buffers[:GONE]


def any_of_first(values, limit):
    """True if one of the first `limit` values is true"""
    return any(list(values)[:limit])


def measure(tracker, clip, other, truth, cut):
    """(whether the target was lost, whether it was found again); None if it was not followed"""
    start = inside(truth[0], clip.size)
    tracks = list(tracker.follow(Film(clip, other, cut), 0, start, Cost()))

    def is_right(track, box):
        return not track[2] and is_there(box) and overlap(track[0], box) >= 0.5

    if len(tracks) < cut + GONE or not is_right(tracks[cut - 1], truth[cut - 1]):
        return None
    behind = zip(tracks[cut + GONE:], truth[cut:])
    return (any_of_first((track[2] for track in tracks[cut:cut + GONE]), LOST_WITHIN),
            any_of_first((is_right(track, box) for track, box in behind), FOUND_WITHIN))


def main():
    """Prints a line for each film, and the shares"""
    parser = parser_of(__doc__, "tracking")
    parser.add_argument("--settings", default="")
    parser.add_argument("--cuts", default="30,60,90,150")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    Gst.init(None)
    sequences = find_sequences(options.folder) if os.path.isdir(options.folder) else {}
    if len(sequences) < 2:
        print(f"SKIP: cuts: no two sequences in {options.folder}")
        return 77
    tracker = IntegralHistTrack("cpu", options.settings, "")
    names, films = list(sequences), []
    for name, after in zip(names, names[1:] + names[:1]):
        clip, truth = Clip(sequences[name][0]), sequences[name][1]
        other = frames_like(clip, sequences[after][0])
        if len(other) < GONE:
            print(f"{name:<16} not cut: {after} has {len(other)} frames only")
            continue
        for cut in map(int, options.cuts.split(",")):
            if cut + FOUND_WITHIN <= min(len(clip), len(truth)):
                film = measure(tracker, clip, other, truth, cut)
                if film:
                    films.append(film)
                    print(f"{name:<16} cut at {cut:>3}: {'lost' if film[0] else 'not lost'}, "
                          f"{'found again' if film[1] else 'not found'}", flush=True)
    if not films:
        print("SKIP: cuts: no target is followed at a cut")
        return 77
    lost, found = (mean(film[i] for film in films) for i in (0, 1))
    print(f"cuts: {len(films)} films, lost {lost:.2f}, found {found:.2f}")
    return 1 if options.check and (lost < 0.85 or found < 0.7) else 0


if __name__ == "__main__":
    run(main)
