// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The part of a GObject that all elements share: properties that any thread may set, and the code
// that frees the state.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <gst/gst.h>

#include <gst/properties/properties.hpp>

namespace integralhist {

/// Declares and defines the final type of an element, whose members are the last arguments, and the
/// function that registers the element. The parent's class is Element::parent_class ().
#define INTEGRALHIST_ELEMENT(Type, type, TYPE, Parent, PARENT_TYPE, nick, ...) \
  G_DECLARE_FINAL_TYPE (Type, type, GST, TYPE, Parent) \
  struct _##Type { \
    Parent parent; \
    __VA_ARGS__ \
  }; \
  G_DEFINE_FINAL_TYPE (Type, type, PARENT_TYPE) \
  GST_ELEMENT_REGISTER_DEFINE (nick, #nick, GST_RANK_NONE, type##_get_type ())

/// Describes an element for class_init.
struct ElementDescription {
  const char *name, *category, *summary;
  GstCaps *sink_caps, *src_caps;
};

/// Adds pads and metadata to an element's class.
void describe (gpointer klass, const ElementDescription &description);

/// Connects ElementPlumbing to an element whose final type Object has a member `state`, a pointer.
/// kMakeTable is a function that returns the table of the element's properties.
template <class Object, auto kMakeTable>
struct ElementAccess {
  using State = std::remove_pointer_t<decltype (Object::state)>;

  static const auto &table ()
  {
    static const auto table = kMakeTable ();
    return table;
  }
  static const auto &table_of (gpointer) { return table (); }
  static State &state_of (gpointer element) { return *static_cast<Object *> (element)->state; }
  static void take_transition (gpointer, GstStateChange) {}
};

/// A subclass of Element with the class functions that all elements share. Element has
///
///   - state_of (element): its state, made with new, whose `properties` are an std::shared_ptr to a
///     constant struct; the object lock guards the pointer;
///   - table_of (element): the table of these properties;
///   - take_transition (element, transition): notes a change of state before it is handled.
template <class Element>
class ElementPlumbing : public Element {
public:
  /// Returns the current properties. The struct does not change: setting a property puts another
  /// struct in its place.
  static auto properties_of (gpointer element)
  {
    GST_OBJECT_LOCK (element);
    auto properties = Element::state_of (element).properties;
    GST_OBJECT_UNLOCK (element);
    return properties;
  }

  /// Sets the functions that subclasses inherit; `klass` is the class of Element itself.
  static void init_class (gpointer klass)
  {
    parent_class_ = g_type_class_peek_parent (klass);
    G_OBJECT_CLASS (klass)->finalize = finalize;
    GST_ELEMENT_CLASS (klass)->change_state = change_state;
  }

  static gpointer parent_class () { return parent_class_; }

  /// Installs the properties of a class; its subclasses do not inherit them. Returns the first id
  /// that is still free.
  template <class Table>
  static guint install_properties (gpointer klass, const Table &table)
  {
    auto *object_class = G_OBJECT_CLASS (klass);
    object_class->set_property = set_property;
    object_class->get_property = get_property;
    return table.install (object_class);
  }

  /// Gets a property of the table. A class with further properties gets those itself, and calls
  /// this for the others.
  static void get_property (GObject *object, guint id, GValue *value, GParamSpec *)
  {
    Element::table_of (object).get (*properties_of (object), id, value);
  }

  /// Sets a property of the table. If the element is running and reads the property only at the
  /// start, returns false and posts a warning.
  static bool take_property (GObject *object, guint id, const GValue *value, GParamSpec *spec)
  {
    GST_OBJECT_LOCK (object);
    const bool fixed = is_fixed (GST_ELEMENT (object), spec);
    if (!fixed) {
      auto &properties = Element::state_of (object).properties;
      auto changed = std::make_shared<std::remove_cvref_t<decltype (*properties)>> (*properties);
      Element::table_of (object).set (*changed, id, value);
      properties = std::move (changed);
    }
    GST_OBJECT_UNLOCK (object);
    if (fixed)
      warn_of_fixed (GST_ELEMENT (object), spec, value);
    return !fixed;
  }

private:
  static void set_property (GObject *object, guint id, const GValue *value, GParamSpec *spec)
  {
    (void) take_property (object, id, value, spec);
  }

  static void finalize (GObject *object)
  {
    delete &Element::state_of (object);
    G_OBJECT_CLASS (parent_class_)->finalize (object);
  }

  static GstStateChangeReturn change_state (GstElement *element, GstStateChange transition)
  {
    Element::take_transition (element, transition);
    return GST_ELEMENT_CLASS (parent_class_)->change_state (element, transition);
  }

  static inline gpointer parent_class_ = nullptr;
};

}  // namespace integralhist
