#include <support/engines.h>

#include <cache/guard/ports.h>

using namespace canopy;
using namespace canopy::test;

namespace {

constexpr const char* kElastic = R"(
page_size: 4
index: radix
groups: { full: { reach: path, capacity: 256, start: 0, allocator: free_list, eviction: lru } }
store: { host: { streams: { kv: 8 } } }
segment_pages: 8
)";

/// A request that comes, computes everything and finishes: its tokens are reusable afterwards.
void serve(Engine& engine, const std::vector<Token>& prompt) {
  Request request = engine.begin(arrival(prompt, 0));
  const auto count = static_cast<std::uint32_t>(prompt.size());
  REQUIRE(request.reserve(count, count));
  request.finish(count);
}

std::uint32_t found(Engine& engine, const std::vector<Token>& prompt) {
  Request request = engine.begin(arrival(prompt, 0));
  const std::uint32_t matched = request.matched();
  request.abort();
  return matched;
}

std::size_t backed(const Engine& engine) {
  const auto segments = engine.pool(0).segments();
  return static_cast<std::size_t>(
      std::count_if(segments.begin(), segments.end(), [](const PoolSegment& one) { return one.backed; }));
}

/// Rows that remember nothing, in memory that ends after so many segments.
class SmallMemory final : public KVStore {
 public:
  explicit SmallMemory(std::size_t segments) : left_(segments) { view_.segment_pages = 4; }
  std::span<const Stream> streams() const override { return streams_; }
  std::uint32_t layers() const override { return 2; }
  void write(std::uint32_t, Slots, const Rows&) override {}
  void read(std::uint32_t, Slots, const Rows&) override {}
  void copy(std::span<const Page>, std::span<const Page>) override {}
  bool back(std::uint32_t) override { return left_ > 0 && left_--; }
  void unback(std::uint32_t) override { ++left_; }
  const char* sync() override { return nullptr; }
  const KVView& view() const override { return view_; }
  void save(std::span<const Page>, std::byte*) override {}
  void load(const std::byte*, std::span<const Page>) override {}
  void pin(std::uint32_t) override {}
  void unpin(std::uint32_t) override {}
  SharedMemory share(std::uint32_t, std::size_t) override { return {}; }
  void use_stream(void*) override {}
  std::size_t left_;

 private:
  KVView view_{};
  std::array<Stream, 1> streams_{{{"kv", 1 << 20}}};
};

Pool pool_on(const std::shared_ptr<KVStore>& store, std::uint64_t limit, std::uint64_t start) {
  static Ledger ledger;
  Pool::Components parts;
  parts.group = "full";
  parts.needs = {16, 0, kWholePath, 1, 1};
  parts.allocator =
      std::make_shared<AllocatorPort>(*plugins().make<SlotAllocator>("free_list", {}), "a test's", ledger);
  parts.store = std::make_shared<StorePort>(store, "a test's", ledger);
  parts.limit = limit;
  parts.start = start;
  parts.segment_pages = 4;
  return Pool(std::move(parts));
}

}  // namespace

TEST_CASE("a pool that starts empty grows a segment at a time, before anything is evicted") {
  const auto engine = engine_of(kElastic);
  CHECK(backed(*engine) == 0);
  for (Token i = 0; i < 7; ++i) serve(*engine, tokens(1000 * i, 32));
  CHECK(engine->counters().evict_calls == 0);
  CHECK(backed(*engine) == 8);  // 56 pages and page 0, by eights
  CHECK(engine->pool(0).offered() == 63);
  serve(*engine, tokens(9000, 32));
  CHECK(engine->counters().evict_calls == 0);  // 64 pages are the limit
  serve(*engine, tokens(9500, 32));
  CHECK(engine->counters().evict_calls == 1);
  CHECK(found(*engine, tokens(0, 32)) == 0);
  check_settled(*engine);
}

TEST_CASE("a lower limit evicts the oldest pages, relocates the others and gives the memory back") {
  const auto engine = engine_of(kElastic);
  for (Token i = 0; i < 8; ++i) serve(*engine, tokens(1000 * i, 32));
  CHECK(found(*engine, tokens(0, 32)) == 32);  // no longer the oldest
  engine->resize(0, 16);
  CHECK_FALSE(engine->pool(0).draining());
  CHECK(engine->pool(0).occupancy().capacity == 16);
  CHECK(backed(*engine) <= 4);
  CHECK(found(*engine, tokens(0, 32)) == 32);
  CHECK(found(*engine, tokens(7000, 32)) == 32);
  CHECK(found(*engine, tokens(6000, 32)) == 0);
  engine->resize(0, 64);
  for (Token i = 10; i < 16; ++i) serve(*engine, tokens(1000 * i, 32));
  CHECK(found(*engine, tokens(0, 32)) == 32);
  check_settled(*engine);
}

TEST_CASE("rows keep their bytes when their pages are relocated") {
  const auto engine = engine_of(kElastic);
  const auto prompt = tokens(5, 32);
  serve(*engine, tokens(7000, 96));
  {
    Request request = engine->begin(arrival(prompt, 0));
    REQUIRE(request.reserve(32, 32));
    std::array<std::byte, 32 * 8> rows;
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::byte>(i * 7);
    request.write(0, 0, 32, {{rows.data()}, Rows::At::host});
    request.finish(32);
  }
  Request before = engine->begin(arrival(prompt, 0));
  const std::vector<Page> pages(before.row(0).begin(), before.row(0).end());
  before.abort();
  engine->resize(0, 9);
  Request after = engine->begin(arrival(prompt, 0));
  REQUIRE(after.matched() == 32);
  std::uint64_t moved = 0;
  for (std::size_t i = 0; i < pages.size(); ++i) moved += after.row(0)[i] != pages[i];
  CHECK(moved > 0);
  CHECK(engine->counters().relocated_pages == moved);
  std::array<std::byte, 32 * 8> read{};
  after.read(0, 0, 32, {{read.data()}, Rows::At::host});
  for (std::size_t i = 0; i < read.size(); ++i) CHECK(read[i] == static_cast<std::byte>(i * 7));
  after.abort();
  check_settled(*engine);
}

TEST_CASE(
    "pages that a request has locked stay where they are, the pool names the request, and drains on when it ends") {
  const auto engine = engine_of(kElastic);
  std::vector<Request> running;
  for (Token i = 0; i < 8; ++i) {
    running.push_back(engine->begin(arrival(tokens(1000 * i, 28), 0)));
    REQUIRE(running.back().reserve(32, 32));
  }
  engine->resize(0, 20);
  CHECK(engine->pool(0).draining());
  CHECK(engine->pool(0).surplus() == 44);
  CHECK(engine->pool(0).occupancy().capacity == 64);
  const auto blockers = engine->blockers(0);
  std::uint64_t pages = 0;
  for (const Blocker& blocker : blockers) {
    CHECK(blocker.pages > 0);
    pages += blocker.pages;
  }
  CHECK(pages == 44);
  CHECK(engine->admits(arrival(tokens(90'000, 16))).verdict == Admission::Verdict::wait);
  CHECK(engine->admits(arrival(tokens(90'000, 84))).verdict == Admission::Verdict::never);
  for (Request& request : running) request.finish(28);
  running.clear();
  for (int passes = 0; passes < 100; ++passes) engine->poll();
  CHECK_FALSE(engine->pool(0).draining());
  CHECK(engine->blockers(0).empty());
  CHECK(engine->pool(0).occupancy().capacity == 20);
  CHECK(backed(*engine) <= 4);
  check_settled(*engine);
}

TEST_CASE("draining waits for a pinned node, names it, and relocates it when it is unpinned") {
  const auto engine = engine_of(kElastic);
  for (Token i = 0; i < 8; ++i) serve(*engine, tokens(1000 * i, 32));
  struct Nodes final : NodeVisitor {
    std::vector<NodeId> ids;
    void node(const NodeView& node) override { ids.push_back(node.facts.id); }
  } nodes;
  engine->index().visit(nodes);
  for (const NodeId id : nodes.ids) REQUIRE(engine->pin(id));
  engine->resize(0, 24);
  CHECK(engine->pool(0).draining());
  std::uint64_t pages = 0;
  for (const Blocker& blocker : engine->blockers(0)) {
    CHECK(blocker.request == 0);
    CHECK(std::find(nodes.ids.begin(), nodes.ids.end(), blocker.pinned) != nodes.ids.end());
    pages += blocker.pages;
  }
  CHECK(pages == 40);
  for (const NodeId id : nodes.ids) REQUIRE(engine->unpin(id));
  for (int passes = 0; passes < 100; ++passes) engine->poll();
  CHECK_FALSE(engine->pool(0).draining());
  CHECK(engine->pool(0).occupancy().capacity == 24);
  check_settled(*engine);
}

TEST_CASE("draining ends with the page that is freed last, however it is freed") {
  const auto engine = engine_of(kElastic);
  const auto same = tokens(1, 32), other = tokens(900, 28);
  {
    Request first = engine->begin(arrival(same, 0)), rest = engine->begin(arrival(other, 0)),
            spare = engine->begin(arrival(same, 0));
    REQUIRE(first.reserve(32));
    REQUIRE(rest.reserve(28));
    REQUIRE(spare.reserve(32));
    engine->resize(0, 15);
    REQUIRE(engine->pool(0).draining());
    REQUIRE(engine->blockers(0).size() == 1);
    CHECK(engine->blockers(0)[0].request == spare.id());
    first.commit(32);
    spare.commit(32);  // its pages are spare
    first.finish(32);
    spare.finish(32);
    rest.finish(28);
  }
  CHECK_FALSE(engine->pool(0).draining());
  CHECK(engine->pool(0).occupancy().capacity == 15);
  check_settled(*engine);
}

TEST_CASE("a pool that grows again keeps its draining segments") {
  const auto engine = engine_of(kElastic);
  Request request = engine->begin(arrival(tokens(1, 256), 0));
  REQUIRE(request.reserve(256, 256));
  const std::vector<Page> pages(request.row(0).begin(), request.row(0).end());
  engine->resize(0, 10);
  CHECK(engine->pool(0).draining());
  engine->resize(0, 64);
  CHECK_FALSE(engine->pool(0).draining());
  CHECK(engine->pool(0).offered() == 64);
  CHECK(std::vector<Page>(request.row(0).begin(), request.row(0).end()) == pages);
  request.finish(256);
  CHECK(found(*engine, tokens(1, 256)) == 256);
  check_settled(*engine);
}

TEST_CASE("with too little memory the pool is smaller, says so with its arithmetic, and tries again") {
  const auto memory = std::make_shared<SmallMemory>(3);
  Pool pool = pool_on(memory, 100, 100);
  REQUIRE(pool.open());
  CHECK(pool.limit() == 11);  // 3 segments of 4 pages, one of them page 0
  CHECK(pool.memory() ==
        "group 'full': the system refused memory after 11 pages of 33554432 bytes (352.0 MiB): the pool has 176 "
        "tokens, and 100 pages of 1600 tokens were wanted");
  CHECK(pool.shortfall(12) == 1);
  memory->left_ = 1;
  std::array<Page, 4> pages{};
  REQUIRE(pool.allocate(pages, 1));
  CHECK(pool.shortfall(8) == 0);  // a segment's worth of pages later
  CHECK(pool.limit() == 100);
  CHECK(pool.memory().empty());

  const auto nothing = std::make_shared<SmallMemory>(0);
  const auto opened = pool_on(nothing, 100, 100).open();
  REQUIRE_FALSE(opened);
  CHECK(opened.error().text.find("after 0 pages") != std::string::npos);
}

TEST_CASE("a lower limit takes the emptiest segments, wherever they lie, so that the fewest pages must go") {
  const auto memory = std::make_shared<SmallMemory>(8);
  Pool pool = pool_on(memory, 31, 31);
  REQUIRE(pool.open());
  std::array<Page, 31> pages{};
  REQUIRE(pool.allocate(pages, 1));
  // Segment 3 is empty, segment 5 has one page, all others are full.
  std::vector<Page> gone;
  for (const Page page : pages)
    if (page / 4 == 3 || (page / 4 == 5 && page % 4 != 0)) gone.push_back(page);
  REQUIRE(pool.free(gone));
  pool.set_limit(27), pool.go_to_limit();
  CHECK(pool.segments()[3].state() == SegmentState::absent);
  CHECK_FALSE(pool.draining());
  pool.set_limit(23), pool.go_to_limit();
  CHECK(pool.segments()[5].state() == SegmentState::draining);
  CHECK(pool.segments()[5].draining == 1);
  for (const std::size_t full : {0U, 1U, 2U, 4U, 6U, 7U}) CHECK(pool.segments()[full].state() == SegmentState::offered);
  CHECK(pool.surplus() == 1);
}

TEST_CASE("segments that become empty give their memory back") {
  const auto memory = std::make_shared<SmallMemory>(25);
  Pool pool = pool_on(memory, 99, 99);
  REQUIRE(pool.open());
  CHECK(memory->left_ == 0);
  pool.set_limit(39), pool.go_to_limit();
  CHECK(memory->left_ == 15);
  CHECK(pool.offered() == 39);
}

TEST_CASE("of the segments that become empty as many keep their memory as `idle_segments` says") {
  std::size_t least = 0;
  for (const std::size_t kept : {0U, 1U, 2U}) {
    CAPTURE(kept);
    const auto engine = engine_of(kElastic, {"idle_segments=" + std::to_string(kept)});
    for (Token i = 0; i < 8; ++i) serve(*engine, tokens(1000 * i, 32));
    engine->make_free(0, 64);
    engine->resize(0, 16);
    REQUIRE_FALSE(engine->pool(0).draining());
    if (kept == 0) least = backed(*engine);
    CHECK(backed(*engine) == least + kept);
  }
}
