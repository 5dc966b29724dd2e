#include "losers.h"

#include <boost/heap/d_ary_heap.hpp>

#include <vector>

namespace canopy {

struct Losers::Heap {
  struct Entry {
    double above;
    std::uint32_t tenant;
    bool operator<(const Entry& other) const {
      return above != other.above ? above < other.above : tenant > other.tenant;
    }
  };
  using Entries = boost::heap::d_ary_heap<Entry, boost::heap::arity<4>, boost::heap::mutable_<true>>;
  Entries entries;
  std::vector<Entries::handle_type> handles;
};

Losers::Losers() : heap_(std::make_unique<Heap>()) {}
Losers::~Losers() = default;
Losers::Losers(Losers&&) noexcept = default;

void Losers::grow(std::size_t tenants) {
  while (heap_->handles.size() < tenants)
    heap_->handles.push_back(heap_->entries.push({0, static_cast<std::uint32_t>(heap_->handles.size())}));
}

void Losers::set(TenantId tenant, double above) {
  const auto number = static_cast<std::uint32_t>(tenant);
  const Heap::Entries::handle_type handle = heap_->handles[number];
  if ((*handle).above != above) heap_->entries.update(handle, {above, number});
}

std::optional<TenantId> Losers::furthest() const {
  if (heap_->entries.empty() || heap_->entries.top().above == 0) return {};
  return static_cast<TenantId>(heap_->entries.top().tenant);
}

}  // namespace canopy
