// SPDX-License-Identifier: LGPL-2.1-or-later
#include "settings.hpp"

#include <stdexcept>

#include "region_reporter.hpp"

namespace integralhist {

static GType
backend_get_type ()
{
  static const GEnumValue values[] = {
    { int (Backend::automatic), "CUDA when a device answers, else the CPU", "auto" },
    { int (Backend::cuda), "CUDA, or an error", "cuda" },
    { int (Backend::cpu), "The CPU", "cpu" },
    { 0, nullptr, nullptr },
  };
  static const GType type = g_enum_register_static ("GstCudaIntegralHistBackend", values);
  return type;
}

static GType
strategy_get_type ()
{
  static const std::vector<GEnumValue> values = [] {
    std::vector<GEnumValue> rows = { { kStrategyAuto, "The fastest for the shape and the device", "auto" } };
    for (const inthist::Strategy &strategy : inthist::strategies ()) {
      // kept for as long as the type, which is for ever
      const char *limited = *strategy.limit ? g_strdup_printf ("%s; %s", strategy.description, strategy.limit) : strategy.description;
      rows.push_back ({ int (rows.size ()), limited, strategy.name });
    }
    rows.push_back ({ 0, nullptr, nullptr });
    return rows;
  }();
  static const GType type = g_enum_register_static ("GstCudaIntegralHistStrategy", values.data ());
  return type;
}

static GType
download_get_type ()
{
  static const GEnumValue values[] = {
    { int (Download::lazy), "Copy the tensor to the host when somebody maps it", "lazy" },
    { int (Download::eager), "Start the copy right behind the computation", "eager" },
    { int (Download::never), "Leave the tensor on the GPU; region queries still work", "never" },
    { 0, nullptr, nullptr },
  };
  static const GType type = g_enum_register_static ("GstCudaIntegralHistDownload", values);
  return type;
}

bool
Settings::set (guint id, const GValue *value)
{
  switch (id) {
    case PROP_BINS: bins = g_value_get_uint (value); break;
    case PROP_BACKEND: backend = Backend (g_value_get_enum (value)); break;
    case PROP_STRATEGY: strategy = g_value_get_enum (value); break;
    case PROP_COUNTER: counter = GstIntegralHistogramCounter (g_value_get_enum (value)); break;
    case PROP_CUDA_DEVICE_ID: cuda_device_id = g_value_get_int (value); break;
    case PROP_DOWNLOAD: options.download = Download (g_value_get_enum (value)); break;
    case PROP_ASYNC_DEPTH: options.async_depth = g_value_get_uint (value); break;
    case PROP_MAX_TENSORS: options.max_tensors = g_value_get_uint (value); break;
    case PROP_SYNC: sync = g_value_get_boolean (value); break;
    case PROP_INTERVAL: interval = g_value_get_uint (value); break;
    case PROP_REGIONS: regions = g_value_get_string (value) ? g_value_get_string (value) : ""; break;
    default: return false;
  }
  return true;
}

bool
Settings::get (guint id, GValue *value) const
{
  switch (id) {
    case PROP_BINS: g_value_set_uint (value, bins); break;
    case PROP_BACKEND: g_value_set_enum (value, int (backend)); break;
    case PROP_STRATEGY: g_value_set_enum (value, strategy); break;
    case PROP_COUNTER: g_value_set_enum (value, counter); break;
    case PROP_CUDA_DEVICE_ID: g_value_set_int (value, cuda_device_id); break;
    case PROP_DOWNLOAD: g_value_set_enum (value, int (options.download)); break;
    case PROP_ASYNC_DEPTH: g_value_set_uint (value, options.async_depth); break;
    case PROP_MAX_TENSORS: g_value_set_uint (value, options.max_tensors); break;
    case PROP_SYNC: g_value_set_boolean (value, sync); break;
    case PROP_INTERVAL: g_value_set_uint (value, interval); break;
    case PROP_REGIONS: g_value_set_string (value, regions.c_str ()); break;
    default: return false;
  }
  return true;
}

/// Throws std::invalid_argument.
static void
check_range (const char *name, guint value, guint min, guint max)
{
  if (value < min || value > max)
    throw std::invalid_argument (std::string (name) + "=" + std::to_string (value) + " is out of range: set it to " + std::to_string (min)
                                 + " to " + std::to_string (max));
}

void
Settings::check () const
{
  check_range ("bins", bins, 1, kMaxBins);
  check_range ("async-depth", options.async_depth, 1, kMaxAsyncDepth);
  check_range ("interval", interval, 1, G_MAXINT);
  parse_regions (regions.c_str ());
}

/// A uint property like any other, but a value out of its range arrives, so that the element can fail with an error; GObject alone would warn
/// on the console and go on with the value before.
static GParamSpec *
checked_uint_spec (const char *name, const char *nick, const char *blurb, guint min, guint max, guint by_default, GParamFlags flags)
{
  static const GType type = [] {
    const auto init = [] (gpointer klass, gpointer) {
      G_PARAM_SPEC_CLASS (klass)->value_validate = [] (GParamSpec *, GValue *) { return FALSE; };
    };
    return g_type_register_static_simple (G_TYPE_PARAM_UINT, "GstCudaIntegralHistParamUInt", sizeof (GParamSpecClass), init,
                                          sizeof (GParamSpecUInt), nullptr, GTypeFlags (0));
  }();
  auto *spec = reinterpret_cast<GParamSpecUInt *> (g_param_spec_internal (type, name, nick, blurb, flags));
  spec->minimum = min;
  spec->maximum = max;
  spec->default_value = by_default;
  return G_PARAM_SPEC (spec);
}

void
install_properties (GObjectClass *klass)
{
  const auto flags = [] (int mutability) { return GParamFlags (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | mutability); };
  const GParamFlags ready = flags (GST_PARAM_MUTABLE_READY), playing = flags (GST_PARAM_MUTABLE_PLAYING);
  const auto install = [klass] (Property id, GParamSpec *spec) { g_object_class_install_property (klass, id, spec); };

  install (PROP_BINS, checked_uint_spec ("bins", "Bins", "Number of histogram bins; a pixel's bin is value * bins / 256", 1, kMaxBins,
                                         kDefaultBins, ready));
  install (PROP_BACKEND,
           g_param_spec_enum ("backend", "Backend", "Where to compute", backend_get_type (), int (Backend::automatic), ready));
  install (PROP_STRATEGY,
           g_param_spec_enum ("strategy", "Strategy", "Algorithm; all give the same counts", strategy_get_type (), kStrategyAuto, ready));
  install (PROP_COUNTER, g_param_spec_enum ("counter", "Counter", "Type of the tensor's elements; region queries are exact with both",
                                            GST_TYPE_INTEGRAL_HISTOGRAM_COUNTER, GST_INTEGRAL_HISTOGRAM_COUNTER_U32, ready));
  install (PROP_CUDA_DEVICE_ID,
           g_param_spec_int ("cuda-device-id", "CUDA device", "CUDA device; -1 follows the input's memory, else takes device 0", -1,
                             G_MAXINT, -1, ready));
  install (PROP_DOWNLOAD, g_param_spec_enum ("download", "Download", "When a tensor on a GPU is copied to the host", download_get_type (),
                                             int (Download::lazy), ready));
  install (PROP_ASYNC_DEPTH,
           checked_uint_spec ("async-depth", "Async depth", "Frames that may be in the making at once; the next waits for the oldest", 1,
                              kMaxAsyncDepth, kDefaultAsyncDepth, ready));
  install (PROP_MAX_TENSORS,
           g_param_spec_uint (
               "max-tensors", "Max tensors",
               "Most tensors of one frame size alive at once, 0 for no limit; at the limit the element waits until one is released. "
               "A sink keeps its last frame, so 1 wants its enable-last-sample=false",
               0, G_MAXUINT, 0, ready));
  install (PROP_SYNC, g_param_spec_boolean ("sync", "Sync", "Wait for each frame's tensor before pushing it", FALSE, playing));
  install (PROP_INTERVAL, checked_uint_spec ("interval", "Interval", "Compute every n-th frame; the others pass without the meta", 1,
                                             G_MAXINT, 1, playing));
  install (PROP_REGIONS, g_param_spec_string ("regions", "Regions",
                                              "Regions \"x,y,width,height;...\" in pixels whose histograms go out as an element message "
                                              "\"integral-histogram\" for each frame",
                                              "", playing));
  install (PROP_STATS, g_param_spec_boxed ("stats", "Statistics",
                                           "Since the frame size last changed: frames, frames in flight, backend, strategy, device, "
                                           "microseconds of upload, compute and download, bytes each way",
                                           GST_TYPE_STRUCTURE, GParamFlags (G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));

  for (GType type : { backend_get_type (), strategy_get_type (), download_get_type (), GST_TYPE_INTEGRAL_HISTOGRAM_COUNTER })
    gst_type_mark_as_plugin_api (type, GstPluginAPIFlags (0));
}

}  // namespace integralhist
