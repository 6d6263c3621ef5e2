// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The scores for summed-area tables, from the property lut or an event, whichever is newer.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>

#include <gst/integralhist/gstintegralhistogramlut.h>

#include "producer_properties.hpp"

namespace integralhist {

/// The scores of pixels that the summed-area table of a frame adds up.
struct FrameScores {
  std::shared_ptr<const inthist::Lut> lut;
  guint32 seqnum = GST_SEQNUM_INVALID;  // number of the event that brought the scores
  guint64 lut_set_count = 0;  // how often the property lut had been set when the event came
};

class ScoreTable {
public:
  void start (const ProducerProperties &properties, const inthist::Lut &lut)
  {
    start_properties_ = properties;
    start_lut_ = std::make_shared<const inthist::Lut> (lut);
    property_scores_ = { start_lut_, GST_SEQNUM_INVALID, properties.lut.set_count };
    const std::lock_guard lock (mutex_);
    event_scores_ = {};
  }
  /// Returns the scores of the next frame, by the current properties and the last event.
  Expected<FrameScores> next (const ProducerProperties &properties)
  {
    constexpr inthist::Content kContent = inthist::Content::sums;
    if (properties.lut.set_count != property_scores_.lut_set_count) {
      ProducerProperties changed = start_properties_;
      changed.lut = properties.lut;
      if (!changed.lut.text.empty ())
        changed.lut_location.clear ();  // the latest setting applies
      TRY (changed.check (kContent));
      auto lut = start_lut_;  // the LUT of the file, which was read at the start
      if (changed.lut_location.empty ())
        lut = std::make_shared<const inthist::Lut> (TRY (changed.lut_of_content (kContent)).lut);
      property_scores_ = { lut, GST_SEQNUM_INVALID, properties.lut.set_count };
    }
    const std::lock_guard lock (mutex_);
    return event_scores_.lut && event_scores_.lut_set_count >= property_scores_.lut_set_count
               ? event_scores_
               : property_scores_;
  }
  /// Reads scores from an event; they apply from the next frame on. Any thread may call this. After
  /// an error the scores stay unchanged.
  Expected<> read_event (GstEvent *event, guint64 lut_set_count)
  {
    g_autoptr (GError) problem = nullptr;
    g_autoptr (GBytes) scores = gst_integral_image_lut_event_parse (event, &problem);
    if (!scores)
      return error (Error::Kind::bad_setting, problem->message);
    const auto lut = std::make_shared<inthist::Lut> ();
    std::copy_n (static_cast<const guint8 *> (g_bytes_get_data (scores, nullptr)), lut->size (),
                 lut->begin ());
    const std::lock_guard lock (mutex_);
    event_scores_ = { lut, gst_event_get_seqnum (event), lut_set_count };
    return {};
  }

private:
  // Only the streaming thread uses `start_properties_`, `start_lut_` and `property_scores_`.
  ProducerProperties start_properties_;
  std::shared_ptr<const inthist::Lut> start_lut_;
  FrameScores property_scores_;  // from the properties

  std::mutex mutex_;          // guards all below
  FrameScores event_scores_;  // by the last event
};

}  // namespace integralhist
