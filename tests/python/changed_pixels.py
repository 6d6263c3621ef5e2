#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests which elements of docs/pipelines.md keep the meta on changed pixels, and which drop it."""
import os
import re
import unittest

from pipelines import MISSING, ROOT, FolderTest, Gst, GstIntegralHist, playing, pull, run

WIDTH, HEIGHT = 160, 120
SVG = ('<svg xmlns=\'http://www.w3.org/2000/svg\' width=\'160\' height=\'120\'>'
       '<rect width=\'90\' height=\'90\' fill=\'#fff\'/></svg>')
# element: settings with which it changes a frame, and a format that it takes
KEEP = {
    'videobalance': ('brightness=0.3', 'I420'),
    'gamma': ('gamma=2', 'I420'),
    'coloreffects': ('preset=sepia', 'BGRx'),
    'chromahold': ('', 'BGRx'),
    'zebrastripe': ('threshold=50', 'I420'),
    'simplevideomark': ('', 'I420'),
    'textoverlay': ('text=hello', 'I420'),
    'timeoverlay': ('', 'I420'),
    'clockoverlay': ('', 'I420'),
    'gdkpixbufoverlay': ('location="{picture}"', 'I420'),
    'rsvgoverlay': (f'data="{SVG}"', 'BGRA'),
    'qroverlay': ('data=hello', 'I420'),
    'debugqroverlay': ('', 'I420'),
    'breakmydata': ('probability=1', 'I420'),
    'integralhistoverlay': ('regions="10,10,50,50"', 'I420'),
    'integralhistlikelihood': ('mode=blend', 'BGRx'),
}
# it draws what an application tells it to draw
UNTRIED = {'cairooverlay'}
DROP = {
    'videomedian': ('filtersize=5', 'I420'),
    'smooth': ('', 'I420'),
    'alpha': ('method=green', 'RGBA'),
    'deinterlace': ('mode=interlaced', 'I420'),
    'videobox': ('left=16 right=-16', 'I420'),
    'compositor': ('', 'I420'),
    'mirror': ('', 'BGRx'),
    'revtv': ('', 'BGRx'),
}
# elements that say where the picture is, from GStreamer 1.28 on, so that the meta follows
PLACED = {'videobox', 'compositor'}


def is_there(name):
    return Gst.ElementFactory.find(name) is not None


def second_frame(filters, form):
    """The bytes of a frame before and after the filters, and whether it still has the meta"""
    caps = f'video/x-raw,format={form},width={WIDTH},height={HEIGHT}'
    with playing(
            f'videotestsrc num-buffers=3 ! {caps},framerate=30/1 ! '
            'cudaintegralhist backend=cpu tuning-time=0 ! '
            'tee name=all  all. ! queue ! appsink name=before sync=false '
            f'all. ! queue ! {filters} ! {caps} ! appsink name=after sync=false') as pipeline:
        for _ in range(2):  # compositor may make a frame of its own first
            old, new = (pull(pipeline, name) for name in ('before', 'after'))
    kept = GstIntegralHist.buffer_get_integral_histogram_meta(new) is not None
    return old.extract_dup(0, old.get_size()), new.extract_dup(0, new.get_size()), kept


@unittest.skipIf(MISSING, MISSING)
class ChangedPixels(FolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.picture = cls.file('picture.png')
        run('videotestsrc pattern=snow num-buffers=1 ! video/x-raw,width=32,height=32 ! '
            f'videoconvert ! pngenc ! filesink location="{cls.picture}"')

    def check(self, name, settings, form, kept):
        before, after, keeps = second_frame(f'{name} {settings.format(picture=self.picture)}', form)
        self.assertEqual(keeps, kept)
        if kept and name not in PLACED:
            self.assertNotEqual(before, after)

    def test_encoder_and_decoder(self):
        if not is_there('jpegenc'):
            self.skipTest('no jpegenc (package gstreamer1.0-plugins-good)')
        self.check('jpegenc ! jpegdec', '', 'I420', True)

    def test_the_documented_list(self):
        with open(os.path.join(ROOT, 'docs', 'pipelines.md'), encoding='utf-8') as file:
            lists = re.search(
                r'on pixels that they changed:(.*?)Effects that make a new frame(.*?)\.\s',
                file.read(), re.DOTALL)
        kept, dropped = lists.groups()
        self.assertEqual(set(re.findall(r'`(\w+)`', kept)), set(KEEP) | UNTRIED)
        self.assertEqual(set(re.findall(r'`(\w+)`', dropped)), set(DROP))


def add_tests():
    for table, kept in ((KEEP, True), (DROP, False)):
        for name, (settings, form) in table.items():
            def test(self, name=name, settings=settings, form=form, kept=kept):
                if not is_there(name):
                    self.skipTest(f'no {name}: its plugin is not installed')
                follows = name in PLACED and Gst.version()[:2] >= (1, 28)
                self.check(name, settings, form, kept or follows)
            setattr(ChangedPixels, f'test_{name}', test)


add_tests()
if __name__ == '__main__':
    unittest.main(verbosity=2)
