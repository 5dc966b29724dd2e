#include <canopy/c/feed.h>
#include <mirror/mirror.h>
#include <sources/attachment.h>
#include <sources/recording.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "handles.h"

using namespace canopy;
using namespace canopy::c;
using inspector::Attachment;
using inspector::Mirror;
using inspector::MirrorNode;
using inspector::MirrorPool;
using inspector::Recording;

struct canopy_feed {
  std::unique_ptr<Attachment> attachment;  ///< May be null (a recording).
  std::unique_ptr<Recording> recording;    ///< May be null (a live feed).
  std::unique_ptr<Mirror> mirror;
  std::uint64_t at = 0;  ///< commits of the recording that are applied
  std::vector<Event> buffer;

  /// Applies the events of the attachment. Returns true if there were any.
  bool poll() {
    bool any = false;
    for (;;) {
      std::size_t count = 0;
      switch (attachment->reader().read(buffer.data(), buffer.size(), count)) {
        case FeedReader::Outcome::nothing:
          return any;
        case FeedReader::Outcome::lapped:
          mirror->lost();
          break;
        case FeedReader::Outcome::events:
          mirror->take({buffer.data(), count});
          any = true;
      }
    }
  }
  /// REQUIRES: a recording with at least as many commits.
  void seek(std::uint64_t commit) {
    constexpr std::uint64_t kPiece = 4096;
    if (commit < at) mirror->reset(), at = 0;
    for (; at < commit; at = std::min(commit, at + kPiece))
      mirror->take(recording->events(at, std::min(commit, at + kPiece)));
  }
};

namespace {

template <class Body>
canopy_code on_feed(const canopy_feed* feed, const char* function, Body&& body) noexcept {
  if (!feed) return fail(CANOPY_BAD_ARGUMENT, function, "feed is NULL");
  return caught(function, [&] { return body(const_cast<canopy_feed&>(*feed)); });
}

/// Makes a handle from a source: fill(handle) sets it, or returns an error.
template <class Fill>
canopy_code make(const char* function, const char* text, const char* what, canopy_feed** feed, Fill&& fill) noexcept {
  if (!feed) return fail(CANOPY_BAD_ARGUMENT, function, "feed is NULL");
  *feed = nullptr;
  if (!text) return fail(CANOPY_BAD_ARGUMENT, function, "{} is NULL", what);
  return caught(function, [&]() -> canopy_code {
    auto made = std::make_unique<canopy_feed>();
    if (const Error error = fill(*made); !error.text.empty()) return fail(CANOPY_NOT_FOUND, error.text);
    made->mirror = std::make_unique<Mirror>(made->attachment ? made->attachment->header() : made->recording->header());
    if (made->attachment) made->buffer.resize(4096);
    else made->seek(made->recording->commits());
    *feed = made.release();
    return CANOPY_OK;
  });
}

canopy_code check_group(const char* function, const canopy_feed& feed, std::uint32_t group) {
  if (group < feed.mirror->groups()) return CANOPY_OK;
  return fail_group(function, group, feed.mirror->groups());
}

canopy_feed_node node_of(const Mirror& mirror, const MirrorNode& node) {
  return {.id = node.id,
          .parent = node.parent ? mirror.node(node.parent).id : 0,
          .created = node.created,
          .last_access = node.last_access,
          .space = static_cast<std::uint32_t>(node.space),
          .begin = node.begin,
          .length = node.length,
          .hits = node.hits,
          .inserts = node.inserts,
          .locks = node.hold[0],
          .priority = node.priority,
          .reserved = 0};
}

}  // namespace

canopy_code canopy_feed_names(char* to, size_t room, size_t* length) {
  constexpr const char* kName = "canopy_feed_names";
  return caught(kName, [&] {
    return copy_text(kName, fmt::format("{}", fmt::join(Attachment::names(), "\n")), to, room, length);
  });
}

canopy_code canopy_feed_attach(const char* name, canopy_feed** feed) {
  return make("canopy_feed_attach", name, "name", feed, [&](canopy_feed& made) {
    auto attached = Attachment::attach(name);
    if (!attached) return attached.error();
    made.attachment = std::move(*attached);
    return Error{};
  });
}

canopy_code canopy_feed_open(const char* path, canopy_feed** feed) {
  return make("canopy_feed_open", path, "path", feed, [&](canopy_feed& made) {
    auto opened = Recording::open(path);
    if (!opened) return opened.error();
    made.recording = std::move(*opened);
    return Error{};
  });
}

void canopy_feed_destroy(canopy_feed* feed) { delete feed; }

canopy_code canopy_feed_poll(canopy_feed* feed, int32_t* any) {
  return on_feed(feed, "canopy_feed_poll", [&](canopy_feed& on) {
    const bool events = on.attachment && on.poll();
    if (any) *any = events;
    return CANOPY_OK;
  });
}

canopy_code canopy_feed_seek(canopy_feed* feed, uint64_t commit) {
  constexpr const char* kName = "canopy_feed_seek";
  return on_feed(feed, kName, [&](canopy_feed& on) -> canopy_code {
    if (!on.recording) return fail(CANOPY_WRONG_STATE, kName, "the feed is not a recording");
    if (commit > on.recording->commits())
      return fail(CANOPY_BAD_ARGUMENT, kName, "commit {}, but the recording has {}", commit, on.recording->commits());
    on.seek(commit);
    return CANOPY_OK;
  });
}

canopy_code canopy_feed_look(const canopy_feed* feed, canopy_feed_state* state) {
  constexpr const char* kName = "canopy_feed_look";
  return on_feed(feed, kName, [&](canopy_feed& on) -> canopy_code {
    if (const canopy_code code = check_result(kName, "state", state)) return code;
    const Mirror& mirror = *on.mirror;
    const inspector::Sample now = mirror.samples().empty() ? inspector::Sample{} : mirror.samples().back();
    canopy_feed_state own{};
    own.commits = mirror.commits();
    own.last_commit = on.recording ? on.recording->commits() : mirror.commits();
    own.tick = mirror.tick();
    own.us = mirror.us();
    own.requests = now.requests;
    own.tries = mirror.tries();
    own.running = mirror.running();
    own.prompt_tokens = mirror.prompt_tokens();
    own.hit_tokens = mirror.hit_tokens();
    own.evicted_tokens = now.evicted_tokens;
    own.nodes = mirror.node_count();
    own.drift = mirror.drift();
    own.damaged = mirror.damaged();
    own.page_size = mirror.page_size();
    own.groups = static_cast<std::uint32_t>(mirror.groups());
    own.in_step = mirror.in_step();
    own.paused = !mirror.paused().empty();
    own.gone = on.attachment && !on.attachment->gone().empty();
    return give(own, state);
  });
}

canopy_code canopy_feed_pool(const canopy_feed* feed, uint32_t group, canopy_pool* pool) {
  constexpr const char* kName = "canopy_feed_pool";
  return on_feed(feed, kName, [&](canopy_feed& on) -> canopy_code {
    if (const canopy_code code = check_group(kName, on, group)) return code;
    if (const canopy_code code = check_result(kName, "pool", pool)) return code;
    const MirrorPool& from = on.mirror->pool(group);
    canopy_pool own{};
    own.limit = own.pages = from.all_pages();
    own.free = from.counted.free;
    own.evictable = from.counted.evictable;
    own.protected_pages = from.counted.protected_;
    own.owned = from.counted.owned;
    return give(own, pool);
  });
}

canopy_code canopy_feed_nodes(const canopy_feed* feed, canopy_feed_node* to, size_t each, size_t room, size_t* count) {
  constexpr const char* kName = "canopy_feed_nodes";
  if (!count) return fail_without(kName, "count");
  if (!to && room > 0) return fail_without(kName, "to");
  return on_feed(feed, kName, [&](canopy_feed& on) -> canopy_code {
    if (each < kFirstSize<canopy_feed_node> || each > kMostBytes)
      return bad_size(kName, "each: the node", each, kFirstSize<canopy_feed_node>);
    std::vector<const MirrorNode*> nodes;
    on.mirror->each_node([&](const MirrorNode& node) { nodes.push_back(&node); });
    *count = nodes.size();
    if (nodes.size() > room) return fail(CANOPY_SMALL_BUFFER, kName, "{} nodes into a buffer of {}", *count, room);
    // A child is never shallower than its parent.
    std::ranges::sort(nodes, [](const MirrorNode* a, const MirrorNode* b) {
      return a->begin != b->begin ? a->begin < b->begin : a->id < b->id;
    });
    auto* at = reinterpret_cast<char*>(to);
    for (const MirrorNode* node : nodes) {
      const canopy_feed_node own = node_of(*on.mirror, *node);
      std::memset(at, 0, each);
      std::memcpy(at, &own, std::min(each, sizeof(own)));
      at += each;
    }
    return CANOPY_OK;
  });
}

canopy_code canopy_feed_next_to_evict(const canopy_feed* feed, uint32_t group, uint64_t* to, size_t room,
                                      size_t* count) {
  constexpr const char* kName = "canopy_feed_next_to_evict";
  if (!count) return fail_without(kName, "count");
  if (!to && room > 0) return fail_without(kName, "to");
  return on_feed(feed, kName, [&](canopy_feed& on) -> canopy_code {
    if (const canopy_code code = check_group(kName, on, group)) return code;
    const std::vector<std::uint32_t> slots = on.mirror->next_to_evict(group, room);
    *count = slots.size();
    for (std::size_t i = 0; i < slots.size(); ++i) to[i] = on.mirror->node(slots[i]).id;
    return CANOPY_OK;
  });
}

canopy_code canopy_feed_text(const canopy_feed* feed, int32_t text, uint32_t of, char* to, size_t room,
                             size_t* length) {
  constexpr const char* kName = "canopy_feed_text";
  return on_feed(feed, kName, [&](canopy_feed& on) -> canopy_code {
    const auto copy = [&](const std::string& found) { return copy_text(kName, found, to, room, length); };
    switch (text) {
      case CANOPY_FEED_CONFIG:
        return copy(on.mirror->config());
      case CANOPY_FEED_GROUP:
      case CANOPY_FEED_POLICY: {
        if (const canopy_code code = check_group(kName, on, of)) return code;
        const MirrorPool& pool = on.mirror->pool(of);
        return copy(text == CANOPY_FEED_GROUP ? pool.name : pool.policy);
      }
      case CANOPY_FEED_SPACE:
        if (of >= on.mirror->spaces().size())
          return fail(CANOPY_BAD_ARGUMENT, kName, "namespace {} of {}", of, on.mirror->spaces().size());
        return copy(on.mirror->space_name(NamespaceId{of}));
      case CANOPY_FEED_GONE:
        return copy(on.attachment ? on.attachment->gone() : std::string());
      default:
        return fail(CANOPY_BAD_ARGUMENT, kName, "there is no text {}", text);
    }
  });
}
