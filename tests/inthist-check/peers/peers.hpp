// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What strategies are timed against: the ceilings, which only move as many bytes, and integrals of
// other people, once a bin. Each has a row in the table in peers.cpp, which remains where a build
// is without it, and says so.
#pragma once

#include <span>

#include "../rig.hpp"

namespace inthist::check {

struct Peer {
  const char *name;
  const char *description;
  Device device;
  bool ceiling;
  void (*add) (Rig &, std::vector<Candidate> &);  // null where the build is without it
  bool (*takes) (const Shape &);
  const char *limit;  // what it takes, in words
};

std::span<const Peer> peers ();

void add_memset (Rig &rig, std::vector<Candidate> &list);
void add_cuda_memset (Rig &rig, std::vector<Candidate> &list);
void add_store (Rig &rig, std::vector<Candidate> &list);
void add_cuda_memcpy (Rig &rig, std::vector<Candidate> &list);
void add_load_store (Rig &rig, std::vector<Candidate> &list);
void add_opencv (Rig &rig, std::vector<Candidate> &list);
void add_npp (Rig &rig, std::vector<Candidate> &list);
void add_cub (Rig &rig, std::vector<Candidate> &list);

/// Says, for ceilings, what is wrong unless each byte of the tensor is `byte`.
std::string not_filled_with (const Rig &rig, const Bytes &slot, std::uint8_t byte);

/// Pixels to bins of the lane's plane, as all that counts them begins.
PixelPlane make_bins (const Rig &rig, const Slot &slot);

}  // namespace inthist::check
