/// Tiers against what must be true of sets: the pages that the pools have in each group, those in the host tier, and
/// those that were ever there and so may be in the storage. A page is named by its namespace and all words up to its
/// end. A prefix can be reused where every group has what its reach demands. No tree, no lock and no page number is in
/// the model.
#include <canopy/base/random.h>
#include <conformance/model/chain.h>
#include <conformance/model/effort.h>
#include <replay/content.h>

#include <array>
#include <map>
#include <optional>
#include <set>

#include <support/engines.h>
#include <support/sanitizers.h>
#include <tiers/page_record.h>

#include "by_hand.h"

using namespace canopy;
using namespace canopy::test;

namespace {

using Names = std::set<std::pair<NamespaceId, PrefixName>>;
/// The names of pages, by group.
using Held = std::array<Names, kMaxGroups>;

/// The names of all pages that an index has.
class Walked final : public NodeVisitor {
 public:
  Walked(const PrefixIndex& index, Units page_size, Units overlap) : page_size_(page_size), overlap_(overlap) {
    index.visit(*this);
  }
  Held names;
  std::map<std::pair<NamespaceId, PrefixName>, std::vector<std::uint32_t>> words;  ///< words up to the end of a page
  void node(const NodeView& node) override {
    auto [name, path] = node.parent == NodeId::none ? End{name_of(node.facts.space), {}} : ends_.at(node.parent);
    for (Units at = 0; at < node.facts.length; at += page_size_) {
      const auto page = node.words.subspan(at, page_size_ + overlap_);
      name = name_of(name, page);
      path.resize(path.size() - std::min<std::size_t>(path.size(), overlap_));
      path.insert(path.end(), page.begin(), page.end());
      words[{node.facts.space, name}] = path;
      for (std::size_t g = 0; g < kMaxGroups; ++g)
        if (!node.pages[g].empty()) names[g].emplace(node.facts.space, name);
    }
    ends_[node.facts.id] = {name, path};
  }

 private:
  Units page_size_, overlap_;
  struct End {
    PrefixName name;
    std::vector<std::uint32_t> path;
  };
  std::unordered_map<NodeId, End> ends_;
};

struct Setup {
  std::string name, groups = "groups: { full: { reach: path, capacity: 160, allocator: free_list, eviction: lru } }",
                    tier = "capacity: 4096", key = "token";
  std::string storage = {};  ///< options of the storage tier; empty: there is none
  Tune tune = {};
  Units page = 4;
  bool keeps_all = false;  ///< the lowest tier has room for all that leaves, and nothing is dropped
  bool resizes = true;
  bool whole_path = true;
};

class TiersWorld {
 public:
  TiersWorld(const Setup& setup, std::uint64_t seed) : setup_(setup), random_(seed) {
    const auto document =
        parse_yaml("page_size: " + std::to_string(setup.page) + "\nindex: radix\nkey: " + setup.key + "\n" +
                       setup.groups + "\nstore: { host: { layers: 1, streams: { k: 8 } } }\ntiers: { host: { " +
                       setup.tier + " }" + (setup.storage.empty() ? "" : ", storage: { " + setup.storage + " }") +
                       " }\nmodel: { name: m, revision: r, dtype: bf16 }\n",
                   "test");
    REQUIRE_MESSAGE(document, (document ? "" : document.error().text));
    auto config = read_engine_config(*document, registry());
    REQUIRE_MESSAGE(config, (config ? "" : config.error().text));
    if (setup.tune) setup.tune(*config);
    ByHand::of_groups.clear();
    auto engine = Engine::create(*config, registry());
    REQUIRE_MESSAGE(engine, (engine ? "" : engine.error().text));
    engine_ = std::move(*engine);
    shelves_ = ByHand::of_groups;
    keys_.emplace(fingerprint_of(fingerprint_text(*config, state_of(*engine_))), setup.page,
                  state_of(*engine_).overlap);
    content_.emplace(*engine_);
    look();
  }

  void run(int operations) {
    for (int i = 0; i < operations; ++i) {
      const Held above = above_, below = below_;
      const char* const done = operate();
      INFO(setup_.name, ", operation ", i, ": ", std::string(done));
      look();
      check(above, below);
      if (setup_.keeps_all && !setup_.storage.empty()) settle();
      if (i % 32 == 0) engine_->audit();
      REQUIRE_MESSAGE(engine_->ledger().violations() == 0, engine_->ledger().reports()[0]);
      REQUIRE_MESSAGE(content_->violations() == 0, content_->reports()[0]);
    }
  }

  void end() {
    fetches_.clear();
    lives_.clear();
    // A turn may evict, and begin further copies.
    while (engine_->tiers().next_end_us() != kUnlimited) turn(engine_->tiers().next_end_us());
    check_settled(*engine_);
    CHECK(state_of(*engine_).below->moving[0] == 0);
    CHECK(state_of(*engine_).below->index->sizes(0).protected_ == 0);
    CHECK(state_of(*engine_).below->ledger.violations() == 0);
  }

  /// Whatever was there comes back, if nothing was dropped.
  void ask_again() {
    if (shelves_.empty() && (engine_->tiers().counters()[Counter::dropped_tokens_storage] > 0 ||
                             engine_->tiers().counters()[Counter::dropped_tokens_host] > 0))
      return;
    Held certain = ever_;
    for (std::size_t g = 0; g < certain.size(); ++g)
      std::erase_if(certain[g], [&](const auto& name) { return perhaps_lost_[g].contains(name); });
    for (const auto& [prompt, space] : fetched_) {
      const auto usable = std::span<const Token>(prompt).first(prompt.size() - 1);
      RequestSpec spec = arrival(prompt);
      spec.space = space;
      look();
      const std::uint32_t there = std::max(longest(above_, space, usable), longest(below_, space, usable));
      Expected expected{longest(certain, space, usable), longest(ever_, space, usable)};
      if (!shelves_.empty()) expected = to_be_found(space, usable, there);
      from_host_alone += there;
      found_again += expected.least;
      Fetch fetch = engine_->tiers().fetch(spec);
      for (int turns = 0; turns < 1000 && !fetch.done(); ++turns) turn(std::max(now_, fetch.ends_us()));
      REQUIRE(fetch.done());
      Request request = engine_->begin(spec, std::move(fetch));
      // The host tier's pages beyond a boundary are under no lock, and may leave it while the rest comes.
      const bool left = expected.continues_host && request.matched() < expected.least;
      if (!left) REQUIRE(request.matched() >= expected.least);
      REQUIRE(request.matched() >= there);
      REQUIRE(request.matched() <= expected.most);
      continued += expected.continues_host && !left;
      replay::Trail trail(space);
      trail.follow(prompt);
      content_->check(request, trail, 0, request.matched());
      request.abort();
      while (engine_->tiers().next_end_us() != kUnlimited) turn(engine_->tiers().next_end_us());
      REQUIRE(content_->violations() == 0);
      ++fetched_again;
    }
  }

  std::uint64_t from_below = 0;       ///< tokens that fetches brought from the host tier
  std::uint64_t from_storage = 0;     ///< and from the storage
  std::uint64_t fetched_again = 0;    ///< prompts that were fetched again
  std::uint64_t found_again = 0;      ///< tokens of them that were found
  std::uint64_t from_host_alone = 0;  ///< tokens of them that the pools and the host tier had
  std::uint64_t continued = 0;        ///< prompts for which it continued what the host tier has of whole paths alone
  std::uint64_t old_seen = 0;         ///< operations after which the host tier had pages that a flush has left there
  std::uint64_t seen_to_leave = 0;    ///< pages that were seen to leave the host tier, and were then in the storage
  CounterValues counters() const { return engine_->tiers().counters(); }
  std::uint64_t digest() const { return engine_->digest(); }

 private:
  struct Live {
    Request request;
    replay::Trail trail;
    bool aside = false;
  };
  struct Waiting {
    std::vector<Token> prompt;
    NamespaceId space{};
    Fetch fetch;
    std::uint32_t until = 0;
  };

  const char* operate() {
    turned_ = committed_ = false;
    flushed_.reset();
    switch (random_.below(setup_.storage.empty() ? 16 : 24)) {  // more turns

      case 0:
      case 1:
      case 2:
        return begin(), "begin";
      case 3:
      case 4:
        return fetch(), "fetch";
      case 5:
        return begin_fetched(), "begin what was fetched";
      case 6:
      case 7:
      case 8:
      case 9:
        return step(), "step";
      case 10:
        if (lives_.empty()) return "nothing";
        lives_.erase(lives_.begin() + random_.below(static_cast<std::uint32_t>(lives_.size())));
        return "abort";
      case 11:
        engine_->make_free(0, random_.below(20));
        return "evict";
      case 12:
        if (!random_.one_in(4) || !setup_.resizes) return "nothing";
        engine_->resize(0, 16 + random_.below(30));
        return "resize";
      case 13:
        if (!random_.one_in(12)) return "nothing";
        flushed_ = space();
        engine_->flush(*flushed_);
        for (Waiting& waiting : fetches_)  // pages that were not there yet do not come
          if (waiting.space == *flushed_ && !waiting.fetch.done()) waiting.until = 0;
        return "flush";
      case 14:
        if (fetches_.empty()) return "nothing";
        fetches_.erase(fetches_.begin() + random_.below(static_cast<std::uint32_t>(fetches_.size())));
        return "give a fetch up";
      default:
        turn(now_ + random_.below(400));
        if (!setup_.storage.empty() && random_.one_in(20)) turn(now_ + 2'000'000);  // every pending call is then late
        return "turn";
    }
  }

  /// Turns until nothing is on its way.
  void settle() {
    const Held above = above_, below = below_;
    while (engine_->tiers().next_end_us() != kUnlimited) turn(engine_->tiers().next_end_us());
    committed_ = false;
    flushed_.reset();
    look();
    check(above, below);
    check_put();
  }

  NamespaceId space() { return engine_->intern({random_.one_in(2) ? "a" : "", {}, {}}); }
  std::vector<Token> prompt() {
    std::vector<Token> all;
    if (!history_.empty() && !random_.one_in(3)) {
      all = history_[random_.below(static_cast<std::uint32_t>(history_.size()))];
      all.resize(1 + random_.below(static_cast<std::uint32_t>(all.size())));
    }
    for (std::uint32_t more = random_.below(40); more > 0; --more) all.push_back(random_.below(3));
    if (all.empty()) all.push_back(1);
    if (all.size() > 100) all.resize(100);
    return all;
  }

  void turn(std::uint64_t now) {
    turned_ = true;
    engine_->turn(now_ = now);
  }

  /// The longest prefix of which all groups have what they need.
  std::uint32_t longest(const Held& held, NamespaceId space, std::span<const Token> tokens) const {
    const auto words = words_of(tokens);
    const Chain chain = chain_of({space, words}, setup_.page, state_of(*engine_).overlap);
    return static_cast<std::uint32_t>(
               boundary(0, chain.size(),
                        [&](std::size_t g, std::size_t page) { return held[g].contains({space, chain[page]}); })) *
           setup_.page;
  }
  /// Returns the last page boundary, at most `most` pages deep, at which every group has what its reach demands of the
  /// pages from `from` on; `from` if there is none.
  template <class Has>
  std::size_t boundary(std::size_t from, std::size_t most, Has&& has) const {
    const auto& groups = state_of(*engine_).groups;
    std::size_t best = from;
    for (std::size_t end = from + 1; end <= most; ++end) {
      bool usable = true;
      for (std::size_t g = 0; g < groups.size(); ++g)
        for (std::size_t page = from; page < end; ++page)
          if (groups[g].reach == kWholePath || (end - page - 1) * setup_.page < groups[g].reach) usable &= has(g, page);
      if (usable) best = end;
    }
    return best;
  }
  struct Expected {
    std::uint32_t least = 0;      ///< tokens
    std::uint32_t most = least;   ///< tokens: a window may be completed by a part of it that the host tier has
    bool continues_host = false;  ///< it continues what the host tier has of whole paths beyond its boundary
  };
  /// Returns what a request finds if it waits for its fetch: the boundary `there` that the pools or the host tier have,
  /// or a deeper one for which the storage has all that is needed beyond it. Of whole paths the host tier may have
  /// more.
  Expected to_be_found(NamespaceId space, std::span<const Token> tokens, std::uint32_t there) {
    const auto words = words_of(tokens);
    const auto& device = state_of(*engine_);
    const Chain chain = chain_of({space, words}, setup_.page, device.overlap);
    const auto is_whole = [&](std::size_t g) { return device.groups[g].reach == kWholePath; };
    const auto has_all = [&](std::size_t page) {
      bool any = false, all = true;
      for (std::size_t g = 0; g < device.groups.size(); ++g)
        if (is_whole(g)) any = true, all &= below_[g].contains({space, chain[page]});
      return any && all;
    };
    std::size_t whole = 0;
    while (whole < chain.size() && has_all(whole)) ++whole;
    keys_->follow(keys_->space(device.spaces.tuple_of(space)), words);
    const auto has = [&](std::size_t g, std::size_t page) {
      return (is_whole(g) && page < whole) || shelves_[g]->kept.contains(keys_->key(page, g).bits);
    };
    const auto anywhere = [&](std::size_t g, std::size_t page) {
      return above_[g].contains({space, chain[page]}) || below_[g].contains({space, chain[page]}) || has(g, page);
    };
    const auto units = [&](std::size_t pages) { return static_cast<std::uint32_t>(pages) * setup_.page; };
    const std::uint32_t found = units(boundary(there / setup_.page, chain.size(), has));
    return {found, units(boundary(0, chain.size(), anywhere)), found > there && units(whole) > there};
  }
  /// Expects that pages that left the host tier in a turn are in the storage, once nothing is on its way.
  void check_put() {
    const CounterValues all = counters();
    for (std::size_t g = 0; g < shelves_.size(); ++g) {
      for (const auto& name : left_[g]) {
        const std::vector<std::uint32_t>& words = words_.at(name);
        keys_->follow(keys_->space(state_of(*engine_).spaces.tuple_of(name.first)), words);
        if (all[Counter::dropped_tokens_storage] == 0)
          REQUIRE(shelves_[g]->kept.contains(keys_->key(keys_->pages() - 1, g).bits));
        ++seen_to_leave;
      }
      left_[g].clear();
    }
  }
  std::vector<std::uint32_t> words_of(std::span<const Token> tokens) const {
    KeyWords room;
    const auto words = state_of(*engine_).codec->encode(tokens, room);
    return {words.begin(), words.end()};
  }

  void begin() {
    if (lives_.size() >= 4) return;
    run_request({prompt(), space(), {}, 0}, false);
  }

  void fetch() {
    if (fetches_.size() >= 3) return;
    Waiting waiting{prompt(), space(), {}, 0};
    RequestSpec spec = arrival(waiting.prompt);
    spec.space = waiting.space;
    const auto usable = std::span<const Token>(waiting.prompt).first(waiting.prompt.size() - 1);
    const std::uint32_t here = longest(above_, waiting.space, usable),
                        there = is_old(waiting.space) ? 0 : longest(below_, waiting.space, usable);
    const CounterValues before = counters();
    waiting.fetch = engine_->tiers().fetch(spec);
    const CounterValues after = counters();
    std::uint64_t counted = 0;
    for (const std::uint64_t outcome : after.all(Counter::fetches)) counted += outcome;
    for (const std::uint64_t outcome : before.all(Counter::fetches)) counted -= outcome;
    if (!setup_.storage.empty()) {  // the outcome is known when the storage has answered
      CHECK(counted <= 1);
      CHECK(engine_->tiers().counters()[Counter::hit_tokens_storage] <=
            engine_->tiers().counters()[Counter::loaded_tokens_storage]);
      if (!waiting.fetch.done()) fetches_.push_back(std::move(waiting));
      return;
    }
    CHECK(counted == 1);
    const auto went = [&](FetchOutcome outcome) {
      return after.at(Counter::fetches, outcome) > before.at(Counter::fetches, outcome);
    };
    CHECK(went(FetchOutcome::nothing) == (there <= here));
    if (went(FetchOutcome::whole)) CHECK(waiting.fetch.tokens() == there - here);
    if (went(FetchOutcome::cut)) CHECK((setup_.whole_path && waiting.fetch.tokens() < there - here));
    waiting.until = went(FetchOutcome::whole) ? there : here + waiting.fetch.tokens();
    if (went(FetchOutcome::joined)) waiting.until = there;
    if (went(FetchOutcome::nothing) || went(FetchOutcome::no_room)) CHECK(waiting.fetch.done());
    else if (!waiting.fetch.done()) CHECK(waiting.fetch.ends_us() >= now_);
    if (!waiting.fetch.done()) fetches_.push_back(std::move(waiting));
  }

  void begin_fetched() {
    if (fetches_.empty() || lives_.size() >= 4) return;
    const auto at = fetches_.begin() + random_.below(static_cast<std::uint32_t>(fetches_.size()));
    Waiting waiting = std::move(*at);
    fetches_.erase(at);
    run_request(std::move(waiting), true);
  }

  /// A match finds exactly what the pools have; what a fetch has brought is there.
  void run_request(Waiting waiting, bool fetched) {
    RequestSpec spec = arrival(waiting.prompt);
    spec.space = waiting.space;
    const std::uint32_t expected =
        longest(above_, waiting.space, std::span<const Token>(waiting.prompt).first(waiting.prompt.size() - 1));
    if (fetched && waiting.fetch.done()) CHECK(expected >= waiting.until);
    const std::uint64_t host = engine_->tiers().counters()[Counter::hit_tokens_host],
                        storage = engine_->tiers().counters()[Counter::hit_tokens_storage];
    fetched_.emplace(waiting.prompt, waiting.space);
    Request request = engine_->begin(spec, std::move(waiting.fetch));
    CHECK(request.matched() == expected);
    from_below += engine_->tiers().counters()[Counter::hit_tokens_host] - host;
    from_storage += engine_->tiers().counters()[Counter::hit_tokens_storage] - storage;
    replay::Trail trail(waiting.space);
    trail.follow(waiting.prompt);
    content_->check(request, trail, 0, request.matched());
    lives_.push_back({std::move(request), std::move(trail)});
    history_.push_back(waiting.prompt);
    if (history_.size() > 40) history_.erase(history_.begin());
  }

  void step() {
    if (lives_.empty()) return;
    const auto at = lives_.begin() + random_.below(static_cast<std::uint32_t>(lives_.size()));
    Live& live = *at;
    if (live.aside) {
      live.aside = false;
      live.request.resume();
      content_->check(live.request, live.trail, 0, live.request.matched());
      return;
    }
    const auto known = static_cast<std::uint32_t>(live.request.tokens().size());
    if (live.request.computed() >= known) {
      committed_ = true;
      live.request.finish(known);
      lives_.erase(at);
      return;
    }
    const std::uint32_t computed = live.request.computed(), until = std::min(known, computed + 1 + random_.below(30));
    if (random_.one_in(12) || !live.request.reserve(until)) {
      live.request.retract();
      live.aside = true;
      return;
    }
    content_->write(live.request, live.trail, computed, until);
    committed_ = true;
    const std::uint32_t before = live.request.committed(), other = live.request.commit(until);
    content_->check(live.request, live.trail, before, before + other);
  }

  void look() {
    const Units overlap = state_of(*engine_).overlap;
    above_ = Walked(state_of(*engine_).index->component(), setup_.page, overlap).names;
    Walked below(state_of(*engine_).below->index->component(), setup_.page, overlap);
    below_ = std::move(below.names);
    if (!shelves_.empty()) words_.merge(below.words);
  }

  void check(const Held& above, const Held& below) {
    for (std::size_t g = 0; g < state_of(*engine_).groups.size(); ++g) check(g, above[g], below[g]);
    for (std::size_t g = 0; g < old_.size(); ++g)
      std::erase_if(old_[g], [&](const auto& name) { return !below_[g].contains(name); });
    old_seen += has_old();
  }
  void check(std::size_t g, const Names& above, const Names& below) {
    const auto within = [](const Names& some, const Names& all) {
      return std::includes(all.begin(), all.end(), some.begin(), some.end());
    };
    const auto of_flushed = [&](const auto& name) { return flushed_ && name.first == *flushed_; };
    CAPTURE(g);
    // Nothing appears but by a commit or a turn, and below by a turn alone.
    if (!committed_ && !turned_) REQUIRE(within(above_[g], above));
    if (!turned_) REQUIRE(within(below_[g], below));
    if (!turned_) ever_[g].insert(above_[g].begin(), above_[g].end());
    // Pages that a turn brought had been there before.
    if (turned_) {
      REQUIRE(within(above_[g], ever_[g]));
      REQUIRE(std::all_of(below_[g].begin(), below_[g].end(),
                          [&](const auto& name) { return ever_[g].contains(name) || old_[g].contains(name); }));
    }
    if (turned_ && !shelves_.empty())
      std::set_difference(below.begin(), below.end(), below_[g].begin(), below_[g].end(),
                          std::inserter(left_[g], left_[g].end()));
    std::erase_if(left_[g], [&](const auto& name) { return of_flushed(name) || old_[g].contains(name); });
    // A flush takes what no request locks. What is still read below is old, and is not found.
    std::erase_if(ever_[g], [&](const auto& name) { return of_flushed(name) && !above_[g].contains(name); });
    if (has_old())
      for (const auto& name : ever_[g])
        if (is_old(name.first) && !above_[g].contains(name)) perhaps_lost_[g].insert(name);
    if (flushed_) std::copy_if(below_[g].begin(), below_[g].end(), std::inserter(old_[g], old_[g].end()), of_flushed);
    // If nothing is dropped, all pages that were there are above, below or on their way.
    if (setup_.keeps_all && setup_.storage.empty() && state_of(*engine_).below->moving[0] == 0)
      for (const auto& name : ever_[g])
        REQUIRE((above_[g].contains(name) || below_[g].contains(name) || perhaps_lost_[g].contains(name)));
  }
  bool has_old() const {
    return std::any_of(old_.begin(), old_.end(), [](const Names& names) { return !names.empty(); });
  }
  /// Returns true if a flush of the namespace left pages in the host tier, which something reads, and they are there
  /// still.
  bool is_old(NamespaceId space) const {
    return std::any_of(old_.begin(), old_.end(), [&](const Names& names) {
      const auto first = names.lower_bound({space, {}});
      return first != names.end() && first->first == space;
    });
  }

  Setup setup_;
  Random random_;
  std::unique_ptr<Engine> engine_;
  std::optional<replay::Content> content_;
  std::vector<Live> lives_;
  std::vector<Waiting> fetches_;
  std::vector<std::vector<Token>> history_;
  std::set<std::pair<std::vector<Token>, NamespaceId>> fetched_;
  std::vector<ByHand*> shelves_;  ///< the storages by group, if the test sees into them
  std::optional<PageKeys> keys_;
  Held above_, below_, ever_;
  Held old_;           ///< in the host tier since before a flush of their namespace
  Held perhaps_lost_;  ///< left the pools while their namespace had old pages below
  Held left_;          ///< seen to leave the host tier since nothing was on its way
  std::map<std::pair<NamespaceId, PrefixName>, std::vector<std::uint32_t>> words_;
  std::uint64_t now_ = 0;
  bool turned_ = false, committed_ = false;
  std::optional<NamespaceId> flushed_;
};

const std::vector<Setup>& setups() {
  static const std::vector<Setup> all = [] {
    const char* const kTwo =
        "groups: { full: { reach: path, capacity: 160, allocator: free_list, eviction: lru }, "
        "window: { reach: 10, capacity: 120, allocator: free_list, eviction: lru } }";
    const char* const kState =
        "groups: { full: { reach: path, capacity: 200, allocator: segments, eviction: slru }, "
        "state: { reach: 1, every: 8, capacity: 60, allocator: contiguous, eviction: lfu } }";
    std::vector<Setup> some;
    some.push_back({.name = "roomy", .tier = "capacity: 100000", .keeps_all = true});
    some.push_back({.name = "slow", .tier = "capacity: 100000, bandwidth: 100MB/s, latency: 50us", .keeps_all = true});
    some.push_back({.name = "tight", .tier = "capacity: 220, bandwidth: 400MB/s"});
    some.push_back({.name = "smaller than the pool", .tier = "capacity: 60"});
    some.push_back({.name = "one copy at a time",
                    .tier = "capacity: 300, latency: 100us",
                    .tune = [](EngineConfig& config) { config.host_tier.in_flight_bytes = 1; }});
    some.push_back({.name = "through", .tier = "capacity: 400, write: write_through, latency: 30us"});
    some.push_back({.name = "nothing is written", .tier = "capacity: 400, write: none"});
    some.push_back({.name = "bigrams", .tier = "capacity: 500, latency: 20us", .key = "bigram"});
    some.push_back({.name = "pages of one token", .tier = "capacity: 300, latency: 20us", .page = 1});
    some.push_back({.name = "window", .groups = kTwo, .tier = "capacity: 400, latency: 20us", .whole_path = false});
    some.push_back({.name = "state", .groups = kState, .tier = "capacity: 300", .whole_path = false});
    return some;
  }();
  return all;
}

/// The same with a storage below. Each fault is one in so many.
const std::vector<Setup>& stored_setups() {
  static const std::vector<Setup> all = [] {
    const std::string simulated = ", bandwidth: 100MB/s",
                      faults = "{ absent: 40, forgets: 20, damaged: 6, late: 15, failed: 15, full: 15, linger: 3 }",
                      // A read of four groups takes many calls.
        rarer = "{ absent: 120, forgets: 60, damaged: 6, late: 30, failed: 30, full: 30, linger: 3 }";
    const char* const kPair =
        "groups: { full: { reach: path, capacity: 160, allocator: free_list, eviction: lru }, "
        "other: { reach: path, capacity: 160, allocator: free_list, eviction: slru } }";
    const char* const kWindow =
        "groups: { full: { reach: path, capacity: 160, allocator: free_list, eviction: lru }, "
        "window: { reach: 10, capacity: 140, allocator: free_list, eviction: lru } }";
    const char* const kStates =
        "groups: { full: { reach: path, capacity: 200, allocator: segments, eviction: slru }, "
        "state: { reach: 1, every: 8, capacity: 60, allocator: contiguous, eviction: lfu } }";
    const char* const kAll =
        "groups: { full: { reach: path, capacity: 160, allocator: free_list, eviction: lru }, "
        "other: { reach: path, capacity: 160, allocator: free_list, eviction: slru }, "
        "window: { reach: 6, capacity: 140, allocator: free_list, eviction: lru }, "
        "state: { reach: 1, every: 8, capacity: 80, allocator: free_list, eviction: lru } }";
    const char* const kWindows =
        "groups: { near: { reach: 5, capacity: 120, allocator: free_list, eviction: lru }, "
        "far: { reach: 13, capacity: 140, allocator: free_list, eviction: lru } }";
    const auto ahead = [](std::uint32_t percent, std::uint64_t latency = 0) -> Tune {
      return [=](EngineConfig& config) {
        config.storage_tier.kept_free_percent = percent;
        config.storage_tier.lane.latency_us = latency;
        config.storage_tier.distrust_us = 1'000'000;
      };
    };
    std::vector<Setup> some;
    some.push_back({.name = "storage keeps all",
                    .tier = "capacity: 160, bandwidth: 1GB/s",
                    .storage = "in: { sim_storage: { linger: 2 } }" + simulated,
                    .tune = ahead(50, 20),
                    .keeps_all = true,
                    .resizes = false});
    some.push_back({.name = "storage of bigrams keeps all",
                    .tier = "capacity: 200",
                    .key = "bigram",
                    .storage = "in: sim_storage" + simulated,
                    .tune = ahead(50, 20),
                    .keeps_all = true,
                    .resizes = false});
    some.push_back({.name = "storage in real time",
                    .tier = "capacity: 100, latency: 20us",
                    .storage = "in: { sim_storage: { linger: 4 } }",
                    .tune = ahead(30)});
    some.push_back({.name = "storage later than its time",
                    .tier = "capacity: 200",
                    .storage = "in: { sim_storage: { linger: 9 } }, within: 600us",
                    .tune = [](EngineConfig& config) {
                      config.storage_tier.kept_free_percent = 20;
                      config.storage_tier.find_limit_us = 500;
                    }});
    some.push_back({.name = "faulty storage",
                    .tier = "capacity: 100",
                    .storage = "in: { sim_storage: " + faults + " }" + simulated,
                    .tune = ahead(30, 20)});
    some.push_back({.name = "faulty storage in real time, of two groups",
                    .groups = kPair,
                    .tier = "capacity: 100, latency: 30us",
                    .storage = "in: { sim_storage: " + faults + " }",
                    .tune = ahead(20)});
    some.push_back({.name = "small storage",
                    .tier = "capacity: 80",
                    .storage = "in: { sim_storage: { capacity: 400KiB } }" + simulated,
                    .tune = [](EngineConfig& config) {
                      config.storage_tier.kept_free_percent = 10;
                      config.storage_tier.in_flight_bytes = 30'000;
                      config.storage_tier.lane.latency_us = 20;
                    }});
    some.push_back({.name = "storage that is written through",
                    .tier = "capacity: 120, latency: 20us",
                    .storage = "in: { sim_storage: { linger: 2 } }, write: through" + simulated,
                    .tune = ahead(5, 20)});
    some.push_back({.name = "faulty storage that is written through, in real time, of two groups",
                    .groups = kPair,
                    .tier = "capacity: 120, write: write_through, latency: 30us",
                    .storage = "in: { sim_storage: " + faults + " }, write: through",
                    .tune = ahead(5)});
    some.push_back({.name = "storage under write_through",
                    .tier = "capacity: 100, write: write_through",
                    .storage = "in: sim_storage" + simulated,
                    .tune = ahead(30, 20)});
    for (const auto& [name, groups] : {std::pair{"storage of windows keeps all", kWindow},
                                       {"storage of states keeps all", kStates},
                                       {"storage of every kind of group keeps all", kAll},
                                       {"storage of windows without a whole path keeps all", kWindows}})
      some.push_back({.name = name,
                      .groups = groups,
                      .tier = "capacity: 160, bandwidth: 1GB/s",
                      .storage = "in: { by_hand: { at_once: true } }" + simulated,
                      .tune = ahead(50, 20),
                      .keeps_all = true,
                      .resizes = false,
                      .whole_path = false});
    some.push_back({.name = "faulty storage of windows",
                    .groups = kWindow,
                    .tier = "capacity: 100",
                    .storage = "in: { sim_storage: " + faults + " }" + simulated,
                    .tune = ahead(30, 20),
                    .whole_path = false});
    some.push_back({.name = "faulty storage of every kind of group, in real time",
                    .groups = kAll,
                    .tier = "capacity: 100, latency: 30us",
                    .storage = "in: { sim_storage: " + rarer + " }",
                    .tune = ahead(20),
                    .whole_path = false});
    some.push_back({.name = "storage of states that is written through",
                    .groups = kStates,
                    .tier = "capacity: 120, write: write_through, latency: 20us",
                    .storage = "in: { sim_storage: { linger: 2 } }, write: through" + simulated,
                    .tune = ahead(5, 20),
                    .whole_path = false});
    return some;
  }();
  return all;
}

/// Returns the number of runs of each setup: with a sanitizer each takes ten times as long.
std::uint64_t seeds() { return kAddressSanitizer ? 1 : std::max<std::uint64_t>(2, with_effort(4)); }

}  // namespace

TEST_CASE("two tiers have what was there, appear by turns alone, and hold the bytes that were written") {
  std::uint64_t old_seen = 0;
  for (const Setup& setup : setups()) {
    CAPTURE(setup.name);
    std::uint64_t fetched = 0, written = 0;
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
      CAPTURE(seed);
      TiersWorld tiers(setup, seed);
      tiers.run(1500);
      tiers.end();
      old_seen += tiers.old_seen;
      fetched += tiers.from_below;
      written += tiers.counters()[Counter::written_tokens_host];
    }
    // A run in which nothing moved proves nothing.
    if (effort() < 1) continue;
    CHECK((written > 0) == (setup.name != "nothing is written"));
    CHECK((fetched > 0) == (setup.name != "nothing is written"));
  }
  CHECK((old_seen > 0 || effort() < 1));
}

TEST_CASE("the same requests under two tiers decide the same") {
  for (const Setup& setup : {setups()[2], setups()[10], stored_setups()[0], stored_setups()[4]}) {
    std::array<std::uint64_t, 2> digests{};
    for (std::uint64_t& digest : digests) {
      TiersWorld tiers(setup, 7);
      tiers.run(800);
      tiers.end();
      digest = tiers.digest();
    }
    CHECK(digests[0] == digests[1]);
  }
}

TEST_CASE("three tiers: nothing that is not right is found, whatever the storage does, and every page has its owner") {
  for (const Setup& setup : stored_setups()) {
    CAPTURE(setup.name);
    std::uint64_t again = 0, from_storage = 0, found_again = 0, from_host_alone = 0, left = 0, continued = 0;
    std::map<std::string_view, std::uint64_t> all;
    std::array<std::uint64_t, std::size(NamesOf<BringOutcome>::kAll)> brings{};
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
      CAPTURE(seed);
      TiersWorld tiers(setup, seed);
      tiers.run(3000);
      tiers.end();
      if (setup.keeps_all) tiers.ask_again();
      again += tiers.fetched_again;
      found_again += tiers.found_again;
      from_host_alone += tiers.from_host_alone;
      left += tiers.seen_to_leave;
      continued += tiers.continued;
      from_storage += tiers.from_storage;
      const CounterValues counters = tiers.counters();
      for_each_counter([&](Counter counter, const CounterInfo& info) { all[info.name] += counters[counter]; });
      for (std::size_t i = 0; i < brings.size(); ++i) brings[i] += counters.at(Counter::fetches_storage, i);
    }
    const auto count = [&](BringOutcome outcome) { return brings[static_cast<std::size_t>(outcome)]; };
    // A run in which nothing happened proves nothing.
    if (effort() < 1) continue;
    CHECK(all["written_tokens_storage"] > 0);
    if (setup.name != "storage later than its time") CHECK(from_storage > 0);
    else CHECK(count(BringOutcome::late) > 0);
    if (setup.keeps_all) CHECK(again > 0);
    if (setup.keeps_all && !setup.whole_path) {
      MESSAGE(setup.name, ": ", found_again, " tokens are found again, of which the pools and the host tier had ",
              from_host_alone, "; ", continued, " prompts continued whole paths of the host tier; ", left,
              " pages were seen to leave the host tier");
      CHECK(found_again > from_host_alone);
      CHECK(left > 0);
    }
    if (setup.name.starts_with("faulty")) {
      CHECK(all["damaged_records_storage"] > 0);
      CHECK(all["breaks_storage"] > 0);
      CHECK(count(BringOutcome::refused) > 0);
    }
  }
}
