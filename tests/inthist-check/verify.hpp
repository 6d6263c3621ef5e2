// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Compares strategies with the truth.
#pragma once

#include "frame.hpp"
#include "options.hpp"

namespace inthist::check {

/// Runs the strategy once and compares everything that it may have written. Empty if all is right.
/// Without guards, workspace and bins also stay as they are allocated. If asked, it starts from the
/// image instead of the bins.
std::string attempt (const Strategy &strategy, const Tuning &tuning, Frame &frame, Queue &queue,
                     bool guards, bool from_image = false);

/// Tells whether the checks above notice strategies with one deliberate fault each; prints the
/// faults that they do not notice.
bool notices_faults ();

/// Runs everything, and prints a line for each failure and for each check. Returns how many tensors
/// of the case list were compared, or a negative number if something failed.
int verify (const Options &options);

}  // namespace inthist::check
