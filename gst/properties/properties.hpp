// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An element's properties as a table: name, range, text, and the member of a struct that holds the
// value. The table installs, sets, gets and checks the properties.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gst/gst.h>

#include <gst/integralhist/base/error.hpp>

namespace integralhist {

/// When a property may change: only in the states NULL and READY, or also while frames pass.
enum Mutability { kReady = GST_PARAM_MUTABLE_READY, kPlaying = GST_PARAM_MUTABLE_PLAYING };
GParamFlags flags_of (Mutability when);

/// Returns a property spec for a number that also accepts values out of range, so that the element
/// can refuse them by a message on the bus; GObject would only warn on the console.
template <class Number>
GParamSpec *number_spec (const char *name, const char *blurb, Number min, Number max,
                         Number by_default, Mutability when);
GParamSpec *choice_spec (const char *name, const char *blurb, GType type, int by_default,
                         Mutability when);

template <class Number>
Expected<> check_range (const char *name, Number value, Number min, Number max);

/// Initializes `value` from text that is written as for the property in gst-launch-1.0.
Expected<> parse_value (const GParamSpec *spec, const std::string &text, GValue *value);

/// Returns whether an element is in PAUSED or PLAYING, or on the way there. The caller holds the
/// object lock.
bool is_running (GstElement *element);
/// Returns whether a property cannot change now, because the element is running and reads the
/// property only at its start. The caller holds the object lock.
bool is_locked (GstElement *element, const GParamSpec *spec);
bool has_value (GstElement *element, GParamSpec *spec, const GValue *value);
/// Warns that a running element keeps the old value of a property, unless `value` equals it.
void warn_of_locked (GstElement *element, GParamSpec *spec, const GValue *value);
/// Warns that a running element keeps the old value of a property, because of an error in the new.
void warn_of_wrong (GstElement *element, GParamSpec *spec, const Error &error);

/// What GObject has for a type of number: the GType and the functions of a GValue, the type of a
/// property spec (GParamSpec), and the name of a type of property spec that checks nothing.
template <class Number>
struct NumberType;
#define NUMBER_TYPE(Number, Name, name, NAME) \
  template <> \
  struct NumberType<Number> { \
    using Spec = GParamSpec##Name; \
    static constexpr GType kType = G_TYPE_##NAME; \
    static constexpr auto get = g_value_get_##name; \
    static constexpr auto set = g_value_set_##name; \
    static constexpr char kUnchecked[] = "GstCudaIntegralParam" #Name; \
    static GType spec_type () { return G_TYPE_PARAM_##NAME; } \
  };
NUMBER_TYPE (int, Int, int, INT)
NUMBER_TYPE (guint, UInt, uint, UINT)
NUMBER_TYPE (guint64, UInt64, uint64, UINT64)
NUMBER_TYPE (double, Double, double, DOUBLE)
#undef NUMBER_TYPE

/// A property as text, and the value parsed from the text or the reason why that failed.
template <class T>
struct ParsedText {
  std::string text;
  Expected<T> value = T ();
  guint64 set_count = 0;  // how often the property was set
};

/// FIELD (options.async_depth) is a function from a struct to a reference to that member.
#define FIELD(path) \
  [](auto &properties) -> auto & \
  { \
    return properties.path; \
  }

/// A table of properties whose values are members of a struct P:
///
///   table.flag ("labels", FIELD (labels), kPlaying, "Write labels");
///   table.text ("element", FIELD (element), kReady, "Elements that drop metas");
///   table.number<guint> ("trail", FIELD (trail), 0, 1000, kPlaying, "Frames of a trail");
template <class P>
class PropertyTable {
public:
  using Set = std::function<void (P &, const GValue *)>;
  using Get = std::function<void (const P &, GValue *)>;
  using Check = std::function<Expected<> (const P &)>;

  /// Makes an empty table. `by_default` has the default values; `before` begins each description.
  explicit PropertyTable (const P &by_default = {}, std::string before = "")
      : by_default_ (by_default), before_ (std::move (before))
  {
  }

  template <class Number, class Field>
  void number (const char *name, Field field, std::type_identity_t<Number> min,
               std::type_identity_t<Number> max, Mutability when, const std::string &blurb)
  {
    add (
        number_spec<Number> (name, interned (blurb), min, max, field (by_default_), when),
        [=] (P &p, const GValue *value) { field (p) = NumberType<Number>::get (value); },
        [=] (const P &p, GValue *value) { NumberType<Number>::set (value, field (p)); },
        [=] (const P &p) { return check_range<Number> (name, field (p), min, max); });
  }

  template <class Field>
  void flag (const char *name, Field field, Mutability when, const std::string &blurb)
  {
    add (
        g_param_spec_boolean (name, nullptr, interned (blurb), field (by_default_),
                              flags_of (when)),
        [=] (P &p, const GValue *value) { field (p) = g_value_get_boolean (value); },
        [=] (const P &p, GValue *value) { g_value_set_boolean (value, field (p)); });
  }

  template <class Field>
  void text (const char *name, Field field, Mutability when, const std::string &blurb)
  {
    add (
        g_param_spec_string (name, nullptr, interned (blurb), field (by_default_).c_str (),
                             flags_of (when)),
        [=] (P &p, const GValue *value) {
          const char *const text = g_value_get_string (value);
          field (p) = text ? text : "";
        },
        [=] (const P &p, GValue *value) { g_value_set_string (value, field (p).c_str ()); });
  }

  /// Adds a ParsedText property: the function `parse` reads the text when the property is set. If
  /// `check` is null, the table's check () returns the error of `parse`.
  template <class Field, class Parse>
  void parsed (const char *name, Field field, Mutability when, const std::string &blurb,
               Parse parse, Check check = nullptr)
  {
    if (!check)
      check = [=] (const P &p) -> Expected<> {
        TRY (field (p).value);
        return {};
      };
    add (
        g_param_spec_string (name, nullptr, interned (blurb), field (by_default_).text.c_str (),
                             flags_of (when)),
        [=] (P &p, const GValue *value) {
          const char *const text = g_value_get_string (value);
          field (p) = { text ? text : "", parse (text ? text : ""), field (p).set_count + 1 };
        },
        [=] (const P &p, GValue *value) { g_value_set_string (value, field (p).text.c_str ()); },
        std::move (check));
  }

  /// Adds a property with the values of the enumeration `type`, of which `check` may refuse some.
  template <class Field>
  void choice (const char *name, Field field, GType type, Mutability when, const std::string &blurb,
               Check check = nullptr)
  {
    using Enum = std::remove_cvref_t<decltype (field (by_default_))>;
    add (
        choice_spec (name, interned (blurb), type, int (field (by_default_)), when),
        [=] (P &p, const GValue *value) { field (p) = Enum (g_value_get_enum (value)); },
        [=] (const P &p, GValue *value) { g_value_set_enum (value, int (field (p))); },
        std::move (check));
  }

  void add (GParamSpec *spec, Set set, Get get, Check check = nullptr)
  {
    rows_.push_back ({ spec, std::move (set), std::move (get), std::move (check) });
  }

  /// Adds all properties of another table, whose values are in a member of P.
  template <class Part, class Field>
  void part (const PropertyTable<Part> &table, Field field)
  {
    for (const auto &row : table.rows_)
      add (
          row.spec, [=] (P &p, const GValue *value) { row.set (field (p), value); },
          [=] (const P &p, GValue *value) { row.get (field (p), value); },
          [=] (const P &p) { return row.check ? row.check (field (p)) : Expected<> (); });
  }

  /// Removes all properties from the table except for those in `names`. Call it before install ().
  void keep (std::initializer_list<std::string_view> names)
  {
    std::erase_if (rows_, [&] (const Row &row) {
      if (std::ranges::count (names, std::string_view (row.spec->name)) > 0)
        return false;
      g_param_spec_unref (g_param_spec_ref_sink (row.spec));
      return true;
    });
  }

  /// Installs the properties in a GObject class, with ids from 1 on; returns the id after the last.
  guint install (GObjectClass *klass) const
  {
    guint id = 1;
    for (const Row &row : rows_)
      g_object_class_install_property (klass, id++, row.spec);
    return id;
  }

  void set (P &p, guint id, const GValue *value) const { rows_[id - 1].set (p, value); }
  /// Sets a property from text. Returns an error for users if the table has no property `name`, or
  /// if the text does not fit the property's type; check () finds all other errors.
  Expected<> set_text (P &p, const std::string &name, const std::string &text) const
  {
    const auto found =
        std::ranges::find_if (rows_, [&name] (const Row &row) { return name == row.spec->name; });
    if (found == rows_.end ()) {
      std::string names;
      for (const Row &row : rows_)
        names += joined (names.empty () ? "" : ", ", row.spec->name);
      return error (Error::Kind::bad_setting, "there is no property ", name, ": use one of ",
                    names);
    }
    g_auto (GValue) value = G_VALUE_INIT;
    TRY (parse_value (found->spec, text, &value));
    found->set (p, &value);
    return {};
  }
  void get (const P &p, guint id, GValue *value) const { rows_[id - 1].get (p, value); }

  /// Returns the names of the properties that have another value than by default, separated by
  /// commas, of those whose description begins with `before`.
  std::string changed (const P &p, std::string_view before) const
  {
    std::string names;
    for (const Row &row : rows_) {
      g_auto (GValue) value = G_VALUE_INIT;
      row.get (p, g_value_init (&value, row.spec->value_type));
      if (std::string_view (g_param_spec_get_blurb (row.spec)).starts_with (before)
          && !g_param_value_defaults (row.spec, &value))
        names += joined (names.empty () ? "" : ", ", row.spec->name);
    }
    return names;
  }

  /// Returns an error for users if a property is out of range, or has text that cannot be parsed.
  Expected<> check (const P &p) const
  {
    for (const Row &row : rows_)
      if (row.check)
        TRY (row.check (p));
    return {};
  }

private:
  template <class>
  friend class PropertyTable;

  struct Row {
    GParamSpec *spec;  // owned by the class
    Set set;
    Get get;
    Check check;
  };

  const char *interned (const std::string &blurb) const
  {
    return g_intern_string ((before_ + blurb).c_str ());
  }

  std::vector<Row> rows_;
  const P by_default_;
  const std::string before_;
};

}  // namespace integralhist
