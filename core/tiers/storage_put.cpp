/// The way from the host tier to the storage.
#include <algorithm>
#include <utility>

#include "storage_tier.h"

namespace canopy {

void StorageTier::evict_early() {
  if (config_.write != PutPolicy::on_evict || config_.ahead == 0) return;
  for (std::size_t g = 0; g < calls_.groups(); ++g) {
    const std::uint64_t pages = to_evict(g);
    if (pages == 0) continue;
    const GroupPages evicted = host_.pages().evict_from_index(g, pages, Cause::room, &departures_);
    for (std::size_t other = 0; other < calls_.groups(); ++other) is_put_[other].clear();
    // Parents were evicted after their children, and are put before them, so that what is in the storage can be found.
    for (std::size_t i = departures_.paths().size(); i-- > 0;) {
      const Departures::Departure& path = departures_.paths()[i];
      put({path.space, path.words, departures_.pages(path), path.begin / state_.page_size,
           state_.whole_pages(path.words.size()) / state_.page_size},
          {});
    }
    device_.tiers[Counter::dropped_tokens_storage] += departures_.forgotten();
    departures_.clear();
    free_the_others(evicted);
    host_.pages().end_operation(Operation::evict);
  }
}

/// Returns the pages of a group to evict now, limited to those that may be put.
std::uint64_t StorageTier::to_evict(std::size_t group) const {
  const Pool& pool = state_.pools[group];
  const std::uint64_t target = (pool.limit() * config_.ahead + 99) / 100;
  const std::uint64_t have = pool.free_pages() + pool.growable() + putting_[group];
  return have < target ? std::min(target - have, may_put()) : 0;
}

/// Returns the pages that may be put now, given the breaker and the pending calls.
std::uint64_t StorageTier::may_put() const {
  if (!breaker_.may_call(now_us_)) return 0;
  std::uint64_t page_bytes = 0;
  for (std::size_t g = 0; g < calls_.groups(); ++g) page_bytes += host_.images(g).record_bytes();
  const std::uint64_t room = config_.in_flight - std::min(config_.in_flight, bytes_put_);
  // A page that exceeds the bound is put alone. A half-open breaker allows one page as a test.
  const std::uint64_t fits = puts_.empty() ? std::max<std::uint64_t>(room / page_bytes, 1) : room / page_bytes;
  const std::uint64_t most = breaker_.state(now_us_) == Breaker::State::closed ? fits : 1;
  return most;
}

/// Write-through: puts the part of a path that the storage has not received, nearest to the root first.
void StorageTier::inserted(const Key& key, const Lock& lock, std::int32_t) {
  if (config_.write != PutPolicy::through) return;
  const std::uint64_t most = may_put();
  if (most == 0) return;  // tried again when more of the path arrives
  const Lock held = state_.index->hold(lock.node);
  Run run{key.space, key.words, state_.index->pages(held), 0, held.length / state_.page_size};
  while (run.first < run.end && is_stored(run.pages, run.first)) ++run.first;
  run.end = std::min<std::size_t>(run.end, run.first + most);
  if (!put(run, held)) host_.pages().release(held, nullptr);
}

bool StorageTier::is_stored(const GroupPages& pages, std::size_t page) const {
  for (std::size_t g = 0; g < calls_.groups(); ++g)
    if (!host_.images(g).stored(pages[g][page])) return false;
  return true;
}

/// Puts a run. `lock` keeps the path in the host tier; an empty lock: its pages have left. Returns false if there is
/// nothing to put.
bool StorageTier::put(const Run& run, const Lock& lock) {
  auto put = std::make_unique<Put>();
  keys_.follow(space_key(run.space), run.words);
  const std::size_t end = seal(run, *put);
  if (end == run.first) return false;
  put->job = ++jobs_;
  put->space = run.space;
  put->lock = lock;
  put->late_us = now_us_ + config_.within;
  for (std::size_t g = 0; g < calls_.groups(); ++g) {
    put->bytes += put->pages[g].size() * host_.images(g).record_bytes();
    if (lock.length > 0) {
      for (const Page page : put->pages[g]) host_.images(g).set_stored(page, true);
      continue;
    }
    putting_[g] += put->pages[g].size();
    state_.moving[g] += put->pages[g].size();
    for (const Page page : put->pages[g]) {
      if (is_put_[g].size() <= page) is_put_[g].resize(page + 1);
      is_put_[g][page] = true;
    }
  }
  bytes_put_ += put->bytes;
  for (std::size_t g = 0; g < calls_.groups(); ++g) send(*put, g, run.first);
  host_.pages().digest().take(Digest::Step::put, run.first, end, put->bytes);
  puts_.push_back(std::move(put));
  return true;
}

/// Writes the headers of a run's records, up to the first page that has none. Returns the end of the run.
std::size_t StorageTier::seal(const Run& run, Put& put) {
  for (std::size_t page = run.first; page < run.end; ++page) {
    for (std::size_t g = 0; g < calls_.groups(); ++g)
      if (run.pages[g][page] == 0 || !host_.images(g).record(run.pages[g][page])) return page;
    for (std::size_t g = 0; g < calls_.groups(); ++g) {
      put.pages[g].push_back(run.pages[g][page]);
      if (puts_here_) seal_record(host_.images(g).record(run.pages[g][page]), facts_of(page, g, run.words));
    }
  }
  return run.end;
}

void StorageTier::send(Put& put, std::size_t group, std::size_t first) {
  const std::size_t batch = calls_.storage(group).traits().batch;
  for (std::size_t i = 0; i < put.pages[group].size(); i += batch) {
    const std::size_t end = std::min(i + batch, put.pages[group].size());
    key_scratch_.clear();
    sources_.clear();
    for (std::size_t page = i; page < end; ++page) {
      key_scratch_.push_back(keys_.key(first + page, group));
      sources_.push_back(host_.images(group).record(put.pages[group][page]));
    }
    breaker_.called();
    ++put.open;
    calls_.put(group, put.job, i, space_key(put.space), key_scratch_, sources_, lane_bytes(group, end - i),
               config_.within, now_us_);
  }
}

void StorageTier::Dropped::leaving(const Leaving& node) {
  tokens += node.facts.length;
  if (tier_.config_.write != PutPolicy::through) return;
  const std::size_t page = tier_.state_.page_size, first = node.facts.begin / page;
  for (std::size_t i = first; i < first + node.facts.length / page; ++i)
    if (tier_.is_stored(node.pages, i)) tokens -= page;
}

/// Frees the evicted pages that are not put.
void StorageTier::free_the_others(const GroupPages& evicted) {
  state_.counters.evicted_tokens += evicted[0].size() * state_.page_size;
  for (std::size_t g = 0; g < calls_.groups(); ++g) {
    scratch_.clear();
    for (const Page page : evicted[g])
      if (page >= is_put_[g].size() || !is_put_[g][page]) scratch_.push_back(page);
    host_.pages().free(g, scratch_, "an eviction for the storage");
  }
}

void StorageTier::put_ended(Put& put, const StorageCall& call, const CallEnd& end) {
  if (!put.late) account(end);
  put.lost |= end.how == CallEnd::How::lost;
  --put.open;
  const std::uint64_t kept = end.count;
  device_.tiers[Counter::written_bytes_storage] += kept * host_.images(call.group).record_bytes();
  if (call.group == 0) {
    device_.tiers[Counter::written_tokens_storage] += kept * state_.page_size;
    device_.tiers[Counter::unkept_tokens_storage] += (call.records - kept) * state_.page_size;
  }
  put.refused |= kept < call.records;
  if (put.open > 0) return;
  bytes_put_ -= put.bytes;
  if (put.lock.length > 0) {
    if (put.lost) return;
    for (std::size_t g = 0; put.refused && g < calls_.groups(); ++g)  // put again when more of the path arrives
      for (const Page page : put.pages[g]) host_.images(g).set_stored(page, false);
    host_.pages().release(put.lock, nullptr);
    if (put.unwanted) host_.pages().flush(put.space);  // the part that the lock has kept from the flush
    return host_.pages().end_operation(Operation::release);
  }
  for (std::size_t g = 0; g < calls_.groups(); ++g) putting_[g] -= put.pages[g].size();
  if (put.lost) return;  // the storage may still read them
  for (std::size_t g = 0; g < calls_.groups(); ++g) {
    state_.moving[g] -= put.pages[g].size();
    host_.pages().free(g, put.pages[g], "a put");
  }
  host_.pages().end_operation(Operation::release);
}

}  // namespace canopy
