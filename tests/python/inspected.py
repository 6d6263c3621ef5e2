#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The output of gst-inspect-1.0 for the plugin: origin, names of elements, and only properties that
exist. It is compared with the registry's own lists of properties, and with the messages
and metas that a pipeline has."""
import re
import unittest

from pipelines import Gst, GstIntegralHist, GstVideo, messages, playing, pull


class Inspected(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.factories = Gst.Registry.get().get_feature_list_by_plugin('integralhist')
        cls.elements = {factory.get_name(): factory.create() for factory in cls.factories
                        if isinstance(factory, Gst.ElementFactory)}
        assert cls.elements, 'the plugin integralhist is not found'

    def test_origin(self):
        origin = Gst.Registry.get().find_plugin('integralhist').get_origin()
        self.assertRegex(origin, r'^https://[\w.-]+/\S+$')

    def test_long_names(self):
        """No element has CUDA in its name, as all of them run on CPUs as well"""
        for name, element in self.elements.items():
            self.assertNotIn('CUDA', element.get_metadata('long-name'), name)

    def test_properties_in_texts(self):
        """A text that says "property=value" is about a property that an element of ours has, and
        cudatrackfeatures, which has few, speaks of its own"""
        names = {name: {spec.name for spec in element.list_properties()}
                 for name, element in self.elements.items()}
        everywhere = set.union(*names.values())
        for name, element in self.elements.items():
            known = names[name] if name == 'cudatrackfeatures' else everywhere
            for spec in element.list_properties():
                for word in re.findall(r'(?<![\w,-])([a-z][a-z-]*)=', spec.blurb):
                    if word != 'enable-last-sample':  # of sinks
                        self.assertIn(word, known, f'{name}::{spec.name}: {spec.blurb}')

    def test_default_of_qos(self):
        for name in 'cudaintegralhist', 'cudaintegralimage', 'cudatrackfeatures':
            blurb = self.elements[name].find_property('qos').blurb
            self.assertIn('until it is set, only those of live sources', blurb)

    def test_tracker(self):
        """The description names the message and the metas that frames with a target have"""
        said = self.elements['integralhisttrack'].get_metadata('description')
        with playing('videotestsrc num-buffers=2 ! video/x-raw,format=I420,width=160,height=120 ! '
                     'cudatrackfeatures backend=cpu ! integralhisttrack targets=40,40,40,40 ! '
                     'appsink name=sink') as pipeline:
            buffer, message = pull(pipeline), next(messages(pipeline))
        self.assertIn(f' {message.get_name()}', said)
        self.assertIsNotNone(
            GstIntegralHist.buffer_get_integral_histogram_tracks_meta(buffer))
        self.assertIn('GstIntegralHistogramTracksMeta', said)
        self.assertIsNotNone(GstVideo.buffer_get_video_region_of_interest_meta_id(buffer, 0)
                             or GstVideo.buffer_get_video_region_of_interest_meta_id(buffer, 1))
        self.assertIn('GstVideoRegionOfInterestMeta of the type track', said)


if __name__ == '__main__':
    unittest.main(verbosity=2)
