#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tensors and tracks of GstAnalytics, as a Python program reads them that knows only GStreamer.

Counts are compared with NumPy's of the same pixels, maps with the picture that shows them, and
tracks with the regions of interest of the same frame.
"""
import unittest

import gi
import numpy
from pipelines import GLib, Gst, GstVideo, counts_of, frames, luma_of

try:
    gi.require_version('GstAnalytics', '1.0')
    from gi.repository import GstAnalytics
    MISSING = '' if hasattr(GstAnalytics, 'TensorMeta') else 'GstTensorMeta is of GStreamer 1.26'
except (ImportError, ValueError):
    MISSING = 'it takes GstAnalytics of GStreamer 1.26'
WIDTH, HEIGHT, FRAMES = 64, 48, 5
REGIONS = ((0, 0, 64, 48), (8, 9, 20, 10))
TEXT = ';'.join(','.join(map(str, region)) for region in REGIONS)
SOURCE = (f'videotestsrc num-buffers={FRAMES} pattern=ball ! '
          f'video/x-raw,format=GRAY8,width={WIDTH},height={HEIGHT}')


def tensor_of(buffer, name, dtype):
    """A tensor as an array, found by its id"""
    meta = GstAnalytics.buffer_get_tensor_meta(buffer)
    tensor = meta.get(meta.get_index_from_id(GLib.quark_from_string(name)))
    assert tensor.dims_order == GstAnalytics.TensorDimOrder.ROW_MAJOR
    with tensor.data.map(Gst.MapFlags.READ) as mapped:
        return numpy.frombuffer(mapped.data, dtype).reshape(tensor.get_dims()).copy()


@unittest.skipIf(MISSING, MISSING)
class Analytics(unittest.TestCase):
    def test_counts(self):
        group = 'integral-histogram-regions-v1-out-'
        count = 0
        for buffer in frames(f'{SOURCE} ! cudaintegralhist backend=cpu bins=8 regions="{TEXT}"'):
            picture = luma_of(buffer, WIDTH, HEIGHT)
            counts = tensor_of(buffer, group + 'counts', numpy.uint32)
            boxes = tensor_of(buffer, group + 'boxes', numpy.int32)
            self.assertEqual(boxes.tolist(), [list(region) for region in REGIONS])
            for box, row in zip(boxes, counts):
                self.assertEqual(row.tolist(), counts_of(picture, *box, 8).tolist())
            feature = tensor_of(buffer, group + 'feature', numpy.uint8)
            self.assertEqual(bytes(feature).decode(), 'luma')
            count += 1
        self.assertEqual(count, FRAMES)

    def test_map(self):
        group = 'integral-histogram-likelihood-v1-out-'
        count = 0
        for buffer in frames(f'{SOURCE} ! cudaintegralhist backend=cpu bins=8 ! '
                             'integralhistlikelihood mode=gray step=1 model=20,10,12,12'):
            values = tensor_of(buffer, group + 'map', numpy.float32)
            measure = tensor_of(buffer, group + 'measure', numpy.uint8)
            windows = tensor_of(buffer, group + 'windows', numpy.float32)
            self.assertEqual(bytes(measure).decode(), 'bhattacharyya')
            self.assertEqual(windows.tolist(), [-6, -6, 1, 1, 12, 12])
            # a distance of at most 1 is shown as 1 - distance
            shown = numpy.rint(255 * (1 - numpy.clip(values, 0, 1)))
            self.assertLessEqual(numpy.abs(shown - luma_of(buffer, WIDTH, HEIGHT)).max(), 1)
            self.assertGreater(values.max() - values.min(), 0.5)
            count += 1
        self.assertEqual(count, FRAMES)

    def test_tracks(self):
        ids = []
        for buffer in frames(f'{SOURCE} ! cudatrackfeatures backend=cpu ! '
                             'integralhisttrack targets="2,2,20,20;30,20,16,16"'):
            relations = GstAnalytics.buffer_get_analytics_relation_meta(buffer)
            mtds = list(relations)
            boxes = [mtd for mtd in mtds if isinstance(mtd, GstAnalytics.ODMtd)]
            tracks = [mtd for mtd in mtds if isinstance(mtd, GstAnalytics.TrackingMtd)]
            self.assertEqual((len(boxes), len(tracks)), (2, 2))
            for box in boxes:
                self.assertEqual(GLib.quark_to_string(box.get_obj_type()), 'track')
                related = [track for track in tracks
                           if relations.get_relation(box.id, track.id)
                           == GstAnalytics.RelTypes.RELATE_TO]
                self.assertEqual(len(related), 1)
                _, number, first, last, lost = related[0].get_info()
                self.assertEqual(first, 0)
                _, x, y, width, height, _ = box.get_location()
                region = GstVideo.buffer_get_video_region_of_interest_meta_id(buffer, number)
                self.assertEqual(region is None, lost)
                if not lost:
                    self.assertEqual(last, buffer.pts)
                    self.assertEqual((region.x, region.y, region.w, region.h),
                                     (x, y, width, height))
                ids.append(number)
        self.assertEqual(ids, [1, 2] * FRAMES)


if __name__ == '__main__':
    if MISSING:
        print(f'SKIP: analytics: {MISSING}')
    unittest.main()
