// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which strategy, and with which tile and block size, is the fastest for a shape on this very
// device? Dang, Yan and Wu 2014 searched for the parameters of their algorithm; here every strategy
// takes part. The candidates run in the order of preference, each once and again only while it may
// still win, until the time is up. Nothing throws.
#pragma once

#include <string>
#include <vector>

#include "expected.hpp"
#include "inthist.hpp"

namespace inthist {

struct Choice {
  const Strategy *strategy = nullptr;
  Tuning tuning = {};
  double seconds = 0;     // a frame, as measured; 0 where nobody measured
  bool complete = false;  // every candidate was measured, or shown to be hopeless
};

/// Every strategy of the device that takes the shape, with each of its parameters; slow ones left
/// out. The default choice is the first.
std::vector<Choice> candidates (Device device, const Shape &shape);
Choice default_choice (Device device, const Shape &shape);

/// Why there is no choice.
struct Untuned {
  std::string why;
  bool cancelled = false;
};

/// The fastest candidate, with `lanes` frames in flight, which on CUDA are as many streams.
/// `tensor`, in memory of the device (of the CUDA context that is current), is written to by all
/// lanes. Allocates workspaces, and waits for the device. A candidate that fails, for want of
/// memory say, is passed over. Nothing is chosen where none can be measured at all.
///
/// It takes about `budget` seconds at most, whatever the machine does besides: what runs is cut off
/// when the time is up, and so is a candidate that takes too much longer than the best so far. Only
/// the first run of the first candidate is waited for. On CUDA a frame that has been launched is
/// waited for too.
///
/// Another than the default must win by a twentieth, each time that the two are compared in turn,
/// so that neither noise nor load unseats it.
///
/// It returns within a few milliseconds once `cancelled` is set, but for a frame on CUDA.
Expected<Choice, Untuned> tune (Device device, const Shape &shape, const Layout &layout,
                                void *tensor, double budget, int lanes,
                                const std::atomic<bool> *cancelled = nullptr);

/// Names the device, its driver and what it lends to this process, in one line: a measurement by
/// the same build holds for as long as this is the same. Empty where the device has no name.
std::string device_fingerprint (Device device);

}  // namespace inthist
