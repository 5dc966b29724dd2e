#pragma once

#include <canopy/types.h>

#include <array>
#include <span>

#include "hold_table.h"
#include "node_table.h"
#include "runs.h"

namespace canopy::radix {

/// Walks down the paths of several keys in turns, and prefetches for each what its next step reads: the cache misses of
/// different keys overlap, while those of one path come one after the other. It compares no words: a wrong node costs a
/// prefetch, and nothing else.
class KeyPrefetcher {
 public:
  static constexpr std::size_t kKeys = 16;  ///< keys at a time: about as many misses as a core can wait for

  KeyPrefetcher(const NodeTable& nodes, const HoldTable& holds, const Runs& runs, Units page_size)
      : nodes_(nodes), holds_(holds), runs_(runs), page_size_(page_size) {}
  /// Walks down at most kMostNodes nodes of each path. `root` returns the root of a namespace; 0: it has none.
  /// REQUIRES: at most kKeys keys.
  template <class Root>
  void walk(std::span<const Key> keys, Root&& root);

 private:
  static constexpr int kMostNodes = 64;
  static constexpr std::size_t kMostLines = 8;  ///< lines of a node's words; the processor prefetches what follows

  struct Path {
    const std::uint32_t* words = nullptr;
    Units limit = 0;        ///< units of the key
    Slot at = 0, next = 0;  ///< node whose line was prefetched, its only child; 0: none
    std::uint32_t fingerprint = 0;
    bool is_filed = false;  ///< true if the next node is looked up by its fingerprint
  };
  bool read_node(Path& path) const;
  void read_words(Path& path) const;

  const NodeTable& nodes_;
  const HoldTable& holds_;
  const Runs& runs_;
  Units page_size_;
  std::array<Path, kKeys> paths_{};
};

template <class Root>
void KeyPrefetcher::walk(std::span<const Key> keys, Root&& root) {
  std::size_t count = 0;
  for (const Key& key : keys) {
    const Slot at = root(key.space);
    if (at == 0) continue;
    paths_[count++] = {key.words.data(), runs_.whole_units(key.words.size()), at, 0, 0, false};
  }
  for (int node = 0; node < kMostNodes && count > 0; ++node) {
    for (std::size_t i = count; i-- > 0;)
      if (!read_node(paths_[i])) paths_[i] = paths_[--count];
    for (std::size_t i = 0; i < count; ++i) read_words(paths_[i]);
  }
}

/// Reads the node whose line was prefetched. Prefetches the head of its run, and the child or its place in the table.
/// Returns false at the end of the path.
inline bool KeyPrefetcher::read_node(Path& path) const {
  if (path.at == 0) return false;
  const Node& node = nodes_[path.at];
  if (node.run != 0) runs_.prefetch_head(node);
  const Units depth = node.end();
  path.next = 0;
  path.is_filed = false;
  if (path.limit < depth + page_size_ || node.children == 0) return node.run != 0;
  if (node.children == 1) {
    path.next = node.first_child;
    nodes_.prefetch(path.next);
    return true;
  }
  path.fingerprint = runs_.fingerprint(path.at, path.words + depth);
  path.is_filed = true;
  nodes_.prefetch_places(path.fingerprint);
  return true;
}

/// Prefetches the node's words and its holds, and goes on to the next node.
inline void KeyPrefetcher::read_words(Path& path) const {
  if (const Node& node = nodes_[path.at]; node.run != 0) {
    const auto* line = reinterpret_cast<const std::byte*>(runs_.words(node));
    const std::size_t bytes = std::size_t{node.length} * sizeof(std::uint32_t);
    for (std::size_t i = 0; i < kMostLines && i * 64 < bytes; ++i) prefetch(line + i * 64);
    prefetch(&holds_(path.at, 0));
  }
  if (path.is_filed)
    nodes_.candidates(path.fingerprint, [&](Slot slot) {
      nodes_.prefetch(path.next = slot);
      return true;
    });
  path.at = path.next;
}

}  // namespace canopy::radix
