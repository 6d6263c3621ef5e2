// SPDX-License-Identifier: LGPL-2.1-or-later
#include "whole_tensor_engine.hpp"

namespace integralhist {

Expected<std::shared_ptr<Tensor>> WholeTensorEngine::compute (const inthist::Image &image)
{
  std::unique_lock lock (mutex_);
  TRY (CancelScope::wait (changed_, lock, [this] { return !computing_; }));
  computing_ = true;
  lock.unlock ();

  const auto compute = [&] () -> Expected<std::shared_ptr<Tensor>> {
    const auto engine = TRY (engine_.get ());
    const auto tensor = TRY (engine->submit ({ image })).tensor;
    TRY (await (*tensor));
    return tensor;
  };
  auto tensor = compute ();
  const auto has_failed = [&] {
    const auto engine = engine_.engine ();
    return engine && engine->has_failed ();
  };
  const bool failed = (!tensor && tensor.error ().kind == Error::Kind::failed) || has_failed ();

  if (failed || ended_)
    engine_.drop ();
  lock.lock ();
  computing_ = false;
  changed_.notify_one ();
  return tensor;
}

void WholeTensorEngine::end ()
{
  ended_ = true;  // first: who makes an engine meanwhile drops it
  engine_.drop ();
}

}  // namespace integralhist
