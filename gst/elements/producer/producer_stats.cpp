// SPDX-License-Identifier: LGPL-2.1-or-later
#include "producer_stats.hpp"

#include <gst/elements/base/messages.hpp>

namespace integralhist {

GParamSpec *producer_stats_spec ()
{
  return g_param_spec_boxed ("stats", nullptr,
                             "Counters and times since the frame size last changed; "
                             "docs/pipelines.md has a table of the fields",
                             GST_TYPE_STRUCTURE,
                             GParamFlags (G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

GstStructure *producer_stats (const Stats &stats, const StrategyPlan &plan, guint64 n_shed)
{
  const bool computes = !g_str_equal (stats.backend, "none");
  const char *compute = computes ? stats.compute_mode : "none",
             *why = computes ? stats.compute_mode_reason : "none";
  const char *strategy = plan.choice.strategy ? plan.choice.strategy->name : "none";
  GstStructure *structure = gst_structure_new (
      "stats", "frames", G_TYPE_UINT64, stats.frames, "in-flight", G_TYPE_UINT64, stats.in_flight,
      "backend", G_TYPE_STRING, stats.backend, "strategy", G_TYPE_STRING, strategy, "tile",
      G_TYPE_INT, plan.choice.tuning.tile, "threads", G_TYPE_INT, plan.choice.tuning.threads,
      "tuning", G_TYPE_STRING, plan.origin, "compute", G_TYPE_STRING, compute, "compute-reason",
      G_TYPE_STRING, why, "pixel-answers", G_TYPE_UINT64, stats.pixel_answers, "device-answers",
      G_TYPE_UINT64, stats.device_answers, "part-tensors", G_TYPE_UINT64, stats.part_tensors,
      "tensors", G_TYPE_UINT64, stats.tensors, "bytes-on-demand", G_TYPE_UINT64,
      stats.bytes_on_demand, "device", G_TYPE_INT, stats.device, "bytes-up", G_TYPE_UINT64,
      stats.bytes_up, "bytes-down", G_TYPE_UINT64, stats.bytes_down, "bytes-staged", G_TYPE_UINT64,
      stats.bytes_staged, "skipped", G_TYPE_UINT64, n_shed, nullptr);
  const auto add = [&] (const char *mean, const char *max, const Duration &duration) {
    gst_structure_set (structure, mean, G_TYPE_DOUBLE,
                       duration.count ? duration.sum / 1e3 / duration.count : 0.0, max,
                       G_TYPE_DOUBLE, duration.max / 1e3, nullptr);
  };
  add ("upload-us-mean", "upload-us-max", stats.upload);
  add ("compute-us-mean", "compute-us-max", stats.compute);
  add ("download-us-mean", "download-us-max", stats.download);
  if (!stats.parts.empty ()) {
    const std::size_t n = stats.parts.size ();
    set_array (structure, "devices", n,
               [&] (std::size_t i) { return gvalue<gint> (stats.parts[i].device); });
    set_array (structure, "parts", n,
               [&] (std::size_t i) { return gvalue<guint64> (stats.parts[i].parts); });
  }
  return structure;
}

}  // namespace integralhist
