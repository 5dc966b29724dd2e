#pragma once

#include "chain.h"

#include <canopy/prefix_index.h>

#include <optional>
#include <unordered_map>
#include <vector>

namespace canopy::test {

/// What a prefix index must know, as the plainest thing that can know it: a map from (namespace, whole pages
/// so far) to a page number, and how many locks cover that page. No nodes, so it shares no fault with a tree.
/// One model is one KV cache group whose reach is the whole path. Everything is counted in pages.
class FlatIndex {
 public:
  struct Entry {
    Page page = 0;
    std::uint32_t locks = 0;
    NamespaceId space{};
  };
  struct Added {
    std::size_t had = 0;      ///< pages of the key that were there
    std::vector<Page> spare;  ///< those of the caller that are not needed
  };

  std::size_t matched(ChainView chain) const;
  std::vector<Page> pages(ChainView chain) const;
  /// Pages of the chain that a lock on all of it would newly protect.
  std::size_t unlocked(ChainView chain) const;

  /// `pages` stand for chain[below...]. REQUIRES: chain[0..below) is here.
  Added insert(NamespaceId space, ChainView chain, std::size_t below, std::span<const Page> pages);
  void lock(ChainView chain);
  void unlock(ChainView chain);
  void rename(PrefixName name, Page to);
  /// REQUIRES: it is here.
  void forget(PrefixName name);

  const Entry* find(PrefixName name) const;
  /// The names of all that no lock covers, in an order that depends on their history alone.
  std::vector<PrefixName> all_unlocked(std::optional<NamespaceId> space = {}) const;
  std::vector<PrefixName> all() const;

  Sizes sizes() const { return total_; }
  Sizes sizes(NamespaceId space) const;

 private:
  Sizes& sizes_of(NamespaceId space);
  void count(const Entry& entry, bool add);

  std::unordered_map<PrefixName, Entry> entries_;
  std::vector<Sizes> by_space_;
  Sizes total_;
};

}  // namespace canopy::test
