#include <canopy/engine/page_needs.h>
#include <conformance/model/effort.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace canopy;

namespace {

/// Computes the needs from their definition: walks a request token by token and looks at every page.
struct Walk {
  PageNeeds needs;
  std::uint64_t matched;
  std::size_t taken = 0;

  /// The last boundary that every group serves.
  std::uint64_t boundary(std::uint64_t computed) const {
    std::uint64_t last = 0;
    for (std::uint64_t depth = 0; depth + needs.overlap <= computed; depth += needs.page_size)
      if (depth / needs.page_size % needs.grid == 0) last = depth;
    return last;
  }
  std::size_t pages_at(std::uint64_t computed, std::uint64_t until) const {
    // A token is kept in the page of its stretch: the next one that the group keeps.
    std::vector<std::size_t> kept;
    const std::uint64_t last = boundary(computed);
    for (std::uint64_t token = 0; token < until; ++token) {
      std::size_t page = token / needs.page_size;
      // A page is needed if it ends within reach of the boundary, or lies ahead.
      if (!needs.whole_path() && (page + 1) * needs.page_size + needs.reach <= last) continue;
      while ((page + 1) % needs.every != 0) ++page;
      kept.push_back(page);
    }
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    const auto own = std::lower_bound(kept.begin(), kept.end(), matched / needs.page_size);
    // Only this number of the matched pages was evictable.
    return std::min(taken, static_cast<std::size_t>(own - kept.begin())) + static_cast<std::size_t>(kept.end() - own);
  }
  std::size_t peak(std::uint64_t prompt, std::uint64_t total, std::uint64_t chunk) const {
    std::size_t most = 0;
    for (std::uint64_t at = matched; at < total;) {
      std::uint64_t until = at + 1;
      if (at < prompt) until = chunk ? std::min(prompt, at + chunk) : prompt;
      most = std::max(most, pages_at(at, until));
      at = until;
    }
    return most;
  }
};

}  // namespace

TEST_CASE("page needs: the frontier of a window, also where a page is larger than it") {
  const auto first = [](Units page, Units window, std::uint64_t computed, Units overlap = 0) {
    return PageNeeds{page, overlap, window}.first_needed(computed) * page;
  };
  CHECK(first(1, 4, 3) == 0);
  CHECK(first(1, 4, 10) == 6);
  CHECK(first(4, 6, 13) == 4);
  CHECK(first(4, 6, 14) == 4);  // boundary 12 wants 6..11, though the next token sees 8..13 only
  CHECK(first(4, 6, 16) == 8);
  for (const Units page : {4U, 16U, 64U, 256U})
    for (const Units window : {1U, 2U, 3U, 4U, 8U})
      for (std::uint64_t computed = 0; computed < 4 * page; ++computed) {
        CAPTURE(page);
        CAPTURE(window);
        CAPTURE(computed);
        // The page that ends at the last whole one is about to be inserted: it must not be gone.
        if (const std::uint64_t boundary = computed / page * page; boundary > 0)
          CHECK(first(page, window, computed) < boundary);
        CHECK(first(page, window, computed) <= computed - std::min<std::uint64_t>(computed, window));
      }
  CHECK(first(4, 4, 12, 1) == 4);  // eleven bigrams: boundary 8
  CHECK(first(4, 4, 13, 1) == 8);
  CHECK(PageNeeds{4, 0, kWholePath}.first_needed(1000) == 0);
}

TEST_CASE("page needs: a state is kept once a stretch, and worked on in the page of the stretch it is in") {
  const PageNeeds state{4, 0, 1, 3, 3};  // every 12 tokens
  CHECK(state.row_length(0) == 0);
  CHECK(state.row_length(1) == 3);
  CHECK(state.row_length(12) == 3);
  CHECK(state.row_length(13) == 6);
  CHECK_FALSE(state.keeps(0));
  CHECK(state.keeps(2));
  CHECK(state.count(0, 6) == 2);
  CHECK(state.count(2, 6) == 2);
  CHECK(state.count(3, 6) == 1);
  CHECK(state.first_needed(11) == 0);
  CHECK(state.first_needed(12) == 2);
  CHECK(state.first_needed(23) == 2);
  CHECK(state.first_needed(24) == 5);
}

TEST_CASE("page needs: the peak of a request is what a walk over its life finds, to the page") {
  std::size_t looked = 0, left_out = 0;
  for (const Units page : {1U, 3U, 4U})
    for (const Units overlap : {0U, 1U})
      for (const Units reach : {Units{1}, Units{4}, Units{7}, Units{30}, kWholePath})
        for (const std::uint32_t every : {1U, 2U, 4U})
          for (const std::uint32_t grid : {every, 2 * every}) {
            if (reach == kWholePath && every != 1) continue;
            for (const std::uint64_t matched :
                 {std::uint64_t{0}, std::uint64_t{page} * grid, std::uint64_t{3} * page * grid})
              for (const std::uint64_t more : {0U, 1U, 5U, 40U, 61U})
                for (const std::uint64_t output : {0U, 1U, 2U, 9U, 33U})
                  for (const std::uint64_t chunk : {0U, 1U, 5U, 8U, 16U})
                    for (const std::size_t taken : {0U, 1U, 3U}) {
                      // Full attention locks all that it matched; other groups a part of it.
                      const std::uint64_t prompt = matched + more, total = prompt + output;
                      if (reach == kWholePath && (taken > matched / page || total == matched)) continue;
                      if (test::effort() < 1 && ++left_out % 7 != 0) continue;
                      const PageNeeds needs{page, overlap, reach, every, grid};
                      const Walk walk{needs, matched, taken};
                      CAPTURE(page);
                      CAPTURE(overlap);
                      CAPTURE(reach);
                      CAPTURE(every);
                      CAPTURE(grid);
                      CAPTURE(matched);
                      CAPTURE(taken);
                      CAPTURE(prompt);
                      CAPTURE(total);
                      CAPTURE(chunk);
                      REQUIRE(needs.peak(matched, taken, prompt, total, chunk) == walk.peak(prompt, total, chunk));
                      if (reach != kWholePath && needs.peak(matched, matched / page, prompt, total, chunk) >
                                                     needs.peak_at_most(chunk ? std::min(chunk, prompt) : prompt))
                        FAIL("higher than the most");
                      ++looked;
                    }
          }
  CHECK(looked > 10'000);
}
