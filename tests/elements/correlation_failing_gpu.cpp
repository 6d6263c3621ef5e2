// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Targets go on without a GPU that fails. The test simulates the GPU.
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <gst/track/correlation/correlation_target.hpp>
#include <gst/track/correlation/device_model_pool.hpp>

#include "correlation_steps.hpp"

#include "test.hpp"

using namespace integralhist;

namespace {

/// Models without a GPU: they keep what they were made from, see a target that neither moves nor
/// changes size, and fail when the test says so.
class PretendedModels final : public DeviceModelPool {
public:
  unsigned searches = 0;
  bool fails = false, loses_all = false, is_full = false;

  bool are_on_device_of (const DeviceFeatureImage &) const override { return true; }
  Expected<std::unique_ptr<DeviceModel>> make (const HostModel &from) override
  {
    if (is_full)
      return error (Error::Kind::no_memory, "pretended");
    return std::unique_ptr<DeviceModel> (std::make_unique<Model> (from));
  }
  Expected<std::unique_ptr<HostModel>> read (DeviceModel &from) override
  {
    if (loses_all)
      return error (Error::Kind::failed, "pretended");
    return std::make_unique<HostModel> (static_cast<Model &> (from).kept);
  }
  Expected<> run (const FrameTensors &, std::span<const DeviceRequest> queries) override
  {
    if (fails)
      return error (Error::Kind::failed, "pretended");
    for (const auto &[model, request] : queries) {
      request->answer.matches.clear ();
      for (const auto &[x, y] : request->middles)
        request->answer.matches.push_back ({ x, y, 1, 20, 1 });
      request->answer.size_factor = 1;
      searches += request->stage == Stage::search;
    }
    return {};
  }

private:
  struct Model final : DeviceModel {
    explicit Model (const HostModel &from) : kept (from) {}
    const HostModel kept;
  };
};

void step (SingleTargetTracker &tracker, const FrameTensors &frame, bool works = true)
{
  SingleTargetTracker *const its = &tracker;
  fail_unless (tracker.begin_search (frame, kLostAfter).has_value ());
  fail_unless (integralhist::run_stages (frame, { &its, 1 }).has_value () == works);
}

}  // namespace

// A target goes on with the model of the GPU. If that cannot be read, the target has not started,
// and can start again where it is. Only frames in that GPU's memory ask it.
TEST (failing_gpu)
{
  const Scene scene;
  for (const bool loses_all : { false, true }) {
    Frames frames (kWidth, kHeight);
    SingleTargetTracker tracker = start (frames, scene.at (160, 120), 160, 120);
    for (int i = 0; i < 6; i++)
      follow (tracker, frames, scene.at (160, 120));
    const auto models = std::make_shared<PretendedModels> ();
    FrameTensors frame = frames.of (scene.at (160, 120));
    frame.models = models;
    for (int i = 0; i < 4; i++) {
      step (tracker, frame);
      fail_unless (tracker.device_model () && !tracker.host_model ());
    }
    fail_unless_equals_int (models->searches, 4);
    models->fails = true;
    models->loses_all = loses_all;
    step (tracker, frame, false);
    tracker.give_up_device ();
    fail_unless (!tracker.request () && tracker.host_model () && !tracker.device_model ());
    fail_unless (tracker.has_started () == !loses_all);
    if (loses_all)
      correct (tracker, frames, scene.at (162, 120), 162, 120, 36, 48);
    for (int i = 0; i < 12; i++)
      follow (tracker, frames, scene.at (162 + i, 120));
    fail_unless (models->searches == 4 && !tracker.is_lost ()
                     && std::hypot (tracker.x () - 173, tracker.y () - 120) < 4,
                 "%d: at %g, %g", loses_all, tracker.x (), tracker.y ());
  }
}

// If the GPU fails in the first frame after a new box, the next frame is the first one.
TEST (failing_first_search)
{
  const Scene scene;
  Frames frames (kWidth, kHeight);
  SingleTargetTracker tracker = start (frames, scene.at (160, 120), 160, 120);
  const auto models = std::make_shared<PretendedModels> ();
  models->fails = true;
  FrameTensors frame = frames.of (scene.at (160, 120));
  frame.models = models;
  step (tracker, frame, false);
  tracker.give_up_device ();
  follow (tracker, frames, scene.at (161, 120));
  fail_unless (tracker.record ().age == 1 && tracker.evidence ().peak_ratio == 1, "%u, %g",
               tracker.record ().age, tracker.evidence ().peak_ratio);
}

// If the GPU has no memory, the model stays on the CPU.
TEST (full_gpu)
{
  const Scene scene;
  Frames frames (kWidth, kHeight);
  SingleTargetTracker tracker = start (frames, scene.at (160, 120), 160, 120);
  const auto models = std::make_shared<PretendedModels> ();
  models->is_full = true;
  for (int i = 0; i < 12; i++) {
    FrameTensors frame = frames.of (scene.at (160 + i, 120));
    frame.models = models;
    step (tracker, frame);
    fail_unless (tracker.host_model () && !tracker.device_model ());
  }
  fail_unless (overlap (tracker, 171, 120, 36, 48) > 0.8);
}

// A box that the GPU fails to learn starts the target again, whatever the GPU still answers.
TEST (failing_start)
{
  const Scene scene;
  Frames frames (kWidth, kHeight);
  SingleTargetTracker tracker = start (frames, scene.at (160, 120), 160, 120);
  SingleTargetTracker *const its = &tracker;
  const auto models = std::make_shared<PretendedModels> ();
  FrameTensors frame = frames.of (scene.at (160, 120));
  frame.models = models;
  step (tracker, frame);
  models->fails = true;
  fail_unless (tracker.start (frame, { 160, 120, 80, 30 }).has_value ());
  fail_unless (!integralhist::run_stages (frame, { &its, 1 }).has_value ());
  tracker.give_up_device ();
  fail_unless (!tracker.request () && !tracker.has_started ());
}

// A lost target whose data the GPU has lost stays lost until a box says where it is.
TEST (failing_gpu_of_a_lost_target)
{
  const Scene scene;
  Frames frames (kWidth, kHeight);
  const auto models = std::make_shared<PretendedModels> ();
  CorrelationTarget target ({ 142, 96, 36, 48 });
  const auto follow_frame = [&] (const RgbPicture &picture, bool on_gpu) {
    FrameTensors frame = frames.of (picture);
    if (on_gpu)
      frame.models = models;
    auto tracker = target.begin_frame (frame, kLostAfter);
    fail_unless (tracker.has_value ());
    const bool finished =
        !*tracker || integralhist::run_stages (frame, { &*tracker, 1 }).has_value ();
    if (!finished)
      target.give_up_device ();
    target.update_box ();
    return *tracker != nullptr;
  };
  for (int i = 0; i < 25; i++)
    follow_frame (scene.at (160, 120), false);
  for (int i = 0; i < 12; i++)
    follow_frame (squares (kWidth, kHeight, 7, 20, 255), false);
  fail_unless (target.is_lost ());
  models->fails = models->loses_all = true;
  follow_frame (scene.background, true);
  fail_unless (target.is_lost () && !follow_frame (scene.background, false) && target.is_lost ());
  target.restart ({ 142, 96, 36, 48 });
  fail_unless (follow_frame (scene.at (160, 120), false) && !target.is_lost ());
}
