/// FeedWriter as IndexEvents: changes of nodes go to the listener and, if a reader is attached, into the feed; all
/// other changes go into the feed only.
#include <canopy/feed/node_events.h>

namespace canopy {
namespace {

std::uint8_t in_event(std::size_t group) { return static_cast<std::uint8_t>(group); }

}  // namespace

void FeedWriter::has_no_tree(const char* why) {
  no_nodes_ = why;
  update_wants();
}

void FeedWriter::added(const AddedNode& node) {
  const event::NodeAdded added{.resident = static_cast<std::uint16_t>(node.resident),
                               .space = node.space,
                               .node = node.node,
                               .parent = node.parent,
                               .length = node.length,
                               .request = node.request};
  if (listener_) listener_->added(added, node.words);
  if (!wants_all()) return;
  push_node(*this, added, node.words, node.created);
  push_page_digests(*this, added, node.words);
  for (std::size_t g = 0; node.request == 0 && g < node.pages.size(); ++g)
    if (node.resident >> g & 1)
      push_pages(event::NodePages{.group = in_event(g), .node = node.node}, 0, node.pages[g].size(),
                 node.pages[g].data());
}

void FeedWriter::split(NodeId node, NodeId upper, Units units, std::uint32_t inserts) {
  report(event::NodeSplit{.units = units, .node = node, .upper = upper, .inserts = inserts}, &TreeListener::split);
}
void FeedWriter::filled(NodeId node, std::size_t group, Units length, const std::uint32_t* words,
                        const NodePageList& pages) {
  if (wants_all()) relocated(node, group, pages);
  if (listener_) listener_->filled(node, in_event(group), length, words);
}
void FeedWriter::tombstoned(NodeId node, std::size_t group) {
  report(event::NodeTombstoned{.group = in_event(group), .node = node}, &TreeListener::tombstoned);
}
void FeedWriter::removed(NodeId node, bool inherited) {
  report(event::NodeRemoved{.inherited = inherited, .node = node}, &TreeListener::removed);
}
void FeedWriter::cleared() { report(event::Cleared{}, &TreeListener::cleared); }

void FeedWriter::relocated(NodeId node, std::size_t group, const NodePageList& pages) {
  push_pages(event::NodePages{.group = in_event(group), .node = node}, 0, pages.count, pages.first, pages.stride);
}
void FeedWriter::used(NodeId node, Tick tick, Units from) {
  push(event::NodeUsed{.from = from, .node = node, .tick = tick});
}
void FeedWriter::created(NodeId node, Tick created) { push(event::NodeCreated{.node = node, .created = created}); }
void FeedWriter::changed(NodeId node, std::int32_t priority, Tick last_access, std::uint32_t hits,
                         std::uint32_t inserts) {
  push(event::NodeHistory{
      .priority = priority, .node = node, .last_access = last_access, .hits = hits, .inserts = inserts});
}
void FeedWriter::ranked(NodeId node, std::size_t group, Rank rank) {
  push(event::NodeRanked{.group = in_event(group), .node = node, .rank = rank});
}
void FeedWriter::locked(NodeId node, std::size_t group, Units from) {
  push(event::Locked{.group = in_event(group), .from = from, .node = node});
}
void FeedWriter::unlocked(NodeId node, std::size_t group, Units from) {
  push(event::Unlocked{.group = in_event(group), .from = from, .node = node});
}
void FeedWriter::relocked(NodeId node, std::size_t group, Units from, NodeId before, Units from_before) {
  push(event::Relocked{
      .group = in_event(group), .from = from, .node = node, .before = before, .from_before = from_before});
}
void FeedWriter::relaxed(NodeId node, std::size_t group, Units from_before, Units from) {
  push(event::Relaxed{.group = in_event(group), .from = from, .node = node, .from_before = from_before});
}

}  // namespace canopy
