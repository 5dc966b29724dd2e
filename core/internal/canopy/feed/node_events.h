#pragma once
/// Events of a new node, both live and, without its digests, in keyframes. For authors of an index. It includes xxHash,
/// so include it in one source file only.

#include <canopy/feed/writer.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace canopy {

/// Returns the digest of a page of a node. `words`: those of the page and the overlap.
inline std::uint64_t page_digest(const FeedWriter& feed, const std::uint32_t* words) {
  const FeedShape& shape = feed.shape();
  return XXH3_64bits_withSeed(words, (std::size_t{shape.page_size} + shape.overlap) * sizeof(*words),
                              feed.digest_key());
}

/// Pushes the events of a new node: NodeAdded, NodeNamed, and NodeWords if the feed contains tokens. `words`: words of
/// the node, at least a page and the overlap. NodePages must follow if `node.request` is 0.
inline void push_node(FeedWriter& feed, const event::NodeAdded& node, const std::uint32_t* words, Tick created) {
  feed.push(node);
  feed.push(event::NodeNamed{.node = node.node, .digest = page_digest(feed, words), .created = created});
  if (feed.shape().tokens) feed.push_words(node.node, words, node.length);
}

/// Pushes the digests of a new node's pages, if they take little room. `words`: its length + overlap words.
inline void push_page_digests(FeedWriter& feed, const event::NodeAdded& node, const std::uint32_t* words) {
  const std::uint32_t page = feed.shape().page_size;
  if (page < FeedWriter::kDigestedPage) return;
  feed.push_digests(node.node, node.length / page,
                    [&](std::uint32_t at) { return page_digest(feed, words + std::size_t{at} * page); });
}

}  // namespace canopy
