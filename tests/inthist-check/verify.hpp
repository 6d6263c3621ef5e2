// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Strategies against the truth.
#pragma once

#include "frame.hpp"
#include "options.hpp"

namespace inthist::check {

/// Runs the strategy once and looks at everything that it may have written. Empty where all is
/// right. Without guards workspace and bins are left as they are allocated, too. From the image
/// instead of the bins, if asked.
std::string attempt (const Strategy &strategy, const Tuning &tuning, Frame &frame, Queue &queue,
                     bool guards, bool from_image = false);

/// Tells whether those above object to strategies with one fault each, on purpose; prints what they
/// do not notice.
bool notices_faults ();

/// Runs everything, and prints a line for each failure and for each check. Returns how many tensors
/// of the case list were compared; a negative number where something failed.
int verify (const Options &options);

}  // namespace inthist::check
