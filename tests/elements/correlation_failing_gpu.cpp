// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The filters of a GPU that fails are used again on the CPU. The GPU is pretended.
#include <cmath>
#include <memory>
#include <vector>

#include <gst/track/correlation/device_filters.hpp>

#include "correlation_steps.hpp"

#include "test.hpp"

using namespace integralhist;

namespace {

/// Filters of no GPU: they keep what is written, see a target that stays where it is, of no size
/// that could be told, and fail when they are told to.
class PretendedFilters final : public DeviceFilters {
public:
  unsigned responses = 0;
  bool fails = false, loses_all = false;

  bool are_with (const DeviceFeatureImage &) const override { return true; }
  Expected<std::unique_ptr<DeviceFilter>> make (const FilterTables &) override
  {
    return std::unique_ptr<DeviceFilter> (std::make_unique<Filter> ());
  }
  Expected<> write (DeviceFilter &filter, const DeviceFilterValues &values) override
  {
    auto &its = static_cast<Filter &> (filter);
    auto &weights = its.weights;
    weights.assign (values.weights_re.begin (), values.weights_re.end ());
    weights.insert (weights.end (), values.weights_im.begin (), values.weights_im.end ());
    its.energy = values.energy;
    return {};
  }
  Expected<> read (DeviceFilter &filter, std::span<float> weights, std::span<float>,
                   float &energy) override
  {
    if (loses_all)
      return error (Error::Kind::failed, "pretended");
    std::ranges::copy (static_cast<Filter &> (filter).weights, weights.begin ());
    energy = static_cast<Filter &> (filter).energy;
    return {};
  }
  Expected<> respond (const FrameTensors &, std::span<FilterQuery *const> queries) override
  {
    if (fails)
      return error (Error::Kind::failed, "pretended");
    for (FilterQuery *const query : queries) {  // it has not moved
      query->response.assign (kGrid * kGrid, 0.0F);
      query->response[0] = 1;
    }
    responses += unsigned (queries.size ());
    return {};
  }
  Expected<> make_examples (const FrameTensors &, std::span<FilterQuery *const> queries) override
  {
    for (FilterQuery *const query : queries)
      if (query->start)
        static_cast<Filter *> (query->filter)
            ->weights.assign (2 * inthist::correlation::kFilterNumbers, 1e-3F);
    return {};
  }
  Expected<> move (std::span<MoveQuery *const>) override { return {}; }
  Expected<> sample (const FrameTensors &, std::span<SampleQuery *const> queries) override
  {
    for (SampleQuery *const query : queries) {
      std::size_t n = 0;
      for (const CellEdges &edges : query->grids)
        n += inthist::Cells{ edges.x, edges.y }.size ();
      query->sample.assign (n * inthist::correlation::kOrientations, 0.0F);
    }
    return {};
  }

private:
  struct Filter final : DeviceFilter {
    std::vector<float> weights;
    float energy = 1;
  };
};

}  // namespace

// The filters of a GPU that fails are used again here: as they were, or as before where that is
// lost. Frames with the GPU ask it, and no others.
TEST (failing_gpu)
{
  const Scene scene;
  for (const bool loses_all : { false, true }) {
    Frames frames (kWidth, kHeight);
    CorrelationTracker tracker = start (frames, scene.at (160, 120), 160, 120);
    for (int i = 0; i < 6; i++)
      follow (tracker, frames, scene.at (160, 120));
    const auto filters = std::make_shared<PretendedFilters> ();
    CorrelationTracker *const its = &tracker;
    for (int i = 0; i < 4; i++) {
      FrameTensors frame = frames.of (scene.at (160, 120));
      frame.filters = filters;
      fail_unless (tracker.follow (frame, kLostAfter).has_value ());
      fail_unless (integralhist::finish (frame, { &its, 1 }).has_value ());
    }
    fail_unless_equals_int (filters->responses, 4);
    filters->fails = true;
    filters->loses_all = loses_all;
    FrameTensors frame = frames.of (scene.at (162, 120));
    frame.filters = filters;
    fail_unless (tracker.follow (frame, kLostAfter).has_value ());
    fail_unless (!integralhist::finish (frame, { &its, 1 }).has_value ());
    tracker.give_up_device ();
    fail_unless (!tracker.queries ());
    for (int i = 0; i < 12; i++)
      follow (tracker, frames, scene.at (162 + i, 120));
    fail_unless (filters->responses == 4 && !tracker.is_lost ()
                     && std::hypot (tracker.x () - 173, tracker.y () - 120) < 4,
                 "%d: at %g, %g", loses_all, tracker.x (), tracker.y ());
  }
}

// A filter that was started on a GPU alone is read back, or is gone.
TEST (failing_gpu_after_a_start)
{
  const Scene scene;
  for (const bool loses_all : { false, true }) {
    Frames frames (kWidth, kHeight);
    FrameTensors frame = frames.of (scene.at (160, 120));
    const auto filters = std::make_shared<PretendedFilters> ();
    frame.filters = filters;
    CorrelationTracker tracker (160, 120, 36, 48), *const its = &tracker;
    fail_unless (tracker.start (frame).has_value ());
    fail_unless (integralhist::finish (frame, { &its, 1 }).has_value ());
    fail_unless (tracker.has_started () && !tracker.learns ());
    filters->loses_all = loses_all;
    tracker.give_up_device ();
    fail_unless (tracker.has_started () == !loses_all);
    if (!loses_all)  // with the weights that were pretended
      follow (tracker, frames, scene.at (160, 120));
  }
}
