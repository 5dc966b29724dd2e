#pragma once
/// Events of a new node, both live and in keyframes. For authors of an index. It includes xxHash, so include it in one
/// source file only.

#include <canopy/feed/writer.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace canopy {

/// Pushes the events of a new node: NodeAdded, NodeNamed, and NodeWords if the feed contains tokens. `words`: words of
/// the node, at least a page and the overlap. NodePages must follow if `node.request` is 0.
inline void push_node(FeedWriter& feed, const event::NodeAdded& node, const std::uint32_t* words, Tick created) {
  const FeedShape& shape = feed.shape();
  const std::size_t first_page = (std::size_t{shape.page_size} + shape.overlap) * sizeof(*words);
  feed.push(node);
  feed.push(event::NodeNamed{
      .node = node.node, .digest = XXH3_64bits_withSeed(words, first_page, feed.digest_key()), .created = created});
  if (shape.tokens) feed.push_words(node.node, words, node.length);
}

}  // namespace canopy
