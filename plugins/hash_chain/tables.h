#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <vector>

namespace canopy::hash_chain {

/// The block table of each lock, as vLLM has one for each request. Two requests with the same prefix may hold different
/// blocks, so the last prefix does not identify a lock: a LockId is the number of a table and its life.
class Tables {
 public:
  /// Opens a table without blocks and with room for `blocks`. Throws std::bad_alloc, and nothing has changed.
  std::uint32_t open(std::size_t blocks) {
    if (tables_.empty()) tables_.emplace_back();  // number 0 is no table
    if (idle_.empty()) {
      if (idle_.capacity() <= tables_.size()) idle_.reserve(2 * tables_.size());
      tables_.emplace_back();
      idle_.push_back(static_cast<std::uint32_t>(tables_.size() - 1));
    }
    const std::uint32_t number = idle_.back();
    tables_[number].pages.reserve(blocks);
    idle_.pop_back();
    ++tables_[number].life;
    tables_[number].open = true;
    return number;
  }
  void close(std::uint32_t number) {
    tables_[number].open = false;
    tables_[number].pages.clear();
    idle_.push_back(number);  // there is room: the number came from there
  }
  void close_all() {
    for (std::uint32_t number = 1; number < tables_.size(); ++number)
      if (tables_[number].open) close(number);
  }
  std::vector<Page>& pages(std::uint32_t number) { return tables_[number].pages; }
  /// Returns the id of the lock that covers the table from now on; the one before it is stale.
  LockId renew(std::uint32_t number) { return ++tables_[number].life, id(number); }
  LockId id(std::uint32_t number) const { return LockId{std::uint64_t{tables_[number].life} << 32 | number}; }
  /// Returns the table of a lock; 0 if the lock was released or replaced.
  std::uint32_t find(LockId id) const {
    const auto number = static_cast<std::uint32_t>(id);
    return number != 0 && number < tables_.size() && tables_[number].open && this->id(number) == id ? number : 0;
  }
  std::size_t bytes() const {
    std::size_t bytes = tables_.capacity() * sizeof(Table);
    for (const Table& table : tables_) bytes += table.pages.capacity() * sizeof(Page);
    return bytes;
  }

 private:
  struct Table {
    std::vector<Page> pages;
    std::uint32_t life = 0;
    bool open = false;
  };
  std::vector<Table> tables_;
  std::vector<std::uint32_t> idle_;
};

}  // namespace canopy::hash_chain
