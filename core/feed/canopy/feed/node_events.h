#pragma once
/// What live events and keyframes tell of a node that appears: the same code for both. For the author of an index; it
/// brings xxHash in, so include it in one source file.

#include <canopy/feed/writer.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace canopy {

/// Tells of a new node: its place, its name, and its words where the feed carries tokens. `words` are the node's, at
/// least a page and the overlap of them. NodePages follow where `node.request` is 0.
inline void push_node(FeedWriter& feed, const event::NodeAdded& node, const std::uint32_t* words, Tick created) {
  const FeedShape& shape = feed.shape();
  const std::size_t first_page = (std::size_t{shape.page_size} + shape.overlap) * sizeof(*words);
  feed.push(node);
  feed.push(event::NodeNamed{node.node, XXH3_64bits_withSeed(words, first_page, feed.digest_key()), created});
  if (shape.tokens) feed.push_words(node.node, words, node.length);
}

}  // namespace canopy
