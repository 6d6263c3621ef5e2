// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rig that times candidates. It holds what they share on one device: a ring of output buffers
// (larger than the caches, or as many as --buffers says), lanes (streams, with a bin plane and a
// workspace each) and the clock. A candidate computes one frame.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <tbb/task_arena.h>

#include "frame.hpp"

namespace inthist::check {

/// The memory and the stream of one frame.
struct Slot {
  int index;             // of the buffer
  std::uint8_t *tensor;  // room for the tensor, also with a row and a column more, squares in f64
  int lane;
  Stream stream;
  StageListener *listener = nullptr;
};

struct Candidate {
  std::string name, mode;
  Tuning tuning = {};
  std::function<void (const Slot &)> frame;  // computes the frame, or enqueues it
  std::function<std::string (const Bytes &slot)>
      wrong;  // says what is wrong in a buffer that it wrote, poisoned before; empty if it is right
  std::function<void ()> poison = {};  // poisons the other memory that it writes
  int lanes = 1;                       // frames in flight
  bool staged = false;                 // tells a listener about its stages
  bool ceiling = false;
  bool reads = true;                            // reads the pixels, which then are useful bytes too
  std::shared_ptr<tbb::task_arena> arena = {};  // the arena that it runs in

  // measured
  int frames = 1;                                           // a lap
  double spent = 0;                                         // seconds in laps
  std::vector<double> laps = {};                            // seconds a frame
  std::vector<std::pair<std::string, double>> stages = {};  // seconds a frame, in order
};

double percentile (std::vector<double> values, double share);

class Rig {
public:
  static constexpr int kLanes = 4;

  /// Makes a rig with so many buffers in the ring, or with 0 enough to exceed the caches.
  Rig (Device device, const Input &input, int buffers);

  /// Makes the workspaces that all candidates share, before any of them runs: so many bytes for the
  /// first lane, and so many for each of the others.
  void make_workspaces (std::size_t first, std::size_t others);

  /// Seconds a frame, over candidate.frames frames.
  double lap (const Candidate &candidate);
  /// Runs the candidate on every buffer that one lap of it reaches, and compares them.
  std::string verify (const Candidate &candidate);
  std::vector<std::pair<std::string, double>> stages (const Candidate &candidate, int frames);

  Slot slot (int index, int lanes) const;
  int size () const { return int (ring_.size ()); }
  /// The layout of a slot for integral functions that need a row and a column more, with rows on 64
  /// bytes.
  Layout layout_with_border () const;
  Memory memory (std::size_t bytes) const { return allocate (device, bytes); }

  const Device device;
  const Input &input;
  const Shape shape;
  const Layout layout;
  int lanes = 1;  // kLanes or 2 with CUDA, where memory allows
  // of each lane
  std::vector<Memory>
      images;  // what a candidate starts from: 8-bit pixels without padding, or a table's pixels
  std::vector<Memory> bins;  // a plane
  std::vector<Memory> workspaces;

private:
  const std::size_t slot_bytes_;
  std::vector<Memory> ring_;
  int turn_ = 0;
  Bytes got_;  // the copy of a slot that is compared
#if INTHIST_CUDA
  std::vector<cuda::StreamOwner> streams_;
  std::vector<cuda::EventOwner> done_;
  cuda::EventOwner start_, stop_;
#endif
};

}  // namespace inthist::check
