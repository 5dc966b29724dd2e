#pragma once

#include <canopy/prefix_index.h>

#include <utility>

#include "incoming_pages.h"
#include "node_table.h"
#include "run_store.h"

namespace canopy::radix {

/// The head of a run's block, in front of its words. The windows of one run always form one ancestor chain, and nodes
/// are removed from its end, so a run only shrinks.
struct Run {
  Units depth;            ///< depth of its first word
  std::uint32_t windows;  ///< number of nodes on it
  RunStore::Block pages;  ///< [page][group], beginning with the page at `depth`
  std::uint32_t reserved;
};

/// The words and page numbers of all nodes. One insert adds one run; a node is a window on a run.
class Runs {
 public:
  /// `keep_free`, `prefault`: as in RadixIndex::Config.
  Runs(const PrefixIndex::Context& context, std::uint64_t keep_free, bool prefault);

  Units overlap() const { return overlap_; }
  /// Returns the units of a key with `words` words, cut down to whole pages.
  Units whole_units(std::size_t words) const {
    const std::size_t units = words > overlap_ ? words - overlap_ : 0;
    return static_cast<Units>(units / page_size_ * page_size_);
  }
  /// Returns the fingerprint under which NodeTable files a child of `parent` whose words begin at `first`.
  std::uint32_t fingerprint(Slot parent, const std::uint32_t* first) const {
    return NodeTable::fingerprint(parent, first, std::size_t{page_size_} + overlap_);
  }
  /// Returns the node's words: `length` of them, followed by the overlap.
  const std::uint32_t* words(const Node& node) const {
    const std::uint32_t* block = store_.at(node.run);
    return block + kHeadWords + (node.begin - reinterpret_cast<const Run*>(block)->depth);
  }
  /// Prefetches the memory that `words` reads. REQUIRES: the node has a run.
  void prefetch_head(const Node& node) const { prefetch(store_.at(node.run)); }
  /// Returns the node's page numbers: [page][group].
  const Page* pages(const Node& node) const {
    const auto& run = *reinterpret_cast<const Run*>(store_.at(node.run));
    return store_.at(run.pages) + std::size_t{(node.begin - run.depth) / page_size_} * groups_;
  }
  Page* pages(const Node& node) { return const_cast<Page*>(std::as_const(*this).pages(node)); }

  /// Returns a new run with the key's words of [depth, limit) and the pages for them, without windows; 0 if the system
  /// has no memory.
  RunStore::Block add(const Key& key, Units depth, Units limit, const IncomingPages& incoming);
  void add_window(RunStore::Block run) { ++head(run).windows; }
  /// Frees the part of the run that only this node needed. REQUIRES: it is the deepest window of its run.
  void remove_window(const Node& node);
  void clear();
  std::size_t resident() const { return store_.resident(); }

 private:
  static constexpr std::uint32_t kHeadWords = sizeof(Run) / sizeof(std::uint32_t);
  Run& head(RunStore::Block run) { return *reinterpret_cast<Run*>(store_.at(run)); }

  Units page_size_, overlap_;
  std::size_t groups_;
  std::uint64_t keep_free_, full_pool_;  ///< full_pool_: words of a full pool; 0: no memory is taken ahead
  RunStore store_;
};

}  // namespace canopy::radix
