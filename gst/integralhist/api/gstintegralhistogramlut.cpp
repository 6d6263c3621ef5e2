// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The event that carries a lookup table upstream, from values of pixels to scores.
#include <gst/integralhist/gstintegralhistogramlut.h>

#include <tuple>

#include <kernels/binning.hpp>

#include "c_api.hpp"

namespace integralhist {

constexpr gsize kScores = std::tuple_size_v<inthist::Lut>;

static Expected<GBytes *> scores_in (GstEvent *event)
{
  constexpr const char *kRemedy = ": make it with gst_integral_image_lut_event_new";
  if (GST_EVENT_TYPE (event) != GST_EVENT_CUSTOM_UPSTREAM
      || !gst_event_has_name (event, GST_INTEGRAL_IMAGE_LUT_EVENT))
    return error (Error::Kind::bad_question, "the event has no LUT", kRemedy);
  const GValue *const field = gst_structure_get_value (gst_event_get_structure (event), "lut");
  if (!field || !G_VALUE_HOLDS (field, G_TYPE_BYTES) || !g_value_get_boxed (field))
    return error (Error::Kind::bad_question,
                  "the event integral-image-lut has no field lut of type GBytes", kRemedy);
  auto *const bytes = static_cast<GBytes *> (g_value_get_boxed (field));
  if (const gsize n = g_bytes_get_size (bytes); n != kScores)
    return error (Error::Kind::bad_question, "the event integral-image-lut has ", n,
                  " scores instead of ", kScores, kRemedy);
  return g_bytes_ref (bytes);
}

}  // namespace integralhist

GstEvent *gst_integral_image_lut_event_new (const guint8 *scores)
{
  g_return_val_if_fail (scores, nullptr);
  g_autoptr (GBytes) bytes = g_bytes_new (scores, integralhist::kScores);
  return gst_event_new_custom (
      GST_EVENT_CUSTOM_UPSTREAM,
      gst_structure_new (GST_INTEGRAL_IMAGE_LUT_EVENT, "lut", G_TYPE_BYTES, bytes, nullptr));
}

GBytes *gst_integral_image_lut_event_parse (GstEvent *event, GError **error)
{
  g_return_val_if_fail (event, nullptr);
  return integralhist::to_c (integralhist::scores_in (event), error);
}
