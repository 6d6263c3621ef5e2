// SPDX-License-Identifier: LGPL-2.1-or-later
#include "settings.hpp"

#include "parse.hpp"

namespace integralhist {

static GType backend_get_type ()
{
  static const GEnumValue values[] = {
    { int (Backend::automatic), "CUDA when a device answers, else the CPU", "auto" },
    { int (Backend::cuda), "CUDA, or an error", "cuda" },
    { int (Backend::cpu), "The CPU", "cpu" },
    { 0, nullptr, nullptr },
  };
  static const GType type = g_enum_register_static ("GstCudaIntegralBackend", values);
  return type;
}

/// Whether the strategy refuses a frame or a setting of an element with such content, so that its
/// limit is worth telling.
static bool is_limited (const inthist::Strategy &strategy, inthist::Content content)
{
  using inthist::Content, inthist::Type;
  constexpr int kLong = 1 << 20;  // pixels
  const bool bins = content == Content::bins;
  for (const auto &[width, height] :
       { std::pair (8192, 8192), std::pair (kLong, 3), std::pair (3, kLong) })
    for (const int planes : { 1, bins ? 32 : 1, bins ? 256 : 2 })
      for (const Type counter : { Type::u32, bins ? Type::u16 : Type::u32 })
        if (!inthist::accepts (strategy, { width, height, planes, counter, content, Type::u8 }))
          return true;
  return false;
}

/// auto, and the strategies that can compute such content at all. A value is 0, or 1 + the row in
/// the table of strategies.
static std::vector<GEnumValue> strategy_values (const inthist::Shape &example)
{
  std::vector<GEnumValue> values = { { 0, "The fastest for the shape and the device", "auto" } };
  int row = 0;
  for (const inthist::Strategy &strategy : inthist::strategies ()) {
    row++;
    if (!inthist::accepts (strategy, example))
      continue;
    const std::string limit = is_limited (strategy, example.content)
                                  ? std::string (" (limit: ") + strategy.limit + ")"
                                  : "";
    values.push_back (
        { row, g_intern_string ((strategy.description + limit).c_str ()), strategy.name });
  }
  values.push_back ({ 0, nullptr, nullptr });
  return values;
}

static GType strategy_get_type (inthist::Content content)
{
  using inthist::Content, inthist::Type;
  static const std::vector<GEnumValue> of_histograms =
      strategy_values ({ 640, 480, 32, Type::u32, Content::bins, Type::u8 });
  static const std::vector<GEnumValue> of_tables =
      strategy_values ({ 640, 480, 1, Type::u32, Content::powers, Type::u8 });
  static const GType histograms =
      g_enum_register_static ("GstCudaIntegralHistStrategy", of_histograms.data ());
  static const GType tables =
      g_enum_register_static ("GstCudaIntegralImageStrategy", of_tables.data ());
  return content == Content::bins ? histograms : tables;
}

static GType download_get_type ()
{
  static const GEnumValue values[] = {
    { int (Download::lazy), "Copy the tensor to the host when somebody maps it", "lazy" },
    { int (Download::eager), "Start the copy right behind the computation", "eager" },
    { int (Download::never), "Leave the tensor on the GPU; region queries still work", "never" },
    { 0, nullptr, nullptr },
  };
  static const GType type = g_enum_register_static ("GstCudaIntegralDownload", values);
  return type;
}

static const inthist::Strategy *strategy_of (int value)
{
  return value == 0 ? nullptr : &inthist::strategies ()[value - 1];
}

static int value_of (const inthist::Strategy *strategy)
{
  return strategy ? int (strategy - inthist::strategies ().data ()) + 1 : 0;
}

bool Settings::set (guint id, const GValue *value)
{
  switch (id) {
    case PROP_BACKEND: backend = Backend (g_value_get_enum (value)); break;
    case PROP_STRATEGY: options.strategy = strategy_of (g_value_get_enum (value)); break;
    case PROP_CUDA_DEVICE_ID: cuda_device_id = g_value_get_int (value); break;
    case PROP_DOWNLOAD: options.download = Download (g_value_get_enum (value)); break;
    case PROP_ASYNC_DEPTH: options.async_depth = g_value_get_uint (value); break;
    case PROP_MAX_TENSORS: options.max_tensors = g_value_get_uint (value); break;
    case PROP_SYNC: sync = g_value_get_boolean (value); break;
    case PROP_INTERVAL: interval = g_value_get_uint (value); break;
    case PROP_REGIONS:
      regions = g_value_get_string (value) ? g_value_get_string (value) : "";
      break;
    case PROP_TUNING_TIME: options.tuning_time = g_value_get_uint (value); break;
    case PROP_CUDA_DEVICE_IDS:
      cuda_device_ids = g_value_get_string (value) ? g_value_get_string (value) : "";
      break;
    case PROP_MAX_DEVICE_MEMORY: options.max_device_memory = g_value_get_uint64 (value); break;
    case PROP_TASK_BINS: options.task_bins = g_value_get_uint (value); break;
    case PROP_QOS: qos = g_value_get_boolean (value); break;
    default: return false;
  }
  return true;
}

bool Settings::get (guint id, GValue *value) const
{
  switch (id) {
    case PROP_BACKEND: g_value_set_enum (value, int (backend)); break;
    case PROP_STRATEGY: g_value_set_enum (value, value_of (options.strategy)); break;
    case PROP_CUDA_DEVICE_ID: g_value_set_int (value, cuda_device_id); break;
    case PROP_DOWNLOAD: g_value_set_enum (value, int (options.download)); break;
    case PROP_ASYNC_DEPTH: g_value_set_uint (value, options.async_depth); break;
    case PROP_MAX_TENSORS: g_value_set_uint (value, options.max_tensors); break;
    case PROP_SYNC: g_value_set_boolean (value, sync); break;
    case PROP_INTERVAL: g_value_set_uint (value, interval); break;
    case PROP_REGIONS: g_value_set_string (value, regions.c_str ()); break;
    case PROP_TUNING_TIME: g_value_set_uint (value, options.tuning_time); break;
    case PROP_CUDA_DEVICE_IDS: g_value_set_string (value, cuda_device_ids.c_str ()); break;
    case PROP_MAX_DEVICE_MEMORY: g_value_set_uint64 (value, options.max_device_memory); break;
    case PROP_TASK_BINS: g_value_set_uint (value, options.task_bins); break;
    case PROP_QOS: g_value_set_boolean (value, qos.value_or (true)); break;
    default: return false;
  }
  return true;
}

Expected<> check_range (const char *name, gint64 value, gint64 min, gint64 max)
{
  if (value >= min && value <= max)
    return {};
  return error (Error::Kind::bad_setting,
                std::string (name) + "=" + std::to_string (value) + " is out of range: set it to "
                    + std::to_string (min) + " to " + std::to_string (max));
}

Expected<> check_range (const char *name, double value, double min, double max)
{
  if (value >= min && value <= max)
    return {};
  g_autofree char *text =
      g_strdup_printf ("%s=%g is out of range: set it to %g to %g", name, value, min, max);
  return error (Error::Kind::bad_setting, text);
}

int Settings::first_device () const
{
  const auto ids = parse_device_ids (cuda_device_ids);
  return !ids            ? -1
         : ids->empty () ? cuda_device_id
                         : ids->front ();  // check () says what is wrong with them
}

Expected<> Settings::check () const
{
  TRY (check_range ("cuda-device-id", gint64 (cuda_device_id), -1, G_MAXINT));
  TRY (check_range ("async-depth", gint64 (options.async_depth), 1, kMaxAsyncDepth));
  TRY (check_range ("interval", gint64 (interval), 1, G_MAXINT));
  TRY (check_range ("tuning-time", gint64 (options.tuning_time), 0, kMaxTuningTime));
  TRY (check_range ("task-bins", gint64 (options.task_bins), 0, kMaxTaskBins));
  if (!TRY (parse_device_ids (cuda_device_ids)).empty () && cuda_device_id >= 0)
    return error (Error::Kind::bad_setting, "cuda-device-id=" + std::to_string (cuda_device_id)
                                                + " and cuda-device-ids=\"" + cuda_device_ids
                                                + "\" are both set: set one of them");
  TRY (parse_regions (regions));
  return {};
}

static GParamFlags read_write (int mutability)
{
  return GParamFlags (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | mutability);
}

GParamFlags mutable_ready ()
{
  return read_write (GST_PARAM_MUTABLE_READY);
}

GParamFlags mutable_playing ()
{
  return read_write (GST_PARAM_MUTABLE_PLAYING);
}

/// A type of properties like `parent`, but every value is valid.
template <class Spec>
static GType unchecked_type (GType parent, const char *name)
{
  const auto init = [] (gpointer klass, gpointer) {
    G_PARAM_SPEC_CLASS (klass)->value_validate = [] (GParamSpec *, GValue *) { return FALSE; };
  };
  return g_type_register_static_simple (parent, name, sizeof (GParamSpecClass), init, sizeof (Spec),
                                        nullptr, GTypeFlags (0));
}

template <class Spec, class Number>
static GParamSpec *number_spec (GType type, const char *name, const char *nick, const char *blurb,
                                Number min, Number max, Number by_default, GParamFlags flags)
{
  auto *spec = reinterpret_cast<Spec *> (g_param_spec_internal (type, name, nick, blurb, flags));
  spec->minimum = min;
  spec->maximum = max;
  spec->default_value = by_default;
  return G_PARAM_SPEC (spec);
}

GParamSpec *checked_uint_spec (const char *name, const char *nick, const char *blurb, guint min,
                               guint max, guint by_default, GParamFlags flags)
{
  static const GType type =
      unchecked_type<GParamSpecUInt> (G_TYPE_PARAM_UINT, "GstCudaIntegralParamUInt");
  return number_spec<GParamSpecUInt> (type, name, nick, blurb, min, max, by_default, flags);
}

GParamSpec *checked_int_spec (const char *name, const char *nick, const char *blurb, int min,
                              int max, int by_default, GParamFlags flags)
{
  static const GType type =
      unchecked_type<GParamSpecInt> (G_TYPE_PARAM_INT, "GstCudaIntegralParamInt");
  return number_spec<GParamSpecInt> (type, name, nick, blurb, min, max, by_default, flags);
}

GParamSpec *checked_double_spec (const char *name, const char *nick, const char *blurb, double min,
                                 double max, double by_default, GParamFlags flags)
{
  static const GType type =
      unchecked_type<GParamSpecDouble> (G_TYPE_PARAM_DOUBLE, "GstCudaIntegralParamDouble");
  return number_spec<GParamSpecDouble> (type, name, nick, blurb, min, max, by_default, flags);
}

void install_properties (GObjectClass *klass)
{
  const Settings by_default;
  const GParamFlags ready = mutable_ready (), playing = mutable_playing ();
  const auto install = [klass] (Property id, GParamSpec *spec) {
    g_object_class_install_property (klass, id, spec);
  };

  install (PROP_BACKEND, g_param_spec_enum ("backend", "Backend", "Where to compute",
                                            backend_get_type (), int (by_default.backend), ready));
  install (PROP_CUDA_DEVICE_ID,
           checked_int_spec ("cuda-device-id", "CUDA device",
                             "CUDA device, an error where it is not there; -1 follows the input's "
                             "memory, else takes the one that "
                             "the fewest elements of this process use",
                             -1, G_MAXINT, by_default.cuda_device_id, ready));
  install (PROP_DOWNLOAD,
           g_param_spec_enum ("download", "Download",
                              "When a tensor on a GPU is copied to the host", download_get_type (),
                              int (by_default.options.download), ready));
  install (PROP_ASYNC_DEPTH,
           checked_uint_spec ("async-depth", "Async depth",
                              "Frames, and so tensors, that may be in the making at once; the next "
                              "waits for the oldest",
                              1, kMaxAsyncDepth, by_default.options.async_depth, ready));
  install (
      PROP_MAX_TENSORS,
      g_param_spec_uint ("max-tensors", "Max tensors",
                         "Most tensors of one frame size alive at once, 0 for no limit; at the "
                         "limit the element waits until one is released. "
                         "A sink keeps its last frame, so 1 wants its enable-last-sample=false",
                         0, G_MAXUINT, by_default.options.max_tensors, ready));
  install (PROP_SYNC,
           g_param_spec_boolean ("sync", "Sync", "Wait for each frame's tensor before pushing it",
                                 by_default.sync, playing));
  install (PROP_INTERVAL,
           checked_uint_spec ("interval", "Interval",
                              "Compute every n-th frame; the others pass without the meta", 1,
                              G_MAXINT, by_default.interval, playing));
  install (PROP_TUNING_TIME,
           checked_uint_spec ("tuning-time", "Tuning time",
                              "With strategy=auto, about how many milliseconds to spend at most on "
                              "measuring strategies for a frame size that this "
                              "machine has not measured yet; what was measured is kept in the "
                              "user's cache. 0 takes the built-in choice",
                              0, kMaxTuningTime, by_default.options.tuning_time, ready));
  install (PROP_QOS, g_param_spec_boolean ("qos", "QoS",
                                           "Let a frame that is late pass without a histogram, so "
                                           "that the stream's delay stays bounded. Unless it "
                                           "is set, this holds for live sources only",
                                           TRUE, playing));
  install (PROP_STATS,
           g_param_spec_boxed ("stats", "Statistics",
                               "Since the frame size last changed: frames, frames in flight, "
                               "backend, strategy with its tile and "
                               "threads (0 for its own defaults) and where that choice is from "
                               "(tuning), device, microseconds of "
                               "upload, compute and download, bytes each way, bytes-staged of "
                               "those up that were copied to "
                               "pinned memory first; skipped, how many late frames passed without "
                               "a histogram; where frames are shared out "
                               "also devices, and parts, how many parts of frames each "
                               "has computed",
                               GST_TYPE_STRUCTURE,
                               GParamFlags (G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));

  for (GType type : { backend_get_type (), download_get_type () })
    gst_type_mark_as_plugin_api (type, GstPluginAPIFlags (0));
}

void install_properties_for (GObjectClass *klass, inthist::Content content)
{
  const bool bins = content == inthist::Content::bins;
  const GType strategies = strategy_get_type (content);
  g_object_class_install_property (klass, PROP_STRATEGY,
                                   g_param_spec_enum ("strategy", "Strategy",
                                                      bins ? "Algorithm; all give the same counts"
                                                           : "Algorithm; all give the same sums",
                                                      strategies, 0, mutable_ready ()));
  g_object_class_install_property (
      klass, PROP_REGIONS,
      g_param_spec_string (
          "regions", "Regions",
          bins ? "Regions \"x,y,width,height;...\" in pixels whose histograms go out as an element "
                 "message "
                 "\"integral-histogram\" for each frame; one outside of the frame is an error"
               : "Regions \"x,y,width,height;...\" in pixels whose sum and mean, and with squared "
                 "their sum of squares and "
                 "variance, go out as an element message \"integral-image\" for each frame; one "
                 "outside of the frame is an error",
          "", mutable_playing ()));
  gst_type_mark_as_plugin_api (strategies, GstPluginAPIFlags (0));
  if (!bins)
    return;
  g_object_class_install_property (
      klass, PROP_CUDA_DEVICE_IDS,
      g_param_spec_string ("cuda-device-ids", "CUDA devices",
                           "Devices \"0,1,2,3\" that the bins of each frame are shared out over, "
                           "each taking the next few bins when it is free. "
                           "One alone is like cuda-device-id, which is not to be set as well. With "
                           "backend=cpu they are pretend devices, to try this "
                           "without a GPU",
                           "", mutable_ready ()));
  g_object_class_install_property (
      klass, PROP_MAX_DEVICE_MEMORY,
      g_param_spec_uint64 ("max-device-memory", "Max device memory",
                           "Bytes that may be taken of each device (on the CPU: of its memory) for "
                           "tensors and what they are computed in, 0 for what is "
                           "free. No more tensors are alive at once than fit; where two do not "
                           "fit, or one with max-tensors=1 or download=never, frames "
                           "are computed in rounds, each downloaded while the next is computed, "
                           "and tensors lie in host memory",
                           0, G_MAXUINT64, 0, mutable_ready ()));
  g_object_class_install_property (
      klass, PROP_TASK_BINS,
      checked_uint_spec ("task-bins", "Task bins",
                         "Most bins that a device takes at once, of frames that are shared out or "
                         "computed in rounds; 0 for what suits, "
                         "at most 32, or 8 that are downloaded. A single device computes frames in "
                         "such tasks, too, where this is set",
                         0, kMaxTaskBins, 0, mutable_ready ()));
}

}  // namespace integralhist
