// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>

#include <gst/integralhist/gstintegralhistogramlut.h>

#include "producer_properties.hpp"

namespace integralhist {

/// The scores that a summed-area table adds up.
struct FrameScores {
  std::shared_ptr<const inthist::Lut> lut;
  guint32 seqnum = GST_SEQNUM_INVALID;  // of the event that brought the scores
  guint64 lut_sets = 0;                 // how often the property had been set by then
};

/// The scores of each frame. They come from the property lut or from events; the latest setting
/// applies.
class ScoreTable {
public:
  /// Sets the first scores when the element starts: the LUT of its properties.
  void start (const ProducerProperties &started, const inthist::Lut &lut)
  {
    started_ = started;
    started_lut_ = std::make_shared<const inthist::Lut> (lut);
    set_ = { started_lut_, GST_SEQNUM_INVALID, started.lut.set_count };
    const std::lock_guard lock (mutex_);
    sent_ = {};
  }
  /// Returns the scores of the next frame. `properties` are the current ones.
  Expected<FrameScores> next (const ProducerProperties &properties)
  {
    constexpr inthist::Content kContent = inthist::Content::sums;
    if (properties.lut.set_count != set_.lut_sets) {
      ProducerProperties changed = started_;
      changed.lut = properties.lut;
      if (!changed.lut.text.empty ())
        changed.lut_location.clear ();  // the latest setting applies
      TRY (changed.check (kContent));
      auto lut = started_lut_;  // from the file, which was read at the start
      if (changed.lut_location.empty ())
        lut = std::make_shared<const inthist::Lut> (TRY (changed.lut_of_content (kContent)).lut);
      set_ = { lut, GST_SEQNUM_INVALID, properties.lut.set_count };
    }
    const std::lock_guard lock (mutex_);
    return sent_.lut && sent_.lut_sets >= set_.lut_sets ? sent_ : set_;
  }
  /// Reads the scores from an event; they apply from the next frame on. Any thread may call this.
  /// After an error the scores stay unchanged.
  Expected<> take (GstEvent *event, guint64 lut_sets)
  {
    g_autoptr (GError) problem = nullptr;
    g_autoptr (GBytes) scores = gst_integral_image_lut_event_parse (event, &problem);
    if (!scores)
      return error (Error::Kind::bad_setting, problem->message);
    const auto lut = std::make_shared<inthist::Lut> ();
    std::copy_n (static_cast<const guint8 *> (g_bytes_get_data (scores, nullptr)), lut->size (),
                 lut->begin ());
    const std::lock_guard lock (mutex_);
    sent_ = { lut, gst_event_get_seqnum (event), lut_sets };
    return {};
  }

private:
  // These members are used only by the streaming thread.
  ProducerProperties started_;
  std::shared_ptr<const inthist::Lut> started_lut_;
  FrameScores set_;  // from the properties

  std::mutex mutex_;  // guards all below
  FrameScores sent_;  // by the last event
};

}  // namespace integralhist
