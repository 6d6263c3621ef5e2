// SPDX-License-Identifier: LGPL-2.1-or-later
#include "element_plumbing.hpp"

namespace integralhist {

void set_texts_and_pads (gpointer klass, const ElementDescription &description)
{
  const auto &[name, category, summary, sink_caps, src_caps] = description;
  auto *const element_class = GST_ELEMENT_CLASS (klass);
  gst_element_class_add_pad_template (
      element_class, gst_pad_template_new ("sink", GST_PAD_SINK, GST_PAD_ALWAYS, sink_caps));
  gst_element_class_add_pad_template (
      element_class, gst_pad_template_new ("src", GST_PAD_SRC, GST_PAD_ALWAYS, src_caps));
  gst_element_class_set_static_metadata (element_class, name, category, summary,
                                         "The gst-integralhist authors");
}

}  // namespace integralhist
