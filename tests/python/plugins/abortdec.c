/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A decoder that aborts on files that begin with "ABORTING", and says nothing of those with
 * "SILENCED", not even their end. So a test can have videos that end or hold up each process that
 * reads them, as decoders with bugs do. */
#include <gst/gst.h>
#include <stdlib.h>

#define TYPE "video/x-aborting"

typedef GstElement AbortDec;
typedef GstElementClass AbortDecClass;
G_DEFINE_TYPE (AbortDec, abort_dec, GST_TYPE_ELEMENT)

static GstFlowReturn abort_dec_chain (GstPad *pad G_GNUC_UNUSED, GstObject *parent G_GNUC_UNUSED,
                                      GstBuffer *buffer)
{
  if (gst_buffer_memcmp (buffer, 0, "ABORTING", 8) == 0)
    abort ();
  gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

static gboolean abort_dec_event (GstPad *pad G_GNUC_UNUSED, GstObject *parent G_GNUC_UNUSED,
                                 GstEvent *event)
{
  gst_event_unref (event);
  return TRUE;
}

static void abort_dec_class_init (AbortDecClass *klass)
{
  static GstStaticPadTemplate sink =
      GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (TYPE));
  static GstStaticPadTemplate src =
      GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS ("video/x-raw"));
  gst_element_class_add_static_pad_template (klass, &sink);
  gst_element_class_add_static_pad_template (klass, &src);
  gst_element_class_set_static_metadata (klass, "Aborting decoder", "Codec/Decoder/Video",
                                         "Aborts with its first buffer, or says nothing",
                                         "The gst-integralhist authors");
}

static void abort_dec_init (AbortDec *self)
{
  GstElementClass *const klass = GST_ELEMENT_GET_CLASS (self);
  GstPad *const sink =
      gst_pad_new_from_template (gst_element_class_get_pad_template (klass, "sink"), "sink");
  gst_pad_set_chain_function (sink, abort_dec_chain);
  gst_pad_set_event_function (sink, abort_dec_event);
  gst_element_add_pad (self, sink);
  gst_element_add_pad (
      self, gst_pad_new_from_template (gst_element_class_get_pad_template (klass, "src"), "src"));
}

static void find_type (GstTypeFind *find, gpointer user_data G_GNUC_UNUSED)
{
  const guint8 *const data = gst_type_find_peek (find, 0, 8);
  if (data && (memcmp (data, "ABORTING", 8) == 0 || memcmp (data, "SILENCED", 8) == 0))
    gst_type_find_suggest_empty_simple (find, GST_TYPE_FIND_MAXIMUM, TYPE);
}

static gboolean init (GstPlugin *plugin)
{
  g_autoptr (GstCaps) caps = gst_caps_from_string (TYPE);
  return gst_type_find_register (plugin, TYPE, GST_RANK_PRIMARY, find_type, "abort", caps, NULL,
                                 NULL)
         && gst_element_register (plugin, "abortdec", GST_RANK_PRIMARY, abort_dec_get_type ());
}

#define PACKAGE "gst-integralhist"
GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, aborting, "A decoder that aborts", init,
                   "0.0", "LGPL", PACKAGE, "https://example.org/")
