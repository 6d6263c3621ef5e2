// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The GObject part of a consumer, an element that reads histograms.
#pragma once

#include <type_traits>

#include <gst/base/gstbasetransform.h>

#include <gst/elements/base/element_plumbing.hpp>
#include <gst/elements/base/messages.hpp>
#include <gst/elements/base/tensor_metas.hpp>
#include <gst/properties/properties.hpp>

#include "histogram_consumer.hpp"

namespace integralhist {

/// Connects ElementPlumbing to a consumer.
template <class Object, auto kMakeTable>
struct ConsumerAccess : ElementAccess<Object, kMakeTable> {
  static void take_transition (gpointer element, GstStateChange transition)
  {
    ConsumerAccess::state_of (element).consumer.take_transition (transition);
  }
};

/// Object is a final type whose member `state` points to a State. State has `properties`, a
/// HistogramConsumer `consumer`, and the functions `take_event (event)`, for events from upstream,
/// and `stop ()`. kMakeTable makes the table of the properties.
template <class Object, auto kMakeTable>
class ConsumerElement : public ElementPlumbing<ConsumerAccess<Object, kMakeTable>> {
  using Plumbing = ElementPlumbing<ConsumerAccess<Object, kMakeTable>>;

public:
  using Plumbing::state_of, Plumbing::table;
  using typename Plumbing::State;

  /// Sets the functions of a class that are the same in all consumers.
  static void init_class (gpointer klass, const ElementDescription &description)
  {
    Plumbing::init_class (klass);
    Plumbing::install_properties (klass, table ());
    GST_BASE_TRANSFORM_CLASS (klass)->start = start;
    GST_BASE_TRANSFORM_CLASS (klass)->stop = stop;
    GST_BASE_TRANSFORM_CLASS (klass)->sink_event = sink_event;
    GST_BASE_TRANSFORM_CLASS (klass)->prepare_output_buffer = prepare_with_tensors;
    describe (klass, description);
  }

  /// Makes the state of an element.
  static void init (Object *element)
  {
    if constexpr (std::is_constructible_v<State, Object *>)
      element->state = new State (element);
    else
      element->state = new State;
    gst_base_transform_set_gap_aware (GST_BASE_TRANSFORM (element), TRUE);
  }

private:
  static gboolean stop (GstBaseTransform *trans)
  {
    state_of (trans).stop ();
    return TRUE;
  }

  static gboolean sink_event (GstBaseTransform *trans, GstEvent *event)
  {
    State &state = state_of (trans);
    state.consumer.take_event (trans, event);
    state.take_event (event);
    return GST_BASE_TRANSFORM_CLASS (Plumbing::parent_class ())->sink_event (trans, event);
  }

  static gboolean start (GstBaseTransform *trans)
  {
    if (const auto valid = table ().check (*Plumbing::properties_of (trans)); !valid) {
      post_error (trans, valid.error ());
      return FALSE;
    }
    state_of (trans).consumer.start ();
    return TRUE;
  }
};

}  // namespace integralhist
