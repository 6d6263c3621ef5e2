// SPDX-License-Identifier: LGPL-2.1-or-later
#include <gst/integralhist/base/log.hpp>
#include <gst/integralhist/gstintegralhist.h>

GST_ELEMENT_REGISTER_DECLARE (cudaintegralhist)
GST_ELEMENT_REGISTER_DECLARE (cudaintegralimage)
GST_ELEMENT_REGISTER_DECLARE (cudatrackfeatures)
GST_ELEMENT_REGISTER_DECLARE (integralhistkeepmetas)
GST_ELEMENT_REGISTER_DECLARE (integralhistlikelihood)
GST_ELEMENT_REGISTER_DECLARE (integralhistoverlay)
GST_ELEMENT_REGISTER_DECLARE (integralhisttrack)

/// Registers a GstMeta with the plugin, so that this process can read the meta when another process
/// sends it. From GStreamer 1.28 on, the registry loads the plugin for this purpose.
static gboolean register_meta (GstPlugin *plugin, const GstMetaInfo *info)
{
#if GST_CHECK_VERSION(1, 28, 0)
  return gst_meta_factory_register (plugin, info);
#else
  return plugin && info;
#endif
}

static gboolean plugin_init (GstPlugin *plugin)
{
  integralhist::log_category ();  // so that --gst-debug-help lists it
  if (!register_meta (plugin, gst_integral_histogram_regions_meta_get_info ())
      || !register_meta (plugin, gst_integral_histogram_tracks_meta_get_info ()))
    return FALSE;
#if HAVE_CAIRO
  if (!GST_ELEMENT_REGISTER (integralhistoverlay, plugin))
    return FALSE;
#endif
  return GST_ELEMENT_REGISTER (cudaintegralhist, plugin)
         && GST_ELEMENT_REGISTER (cudaintegralimage, plugin)
         && GST_ELEMENT_REGISTER (cudatrackfeatures, plugin)
         && GST_ELEMENT_REGISTER (integralhistkeepmetas, plugin)
         && GST_ELEMENT_REGISTER (integralhistlikelihood, plugin)
         && GST_ELEMENT_REGISTER (integralhisttrack, plugin);
}

GST_PLUGIN_DEFINE (
    GST_VERSION_MAJOR, GST_VERSION_MINOR, integralhist,
    "Integral histograms and integral images of video frames, with CUDA or on the CPU. The pages "
    "docs/... that properties name are in the source and in the package gst-integralhist-doc",
    plugin_init, PACKAGE_VERSION, "LGPL", PACKAGE_NAME, PACKAGE_ORIGIN)
