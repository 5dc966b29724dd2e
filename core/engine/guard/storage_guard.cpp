#include "guard/storage_guard.h"

#include <fmt/format.h>

#include <algorithm>

namespace canopy {

StorageTraits StorageGuard::traits() const {
  StorageTraits traits = ask("traits", [&] { return storage_->traits(); });
  traits.batch = std::max(traits.batch, 1U);
  traits.calls = std::max(traits.calls, 1U);
  return traits;
}

void StorageGuard::find(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                        std::uint64_t within_us) {
  Open& open = open_[ticket] = {keys.size(), true};
  open.threw = !ask("find", [&] { return storage_->find(ticket, space, keys, within_us), true; });
  threw_ += open.threw;
}

void StorageGuard::get(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                       std::span<std::byte* const> records, std::uint64_t within_us) {
  Open& open = open_[ticket] = {keys.size()};
  open.threw = !ask("get", [&] { return storage_->get(ticket, space, keys, records, within_us), true; });
  threw_ += open.threw;
}

void StorageGuard::put(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                       std::span<const std::byte* const> records, std::uint64_t within_us, std::uint32_t keep_s) {
  Open& open = open_[ticket] = {keys.size()};
  open.threw = !ask("put", [&] { return storage_->put(ticket, space, keys, records, within_us, keep_s), true; });
  threw_ += open.threw;
}

/// A call that the storage did not take, or ended in a way that says nothing.
StorageDone StorageGuard::as_failed(std::uint64_t ticket, const Open& open) {
  if (open.finds) return {ticket, Fate::failed, 0, {}};
  return {ticket, Fate::failed, 0, std::span(fates_).first(open.records)};
}

bool StorageGuard::fits(const StorageDone& done, const Open& open) const {
  const auto known = [](Fate fate) { return fate <= Fate::failed; };
  if (!known(done.fate)) return false;
  if (open.finds) return done.found <= open.records;
  return done.fates.size() == open.records && std::ranges::all_of(done.fates, known);
}

std::size_t StorageGuard::poll(std::span<StorageDone> done) {
  std::size_t most = 0;  // now, since a span into it would not survive its growth
  for (const auto& [ticket, open] : open_) most = std::max(most, open.records);
  fates_.assign(most, Fate::failed);
  std::size_t count = 0;
  for (auto at = open_.begin(); threw_ > 0 && count < done.size() && at != open_.end();) {
    if (!at->second.threw) {
      ++at;
      continue;
    }
    done[count++] = as_failed(at->first, at->second);
    at = open_.erase(at);
    --threw_;
  }
  const std::span<StorageDone> room = done.subspan(count);
  if (room.empty()) return count;
  std::size_t told = ask("poll", [&] { return storage_->poll(room); });
  if (told > room.size()) {
    wrong("poll", fmt::format("it told {} calls into {} places", told, room.size()));
    told = 0;
  }
  for (const StorageDone& one : room.first(told)) {
    const auto open = open_.find(one.ticket);
    if (open == open_.end() || open->second.threw) {
      wrong("poll", fmt::format("call {} ended, which was not on its way", one.ticket));
      continue;
    }
    if (!fits(one, open->second))
      wrong("poll", fmt::format("the end of call {} does not fit its {} records", one.ticket, open->second.records));
    done[count++] = fits(one, open->second) ? one : as_failed(one.ticket, open->second);
    open_.erase(open);
  }
  return count;
}

}  // namespace canopy
