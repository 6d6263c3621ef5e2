// SPDX-License-Identifier: LGPL-2.1-or-later
#include "stream.hpp"

#include <charconv>
#include <cmath>

#include "log.hpp"

namespace integralhist::nvmot {

/// Converts nvtracker's objects to detections, whose ids are the indices of the objects. Boxes
/// without area are left out.
static std::vector<Detection> detections_of (std::span<const InputObject> objects)
{
  std::vector<Detection> detections;
  for (std::size_t i = 0; i < objects.size (); i++) {
    const auto &[x, y, width, height] = objects[i].box;
    if (!std::isfinite (x) || !std::isfinite (y) || !std::isfinite (width)
        || !std::isfinite (height) || width <= 0 || height <= 0)
      continue;
    const gint left = round_to_pixel (x), top = round_to_pixel (y);
    const GstVideoRectangle box = { left, top,
                                    std::max (1, round_to_pixel (double (x) + width) - left),
                                    std::max (1, round_to_pixel (double (y) + height) - top) };
    Detection detection = { gint (i), box, std::to_string (objects[i].class_id), std::nullopt };
    set_confidence (detection, objects[i].confidence, "float");
    if (detection.confidence.value_or (0) < 0)  // the detector gives none
      detection.confidence.reset ();
    detections.push_back (std::move (detection));
  }
  return detections;
}

static guint16 class_id_of (const std::string &class_name)
{
  guint16 number = 0;
  std::from_chars (class_name.data (), class_name.data () + class_name.size (), number);
  return number;
}

VideoStream::VideoStream (guint32 number)
    : number_ (number), tracker_ (nullptr, [] (const TrackWarning &warning) {
        GST_WARNING ("%s %s", warning.message.c_str (), warning.detail.c_str ());
      })
{
}

Expected<> VideoStream::process (const BatchFrame &frame, const MappedFrame &pixels,
                                 const GstVideoInfo &info, const Devices &devices,
                                 const TrackOptions &options, OutputList &output)
{
  if (!engines_)
    engines_ = TRY (FeatureEngines::make (info, devices));
  auto submitted = TRY (
      engines_->submit (pixels, devices.on_gpu () ? PixelLocation::device : PixelLocation::host));
  auto tracked = track (frame, submitted.tensors (), options, output);
  auto is_read = submitted.await_read ();
  return tracked ? is_read : tracked;
}

Expected<> VideoStream::track (const BatchFrame &frame, const FrameTensors &tensors,
                               const TrackOptions &options, OutputList &output)
{
  const TargetFrame target_frame (tensors.gradients, frame.time);
  const TrackerInput input = { .options = options.list,
                               .detections = detections_of (frame.objects) };
  TRY (tracker_.track (target_frame, tensors, options.lost_after, input));

  // Unconfirmed targets with a detection in this frame are also written to the output, so that
  // elements after nvtracker see the detection.
  std::vector<TrackedBox> tracks = tracker_.tracks (target_frame),
                          others = tracker_.tracks (target_frame, false);
  std::erase_if (others, [] (const TrackedBox &track) { return !track.detection; });
  tracks.insert (tracks.end (), others.begin (), others.end ());
  std::erase_if (tracks, [] (const TrackedBox &track) { return track.track.is_lost; });
  for (TrackedBox &track : tracks)
    if (track.detection)
      track.detection = std::size_t (input.detections[*track.detection].id);
  // Tracks with a detection come first, because the output list has room for all of these.
  std::ranges::stable_partition (
      tracks, [] (const TrackedBox &track) { return track.detection.has_value (); });
  write (frame, tracks, output);
  return {};
}

void VideoStream::write (const BatchFrame &frame, std::span<const TrackedBox> tracks,
                         OutputList &output) const
{
  const std::size_t n = std::min<std::size_t> (tracks.size (), output.n_allocated);
  for (std::size_t i = 0; i < n; i++) {
    const TrackedBox &track = tracks[i];
    const GstVideoRectangle &box = track.track.box;
    InputObject *const detection = track.detection ? &frame.objects[*track.detection] : nullptr;
    OutputObject &object = output.objects[i];
    object.class_id = detection ? detection->class_id : class_id_of (track.track.class_name);
    object.id = guint64 (number_) << 32 | guint32 (track.serial);
    object.box = { float (box.x), float (box.y), float (box.w), float (box.h) };
    object.confidence = float (track.track.confidence);
    object.age = track.age;
    object.associated = detection;
  }
  output.stream = frame.stream;
  output.number = frame.number;
  output.is_valid = true;
  output.n_filled = guint32 (n);
}

}  // namespace integralhist::nvmot
