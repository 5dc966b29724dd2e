#pragma once

#include <pthread.h>

#include <mutex>

namespace canopy {

/// Leaves to the parent, in a forked child, what only one process may use: a lock, a socket, memory that other
/// processes share. The child has copies of their descriptors, so that a lock would outlive its owner and a peer would
/// see no end of a connection, and none of the parent's threads.
///
///   UniqueFd lock_;
///   AtFork own_{[](void* folder) noexcept { static_cast<Folder*>(folder)->lock_.reset(); }, this};
///
/// Declare it behind the members that the function uses. A child that was made by vfork() or clone() is not noticed.
class AtFork {
 public:
  /// `leave` is called with `object` once, in the child, by the thread that forked, before fork() returns there. It
  /// must not wait: threads of the parent may have held any lock at the fork.
  using Leave = void (*)(void* object) noexcept;
  AtFork(Leave leave, void* object) : leave_(leave), object_(object) {
    // Without memory for the handlers all works as before, except in a forked child.
    static const int once = ::pthread_atfork([] { all().mutex.lock(); }, [] { all().mutex.unlock(); }, leave_all);
    static_cast<void>(once);
    const std::scoped_lock lock(all().mutex);
    next_ = all().first;
    if (next_) next_->before_ = this;
    all().first = this;
  }
  ~AtFork() {
    const std::scoped_lock lock(all().mutex);
    if (!left_) unlink();
  }
  AtFork(const AtFork&) = delete;

  /// While the result lives, fork() of another thread waits. For what is opened and then given to an object whose
  /// AtFork there is already: no child has it without one. REQUIRES: the calling thread makes and destroys no AtFork
  /// meanwhile.
  static std::unique_lock<std::mutex> no_fork() { return std::unique_lock(all().mutex); }

  /// Returns true if this process is a child that was forked after the constructor.
  bool left() const { return left_; }

 private:
  struct All {
    std::mutex mutex;
    AtFork* first = nullptr;
  };
  /// Never destroyed: its objects may live longer than the statics of this library.
  static All& all() {
    static All* const made = new All;
    return *made;
  }
  static void leave_all() {
    while (AtFork* const one = all().first) {
      one->unlink();
      one->left_ = true;
      one->leave_(one->object_);
    }
    all().mutex.unlock();
  }
  void unlink() {
    (before_ ? before_->next_ : all().first) = next_;
    if (next_) next_->before_ = before_;
  }

  const Leave leave_;
  void* const object_;
  AtFork *before_ = nullptr, *next_ = nullptr;
  bool left_ = false;
};

}  // namespace canopy
