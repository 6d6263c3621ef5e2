// SPDX-License-Identifier: LGPL-2.1-or-later
#include "properties.hpp"

namespace integralhist {
namespace {

/// Returns a GParamSpec type like GObject's own for Number, except that every value is valid. A
/// copy of this code in another module of the process may already have registered the type.
template <class Number>
GType unchecked_type ()
{
  const auto init = [] (gpointer klass, gpointer) {
    G_PARAM_SPEC_CLASS (klass)->value_validate = [] (GParamSpec *, GValue *) { return FALSE; };
  };
  static const GType type = [&] {
    const GType known = g_type_from_name (NumberType<Number>::kUnchecked);
    return known ? known
                 : g_type_register_static_simple (
                     NumberType<Number>::spec_type (), NumberType<Number>::kUnchecked,
                     sizeof (GParamSpecClass), init, sizeof (typename NumberType<Number>::Spec),
                     nullptr, GTypeFlags (0));
  }();
  return type;
}

template <class Number>
std::string text_of (Number number)
{
  if constexpr (std::is_same_v<Number, double>)
    return text_of_number (number);
  else
    return std::to_string (number);
}

/// Returns the value of a property as text, as it is written in gst-launch-1.0.
std::string written (const GValue *value)
{
  if (G_VALUE_HOLDS_STRING (value)) {
    const char *const text = g_value_get_string (value);
    return joined ("\"", text ? text : "", "\"");
  }
  if (G_VALUE_HOLDS_DOUBLE (value))
    return text_of (g_value_get_double (value));
  g_autofree gchar *text = gst_value_serialize (value);
  return text ? text : "";
}

/// Returns the present value of an element's property, for g_auto (GValue).
GValue present_value (GstElement *element, const GParamSpec *spec)
{
  GValue value = G_VALUE_INIT;
  g_object_get_property (G_OBJECT (element), spec->name, g_value_init (&value, spec->value_type));
  return value;
}

}  // namespace

GParamFlags flags_of (Mutability when)
{
  return GParamFlags (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | when);
}

template <class Number>
GParamSpec *number_spec (const char *name, const char *blurb, Number min, Number max,
                         Number by_default, Mutability when)
{
  auto *spec = reinterpret_cast<typename NumberType<Number>::Spec *> (
      g_param_spec_internal (unchecked_type<Number> (), name, nullptr, blurb, flags_of (when)));
  spec->minimum = min;
  spec->maximum = max;
  spec->default_value = by_default;
  return G_PARAM_SPEC (spec);
}

GParamSpec *choice_spec (const char *name, const char *blurb, GType type, int by_default,
                         Mutability when)
{
  gst_type_mark_as_plugin_api (type, GstPluginAPIFlags (0));
  return g_param_spec_enum (name, nullptr, blurb, type, by_default, flags_of (when));
}

template <class Number>
Expected<> check_range (const char *name, Number value, Number min, Number max)
{
  if (value >= min && value <= max)
    return {};
  // GStreamer turns a negative number into one of the largest of an unsigned type.
  constexpr gint kMostNegative = -65536;
  const bool may_be_negative = std::is_same_v<Number, guint> && value >= Number (kMostNegative);
  return error (Error::Kind::bad_setting, name, "=", text_of (value),
                may_be_negative ? joined (", or ", gint (value), ",") : "",
                " is out of range: set it to ", text_of (min), " to ", text_of (max));
}

Expected<> parse_value (const GParamSpec *spec, const std::string &text, GValue *value)
{
  g_value_init (value, spec->value_type);
  if (G_VALUE_HOLDS_STRING (value)) {
    g_value_set_string (value, text.c_str ());
    return {};
  }
  // Refuses negative numbers: GStreamer would read -1 as the largest number of an unsigned type.
  const bool is_negative =
      text.starts_with ('-') && (G_VALUE_HOLDS_UINT (value) || G_VALUE_HOLDS_UINT64 (value));
  if (!is_negative && gst_value_deserialize (value, text.c_str ()))
    return {};
  return error (Error::Kind::bad_setting, spec->name, "=", valid_utf8 (text),
                " is not of the type ", g_type_name (spec->value_type),
                ": write a value of this type");
}

bool is_running (GstElement *element)
{
  return std::max (GST_STATE (element), GST_STATE_NEXT (element)) > GST_STATE_READY;
}

bool is_locked (GstElement *element, const GParamSpec *spec)
{
  return is_running (element) && !(spec->flags & GST_PARAM_MUTABLE_PLAYING);
}

bool has_value (GstElement *element, GParamSpec *spec, const GValue *value)
{
  g_auto (GValue) present = present_value (element, spec);
  if (G_VALUE_HOLDS_STRING (value))  // null is the empty text
    return written (&present) == written (value);
  return g_param_values_cmp (spec, &present, value) == 0;
}

void warn_of_locked (GstElement *element, GParamSpec *spec, const GValue *value)
{
  if (has_value (element, spec, value))
    return;
  g_auto (GValue) kept = present_value (element, spec);
  GST_ELEMENT_WARNING (
      element, RESOURCE, SETTINGS,
      ("%s=%s is refused while the element runs, and %s stays %s: set it in the state NULL or "
       "READY.",
       spec->name, written (value).c_str (), spec->name, written (&kept).c_str ()),
      (nullptr));
}

void warn_of_wrong (GstElement *element, GParamSpec *spec, const Error &error)
{
  g_auto (GValue) kept = present_value (element, spec);
  GST_ELEMENT_WARNING (element, RESOURCE, SETTINGS,
                       ("%s. Until then the property %s stays %s.", error.message.c_str (),
                        spec->name, written (&kept).c_str ()),
                       (nullptr));
}

#define INSTANTIATE(Number) \
  template GParamSpec *number_spec (const char *, const char *, Number, Number, Number, \
                                    Mutability); \
  template Expected<> check_range (const char *, Number, Number, Number);
INSTANTIATE (int)
INSTANTIATE (guint)
INSTANTIATE (guint64)
INSTANTIATE (double)

}  // namespace integralhist
