#include "mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>

namespace canopy::redis {

namespace {

OwnFd event_descriptor() {
  OwnFd descriptor([] { return UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)); });
  if (!descriptor) throw std::system_error(errno, std::generic_category(), "no file descriptor for wake-ups");
  return descriptor;
}

void set(const OwnFd& event) {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(event.get(), &one, sizeof one));  // it only fails if it is set already
}

void reset(const OwnFd& event) {
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
  if (!spare_.empty()) {
    Call& call = *spare_.back();
    spare_.pop_back();
    return call;
  }
  // Each call is in one of the lists at a time, so none of them grows later.
  for (auto* const list : {&spare_, &posted_, &last_told_, &ended_})
    if (list->capacity() <= all_.size()) list->reserve(2 * all_.size() + 8);
  return all_.emplace_back();
}

void Mailbox::post(Call& call) {
  const std::lock_guard lock(mutex_);
  if (!broken_) return send(call);
  fail(call);
  if (!call.is_told()) spare_.push_back(&call);
}

void Mailbox::send(Call& call) {
  call.pending = true;
  posted_.push_back(&call);
  if (posted_.size() == 1) set(wake_);
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
  posted.assign(posted_.begin(), posted_.end());
  posted_.clear();
  return true;
}

void Mailbox::ended(Call& call) {
  const std::lock_guard lock(mutex_);
  if (call.is_told()) {
    end_told(call);
    return;
  }
  call.pending = false;
  if (&call == awaited_) {
    awaited_ended_ = true;
    flushed_.notify_one();
  } else {
    spare_.push_back(&call);
  }
}

void Mailbox::end_told(Call& call) {
  call.pending = false;
  ended_.push_back(&call);
  if (ended_.size() == 1) set(told_);
}

void Mailbox::fail(Call& call) {
  call.fate = Fate::failed;
  std::fill(call.fates.begin(), call.fates.end(), Fate::failed);
  if (call.is_told()) end_told(call);
}

void Mailbox::break_down() {
  const std::lock_guard lock(mutex_);
  broken_ = true;
  posted_.clear();
  for (Call& call : all_)
    if (call.pending) fail(call);
  awaited_ended_ = true;
  flushed_.notify_one();
}

bool Mailbox::flush(Call& call, Micros within) {
  std::unique_lock lock(mutex_);
  awaited_ = &call, awaited_ended_ = broken_;
  if (broken_) fail(call);
  else send(call);
  flushed_.wait_for(lock, std::chrono::microseconds(within), [&] { return awaited_ended_; });
  awaited_ = nullptr;
  if (!awaited_ended_) return false;  // ended() recycles it
  spare_.push_back(&call);
  return call.fate == Fate::done;
}

std::size_t Mailbox::poll(std::span<StorageDone> done) {
  const std::lock_guard lock(mutex_);
  recycle_told();
  const std::size_t count = std::min(done.size(), ended_.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Call& call = *ended_[i];
    last_told_.push_back(ended_[i]);
    done[i] = {call.ticket, call.fate, call.found, call.fates};
  }
  ended_.erase(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(count));
  if (count > 0 && ended_.empty()) reset(told_);
  return count;
}

}  // namespace canopy::redis
