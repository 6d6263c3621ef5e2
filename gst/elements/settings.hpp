// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The properties that the elements share.
#pragma once

#include <optional>
#include <string>

#include <gst/integralhist/engine.hpp>

namespace integralhist {

enum class Backend { automatic, cuda, cpu };

constexpr guint kMaxAsyncDepth = 64, kMaxTuningTime = 60000, kMaxTaskBins = 256;

enum Property {
  PROP_BACKEND = 1,
  PROP_STRATEGY,
  PROP_CUDA_DEVICE_ID,
  PROP_DOWNLOAD,
  PROP_ASYNC_DEPTH,
  PROP_MAX_TENSORS,
  PROP_SYNC,
  PROP_INTERVAL,
  PROP_REGIONS,
  PROP_TUNING_TIME,
  PROP_CUDA_DEVICE_IDS,
  PROP_MAX_DEVICE_MEMORY,
  PROP_TASK_BINS,
  PROP_QOS,
  PROP_STATS,
  PROP_OF_SUBCLASS,  // the first that an element has for itself
};

struct Settings {
  Backend backend = Backend::automatic;
  int cuda_device_id = -1;
  Options options;
  bool sync = false;
  std::optional<bool> qos;  // unset: where the source is live
  guint interval = 1;
  std::string regions;
  std::string cuda_device_ids;

  /// Of the property `id`; false where that is none of the settings.
  bool set (guint id, const GValue *value);
  bool get (guint id, GValue *value) const;
  /// An error for users where one is out of range, or two do not go together.
  Expected<> check () const;
  /// Whether late frames pass without a histogram.
  bool sheds (bool live) const { return qos.value_or (live); }
  /// Of those that are named; -1 for any.
  int first_device () const;
};

/// An error for users where the value of the property `name` is out of its range.
Expected<> check_range (const char *name, gint64 value, gint64 min, gint64 max);
Expected<> check_range (const char *name, double value, double min, double max);

/// A property like any other, but a value out of its range arrives, so that the element can fail
/// with an error; GObject alone would warn on the console and go on with the value before.
GParamSpec *checked_uint_spec (const char *name, const char *nick, const char *blurb, guint min,
                               guint max, guint by_default, GParamFlags flags);
GParamSpec *checked_int_spec (const char *name, const char *nick, const char *blurb, int min,
                              int max, int by_default, GParamFlags flags);
GParamSpec *checked_double_spec (const char *name, const char *nick, const char *blurb, double min,
                                 double max, double by_default, GParamFlags flags);

/// For a property that may change in NULL and READY, or while frames pass.
GParamFlags mutable_ready ();
GParamFlags mutable_playing ();

void install_properties (GObjectClass *klass);
/// Those whose values or meaning depend on what an element computes.
void install_properties_for (GObjectClass *klass, inthist::Content content);

}  // namespace integralhist
