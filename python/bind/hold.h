#pragma once

#include <utility>

#include "index.h"

namespace canopy::python {

/// An index, kept alive by this object.
class Owner {
 public:
  explicit Owner(nb::handle_t<Index> self) : object_(nb::borrow(self)), index_(nb::inst_ptr<Index>(self)) {}
  Index& operator*() const { return *index_; }
  Index* operator->() const { return index_; }

 private:
  nb::object object_;
  Index* index_;
};

/// The result of a match. It holds nothing: the prefix may be evicted.
struct Hit {
  Owner index;
  NamespaceId space{};
  NodeId node{};
  Units length = 0;
};

/// A path that cannot be evicted until it is released.
class Hold {
 public:
  Hold(nb::handle_t<Index> index, NamespaceId space, const Lock& lock) : index_(index), space_(space), lock_(lock) {}
  Hold(const Hold&) = delete;
  ~Hold() { release(); }

  void release() {
    if (std::exchange(held_, false)) index_->release(lock_);
  }
  Index& index() const { return *index_; }
  NamespaceId space() const { return space_; }
  const Lock& lock() const { return lock_; }
  Hit hit() const { return {index_, space_, lock_.node, lock_.length}; }
  /// Sets the namespace for inserts. It can be chosen while nothing is held.
  void use_space(nb::handle space) {
    if (space.is_none()) return;
    const NamespaceId wanted = index_->space_of(space);
    if (lock_.length > 0 && wanted != space_) throw nb::value_error("insert: the hold is in another namespace");
    space_ = wanted;
  }
  /// Returns the lock, to read or replace. Throws ValueError if it was released.
  Lock& held() {
    if (!held_) throw nb::value_error("this hold was released");
    return lock_;
  }

 private:
  Owner index_;
  NamespaceId space_{};
  Lock lock_;
  bool held_ = true;
};

/// Returns a Hit or a Hold as a Python object, constructed in place: such objects are made and destroyed in each call.
template <class T, class... From>
nb::object made(From&&... from) {
  static const nb::handle type = nb::type<T>();
  nb::object object = nb::inst_alloc(type);
  ::new (static_cast<void*>(nb::inst_ptr<T>(object))) T{std::forward<From>(from)...};
  nb::inst_mark_ready(object);
  return object;
}

/// The longest resident prefix, as a Hit. Finding it counts as a use.
struct Matched {
  nb::object hit;
  Units length = 0;
};
Matched match(nb::handle_t<Index> index, const Tokens& tokens, NamespaceId space);

/// Throws ValueError unless `start` is a valid first token for the slots of `length` tokens.
void need_start(const Index& index, Units start, Units length);

void bind_hold(nb::module_& module);

}  // namespace canopy::python
