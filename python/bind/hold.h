#pragma once

#include <utility>

#include "index.h"
#include "made.h"

namespace canopy::python {

/// An index, kept alive by this object.
class Owner {
 public:
  explicit Owner(nb::handle_t<Index> self) : object_(nb::borrow(self)), index_(&made_by<Index>(self)) {}
  Index& operator*() const { return *index_; }
  Index* operator->() const { return index_; }

 private:
  nb::object object_;
  Index* index_;
};

/// The result of a match. It holds nothing: the prefix may be evicted.
struct Hit {
  Owner index;
  Index::SpaceUse space;
  nb::object unknown =
      {};  ///< the namespace that was asked for, if there was none; `space` is then the shared one. Null: none
  NodeId node{};
  Units length = 0;
};

/// A path that cannot be evicted until it is released.
class Hold {
 public:
  /// REQUIRES: set() follows, unless nothing can be held.
  Hold(Owner index, Index::SpaceUse space) : index_(std::move(index)), space_(space) { index_->add_hold(); }
  Hold(const Hold&) = delete;
  ~Hold() {
    release();
    index_->drop_hold();
  }
  void set(const Lock& lock) noexcept { lock_ = lock; }

  void release() {
    if (std::exchange(held_, false)) index_->release(lock_);
  }
  Index& index() const { return *index_; }
  const Index::SpaceUse& space() const { return space_; }
  const Lock& lock() const { return lock_; }
  Hit hit() const { return {index_, space_, {}, lock_.node, lock_.length}; }
  /// Sets the namespace for inserts. It can be chosen while nothing is held.
  void use_space(nb::handle space) {
    if (space.is_none()) return;
    const Index::SpaceUse wanted = index_->intern(space);
    if (lock_.length > 0 && NamespaceId{wanted} != NamespaceId{space_})
      throw nb::value_error("insert: the hold is in another namespace");
    space_ = wanted;
  }
  /// Returns the lock, to read or replace. Throws ValueError if it was released.
  Lock& held() {
    if (!held_) throw nb::value_error("this hold was released");
    return lock_;
  }

 private:
  Owner index_;
  Index::SpaceUse space_;
  Lock lock_;
  bool held_ = true;
};

/// The longest resident prefix, as a Hit. Finding it counts as a use.
struct Matched {
  nb::object hit;
  Units length = 0;
};
Matched match(nb::handle_t<Index> index, const Tokens& tokens, nb::handle space);
/// Returns a hit of nothing, for a prompt that cannot be a key.
nb::object no_hit(nb::handle_t<Index> index);

/// Throws ValueError unless `start` is a valid first token for the slots of `length` tokens.
void need_start(const Index& index, Units start, Units length);

void bind_hold(nb::module_& module);

}  // namespace canopy::python
