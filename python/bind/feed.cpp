#include "feed.h"

#include <canopy/base/printable.h>
#include <mirror/mirror.h>
#include <mirror/rank_text.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <sources/attachment.h>
#include <sources/recording.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "columns.h"
#include "doubts.h"
#include "registry.h"

namespace canopy::python {
namespace {

using inspector::Attachment;
using inspector::Mirror;
using inspector::MirrorNode;
using inspector::MirrorRequest;
using inspector::Recording;

/// A mirror and the source of its events: a process that writes now, or a recording.
class Source {
 public:
  explicit Source(std::unique_ptr<Attachment> attachment)
      : attachment_(std::move(attachment)), mirror_(std::make_unique<Mirror>(attachment_->header())) {}
  explicit Source(std::unique_ptr<Recording> recording)
      : recording_(std::move(recording)), mirror_(std::make_unique<Mirror>(recording_->header())) {
    seek(recording_->commits());
  }

  const Mirror& mirror() const { return *mirror_; }
  bool is_recording() const { return recording_ != nullptr; }
  std::uint64_t commits() const { return recording_ ? recording_->commits() : mirror_->commits(); }
  /// Returns the doubts of what was read so far; of a recording, also those of the whole file.
  Doubts doubts() const {
    Doubts doubts = recording_ ? recording_->doubts_at_end() : Doubts{};
    add_doubts(doubts, mirror_->doubts());
    return doubts;
  }
  std::string gone() const { return attachment_ ? attachment_->gone() : std::string(); }

  /// Applies the events since the last call. Returns true if there were any.
  bool poll() {
    if (!attachment_) return false;
    std::vector<Event> events(4096);
    bool any = false;
    for (;;) {
      std::size_t count = 0;
      switch (attachment_->reader().read(events.data(), events.size(), count)) {
        case FeedReader::Outcome::nothing:
          return any;
        case FeedReader::Outcome::lapped:
          mirror_->lost();
          break;
        case FeedReader::Outcome::events:
          mirror_->take({events.data(), count});
          any = true;
      }
    }
  }
  /// Goes to the state after `commit` operations of a recording.
  void seek(std::uint64_t commit) {
    if (!recording_) throw nb::value_error("seek: the feed is not a recording");
    if (commit > recording_->commits())
      throw nb::index_error(
          ("seek: the recording has " + std::to_string(recording_->commits()) + " operations").c_str());
    if (commit < at_) {
      mirror_->reset();
      at_ = 0;
    }
    constexpr std::uint64_t kPiece = 4096;
    for (; at_ < commit; at_ = std::min(commit, at_ + kPiece))
      mirror_->take(recording_->events(at_, std::min(commit, at_ + kPiece)));
  }

 private:
  std::unique_ptr<Attachment> attachment_;
  std::unique_ptr<Recording> recording_;
  std::unique_ptr<Mirror> mirror_;
  std::uint64_t at_ = 0;  ///< commits of a recording that the mirror has applied
};

std::unique_ptr<Source> attach(const std::string& name) {
  return std::make_unique<Source>(take(Attachment::attach(for_system(name))));
}
std::unique_ptr<Source> open(const std::string& path) {
  return std::make_unique<Source>(take(Recording::open(for_system(path))));
}

/// Returns the nodes, parents before children: a child is never shallower than its parent.
nb::dict nodes_of(const Source& source) {
  const Mirror& mirror = source.mirror();
  std::vector<const MirrorNode*> nodes;
  mirror.each_node([&](const MirrorNode& node) { nodes.push_back(&node); });
  std::ranges::sort(nodes, [](const MirrorNode* a, const MirrorNode* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->id < b->id;
  });
  const auto fact = [&](auto member) {
    return column(nodes, [member](const MirrorNode* node) { return std::invoke(member, *node); });
  };
  nb::dict columns;
  columns["node"] = fact(&MirrorNode::id);
  columns["parent"] = column(
      nodes, [&](const MirrorNode* node) { return node->parent ? mirror.node(node->parent).id : std::uint64_t{0}; });
  nb::list spaces;
  for (const MirrorNode* node : nodes) spaces.append(mirror.space_name(node->space));
  columns["space"] = spaces;
  columns["begin"] = fact(&MirrorNode::begin);
  columns["length"] = fact(&MirrorNode::length);
  columns["hits"] = fact(&MirrorNode::uses);
  columns["inserts"] = fact(&MirrorNode::inserts);
  columns["locks"] = column(nodes, [&](const MirrorNode* node) { return std::uint64_t{node->hold[0]}; });
  columns["priority"] = fact(&MirrorNode::priority);
  columns["created"] = fact(&MirrorNode::created);
  columns["last_access"] = fact(&MirrorNode::last_access);
  return columns;
}

nb::dict requests_of(const Source& source) {
  const Mirror& mirror = source.mirror();
  const std::vector<MirrorRequest>& requests = mirror.requests();
  const auto fact = [&](auto member) {
    return column(requests, [member](const MirrorRequest& request) { return request.*member; });
  };
  nb::list spaces, phases, misses;
  for (const MirrorRequest& request : requests) {
    spaces.append(mirror.space_name(request.space));
    phases.append(name_of(request.phase));
    misses.append(mirror.why_missed(request));
  }
  nb::dict columns;
  columns["request"] = fact(&MirrorRequest::id);
  columns["space"] = spaces;
  columns["prompt"] = fact(&MirrorRequest::prompt);
  columns["matched"] = fact(&MirrorRequest::matched);
  columns["computed"] = fact(&MirrorRequest::computed);
  columns["committed"] = fact(&MirrorRequest::committed);
  columns["phase"] = phases;
  columns["admitted"] = column(requests, [](const MirrorRequest& request) { return std::uint8_t{request.admitted()}; });
  columns["missed_because"] = misses;
  return columns;
}

std::vector<nb::dict> pools_of(const Source& source) {
  std::vector<nb::dict> rows;
  for (std::size_t g = 0; g < source.mirror().groups(); ++g) {
    const inspector::MirrorPool& pool = source.mirror().pool(g);
    nb::dict row;
    row["group"] = pool.name;
    row["policy"] = pool.policy;
    row["pages"] = pool.all_pages();
    row["free"] = pool.counted.free;
    row["evictable"] = pool.counted.evictable;
    row["protected"] = pool.counted.protected_;
    row["owned"] = pool.counted.owned;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<nb::dict> next_to_evict(const Source& source, std::size_t most, std::size_t group) {
  const Mirror& mirror = source.mirror();
  if (group >= mirror.groups()) throw nb::index_error("there is no such group");
  std::vector<nb::dict> rows;
  for (const std::uint32_t slot : mirror.next_to_evict(group, most)) {
    const MirrorNode& node = mirror.node(slot);
    nb::dict row;
    row["node"] = node.id;
    row["space"] = mirror.space_name(node.space);
    row["begin"] = node.begin;
    row["length"] = node.length;
    row["hits"] = node.uses();
    row["because"] =
        inspector::rank_words(mirror.pool(group).policy_rank, mirror.pool(group).rank[slot], mirror.tick());
    rows.push_back(std::move(row));
  }
  return rows;
}

nb::dict sums_of(const Source& source) {
  const Mirror& mirror = source.mirror();
  const inspector::Sample now = mirror.samples().empty() ? inspector::Sample{} : mirror.samples().back();
  nb::dict row;
  row["requests"] = now.requests;
  row["tries"] = mirror.tries();
  row["running"] = now.running;
  row["prompt_tokens"] = now.prompt_tokens;
  row["hit_tokens"] = now.hit_tokens;
  row["evicted_tokens"] = now.evicted_tokens;
  row["nodes"] = mirror.node_count();
  row["tick"] = mirror.tick();
  row["commits"] = mirror.commits();
  row["drift"] = mirror.drift();
  row["damaged"] = mirror.damaged();
  row["in_step"] = mirror.in_step();
  row["paused"] = mirror.paused();
  return row;
}

}  // namespace

void bind_feed(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Source>(module, "FeedSource", "The source that canopy.Feed reads.")
      .def_static("attach", &attach, "name"_a)
      .def_static("open", &open, "path"_a)
      .def("poll", &Source::poll)  // never waits; keeps the GIL, so that other threads do not read what it changes
      .def("seek", &Source::seek, "commit"_a)
      .def("nodes", &nodes_of)
      .def("requests", &requests_of)
      .def("pools", &pools_of)
      .def("next_to_evict", &next_to_evict, "most"_a, "group"_a)
      .def("sums", &sums_of)
      .def("doubts", [](const Source& source) { return list_of(source.doubts()); })
      .def_prop_ro("commits", &Source::commits)
      .def_prop_ro("page_size", [](const Source& source) { return source.mirror().page_size(); })
      .def_prop_ro("config", [](const Source& source) { return source.mirror().config(); })
      .def_prop_ro("gone", &Source::gone);
  module.def("feed_names", &Attachment::names);
}

}  // namespace canopy::python
