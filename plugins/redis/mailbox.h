#pragma once

#include <canopy/base/own_fd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "call.h"

namespace canopy::redis {

/// Passes calls from the caller's thread to the storage's thread, and keeps the storage's own calls, which are not
/// reported. Neither thread waits for the other, except in flush().
class Mailbox {
 public:
  /// Throws if no file descriptors are available. REQUIRES: `calls` outlives this object.
  explicit Mailbox(AsyncCalls<Call>& calls);

  /// Returns a call of the storage itself. ended() takes it back. From both threads.
  Call& own(Call::Kind kind, const PageKey& space, std::span<const PageKey> keys, Micros until_us);

  // The caller's side.
  void post(Call& call);
  /// Posts a flush and waits until it has ended. Returns true if it was done within `within`.
  bool flush(Call& call, Micros within);
  void stop();

  // The storage's side.
  /// Takes the posted calls. Returns false if stop() was called.
  bool take(std::vector<Call*>& posted);
  /// Ends a call. Takes no memory.
  void ended(Call& call);
  /// Ends all calls as failed, pending ones and those to come: the storage's thread ends.
  void break_down();
  /// Returns a descriptor that is readable while take() has a call.
  int posted() const { return wake_.get(); }

 private:
  AsyncCalls<Call>& calls_;
  std::mutex mutex_;
  std::condition_variable flushed_;
  std::deque<Call> own_;
  std::vector<Call*> spare_, posted_;  ///< spare_: own calls, with room for all of them
  Call* awaited_ = nullptr;            ///< flush that the caller waits for
  bool awaited_ended_ = false, stopped_ = false;
  OwnFd wake_;
};

}  // namespace canopy::redis
