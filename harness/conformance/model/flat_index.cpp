#include "flat_index.h"

#include "mismatch.h"

#include <algorithm>

namespace canopy::test {

std::size_t FlatIndex::matched(ChainView chain) const {
  std::size_t n = 0;
  while (n < chain.size() && entries_.contains(chain[n])) ++n;
  return n;
}

std::vector<Page> FlatIndex::pages(ChainView chain) const {
  std::vector<Page> pages;
  for (const PrefixName name : chain) pages.push_back(entries_.at(name).page);
  return pages;
}

std::size_t FlatIndex::unlocked(ChainView chain) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(chain, [&](PrefixName name) { return entries_.at(name).locks == 0; }));
}

FlatIndex::Added FlatIndex::insert(NamespaceId space, ChainView chain, std::size_t below, std::span<const Page> pages) {
  Added added{matched(chain), {}};
  if (added.had < below) disagree("the model has lost {} pages under a lock", below - added.had);
  for (std::size_t i = below; i < chain.size(); ++i) {
    const Page page = pages[i - below];
    if (i < added.had) {
      added.spare.push_back(page);
      continue;
    }
    count(entries_[chain[i]] = {page, 0, space}, true);
  }
  return added;
}

void FlatIndex::lock(ChainView chain) {
  for (const PrefixName name : chain) {
    Entry& entry = entries_.at(name);
    count(entry, false);
    ++entry.locks;
    count(entry, true);
  }
}

void FlatIndex::unlock(ChainView chain) {
  for (const PrefixName name : chain) {
    Entry& entry = entries_.at(name);
    if (entry.locks == 0) disagree("the model would release a page that no lock covers");
    count(entry, false);
    --entry.locks;
    count(entry, true);
  }
}

void FlatIndex::rename(PrefixName name, Page to) { entries_.at(name).page = to; }

void FlatIndex::forget(PrefixName name) {
  const auto found = entries_.find(name);
  count(found->second, false);
  entries_.erase(found);
}

const FlatIndex::Entry* FlatIndex::find(PrefixName name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

std::vector<PrefixName> FlatIndex::all_unlocked(std::optional<NamespaceId> space) const {
  std::vector<std::pair<Page, PrefixName>> found;
  for (const auto& [name, entry] : entries_)
    if (entry.locks == 0 && (!space || entry.space == *space)) found.emplace_back(entry.page, name);
  // By page number: the order of a hash map is none that a seed determines.
  std::ranges::sort(found);
  std::vector<PrefixName> names;
  for (const auto& [page, name] : found) names.push_back(name);
  return names;
}

std::vector<PrefixName> FlatIndex::all() const {
  std::vector<PrefixName> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

Sizes FlatIndex::sizes(NamespaceId space) const {
  const auto i = static_cast<std::size_t>(space);
  return i < by_space_.size() ? by_space_[i] : Sizes{};
}

Sizes& FlatIndex::sizes_of(NamespaceId space) {
  const auto i = static_cast<std::size_t>(space);
  if (i >= by_space_.size()) by_space_.resize(i + 1);
  return by_space_[i];
}

void FlatIndex::count(const Entry& entry, bool add) {
  for (Sizes* sizes : {&total_, &sizes_of(entry.space)}) {
    std::uint64_t& side = entry.locks == 0 ? sizes->evictable : sizes->protected_;
    add ? ++side : --side;
  }
}

}  // namespace canopy::test
