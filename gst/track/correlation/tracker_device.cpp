// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A tracker's filter goes to a GPU, and comes back.
#include "tracker.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace integralhist {

using namespace inthist::correlation;

/// Has the filter on a GPU be the one that is used, where that has memory for it.
Expected<> CorrelationTracker::enter_device (const std::shared_ptr<DeviceFilters> &filters)
{
  if (uses_device_filter_ && device_filters_ == filters)
    return {};
  TRY (leave_device ());
  if (device_filters_ != filters) {
    device_filter_ = nullptr;
    device_filters_ = filters;
  }
  if (!device_filter_) {
    auto made = filters->make (filter_tables ());
    if (!made && made.error ().kind == Error::Kind::no_memory)
      return {};  // the filter here is as good
    device_filter_ = TRY (std::move (made));
  }
  if (filter_.has_started ()) {
    const Complexes &weights = filter_.spectra ();
    DeviceFilterValues values = { .weights_re = weights.re,
                                  .weights_im = weights.im,
                                  .example_re = {},
                                  .example_im = {},
                                  .wanted = filter_.box ().wanted,
                                  .inside = filter_.box ().inside,
                                  .energy = filter_.energy () };
    if (example_)
      values.example_re = example_->spectra.re, values.example_im = example_->spectra.im;
    TRY (filters->write (*device_filter_, values));
  }
  if (example_)
    example_->spectra = {};
  uses_device_filter_ = true;
  return {};
}

/// Has the filter here be used again.
Expected<> CorrelationTracker::leave_device ()
{
  if (!std::exchange (uses_device_filter_, false) || !filter_.has_started ())
    return {};
  constexpr std::size_t kNumbers = kFilterNumbers;
  const auto unpacked = [] (const std::vector<float> &re_then_im) {
    Complexes spectra (kNumbers);
    std::copy_n (re_then_im.begin (), kNumbers, spectra.re.begin ());
    std::copy_n (re_then_im.begin () + kNumbers, kNumbers, spectra.im.begin ());
    return spectra;
  };
  std::vector<float> weights (2 * kNumbers), example (example_ ? 2 * kNumbers : 0);
  float energy;
  if (const auto read = device_filters_->read (*device_filter_, weights, example, energy); !read) {
    if (filter_.spectra ().size () == 0)
      filter_ = {};  // it was on the GPU alone
    example_.reset ();
    return read;
  }
  filter_.set (unpacked (weights), energy);
  if (example_)
    example_->spectra = unpacked (example);
  if (lost_)
    device_filter_ = nullptr;  // its memory is for others
  return {};
}

void CorrelationTracker::give_up_device ()
{
  enter_stage (Stage::done);
  (void) leave_device ();
  device_filter_ = nullptr;
}

}  // namespace integralhist
