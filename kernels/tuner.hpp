// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which strategy, and with which tile and block size, is the fastest for a shape on this very device? Dang, Yan and Wu 2014 searched for the parameters of their algorithm;
// here every strategy takes part. The candidates run in the order of preference, each once and again only while it may still win, until the time is up.
#pragma once

#include <string>
#include <vector>

#include "inthist.hpp"

namespace inthist {

struct Choice {
  const Strategy *strategy = nullptr;
  Tuning tuning;
  double seconds = 0;  // a frame, as measured; 0 where nobody measured
};

/// The preferred strategy with its defaults.
Choice default_choice (Device device, const Shape &shape);

/// Every strategy of the device that takes the shape, with each of its parameters; slow ones left out. The default choice is the first.
std::vector<Choice> candidates (Device device, const Shape &shape);

/// The fastest candidate. It takes about `budget` seconds, of which nothing but the first candidate may exceed; `tensor`, in memory of the device (the CUDA context that is
/// current), is written to. Allocates its workspace, and waits for the device. A candidate that fails, for want of memory say, is passed over. It must win by a twentieth, so that
/// noise does not unseat the preferred one.
Choice tune (Device device, const Shape &shape, const Layout &layout, void *tensor, double budget);

/// Names the device, its driver and all else that a measurement depends on, in one line: a result holds for as long as this is the same.
std::string device_fingerprint (Device device);

}  // namespace inthist
