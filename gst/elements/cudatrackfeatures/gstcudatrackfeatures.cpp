// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-cudatrackfeatures
 * @title: cudatrackfeatures
 * @see_also: integralhisttrack
 *
 * Attaches the tensors that `integralhisttrack` needs for #integralhisttrack:method `correlation`,
 * the default: integral histograms of weighted gradients and of colours, and an integral image of
 * luma. The frame itself passes through untouched and at once. Values around the targets are
 * computed when the tracker asks: frames in CUDA memory by their GPU; frames in host memory by a
 * GPU if there is one and the targets cover a good part of the frame, otherwise by the CPU.
 *
 * It is a bin with three elements in a row: `gradients`, which is `cudaintegralhist
 * feature=signed-gradient bins=18 weight=gradient soft=true`, `colours`, which is `cudaintegralhist
 * feature=hsv`, and `luma`, which is `cudaintegralimage`. The bin's properties are set in all
 * three. Limits such as #cudatrackfeatures:max-tensors apply to each of them separately. `luma`
 * computes on the first of #cudatrackfeatures:cuda-device-ids, and has no limit of memory. A frame
 * that is late for `gradients` passes without all three tensors. Set other properties of an element
 * by its name: `cudatrackfeatures colours::counter=u8-tiled`.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=video.mp4 ! decodebin ! videoconvert ! cudatrackfeatures ! \
 *     integralhisttrack targets="210,117,30,100" ! integralhistoverlay ! videoconvert ! \
 *     autovideosink
 * ]| follows what is in the box in the first frame.
 */
#include <gst/elements/base/element_plumbing.hpp>
#include <gst/elements/base/messages.hpp>
#include <gst/elements/base/parse.hpp>
#include <gst/elements/producer/compute_devices.hpp>
#include <gst/elements/producer/gstcudaintegral.hpp>
#include <gst/elements/producer/producer_properties.hpp>
#include <gst/frame/video_formats.hpp>
#include <gst/track/correlation/correlation_tensors.hpp>

using namespace integralhist;

INTEGRALHIST_ELEMENT (GstCudaTrackFeatures, gst_cuda_track_features, CUDA_TRACK_FEATURES, GstBin,
                      GST_TYPE_BIN, cudatrackfeatures, GstElement *gradients, *colours, *luma;)

/// Sets the only device of the element `luma` to the first device of `gradients` and `colours`. If
/// their device ids are invalid, `gradients` and `colours` report the error.
static void follow_device_ids (GstCudaTrackFeatures *self)
{
  g_autofree gchar *text = nullptr;
  int device = -1;
  g_object_get (self->gradients, "cuda-device-ids", &text, "cuda-device-id", &device, nullptr);
  if (const auto ids = parse_device_ids (text ? text : ""); ids && !ids->empty ())
    device = ids->front ();
  g_object_set (self->luma, "cuda-device-id", device, nullptr);
}

static void gst_cuda_track_features_set_property (GObject *object, guint, const GValue *value,
                                                  GParamSpec *spec)
{
  auto *self = GST_CUDA_TRACK_FEATURES (object);
  GST_OBJECT_LOCK (self);
  const bool locked = is_locked (GST_ELEMENT (self), spec);
  GST_OBJECT_UNLOCK (self);
  if (locked) {
    warn_of_locked (GST_ELEMENT (self), spec, value);
    return;
  }
  for (GstElement *const child : { self->gradients, self->colours, self->luma })
    if (g_object_class_find_property (G_OBJECT_GET_CLASS (child), spec->name)) {
      g_object_set_property (G_OBJECT (child), spec->name, value);
      if (!has_value (child, spec, value))
        return;  // the element inside has said why
    }
  if (g_str_has_prefix (spec->name, "cuda-device-id"))
    follow_device_ids (self);
}

static void gst_cuda_track_features_get_property (GObject *object, guint, GValue *value,
                                                  GParamSpec *spec)
{
  g_object_get_property (G_OBJECT (GST_CUDA_TRACK_FEATURES (object)->gradients), spec->name, value);
}

static void add_pad (GstCudaTrackFeatures *self, const char *name, GstElement *child)
{
  g_autoptr (GstPad) target = gst_element_get_static_pad (child, name);
  gst_element_add_pad (
      GST_ELEMENT (self),
      gst_ghost_pad_new_from_template (
          name, target, gst_element_class_get_pad_template (GST_ELEMENT_GET_CLASS (self), name)));
}

static void gst_cuda_track_features_init (GstCudaTrackFeatures *self)
{
  self->gradients = gst_element_factory_make ("cudaintegralhist", "gradients");
  self->colours = gst_element_factory_make ("cudaintegralhist", "colours");
  self->luma = gst_element_factory_make ("cudaintegralimage", "luma");
  const auto set = [] (GstElement *producer, const TensorSettings &settings) {
    g_object_set (producer, "feature", int (settings.spec.feature), nullptr);
    if (settings.content == inthist::Content::weights)
      g_object_set (producer, "bins", guint (settings.bins), "weight", int (settings.spec.weight),
                    "soft", gboolean (settings.spec.soft), nullptr);
  };
  set (self->gradients, kGradientSettings);
  set (self->colours, kColourSettings);
  set (self->luma, kLumaSettings);
  for (GstElement *const child : { self->gradients, self->colours, self->luma })
    gst_util_set_object_arg (G_OBJECT (child), "compute", "on-demand");
  for (GstElement *const child : { self->colours, self->luma })
    gst_cuda_integral_set_leader (GST_CUDA_INTEGRAL (child), GST_CUDA_INTEGRAL (self->gradients));
  gst_bin_add_many (GST_BIN (self), self->gradients, self->colours, self->luma, nullptr);
  gst_element_link_many (self->gradients, self->colours, self->luma, nullptr);
  add_pad (self, "sink", self->gradients);
  add_pad (self, "src", self->luma);
  g_autoptr (GstPad) sink = gst_element_get_static_pad (GST_ELEMENT (self), "sink");
  // Reports refused caps: the elements inside do not receive caps that the GstBin's pad refuses.
  probe_caps (sink, [] (GstElement *bin, const GstCaps *, const Expected<> &checked) {
    post_error_if_failed (bin, checked);
  });
}

static void gst_cuda_track_features_class_init (GstCudaTrackFeaturesClass *klass)
{
  auto *object_class = G_OBJECT_CLASS (klass);
  object_class->set_property = gst_cuda_track_features_set_property;
  object_class->get_property = gst_cuda_track_features_get_property;
  shared_producer_properties ().install (object_class);

  g_autoptr (GstCaps) caps = gst_caps_from_string (kReadableCaps);
  set_texts_and_pads (klass, { "Features for tracking", "Filter/Analyzer/Video/Hardware",
                               "Attaches gradients (18 bins), colours (256 bins) and luma for "
                               "integralhisttrack, computed with CUDA or on the CPU",
                               caps, caps });
}
