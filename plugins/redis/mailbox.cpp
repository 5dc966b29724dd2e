#include "mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

namespace canopy::redis {

namespace {

int event_descriptor() {
  const int descriptor = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "no file descriptor for wake-ups");
  return descriptor;
}

void set(const UniqueFd& event) {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(event.get(), &one, sizeof one));  // it only fails if it is set already
}

void reset(const UniqueFd& event) {
  std::uint64_t count = 0;
  static_cast<void>(!::read(event.get(), &count, sizeof count));
}

}  // namespace

Mailbox::Mailbox() : wake_(event_descriptor()), told_(event_descriptor()) {}

void Mailbox::recycle_told() {
  spare_.insert(spare_.end(), last_told_.begin(), last_told_.end());
  last_told_.clear();
}

Call& Mailbox::blank() {
  const std::lock_guard lock(mutex_);
  recycle_told();
  return spare();
}

Call& Mailbox::own() {
  const std::lock_guard lock(mutex_);
  return spare();
}

Call& Mailbox::spare() {
  if (spare_.empty()) return all_.emplace_back();
  Call& call = *spare_.back();
  spare_.pop_back();
  return call;
}

void Mailbox::post(Call& call) {
  const std::lock_guard lock(mutex_);
  if (posted_.empty()) set(wake_);
  posted_.push_back(&call);
}

void Mailbox::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  set(wake_);
}

bool Mailbox::take(std::vector<Call*>& posted) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return false;
  if (!posted_.empty()) reset(wake_);
  posted.swap(posted_);
  return true;
}

void Mailbox::ended(Call& call) {
  const std::lock_guard lock(mutex_);
  if (call.is_told()) {
    if (ended_.empty()) set(told_);
    ended_.push_back(&call);
    return;
  }
  if (&call == awaited_) {
    awaited_ended_ = true;
    flushed_.notify_one();
  } else {
    spare_.push_back(&call);
  }
}

bool Mailbox::flush(Call& call, Micros within) {
  std::unique_lock lock(mutex_);
  awaited_ = &call, awaited_ended_ = false;
  if (posted_.empty()) set(wake_);
  posted_.push_back(&call);
  flushed_.wait_for(lock, std::chrono::microseconds(within), [&] { return awaited_ended_; });
  awaited_ = nullptr;
  if (!awaited_ended_) return false;  // ended() recycles it
  spare_.push_back(&call);
  return call.fate == Fate::done;
}

std::size_t Mailbox::poll(std::span<StorageDone> done) {
  const std::lock_guard lock(mutex_);
  recycle_told();
  std::size_t count = 0;
  for (; count < done.size() && !ended_.empty(); ++count) {
    Call& call = *ended_.front();
    ended_.pop_front();
    last_told_.push_back(&call);
    done[count] = {call.ticket, call.fate, call.found, call.fates};
    if (ended_.empty()) reset(told_);
  }
  return count;
}

}  // namespace canopy::redis
