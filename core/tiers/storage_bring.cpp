/// The way from the storage to the host tier.
#include <algorithm>
#include <utility>

#include "storage_tier.h"

namespace canopy {

std::shared_ptr<Bring> StorageTier::bring(const Key& key, Units there, Units wanted, std::int32_t priority) {
  const auto count = [&](BringOutcome outcome) { ++device_.tiers.at(Counter::fetches_storage, outcome); };
  // Compute keys only for the pages that are looked up.
  const std::size_t asked = wanted / state_.page_size, pages = state_.whole_pages(key.words.size()) / state_.page_size;
  if (asked >= pages) return nullptr;
  const auto first_page = static_cast<std::ptrdiff_t>((asked + 1) * state_.page_size + state_.overlap);
  for (const auto& bring : brings_)
    if (!bring->over && !bring->unwanted && bring->first == asked && bring->space == key.space &&
        std::equal(key.words.begin(), key.words.begin() + first_page, bring->words.begin()))
      return count(BringOutcome::joined), bring;
  if (!breaker_.may_call(now_us_)) return count(BringOutcome::refused), nullptr;
  if (!worth(asked, pages - asked)) return count(BringOutcome::not_worth), nullptr;
  auto bring = std::make_shared<Bring>();
  bring->job = ++jobs_;
  bring->space = key.space;
  bring->priority = priority;
  bring->words.assign(key.words.begin(), key.words.end());
  bring->first = asked;
  bring->end = pages;
  bring->lock = host_.lock_on(key, there);
  if (bring->lock.length < there) return count(BringOutcome::no_room), nullptr;
  keys_.follow(space_key(key.space), key.words);
  brings_.push_back(bring);
  bring->late_us = now_us_ + config_.find_within;
  for (std::size_t g = 0; g < calls_.groups(); ++g) {
    key_scratch_.clear();
    for (std::size_t page = asked; page < bring->end; ++page) key_scratch_.push_back(keys_.key(page, g));
    breaker_.called();
    ++bring->open;
    const std::uint64_t ends_us =
        calls_.find(g, bring->job, space_key(key.space), key_scratch_, config_.find_within, now_us_);
    bring->ends_us = std::max(bring->ends_us, ends_us);
  }
  return bring;
}

/// Returns true if bringing `pages` pages from `first` on, and copying them up, is faster than computing them.
bool StorageTier::worth(std::size_t first, std::size_t pages) {
  const Units depth = static_cast<Units>(first) * state_.page_size,
              units = static_cast<Units>(pages) * state_.page_size;
  if (costs_.worth(get_us(pages) + host_.load_us(units), depth, units)) return true;
  return !calls_.simulated() && seen_.try_anyway();
}

/// Returns the microseconds that a get of `pages` pages of a path would take if it began now.
std::uint64_t StorageTier::get_us(std::size_t pages) const {
  std::uint64_t bytes = 0, calls = 0;
  for (std::size_t g = 0; g < calls_.groups(); ++g) {
    const std::size_t batch = calls_.storage(g).traits().batch;
    bytes += calls_.simulated() ? lane_bytes(g, pages) : pages * host_.images(g).record_bytes();
    calls += (pages + batch - 1) / batch;
  }
  return calls_.simulated() ? calls_.get_us(bytes, calls, now_us_) : seen_.us(bytes);
}

/// Returns the bytes of records in a simulated lane.
std::uint64_t StorageTier::lane_bytes(std::size_t group, std::size_t records) const {
  const std::uint64_t image = host_.images(group).image_bytes();
  return records * (host_.images(group).record_bytes() - image) + host_.lane_bytes(group, records);
}

std::optional<std::uint64_t> StorageTier::ends_us(const Bring& bring) const {
  if (calls_.simulated()) return std::max(bring.ends_us, now_us_);
  const std::uint64_t began_us = bring.late_us - (bring.gets ? config_.within : config_.find_within);
  const std::uint64_t usual_us = bring.gets ? get_us(bring.pages[0].size()) : seen_answers_.us(1);
  if (usual_us == 0) return {};
  // A call that takes longer than usual is expected to take as long again.
  const std::uint64_t so_far_us = now_us_ - began_us;
  return so_far_us > usual_us ? now_us_ + so_far_us : began_us + usual_us;
}

void StorageTier::found(Bring& bring, const CallEnd& end) {
  const bool done = end.how == CallEnd::How::done;
  if (done && !calls_.simulated()) seen_answers_.add(1, now_us_ - (bring.late_us - config_.find_within));
  bring.end = std::min(bring.end, bring.first + (done ? end.count : 0));
  if (done || bring.why != BringOutcome::whole) return;
  bring.why = end.how == CallEnd::How::late ? BringOutcome::late : BringOutcome::failed;
}

/// Continues after the lookup: takes pages for what the storage has, and gets the records.
void StorageTier::get(Bring& bring) {
  const bool none = bring.unwanted || bring.end == bring.first;
  if (none) return close(bring, bring.why == BringOutcome::whole ? BringOutcome::nothing : bring.why);
  if ((bring.end - bring.first) * state_.page_size < config_.least) return close(bring, BringOutcome::too_short);
  if (!worth(bring.first, bring.end - bring.first)) return close(bring, BringOutcome::not_worth);
  // Copy down the part of the path that only the pools have: in the host tier's index a page needs the pages before it.
  const Units from = static_cast<Units>(bring.first) * state_.page_size;
  if (bring.lock.length < from)
    host_.copy_down({bring.space, std::span(bring.words).first(from + state_.overlap)}, bring.priority);
  const std::size_t wanted = bring.end - bring.first, count = take_pages(bring, wanted);
  if (count == 0 || !ask_for_records(bring)) {
    free_pages(bring, 0);
    return close(bring, BringOutcome::no_room);
  }
  if (count < wanted) bring.why = BringOutcome::cut;
}

/// Takes pages of the host tier, as many as there is room for. Returns their number.
std::size_t StorageTier::take_pages(Bring& bring, std::size_t count) {
  PageFlow& pages = host_.pages();
  count = shared_out(count);
  for (std::size_t g = 0; g < state_.pools.size(); ++g)
    if (!pages.make_free(g, count)) count = std::min<std::size_t>(count, state_.pools[g].free_pages());
  for (std::size_t g = 0; g < state_.pools.size() && count > 0; ++g) {
    bring.pages[g].resize(count);
    if (!state_.pools[g].allocate(bring.pages[g], bring.job)) {
      bring.pages[g].clear();
      count = 0;
      break;
    }
    state_.moving[g] += count;
    bring.right[g].assign(count, false);
  }
  if (count == 0) free_pages(bring, 0);
  bring.end = bring.first + count;
  pages.end_operation(Operation::reserve);
  return count;
}

/// Returns how many of `count` pages the tier's share for pending gets allows. A single one may exceed it.
std::size_t StorageTier::shared_out(std::size_t count) const {
  std::uint64_t on_way = 0;
  for (const auto& other : brings_) on_way += other->pages[0].size();
  const std::uint64_t most = state_.pools[0].limit() * config_.share / 100;
  return on_way == 0 ? count : std::min<std::uint64_t>(count, most - std::min(most, on_way));
}

/// Starts the gets. Returns false if the system has no memory for a page.
bool StorageTier::ask_for_records(Bring& bring) {
  for (std::size_t g = 0; g < calls_.groups(); ++g)
    for (const Page page : bring.pages[g])
      if (!host_.images(g).record(page)) return false;
  const PageKey& space = space_key(bring.space);
  keys_.follow(space, bring.words);
  bring.gets = true;
  bring.late_us = now_us_ + config_.within;
  for (std::size_t g = 0; g < calls_.groups(); ++g) {
    const std::size_t batch = calls_.storage(g).traits().batch;
    for (std::size_t first = 0; first < bring.pages[g].size(); first += batch) {
      const std::size_t end = std::min(first + batch, bring.pages[g].size());
      key_scratch_.clear();
      targets_.clear();
      for (std::size_t i = first; i < end; ++i) {
        key_scratch_.push_back(keys_.key(bring.first + i, g));
        targets_.push_back(host_.images(g).record(bring.pages[g][i]));
      }
      breaker_.called();
      ++bring.open;
      const std::uint64_t ends_us = calls_.get(g, bring.job, first, space, key_scratch_, targets_,
                                               lane_bytes(g, end - first), config_.within, now_us_);
      bring.ends_us = std::max(bring.ends_us, ends_us);
    }
  }
  return true;
}

/// Checks the records of a call, and removes those that are damaged from the storage.
CallEnd StorageTier::check(Bring& bring, const StorageCall& call) {
  CallEnd end{CallEnd::how_of(call.fate)};
  keys_.follow(space_key(bring.space), bring.words);
  key_scratch_.clear();
  for (std::size_t i = 0; i < call.fates.size(); ++i) {
    if (call.fates[i] != Fate::done) continue;
    ++end.checked;
    if (!right(bring, call.group, call.first + i))
      key_scratch_.push_back(keys_.key(bring.first + call.first + i, call.group));
    else if (end.count == i) ++end.count;
  }
  end.sound = static_cast<std::uint32_t>(call.fates.size() - key_scratch_.size());
  if (!key_scratch_.empty())
    calls_.storage(call.group).call("remove", &PageStorage::remove, space_key(bring.space), key_scratch_);
  return end;
}

void StorageTier::got(Bring& bring, const StorageCall& call, const CallEnd& end) {
  using How = CallEnd::How;
  if (bring.open == 0 && (end.how == How::done || end.how == How::late) && !calls_.simulated())
    seen_.add(bring.pages[0].size() * host_.images(0).record_bytes() * calls_.groups(),
              now_us_ - (bring.late_us - config_.within));
  if (bring.over) return;
  const std::uint32_t damaged = end.how == How::lost ? 0 : call.records - end.sound;
  std::fill_n(bring.right[call.group].begin() + static_cast<std::ptrdiff_t>(call.first), end.count, true);
  if (end.count < call.records && (bring.why == BringOutcome::whole || bring.why == BringOutcome::cut))
    bring.why = damaged > 0              ? BringOutcome::damaged
                : end.how == How::absent ? BringOutcome::gone
                : end.how == How::late   ? BringOutcome::late
                                         : BringOutcome::failed;
  breaker_.checked(now_us_, end.checked, damaged);
  device_.tiers[Counter::damaged_records_storage] += damaged;
}

bool StorageTier::right(Bring& bring, std::size_t group, std::size_t page) {
  const std::byte* const record = host_.images(group).record(bring.pages[group][page]);
  return flaw_of_record(record, facts_of(bring.first + page, group, bring.words)) == nullptr;
}

/// Returns the number of valid records that have arrived, from the first on.
std::size_t StorageTier::right_ones(const Bring& bring) const {
  std::size_t count = bring.pages[0].size();
  for (std::size_t g = 0; g < calls_.groups(); ++g) {
    const auto wrong = std::find(bring.right[g].begin(), bring.right[g].end(), false);
    count = std::min(count, static_cast<std::size_t>(wrong - bring.right[g].begin()));
  }
  return count;
}

/// Returns true if the host tier has the prefix before the records, and the bring's lock covers it.
bool StorageTier::stands(Bring& bring) {
  const Units from = static_cast<Units>(bring.first) * state_.page_size;
  if (bring.lock.length >= from) return true;
  const Lock deeper = host_.lock_on({bring.space, bring.words}, from);
  if (deeper.length < from) return false;
  host_.pages().release(std::exchange(bring.lock, deeper), nullptr);
  return true;
}

/// Completes a bring after all its gets: its valid records, from the first on, become the index's, once the host tier
/// has the prefix before them.
void StorageTier::arrive(Bring& bring) {
  std::size_t count = bring.over || bring.unwanted || bring.lost ? 0 : right_ones(bring);
  if (count > 0 && !stands(bring)) {
    const Key before{bring.space, std::span(bring.words).first(bring.first * state_.page_size + state_.overlap)};
    if (host_.on_its_way(before) >= bring.first * state_.page_size) return;
    bring.why = BringOutcome::gone;
    count = 0;
  }
  if (count > 0) insert(bring, count);
  if (!bring.lost) free_pages(bring, 0);
  host_.pages().end_operation(Operation::insert);
  if (!bring.over) close(bring, bring.why);
}

void StorageTier::insert(Bring& bring, std::size_t count) {
  const Units from = static_cast<Units>(bring.first) * state_.page_size;
  const Units until = from + static_cast<Units>(count) * state_.page_size;
  GroupPages brought;
  for (std::size_t g = 0; g < state_.pools.size(); ++g) brought[g] = std::span(bring.pages[g]).first(count);
  Inserted inserted;
  {
    const IndexTimer timer(state_);
    inserted = state_.index->insert(std::exchange(bring.lock, Lock{}),
                                    {bring.space, std::span(bring.words).first(until + state_.overlap)}, brought,
                                    {bring.priority});
  }
  const std::size_t kept = (std::max(inserted.lock.length, from) - from) / state_.page_size;
  PageFlow& pages = host_.pages();
  pages.free(inserted.spare, "a record from the storage");
  pages.take_evicted(inserted.evicted, "a record from the storage");
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    state_.moving[g] -= kept;
    for (const Page page : std::span(bring.pages[g]).first(kept)) host_.images(g).set_stored(page, true);
    bring.pages[g].erase(bring.pages[g].begin(), bring.pages[g].begin() + static_cast<std::ptrdiff_t>(kept));
    device_.tiers[Counter::loaded_bytes_storage] += kept * host_.images(g).record_bytes();
  }
  device_.tiers[Counter::loaded_tokens_storage] += kept * state_.page_size;
  pages.digest().take(Digest::Step::bring, from, inserted.had, inserted.lock.length);
  bring.from = from;
  bring.until = from + static_cast<Units>(kept) * state_.page_size;
  show_brought(bring, inserted.lock.node);
  pages.release(inserted.lock, nullptr);
}

/// Frees the pages from `first` on.
void StorageTier::free_pages(Bring& bring, std::size_t first) {
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    const std::span<const Page> pages = std::span(bring.pages[g]).subspan(std::min(first, bring.pages[g].size()));
    state_.moving[g] -= pages.size();
    host_.pages().free(g, pages, "a record that did not come");
    bring.pages[g].resize(bring.pages[g].size() - pages.size());
  }
}

/// Ends a bring. Its fetches continue with what the host tier has.
void StorageTier::close(Bring& bring, BringOutcome outcome) {
  bring.over = true;
  ++device_.tiers.at(Counter::fetches_storage, outcome);
  host_.pages().release(std::exchange(bring.lock, Lock{}), nullptr);
  host_.pages().end_operation(Operation::release);
}

}  // namespace canopy
