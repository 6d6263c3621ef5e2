// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The GObject code that all consumers share. A consumer is an element that reads histograms.
#pragma once

#include <type_traits>

#include <gst/base/gstbasetransform.h>

#include <gst/elements/base/element_plumbing.hpp>
#include <gst/elements/base/messages.hpp>
#include <gst/elements/base/tensor_metas.hpp>
#include <gst/properties/properties.hpp>

#include "histogram_consumer.hpp"

namespace integralhist {

template <class Object, auto kMakeTable>
struct ConsumerAccess : ElementAccess<Object, kMakeTable> {
  static void handle_transition (gpointer element, GstStateChange transition)
  {
    ConsumerAccess::state_of (element).consumer.handle_transition (transition);
  }
};

/// The GObject class of a consumer. Object is its final type, with a member `state` that points to
/// a State: a struct with `properties`, a HistogramConsumer `consumer`, `handle_event (event)` for
/// events from upstream, and `stop ()`.
template <class Object, auto kMakeTable>
class ConsumerElement : public ElementPlumbing<ConsumerAccess<Object, kMakeTable>> {
  using Plumbing = ElementPlumbing<ConsumerAccess<Object, kMakeTable>>;

public:
  using Plumbing::state_of, Plumbing::table;
  using typename Plumbing::State;

  static void init_class (gpointer klass, const ElementDescription &description)
  {
    Plumbing::init_class (klass);
    Plumbing::install_properties (klass, table ());
    GST_BASE_TRANSFORM_CLASS (klass)->start = start;
    GST_BASE_TRANSFORM_CLASS (klass)->stop = stop;
    GST_BASE_TRANSFORM_CLASS (klass)->sink_event = sink_event;
    GST_BASE_TRANSFORM_CLASS (klass)->prepare_output_buffer = prepare_with_tensors;
    set_texts_and_pads (klass, description);
  }

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
    state.consumer.handle_event (trans, event);
    state.handle_event (event);
    return GST_BASE_TRANSFORM_CLASS (Plumbing::parent_class ())->sink_event (trans, event);
  }

  static gboolean start (GstBaseTransform *trans)
  {
    if (post_error_if_failed (trans, table ().check (*Plumbing::properties_of (trans))))
      return FALSE;
    state_of (trans).consumer.start ();
    return TRUE;
  }
};

}  // namespace integralhist
