/// Random calls of the C interface with wrong arguments among right ones: each returns a code, a refusal changes
/// nothing and has a sentence, and every page keeps one owner.
#include <canopy/base/random.h>
#include <canopy/c/canopy.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t kCalls = 20'000;
constexpr std::uint32_t kNone = ~std::uint32_t{0};

std::string last_sentence() {
  std::string text(canopy_error(nullptr, 0), '\0');
  canopy_error(text.data(), text.size() + 1);
  return text;
}

/// Draws values, and wrong ones among them.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_.below(limit)); }
  template <class Value>
  Value one_of(std::initializer_list<Value> values) {
    return values.begin()[below(static_cast<std::uint32_t>(values.size()))];
  }
  std::uint32_t group() { return one_of<std::uint32_t>({0, 0, 0, 1, 1, 2, 99, kNone}); }
  std::uint32_t tokens() {
    return below(4) ? below(40) : one_of<std::uint32_t>({0, 63, 64, 65, 1u << 20, 1u << 31, kNone - 1, kNone});
  }
  /// Returns a size for a struct of `own` bytes, which has `room` bytes.
  std::size_t size(std::size_t own, std::size_t room) {
    return below(8) ? own : one_of<std::size_t>({0, 1, 8, own - 1, own - 8, own + 8, room, 5000, ~std::size_t{0}});
  }
  /// Returns the pointer, or NULL now and then.
  template <class Pointer>
  Pointer or_null(Pointer pointer) {
    return below(12) ? pointer : nullptr;
  }

 private:
  canopy::Random random_;
};

/// A struct with bytes behind it that the library may write only if the struct's size covers them.
template <class Struct>
struct Roomy {
  Struct value;
  std::array<unsigned char, 64> behind;

  explicit Roomy(Draw& draw) {
    std::memset(static_cast<void*>(this), 0xcd, sizeof *this);
    value.size = draw.size(sizeof value, sizeof value + 32);
    given_ = value.size;
  }
  /// Returns true if nothing was written behind what the size says, and nothing at all where the size was refused.
  bool kept_within(canopy_code code) const {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(this);
    const std::size_t most = code == CANOPY_OK ? given_ : sizeof value.size;
    return std::all_of(bytes + most, bytes + sizeof value + behind.size(),
                       [](unsigned char byte) { return byte == 0xcd; });
  }

 private:
  std::size_t given_;
};

const char* const kHostileEngines[] = {
    "page_size: 4\n"
    "groups:\n"
    "  full: { reach: path, capacity: 64, allocator: free_list, eviction: lru }\n"
    "  window: { reach: 8, capacity: 48, allocator: free_list, eviction: lru }\n"
    "store: { host: { layers: 1, streams: { kv: 8 } } }\n",
    "page_size: 4\n"
    "groups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: slru } }\n"
    "tiers: { host: { capacity: 128 } }\n"
    "tenants: { a: { floor: 8 }, \"*\": {} }\n"
    "store: { host: { layers: 1, streams: { kv: 8 } } }\n",
};

class HostileEngine {
 public:
  HostileEngine(const char* yaml, std::uint64_t seed) : draw_(seed) {
    canopy_engine_options options{};
    options.size = sizeof options;
    options.yaml = yaml;
    REQUIRE(canopy_engine_create(&options, &engine_) == CANOPY_OK);
    std::uint32_t space = 0;
    REQUIRE(canopy_engine_intern(engine_, "a", nullptr, nullptr, &space) == CANOPY_OK);
  }
  ~HostileEngine() {
    for (canopy_request* request : requests_) canopy_request_destroy(request);
    for (canopy_fetch* fetch : fetches_) canopy_fetch_destroy(fetch);
    CHECK(canopy_engine_audit(engine_) == CANOPY_OK);
    CHECK(canopy_engine_destroy(engine_) == CANOPY_OK);
  }
  HostileEngine(const HostileEngine&) = delete;

  void step() {
    const std::uint64_t before = digest();
    const canopy_code code = draw_.below(3) ? on_request() : draw_.below(3) ? on_engine() : look();
    ++codes[code];
    REQUIRE(std::string(canopy_code_name(code)) != "unknown");
    if (code == CANOPY_OK || code == CANOPY_NO_ROOM) return;
    CHECK(!last_sentence().empty());
    if (code == CANOPY_VIOLATION) return;
    CAPTURE(last_sentence());
    CHECK(digest() == before);  // a refusal changes nothing
  }

  std::map<canopy_code, std::uint64_t> codes;

 private:
  std::uint64_t digest() const {
    canopy_engine_state state{sizeof state, 0, 0, 0, 0, 0, 0, 0};
    REQUIRE(canopy_engine_look(engine_, &state) == CANOPY_OK);
    return state.digest;
  }

  canopy_code on_engine() {
    canopy_engine* const engine = draw_.or_null(engine_);
    std::uint64_t number = 0;
    std::uint32_t space = 0;
    std::int32_t flag = 0;
    std::array<char, 64> text;
    switch (draw_.below(20)) {
      case 0: {
        Roomy<canopy_request_spec> spec(draw_);
        return begin(engine, spec);
      }
      case 1:
        if (fetches_.empty()) return CANOPY_OK;
        canopy_fetch_destroy(std::exchange(fetches_[draw_.below(count(fetches_))], nullptr));
        std::erase(fetches_, nullptr);
        return CANOPY_OK;
      case 2:
        return canopy_engine_turn(engine, now_ += draw_.below(2000));
      case 3:
        return canopy_engine_next_end_us(engine, draw_.or_null(&number));
      case 4:
        return canopy_engine_poll(engine, draw_.or_null(&flag));
      case 5:
        return canopy_engine_use_policy(engine, draw_.group(), draw_.or_null(draw_.one_of({"lru", "slru", "lrru", ""})),
                                        draw_.or_null(draw_.one_of({"", "{ protect_after: 3 }", "{ x: ", "[]", "7"})));
      case 6:
        return canopy_engine_make_free(engine, draw_.group(),
                                       draw_.one_of<std::uint64_t>({0, 1, 16, 17, 1ull << 40, CANOPY_UNLIMITED}));
      case 7:
        return canopy_engine_flush(engine, draw_.one_of<std::uint32_t>({0, 1, 2, kNone}), draw_.or_null(&number));
      case 8:
        return canopy_engine_resize(engine, draw_.group(), draw_.one_of<std::uint64_t>({0, 8, 12, 16, 16, 16, 20}));
      case 9:
        return canopy_engine_audit(engine);
      case 10:
        if (const canopy_code code =
                canopy_engine_intern(engine, draw_.or_null("a"), draw_.or_null(""), nullptr, draw_.or_null(&space)))
          return code;
        CHECK(space < 2);
        return CANOPY_OK;
      case 11:
        return canopy_engine_counter(engine, draw_.or_null(draw_.one_of({"hit_tokens_host", "hits", ""})),
                                     draw_.below(3), draw_.below(3), draw_.or_null(&number));
      case 12: {
        Roomy<canopy_share> share(draw_);
        share.value = CANOPY_SHARE_INIT;
        share.value.size = draw_.size(sizeof share.value, sizeof share.value + 32);
        share.value.weight = draw_.one_of({1.0, 0.0, -1.0, 1e300});
        share.value.floor = draw_.tokens();
        return canopy_engine_set_share(engine, draw_.or_null(draw_.one_of({"a", "*", ""})),
                                       draw_.or_null(&share.value));
      }
      case 13: {
        Roomy<canopy_share> share(draw_);
        const canopy_code code = canopy_engine_tenant(engine, draw_.below(4), nullptr, 0, nullptr, &share.value);
        CHECK(share.kept_within(code));
        return code;
      }
      case 14: {
        std::array<std::uint64_t, 20> figures;
        std::size_t length = 0;
        return canopy_engine_tenant_figures(engine, draw_.below(4), draw_.or_null(figures.data()),
                                            draw_.below(figures.size()), draw_.or_null(&length));
      }
      case 15: {
        std::array<std::uint32_t, 12> prompt;
        for (std::uint32_t i = 0; i < prompt.size(); ++i) prompt[i] = 100 + i;
        Roomy<canopy_request_spec> spec(draw_);
        const std::size_t size = spec.value.size;
        spec.value = CANOPY_REQUEST_SPEC_INIT;
        spec.value.size = size;
        spec.value.prompt = draw_.or_null(prompt.data());
        spec.value.prompt_tokens = prompt.size();
        spec.value.space = draw_.below(3);
        canopy_found found{};
        const canopy_code code =
            canopy_engine_find(engine, draw_.or_null(&spec.value), draw_.below(2), draw_.or_null(&found));
        if (found.node) node_ = found.node;
        return code;
      }
      case 16: {
        std::array<std::uint32_t, 3> order{};
        const std::array<std::uint64_t, 3> nodes{node_, 0, draw_.below(1'000'000)};
        return canopy_engine_order_by_weight(engine, draw_.or_null(nodes.data()), draw_.below(4),
                                             draw_.or_null(order.data()));
      }
      case 17: {
        std::array<canopy_blocker, 2> blockers;
        std::size_t length = 0;
        return canopy_engine_blockers(engine, draw_.group(), draw_.or_null(blockers.data()), draw_.below(3),
                                      draw_.or_null(&length));
      }
      case 18:
        if (draw_.below(2)) return canopy_engine_pin(engine, draw_.one_of<std::uint64_t>({node_, 0, 7, ~0ull}));
        return canopy_engine_unpin(engine, node_);
      default: {
        std::size_t length = 0;
        return canopy_engine_text(engine, draw_.one_of<std::int32_t>({-1, 0, 1, 2, 3, 4, 5}), draw_.group(),
                                  draw_.or_null(text.data()), draw_.below(text.size()), draw_.or_null(&length));
      }
    }
  }

  canopy_code begin(canopy_engine* engine, Roomy<canopy_request_spec>& spec) {
    std::vector<std::uint32_t> prompt(draw_.below(70));
    const std::uint32_t family = draw_.below(4);
    for (std::uint32_t i = 0; i < prompt.size(); ++i) prompt[i] = 100 * family + i;
    const canopy_retention keep{draw_.tokens(), 0, draw_.tokens()};
    const std::size_t size = spec.value.size;
    spec.value = CANOPY_REQUEST_SPEC_INIT;
    spec.value.size = size;
    if (draw_.below(4)) spec.behind = {};  // fields that the library does not know: without a value
    spec.value.prompt = draw_.or_null(prompt.data());
    spec.value.prompt_tokens = prompt.size();
    spec.value.space = draw_.one_of<std::uint32_t>({0, 0, 1, 2, kNone});
    spec.value.output_limit = draw_.tokens();
    spec.value.min_uncached = draw_.tokens();
    spec.value.chunk = draw_.tokens();
    spec.value.retentions = draw_.below(2);
    spec.value.retention = draw_.or_null(&keep);
    const canopy_request_spec* const given = draw_.or_null(&spec.value);
    std::int32_t verdict = 0;
    std::array<char, 32> reason;
    if (draw_.below(4) == 0)
      return canopy_engine_admits(engine, given, draw_.or_null(&verdict), reason.data(), draw_.below(reason.size()));
    if (draw_.below(3) == 0) {
      canopy_fetch* fetch = nullptr;
      const canopy_code code = canopy_engine_fetch(engine, given, draw_.or_null(&fetch));
      if (code != CANOPY_OK) CHECK(fetch == nullptr);
      if (fetch) fetches_.push_back(fetch);
      return code;
    }
    canopy_fetch* const fetched = fetches_.empty() ? nullptr : draw_.or_null(fetches_[draw_.below(count(fetches_))]);
    canopy_request* request = nullptr;
    const canopy_code code = canopy_engine_begin(engine, given, fetched, draw_.or_null(&request));
    if (code != CANOPY_OK) CHECK(request == nullptr);
    if (request) requests_.push_back(request), ended_.erase(request);
    return code;
  }

  canopy_code on_request() {
    if (requests_.empty()) return CANOPY_OK;
    const std::uint32_t at = draw_.below(count(requests_));
    // A handle that was destroyed is noticed until another request has it.
    canopy_request* const request = draw_.below(16) || ended_.empty() ? draw_.or_null(requests_[at]) : *ended_.begin();
    std::array<std::uint32_t, 80> words{};
    std::array<std::int32_t, 160> table{};
    std::size_t length = 0;
    std::uint32_t number = 0;
    switch (draw_.below(15)) {
      case 0:
        return canopy_request_reserve(request, draw_.tokens(), draw_.tokens());
      case 1:
        return canopy_request_append(request, draw_.or_null(words.data()), draw_.below(8));
      case 2:
        return canopy_request_row(request, draw_.group(), draw_.one_of<std::size_t>({0, 1, 16, ~std::size_t{0}}),
                                  draw_.or_null(words.data()), draw_.below(words.size()), draw_.or_null(&length));
      case 3:
        return canopy_request_tokens(request, draw_.one_of<std::size_t>({0, 1, 70, ~std::size_t{0}}),
                                     draw_.or_null(words.data()), draw_.below(words.size()), draw_.or_null(&length));
      case 4:
      case 5: {
        std::array<std::uint64_t, 80> rows{};
        void* stream = draw_.or_null(rows.data());
        const void* from = stream;
        const bool write = draw_.below(2);
        const std::uint32_t group = draw_.group(), layer = draw_.one_of<std::uint32_t>({0, 0, 0, 1, kNone}),
                            first = draw_.tokens();
        const std::uint32_t rows_of = draw_.one_of<std::uint32_t>({0, 1, 4, 17, kNone - first, kNone});
        // More rows than the buffer has are the caller's own mistake, unless the request cannot have them either.
        const std::uint32_t least = rows_of <= rows.size() ? rows_of : std::max(rows_of, 200u);
        const std::size_t streams = draw_.one_of<std::size_t>({1, 1, 1, 0, 2});
        if (write) return canopy_request_write(request, group, layer, first, least, draw_.or_null(&from), streams);
        return canopy_request_read(request, group, layer, first, least, draw_.or_null(&stream), streams);
      }
      case 6:
        return canopy_request_advance(request, draw_.tokens());
      case 7:
        return canopy_request_commit(request, draw_.tokens(), draw_.or_null(&number));
      case 8:
        return canopy_request_rematch(request, draw_.or_null(&number));
      case 9:
        return canopy_request_finish(request, draw_.tokens());
      case 10:
        return canopy_request_abort(request);
      case 11:
        return canopy_request_retract(request);
      case 12:
        return canopy_request_resume(request, draw_.or_null(&number));
      case 13: {
        std::array<const canopy_request*, 2> batch{request, requests_[at]};
        const std::size_t rows = draw_.below(3), width = draw_.below(80);
        return canopy_engine_page_table(draw_.or_null(engine_), draw_.or_null(batch.data()), rows, draw_.group(),
                                        draw_.one_of<std::int32_t>({-1, 0, 0, 1, 1, 2}), draw_.or_null(table.data()),
                                        width, draw_.or_null(&length));
      }
      default:
        canopy_request_destroy(request);
        if (!request || ended_.contains(request)) return CANOPY_OK;
        std::erase(requests_, request);
        ended_.insert(request);
        return CANOPY_OK;
    }
  }

  /// Looks at figures with structs of any size.
  canopy_code look() {
    canopy_engine* const engine = draw_.or_null(engine_);
    switch (draw_.below(6)) {
      case 0:
        return result<canopy_engine_state>([&](auto* to) { return canopy_engine_look(engine, to); });
      case 1:
        return result<canopy_counters>([&](auto* to) { return canopy_engine_counters(engine, to); });
      case 2:
        return result<canopy_pool>([&](auto* to) { return canopy_engine_pool(engine, draw_.group(), to); });
      case 3:
        return result<canopy_kv_view>([&](auto* to) { return canopy_engine_view(engine, draw_.group(), to); });
      case 4:
        if (requests_.empty()) return CANOPY_OK;
        return result<canopy_request_state>(
            [&](auto* to) { return canopy_request_look(draw_.or_null(requests_.back()), to); });
      default:
        if (fetches_.empty()) return CANOPY_OK;
        return result<canopy_fetch_state>([&](auto* to) {
          return canopy_fetch_look(draw_.or_null(fetches_.back()),
                                        draw_.one_of<std::uint64_t>({0, 1000, CANOPY_UNLIMITED}), to);
        });
    }
  }
  template <class Struct, class Call>
  canopy_code result(Call&& call) {
    Roomy<Struct> to(draw_);
    const canopy_code code = call(draw_.or_null(&to.value));
    CHECK(to.kept_within(code));
    return code;
  }
  template <class List>
  static std::uint32_t count(const List& list) {
    return static_cast<std::uint32_t>(list.size());
  }

  Draw draw_;
  canopy_engine* engine_ = nullptr;
  std::vector<canopy_request*> requests_;
  std::set<canopy_request*> ended_;  ///< destroyed, and not yet another request's
  std::vector<canopy_fetch*> fetches_;
  std::uint64_t now_ = 0, node_ = 0;
};

/// An index, and the pages that it has: each is the index's or the caller's.
class HostileIndex {
 public:
  explicit HostileIndex(std::uint64_t seed) : draw_(seed) {
    const canopy_index_reach window{"window", nullptr, 0, 8, 0};
    canopy_index_options options{};
    options.size = sizeof options;
    options.page_size = 4;
    options.reaches = &window;
    options.reach_count = 1;
    REQUIRE(canopy_index_create(&options, &index_) == CANOPY_OK);
  }
  ~HostileIndex() {
    for (canopy_lock& lock : locks_) canopy_index_release(index_, &lock);
    CHECK(canopy_index_clear(index_) == CANOPY_OK);
    std::array<std::uint32_t, 64> pages;
    for (std::uint32_t group = 0; group < 2; ++group)
      for (std::size_t count = 1; count > 0;) {
        REQUIRE(canopy_index_take_pages(index_, group, pages.data(), pages.size(), &count, nullptr) == CANOPY_OK);
        take(group, pages.data(), count);
      }
    for (const auto& owned : owned_) CHECK(owned.empty());  // every page came back, once
    canopy_index_destroy(index_);
  }
  HostileIndex(const HostileIndex&) = delete;

  void step() {
    const canopy_code code = call();
    ++codes[code];
    REQUIRE(std::string(canopy_code_name(code)) != "unknown");
    if (code != CANOPY_OK && code != CANOPY_NO_ROOM) CHECK(!last_sentence().empty());
  }

  std::map<canopy_code, std::uint64_t> codes;

 private:
  void take(std::uint32_t group, const std::uint32_t* pages, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) CHECK(owned_[group].erase(pages[i]) == 1);
  }

  canopy_code call() {
    canopy_index* const index = draw_.or_null(index_);
    std::array<std::uint32_t, 64> words;
    const std::uint32_t family = draw_.below(4);
    for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = 100 * family + i;
    canopy_key key{draw_.or_null(words.data()), draw_.below(words.size()), draw_.one_of<std::uint32_t>({0, 0, 0, 7}),
                   0};
    const canopy_key* const given = draw_.or_null(&key);
    canopy_lock fresh{};
    canopy_lock* const lock = locks_.empty() || draw_.below(4) == 0 ? &fresh : &locks_[draw_.below(count())];
    std::array<std::uint32_t, 80> to{};
    std::size_t number = 0, rest = 0;
    std::uint32_t length = 0;
    switch (draw_.below(11)) {
      case 0:
        return canopy_index_peek(index, given, draw_.or_null(&length));
      case 1:
      case 2: {
        const canopy_code code = canopy_index_match(index, given, &fresh);
        if (code == CANOPY_OK) locks_.push_back(fresh);
        return code;
      }
      case 3:
        return canopy_index_pages(index, draw_.or_null(lock), draw_.group(),
                                  draw_.one_of<std::uint32_t>({0, 4, 6, 64, kNone}), draw_.or_null(to.data()),
                                  draw_.below(to.size()), draw_.or_null(&number));
      case 4:
      case 5:
        return insert(index, draw_.or_null(lock), given, key);
      case 6:
        return canopy_index_relax(index, draw_.or_null(lock), draw_.group(),
                                  draw_.one_of<std::uint32_t>({0, 4, 8, 64, kNone}));
      case 7: {
        canopy_lock copy = *lock;  // the second release of the same lock is refused
        const canopy_code code = canopy_index_release(index, draw_.or_null(lock));
        if (code == CANOPY_OK) {
          CHECK(lock->node == 0);
          CHECK(canopy_index_release(index_, &copy) == CANOPY_OK);
        }
        return code;
      }
      case 8:
        return canopy_index_evict(index, draw_.group(), draw_.one_of<std::size_t>({0, 1, 5, 1u << 30, ~std::size_t{0}}),
                                  draw_.or_null(&number));
      case 9:
        return draw_.below(8) ? canopy_index_flush(index, draw_.one_of<std::uint32_t>({0, 1, kNone}))
                              : canopy_index_poll(index);
      default: {
        const std::uint32_t group = draw_.group();
        const canopy_code code = canopy_index_take_pages(index, group, draw_.or_null(to.data()), draw_.below(to.size()),
                                                         draw_.or_null(&number), draw_.or_null(&rest));
        if (code == CANOPY_OK) take(group, to.data(), number);
        return code;
      }
    }
  }

  canopy_code insert(canopy_index* index, canopy_lock* lock, const canopy_key* given, const canopy_key& key) {
    std::array<std::vector<std::uint32_t>, 2> pages;
    std::array<canopy_pages, 2> groups{};
    const std::size_t covered = lock ? lock->length / 4 : 0, whole = key.count / 4;
    const std::size_t wanted = whole > covered ? whole - covered : 0;
    for (std::size_t g = 0; g < 2; ++g) {
      for (std::size_t i = 0; i < wanted + draw_.below(2); ++i) pages[g].push_back(++next_);
      const std::size_t fewer = draw_.below(16) == 0 && !pages[g].empty();
      groups[g] = {draw_.or_null(pages[g].data()), pages[g].size() - fewer};
    }
    std::uint32_t had = 0;
    const std::uint32_t before = lock ? lock->length : 0;
    const canopy_code code = canopy_index_insert(index, lock, given, draw_.or_null(groups.data()),
                                                 draw_.one_of<std::size_t>({2, 2, 2, 2, 0, 1, 3}), draw_.or_null(&had));
    if (code != CANOPY_OK) return code;
    // Deeper pages than the new lock stay with the caller.
    const std::size_t given_up = lock->length > before ? (lock->length - before) / 4 : 0;
    for (std::size_t g = 0; g < 2; ++g)
      owned_[g].insert(pages[g].begin(), pages[g].begin() + static_cast<std::ptrdiff_t>(given_up));
    return code;
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(locks_.size()); }

  Draw draw_;
  canopy_index* index_ = nullptr;
  std::vector<canopy_lock> locks_;
  std::array<std::set<std::uint32_t>, 2> owned_;  ///< pages of each group that the index has, or has given up
  std::uint32_t next_ = 0;
};

}  // namespace

TEST_CASE("an engine under random calls with wrong arguments refuses them, and every page keeps one owner") {
  std::map<canopy_code, std::uint64_t> codes;
  for (const char* yaml : kHostileEngines) {
    CAPTURE(yaml);
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      CAPTURE(seed);
      HostileEngine engine(yaml, seed);
      for (std::size_t i = 0; i < kCalls; ++i) engine.step();
      for (const auto& [code, times] : engine.codes) codes[code] += times;
    }
  }
  for (const canopy_code code : {CANOPY_OK, CANOPY_NO_ROOM, CANOPY_BAD_ARGUMENT, CANOPY_BAD_SIZE, CANOPY_SMALL_BUFFER,
                                 CANOPY_NOT_FOUND, CANOPY_WRONG_STATE, CANOPY_VIOLATION, CANOPY_REFUSED}) {
    CAPTURE(canopy_code_name(code));
    CHECK(codes[code] > 20);
  }
  CHECK(codes[CANOPY_FAILED] == 0);
  CHECK(codes[CANOPY_NO_MEMORY] == 0);
}

TEST_CASE("an index under random calls with wrong arguments loses no page") {
  std::map<canopy_code, std::uint64_t> codes;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    HostileIndex index(seed);
    for (std::size_t i = 0; i < kCalls; ++i) index.step();
    for (const auto& [code, times] : index.codes) codes[code] += times;
  }
  for (const canopy_code code : {CANOPY_OK, CANOPY_NO_ROOM, CANOPY_BAD_ARGUMENT, CANOPY_SMALL_BUFFER}) {
    CAPTURE(canopy_code_name(code));
    CHECK(codes[code] > 20);
  }
  CHECK(codes[CANOPY_FAILED] == 0);
}
