#pragma once

#include <canopy/base/file.h>
#include <canopy/helpers/at_fork.h>

#include <concepts>
#include <memory>

namespace canopy {

/// Owns a file descriptor of this process alone: a forked child closes its copy at once, and owns nothing. Movable, not
/// copyable. Each costs an allocation.
class OwnFd {
 public:
  OwnFd() = default;
  /// Owns what `open` returns, a UniqueFd; if that is none, owns nothing, and errno is that of `open`. A fork() of
  /// another thread waits for it: no child gets a descriptor between open() and its owner.
  template <std::invocable Open>
  explicit OwnFd(Open&& open) : held_(std::make_unique<Held>()) {
    {
      const auto none = AtFork::no_fork();
      held_->descriptor = open();
    }
    if (!held_->descriptor) held_.reset();
  }

  explicit operator bool() const { return get() >= 0; }
  /// Returns the descriptor; -1: it owns nothing.
  int get() const { return held_ ? held_->descriptor.get() : -1; }

 private:
  struct Held {
    ~Held() { descriptor.reset(); }  // while a fork still finds it
    UniqueFd descriptor;
    AtFork own{[](void* held) noexcept { static_cast<Held*>(held)->descriptor.reset(); }, this};
  };
  std::unique_ptr<Held> held_;
};

}  // namespace canopy
