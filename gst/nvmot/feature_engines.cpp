// SPDX-License-Identifier: LGPL-2.1-or-later
#include "feature_engines.hpp"

#include <gst/frame/video_formats.hpp>

namespace integralhist::nvmot {

static inthist::Shape shape_of (const TensorSettings &settings, const GstVideoInfo &info)
{
  const bool weighted = settings.content == inthist::Content::weights;
  return { GST_VIDEO_INFO_WIDTH (&info),
           GST_VIDEO_INFO_HEIGHT (&info),
           settings.bins,
           inthist::Type::u32,
           settings.content,
           weighted ? inthist::Type::u32 : inthist::Type::u8 };
}

static inthist::Lut lut_of (const TensorSettings &settings)
{
  const bool counts_pixels = settings.content == inthist::Content::bins;
  return settings.spec.soft
             ? inthist::uniform_lut (256)  // the PixelFormat makes soft bins
             : inthist::lut_of_feature (settings.spec.feature, counts_pixels ? settings.bins : 256);
}

Expected<FeatureEngines> FeatureEngines::make (const GstVideoInfo &info, const Devices &devices)
{
  FeatureEngines engines;
  auto part = engines.parts_.begin ();
  for (const TensorSettings *const settings : kCorrelationSettings) {
    part->spec = settings->spec;
    part->format = pixel_format_of (info, settings->spec, settings->bins);
    part->engine = TRY (make_engine (shape_of (*settings, info), lut_of (*settings),
                                     { .compute = Compute::on_demand }, devices, part->format));
    part++;
  }
  return engines;
}

Expected<FeatureEngines::Submitted> FeatureEngines::submit (const MappedFrame &frame,
                                                            PixelLocation location)
{
  Submitted submitted;
  const auto submit_to = [&] (std::size_t i) -> Expected<> {
    Frame to_engine;
    to_engine.image = TRY (frame.image (parts_[i].format));
    to_engine.location = location;
    submitted.frames_[i] = TRY (parts_[i].engine->submit (to_engine));
    submitted.histograms_[i].reset (new_histogram (submitted.frames_[i].tensor, parts_[i].spec));
    return {};
  };
  for (std::size_t i = 0; i < parts_.size (); i++)
    if (auto outcome = submit_to (i); !outcome) {
      (void) submitted.await_read ();
      return tl::make_unexpected (std::move (outcome).error ());
    }
  return submitted;
}

Expected<> FeatureEngines::Submitted::await_read ()
{
  Expected<> outcome;
  for (SubmittedFrame &frame : frames_)
    if (auto read = frame.hold (nullptr, true); !read)
      outcome = std::move (read);
  histograms_ = {};
  frames_ = {};
  return outcome;
}

}  // namespace integralhist::nvmot
