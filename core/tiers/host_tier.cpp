// A page that a copy fills is `moving` and in no index until the copy has ended and the store has saved it. `copies_`
// is in the order in which the copies end, so turn() looks only at its front. Readings::flushed is true only while a
// lock of begin_reading() is left in the namespace.

#include "host_tier.h"

#include <algorithm>
#include <utility>

namespace canopy {
namespace {

/// Most pending copies: each new one is compared with them.
constexpr std::size_t kMostCopies = std::size_t{1} << 14;

std::size_t pages_in(std::span<const Page> pages) {
  return pages.size() - static_cast<std::size_t>(std::count(pages.begin(), pages.end(), Page{0}));
}

}  // namespace

HostTier::HostTier(CacheState& device, HostTierConfig config)
    : device_(device),
      config_(std::move(config)),
      departures_(device.pools.size()),
      store_lane_(config_.lane),
      load_lane_(config_.lane) {
  state_.ledger.report_to(device.ledger, "host tier: ");
}

HostTier::~HostTier() {
  for (std::size_t g = 0; g < images_.size(); ++g)
    if (images_[g].image_bytes() > 0) store(g).settled();
}

void HostTier::open(std::uint64_t header_bytes) {
  for (std::size_t g = 0; g < device_.pools.size(); ++g) {
    StorePort* const store = device_.pools[g].store_port();
    images_.emplace_back(store ? store->call("image_bytes", &KVStore::image_bytes) : 0, header_bytes,
                         device_.tiers.at(Counter::refused_pages_host, g));
  }
  pages_.look_for_prints();
  device_.below = &state_;
}

bool HostTier::take_memory() {
  for (std::size_t g = 0; g < state_.pools.size(); ++g)
    if (!images_[g].take(static_cast<Page>(state_.pools[g].limit()))) return false;
  return true;
}

LeavingVisitor* HostTier::eviction_visitor() {
  return config_.write == WritePolicy::write_back ? &departures_ : nullptr;
}

void HostTier::evicted() noexcept {
  device_.tiers[Counter::dropped_tokens_host] += departures_.forgotten();
  device_.lacked += departures_.lacked();
  for (const Departures::Departure& path : departures_.paths())
    copy({path.space, path.words}, departures_.pages(path), path.priority);
  departures_.clear();
}

void HostTier::inserted(const Key& key, const Lock& lock, std::int32_t priority) noexcept {
  if (config_.write == WritePolicy::write_through) copy(key, device_.index->pages(lock), priority);
}

void HostTier::copy_down(const Key& key, std::int32_t priority) noexcept {
  const Found found = device_.index->find(key);
  if (found.length == units_of(key.words)) copy(key, device_.index->pages(found), priority);
}

void HostTier::flushed(NamespaceId space) noexcept {
  for (Copy& copy : copies_) {
    if (copy.space != space) continue;
    copy.unwanted = true;
    pages_.release(std::exchange(copy.lock, Lock{}), space, nullptr);
  }
  if (const auto number = static_cast<std::size_t>(space); number < readings_.size())
    readings_[number].flushed = readings_[number].locks > 0;
  pages_.flush(space);
}

Lock HostTier::begin_reading(const Key& key, Units length) {
  const auto number = static_cast<std::size_t>(key.space);
  if (number >= readings_.size()) readings_.resize(number + 1);
  const Lock lock = lock_on(key, length);
  if (lock.length > 0) ++readings_[number].locks;
  return lock;
}

void HostTier::end_reading(const Lock& lock, NamespaceId space) {
  pages_.release(lock, space, nullptr);
  if (lock.length == 0) return;
  Readings& readings = readings_[static_cast<std::size_t>(space)];
  if (--readings.locks == 0 && std::exchange(readings.flushed, false)) pages_.flush(space, false);
}

Units HostTier::on_its_way(const Key& key) const {
  const std::size_t page_words = state_.page_size + state_.overlap;
  Units most = 0;
  for (const Copy& copy : copies_) {
    if (copy.space != key.space || copy.unwanted) continue;
    // Most paths differ in their first page.
    if (!std::equal(key.words.begin(), key.words.begin() + static_cast<std::ptrdiff_t>(page_words), copy.words.begin()))
      continue;
    const std::size_t words = std::min(key.words.size(), copy.words.size());
    const auto parts =
        std::mismatch(key.words.begin(), key.words.begin() + static_cast<std::ptrdiff_t>(words), copy.words.begin())
            .first;
    const auto same = static_cast<Units>(parts - key.words.begin());
    if (same > state_.overlap) most = std::max(most, (same - state_.overlap) / state_.page_size * state_.page_size);
  }
  return most;
}

Lock HostTier::lock_on(const Key& key, Units length) {
  if (length == 0) return {};
  Lock lock;
  {
    const IndexTimer timer(state_);
    const Found found = state_.index->find({key.space, key.words.first(length + state_.overlap)});
    if (found.length == length) lock = state_.index->hold(found.node);
  }
  if (lock.length == length) return lock;
  pages_.release(lock, key.space, nullptr);
  return {};
}

/// Begins to copy what this tier lacks of a path. Drops what finds no room or no memory, from the path's end.
void HostTier::copy(const Key& key, const GroupPages& from, std::int32_t priority) noexcept {
  const Units units = units_of(key.words);
  if (units == 0) return;
  if (from[0].size() != units / state_.page_size) {  // the index could not list them
    ++device_.lacked;
    device_.tiers[Counter::dropped_tokens_host] += units;
    return;
  }
  if (has_old_pages(key.space)) {
    device_.tiers[Counter::lost_tokens_host] += units;
    return;
  }
  Copy copy{key.space, priority};
  {
    const IndexTimer timer(state_);
    const Found found = state_.index->find(key);
    if (found.length > 0) copy.lock = state_.index->hold(found.node);
    if (copy.lock.length != found.length) pages_.release(std::exchange(copy.lock, Lock{}), key.space, nullptr);
  }
  copy.from = std::max(copy.lock.length, on_its_way(key));
  const std::size_t wanted = (units - copy.from) / state_.page_size;
  const std::size_t count = copies_.size() < kMostCopies ? begin(copy, key, from, wanted) : 0;
  device_.tiers[Counter::dropped_tokens_host] += (wanted - count) * state_.page_size;
  if (count == 0) return pages_.release(copy.lock, key.space, nullptr);
  pages_.end_operation(Operation::reserve);
}

/// Begins a copy of as many of `count` pages as there is room for, and moves it to the pending ones. Returns their
/// number; 0: nothing has begun, and the copy is as before.
std::size_t HostTier::begin(Copy& copy, const Key& key, const GroupPages& from, std::size_t count) try {
  if (count > 0) count = make_room(copy.space, from, copy.from / state_.page_size, count);
  if (count == 0) return 0;
  const auto words = key.words.first(copy.from + count * state_.page_size + state_.overlap);
  copy.words.assign(words.begin(), words.end());
  std::list<Copy> begun(1);  // takes its memory before the pages
  if (!take_pages(copy, from, count)) return 0;
  copy.ends_us = store_lane_.begin(now_us_, copy.lane_bytes);
  count_copy(HostLane::store, copy.bytes, true);
  device_.tiers[Counter::written_tokens_host] += count * state_.page_size;
  device_.tiers[Counter::written_bytes_host] += copy.bytes;
  pages_.digest().take(Digest::Step::copy, copy.from, count, copy.ends_us);
  begun.front() = std::move(copy);
  copies_.splice(copies_.end(), begun);
  return count;
} catch (const std::bad_alloc&) {
  return ++device_.lacked, 0;
}

/// Returns how many of the pages [first, first + count) of a path this tier has room for, from the first on.
std::size_t HostTier::make_room(NamespaceId space, const GroupPages& from, std::size_t first, std::size_t count) {
  std::uint64_t bytes = 0;
  for (std::size_t g = 0; g < state_.pools.size(); ++g)
    bytes += pages_in(from[g].subspan(first, count)) * images_[g].image_bytes();
  // A copy that exceeds the bound is made alone.
  const std::uint64_t room =
      copies_.empty()
          ? bytes
          : config_.in_flight_bytes -
                std::min(config_.in_flight_bytes, device_.tiers.at(Counter::queued_bytes_host, HostLane::store));
  if (bytes > room) count = static_cast<std::size_t>(room / (bytes / count + 1));
  for (std::size_t g = 0; g < state_.pools.size() && count > 0; ++g) {
    if (pages_.make_free(g, pages_in(from[g].subspan(first, count)), space)) continue;
    std::uint64_t free = state_.pools[g].free_pages();
    std::size_t fits = 0;
    while (fits < count && (from[g][first + fits] == 0 || free-- > 0)) ++fits;
    count = fits;
  }
  return count;
}

/// Takes pages for the copy, and begins to fill them. Returns false, or throws, and changes nothing, on failure.
bool HostTier::take_pages(Copy& copy, const GroupPages& from, std::size_t count) {
  const std::size_t first = copy.from / state_.page_size;
  std::array<std::size_t, kMaxGroups> needed{};
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    needed[g] = pages_in(from[g].subspan(first, count));
    copy.pages[g].assign(count, 0);
    for (std::vector<Page>* const each : {&scratch_, &reads_from_})
      if (each->capacity() < needed[g]) each->reserve(needed[g]);
    if (targets_.capacity() < needed[g]) targets_.reserve(needed[g]);
  }
  bool taken = true;
  for (std::size_t g = 0; g < state_.pools.size() && taken; ++g) {
    scratch_.resize(needed[g]);
    taken = state_.pools[g].allocate(scratch_, begun_ + 1);
    if (!taken) break;
    state_.moving[g] += scratch_.size();
    for (const Page page : scratch_) images_[g].set_stored(page, false);
    for (std::size_t i = 0, next = 0; i < count; ++i)
      if (from[g][first + i] != 0) copy.pages[g][i] = scratch_[next++];
    copy.bytes += scratch_.size() * images_[g].image_bytes();
    copy.lane_bytes += lane_bytes(g, scratch_.size());
  }
  if (taken && save(copy, from)) {
    ++begun_;
    return true;
  }
  free(copy, 0);
  return false;
}

/// Starts saving the pages above into those of the copy. Returns false, and has started nothing, if the system has no
/// memory for an image, or a store fails. REQUIRES: room in the lists that it fills.
bool HostTier::save(Copy& copy, const GroupPages& from) {
  for (std::size_t g = 0; g < state_.pools.size(); ++g)
    for (const Page page : copy.pages[g])
      if (page != 0 && images_[g].image_bytes() > 0 && !images_[g].image(page)) return false;
  copy.copies.failures = failures();
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    if (images_[g].image_bytes() == 0) continue;
    reads_from_.clear();
    targets_.clear();
    for (std::size_t i = 0; i < copy.pages[g].size(); ++i) {
      if (copy.pages[g][i] == 0) continue;
      targets_.push_back(images_[g].image(copy.pages[g][i]));
      reads_from_.push_back(from[g][copy.from / state_.page_size + i]);
    }
    if (reads_from_.empty()) continue;
    const auto ticket = store(g).begin_save(reads_from_, targets_);
    if (!ticket) return end_others(copy.copies), false;
    copy.copies.tickets[g] = *ticket;
  }
  return true;
}

bool HostTier::load(std::span<const std::vector<Page>> from, std::span<const std::vector<Page>> to, StoreCopies& copies,
                    std::uint64_t& ends_us) {
  std::uint64_t bytes = 0, carried = 0;
  copies = {{}, failures()};
  for (std::size_t g = 0; g < state_.pools.size(); ++g)
    if (sources_.capacity() < from[g].size()) sources_.reserve(from[g].size());
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    bytes += from[g].size() * images_[g].image_bytes();
    carried += lane_bytes(g, from[g].size());
    if (images_[g].image_bytes() == 0 || from[g].empty()) continue;
    sources_.clear();
    for (const Page page : from[g]) sources_.push_back(images_[g].image(page));
    const auto ticket = store(g).begin_load(sources_, to[g]);
    if (!ticket) return end_others(copies), false;
    copies.tickets[g] = *ticket;
  }
  device_.tiers[Counter::loaded_bytes_host] += bytes;
  ends_us = load_lane_.begin(now_us_, carried);
  return true;
}

std::uint64_t HostTier::load_us(Units units) const {
  std::uint64_t carried = 0;
  for (std::size_t g = 0; g < state_.pools.size(); ++g)
    carried += lane_bytes(g, std::min(units, state_.groups[g].reach) / state_.page_size);
  return load_lane_.ends_us(now_us_, carried) - now_us_;
}

std::uint64_t HostTier::failures() const {
  std::uint64_t failures = 0;
  for (const Pool& pool : device_.pools)
    if (pool.store()) failures += pool.store_port()->failures();
  return failures;
}

/// Waits for what other stores have begun of a copy that one of them could not begin.
void HostTier::end_others(const StoreCopies& copies) {
  for (std::size_t g = 0; g < state_.pools.size(); ++g)
    if (copies.tickets[g] > 0) store(g).settled();
}

/// Waits for stores that are slower than their lane. The additional time changes no decision. Returns false if a store
/// has failed since the copies began.
template <class Ended>
bool HostTier::wait(const StoreCopies& copies, Ended&& ended) {
  for (std::size_t g = 0; g < state_.pools.size(); ++g)
    if (copies.tickets[g] > 0 && ended(store(g)) < copies.tickets[g]) store(g).settled();
  return copies.failures == failures();
}

bool HostTier::has_loaded(const StoreCopies& copies) {
  return wait(copies, [](StorePort& store) { return store.read("loaded", &KVStore::loaded); });
}

void HostTier::count_copy(HostLane lane, std::uint64_t bytes, bool begins) {
  std::uint64_t& copies = device_.tiers.at(Counter::queued_copies_host, lane);
  std::uint64_t& queued = device_.tiers.at(Counter::queued_bytes_host, lane);
  if (begins) {
    if (copies++ == 0) device_.board.speed(lane).begun(now_us_);
    queued += bytes;
  } else {
    --copies, queued -= bytes;
    device_.board.speed(lane).ended(now_us_, now_us_, bytes);
  }
}

void HostTier::turn(std::uint64_t now_us) {
  now_us_ = std::max(now_us_, now_us);
  device_.tiers[Counter::turn_us] = now_us_;
  while (!copies_.empty() && copies_.front().ends_us <= now_us_) {
    std::list<Copy> first;
    first.splice(first.begin(), copies_, copies_.begin());  // no later call of it can find it here again
    arrive(first.front());
  }
}

/// Completes a copy: its pages become the index's.
void HostTier::arrive(Copy& copy) {
  copy.unwanted |= !wait(copy.copies, [](StorePort& store) { return store.read("saved", &KVStore::saved); });
  count_copy(HostLane::store, copy.bytes, false);
  const Key key{copy.space, copy.words};
  if (!copy.unwanted && copy.lock.length < copy.from) {  // an earlier copy has brought the part between
    const Lock deeper = lock_on(key, copy.from);
    pages_.release(copy.lock, copy.space, nullptr);
    copy.lock = deeper;
  }
  if (copy.unwanted || copy.lock.length < copy.from) {
    device_.tiers[Counter::lost_tokens_host] += copy.pages[0].size() * state_.page_size;
    free(copy, 0);
    pages_.release(copy.lock, copy.space, nullptr);
    return pages_.end_operation(Operation::release);
  }
  GroupPages brought;
  for (std::size_t g = 0; g < state_.pools.size(); ++g) brought[g] = copy.pages[g];
  Inserted inserted;
  {
    const IndexTimer timer(state_);
    inserted = state_.index->insert(copy.lock, key, brought, {copy.priority});
  }
  const std::size_t kept = (std::max(inserted.lock.length, copy.from) - copy.from) / state_.page_size;
  for (std::size_t g = 0; g < state_.pools.size(); ++g) state_.moving[g] -= pages_in(brought[g].first(kept));
  pages_.free(inserted.spare, "a copy from above");
  pages_.take_evicted(inserted.evicted, "a copy from above");
  free(copy, kept);
  pages_.digest().take(Digest::Step::arrive, copy.from, inserted.had, inserted.lock.length);
  if (TierListener* const storage = pages_.tier(); storage && kept > 0)
    storage->inserted({copy.space, std::span(copy.words).first(inserted.lock.length + state_.overlap)}, inserted.lock,
                      copy.priority);
  pages_.release(inserted.lock, copy.space, nullptr);
  pages_.keep_ceiling(copy.space);
  pages_.end_operation(Operation::insert);
}

/// Frees the copy's pages from `first_page` on. Needs no memory.
void HostTier::free(const Copy& copy, std::size_t first_page) {
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    const std::span<const Page> pages(copy.pages[g]);
    for (std::size_t end = first_page; end < pages.size();) {
      const std::size_t begin = end;
      while (end < pages.size() && (pages[end] == 0) == (pages[begin] == 0)) ++end;
      if (pages[begin] == 0) continue;
      state_.moving[g] -= end - begin;
      pages_.free(g, pages.subspan(begin, end - begin), "a copy that was given up");
    }
  }
}

std::array<std::vector<Page>, kMaxGroups> HostTier::moving() const {
  std::array<std::vector<Page>, kMaxGroups> pages;
  for (const Copy& copy : copies_)
    for (std::size_t g = 0; g < state_.pools.size(); ++g)
      for (const Page page : copy.pages[g])
        if (page != 0) pages[g].push_back(page);
  return pages;
}

}  // namespace canopy
