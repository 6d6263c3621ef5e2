// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Peers that strategies are timed against: the ceilings, which only move as many bytes, and the
// integral functions of other libraries, once a bin. Each has a row in the table in peers.cpp. The
// row stays, with a note, in a build without the peer.
#pragma once

#include <span>

#include "../rig.hpp"

namespace inthist::check {

using AddPeer = void (Rig &rig, std::vector<Candidate> &list);

struct Peer {
  const char *name;
  const char *description;
  Device device;
  bool ceiling;
  AddPeer *add;  // null if the build is without the peer
  bool (*takes) (const Shape &);
  const char *limit;  // the shapes that it takes, in words
};

std::span<const Peer> peers ();

AddPeer add_memset, add_cuda_memset, add_store, add_cuda_memcpy, add_load_store, add_opencv,
    add_npp, add_cub;

/// Says what is wrong for a ceiling, whose tensor must have `byte` everywhere.
std::string not_filled_with (const Rig &rig, const Bytes &slot, std::uint8_t byte);

/// Makes the bins of the lane's plane, with which all peers that count them begin.
PixelPlane make_bins (const Rig &rig, const Slot &slot);

}  // namespace inthist::check
