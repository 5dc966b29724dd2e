#pragma once

#include <canopy/prefix_index.h>

#include <vector>

#include "blocks.h"
#include "prefixes.h"
#include "tables.h"

namespace canopy {
class Options;
}

namespace canopy::hash_chain {

/// The rule for a block that a request computed although the index has one for the same prefix.
enum class Duplicates : std::uint32_t {
  keep,   ///< both stay, as in vLLM: a request's table never changes
  share,  ///< the new one is spare, as in a radix tree
};

struct Config {
  Duplicates duplicates = Duplicates::keep;
  void visit(Options& options);
};

/// Returns true if a policy evicts the least recently used node first, whatever the other facts are.
bool is_least_recently_used(EvictionStrategy& policy);

/// vLLM's prefix cache as an index (BlockPool and KVCacheManager of 0.33): a hash table of blocks, each named by its
/// words and the block before it. There is no tree, and the rules are the pool's:
///
///  - A node is a block. A prefix has several blocks if requests computed it at the same time (Duplicates): a match
///    takes the oldest one, and its id stands for the prefix. The ids of the others have life 0 and cannot be held.
///  - A block waits in one queue when no lock holds it. A lock that ends puts its blocks there, the last one first, so
///    the end of a prefix is evicted before its beginning. The block freed first is evicted first.
///  - Only a match takes blocks out of the queue. `find` and `peek` do not change the order.
///
/// The index does not enforce that a request computes at least one token: see RequestSpec::min_uncached.
///
/// The order is fixed. Requests and evictions are passed to the policy, but rank() is never called. The policy must
/// evict the least recently used node first, so that no report names an order that is not in use. The index serves one
/// group, which needs the whole path. It has no tree for readers of a feed (IndexEvents::has_no_tree), and reports each
/// prefix when its first block is added and when its last one is removed.
class HashChain final : public PrefixIndex {
 public:
  using Config = hash_chain::Config;
  /// Throws std::invalid_argument with an error message for groups or a policy that it cannot serve.
  HashChain(const Config& config, const Context& context);

  Probe peek(const Key& key) const override;
  Lock match(const Key& key, const RequestFacts& request) override;
  Found find(const Key& key) override;
  Lock hold(NodeId node, const RequestFacts* arrives) override;
  GroupPages pages(const Lock& lock, Units from) override;
  GroupPages pages(NodeId node, Units from) override;
  Inserted insert(const Lock& lock, const Key& key, const GroupPages& pages, InsertFacts facts) override;
  void relax(Lock&, std::size_t, Units) override {}
  GroupPages release(const Lock& lock, const RequestFacts* ended) override;
  GroupPages evict(std::size_t group, std::size_t pages, Cause cause, LeavingVisitor* visitor) override;
  GroupPages flush(NamespaceId space) override;
  GroupPages clear() override;
  Sizes sizes(std::size_t) const override { return sizes_; }
  Sizes sizes(std::size_t group, NamespaceId space) const override;
  IndexUse use() const override;
  Tick now() const override { return now_; }
  void set_capacity(std::size_t, std::uint64_t units) override { capacity_ = units; }
  bool use_policy(std::size_t group, EvictionStrategy* policy) override;
  void waiting(std::size_t group, QueueVisitor& visitor) const override;
  void remap(std::size_t group, std::span<const Page> from, std::span<const Page> to) override;
  void visit(NodeVisitor& visitor) const override;

 private:
  class TablePath;

  std::size_t blocks_in(const Key& key) const;
  std::span<const std::uint32_t> words_of(const Key& key, std::size_t block) const {
    return key.words.subspan(block * page_size_, page_size_ + overlap_);
  }
  /// Calls each(page) for the oldest block of each prefix of the key, up to the first gap.
  template <class Each>
  void walk(const Key& key, Each&& each) const;
  NodeFacts facts(Page page) const;
  PolicyClock clock() const;

  /// REQUIRES: the table has a block.
  Lock lock_of(std::uint32_t table, LockId id);
  /// Returns a lock on `path_`; each block there gets a user.
  Lock lock_path(bool hit);
  void use(Page page);
  void unuse(Page page);
  /// Puts a page that is not in the index under a prefix.
  void add(Page page, std::uint32_t prefix);
  /// Takes a queued block out of the index and adds it to `given_back_`.
  void evict(Page page, Cause cause);
  void report_leaving(Page page, LeavingVisitor& visitor);
  void report_added(std::uint32_t prefix) const;
  void report_removed(std::uint32_t prefix) const;
  void report_cleared() const;
  /// Adds blocks to the evictable and the protected units of the prefix's namespace and of all; either may be negative.
  void count(std::uint32_t prefix, std::int64_t evictable, std::int64_t held);

  Units page_size_, overlap_;
  Duplicates duplicates_;
  EvictionStrategy* policy_;
  IndexEvents* events_;
  std::uint64_t capacity_;
  Tick now_ = 0;
  std::uint64_t allocated_ = 0;  ///< units inserted so far
  Blocks blocks_;
  Prefixes prefixes_;
  Tables tables_;
  Sizes sizes_;
  std::vector<Sizes> by_space_;
  std::uint64_t refused_ = 0, cut_short_ = 0;
  std::vector<Page> path_, given_back_;
  std::vector<std::uint32_t> leaving_words_;
};

}  // namespace canopy::hash_chain
