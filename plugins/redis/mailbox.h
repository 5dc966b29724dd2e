#pragma once

#include <canopy/support/file.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "call.h"

namespace canopy::redis {

/// Calls on their way between the caller's thread and the storage's. Neither waits for the other, but in flush().
class Mailbox {
 public:
  /// Throws if the system has no descriptors left.
  Mailbox();

  // The caller's side.

  /// A call to fill in. It may have served before. What poll() told last is not valid any more.
  Call& blank();
  void post(Call& call);
  std::size_t poll(std::span<StorageDone> done);
  /// Readable while poll() has something to tell.
  int told() const { return told_.get(); }
  /// Posts a flush and waits until it has ended. Returns whether it was done; false after `within` as well.
  bool flush(Call& call, Micros within);
  void stop();

  // The storage's side.

  /// Takes what was posted. False: stop() was called.
  bool take(std::vector<Call*>& posted);
  void ended(Call& call);
  /// A call of the storage's own, to fill in. ended() takes it back.
  Call& own();
  /// Readable while take() has something to return.
  int posted() const { return wake_.get(); }

 private:
  void recycle_told();
  Call& spare();

  std::mutex mutex_;
  std::condition_variable flushed_;
  std::deque<Call> all_;
  std::vector<Call*> spare_, posted_, last_told_;
  std::deque<Call*> ended_;
  Call* awaited_ = nullptr;  ///< the flush that the caller waits for
  bool awaited_ended_ = false, stopped_ = false;
  UniqueFd wake_, told_;
};

}  // namespace canopy::redis
