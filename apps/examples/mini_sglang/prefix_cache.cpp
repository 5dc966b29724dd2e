#include "prefix_cache.h"

#include <fmt/format.h>

#include <set>

#include "components.h"

namespace canopy::examples {
namespace {

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw CacheError(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace

PrefixCache::PrefixCache(const Registry& registry, std::string_view index, Units page_size)
    : page_size_(page_size), policy_(make<EvictionStrategy>(registry, "lru", {})) {
  const std::array groups{Group{"full", kWholePath, kUnlimited, policy_.get()}};
  index_ = make<PrefixIndex>(registry, index, {page_size, 0, groups});
}

Handle PrefixCache::match_prefix(std::span<const Token> ids) const {
  return Handle(ids.first(index_->peek({NamespaceId::shared, ids}).length));
}

void PrefixCache::lock_handle(Handle& handle, bool unlock) {
  if (unlock) {
    if (!handle.is_locked()) fail("cannot unlock a handle of {} tokens: it is not locked", handle.cached_len());
    index_->release(*handle.lock_);
    handle.lock_.reset();
    return;
  }
  if (handle.is_locked()) fail("cannot lock a handle of {} tokens: it is already locked", handle.cached_len());
  RequestFacts facts;
  facts.prompt = handle.cached_len();
  const Lock lock = index_->match({NamespaceId::shared, handle.ids_}, facts);
  if (lock.length != handle.cached_len()) {
    index_->release(lock);
    fail("cannot lock a handle of {} tokens: only {} of them are still cached", handle.cached_len(), lock.length);
  }
  handle.lock_ = lock;
}

std::vector<Slot> PrefixCache::matched_slots(const Handle& handle) {
  if (!handle.is_locked())
    fail("cannot return the slots of {} tokens: their prefix is not locked", handle.cached_len());
  return slots_of(index_->pages(*handle.lock_)[0]);
}

InsertResult PrefixCache::insert_prefix(std::span<const Token> ids, std::span<const Slot> slots) {
  if (slots.size() < ids.size()) fail("cannot insert {} tokens with {} slots", ids.size(), slots.size());
  ids = whole_pages(ids);
  const std::vector<Page> pages = pages_of(slots.first(ids.size()));
  const Inserted inserted = index_->insert({}, {NamespaceId::shared, ids}, {pages}, {});
  index_->release(inserted.lock);
  return {inserted.had, Handle(ids.first(inserted.lock.length))};
}

std::vector<Slot> PrefixCache::evict(std::uint64_t size) {
  const std::uint64_t evictable = size_info().evictable;
  if (size > evictable) fail("cannot evict {} tokens: only {} are not locked", size, evictable);
  if (size == 0) return {};
  return slots_of(index_->evict(0, (size + page_size_ - 1) / page_size_)[0]);
}

std::vector<Slot> PrefixCache::reset() {
  if (const std::uint64_t locked = size_info().protected_) fail("cannot reset a cache with {} locked tokens", locked);
  return slots_of(index_->clear()[0]);
}

SizeInfo PrefixCache::size_info() const {
  const Sizes sizes = index_->sizes(0);
  return {sizes.evictable, sizes.protected_};
}

void PrefixCache::check_integrity() const {
  struct Walk final : NodeVisitor {
    std::set<Page> pages;
    SizeInfo sizes;
    void node(const NodeView& node) override {
      (node.locks[0] == 0 ? sizes.evictable : sizes.protected_) += node.facts.length;
      for (const Page page : node.pages[0])
        if (!pages.insert(page).second) fail("page {} is in the cache twice", page);
    }
  } walk;
  index_->visit(walk);
  const SizeInfo reported = size_info();
  if (walk.sizes.evictable != reported.evictable || walk.sizes.protected_ != reported.protected_)
    fail("the cache reports {} evictable and {} protected tokens, but its nodes hold {} and {}", reported.evictable,
         reported.protected_, walk.sizes.evictable, walk.sizes.protected_);
}

std::vector<Slot> PrefixCache::slots_of(std::span<const Page> pages) const {
  std::vector<Slot> slots;
  slots.reserve(pages.size() * page_size_);
  for (const Page page : pages)
    for (Units token = 0; token < page_size_; ++token) slots.push_back(page * page_size_ + token);
  return slots;
}

std::vector<Page> PrefixCache::pages_of(std::span<const Slot> slots) const {
  if (slots.size() % page_size_ != 0) fail("{} slots are not whole pages of {}", slots.size(), page_size_);
  std::vector<Page> pages;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (i % page_size_ == 0) pages.push_back(slots[i] / page_size_);
    const Slot expected = pages.back() * page_size_ + static_cast<Slot>(i % page_size_);
    if (slots[i] != expected) fail("found slot {}, expected slot {} in a page of {}", slots[i], expected, page_size_);
  }
  return pages;
}

}  // namespace canopy::examples
