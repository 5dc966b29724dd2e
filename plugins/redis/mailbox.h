#pragma once

#include <canopy/base/own_fd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "call.h"

namespace canopy::redis {

/// Passes calls between the caller's thread and the storage's thread. Neither waits for the other, except in flush().
/// Takes memory in blank() and own() only.
class Mailbox {
 public:
  /// Throws if no file descriptors are available.
  Mailbox();

  // The caller's side.

  /// Returns a call to fill in, possibly a reused one. Invalidates the results of the last poll().
  Call& blank();
  void post(Call& call);
  std::size_t poll(std::span<StorageDone> done);
  /// Returns a descriptor that is readable while poll() has a result.
  int told() const { return told_.get(); }
  /// Posts a flush and waits until it has ended. Returns true if it was done within `within`.
  bool flush(Call& call, Micros within);
  void stop();
  /// Returns true after break_down().
  bool broken() const {
    const std::lock_guard lock(mutex_);
    return broken_;
  }

  // The storage's side.

  /// Takes the posted calls. Returns false if stop() was called.
  bool take(std::vector<Call*>& posted);
  void ended(Call& call);
  /// Returns a call for the storage's own use, to fill in. ended() takes it back.
  Call& own();
  /// Ends all calls as failed, pending ones and those to come: the storage's thread ends.
  void break_down();
  /// Returns a descriptor that is readable while take() has a call.
  int posted() const { return wake_.get(); }

 private:
  void recycle_told();
  Call& spare();
  void send(Call& call);
  void end_told(Call& call);
  void fail(Call& call);

  mutable std::mutex mutex_;
  std::condition_variable flushed_;
  std::deque<Call> all_;
  std::vector<Call*> spare_, posted_, last_told_, ended_;
  Call* awaited_ = nullptr;  ///< flush that the caller waits for
  bool awaited_ended_ = false, stopped_ = false, broken_ = false;
  OwnFd wake_, told_;
};

}  // namespace canopy::redis
