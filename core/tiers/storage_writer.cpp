// A put keeps the pages that its calls read until the last call has ended or is lost: under its lock, or as `moving`. A
// lost put without a lock keeps them for ever, since the storage may still read them.

#include "storage_writer.h"

#include <algorithm>
#include <new>
#include <utility>

#include <cache/tenants/tenants.h>

namespace canopy {

void StorageWriter::evict_early() noexcept {
  if (link_.config.write != PutPolicy::on_evict || link_.config.kept_free_percent == 0) return;
  for (std::size_t g = 0; g < link_.groups(); ++g) {
    const std::uint64_t pages = to_evict(g);
    if (pages == 0 || !take_memory()) continue;
    // If tenants have shares, a call evicts one node.
    for (std::size_t count = 0, more = 1; more > 0 && count < pages; count += more) {
      const GroupPages evicted = host_.pages().evict_from_index(g, pages - count, Cause::room, &departures_);
      for (std::size_t other = 0; other < link_.groups(); ++other) mark(other, evicted[other]);
      more = state_.tenants ? evicted[g].size() : 0;
    }
    // Parents were evicted after their children, and are put before them, so that what is in the storage can be found.
    for (std::size_t i = departures_.paths().size(); i-- > 0;) {
      const Departures::Departure& path = departures_.paths()[i];
      if (host_.has_old_pages(path.space)) continue;  // a flush has waited for a reading of it
      put({path.space, path.words, departures_.pages(path), first_that_left(path),
           state_.whole_pages(path.words.size()) / state_.page_size},
          {});
    }
    device_.lacked += departures_.lacked();
    departures_.clear();
    drop_the_others();
    host_.pages().end_operation(Operation::evict);
  }
}

/// Takes the memory for marks of all pages that may leave. Returns false if the system has none.
bool StorageWriter::take_memory() try {
  for (std::size_t g = 0; g < link_.groups(); ++g) {
    const std::size_t numbers = std::size_t{state_.pools[g].segment_pages()} * state_.pools[g].segments().size();
    evicted_[g].clear();
    if (evicted_[g].capacity() < numbers) evicted_[g].reserve(numbers);
    left_[g].clear();
    left_[g].resize(numbers);
  }
  return true;
} catch (const std::bad_alloc&) {
  return ++device_.lacked, false;
}

/// Marks pages that have left the host tier's index.
void StorageWriter::mark(std::size_t group, std::span<const Page> pages) {
  for (const Page page : pages) {
    if (page >= left_[group].size() || evicted_[group].size() == evicted_[group].capacity()) {
      host_.pages().free(group, std::span(&page, 1), "an eviction for the storage");  // the pool says what is wrong
      continue;
    }
    left_[group][page] = true;
    evicted_[group].push_back(page);
  }
}

/// Returns the first page of a path that the present eviction has removed. A boundary's last node may take nodes above
/// it along, which are useless without it.
std::size_t StorageWriter::first_that_left(const Departures::Departure& path) const {
  const std::size_t begin = path.begin / state_.page_size;
  if (link_.whole_paths_only()) return begin;
  const Run run{.space = path.space, .words = {}, .pages = departures_.pages(path)};
  for (std::size_t page = 0; page < begin; ++page)
    for (std::size_t g = 0; g < link_.groups(); ++g)
      if (takes(run, g, page, {})) return page;
  return begin;
}

/// Returns the pages of a group to evict now, limited to those that may be put.
std::uint64_t StorageWriter::to_evict(std::size_t group) const {
  const Pool& pool = state_.pools[group];
  const std::uint64_t target = (pool.limit() * link_.config.kept_free_percent + 99) / 100;
  const std::uint64_t have = pool.free_pages() + pool.growable() + putting_[group];
  return have < target ? std::min(target - have, may_put(group)) : 0;
}

/// Returns the pages of a group that may be put now with the pages of the other groups beside them, given the breaker
/// and the pending calls.
std::uint64_t StorageWriter::may_put(std::size_t group) const {
  if (!link_.breaker.may_call(link_.now_us)) return 0;
  const auto every = [&](std::size_t g) { return std::uint64_t{state_.pools[g].needs().every}; };
  std::uint64_t page_bytes = 0;
  for (std::size_t g = 0; g < link_.groups(); ++g)
    page_bytes += (link_.record_bytes(g) * every(group) + every(g) - 1) / every(g);
  const std::uint64_t room = link_.config.in_flight_bytes - std::min(link_.config.in_flight_bytes, bytes_put_);
  // A page that exceeds the bound is put alone. A half-open breaker allows one page as a test.
  const std::uint64_t fits = puts_.empty() ? std::max<std::uint64_t>(room / page_bytes, 1) : room / page_bytes;
  return link_.breaker.state(link_.now_us) == Breaker::State::closed ? fits : 1;
}

void StorageWriter::inserted(const Key& key) noexcept try {
  if (link_.config.write != PutPolicy::through) return;
  const std::uint64_t most = may_put(0) * state_.pools[0].needs().every;
  if (most == 0) return;  // tried again when more of the path arrives
  // The pages of a record come from where its key leads, and from nowhere else.
  const Lock held = host_.begin_reading(key, static_cast<Units>(key.words.size()) - state_.overlap);
  Run run{key.space, key.words, state_.index->pages(held), 0, held.length / state_.page_size};
  const auto is_new = [&](bool whole_path) {
    return [&, whole_path](std::size_t page) {
      for (std::size_t g = 0; g < link_.groups(); ++g)
        if (link_.is_whole_path(g) == whole_path && !is_stored(run.pages, g, page)) return true;
      return false;
    };
  };
  if (run.pages[0].size() != run.end) {  // the index could not list them
    ++device_.lacked;
    return host_.end_reading(held, key.space);
  }
  while (run.whole < run.end && !is_new(true)(run.whole)) ++run.whole;
  run.first = run.whole;
  for (std::size_t page = 0; !link_.whole_paths_only() && page < run.first; ++page)
    if (is_new(false)(page)) run.first = page;
  run.end = std::min<std::size_t>(run.end, run.first + most);
  if (!put(run, held)) host_.end_reading(held, key.space);
} catch (const std::bad_alloc&) {  // begin_reading() has locked nothing: put when more of the path arrives
  ++device_.lacked;
}

/// Returns true if the storage has received the page, or there is none.
bool StorageWriter::is_stored(const GroupPages& pages, std::size_t group, std::size_t page) const {
  return pages[group][page] == 0 || host_.images(group).stored(pages[group][page]);
}

/// Returns true if a page of a run is to be put: one that the host tier has just evicted. Under a lock: of a whole path
/// all from the first on that the storage has not received, of a window or a state those that it has not received.
bool StorageWriter::takes(const Run& run, std::size_t group, std::size_t page, const Lock& lock) const {
  const Page number = run.pages[group][page];
  if (number == 0) return false;
  if (lock.length == 0) return number < left_[group].size() && left_[group][number];
  return link_.is_whole_path(group) ? page >= run.whole : !is_stored(run.pages, group, page);
}

/// Puts a run. `lock` keeps the path in the host tier; an empty lock: its pages have left. Returns false, and changes
/// nothing, if there is nothing to put, or no memory for it.
bool StorageWriter::put(const Run& run, const Lock& lock) noexcept {
  std::size_t end = run.first;
  try {
    puts_.push_back(std::make_unique<Put>());
    puts_.back()->lock = lock;
    link_.keys.follow(link_.space_key(run.space), run.words);
    end = seal(run, *puts_.back());
  } catch (const std::bad_alloc&) {
    ++device_.lacked;
    end = run.first;
  }
  if (end == run.first) {
    if (!puts_.empty() && puts_.back()->job == 0) puts_.pop_back();
    return false;
  }
  // From here on nothing throws: what cannot be sent is refused.
  Put& put = *puts_.back();
  put.job = ++link_.jobs;
  put.space = run.space;
  put.late_us = link_.now_us + link_.config.call_limit_us;
  for (std::size_t g = 0; g < link_.groups(); ++g) {
    put.bytes += put.pages[g].size() * link_.record_bytes(g);
    if (lock.length > 0) {
      for (const Page page : put.pages[g]) host_.images(g).set_stored(page, true);
      continue;
    }
    putting_[g] += put.pages[g].size();
    state_.moving[g] += put.pages[g].size();
    for (const Page page : put.pages[g]) left_[g][page] = false;
  }
  bytes_put_ += put.bytes;
  for (std::size_t g = 0; g < link_.groups(); ++g) send(put, g);
  host_.pages().digest().take(Digest::Step::put, run.first, end, put.bytes);
  if (put.open == 0 && finish(put)) puts_.pop_back();
  return true;
}

/// Returns how many of `pages` pages the budget of a run's tenant allows.
std::size_t StorageWriter::within_budget(const Run& run, std::size_t pages) {
  if (!device_.tenants || pages == 0) return pages;
  const std::uint64_t may_put = device_.tenants->may_put(run.space, link_.now_us) / state_.page_size;
  return static_cast<std::size_t>(std::min<std::uint64_t>(may_put, pages));
}

/// Writes the headers of a run's records, as far as the budget of its tenant goes, or to the first page that has no
/// memory, and charges the budget. Returns the end of the part that is put; the run's first page: none. If it throws,
/// nothing is charged.
std::size_t StorageWriter::seal(const Run& run, Put& put) {
  const auto is_put = [&](std::size_t page) {
    for (std::size_t g = 0; g < link_.groups(); ++g)
      if (takes(run, g, page, put.lock)) return true;
    return false;
  };
  const auto have_memory = [&](std::size_t page) {
    for (std::size_t g = 0; g < link_.groups(); ++g)
      if (takes(run, g, page, put.lock) && !host_.images(g).record(run.pages[g][page])) return false;
    return true;
  };
  for (auto& places : places_) places.clear();
  std::size_t wanted = 0, taken = 0, end = run.first;
  for (std::size_t page = run.first; page < run.end; ++page) wanted += is_put(page);
  const std::size_t most = within_budget(run, wanted);
  for (std::size_t page = run.first; taken < most && have_memory(page); ++page) {
    if (!is_put(page)) continue;
    for (std::size_t g = 0; g < link_.groups(); ++g) {
      if (!takes(run, g, page, put.lock)) continue;
      put.pages[g].push_back(run.pages[g][page]);
      places_[g].push_back(page);
      if (puts_here_) seal_record(host_.images(g).record(run.pages[g][page]), link_.facts_of(page, g, run.words));
    }
    end = page + 1;
    ++taken;
  }
  if (device_.tenants) device_.tenants->charge_puts(run.space, link_.depth(taken), link_.depth(wanted - most));
  return end;
}

/// Begins the calls of a put for a group. What there is no memory for is refused, as if the storage did not keep it.
void StorageWriter::send(Put& put, std::size_t group) noexcept {
  std::size_t sent = 0;
  try {
    while (sent < put.pages[group].size()) sent = send_some(put, group, sent);
  } catch (const std::bad_alloc&) {
    ++device_.lacked;
    put.refused = true;
    if (group == 0 && put.lock.length == 0)
      device_.tiers[Counter::dropped_tokens_storage] += (put.pages[0].size() - sent) * state_.page_size;
  }
}

/// Begins one call of a put, from page `first` on. Returns the page with which the next one begins.
std::size_t StorageWriter::send_some(Put& put, std::size_t group, std::size_t first) {
  const std::size_t end =
      std::min<std::size_t>(first + link_.calls.storage(group).traits().batch, put.pages[group].size());
  keys_.clear();
  sources_.clear();
  for (std::size_t page = first; page < end; ++page) {
    keys_.push_back(link_.keys.key(places_[group][page], group));
    sources_.push_back(host_.images(group).record(put.pages[group][page]));
  }
  link_.calls.put(group, put.job, first, link_.space_key(put.space), keys_, sources_,
                  link_.lane_bytes(group, end - first), link_.config.call_limit_us, link_.now_us);
  link_.breaker.called();
  ++put.open;
  return end;
}

void StorageWriter::Dropped::leaving(const Leaving& node) {
  tokens += node.facts.length;
  if (writer_.link_.config.write != PutPolicy::through) return;
  const std::size_t page = writer_.state_.page_size, first = node.facts.begin / page;
  for (std::size_t i = first; i < first + node.facts.length / page; ++i) {
    bool stored = true;
    for (std::size_t g = 0; g < writer_.link_.groups(); ++g) stored &= writer_.is_stored(node.pages, g, i);
    tokens -= stored ? page : 0;
  }
}

/// Frees the evicted pages that are not put, and counts them as dropped.
void StorageWriter::drop_the_others() {
  state_.counters.evicted_tokens += evicted_[0].size() * state_.page_size;
  for (std::size_t g = 0; g < link_.groups(); ++g) {
    std::erase_if(evicted_[g], [&](Page page) { return !left_[g][page]; });
    host_.pages().free(g, evicted_[g], "an eviction for the storage");
  }
  device_.tiers[Counter::dropped_tokens_storage] += evicted_[0].size() * state_.page_size;
}

/// Processes the end of a call. Returns true if the put is over.
bool StorageWriter::ended(Put& put, const StorageCall& call, const CallEnd& end) {
  if (!put.late) link_.account(end);
  put.lost |= end.how == CallEnd::How::lost;
  --put.open;
  const std::uint64_t kept = end.count;
  device_.tiers[Counter::written_bytes_storage] += kept * link_.record_bytes(call.group);
  if (call.group == 0) {
    device_.tiers[Counter::written_tokens_storage] += kept * state_.page_size;
    device_.tiers[Counter::unkept_tokens_storage] += (call.records - kept) * state_.page_size;
  }
  put.refused |= kept < call.records;
  if (put.open > 0 || !finish(put)) return false;
  host_.pages().end_operation(Operation::release);
  return true;
}

/// Releases what a put without pending calls holds. Returns false if the storage may still read its pages. The caller
/// ends the operation: an eviction that puts has other pages, of which it has not disposed.
bool StorageWriter::finish(Put& put) {
  bytes_put_ -= put.bytes;
  if (put.lock.length > 0) {
    // The storage of a lost put may still read the pages. Once they have other contents, the record's sum is not
    // theirs.
    put.lost = false;
    for (std::size_t g = 0; put.refused && g < link_.groups(); ++g)  // put again when more of the path arrives
      for (const Page page : put.pages[g]) host_.images(g).set_stored(page, false);
    host_.end_reading(put.lock, put.space);
    return true;
  }
  for (std::size_t g = 0; g < link_.groups(); ++g) putting_[g] -= put.pages[g].size();
  if (put.lost) return false;
  for (std::size_t g = 0; g < link_.groups(); ++g) {
    state_.moving[g] -= put.pages[g].size();
    host_.pages().free(g, put.pages[g], "a put");
  }
  return true;
}

void StorageWriter::ended(const StorageCall& call, const CallEnd& end) {
  const auto at = std::ranges::find(puts_, call.job, [](const auto& put) { return put->job; });
  if (ended(**at, call, end)) puts_.erase(at);
}

void StorageWriter::abandon_late() {
  for (const auto& put : puts_)
    if (!put->late && link_.now_us >= put->late_us) {
      link_.account_late(put->open);
      put->late = true;
    }
}

void StorageWriter::evicted() { device_.tiers[Counter::dropped_tokens_storage] += std::exchange(dropped_.tokens, 0); }

}  // namespace canopy
