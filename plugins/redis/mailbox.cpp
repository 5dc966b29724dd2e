#include "mailbox.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

namespace canopy::redis {

Mailbox::Mailbox(AsyncCalls<Call>& calls)
    : calls_(calls), wake_([] { return UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)); }) {
  if (!wake_) throw std::system_error(errno, std::generic_category(), "no file descriptor for wake-ups");
}

Call& Mailbox::own(Call::Kind kind, const PageKey& space, std::span<const PageKey> keys, Micros until_us) {
  const std::lock_guard lock(mutex_);
  if (spare_.empty()) {
    spare_.reserve(own_.size() + 1);
    spare_.push_back(&own_.emplace_back());
  }
  Call& call = *spare_.back();
  call.keys.assign(keys.begin(), keys.end());
  call.fates.assign(1, Fate::failed);
  call.kind = kind, call.space = space, call.until_us = until_us;
  spare_.pop_back();
  return call;
}

void Mailbox::post(Call& call) {
  const std::lock_guard lock(mutex_);
  try {
    posted_.push_back(&call);
  } catch (const std::bad_alloc&) {
    if (call.is_own()) spare_.push_back(&call);  // has room for all own calls
    throw;
  }
  if (posted_.size() == 1) ::eventfd_write(wake_.get(), 1);
}

bool Mailbox::flush(Call& call, Micros within) {
  {
    const std::lock_guard lock(mutex_);
    awaited_ = &call, awaited_ended_ = false;
  }
  try {
    post(call);
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(mutex_);
    awaited_ = nullptr;
    throw;
  }
  std::unique_lock lock(mutex_);
  flushed_.wait_for(lock, std::chrono::microseconds(within), [&] { return awaited_ended_ || calls_.is_broken(); });
  awaited_ = nullptr;
  if (!awaited_ended_) return false;  // ended() recycles it
  spare_.push_back(&call);
  return call.fates[0] == Fate::done;
}

void Mailbox::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  ::eventfd_write(wake_.get(), 1);
}

bool Mailbox::take(std::vector<Call*>& posted) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return false;
  eventfd_t count = 0;
  if (!posted_.empty()) ::eventfd_read(wake_.get(), &count);
  posted.assign(posted_.begin(), posted_.end());
  posted_.clear();
  return true;
}

void Mailbox::ended(Call& call) {
  if (!call.is_own()) return calls_.end(call);
  const std::lock_guard lock(mutex_);
  if (&call == awaited_) {
    awaited_ended_ = true;
    flushed_.notify_one();
  } else {
    spare_.push_back(&call);
  }
}

void Mailbox::break_down() {
  calls_.break_down();
  const std::lock_guard lock(mutex_);
  flushed_.notify_one();
}

}  // namespace canopy::redis
