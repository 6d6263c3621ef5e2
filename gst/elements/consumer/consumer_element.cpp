// SPDX-License-Identifier: LGPL-2.1-or-later
#include "consumer_element.hpp"

namespace integralhist {

void describe (GstElementClass *klass, const ConsumerDescription &description)
{
  const auto &[name, category, summary, sink_caps, src_caps] = description;
  gst_element_class_add_pad_template (
      klass, gst_pad_template_new ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, sink_caps));
  gst_element_class_add_pad_template (
      klass, gst_pad_template_new ("src", GST_PAD_SRC, GST_PAD_ALWAYS, src_caps));
  gst_element_class_set_static_metadata (klass, name, category, summary,
                                         "The gst-integralhist authors");
}

}  // namespace integralhist
