// SPDX-License-Identifier: LGPL-2.1-or-later
#include "on_demand_tensor.hpp"

#include <new>

#include <kernels/window.hpp>

#include <gst/integralhist/base/log.hpp>

namespace integralhist {

void OnDemandTensor::note_failure (const Error &error)
{
  GST_WARNING ("the CPU computes a frame instead: %s", error.message.c_str ());
}

/// Returns a query with its windows in coordinates of the region `to`. `list` owns the windows.
static Expected<Query> moved (Query query, const Region &to, const Shape &frame,
                              std::unique_ptr<Region[]> &list)
{
  if (query.windows.list) {
    list.reset (new (std::nothrow) Region[query.windows.n]);
    if (!list)
      return error (Error::Kind::no_memory, "the host has no memory for ", query.windows.n,
                    " windows: ask for fewer in each call");
    for (int i = 0; i < query.windows.n; i++) {
      list[i] = window_of (query.windows, i, frame);
      list[i].x -= to.x, list[i].y -= to.y;
    }
    query.windows.list = list.get ();
  } else {
    query.windows.grid.x -= to.x, query.windows.grid.y -= to.y;
  }
  return query;
}

Shape OnDemandTensor::shape_of (const Region &region) const
{
  Shape of_region = shape;
  of_region.width = region.width;
  of_region.height = region.height;
  if (!is_whole (region))
    of_region.counter = inthist::Type::u32;  // compact counters would save little in a small tensor
  return of_region;
}

void OnDemandTensor::on_released ()
{
  shared_->note_released (optimizer_.whole_is_better ());
  region_tensor_ = nullptr;
  optimizer_.forget ();
}

Expected<std::shared_ptr<const OnDemandTensor::RegionTensor>>
OnDemandTensor::region_tensor_of (const Region &region)
{
  if (region_tensor_ && is_within (region, region_tensor_->region))
    return region_tensor_;
  region_tensor_ =
      std::make_shared<const RegionTensor> (RegionTensor{ region, TRY (compute (region)) });
  optimizer_.note_computed (region);
  return region_tensor_;
}

Expected<> OnDemandTensor::ask_region_tensor (const RegionTensor &region_tensor, const Query &query,
                                              std::optional<Stream> stream)
{
  const auto &[region, tensor] = region_tensor;
  std::unique_ptr<Region[]> list;
  const Query there = is_whole (region) ? query : TRY (moved (query, region, shape, list));
  const std::span queries (&there, 1);
  return stream ? tensor->ask_on (*stream, queries) : tensor->ask (queries);
}

}  // namespace integralhist
