// SPDX-License-Identifier: LGPL-2.1-or-later
#include "on_demand_context.hpp"

#include <utility>

namespace integralhist {

Expected<std::unique_ptr<DeviceValues>> OnDemandContext::values_for (const Frame &frame)
{
  auto values = idle_values_.take ();
  if (!values) {
    values = TRY (assist->make (shape, device_answers));
    value_bytes += values->bytes ();
  }
  const auto kept = values->keep_in_place (
      { frame.image, frame.image.format.is_weighted () ? lut : kept_by (frame) }, frame.producer);
  if (kept)
    return values;
  drop (std::move (values));
  return tl::make_unexpected (kept.error ());
}

void OnDemandContext::drop (std::unique_ptr<DeviceValues> values)
{
  value_bytes -= values->bytes ();
}

void OnDemandContext::give_back (std::unique_ptr<DeviceValues> values)
{
  idle_values_.give_back (std::move (values));
}

void OnDemandContext::add_time (guint64 nanoseconds)
{
  const std::lock_guard lock (mutex_);
  time_.add (nanoseconds);
}

Duration OnDemandContext::time ()
{
  const std::lock_guard lock (mutex_);
  return time_;
}

void OnDemandContext::note_released (bool for_all)
{
  const std::lock_guard lock (mutex_);
  streak_ = for_all ? Streak{ streak_.all + 1, 0 } : Streak{ 0, streak_.less + 1 };
}

OnDemandContext::Streak OnDemandContext::streak ()
{
  const std::lock_guard lock (mutex_);
  return streak_;
}

}  // namespace integralhist
