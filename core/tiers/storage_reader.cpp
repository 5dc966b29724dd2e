// A page that a read takes is `moving` until the read inserts or frees it, and neither happens while a call may still
// fill the page. Only valid records are inserted, up to a boundary of all groups. A read with a lost call keeps its
// pages for ever.

#include "storage_reader.h"

#include <algorithm>
#include <new>
#include <utility>

namespace canopy {
namespace {

/// Returns true if nothing that a read has found was lost so far.
bool is_good(BringOutcome outcome) { return outcome == BringOutcome::whole || outcome == BringOutcome::cut; }

}  // namespace

/// Returns true if reading a part of a path, and copying it up, is faster than computing it, or is to be tried anyway.
bool StorageReader::worth(StorageRead& read) {
  const Units depth = link_.depth(read.first), units = link_.depth(read.end - read.first);
  if (read.anyway || costs_.worth(get_us(read) + host_.load_us(units), depth, units)) return true;
  return read.anyway = !link_.calls.simulated() && seen_.try_anyway();
}

/// Returns the microseconds that the gets of a read would take if they began now.
std::uint64_t StorageReader::get_us(const StorageRead& read) const {
  std::uint64_t bytes = 0, calls = 0;
  for (std::size_t g = 0; g < link_.groups(); ++g) {
    const std::size_t batch = link_.calls.storage(g).traits().batch, pages = needs_.count(read, g);
    bytes += link_.calls.simulated() ? link_.lane_bytes(g, pages) : pages * link_.record_bytes(g);
    calls += (pages + batch - 1) / batch;
  }
  return link_.calls.simulated() ? link_.calls.get_us(bytes, calls, link_.now_us) : seen_.us(bytes);
}

std::optional<std::uint64_t> StorageReader::ends_us(const StorageRead& read) const {
  const std::uint64_t now_us = link_.now_us;
  if (link_.calls.simulated()) return std::max(read.ends_us, now_us);
  const bool reading = read.stage == StorageRead::Stage::reading;
  const std::uint64_t began_us = read.late_us - (reading ? link_.config.call_limit_us : link_.config.find_limit_us);
  const std::uint64_t usual_us = reading ? get_us(read) : seen_answers_.us(1);
  if (usual_us == 0) return {};
  // A call that takes longer than usual is expected to take as long again.
  const std::uint64_t so_far_us = now_us - began_us;
  return so_far_us > usual_us ? now_us + so_far_us : began_us + usual_us;
}

StorageRead& StorageReader::read_of(const StorageCall& call) {
  return **std::ranges::find(reads_, call.job, [](const auto& read) { return read->job; });
}

void StorageReader::ended(const StorageCall& call, const CallEnd& end) {
  StorageRead& read = read_of(call);
  if (!read.done()) link_.account(end);
  read.lost |= end.how == CallEnd::How::lost;
  --read.open;
  if (call.kind == StorageCall::Kind::find) answered(read, end);
  else got(read, call, end);
  if (read.open > 0) return;
  if (read.stage < StorageRead::Stage::reading) go_on(read);
  else if (call.kind == StorageCall::Kind::get) arrive(read);
}

/// Makes the next find, or gets the records after the last answer. A read that has no memory for it brings
/// nothing: it ends with its pending calls.
void StorageReader::go_on(StorageRead& read) noexcept try {
  if (!choose(read)) get(read);
} catch (const std::bad_alloc&) {
  ++device_.lacked;
  give_up(read);
}

void StorageReader::give_up(StorageRead& read) {
  read.unwanted = true;
  if (read.open == 0 && !read.done()) close(read, BringOutcome::no_room);
}

/// Continues after the answers: takes pages for what the storage has, and gets the records.
void StorageReader::get(StorageRead& read) {
  const std::size_t found = read.end - read.first;
  if (read.unwanted || found == 0)
    return close(read, read.outcome == BringOutcome::whole ? BringOutcome::nothing : read.outcome);
  if (link_.depth(found) < link_.config.least_tokens) return close(read, BringOutcome::too_short);
  if (!worth(read)) return close(read, BringOutcome::not_worth);
  if (leave_to_another(read)) return close(read, BringOutcome::joined);
  if (!has_whole(read)) return close(read, BringOutcome::gone);
  // Copy down the part of the path that only the pools have: in the host tier's index a page needs the pages before it.
  const Units from = link_.depth(read.first);
  if (read.lock.length < from)
    host_.copy_down({read.space, std::span(read.words).first(from + state_.overlap)}, read.priority);
  if (!take_pages(read) || !has_whole(read) || !ask_for_records(read)) {
    free_pages(read);
    return close(read, BringOutcome::no_room);
  }
  if (read.end - read.first < found) read.outcome = BringOutcome::cut;
}

/// Takes pages of the host tier for a read. Shortens it to what there is room for, unless a group keeps a part of each
/// path: then a nearer end may be no boundary. Returns false if there is no room. If it throws, it has taken none.
bool StorageReader::take_pages(StorageRead& read) {
  PageFlow& pages = host_.pages();
  const auto cut = [&](std::size_t group, std::size_t most) {
    if (most < needs_.count(read, group)) read.end = read.first + (link_.whole_paths_only() ? most : 0);
  };
  const std::size_t shared = link_.whole_paths_only() ? 1 : link_.groups();  // whole paths grow alike in all groups
  for (std::size_t g = 0; g < shared; ++g) cut(g, shared_out(g, needs_.count(read, g)));
  for (std::size_t g = 0; g < link_.groups(); ++g)
    if (!pages.make_free(g, needs_.count(read, g), read.space)) cut(g, state_.pools[g].free_pages());
  for (std::size_t g = 0; g < link_.groups(); ++g) {
    const std::size_t count = needs_.count(read, g);
    read.pages[g].reserve(count);
    read.valid[g].assign(count, false);
    if (rows_[g].capacity() < read.end - read.first) rows_[g].reserve(read.end - read.first);
  }
  for (std::size_t g = 0; g < link_.groups() && read.end > read.first; ++g) {
    const std::size_t count = needs_.count(read, g);
    read.at[g] = needs_.first(read, g);
    read.pages[g].resize(count);
    if (count > 0 && !state_.pools[g].allocate(read.pages[g], read.job)) {
      read.pages[g].clear();
      read.end = read.first;
      break;
    }
    state_.moving[g] += count;
  }
  if (read.end == read.first) free_pages(read);
  pages.end_operation(Operation::reserve);
  return read.end > read.first;
}

/// Returns how many of `count` pages of a group the tier's share for pending gets allows. A single read may exceed it.
std::size_t StorageReader::shared_out(std::size_t group, std::size_t count) const {
  std::uint64_t pending = 0;
  for (const auto& other : reads_) pending += other->pages[group].size();
  const std::uint64_t most = state_.pools[group].limit() * link_.config.gets_percent / 100;
  return pending == 0 ? count : std::min<std::uint64_t>(count, most - std::min(most, pending));
}

/// Starts the gets. Returns false, and has started none, if the system has no memory for a page or for a call. A later
/// call that has no memory is not made, and its records count as not there.
bool StorageReader::ask_for_records(StorageRead& read) noexcept try {
  for (std::size_t g = 0; g < link_.groups(); ++g)
    for (const Page page : read.pages[g])
      if (!host_.images(g).record(page)) return false;
  const PageKey& space = link_.space_key(read.space);
  link_.keys.follow(space, read.words);
  read.stage = StorageRead::Stage::reading;
  read.late_us = link_.now_us + link_.config.call_limit_us;
  for (std::size_t g = 0; g < link_.groups(); ++g) {
    const std::size_t batch = link_.calls.storage(g).traits().batch;
    for (std::size_t first = 0; first < read.pages[g].size(); first += batch) {
      const std::size_t end = std::min(first + batch, read.pages[g].size());
      keys_.clear();
      targets_.clear();
      for (std::size_t i = first; i < end; ++i) {
        keys_.push_back(link_.keys.key(read.at[g] + i, g));
        targets_.push_back(host_.images(g).record(read.pages[g][i]));
      }
      const std::uint64_t ends_us =
          link_.calls.get(g, read.job, first, space, keys_, targets_, link_.lane_bytes(g, end - first),
                          link_.config.call_limit_us, link_.now_us);
      link_.breaker.called();
      ++read.open;
      read.ends_us = std::max(read.ends_us, ends_us);
    }
  }
  return true;
} catch (const std::bad_alloc&) {
  return ++device_.lacked, read.open > 0;
}

/// A call that has no memory for its records' keys has failed, and leaves them where they are.
CallEnd StorageReader::end_of(const StorageCall& call) noexcept try {
  StorageRead& read = read_of(call);
  CallEnd end{CallEnd::how_of(call.fate)};
  if (read.done()) return end;
  if (call.kind == StorageCall::Kind::get) return end_of_get(read, call);
  if (read.stage == StorageRead::Stage::choosing) return end_of_choice(read, call);
  end.count = call.fate == Fate::done ? call.found : 0;
  return end;
} catch (const std::bad_alloc&) {
  ++device_.lacked;
  return {.how = CallEnd::How::failed, .valid = call.records};
}

CallEnd StorageReader::end_of_get(StorageRead& read, const StorageCall& call) {
  CallEnd end{CallEnd::how_of(call.fate)};
  link_.keys.follow(link_.space_key(read.space), read.words);
  keys_.clear();
  for (std::size_t i = 0; i < call.fates.size(); ++i) {
    if (call.fates[i] != Fate::done) continue;
    ++end.checked;
    if (!is_valid(read, call.group, call.first + i))
      keys_.push_back(link_.keys.key(read.at[call.group] + call.first + i, call.group));
    else if (end.count == i) ++end.count;
  }
  end.valid = static_cast<std::uint32_t>(call.fates.size() - keys_.size());
  if (!keys_.empty())
    link_.calls.storage(call.group).call("remove", &PageStorage::remove, link_.space_key(read.space), keys_);
  return end;
}

/// Takes over the result of a get.
void StorageReader::got(StorageRead& read, const StorageCall& call, const CallEnd& end) {
  using How = CallEnd::How;
  if (read.open == 0 && (end.how == How::done || end.how == How::late) && !link_.calls.simulated()) {
    std::uint64_t bytes = 0;
    for (std::size_t g = 0; g < link_.groups(); ++g) bytes += read.pages[g].size() * link_.record_bytes(g);
    seen_.add(bytes, link_.now_us - (read.late_us - link_.config.call_limit_us));
  }
  if (read.done()) return;
  const std::uint32_t damaged = end.how == How::lost ? 0 : call.records - end.valid;
  std::fill_n(read.valid[call.group].begin() + static_cast<std::ptrdiff_t>(call.first), end.count, true);
  if (end.count < call.records && is_good(read.outcome))
    read.outcome = damaged > 0              ? BringOutcome::damaged
                   : end.how == How::absent ? BringOutcome::gone
                   : end.how == How::late   ? BringOutcome::late
                                            : BringOutcome::failed;
  link_.breaker.checked(link_.now_us, end.checked, damaged);
  device_.tiers[Counter::damaged_records_storage] += damaged;
}

bool StorageReader::is_valid(const StorageRead& read, std::size_t group, std::size_t page) {
  const std::byte* const record = host_.images(group).record(read.pages[group][page]);
  return flaw_of_record(record, link_.facts_of(read.at[group] + page, group, read.words)) == nullptr;
}

/// Returns true if the host tier has the pages of whole paths that a read leaves out. No lock can hold them: no
/// boundary is there.
bool StorageReader::has_whole(const StorageRead& read) {
  const std::size_t whole = std::min(read.whole, read.end);
  if (whole == read.first) return true;
  return timed(state_, [&] { return state_.index->peek({read.space, read.words}); }).full_length >= link_.depth(whole);
}

/// Returns true if the host tier has the prefix before the records. The read's lock then covers it up to the read's
/// first page.
bool StorageReader::has_prefix(StorageRead& read) {
  const Units from = link_.depth(read.first);
  if (read.lock.length >= from) return true;
  const Lock deeper = host_.lock_on({read.space, read.words}, from);
  if (deeper.length < from) return false;
  host_.pages().release(std::exchange(read.lock, deeper), read.space, nullptr);
  return true;
}

/// Completes a read after all its gets: its valid records, up to the deepest boundary that they can serve, become the
/// index's, once the host tier has the prefix before them.
void StorageReader::arrive(StorageRead& read) {
  std::size_t count = 0;
  if (!read.done() && !read.unwanted && !read.lost)
    count = needs_.boundary(read, [&](std::size_t group, std::size_t page) {
      return page >= read.at[group] && read.valid[group][page - read.at[group]];
    }) - read.first;
  const bool has_lock = count == 0 || has_prefix(read);
  if (!has_lock) {
    const Units from = link_.depth(read.first);
    if (host_.on_its_way({read.space, std::span(read.words).first(from + state_.overlap)}) >= from) return;
  }
  if (count > 0 && (!has_lock || !has_whole(read))) {
    read.outcome = BringOutcome::gone;
    count = 0;
  }
  if (read.unwanted && is_good(read.outcome)) read.outcome = BringOutcome::gone;  // it was flushed, whatever arrived
  if (count > 0) insert(read, count);
  if (!read.lost) free_pages(read);
  host_.pages().end_operation(Operation::insert);
  if (!read.done()) close(read, read.outcome);
}

/// Returns the pages of `count` pages of a path from a read's first on, for an insert; 0 for those that it did not
/// read.
std::span<const Page> StorageReader::brought(const StorageRead& read, std::size_t group, std::size_t count) {
  const std::span<const Page> pages(read.pages[group]);
  if (read.at[group] == read.first) return pages.first(count);
  std::vector<Page>& row = rows_[group];
  row.assign(count, 0);
  const std::size_t skipped = read.at[group] - read.first;
  for (std::size_t i = skipped; i < count; ++i) row[i] = pages[i - skipped];
  return row;
}

void StorageReader::insert(StorageRead& read, std::size_t count) {
  const Units from = link_.depth(read.first), until = from + link_.depth(count);
  GroupPages rows;
  for (std::size_t g = 0; g < state_.pools.size(); ++g) rows[g] = brought(read, g, count);
  const Inserted inserted = timed(state_, [&] {
    return state_.index->insert(std::exchange(read.lock, Lock{}),
                                {read.space, std::span(read.words).first(until + state_.overlap)}, rows,
                                {read.priority});
  });
  const std::size_t end = std::max(inserted.lock.length, from) / state_.page_size;
  PageFlow& pages = host_.pages();
  pages.free(inserted.spare, "a record from the storage");
  pages.take_evicted(inserted.evicted, "a record from the storage");
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    const std::size_t kept = end - std::min(end, read.at[g]);
    state_.moving[g] -= kept;
    for (const Page page : std::span(read.pages[g]).first(kept)) host_.images(g).set_stored(page, true);
    read.pages[g].erase(read.pages[g].begin(), read.pages[g].begin() + static_cast<std::ptrdiff_t>(kept));
    device_.tiers[Counter::loaded_bytes_storage] += kept * link_.record_bytes(g);
  }
  pages.digest().take(Digest::Step::bring, from, inserted.had, inserted.lock.length);
  // Tokens whose whole-path pages the host tier had before are its own.
  read.from = link_.depth(std::min(read.whole, end));
  read.until = link_.depth(end);
  device_.tiers[Counter::loaded_tokens_storage] += read.until - read.from;
  if (feed_ && feed_->on() && read.until > read.from)
    feed_->push(event::NodeBrought{.from = read.from, .node = inserted.lock.node, .until = read.until});
  pages.release(inserted.lock, read.space, nullptr);
  pages.keep_ceiling(read.space);
}

/// Frees the pages that a read still holds.
void StorageReader::free_pages(StorageRead& read) {
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    state_.moving[g] -= read.pages[g].size();
    host_.pages().free(g, read.pages[g], "a record that did not arrive");
    read.pages[g].clear();
  }
}

/// Ends a read. Its fetches continue with what the host tier has.
void StorageReader::close(StorageRead& read, BringOutcome outcome) {
  read.stage = StorageRead::Stage::done;
  ++device_.tiers.at(Counter::fetches_storage, outcome);
  host_.pages().release(std::exchange(read.lock, Lock{}), read.space, nullptr);
  host_.pages().end_operation(Operation::release);
}

void StorageReader::arrive_late() {
  for (const auto& read : reads_)
    if (read->stage == StorageRead::Stage::reading && read->open == 0) arrive(*read);
  std::erase_if(reads_, [](const auto& read) { return read->done() && read->open == 0 && !read->lost; });
}

void StorageReader::abandon_late() {
  for (const auto& read : reads_)
    if (!read->done() && read->open > 0 && link_.now_us >= read->late_us) {
      link_.account_late(read->open);
      close(*read, BringOutcome::late);
    }
}

void StorageReader::stop() {
  for (const auto& read : reads_)
    if (!read->done()) {
      if (read->open == 0 && !read->lost) free_pages(*read);
      close(*read, BringOutcome::failed);
    }
}

void StorageReader::flushed(NamespaceId space) {
  for (const auto& read : reads_) {
    if (read->space != space) continue;
    read->unwanted = true;
    host_.pages().release(std::exchange(read->lock, Lock{}), space, nullptr);
  }
}

}  // namespace canopy
