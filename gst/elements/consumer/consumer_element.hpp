// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The plumbing of a consumer's GObject.
#pragma once

#include <gst/base/gstbasetransform.h>

#include <gst/elements/base/element_plumbing.hpp>
#include "histogram_consumer.hpp"
#include <gst/elements/base/messages.hpp>
#include <gst/properties/properties.hpp>
#include <gst/elements/base/tensor_metas.hpp>

namespace integralhist {

/// Describes an element for class_init.
struct ConsumerDescription {
  const char *name, *category, *summary;
  GstCaps *sink_caps, *src_caps;
};

/// Adds pads and metadata to an element's class.
void describe (GstElementClass *klass, const ConsumerDescription &description);

/// Object is a final type whose member `state` points to a State, with `properties` and a
/// HistogramConsumer `consumer`. kMakeTable makes the table of the properties.
template <class Object, class State, auto kMakeTable>
class ConsumerElement : public ElementPlumbing<ConsumerElement<Object, State, kMakeTable>> {
public:
  /// Returns the table of the properties.
  static const auto &table ()
  {
    static const auto table = kMakeTable ();
    return table;
  }
  static const auto &table_of (gpointer) { return table (); }

  static State &state_of (gpointer element) { return *static_cast<Object *> (element)->state; }

  static void take_transition (gpointer element, GstStateChange transition)
  {
    state_of (element).consumer.take_transition (transition);
  }

  /// Sets the functions of a class that are the same in all consumers.
  static void init_class (gpointer klass, const ConsumerDescription &description)
  {
    Plumbing::init_class (klass);
    Plumbing::install_properties (klass, table ());
    GST_BASE_TRANSFORM_CLASS (klass)->start = start;
    GST_BASE_TRANSFORM_CLASS (klass)->prepare_output_buffer = prepare_with_tensors;
    describe (GST_ELEMENT_CLASS (klass), description);
  }

private:
  using Plumbing = ElementPlumbing<ConsumerElement>;

  static gboolean start (GstBaseTransform *trans)
  {
    if (const auto valid = table ().check (Plumbing::properties_of (trans)); !valid) {
      post_error (trans, valid.error ());
      return FALSE;
    }
    state_of (trans).consumer.start ();
    return TRUE;
  }
};

}  // namespace integralhist
