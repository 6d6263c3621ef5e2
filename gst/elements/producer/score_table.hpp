// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <memory>
#include <mutex>

#include "producer_properties.hpp"

namespace integralhist {

/// The scores that an integral image adds up.
struct Scores {
  std::shared_ptr<const inthist::Lut> lut;
  guint32 seqnum = GST_SEQNUM_INVALID;  // of the event that brought them
  guint64 lut_sets = 0;                 // how often the property had been set by then
};

/// The scores of each frame, by the property lut and by events: what came last holds.
class ScoreTable {
public:
  /// Begins with the table of the properties that the element runs with.
  void start (const ProducerProperties &started, const inthist::Lut &lut);
  /// Returns the scores of the next frame. The properties are of now.
  Expected<Scores> next (const ProducerProperties &properties);
  /// Takes the scores of an event, from the next frame on; any thread may. Returns the error that
  /// leaves them as they are.
  Expected<> take (GstEvent *event, guint64 lut_sets);

private:
  // of the streaming thread
  ProducerProperties started_;
  std::shared_ptr<const inthist::Lut> started_lut_;
  Scores set_;  // by the properties

  std::mutex mutex_;  // guards all below
  Scores sent_;       // by the last event
};

}  // namespace integralhist
