#include <canopy/c/index.h>
#include <canopy/engine/given_up.h>
#include <canopy/engine/index_session.h>
#include <canopy/engine/request_spec.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>
#include <vector>

#include "handles.h"

using namespace canopy;
using namespace canopy::c;

struct canopy_index {
  std::shared_ptr<Registry> registry;  ///< outlives the session
  std::unique_ptr<IndexSession> session;
  std::size_t groups = 1;
  std::uint32_t spaces = 1;
  std::array<GivenUp, kMaxGroups> given_up;
  std::atomic<bool> inside = false;  ///< true during a call: a policy may not call the index
};

namespace {

/// Marks a call of an index while it lasts.
struct InsideIndex {
  explicit InsideIndex(canopy_index& on) : index(on) { index.inside.store(true, std::memory_order_relaxed); }
  ~InsideIndex() { index.inside.store(false, std::memory_order_relaxed); }
  InsideIndex(const InsideIndex&) = delete;
  canopy_index& index;
};

/// Calls body(index) for an index that is in no call, and then publishes the operation.
template <class Body>
canopy_code on_index(const canopy_index* handle, const char* function, Operation operation, Body&& body) noexcept {
  if (!handle) return fail(CANOPY_BAD_ARGUMENT, function, "index is NULL");
  canopy_index& index = const_cast<canopy_index&>(*handle);
  if (index.inside.load(std::memory_order_relaxed))
    return fail(CANOPY_WRONG_STATE, function,
                "another call of this index is running: a policy may not call it, and an index is for one thread");
  return caught(function, [&] {
    const InsideIndex inside(index);
    const canopy_code code = body(index);
    if (operation != Operation::none && (code == CANOPY_OK || code == CANOPY_NO_ROOM))
      index.session->end_operation(operation);
    return code;
  });
}

/// Checks a key, and sets `into`.
canopy_code key_of(const char* function, const canopy_index& index, const canopy_key* key, Key& into) {
  if (!key) return fail(CANOPY_BAD_ARGUMENT, function, "key is NULL");
  if (!key->words && key->count > 0) return fail(CANOPY_BAD_ARGUMENT, function, "key->words is NULL");
  if (key->space >= index.spaces)
    return fail(CANOPY_BAD_ARGUMENT, function, "key->space is {}, but there are {} namespaces (canopy_index_intern)",
                key->space, index.spaces);
  if (key->count >= ~std::uint32_t{0}) return fail(CANOPY_BAD_ARGUMENT, function, "a key of {} words", key->count);
  into = {NamespaceId{key->space}, {key->words, key->count}};
  return CANOPY_OK;
}

canopy_lock to_c(const Lock& lock) {
  canopy_lock out{static_cast<std::uint64_t>(lock.id), lock.length, lock.full_length, {}};
  std::copy(lock.from.begin(), lock.from.end(), out.from);
  return out;
}
Lock from_c(const canopy_lock& lock) {
  Lock out{LockId{lock.node}, {}, lock.length, {}, lock.full_length};
  std::copy(std::begin(lock.from), std::end(lock.from), out.from.begin());
  return out;
}

/// Keeps pages that the index gives up. Returns those of one group.
std::size_t keep(canopy_index& index, const GroupPages& pages, std::size_t group = 0) {
  for (std::size_t g = 0; g < index.groups; ++g) index.given_up[g].keep(pages[g]);
  return pages[group].size();
}

/// Creates a policy for an index by its name.
Result<std::shared_ptr<EvictionStrategy>> policy_of(const Registry& registry, const char* name, const char* options) {
  return registry.make<EvictionStrategy>(name ? name : "lru", {}, options ? options : "");
}

std::uint64_t limit_of(std::uint64_t capacity) { return capacity == 0 ? kUnlimited : capacity; }

canopy_code read_options(const char* function, const canopy_index_options& given, const Registry& registry,
                         IndexSession::Config& config) {
  if (given.page_size == 0) return fail(CANOPY_BAD_ARGUMENT, function, "options->page_size is 0, expected at least 1");
  if (given.overlap > 1)
    return fail(CANOPY_BAD_ARGUMENT, function, "options->overlap is {}, expected 0 or 1", given.overlap);
  if (given.reach_count >= kMaxGroups || (given.reach_count > 0 && !given.reaches))
    return fail(CANOPY_BAD_ARGUMENT, function, "{} reaches, expected at most {} and an array", given.reach_count,
                kMaxGroups - 1);
  config.page_size = given.page_size;
  config.overlap = given.overlap;
  config.capacity = limit_of(given.capacity);
  if (given.index) config.index = given.index;
  if (given.index_options) config.options = given.index_options;
  auto policy = policy_of(registry, given.policy, given.policy_options);
  if (!policy) return fail(CANOPY_REFUSED, policy.error().text);
  config.policy = std::move(*policy);
  config.policy_name = given.policy ? given.policy : "lru";
  for (std::size_t i = 0; i < given.reach_count; ++i) {
    const canopy_index_reach& reach = given.reaches[i];
    if (!reach.name || !*reach.name || reach.reach == 0 || reach.reach == kWholePath)
      return fail(CANOPY_BAD_ARGUMENT, function, "reach {} has no name, or its reach is 0 or the whole path", i);
    auto own = policy_of(registry, reach.policy, nullptr);
    if (!own) return fail(CANOPY_REFUSED, own.error().text);
    config.reaches.push_back({reach.name, reach.reach, limit_of(reach.capacity), reach.max_per_path, std::move(*own),
                              reach.policy ? reach.policy : "lru"});
  }
  if (given.feed) config.feed.kind = FeedConfig::Kind::shm;
  else if (given.recording) config.feed.kind = FeedConfig::Kind::file;
  if (given.feed || given.recording) config.feed.name = given.feed ? given.feed : given.recording;
  if (const std::string flaw = flaw_of_name(config.feed); config.feed.kind != FeedConfig::Kind::off && !flaw.empty())
    return fail(CANOPY_BAD_ARGUMENT, function, "the feed's name{}", flaw);
  config.text = "made by canopy_index_create\n";
  return CANOPY_OK;
}

}  // namespace

canopy_code canopy_index_create(const canopy_index_options* options, canopy_index** index) {
  constexpr const char* kName = "canopy_index_create";
  if (!index) return fail_without(kName, "index");
  *index = nullptr;
  return caught(kName, [&]() -> canopy_code {
    canopy_index_options given{};
    if (const canopy_code code = take(kName, "options", options, given)) return code;
    auto made = std::make_unique<canopy_index>();
    made->registry = registry_of(given.registry);
    made->groups += given.reach_count;
    IndexSession::Config config;
    if (const canopy_code code = read_options(kName, given, *made->registry, config)) return code;
    auto session = IndexSession::open(std::move(config), *made->registry);
    if (!session) return fail(CANOPY_REFUSED, session.error().text);
    made->session = std::move(*session);
    *index = made.release();
    return CANOPY_OK;
  });
}

void canopy_index_destroy(canopy_index* index) {
  if (!index) return;
  if (index->inside) return void(fail(CANOPY_WRONG_STATE, "canopy_index_destroy", "a call of the index is running"));
  delete index;
}

canopy_code canopy_index_intern(canopy_index* index, const char* tenant, const char* adapter, const char* salt,
                                uint32_t* space) {
  constexpr const char* kName = "canopy_index_intern";
  if (!space) return fail_without(kName, "space");
  return on_index(index, kName, Operation::none, [&](canopy_index& on) {
    bool is_new = false;
    const auto text = [](const char* given) { return std::string_view(given ? given : ""); };
    *space = static_cast<std::uint32_t>(on.session->intern({text(tenant), text(adapter), text(salt)}, is_new));
    on.spaces = std::max(on.spaces, *space + 1);
    return CANOPY_OK;
  });
}

canopy_code canopy_index_peek(const canopy_index* index, const canopy_key* key, uint32_t* length) {
  constexpr const char* kName = "canopy_index_peek";
  if (!length) return fail_without(kName, "length");
  return on_index(index, kName, Operation::none, [&](canopy_index& on) -> canopy_code {
    Key own;
    if (const canopy_code code = key_of(kName, on, key, own)) return code;
    *length = on.session->index().peek(own).length;
    return CANOPY_OK;
  });
}

canopy_code canopy_index_match(canopy_index* index, const canopy_key* key, canopy_lock* lock) {
  constexpr const char* kName = "canopy_index_match";
  if (!lock) return fail_without(kName, "lock");
  *lock = {};
  return on_index(index, kName, Operation::begin, [&](canopy_index& on) -> canopy_code {
    Key own;
    if (const canopy_code code = key_of(kName, on, key, own)) return code;
    RequestFacts facts;
    facts.space = own.space;
    facts.priority = key->priority;
    facts.prompt = static_cast<std::uint32_t>(key->count);
    *lock = to_c(on.session->index().match(own, facts));
    return CANOPY_OK;
  });
}

canopy_code canopy_index_pages(canopy_index* index, const canopy_lock* lock, uint32_t group, uint32_t from,
                               uint32_t* to, size_t room, size_t* length) {
  constexpr const char* kName = "canopy_index_pages";
  if (!lock) return fail_without(kName, "lock");
  return on_index(index, kName, Operation::none, [&](canopy_index& on) -> canopy_code {
    if (group >= on.groups) return fail_group(kName, group, on.groups);
    if (from > lock->length || from % on.session->page_size() != 0)
      return fail(CANOPY_BAD_ARGUMENT, kName,
                  "from unit {}, expected a multiple of {} up to the length of the lock, {}", from,
                  on.session->page_size(), lock->length);
    const std::span<const Page> pages = on.session->index().pages(from_c(*lock), from)[group];
    return copy_rest(kName, pages.data(), pages.size(), 0, to, room, length);
  });
}

canopy_code canopy_index_insert(canopy_index* index, canopy_lock* lock, const canopy_key* key,
                                const canopy_pages* groups, size_t group_count, uint32_t* had) {
  constexpr const char* kName = "canopy_index_insert";
  if (!lock) return fail_without(kName, "lock");
  if (!groups) return fail_without(kName, "groups");
  return on_index(index, kName, Operation::insert, [&](canopy_index& on) -> canopy_code {
    Key own;
    if (const canopy_code code = key_of(kName, on, key, own)) return code;
    if (group_count != on.groups)
      return fail(CANOPY_BAD_ARGUMENT, kName, "pages of {} groups, but there are {}", group_count, on.groups);
    const std::size_t whole = on.session->whole_pages(key->count), first = lock->length / on.session->page_size();
    if (whole < first)
      return fail(CANOPY_BAD_ARGUMENT, kName, "a key of {} words, but the lock covers {} units", key->count,
                  lock->length);
    GroupPages pages;
    for (std::size_t g = 0; g < on.groups; ++g) {
      if (groups[g].count < whole - first || (whole > first && !groups[g].pages))
        return fail(CANOPY_BAD_ARGUMENT, kName, "{} pages for group {}, but the key has {} behind the lock",
                    groups[g].count, g, whole - first);
      pages[g] = {groups[g].pages, whole - first};
      const Sizes has = on.session->index().sizes(g);
      on.given_up[g].make_room((has.evictable + has.protected_) / on.session->page_size() + whole - first);
    }
    const Inserted inserted =
        on.session->index().insert(from_c(*lock), own, pages, {.priority = key->priority, .chunked = false});
    *lock = to_c(inserted.lock);
    if (had) *had = inserted.had;
    keep(on, inserted.spare);
    keep(on, inserted.evicted);
    return CANOPY_OK;
  });
}

canopy_code canopy_index_relax(canopy_index* index, canopy_lock* lock, uint32_t group, uint32_t from) {
  constexpr const char* kName = "canopy_index_relax";
  if (!lock) return fail_without(kName, "lock");
  return on_index(index, kName, Operation::advance, [&](canopy_index& on) -> canopy_code {
    if (group >= on.groups) return fail_group(kName, group, on.groups);
    if (from > lock->length)
      return fail(CANOPY_BAD_ARGUMENT, kName, "from unit {} of a lock of {}", from, lock->length);
    Lock own = from_c(*lock);
    on.session->index().relax(own, group, from);
    *lock = to_c(own);
    return CANOPY_OK;
  });
}

canopy_code canopy_index_release(canopy_index* index, canopy_lock* lock) {
  constexpr const char* kName = "canopy_index_release";
  if (!lock) return fail_without(kName, "lock");
  return on_index(index, kName, Operation::release, [&](canopy_index& on) {
    keep(on, on.session->index().release(from_c(*lock)));
    *lock = {};
    return CANOPY_OK;
  });
}

canopy_code canopy_index_evict(canopy_index* index, uint32_t group, size_t pages, size_t* freed) {
  constexpr const char* kName = "canopy_index_evict";
  return on_index(index, kName, Operation::evict, [&](canopy_index& on) -> canopy_code {
    if (group >= on.groups) return fail_group(kName, group, on.groups);
    const std::size_t count = keep(on, on.session->index().evict(group, pages), group);
    if (freed) *freed = count;
    return count < pages ? CANOPY_NO_ROOM : CANOPY_OK;
  });
}

canopy_code canopy_index_flush(canopy_index* index, uint32_t space) {
  constexpr const char* kName = "canopy_index_flush";
  return on_index(index, kName, Operation::flush, [&](canopy_index& on) -> canopy_code {
    if (space >= on.spaces) return fail(CANOPY_BAD_ARGUMENT, kName, "namespace {} of {}", space, on.spaces);
    keep(on, on.session->index().flush(NamespaceId{space}));
    return CANOPY_OK;
  });
}

canopy_code canopy_index_clear(canopy_index* index) {
  return on_index(index, "canopy_index_clear", Operation::flush, [&](canopy_index& on) {
    keep(on, on.session->index().clear());
    return CANOPY_OK;
  });
}

canopy_code canopy_index_take_pages(canopy_index* index, uint32_t group, uint32_t* to, size_t room, size_t* count,
                                    size_t* rest) {
  constexpr const char* kName = "canopy_index_take_pages";
  if (!count) return fail_without(kName, "count");
  if (!to && room > 0) return fail_without(kName, "to");
  return on_index(index, kName, Operation::none, [&](canopy_index& on) -> canopy_code {
    if (group >= on.groups) return fail_group(kName, group, on.groups);
    *count = on.given_up[group].take(to, room);
    if (rest) *rest = on.given_up[group].left();
    return CANOPY_OK;
  });
}

canopy_code canopy_index_look(const canopy_index* index, canopy_index_state* state) {
  constexpr const char* kName = "canopy_index_look";
  return on_index(index, kName, Operation::none, [&](canopy_index& on) -> canopy_code {
    if (const canopy_code code = check_result(kName, "state", state)) return code;
    canopy_index_state own{};
    const IndexUse use = on.session->index().use();
    own.nodes = use.nodes;
    own.bytes = use.bytes;
    own.refused = use.refused;
    own.now = on.session->index().now();
    for (std::size_t g = 0; g < on.groups; ++g) {
      const Sizes sizes = on.session->index().sizes(g);
      own.evictable[g] = sizes.evictable;
      own.protected_units[g] = sizes.protected_;
    }
    return give(own, state);
  });
}

canopy_code canopy_index_poll(canopy_index* index) {
  return on_index(index, "canopy_index_poll", Operation::none, [&](canopy_index& on) {
    on.session->poll();
    return CANOPY_OK;
  });
}
