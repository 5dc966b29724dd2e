/// The finds of a read, before it takes pages of the host tier.
#include <algorithm>
#include <new>
#include <utility>

#include "storage_reader.h"

namespace canopy {

/// Returns true if a read that is not done brings what a read of `key` from page `first` on would bring.
bool StorageReader::joins(const StorageRead& read, const Key& key, std::size_t first) const {
  if (read.done() || read.unwanted || read.first != first || read.space != key.space) return false;
  if (!serves(read, key)) return false;
  // Only the first page of a whole path is compared: the read serves this key up to the first difference.
  const std::size_t words = link_.depth(link_.whole_paths_only() ? first + 1 : read.end) + state_.overlap;
  return key.words.size() >= words &&
         std::equal(key.words.begin(), key.words.begin() + static_cast<std::ptrdiff_t>(words), read.words.begin());
}

std::shared_ptr<StorageRead> StorageReader::begin(const Key& key, const Lock& there, Units wanted,
                                                  std::int32_t priority) {
  const auto count = [&](BringOutcome outcome) { ++device_.tiers.at(Counter::fetches_storage, outcome); };
  // Compute keys only for the pages that are looked up.
  const std::size_t first = wanted / state_.page_size, pages = state_.whole_pages(key.words.size()) / state_.page_size;
  if (first >= pages) return nullptr;
  for (const auto& read : reads_)
    if (joins(*read, key, first)) return count(BringOutcome::joined), read;
  if (!link_.breaker.may_call(link_.now_us)) return count(BringOutcome::refused), nullptr;
  StorageRead wanted_read;
  wanted_read.space = key.space;
  wanted_read.priority = priority;
  wanted_read.first = wanted_read.whole = first;
  for (std::size_t g = 0; g < link_.groups() && !link_.whole_paths_only(); ++g)
    if (link_.is_whole_path(g))
      wanted_read.whole = std::clamp<std::size_t>(there.full_length / state_.page_size, first, pages);
  wanted_read.end = pages;
  if (!worth(wanted_read)) return count(BringOutcome::not_worth), nullptr;
  const auto read = std::make_shared<StorageRead>(std::move(wanted_read));
  read->words.assign(key.words.begin(), key.words.end());
  reads_.push_back(read);
  read->job = ++link_.jobs;
  read->lock = host_.lock_on(key, there.length);
  if (read->lock.length < there.length) return reads_.pop_back(), count(BringOutcome::no_room), nullptr;
  ask(*read);
  return read->instead ? read->instead : read;
}

/// Finds how much of the path the storage has in the groups of whole paths.
void StorageReader::ask(StorageRead& read) noexcept try {
  const PageKey& space = link_.space_key(read.space);
  link_.keys.follow(space, read.words);
  read.late_us = link_.now_us + link_.config.find_limit_us;
  for (std::size_t g = 0; g < link_.groups(); ++g) {
    if (!link_.is_whole_path(g) || read.whole == read.end) continue;
    keys_.clear();
    for (std::size_t page = read.whole; page < read.end; ++page) keys_.push_back(link_.keys.key(page, g));
    const std::uint64_t ends_us = link_.calls.find(g, read.job, space, keys_, link_.config.find_limit_us, link_.now_us);
    link_.breaker.called();
    ++read.open;
    read.ends_us = std::max(read.ends_us, ends_us);
  }
  if (read.open == 0) go_on(read);
} catch (const std::bad_alloc&) {
  ++device_.lacked;
  give_up(read);
}

/// Finds the pages that the storage has of the next group that keeps a part of each path. Returns false if all groups
/// have answers, or there is nothing to find. One group follows the other, so that the last answer of each rank is
/// about a boundary of all groups. A find is repeated while ranks have different boundaries.
bool StorageReader::choose(StorageRead& read) {
  const bool begins = read.stage == StorageRead::Stage::asking;
  while (read.group < link_.groups() && link_.is_whole_path(read.group)) ++read.group;
  if (read.group == link_.groups() || read.unwanted) return false;
  if (begins && link_.is_whole_path(0) && read.end > read.whole)
    read.end = read.whole + shared_out(0, read.end - read.whole);
  read.stage = StorageRead::Stage::choosing;
  const PageKey& space = link_.space_key(read.space);
  link_.keys.follow(space, read.words);
  keys_.clear();
  for (std::size_t page = read.first; page < read.end; ++page)
    if (state_.pools[read.group].needs().keeps(page)) keys_.push_back(link_.keys.key(page, read.group));
  if (keys_.empty()) {
    read.end = read.first;
    return false;
  }
  read.found[read.group].reserve(read.end - read.first);  // for the answer
  read.late_us = link_.now_us + link_.config.find_limit_us;
  read.ends_us = link_.calls.find_each(read.group, read.job, space, keys_, link_.config.find_limit_us, link_.now_us);
  link_.breaker.called();
  ++read.open;
  return true;
}

/// Returns the result of a question of choose() on this rank: the deepest boundary that the groups with an answer
/// can serve.
CallEnd StorageReader::end_of_choice(StorageRead& read, const StorageCall& call) const {
  std::vector<bool>& found = read.found[call.group];
  found.assign(read.end - read.first, false);
  for (std::size_t page = read.first, next = 0; page < read.end; ++page)
    if (state_.pools[call.group].needs().keeps(page)) found[page - read.first] = call.fates[next++] == Fate::done;
  const bool any = std::ranges::find(call.fates, Fate::done) != call.fates.end();
  const auto bad =
      std::ranges::find_if(call.fates, [](Fate fate) { return fate != Fate::done && fate != Fate::absent; });
  CallEnd end{any || bad == call.fates.end() ? CallEnd::How::done : CallEnd::how_of(*bad)};
  const std::size_t until = needs_.boundary(read, [&](std::size_t group, std::size_t page) {
    return link_.is_whole_path(group) || group > call.group || read.found[group][page - read.first];
  });
  end.count = static_cast<std::uint32_t>(until - read.first);
  end.checked = ~end.count;  // the least of all ranks' complements is that of the deepest boundary
  return end;
}

/// Leaves a read whose boundary is known to one that is bringing this boundary. Returns false if there is none.
bool StorageReader::leave_to_another(StorageRead& read) {
  if (link_.whole_paths_only()) return false;  // it would have joined when it began
  for (const auto& other : reads_)
    if (other->stage == StorageRead::Stage::reading && other->end >= read.end &&
        joins(*other, {read.space, read.words}, read.first)) {
      read.instead = other;
      return true;
    }
  return false;
}

/// Takes over the answer of a find.
void StorageReader::answered(StorageRead& read, const CallEnd& end) {
  const bool found = end.how == CallEnd::How::done;
  if (found && !link_.calls.simulated())
    seen_answers_.add(1, link_.now_us - (read.late_us - link_.config.find_limit_us));
  const bool asking = read.stage == StorageRead::Stage::asking;
  read.end = found ? std::min<std::size_t>(read.end, (asking ? read.whole : read.first) + end.count) : read.first;
  if (!asking && end.checked == ~end.count) ++read.group;
  if (found || read.outcome != BringOutcome::whole) return;
  read.outcome = end.how == CallEnd::How::late ? BringOutcome::late : BringOutcome::failed;
}

}  // namespace canopy
