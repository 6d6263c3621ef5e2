// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pictures for several devices that copy from each other faster than from the host, as they do over
// NVLink. Each goes up once, over one device's link, and the others copy it from there; links take
// turns, picture by picture, so that all of them carry. Uploads to all devices would make each
// picture go up as often as there are devices, which host memory is too slow for: four H200s get 64
// MiB in 1.2 ms one by one, in 1.7 all at once, and from each other in 0.18. Not installed.
#pragma once

#include <mutex>

#include "engine.hpp"

namespace integralhist {

class Relay : public std::enable_shared_from_this<Relay> {
public:
  /// Null where the devices had better upload for themselves. The first call for some devices
  /// measures that, in some milliseconds a pair.
  static std::shared_ptr<Relay> between (const std::vector<std::shared_ptr<CudaContext>> &contexts);
  ~Relay ();

  /// Enqueues the upload of a frame's pixels in pinned memory. The frame then is one in memory of a
  /// device, and stays there for as long as somebody holds what comes back; to let go of that waits
  /// for the upload.
  Expected<std::shared_ptr<void>> bring (Frame &frame, int width, int height);

private:
  struct Picture;
  struct Station;

  std::vector<std::unique_ptr<Station>> stations_;
  std::size_t brought_ = 0;
  std::mutex mutex_;  // guards what the stations have
};

}  // namespace integralhist
