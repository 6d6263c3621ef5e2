// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What consumers share: waits, which a flush or a stop ends, a limit on frames without a histogram,
// and the plumbing of their GObjects.
#pragma once

#include <atomic>

#include <gst/base/gstbasetransform.h>
#include <gst/integralhist/gstintegralhistogram.h>

#include <gst/integralhist/error.hpp>

#include "messages.hpp"
#include "properties.hpp"

namespace integralhist {

class HistogramConsumer {
public:
  /// Resets the counts at the start of a stream.
  void start ();
  /// Notes an event from upstream before it is handled, or a change of state.
  void take_event (GstEvent *event);
  void take_transition (GstStateChange transition);

  /// Waits for the tensor. Returns an Error::Kind::flushing after a flush or a stop.
  Expected<> await (GstIntegralHistogram *histogram);

  /// Counts a frame that has no histogram and is no gap. Returns an error, with `usage` as a launch
  /// line, unless frames had one before or a producer upstream leaves frames out.
  Expected<> note_missing (GstBaseTransform *element, const char *usage);

private:
  std::atomic<bool> flushing_ = false, stopping_ = false;
  bool found_ = false;
  guint missing_ = 0;  // frames since the start
};

/// Describes an element for class_init.
struct ConsumerDescription {
  const char *name, *category, *summary;
  GstCaps *sink_caps, *src_caps;
};

/// Adds pads and metadata to an element's class.
void describe (GstElementClass *klass, const ConsumerDescription &description);

/// The plumbing of a consumer. Object is a final type whose member `state` points to a State, with
/// `properties`, which the object lock guards, and a HistogramConsumer `consumer`. kMakeTable makes
/// the table of the properties.
template <class Object, class State, auto kMakeTable>
class Consumer {
public:
  /// Returns the table of the properties.
  static const auto &table ()
  {
    static const auto table = kMakeTable ();
    return table;
  }

  static State &state_of (gpointer element) { return *static_cast<Object *> (element)->state; }

  /// Returns a copy of the properties, which may change at any time.
  static auto properties_of (gpointer element)
  {
    GST_OBJECT_LOCK (element);
    auto properties = state_of (element).properties;
    GST_OBJECT_UNLOCK (element);
    return properties;
  }

  /// Sets the functions of a class that are the same in all consumers.
  static void init_class (gpointer klass, const ConsumerDescription &description)
  {
    auto *object_class = G_OBJECT_CLASS (klass);
    object_class->set_property = set_property;
    object_class->get_property = get_property;
    object_class->finalize = finalize;
    table ().install (object_class);
    GST_ELEMENT_CLASS (klass)->change_state = change_state;
    GST_BASE_TRANSFORM_CLASS (klass)->start = start;
    describe (GST_ELEMENT_CLASS (klass), description);
  }

private:
  static gpointer parent_class_of (gpointer element)
  {
    return g_type_class_peek_parent (G_OBJECT_GET_CLASS (element));
  }

  static void set_property (GObject *object, guint id, const GValue *value, GParamSpec *)
  {
    GST_OBJECT_LOCK (object);
    table ().set (state_of (object).properties, id, value);
    GST_OBJECT_UNLOCK (object);
  }

  static void get_property (GObject *object, guint id, GValue *value, GParamSpec *)
  {
    table ().get (properties_of (object), id, value);
  }

  static void finalize (GObject *object)
  {
    delete &state_of (object);
    G_OBJECT_CLASS (parent_class_of (object))->finalize (object);
  }

  static GstStateChangeReturn change_state (GstElement *element, GstStateChange transition)
  {
    state_of (element).consumer.take_transition (transition);
    return GST_ELEMENT_CLASS (parent_class_of (element))->change_state (element, transition);
  }

  static gboolean start (GstBaseTransform *trans)
  {
    if (const auto valid = table ().check (properties_of (trans)); !valid) {
      post_error (trans, valid.error ());
      return FALSE;
    }
    state_of (trans).consumer.start ();
    return TRUE;
  }
};

}  // namespace integralhist
