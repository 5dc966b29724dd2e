/// The work of the CPU when a pool shrinks: the number of relocated pages, and the time.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include <bench/subject.h>
#include "session.h"

namespace canopy::bench::gpu {
namespace {

constexpr std::uint32_t kPages = 262144, kSegmentPages = 64, kLongest = 512;
constexpr Units kPageSize = 16;
constexpr Page kFirst = kSegmentPages;  // page 0 is never used

/// Times the relocation in a tree of all pages, shuffled, with a share of the segments draining: one pass relocates
/// every page of these segments. Relocates back and forth, so that each sample does the same work.
Spread relocate(Session& session, double share) {
  const Subject subject = need(make_subject(session.registry, "radix", kPageSize, kUnlimited));
  PrefixIndex& index = *subject.index;
  std::mt19937 random(9);
  std::vector<Page> order(kPages);
  std::iota(order.begin(), order.end(), kFirst);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<std::uint32_t> words;
  const auto key = [&](std::size_t first, std::size_t pages) {
    words.resize(pages * kPageSize);
    std::iota(words.begin(), words.end(), static_cast<std::uint32_t>(first * kPageSize));
    return Key{NamespaceId::shared, words};
  };
  std::size_t last = 0, last_pages = 0;
  for (std::size_t first = 0; first < kPages; first += last_pages) {
    last = first;
    last_pages = std::min<std::size_t>(1 + random() % kLongest, kPages - first);
    index.release(index.insert({}, key(first, last_pages), {std::span(order).subspan(first, last_pages)}, {}).lock);
  }

  std::vector<Page> here, there;
  std::vector<std::uint32_t> segments(kPages / kSegmentPages);
  std::iota(segments.begin(), segments.end(), 0U);
  std::shuffle(segments.begin(), segments.end(), random);
  segments.resize(static_cast<std::size_t>(share * static_cast<double>(segments.size())));
  for (const std::uint32_t segment : segments)
    for (std::uint32_t i = 0; i < kSegmentPages; ++i) {
      here.push_back(kFirst + segment * kSegmentPages + i);
      there.push_back(kFirst + kPages + static_cast<Page>(there.size()));
    }
  std::vector<Page> expected(order.begin() + static_cast<std::ptrdiff_t>(last), order.end());
  const Spread seconds = session.time_call([&] {
    index.remap(0, here, there);
    std::swap(here, there);
  });
  std::vector<Page> now_at(kFirst + 2 * std::size_t{kPages});
  std::iota(now_at.begin(), now_at.end(), Page{0});
  for (std::size_t i = 0; i < here.size(); ++i) now_at[there[i]] = here[i];
  for (Page& page : expected) page = now_at[page];
  const Lock lock = index.match(key(last, last_pages), {});
  require(std::ranges::equal(index.pages(lock)[0], expected), "page numbers after a remap");
  index.release(lock);
  return seconds;
}

/// Judges only up to 65,536 pages, a quarter of these, because the engine relocates at most that many at a time.
void measure_relocation(Session& session) {
  for (const double share : {0.02, 0.25, 1.0}) {
    const Spread seconds = relocate(session, share);
    session.time(fmt::format("{:.0f} % of {} pages relocated", 100 * share, kPages), seconds,
                 "a pass over the tree, this thread's clock");
    if (share < 1)
      session.at_most("relocation", seconds.median, 1e-3,
                      fmt::format("{:.2f} ms, {:.0f} % of them", 1e3 * seconds.median, 100 * share));
  }
}

/// Serves requests of up to 8 K tokens until the pool was filled four times. Every other one begins with a part of an
/// earlier prompt. Sixteen run in turns, a few pages at a time, so a segment has pages of many requests.
void fill(Engine& engine) {
  std::mt19937 random(10);
  std::vector<std::vector<Token>> prompts;
  struct Running {
    Request request;
    std::uint32_t tokens, done;
  };
  std::vector<Running> running;
  Token next = 0;
  for (std::uint64_t brought = 0; brought < 4ULL * kPages * kPageSize;) {
    while (running.size() < 16) {
      std::vector<Token> prompt;
      if (prompts.size() > 64 && random() % 2 == 0) {
        const auto& earlier = prompts[prompts.size() - 1 - random() % 64];
        prompt.assign(earlier.begin(), earlier.begin() + static_cast<std::ptrdiff_t>(random() % earlier.size()));
      }
      const std::size_t shared = prompt.size();
      prompt.resize(shared + std::size_t{1 + random() % kLongest} * kPageSize);
      std::iota(prompt.begin() + static_cast<std::ptrdiff_t>(shared), prompt.end(), next);
      next += static_cast<Token>(prompt.size() - shared);
      Request request = engine.begin({.prompt = prompt});
      const auto tokens = static_cast<std::uint32_t>(prompt.size());
      brought += tokens - request.matched();
      running.push_back({std::move(request), tokens, 0});
      prompts.push_back(std::move(prompt));
      if (prompts.size() > 65) prompts.erase(prompts.begin());
    }
    for (auto at = running.begin(); at != running.end();) {
      at->done = std::min(std::max(at->done, at->request.computed()) + 8 * kPageSize, at->tokens);
      if (!at->request.reserve(at->done)) throw std::runtime_error("a pool has no page for one of sixteen requests");
      at->request.advance(at->done);
      if (at->done < at->tokens) {
        ++at;
        continue;
      }
      at->request.finish(at->tokens);
      at = running.erase(at);
    }
  }
}

/// Measures a used pool that is emptied to 90, 60 and 25 %, and then has to give its memory back.
void measure_moving(Session& session) {
  const auto made = need(make_engine(
      session.registry,
      fmt::format("{{ page_size: {}, index: radix, groups: {{ full: {{ reach: path, capacity: {}, allocator: segments, "
                  "eviction: lru }} }}, store: none, feed: {{ off: {{}} }}, segment_pages: {}, idle_segments: 0 }}",
                  kPageSize, std::uint64_t{kPages} * kPageSize, kSegmentPages)));
  Engine& engine = *made;
  fill(engine);
  const auto live = [&] {
    const Occupancy now = engine.pool(0).occupancy();
    return now.capacity - now.free;
  };
  const auto held = [&] {
    const auto segments = engine.pool(0).segments();
    return static_cast<std::uint64_t>(std::ranges::count_if(segments, &PoolSegment::backed)) * kSegmentPages;
  };
  const auto ratio = [&] { return static_cast<double>(held()) / static_cast<double>(live()); };
  for (const std::uint32_t free : {10U, 40U, 75U}) engine.make_free(0, std::uint64_t{kPages} * free / 100);
  const double before = ratio();
  const std::uint64_t pages = live(), moved = engine.counters().relocated_pages;
  const double seconds = seconds_of([&] { engine.resize(0, pages + pages / 20); });
  const double share = static_cast<double>(engine.counters().relocated_pages - moved) / static_cast<double>(pages);
  require(live() == pages, "a pool that only gives memory back loses no page");
  engine.audit();
  require(engine.ledger().violations() == 0, "the ledger of a pool that became smaller");
  session.time(
      fmt::format("a pool of {} pages, a quarter of it live, gives the rest back", kPages), tenths_of({seconds}),
      fmt::format("held/live {:.2f} -> {:.2f}, {:.0f} % of the live pages moved", before, ratio(), 100 * share));
  const std::string what = fmt::format("held/live {:.3f}, {:.0f} % of live pages moved", ratio(), 100 * share);
  // Judges that draining ends at the limit, rounded up to a whole segment, and the number of moved pages.
  session.at_most("shrinking", ratio(), 1.05 + kSegmentPages / static_cast<double>(pages), what);
  session.at_most("shrinking", share, 0.3, what);
}

}  // namespace

void measure_shrinking(Session& session) {
  session.cells(4);
  measure_relocation(session);
  measure_moving(session);
}

}  // namespace canopy::bench::gpu
