// SPDX-License-Identifier: LGPL-2.1-or-later
#include "motion.hpp"

#include <cmath>

namespace integralhist {

// The share of a target's old velocity that remains after a frame in which a new velocity is
// measured, and after a frame in which the target is not seen.
static constexpr double kVelocitySmoothing = 0.8, kVelocityDamping = 0.95;

void Motion::learn (const TargetBox &from, const TargetBox &to, unsigned frames)
{
  const double rate = 1 - std::pow (kVelocitySmoothing, frames);
  const double x = (to.x + to.width / 2 - from.x - from.width / 2) / frames / to.width,
               y = (to.y + to.height / 2 - from.y - from.height / 2) / frames / to.height;
  x_ += rate * (x - x_);
  y_ += rate * (y - y_);
}

void Motion::note_tracked (const TargetBox &box)
{
  if (last_ && !has_velocity_)
    learn (*last_, box, unseen_ + 1);
  last_ = box;
  unseen_ = 0;
  undetected_++;
}

void Motion::note_detected (const TargetBox &box)
{
  if (detected_) {
    learn (*detected_, box, undetected_ + 1);
    has_velocity_ = true;
  }
  last_ = detected_ = box;
  unseen_ = undetected_ = 0;
}

void Motion::note_unseen ()
{
  unseen_++;
  undetected_++;
}

double Motion::speed () const
{
  if (!has_velocity_)
    return 0;
  const double x = x_ * detected_->width / detected_->height;
  return std::sqrt (x * x + y_ * y_);
}

void Motion::resize (double x_factor, double y_factor)
{
  for (std::optional<TargetBox> *const box : { &last_, &detected_ })
    if (*box)
      *box = resized (**box, x_factor, y_factor);
}

TargetBox Motion::moved (const TargetBox &box, unsigned frames) const
{
  const double as_many = (1 - std::pow (kVelocityDamping, frames)) / (1 - kVelocityDamping);
  return { box.x + x_ * as_many * box.width, box.y + y_ * as_many * box.height, box.width,
           box.height };
}

TargetBox Motion::expected (const TargetBox &last) const
{
  return moved (last, unseen_ + 1);
}

TargetBox Motion::expected_by_detections (const TargetBox &last) const
{
  return detected_ ? moved (*detected_, undetected_ + 1) : expected (last);
}

}  // namespace integralhist
