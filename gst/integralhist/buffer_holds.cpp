// SPDX-License-Identifier: LGPL-2.1-or-later
#include "loans.hpp"

namespace integralhist {

Expected<std::unique_ptr<Loans>> Loans::create (Context context)
{
  std::unique_ptr<Loans> loans (new Loans (std::move (context)));
  loans->watcher_ = TRY (Thread::start ("integralhist-holds", [l = loans.get ()] { l->watch (); }));
  return loans;
}

Loans::~Loans ()
{
  {
    const std::lock_guard lock (mutex_);
    stopping_ = true;
    changed_.notify_one ();
  }
  watcher_.join ();
  for (const Loan &loan : loans_)
    gst_buffer_unref (loan.buffer);
}

void Loans::add (GstBuffer *buffer, Tensor &tensor, cudaEvent_t read)
{
  const std::lock_guard lock (mutex_);
  tensor.copied = false;
  tensor.lent = true;
  loans_.push_back ({ gst_buffer_ref (buffer), &tensor, read });
  if (asleep_)
    changed_.notify_one ();
}

void Loans::give_back ()
{
  for (;;) {
    GstBuffer *buffer;
    {
      const std::lock_guard lock (mutex_);
      // after a failure nothing more is read either; the next frame reports it
      if (loans_.empty () || cudaEventQuery (loans_.front ().read) == cudaErrorNotReady)
        return;
      buffer = loans_.front ().buffer;
      Tensor &tensor = *loans_.front ().tensor;
      tensor.lent = false;
      if (tensor.copied)
        in_the_way_ = true;
      loans_.pop_front ();
      returning_++;
    }
    gst_buffer_unref (buffer);  // returns to its pool if nobody else holds it
    const std::lock_guard lock (mutex_);
    returning_--;
    given_back_++;
    returned_.notify_all ();
  }
}

guint64 Loans::given_back ()
{
  const std::lock_guard lock (mutex_);
  return given_back_;
}

Expected<bool> Loans::settle_oldest ()
{
  cudaEvent_t read;
  {
    std::unique_lock lock (mutex_);
    if (loans_.empty ()) {
      const bool some = returning_ > 0;
      returned_.wait (lock, [this] { return returning_ == 0; });
      return some;
    }
    read = loans_.front ().read;
  }
  TRY (await (read));
  give_back ();
  return true;
}

void Loans::watch ()
{
  std::unique_lock lock (mutex_);
  while (!stopping_) {
    asleep_ = loans_.empty ();
    if (asleep_)
      changed_.wait (lock, [this] { return stopping_ || !loans_.empty (); });
    asleep_ = false;
    if (changed_.wait_for (lock, std::chrono::milliseconds (1), [this] { return stopping_; }))
      return;
    lock.unlock ();
    {
      const CudaContext::Scope scope (*context_);
      give_back ();
    }
    lock.lock ();
  }
}

}  // namespace integralhist
