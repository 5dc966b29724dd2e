#include <canopy/engine/engine.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compose/engine_check.h"
#include "compose/make_component.h"
#include "engine_internals.h"

namespace canopy {
namespace {

/// Pages that a pool without rows grows at a time where the configuration does not say.
constexpr std::uint32_t kSegmentPages = 65536;

void append_field(std::string& key, std::string_view field) {
  // Length first, so that ("ab", "c") and ("a", "bc") stay two.
  key += std::to_string(field.size());
  key += ':';
  key += field;
}

}  // namespace

Engine::Engine() : scratch_(std::make_unique<WordScratch>()), digest_(std::make_unique<Digest>()) {}

Engine::~Engine() {
  // Requests that outlive their engine would be a bug of the caller; their state must not point here any more.
  for (Request::State* state : live_) delete state;
}

Result<std::unique_ptr<Engine>> Engine::create(const EngineConfig& config, const Registry& registry) {
  if (std::string why = flaw_of(config); !why.empty()) return Error{std::move(why)};
  std::unique_ptr<Engine> engine(new Engine);
  engine->registry_ = &registry;
  engine->page_size_ = config.page_size;
  auto codec = make_component<KeyCodec>(config.key, registry, {});
  if (!codec) return codec.error();
  engine->codec_ = *codec;
  engine->overlap_ = engine->codec_->overlap();
  engine->insert_at_finish_ = config.insert_at_finish;

  std::uint64_t grid = 1;
  for (const GroupConfig& group : config.groups)
    if (group.every != 0) grid = std::lcm(grid, std::uint64_t{group.every / config.page_size});
  if (grid * config.page_size > ~Units{0})
    return Error{
        fmt::format("{}: the groups' `every` have no common boundary below {} tokens", config.file, ~Units{0})};
  std::vector<Group> groups;
  engine->pools_.reserve(config.groups.size());  // the index keeps pointers to their names
  for (const GroupConfig& group : config.groups) {
    Pool::Parts parts;
    parts.group = group.name;
    parts.needs = {config.page_size, engine->overlap_, group.reach, group.every ? group.every / config.page_size : 1,
                   static_cast<std::uint32_t>(grid)};
    auto eviction = make_component<EvictionStrategy>(group.eviction, registry, {});
    if (!eviction) return eviction.error();
    parts.eviction = *eviction;
    if (group.capacity != kUnlimited) parts.limit = group.capacity / config.page_size;
    // Without a word about it, what is limited is there at once and what is not comes as it is needed.
    if (group.start != kUnlimited) parts.start = (group.start + config.page_size - 1) / config.page_size;
    else if (parts.limit != kUnlimited) parts.start = parts.limit;
    parts.idle_segments = config.idle_segments;
    // A pool smaller than a segment asks for no memory it will not use.
    const std::uint64_t pages = parts.limit == kUnlimited ? kUnlimited : parts.limit + 1;
    if (const ComponentConfig& wanted = group.store.name.empty() ? config.store : group.store; wanted.name != "none") {
      auto store = make_component<KVStore>(wanted, registry, {config.page_size, config.segment_pages, pages});
      if (!store) return store.error();
      parts.store = *store;
      parts.segment_pages = parts.store->view().segment_pages;
    } else {
      const std::uint32_t wanted_pages = config.segment_pages ? config.segment_pages : kSegmentPages;
      parts.segment_pages = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted_pages, pages));
    }
    auto allocator = make_component<SlotAllocator>(group.allocator, registry, {parts.segment_pages});
    if (!allocator) return allocator.error();
    parts.allocator = *allocator;
    Pool& pool = engine->pools_.emplace_back(std::move(parts));
    if (auto opened = pool.open(); !opened) return Error{config.file + ": " + opened.error().text};
    groups.push_back({pool.group().c_str(), group.reach,
                      pool.limit() == kUnlimited ? kUnlimited : pool.limit() * config.page_size, pool.eviction()});
    engine->prints_wanted_ |= pool.eviction()->reads_prints();
    engine->policy_names_.push_back(group.eviction.name);
  }
  if (config.feed.kind != FeedConfig::Kind::off)
    if (auto opened = engine->open_feed(config, registry); !opened) return opened.error();
  auto index =
      make_component<PrefixIndex>(config.index, registry, {config.page_size, engine->overlap_, groups, engine->feed_});
  if (!index) return index.error();
  engine->index_ = *index;
  engine->spaces_.emplace(std::string(), NamespaceId::shared);
  engine->space_names_.emplace_back("shared");
  if (engine->told()) engine->tell_all();  // a recording begins with what there is
  return engine;
}

NamespaceId Engine::intern(const Space& space) {
  if (space.tenant.empty() && space.adapter.empty() && space.salt.empty()) return NamespaceId::shared;
  std::string key;
  append_field(key, space.tenant);
  append_field(key, space.adapter);
  append_field(key, space.salt);
  const auto [found, is_new] = spaces_.emplace(std::move(key), static_cast<NamespaceId>(spaces_.size()));
  if (is_new)
    space_names_.push_back(fmt::format("{}{}{}{}", space.tenant, space.adapter.empty() ? "" : "/", space.adapter,
                                       space.salt.empty() ? "" : "/*"));  // a salt is a secret
  if (is_new && told()) tell_text(TextKind::space, space_names_.size() - 1, space_names_.back());
  return found->second;
}

std::span<const std::uint32_t> Engine::encode(std::span<const Token> tokens) const {
  return codec_->encode(tokens, *scratch_);
}

Admission Engine::admits(const Arrival& arrival) const {
  const std::uint64_t prompt = arrival.prompt.size(), total = prompt + arrival.output_limit;
  const std::size_t reusable = arrival.prompt.size() - std::min<std::size_t>(arrival.prompt.size(), arrival.leave);
  const Probe probe = index_->peek({arrival.space, encode(arrival.prompt.first(reusable))});
  const bool whole_path =
      std::any_of(pools_.begin(), pools_.end(), [](const Pool& pool) { return pool.needs().whole_path(); });
  for (std::size_t g = 0; g < pools_.size(); ++g) {
    const Pool& pool = pools_[g];
    if (pool.limit() == kUnlimited) continue;
    const PageNeeds& needs = pool.needs();
    // Where nothing holds the whole path, a lock that windows have left behind is known by a page it keeps.
    const std::size_t kept = whole_path ? 0 : 1;
    if (const std::size_t most = needs.peak(0, 0, prompt, total, arrival.chunk) + kept; most > pool.limit())
      return {Admission::Verdict::never, fmt::format("the request needs {} pages of group '{}' for {} prompt and up to "
                                                     "{} output tokens, and the pool has {}{}{}",
                                                     most, pool.group(), prompt, arrival.output_limit, pool.limit(),
                                                     pool.memory().empty() ? "" : "; ", pool.memory())};
    // Locking the prefix takes its evictable part off the market.
    const std::size_t taken = probe.evictable[g] / page_size_;
    const std::size_t most = needs.peak(probe.length, taken, prompt, total, arrival.chunk) + kept;
    if (const std::uint64_t room = this->room(g); most > room)
      return {Admission::Verdict::wait,
              fmt::format("the request needs {} more pages of group '{}', and {} are free, evictable or to be had",
                          most - std::min(most, taken), pool.group(), room - std::min<std::uint64_t>(room, taken))};
  }
  return {};
}

RequestFacts Engine::facts_of(const Request::State& request, std::span<const Token> prompt) {
  RequestFacts facts;
  facts.space = request.space;
  facts.priority = request.priority;
  facts.prompt = request.prompt;
  facts.matched = request.matched;
  facts.output = static_cast<std::uint32_t>(request.tokens.size()) - request.prompt;
  facts.hints = request.hints;
  if (prints_wanted_) {
    prints_.clear();
    std::uint64_t print = static_cast<std::uint64_t>(request.space);
    for (std::size_t end = kPrintStride; end <= prompt.size(); end += kPrintStride)
      prints_.push_back(
          print = XXH3_64bits_withSeed(prompt.data() + (end - kPrintStride), kPrintStride * sizeof(Token), print));
    facts.prefix_prints = prints_;
  }
  return facts;
}

Request Engine::begin(const Arrival& arrival) {
  std::unique_ptr<Request::State> state;
  if (idle_.empty()) {
    state = std::make_unique<Request::State>();
  } else {
    state = std::move(idle_.back());
    idle_.pop_back();
  }
  Request::State& request = *state.release();
  request.engine = this;
  request.id = next_request_++;
  request.live_at = live_.size();
  request.space = arrival.space;
  request.priority = arrival.priority;
  request.hints = arrival.hints;
  request.prompt = static_cast<std::uint32_t>(arrival.prompt.size());
  request.leave = arrival.leave;
  request.tokens.assign(arrival.prompt.begin(), arrival.prompt.end());
  live_.push_back(&request);
  match(request);
  ++counters_.requests;
  counters_.prompt_tokens += request.prompt;
  counters_.hit_tokens += request.matched;
  digest_->take(Digest::Step::begin, request.id, request.prompt, request.matched);
  tell_begun(request);
  if (stop_.waiting())
    stop_.began(request.id, request.space, request.prompt, request.matched,
                whole_pages(request.prompt - std::min(request.prompt, request.leave)));
  settle(Operation::begin);
  return Request(&request);
}

/// Finds and locks what is resident of all a request's tokens, and points its row there.
void Engine::match(Request::State& request) {
  const std::span<const Token> tokens(request.tokens);
  request.matched = 0;
  const auto words = encode(tokens.first(tokens.size() - std::min<std::size_t>(tokens.size(), request.leave)));
  const RequestFacts facts = facts_of(request, tokens);
  GroupPages resident;
  {
    IndexTimer timer(*this);
    request.lock = index_->match({request.space, words}, facts);
    resident = index_->pages(request.lock);
  }
  for (std::size_t g = 0; g < pools_.size(); ++g) {
    request.rows[g].assign(resident[g].begin(), resident[g].end());
    request.first[g] = request.lock.from[g] / page_size_;
  }
  request.own_from = request.lock.length / page_size_;
  request.matched = request.computed = request.lock.length;
}

/// At least so many pages of a group are free, may leave or, as far as it is known, may be had from the system.
std::uint64_t Engine::room(std::size_t group) const {
  const Pool& pool = pools_[group];
  const Sizes sizes = index_->sizes(group);
  std::uint64_t room = pool.allocator().occupancy().free + sizes.evictable / page_size_;
  if (pool.draining()) {
    // What is evicted from a segment that goes is not free afterwards; what stays may all lie in the others.
    const std::uint64_t stays = sizes.protected_ / page_size_ + held_[group], offered = pool.offered();
    room = std::min(room, offered - std::min(offered, stays));
  }
  return room + pool.growable();
}

/// Whether `pages` pages of a group are free or may leave, growing the pool as far as it may.
bool Engine::may_be_free(std::size_t group, std::uint64_t pages) {
  return pools_[group].shortfall(pages) == 0 || room(group) >= pages;
}

/// How many pages of the group have left: at least `pages`, if so many may.
std::size_t Engine::evict(std::size_t group, std::uint64_t pages) {
  GroupPages left;
  {
    IndexTimer timer(*this);
    left = index_->evict(group, pages);
  }
  if (group == 0) {
    ++counters_.evict_calls;
    counters_.evicted_tokens += left[0].size() * page_size_;
  }
  digest_->take(Digest::Step::evict, group, pages, left[group].size());
  for (std::size_t g = 0; g < pools_.size(); ++g) digest_->take(left[g]);
  const std::size_t count = left[group].size();
  free(left, "evict");
  for (std::size_t g = 0; stop_.waiting() && g < pools_.size(); ++g) stop_.evicted(g, left[g].size());
  settle(Operation::evict);
  return count;
}

bool Engine::make_free(std::size_t group, std::uint64_t pages) {
  Pool& pool = pools_[group];
  const std::uint64_t changes = pool.changes();
  std::uint64_t missing = pool.shortfall(pages);
  for (bool more = true; missing > 0 && more; missing = pool.shortfall(pages))
    more = evict(group, missing) > 0 && pool.draining();      // some of it may have left a segment that goes
  if (pool.changes() != changes) settle(Operation::reserve);  // a pool that grew
  return missing == 0;
}

void Engine::free(std::size_t group, std::span<const Page> pages, const char* who) {
  if (pages.empty()) return;
  ledger_.expect(pools_[group].free(pages), [&] {
    return fmt::format("group '{}': {} gave back {} pages of which one was not out", pools_[group].group(), who,
                       pages.size());
  });
}

void Engine::free(const GroupPages& pages, const char* who) {
  for (std::size_t g = 0; g < pools_.size(); ++g) free(g, pages[g], who);
}

/// Makes a request's row of a group `length` pages long; false, and nothing has changed, if there are no pages.
bool Engine::extend(Request::State& request, std::size_t group, std::size_t length) {
  std::vector<Page>& row = request.rows[group];
  Pool& pool = pools_[group];
  const PageNeeds& needs = pool.needs();
  const std::size_t had = row.size();
  if (length <= had) return true;
  scratch_pages_.resize(needs.count(had, length));
  if (!pool.allocate(scratch_pages_, request.id)) return false;
  held_[group] += scratch_pages_.size();
  row.resize(length);
  if (needs.every == 1) {
    std::copy(scratch_pages_.begin(), scratch_pages_.end(), row.begin() + static_cast<std::ptrdiff_t>(had));
    if (told()) tell_new_pages(request, group, had);
  } else {
    std::size_t next = 0;
    for (std::size_t i = had; i < length; ++i) row[i] = needs.keeps(i) ? scratch_pages_[next++] : 0;
    tell_own_pages(request, group, had);
  }
  return true;
}

/// Frees what a request's row has of its own in [first, end).
void Engine::free_own(Request::State& request, std::size_t group, std::size_t first, std::size_t end, const char* who) {
  std::vector<Page>& row = request.rows[group];
  scratch_pages_.clear();
  for (std::size_t i = std::max(first, request.own_from); i < std::min(end, row.size()); ++i)
    if (const Page page = std::exchange(row[i], 0)) scratch_pages_.push_back(page);
  held_[group] -= scratch_pages_.size();
  free(group, scratch_pages_, who);
  tell_freed(group, scratch_pages_);
}

/// Nothing of a request's row before `page` is needed any more.
void Engine::let_go_before(Request::State& request, std::size_t group, std::size_t page) {
  std::size_t& first = request.first[group];
  if (page <= first) return;
  if (const auto from = static_cast<Units>(std::min(page, request.own_from) * page_size_);
      from > request.lock.from[group]) {
    IndexTimer timer(*this);
    index_->relax(request.lock, group, from);
  }
  free_own(request, group, first, page, "a window that moved on");
  std::vector<Page>& row = request.rows[group];
  std::fill(row.begin() + static_cast<std::ptrdiff_t>(first),
            row.begin() + static_cast<std::ptrdiff_t>(std::min(page, row.size())), 0);
  first = page;
}

void Engine::settle(Operation after) {
  ++operations_;
  for (std::size_t g = 0; g < pools_.size(); ++g)
    ledger_.check(pools_[g], *index_, g, page_size_, held_[g], name_of_operation(after));
  if (stop_.waiting()) stop_if_met();
  if (feed_) turn_feed(after);
}

void Engine::use_policy(std::size_t group, std::shared_ptr<EvictionStrategy> policy, std::string_view name) {
  // The index lets go of the old one before the pool does.
  index_->use_policy(group, policy.get());
  pools_[group].use_policy(std::move(policy));
  prints_wanted_ =
      std::any_of(pools_.begin(), pools_.end(), [](const Pool& pool) { return pool.eviction()->reads_prints(); });
  policy_names_[group] = name;
  if (told()) tell_text(TextKind::policy, group, name);
  settle(Operation::policy);
}

std::uint64_t Engine::flush(NamespaceId space) {
  const GroupPages left = index_->flush(space);
  const std::uint64_t tokens = left[0].size() * page_size_;
  digest_->take(Digest::Step::flush, static_cast<std::uint64_t>(space), tokens);
  free(left, "flush");
  settle(Operation::flush);
  return tokens;
}

void Engine::audit() {
  struct Owners final : NodeVisitor {
    std::vector<std::vector<std::uint8_t>> owners;
    void node(const NodeView& node) override {
      for (std::size_t g = 0; g < owners.size(); ++g)
        for (const Page page : node.pages[g]) add(g, page);
    }
    void add(std::size_t group, Page page) {
      if (owners[group].size() <= page) owners[group].resize(page + 1);
      ++owners[group][page];
    }
  } found;
  found.owners.resize(pools_.size());
  index_->visit(found);
  for (std::size_t g = 0; g < pools_.size(); ++g) {
    for (const Request::State* request : live_) {
      const std::span<const Page> locked = index_->pages(request->lock)[g];
      const std::vector<Page>& row = request->rows[g];
      for (std::size_t i = 0; i < std::min(locked.size(), row.size()); ++i)
        ledger_.expect(row[i] == 0 || row[i] == locked[i], [&] {
          return fmt::format("group '{}': the row of request {} has page {} at place {}, and its lock has page {}",
                             pools_[g].group(), request->id, row[i], i, locked[i]);
        });
    }
    std::uint64_t held = 0;
    for (const Request::State* request : live_)
      for (std::size_t i = request->own_from; i < request->rows[g].size(); ++i)
        if (const Page page = request->rows[g][i]) found.add(g, page), ++held;
    ledger_.expect(held == held_[g], [&] {
      return fmt::format("group '{}': the rows of requests hold {} pages of their own, and {} are on the books",
                         pools_[g].group(), held, held_[g]);
    });
    const Pool& pool = pools_[g];
    for (const PoolSegment& segment : pool.segments())
      for (Page page = std::max<Page>(segment.all.first, 1); page - segment.all.first < segment.all.pages; ++page) {
        const std::uint32_t owners = page < found.owners[g].size() ? found.owners[g][page] : 0;
        ledger_.expect(owners == (pool.allocator().is_out(page) ? 1U : 0U), [&] {
          return fmt::format("group '{}': page {} is {} and has {} owners; it was last handed to request {}",
                             pool.group(), page, pool.allocator().is_out(page) ? "out" : "free", owners,
                             pool.last_holder(page));
        });
      }
  }
  const std::uint64_t refused = index_->use().refused;
  ledger_.expect(refused == 0,
                 [&] { return fmt::format("the index refused {} calls with locks that held nothing", refused); });
}

std::uint64_t Engine::digest() const {
  const std::uint64_t counters[] = {XXH3_64bits_digest(digest_->state),
                                    counters_.requests,
                                    counters_.prompt_tokens,
                                    counters_.hit_tokens,
                                    counters_.evict_calls,
                                    counters_.evicted_tokens,
                                    counters_.finished,
                                    counters_.aborted,
                                    counters_.repointed_pages,
                                    index_->sizes(0).evictable,
                                    index_->sizes(0).protected_};
  return XXH3_64bits(counters, sizeof(counters));
}

}  // namespace canopy
