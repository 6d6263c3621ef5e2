// SPDX-License-Identifier: LGPL-2.1-or-later
#include "strategy_choice.hpp"

#include <kernels/clock.hpp>

#include <gst/integralhist/base/cancel.hpp>
#include <gst/integralhist/base/log.hpp>

namespace integralhist {

using inthist::Choice;

static Expected<StrategyPlan> measured_plan (Device device, const Shape &shape,
                                             const Choice &built_in, unsigned milliseconds,
                                             int slots, void *tensor)
{
  // Two measurements at once would both be wrong. Never destroyed: threads may wait at exit.
  static CancellableMutex &measuring = *new CancellableMutex;
  const auto lock = TRY (measuring.lock ());
  TRY (CancelScope::check ());
  const auto start = inthist::Clock::now ();
  const auto choice = inthist::tune (device, shape, inthist::layout_of (shape), tensor,
                                     milliseconds / 1e3, slots, CancelScope::flag ());
  if (!choice && choice.error ().cancelled)
    return error (Error::Kind::flushing, "stopped while strategies were measured");
  if (!choice)
    return StrategyPlan{ built_in, "default",
                         "built-in, because measuring failed: " + choice.error ().why };
  return StrategyPlan{ *choice, "measured",
                       joined ("measured in ", int (inthist::seconds_since (start) * 1e3), " ms") };
}

Expected<StrategyPlan> choose_strategy (Device device, const Shape &shape, const Strategy *set,
                                        unsigned milliseconds, int slots, void *tensor)
{
  StrategyPlan plan;
  if (set) {
    plan = { { set, {}, 0 }, "set", "as set" };
  } else {
    const Choice built_in = inthist::default_choice (device, shape);
    if (!built_in.strategy)
      return error (Error::Kind::failed, "no strategy computes ", describe (shape),
                    shape.counter == inthist::Type::u8_tiled
                        ? ": set counter=u16"
                        : ": use smaller frames or fewer bins");
    plan = milliseconds == 0
               ? StrategyPlan{ built_in, "default", "built-in" }
               : TRY (measured_plan (device, shape, built_in, milliseconds, slots, tensor));
  }
  GST_DEBUG ("%s: strategy %s, tile %d, threads %d: %s", describe (shape).c_str (),
             plan.choice.strategy->name, plan.choice.tuning.tile, plan.choice.tuning.threads,
             plan.description.c_str ());
  return plan;
}

}  // namespace integralhist
