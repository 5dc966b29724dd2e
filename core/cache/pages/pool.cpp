// A segment offers its first pages, and only while it has memory. A page is handed out only from the offered part. Its
// bit in `out_` is then set until it is freed, whatever the allocator reports. So the pool finds each page that is
// handed out twice, and each page that is freed but not out.

#include "pool.h"
#include <canopy/helpers/kv_layout.h>
#include <canopy/helpers/page_runs.h>
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <numeric>

#include <cache/guard/ports.h>

namespace canopy {
namespace {

/// Takes memory for `count` entries of a list, and for as many more as it has, so that one entry more is cheap.
template <class List>
void make_room(List& list, std::size_t count) {
  if (list.capacity() < count) list.reserve(std::max(count, 2 * list.capacity()));
}

/// Returns the pages of a segment that are not offered.
Segment rest_of(const PoolSegment& segment) {
  return {segment.all.first + segment.offered, segment.all.pages - segment.offered};
}

}  // namespace

const SlotAllocator& Pool::allocator() const { return parts_.allocator->component(); }
Occupancy Pool::raw_occupancy() const { return parts_.allocator->occupancy(); }
bool Pool::is_out(Page page) const { return parts_.allocator->read("is_out", &SlotAllocator::is_out, page); }
std::uint64_t Pool::longest_run() const { return parts_.allocator->read("longest_run", &SlotAllocator::longest_run); }
KVStore* Pool::store() const { return parts_.store ? &parts_.store->component() : nullptr; }

Result<std::monostate> Pool::open() {
  while (offered() < parts_.start)
    if (!grow()) break;
  if (offered() < parts_.start && offered() == 0) return Error{memory()};
  return std::monostate{};
}

std::uint64_t Pool::growable() const {
  if (refused_) return 0;
  const std::uint64_t most = std::min<std::uint64_t>(parts_.limit, ~std::uint32_t{0} - 1);  // the last page number
  return most - std::min(most, offered());
}

bool Pool::back(PoolSegment& segment) {
  auto& owners = owners_[number_of(segment)];
  if (!owners) owners.reset(static_cast<std::uint64_t*>(std::calloc(segment.all.pages, sizeof(std::uint64_t))));
  segment.backed = owners && (!parts_.store || parts_.store->call("back", &KVStore::back, number_of(segment)));
  return segment.backed;
}

/// Returns true unless the system has refused memory and it is too early for another try.
bool Pool::may_try() {
  if (!refused_ || offered_ == 0 || handed_out_.pages >= try_at_) return true;
  return ++calls_since_try_ >= try_after_;
}

bool Pool::grow() {
  constexpr std::uint32_t kMostCalls = 1024;
  if (!may_try()) return false;
  const bool before = std::exchange(refused_, false);
  if (growable() == 0) return false;
  try {
    refused_ = !grow_segment();
  } catch (const std::bad_alloc&) {  // for lists of segments, or for the bits of pages
    refused_ = true;
  }
  refusals_ += refused_;
  try_at_ = handed_out_.pages + parts_.segment_pages;
  calls_since_try_ = 0;
  try_after_ = refused_ && before ? std::min(2 * try_after_, kMostCalls) : 8;
  return !refused_;
}

/// Returns the segment that offers its pages next: one that already has memory, which costs nothing, then the lowest
/// number, then a new one. Returns null if no page number is left.
PoolSegment* Pool::next_segment() {
  auto next = backed_.first();
  if (!next) next = absent_.first();
  if (next) return &segments_[*next];
  const std::uint64_t number = segments_.size(), first = parts_.segment_pages * number;
  const std::uint64_t numbers = ~std::uint32_t{0} - std::min<std::uint64_t>(first, ~std::uint32_t{0});
  if (numbers == 0) return nullptr;
  // Nothing may lack memory once one of the lists has the segment.
  for (SegmentSet* const set : {&backed_, &absent_}) set->reserve(number + 1);
  make_room(owners_, number + 1);
  make_room(segments_, number + 1);
  owners_.emplace_back();
  PoolSegment& another = segments_.emplace_back();
  another.all = {static_cast<Page>(first),
                 static_cast<std::uint32_t>(std::min<std::uint64_t>(numbers, parts_.segment_pages))};
  file(another);
  return &another;
}

/// Updates the sets of segments that can offer more pages.
void Pool::file(const PoolSegment& segment) {
  const bool more = segment.offered < segment.all.pages;
  backed_.set(number_of(segment), more && segment.backed);
  absent_.set(number_of(segment), more && !segment.backed);
}

/// Offers pages of one segment. Returns false if there is no memory. REQUIRES: growable() > 0.
bool Pool::grow_segment() {
  PoolSegment* const next = next_segment();
  if (!next) return false;
  PoolSegment& segment = *next;
  if (!segment.backed && !back(segment)) return false;
  file(segment);
  std::uint64_t room = growable();
  if (segment.all.first == 0 && segment.offered == 0) ++room;  // page 0 is in the segment but not counted
  const Segment more{segment.all.first + segment.offered,
                     static_cast<std::uint32_t>(std::min<std::uint64_t>(room, segment.all.pages - segment.offered))};
  if (const std::size_t words = (std::size_t{more.first} + more.pages + 63) / 64; words > out_.size()) {
    make_room(out_, words);
    out_.resize(words);
  }
  if (!parts_.allocator->offer(more)) return false;
  segment.offered += more.pages;
  offered_ += more.pages - (more.first == 0);
  if (segment.offered == segment.all.pages) segment.draining = 0;
  file(segment);
  ++changes_;
  if (draining()) reap();
  return true;
}

std::uint64_t Pool::shortfall(std::uint64_t count) {
  const auto missing = [&] {
    const std::uint64_t free = free_pages();
    return count > free ? count - free : 0;
  };
  while (missing() > 0 && grow()) {
  }
  return missing();
}

/// Marks consecutive pages as in use, or as free again. Returns false, and changes nothing, if one of them is so
/// already.
bool Pool::mark(Page first, std::size_t count, bool out) {
  for (std::size_t at = first; at < first + count;) {
    const std::size_t bit = at % 64, some = std::min<std::size_t>(64 - bit, first + count - at);
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - some) << bit;
    std::uint64_t& word = out_[at / 64];
    if ((word & mask) != (out ? 0 : mask)) {
      if (at > first) mark(first, at - first, !out);
      return false;
    }
    word ^= mask;
    at += some;
  }
  return true;
}

/// Fills `out` with offered pages that are not in use, and calls each(i, first, count) for runs within one segment. An
/// invalid page is the allocator's error, and the request then gets no pages.
template <class Each>
bool Pool::take(std::span<Page> out, Each&& each) {
  std::fill(out.begin(), out.end(), 0);  // so that an allocator that fills nothing hands out no old pages
  if (!parts_.allocator->call("allocate", &SlotAllocator::allocate, out)) return false;
  // By runs: a single page would cost a division to find its segment.
  for (std::size_t i = 0; i < out.size();) {
    const Page first = out[i], in_segment = first % parts_.segment_pages;
    const std::size_t segment = first / parts_.segment_pages;
    const std::uint32_t offered = segment < segments_.size() ? segments_[segment].offered : 0;
    const std::size_t most = std::min<std::size_t>(out.size() - i, offered - std::min(offered, in_segment));
    const std::size_t count = most == 0 ? 0 : pages_in_a_row(out.data() + i, most);
    if (first == 0 || count == 0 || !mark(first, count, true)) {
      refuse(out.first(i), first);
      return false;
    }
    each(i, first, count);
    i += count;
  }
  return true;
}

/// Rejects an allocation. The allocator keeps the pages, since it cannot be trusted to take them back.
void Pool::refuse(std::span<const Page> taken, Page page) {
  const std::uint64_t numbers = std::uint64_t{parts_.segment_pages} * segments_.size();
  const auto because = [&](std::string_view why) {
    parts_.allocator->wrong("allocate", Sentence("it handed out page {} of group '{}', {}", page, parts_.group, why));
  };
  if (page == 0) because("which is never handed out; or it filled nothing");
  else if (page >= numbers) because(Sentence("and the last one is {}", numbers - 1));
  else if (page / 64 < out_.size() && (out_[page / 64] >> page % 64 & 1) != 0)
    because(Sentence("which is out already; request {} had it last", last_owner(page)));
  else because("which is not offered");
  for (const Page one : taken) mark(one, 1, false);
}

bool Pool::allocate(std::span<Page> out, std::uint64_t owner) noexcept try {
  last_runs_.clear();
  last_runs_.reserve(out.size());  // once pages are out, nothing may lack memory
  const bool had = take(out, [&](std::size_t i, Page first, std::size_t count) {
    const Page in_segment = first % parts_.segment_pages;
    std::fill_n(&owners_[first / parts_.segment_pages][in_segment], count, owner);
    if (i > 0 && first == out[i - 1] + 1) last_runs_.back().pages += static_cast<std::uint32_t>(count);
    else last_runs_.push_back({first, static_cast<std::uint32_t>(count)});
  });
  if (!had) {
    refusals_ += free_pages() >= out.size();  // it had no memory for its own lists
    return false;
  }
  handed_out_.pages += out.size();
  handed_out_.runs += last_runs_.size();
  return true;
} catch (const std::bad_alloc&) {
  return ++refusals_, false;
}

bool Pool::free(std::span<const Page> pages) {
  const auto mark_all = [&](std::size_t end, bool out) {
    for (std::size_t i = 0; i < end;) {
      const std::size_t count = pages_in_a_row(pages.data() + i, end - i);
      if (std::size_t{pages[i]} + count > out_.size() * 64 || !mark(pages[i], count, out)) return i;
      i += count;
    }
    return end;
  };
  if (const std::size_t done = mark_all(pages.size(), false); done < pages.size()) {
    mark_all(done, true);
    return false;
  }
  if (draining() && !drained_) drained_ = std::ranges::any_of(pages, [&](Page page) { return drains(page); });
  if (parts_.allocator->call("free", &SlotAllocator::free, pages)) return true;
  mark_all(pages.size(), true);
  parts_.allocator->wrong("free",
                          Sentence("it refuses {} pages of group '{}' that it handed out", pages.size(), parts_.group));
  return false;
}

Occupancy Pool::occupancy() const {
  Occupancy occupancy = raw_occupancy();
  if (draining_ > 0)
    backed_.each([&](std::size_t i) {
      if (segments_[i].draining > 0) occupancy.capacity += parts_.allocator->out(rest_of(segments_[i]));
    });
  return occupancy;
}

/// Stops handing out the last `pages` of the offered pages. Returns false, and changes nothing, if the allocator
/// throws.
bool Pool::withdraw(PoolSegment& segment, std::uint32_t pages) {
  if (!parts_.allocator->withdraw({segment.all.first + segment.offered - pages, pages})) return false;
  segment.offered -= pages;
  offered_ -= pages;
  file(segment);
  ++changes_;
  return true;
}

void Pool::set_limit(std::uint64_t limit) {
  parts_.limit = limit;
  refused_ = false;
}

void Pool::go_to_limit() {
  // Draining segments are offered again first.
  while (draining() && growable() > 0 && grow()) {
  }
  std::uint64_t excess = offered() - std::min(offered(), parts_.limit);
  if (excess == 0) return;
  std::vector<std::size_t> emptiest(segments_.size());
  std::iota(emptiest.begin(), emptiest.end(), 0);
  std::vector<std::uint32_t> out(segments_.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = parts_.allocator->out(segments_[i].all);
  std::sort(emptiest.begin(), emptiest.end(),
            [&](std::size_t a, std::size_t b) { return out[a] != out[b] ? out[a] < out[b] : a > b; });
  const auto pages_of = [&](std::size_t i) { return segments_[i].offered - (i == 0 && segments_[i].offered > 0); };
  for (const std::size_t i : emptiest)
    if (const std::uint32_t all = pages_of(i); i != 0 && all > 0 && all <= excess)
      if (withdraw(segments_[i], all)) excess -= all;
  for (const std::size_t i : emptiest)
    if (excess > 0 && pages_of(i) > 0) {
      const auto cut = static_cast<std::uint32_t>(std::min<std::uint64_t>(excess, pages_of(i)));
      if (withdraw(segments_[i], cut)) excess -= cut;
    }
  reap();
}

bool Pool::drains(Page page) const {
  const std::size_t i = page / parts_.segment_pages;
  return i < segments_.size() && page - segments_[i].all.first >= segments_[i].offered;
}

std::uint64_t Pool::surplus() const {
  const Occupancy now = occupancy();
  const std::uint64_t out = now.capacity - now.free;
  return out - std::min(out, parts_.limit);
}

bool Pool::relocate(std::span<const Page> from, std::span<Page> to) {
  if (!take(to, [](std::size_t, Page, std::size_t) {})) return false;
  for (std::size_t i = 0; i < from.size(); ++i) owner(to[i]) = owner(from[i]);
  if (!parts_.store || parts_.store->copy(from, to)) return true;
  free(to);
  return false;
}

void Pool::reap() {
  draining_ = 0;
  drained_ = false;
  std::uint32_t idle = 0;
  backed_.each([&](std::size_t i) {
    PoolSegment& segment = segments_[i];
    const PoolSegment before = segment;
    segment.draining = parts_.allocator->out(rest_of(segment));
    draining_ += segment.draining;
    if (segment.state() == SegmentState::idle && segment.all.first != 0 && ++idle > parts_.idle_segments) {
      if (parts_.store) parts_.store->call("unback", &KVStore::unback, number_of(segment));
      segment.backed = false;
      file(segment);
    }
    changes_ += segment.draining != before.draining || segment.state() != before.state();
  });
}

std::uint64_t Pool::page_bytes() const {
  if (!parts_.store) return 0;
  return canopy::page_bytes(parts_.store->call("streams", &KVStore::streams),
                            parts_.store->call("layers", &KVStore::layers), parts_.needs.page_size)
      .value_or(0);
}

std::string Pool::memory() const {
  if (!refused_) return {};
  const std::uint64_t has = offered(), page = parts_.needs.page_size;
  const std::string wanted =
      parts_.limit == kUnlimited ? "more" : fmt::format("{} pages of {} tokens", parts_.limit, parts_.limit * page);
  return fmt::format(
      "group '{}': the system refused memory after {} pages of {} bytes ({:.1f} MiB): the pool has {} "
      "tokens, and {} were wanted",
      parts_.group, has, page_bytes(), static_cast<double>(has * page_bytes()) / (1 << 20), has * page, wanted);
}

std::shared_ptr<EvictionStrategy> Pool::use_policy(std::shared_ptr<EvictionStrategy> policy) {
  return std::exchange(parts_.eviction, std::move(policy));
}

}  // namespace canopy
