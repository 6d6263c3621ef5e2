// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The engines of the three tensors that the correlation tracker needs, for frames of one size.
#pragma once

#include <array>
#include <memory>

#include <gst/frame/mapped_frame.hpp>
#include <gst/integralhist/factory/make_engine.hpp>
#include <gst/track/correlation/cells.hpp>
#include <gst/track/correlation/correlation_tensors.hpp>

namespace integralhist::nvmot {

class FeatureEngines {
public:
  static Expected<FeatureEngines> make (const GstVideoInfo &info, const Devices &devices);

  /// The tensors of a frame, whose pixels must stay unchanged until await_read () returns.
  class Submitted {
  public:
    FrameTensors tensors () const
    {
      return { histograms_[0].get (), histograms_[1].get (), histograms_[2].get () };
    }
    /// Drops the frame's tensors, and waits until no device reads the pixels of the frame.
    Expected<> await_read ();

  private:
    friend class FeatureEngines;

    std::array<HistogramRef, 3> histograms_ = {};
    std::array<SubmittedFrame, 3> frames_ = {};
  };
  /// Submits a frame to all engines. If one fails, first waits until no device reads the frame.
  Expected<Submitted> submit (const MappedFrame &frame, PixelLocation location);

private:
  struct Part {
    HistogramSpec spec;
    inthist::PixelFormat format;
    std::unique_ptr<Engine> engine;
  };

  std::array<Part, 3> parts_ = {};
};

}  // namespace integralhist::nvmot
