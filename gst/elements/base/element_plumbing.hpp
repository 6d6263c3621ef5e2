// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Code that all GStreamer elements of the plugin share: properties, which any thread may set while
// frames pass, and the functions of a GObject class, which free an element's state at the end.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <gst/gst.h>

#include <gst/properties/properties.hpp>

namespace integralhist {

/// INTEGRALHIST_ELEMENT declares, defines and registers the final GObject type of an element. The
/// last macro arguments are the members of the instance struct.
#define INTEGRALHIST_ELEMENT(Type, type, TYPE, Parent, PARENT_TYPE, nick, ...) \
  G_DECLARE_FINAL_TYPE (Type, type, GST, TYPE, Parent) \
  struct _##Type { \
    Parent parent; \
    __VA_ARGS__ \
  }; \
  G_DEFINE_FINAL_TYPE (Type, type, PARENT_TYPE) \
  GST_ELEMENT_REGISTER_DEFINE (nick, #nick, GST_RANK_NONE, type##_get_type ())

/// The texts that gst-inspect-1.0 prints about an element, and the caps of the element's two pads.
struct ElementDescription {
  const char *name, *category, *summary;
  GstCaps *sink_caps, *src_caps;
};

inline void set_texts_and_pads (gpointer klass, const ElementDescription &description)
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

/// Tells ElementPlumbing where an element type has its C++ state (the member `state`), and how the
/// table of its properties is made (kMakeTable).
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
  static void handle_transition (gpointer, GstStateChange) {}
};

/// ElementPlumbing adds the GObject functions of an element, such as set_property and finalize, to
/// a class Element that has
///
///   - state_of (element): the state of the element, made with new; the state's `properties` are an
///     std::shared_ptr to a constant struct, and the object lock guards that pointer;
///   - table_of (element): the table of these properties;
///   - handle_transition (element, transition): is called before GStreamer changes the state.
template <class Element>
class ElementPlumbing : public Element {
public:
  /// Returns an element's current properties as a struct that never changes: setting a property
  /// puts another struct in its place, so a reader needs no lock. While the element is running, all
  /// of them pass the table's check.
  static auto properties_of (gpointer element)
  {
    GST_OBJECT_LOCK (element);
    auto properties = Element::state_of (element).properties;
    GST_OBJECT_UNLOCK (element);
    return properties;
  }

  /// Sets finalize and change_state of an element's class; subclasses inherit both. `klass` must be
  /// the class of Element itself, because the parent of `klass` is remembered.
  static void init_class (gpointer klass)
  {
    parent_class_ = g_type_class_peek_parent (klass);
    G_OBJECT_CLASS (klass)->finalize = finalize;
    GST_ELEMENT_CLASS (klass)->change_state = change_state;
  }

  static gpointer parent_class () { return parent_class_; }

  /// Installs a class's properties. Returns the first property id that is free for other ones.
  template <class Table>
  static guint install_properties (gpointer klass, const Table &table)
  {
    auto *object_class = G_OBJECT_CLASS (klass);
    object_class->set_property = set_property;
    object_class->get_property = get_property;
    return table.install (object_class);
  }

  /// GObject's get_property for the properties of the table. An element with further properties
  /// handles those itself, and calls this function for all others.
  static void get_property (GObject *object, guint id, GValue *value, GParamSpec *)
  {
    Element::table_of (object).get (*properties_of (object), id, value);
  }

  /// Sets a property of an element. Returns false and posts a warning if the element is running and
  /// reads the property only at its start, or if it is running and the value is wrong.
  static bool take_property (GObject *object, guint id, const GValue *value, GParamSpec *spec)
  {
    auto *const element = GST_ELEMENT (object);
    Expected<> valid;
    GST_OBJECT_LOCK (object);
    const bool locked = is_locked (element, spec);
    if (!locked) {
      auto &properties = Element::state_of (object).properties;
      auto changed = std::make_shared<std::remove_cvref_t<decltype (*properties)>> (*properties);
      const auto &table = Element::table_of (object);
      table.set (*changed, id, value);
      if (is_running (element))
        valid = table.check (*changed);
      if (valid)
        properties = std::move (changed);
    }
    GST_OBJECT_UNLOCK (object);
    if (locked)
      warn_of_locked (element, spec, value);
    else if (!valid)
      warn_of_wrong (element, spec, valid.error ());
    return !locked && valid;
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
    Element::handle_transition (element, transition);
    return GST_ELEMENT_CLASS (parent_class_)->change_state (element, transition);
  }

  static inline gpointer parent_class_ = nullptr;
};

}  // namespace integralhist
