#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random settings of cudaintegralhist in real pipelines, and random questions, against NumPy and
OpenCV.

    differential.py [--seed N] [--seconds N] [--combinations N]

Each combination has a seed of its own, SEED, SEED + 1, ... It is a format, a size, a layout, a
crop, an interlace mode, a feature, settings and questions. It ends after so many combinations, or
seconds, whichever comes first. Prints the seeds of the combinations that are wrong, and last a
line of counts. INTHIST_SEED is the seed if no option says one.

Environment: that of tests/python/features.py
"""
import argparse
import os
import sys
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../python'))
import virtual_environment  # noqa: E402

if __name__ == '__main__':
    virtual_environment.enter()

import numpy  # noqa: E402

import feature_truth as features  # noqa: E402
from pipelines import Gst, GstIntegralHist, GstVideo  # noqa: E402

import differential_truth as truth  # noqa: E402

FEATURES = ('luma', 'red', 'green', 'blue', 'cb', 'cr', 'hue', 'saturation', 'value', 'rgb',
            'ycbcr', 'hue-saturation', 'hsv', 'gradient', 'signed-gradient', 'lbp', 'uniform-lbp',
            'labels')
ODD_SIZES = ((1, 1), (1, 70), (70, 1), (2, 3), (1, 2), (257, 2), (16, 16), (17, 15), (6, 6), (5, 7))
JOINT = {'rgb': 3, 'ycbcr': 3, 'hue-saturation': 2, 'hsv': 3}
INTERLACES = ('interleaved', 'mixed', 'progressive')
WAIT = 30 * Gst.SECOND


class Combination:
    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.wrong, self.asked = [], 0
        self.feature = self.pick(FEATURES)
        self.choose_frames()
        self.choose_feature()
        self.choose_settings()
        self.line = (f'appsrc name=source format=time caps="{self.caps}" ! {self.before}'
                     f'cudaintegralhist {" ".join(self.settings)} ! {self.behind}'
                     'appsink name=sink sync=false')

    def chance(self, one_in):
        return self.random.integers(0, one_in) == 0

    def between(self, least, most):
        return int(self.random.integers(least, most + 1))

    def pick(self, things):
        return things[self.between(0, len(things) - 1)]

    def choose_frames(self):
        self.format = 'GRAY8' if self.feature == 'labels' else self.pick(features.FORMATS)
        self.width, self.height = self.between(1, 160), self.between(1, 120)
        if self.chance(10):
            self.width, self.height = self.pick(ODD_SIZES)
        self.matrix, self.full = self.pick(list(features.MATRICES)), self.chance(2)
        self.interlace = 'progressive' if self.chance(2) else self.pick(INTERLACES)
        self.caps = self.picture().caps().to_string().replace('framerate=(fraction)0/1',
                                                              'framerate=25/1')
        if self.interlace == 'interleaved':
            self.caps += f',field-order={self.pick(["top-field-first", "bottom-field-first"])}'
        self.crop = None
        if self.chance(4):
            x, y = self.between(0, self.width - 1), self.between(0, self.height - 1)
            self.crop = (x, y, self.between(1, self.width - x), self.between(1, self.height - y))
        self.before, self.cut = '', None
        chroma = features.components(self.format)[-1]
        # videocrop drops the last Cr of packed pixels in pairs if the width is odd
        can_cut = min(self.width, self.height) > 9 and self.format not in features.RGB_10 and \
            not (self.format in ('YUY2', 'UYVY') and self.width % 2)
        if can_cut and not self.crop and self.interlace == 'progressive' and self.chance(5):
            left, top, right, bottom = (2 * self.between(0, 2) if shift else self.between(0, 4)
                                        for shift in (chroma.right, chroma.down) * 2)
            self.cut = (left, top, self.width - left - right, self.height - top - bottom)
            self.before = f'videocrop left={left} top={top} right={right} bottom={bottom} ! '
        self.gaps = self.chance(3)
        self.n_frames, self.interval = self.between(1, 4), self.pick((1, 1, 1, 2, 3))

    def choose_feature(self):
        self.parts, self.table = (), None
        self.bins = self.pick((1, 2, 3, 7, 9, 16, 31, 32, 64, 100, 255, 256, self.between(1, 256)))
        self.settings = [f'feature={self.feature}', f'interval={self.interval}']
        has_bins = True
        if self.feature in JOINT:
            has_bins = False
            self.parts = features.DEFAULT_PARTS[self.feature]
            if not self.chance(3):
                self.parts = [self.between(1, 6) for _ in range(JOINT[self.feature])]
                self.settings.append('quantization=' + ','.join(map(str, self.parts)))
            self.bins = int(numpy.prod(self.parts))
        elif self.feature.endswith('lbp'):
            has_bins = False
            self.bins = 256 if self.feature == 'lbp' else 59
        elif self.feature in features.TURNS or self.feature == 'hue':
            self.bins = min(self.bins, 180)
        self.soft = False
        if self.chance(5):
            has_bins, self.bins = True, self.between(1, 255)
            most = 180 if self.feature in features.TURNS or self.feature == 'hue' else 256
            self.table = [self.between(0, min(255, self.bins + 20))
                          for _ in range(self.between(1, most))]
            self.table[0] = 0
            self.settings.append('lut="' + ','.join(map(str, self.table)) + '"')
        elif has_bins and self.feature not in ('labels', *features.TURNS):  # of rounded angles
            self.soft = self.chance(4)
            self.bins = min(self.bins, 255) if self.soft else self.bins
        if has_bins:
            self.settings.append(f'bins={self.bins}')
        self.weight = 'gradient' if self.chance(4) else 'one'

    def choose_settings(self):
        self.has_weights = self.weight != 'one' or self.soft
        counters = ('u32', 'u32', 'u16', 'u16-anchored', 'u8-tiled')
        self.counter = 'u32' if self.has_weights else self.pick(counters)
        compute = self.pick(('auto', 'eager', 'on-demand'))
        self.settings += [f'counter={self.counter}', f'weight={self.weight}',
                          f'soft={str(self.soft).lower()}', f'compute={compute}',
                          f'async-depth={self.between(1, 4)}', 'tuning-time=0']
        self.first = 0
        self.n = self.bins
        if self.bins > 1 and self.chance(6):
            self.first = self.between(0, self.bins - 1)
            self.n = self.between(1, self.bins - self.first)
            self.settings += [f'first-bin={self.first}', f'n-bins={self.n}']
        if self.chance(6):
            self.settings += ['backend=cpu', f'cuda-device-ids={self.pick(("0,1", "0,1,2"))}',
                              f'task-bins={self.between(0, 40)}']
        self.behind = self.pick(('', '', 'queue ! '))

    def picture(self, **options):
        variant = features.Variant(self.width, self.height, matrix=self.matrix, full=self.full,
                                   interlace=self.interlace, **options)
        return features.Picture(self.format, variant, self.random,
                                texture=lambda *size: truth.texture(self.random, *size))

    def make_frames(self):
        for i in range(self.n_frames):
            picture = self.picture(
                layout='random' if self.gaps else 'usual', crop=self.crop, cut=self.cut,
                has_fields=self.interlace == 'mixed' and self.chance(2))
            buffer = picture.buffer()
            buffer.pts, buffer.duration = i * 40000000, 40000000
            if picture.variant.is_woven() and self.chance(2):
                buffer.mini_object.flags |= int(GstVideo.VideoBufferFlags.TFF)
            yield picture, buffer

    def planes_of(self, picture):
        """[bin, y, x]: the amount that a pixel adds to a bin"""
        weights = features.weights_of(picture, self.weight, self.soft)
        if self.soft:
            return features.shares_of(self.feature, picture, self.bins, weights)
        return features.one_hot(features.bins_of(self.feature, picture, self.bins, self.parts,
                                                 self.table), weights, self.bins)

    def run(self):
        pipeline = Gst.parse_launch(self.line)
        source, sink = pipeline.get_by_name('source'), pipeline.get_by_name('sink')
        pipeline.set_state(Gst.State.PLAYING)
        try:
            frames = list(self.make_frames())
            for _, buffer in frames:
                source.push_buffer(buffer)
            source.end_of_stream()
            samples = [sink.try_pull_sample(WAIT) for _ in frames]
            if None in samples:
                message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
                self.wrong.append(message.parse_error()[0].message if message else 'no frame came')
                return
            if sink.try_pull_sample(WAIT):
                self.wrong.append('one frame too many')
            for i in self.random.permutation(len(frames)):
                self.check(int(i), frames[i][0], samples[i].get_buffer())
        finally:
            pipeline.set_state(Gst.State.NULL)

    def expect(self, holds, what):
        self.asked += 1
        if not holds:
            self.wrong.append(what)

    def check(self, i, picture, buffer):
        meta = GstIntegralHist.buffer_get_integral_histogram_meta(buffer)
        self.expect((meta is None) == (i % self.interval != 0), f'frame {i}: its meta is {meta}')
        if meta is None:
            return
        histogram = meta.histogram
        planes = self.planes_of(picture)[self.first:self.first + self.n]
        size = histogram.get_bins(), histogram.get_height(), histogram.get_width()
        if size != planes.shape:
            self.wrong.append(f'frame {i}: {size} is not {planes.shape}')
            return
        self.sums = truth.Sums(planes)
        self.pixels = truth.Sums(numpy.ones((1, *planes.shape[1:]), numpy.int64))
        questions = [self.ask_regions, self.ask_grid]
        if self.counter != 'u8-tiled':
            questions.append(self.ask_tensor)
        if self.n == self.bins:
            questions += [self.ask_likelihoods, self.ask_quantiles, self.ask_votes]
        for which in self.random.permutation(len(questions)):
            questions[which](histogram, f'frame {i}: {questions[which].__name__[4:]} ')

    def rectangle(self):
        width, height = self.sums.width, self.sums.height
        if self.chance(4):
            return (0, 0, width, height)
        return (self.between(-width, width), self.between(-height, height),
                self.between(1, 2 * width), self.between(1, 2 * height))

    def windows(self):
        """A grid, also over the borders, and its windows row by row"""
        size = self.between(1, self.sums.width + 2), self.between(1, self.sums.height + 2)
        step, origin = [self.between(1, 9) for _ in 'xy'], [self.between(-9, 9) for _ in 'xy']
        columns, rows = self.between(1, 7), self.between(1, 7)
        grid = {'window': size, 'step': step, 'origin': origin, 'columns': columns, 'rows': rows}
        return grid, [(origin[0] + i * step[0], origin[1] + j * step[1], *size)
                      for j in range(rows) for i in range(columns)]

    def divisor(self, rectangle):
        return self.sums.of(*rectangle).sum() if self.has_weights \
            else self.pixels.of(*rectangle)[0]

    def ask_regions(self, histogram, what):
        rectangles = [self.rectangle() for _ in range(self.between(1, 9))]
        wanted = numpy.array([self.sums.of(*r) for r in rectangles])
        self.expect((histogram.regions_sums(rectangles) == wanted).all(), what + str(rectangles))
        self.expect((histogram.regions(rectangles) == wanted).all(), what + str(rectangles))
        self.expect(list(histogram.region(*rectangles[0])) == list(wanted[0]),
                    what + str(rectangles[0]))

    def ask_grid(self, histogram, what):
        grid, windows = self.windows()
        wanted = numpy.array([self.sums.of(*w) for w in windows])
        self.expect((histogram.grid(**grid).reshape(wanted.shape) == wanted).all(),
                    what + str(grid))

    def ask_tensor(self, histogram, what):
        modulus = 1 << (32 if self.counter == 'u32' else 16)
        wanted = self.sums.table[:, 1:, 1:] % modulus
        self.expect((histogram.numpy() == wanted).all(), what)

    def model(self, measure):
        model = self.random.random(self.bins) * (self.random.random(self.bins) < 0.7)
        model[self.between(0, self.bins - 1)] = 0.5
        if self.chance(3):  # that of a window, if something counts there
            counts = self.sums.of(*self.rectangle())
            model = counts.astype(float) if counts.any() else model
        if measure == 'linear':
            model = model / model.max() * self.random.choice([-1, 1], self.bins)
        return model.astype(numpy.float32)

    def ask_likelihoods(self, histogram, what):
        measure = self.pick(truth.MEASURES)
        grid, windows = self.windows()
        model = self.model(measure)
        found = histogram.likelihood_maps(model, measure, **grid)
        values = found.values.ravel()
        for window, value in zip(windows, values):
            wanted, near = truth.likeness(measure, self.sums.of(*window), self.divisor(window),
                                          model)
            self.expect(abs(value - wanted) <= near,
                        f'{what}{measure} of {window} is {value}, must be {wanted}')
        is_more_better = measure in ('intersection', 'correlation', 'linear')
        best = values.max() if is_more_better else values.min()
        at = [window[:2] for window in windows].index((found.best.x, found.best.y))
        self.expect(found.best.value == best == values[at], f'{what}best of {measure}')

    def ask_quantiles(self, histogram, what):
        part = self.pick((0, 0.25, 0.5, 0.9, 1))
        grid, windows = self.windows()
        found = histogram.quantile_maps(part, **grid).ravel()
        for window, value in zip(windows, found):
            wanted = truth.quantile(self.sums.of(*window), self.divisor(window), part)
            self.expect(value == wanted, f'{what}{part} of {window} is {value}, must be {wanted}')

    def ask_votes(self, histogram, what):
        measure = self.pick(truth.MEASURES)
        grid, windows = self.windows()
        patches = [(self.between(-5, 20), self.between(-5, 20), self.between(1, 30),
                    self.between(1, 30)) for _ in range(self.between(1, 5))]
        models = [self.model(measure) for _ in patches]
        rank = self.between(0, len(patches) - 1)
        where = GstIntegralHist.IntegralHistogramGrid(
            *grid['window'], *grid['origin'], *grid['step'], grid['columns'], grid['rows'])
        nick = measure.upper().replace('-', '_')
        answers, _ = histogram.vote_maps(
            where, numpy.ravel(patches).tolist(), numpy.ravel(models).tolist(), rank,
            getattr(GstIntegralHist.IntegralHistogramMeasure, nick))
        for window, value in zip(windows, numpy.frombuffer(answers.get_data(), numpy.float32)):
            votes = []
            for (x, y, width, height), model in zip(patches, models):
                patch = (window[0] + x, window[1] + y, width, height)
                votes.append(truth.likeness(measure, self.sums.of(*patch), self.divisor(patch),
                                            model))
            votes.sort(reverse=measure in ('intersection', 'correlation', 'linear'))
            near = max(near for _, near in votes)
            self.expect(abs(value - votes[rank][0]) <= near,
                        f'{what}{measure} at {window[:2]} is {value}, must be {votes[rank][0]}')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--seed', type=int, default=int(os.environ.get('INTHIST_SEED', 1)))
    parser.add_argument('--seconds', type=float, default=20)
    parser.add_argument('--combinations', type=int, default=sys.maxsize)
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    n = n_wrong = n_asked = 0
    while n < options.combinations and time.monotonic() < until:
        seed = options.seed + n
        n += 1
        combination = Combination(seed)
        try:
            combination.run()
        except Exception:  # pylint: disable=broad-except
            combination.wrong.append(traceback.format_exc())
        n_asked += combination.asked
        if combination.wrong:
            n_wrong += 1
            print(f'seed {seed}: {combination.line}; crop {combination.crop}, gaps '
                  f'{combination.gaps}', *combination.wrong[:3], sep='\n  ', flush=True)
    print(f'{n} combinations from seed {options.seed} on, {n_asked} answers, {n_wrong} wrong')
    return 1 if n_wrong or n_asked == 0 else 0


if __name__ == '__main__':
    sys.exit(main())
