#include "flat_index.h"

#include <program/mismatch.h>

#include <algorithm>

namespace canopy::test {

std::size_t FlatIndex::window(std::size_t group, std::size_t length) const {
  const std::size_t units = length * page_size_;
  return reaches_[group] >= units ? 0 : (units - reaches_[group]) / page_size_;
}

std::size_t FlatIndex::matched(ChainView chain) const {
  std::size_t longest = 0;
  PerGroup<std::size_t> in_a_row{};
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Entry* entry = find(chain[i]);
    if (!entry) break;
    bool serves = true;
    for (std::size_t g = 0; g < reaches_.size(); ++g) {
      in_a_row[g] = entry->pages[g] ? in_a_row[g] + 1 : 0;
      serves &= in_a_row[g] >= i + 1 - window(g, i + 1);
    }
    if (serves) longest = i + 1;
  }
  return longest;
}

std::size_t FlatIndex::full_length(ChainView chain) const {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Entry* entry = find(chain[i]);
    for (std::size_t g = 0; entry && g < reaches_.size(); ++g)
      if (whole_path(g) && entry->pages[g] == 0) entry = nullptr;
    if (!entry) return i;
  }
  return chain.size();
}

std::size_t FlatIndex::known(ChainView chain) const {
  std::size_t n = 0;
  while (n < chain.size() && entries_.contains(chain[n])) ++n;
  return n;
}

std::size_t FlatIndex::unlocked(ChainView chain, std::size_t group) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(chain.subspan(window(group, chain.size())),
                            [&](PrefixName name) { return entries_.at(name).locks[group] == 0; }));
}

std::vector<Page> FlatIndex::pages(const Hold& hold, std::size_t group) const {
  std::vector<Page> pages(hold.chain.size());
  for (std::size_t i = hold.from[group]; i < pages.size(); ++i) pages[i] = entries_.at(hold.chain[i]).pages[group];
  return pages;
}

FlatIndex::Added FlatIndex::insert(const Key& key, ChainView chain, std::size_t below,
                                   const PerGroup<std::vector<Page>>& brought) {
  Added added;
  added.had = known(chain);
  if (added.had < below) disagree("the model has lost {} pages under a lock", below - added.had);
  for (std::size_t i = below; i < chain.size(); ++i) {
    Entry& entry = entries_[chain[i]];
    if (i >= added.had) {
      entry.space = key.space;
      entry.word = key.words[i * page_size_];
      entry.before = i == 0 ? 0 : chain[i - 1];
      if (i > 0) ++entries_.at(entry.before).after;
    }
    for (std::size_t g = 0; g < reaches_.size(); ++g) {
      const Page page = brought[g][i - below];
      if (page == 0) continue;
      if (entry.pages[g] != 0) {
        added.spare[g].push_back(page);
        continue;
      }
      added.refilled += i < added.had;
      entry.pages[g] = page;
      names_[g].emplace(page, chain[i]);
      count(entry, g, true);
    }
  }
  if (!chain.empty()) prune(chain.back(), true);  // its lock comes next
  added.length = known(chain);
  return added;
}

FlatIndex::Hold FlatIndex::lock(Chain chain) {
  Hold hold{std::move(chain), {}};
  for (const PrefixName name : hold.chain) ++entries_.at(name).paths;
  for (std::size_t g = 0; g < reaches_.size(); ++g) {
    hold.from[g] = window(g, hold.chain.size());
    add_locks(ChainView(hold.chain).subspan(hold.from[g]), g, true);
  }
  return hold;
}

void FlatIndex::unlock(const Hold& hold) {
  for (std::size_t g = 0; g < reaches_.size(); ++g) add_locks(ChainView(hold.chain).subspan(hold.from[g]), g, false);
  for (const PrefixName name : hold.chain) --entries_.at(name).paths;
  if (!hold.chain.empty()) prune(hold.chain.back());
}

void FlatIndex::relax(Hold& hold, std::size_t group, std::size_t from) {
  const std::size_t length = hold.chain.size();
  if (whole_path(group) || length == 0) return;
  bool needs_another = false;
  for (std::size_t g = 0; g < reaches_.size(); ++g) needs_another |= g != group && hold.from[g] < length;
  from = std::min(from, needs_another ? length : length - 1);
  if (from <= hold.from[group]) return;
  add_locks(ChainView(hold.chain).subspan(hold.from[group], from - hold.from[group]), group, false);
  hold.from[group] = from;
}

std::size_t FlatIndex::keep(const Hold& hold) {
  std::size_t added = 0;
  for (const PrefixName name : hold.chain) added += ++entries_.at(name).kept == 1;
  return added;
}

std::size_t FlatIndex::unkeep(const Hold& hold) {
  std::size_t removed = 0;
  for (const PrefixName name : hold.chain) removed += --entries_.at(name).kept == 0;
  return removed;
}

void FlatIndex::relocate(PrefixName name, std::size_t group, Page to) {
  Page& page = entries_.at(name).pages[group];
  names_[group].erase(page);
  names_[group].emplace(to, name);
  page = to;
}

void FlatIndex::remove(std::size_t group, Page page) {
  if (unusable_[group].erase(page) > 0) {
    ++removed_unusable_;
    return;
  }
  const PrefixName name = name_of_page(group, page);
  Entry& entry = entries_.at(name);
  if (entry.locks[group] > 0) disagree("page {} left group {}, but {} locks need it", page, group, entry.locks[group]);
  take(entry, group);
  removed_.emplace_back(group, name);
  prune(name);
}

void FlatIndex::take(Entry& entry, std::size_t group) {
  count(entry, group, false);
  names_[group].erase(entry.pages[group]);
  entry.pages[group] = 0;
}

void FlatIndex::check_removed() {
  for (const auto& [group, name] : removed_) {
    const Entry* entry = find(name);
    if (!entry) continue;
    if (whole_path(group)) disagree("group {}, which needs whole paths, has a gap with something below it", group);
    for (std::size_t g = 0; g < reaches_.size(); ++g)
      if (reaches_[g] < reaches_[group] && entry->pages[g] != 0 && entry->locks[g] == 0)
        disagree("page {} of group {} stayed where group {}, which reaches further, has lost its own", entry->pages[g],
                 g, group);
  }
  removed_.clear();
  for (std::size_t g = 0; g < reaches_.size(); ++g)
    if (!unusable_[g].empty())
      disagree("page {} of group {} stayed, but no match can end there", *unusable_[g].begin(), g);
}

void FlatIndex::clear() {
  FlatIndex empty(page_size_, std::move(reaches_));
  empty.tenants_ = std::move(tenants_);
  *this = std::move(empty);
}

void FlatIndex::assign(NamespaceId space, TenantId tenant) {
  const auto i = static_cast<std::size_t>(space);
  if (i >= tenants_.size()) tenants_.resize(i + 1);
  tenants_[i] = tenant;
}

TenantId FlatIndex::tenant_of(NamespaceId space) const {
  const auto i = static_cast<std::size_t>(space);
  return i < tenants_.size() ? tenants_[i] : TenantId::unnamed;
}

const FlatIndex::Entry* FlatIndex::find(PrefixName name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

PrefixName FlatIndex::name_of_page(std::size_t group, Page page) const {
  const auto found = names_[group].find(page);
  if (found == names_[group].end()) disagree("page {} left group {}, where it was not", page, group);
  return found->second;
}

std::vector<PrefixName> FlatIndex::all_unlocked(std::size_t group, std::optional<NamespaceId> space) const {
  std::vector<std::pair<Page, PrefixName>> found;
  for (const auto& [page, name] : names_[group]) {
    const Entry& entry = entries_.at(name);
    if (entry.locks[group] == 0 && (!space || entry.space == *space)) found.emplace_back(page, name);
  }
  // By page number: a seed does not determine the order of a hash map.
  std::ranges::sort(found);
  std::vector<PrefixName> names;
  for (const auto& [page, name] : found) names.push_back(name);
  return names;
}

std::vector<Page> FlatIndex::all_pages(std::size_t group) const {
  std::vector<Page> pages;
  for (const auto& [page, name] : names_[group]) pages.push_back(page);
  return pages;
}

Sizes FlatIndex::sizes(std::size_t group, NamespaceId space) const {
  const auto i = static_cast<std::size_t>(space);
  return i < by_space_[group].size() ? by_space_[group][i] : Sizes{};
}

Sizes FlatIndex::sizes(std::size_t group, TenantId tenant) const {
  Sizes sum;
  for (std::uint32_t i = 0; i < by_space_[group].size(); ++i) {
    if (tenant_of(static_cast<NamespaceId>(i)) != tenant) continue;
    sum.evictable += by_space_[group][i].evictable;
    sum.protected_ += by_space_[group][i].protected_;
  }
  return sum;
}

void FlatIndex::count(const Entry& entry, std::size_t group, bool add) {
  const auto space = static_cast<std::size_t>(entry.space);
  if (space >= by_space_[group].size()) by_space_[group].resize(space + 1);
  for (Sizes* sizes : {&total_[group], &by_space_[group][space]}) {
    std::uint64_t& side = entry.locks[group] == 0 ? sizes->evictable : sizes->protected_;
    add ? ++side : --side;
  }
}

void FlatIndex::add_locks(ChainView chain, std::size_t group, bool add) {
  for (const PrefixName name : chain) {
    Entry& entry = entries_.at(name);
    if (!add && entry.locks[group] == 0) disagree("the model would release a page that no lock covers");
    if (entry.pages[group]) count(entry, group, false);
    add ? ++entry.locks[group] : --entry.locks[group];
    if (entry.pages[group]) count(entry, group, true);
  }
}

void FlatIndex::prune(PrefixName name, bool empty_only) {
  for (auto found = entries_.find(name); found != entries_.end(); found = entries_.find(name)) {
    Entry& entry = found->second;
    std::size_t there = 0;
    for (std::size_t g = 0; g < reaches_.size(); ++g) there += entry.pages[g] != 0;
    if (entry.paths > 0 || entry.after > 0 || there == reaches_.size() || (empty_only && there > 0)) return;
    for (std::size_t g = 0; g < reaches_.size(); ++g)
      if (entry.pages[g] != 0) unusable_[g].insert(entry.pages[g]), take(entry, g);
    name = entry.before;
    entries_.erase(found);
    if (name != 0) --entries_.at(name).after;
  }
}

}  // namespace canopy::test
