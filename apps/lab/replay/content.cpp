#include "content.h"

#include <canopy/base/random.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace canopy::replay {

Trail::Trail(NamespaceId space) : space_(splitmix64(static_cast<std::uint64_t>(space) + 1)) {}

void Trail::follow(std::span<const Token> tokens) {
  std::uint64_t print = prefix_.empty() ? space_ : prefix_.back();
  for (std::size_t i = prefix_.size(); i < tokens.size(); ++i)
    prefix_.push_back(print = splitmix64(print + tokens[i] + 1));
}

void Trail::rows(std::uint32_t first, std::uint32_t count, std::uint32_t layer, std::size_t stream,
                 std::uint32_t row_bytes, std::byte* out) const {
  const std::uint64_t place = (std::uint64_t{layer} << 8 | stream) * 0xD6E8FEB86659FD93;
  for (std::uint32_t i = first; i < first + count; ++i) {
    std::uint64_t word = prefix_[i] ^ place;
    for (std::uint32_t at = 0; at < row_bytes; at += sizeof(word)) {
      std::memcpy(out + at, &word, std::min<std::size_t>(sizeof(word), row_bytes - at));
      word = splitmix64(word);
    }
    out += row_bytes;
  }
}

/// Calls piece(layer, first, count, rows, stream widths) for pieces that are small enough for the CPU cache.
template <class Piece>
void Content::each_piece(std::uint32_t first, std::uint32_t end, std::size_t group, const Trail& trail, Piece&& piece) {
  KVStore& store = *engine_.store(group);
  std::size_t token_bytes = 0;
  for (const Stream& stream : store.streams()) token_bytes += stream.row_bytes;
  const auto most = static_cast<std::uint32_t>(std::clamp<std::size_t>((std::size_t{64} << 10) / token_bytes, 1, 4096));
  expected_.resize(token_bytes * most);
  found_.resize(token_bytes * most);
  for (; first < end; first += most) {
    const std::uint32_t count = std::min(most, end - first);
    for (std::uint32_t layer = 0; layer < store.layers(); ++layer) {
      Rows expected, found;
      std::size_t offset = 0;
      for (std::size_t s = 0; s < store.streams().size(); ++s) {
        expected.streams[s] = expected_.data() + offset;
        found.streams[s] = found_.data() + offset;
        trail.rows(first, count, layer, s, store.streams()[s].row_bytes, expected.streams[s]);
        offset += std::size_t{count} * store.streams()[s].row_bytes;
      }
      piece(layer, first, count, expected, found, offset);
    }
  }
}

/// Calls run(from, until) for the stretches of [first, end) whose pages the request has in a group. Reports missing
/// pages: a request must have all pages within reach of the next token, as far as the group keeps them.
template <class Run>
void Content::each_run(const Request& request, std::uint32_t first, std::uint32_t end, std::size_t group, Run&& run) {
  const Units page_size = engine_.page_size();
  const PageNeeds& needs = engine_.pool(group).needs();
  const std::uint32_t computed = request.computed(), seen = needs.reach >= computed ? 0 : computed - needs.reach;
  const auto row = request.row(group);
  while (first < end) {
    const auto has_page = [&](std::uint32_t token) { return row[token / page_size] != 0; };
    const bool there = has_page(first);
    std::uint32_t until = first;
    while (until < end && has_page(until) == there) {
      if (!there && needs.keeps(until / page_size) && (until / page_size + 1) * page_size > seen)
        violated(fmt::format("request {} needs token {}, and group '{}' has no page for it", request.id(), until,
                             engine_.pool(group).group()));
      until = (until / page_size + 1) * page_size;
    }
    until = std::min(until, end);
    if (there) run(first, until);
    first = until;
  }
}

void Content::write(Request& request, const Trail& trail, std::uint32_t first, std::uint32_t end) {
  for (std::size_t g = 0; g < engine_.groups(); ++g)
    if (engine_.store(g))
      each_run(request, first, end, g, [&](std::uint32_t from, std::uint32_t until) {
        each_piece(from, until, g, trail,
                   [&](std::uint32_t layer, std::uint32_t at, std::uint32_t count, const Rows& rows, const Rows&,
                       std::size_t) { request.write(layer, at, count, rows, g); });
      });
}

void Content::check(const Request& request, const Trail& trail, std::uint32_t first, std::uint32_t end) {
  if (first >= end || failed_) return;
  checks_ += end - first;
  for (std::size_t g = 0; g < engine_.groups(); ++g)
    if (engine_.store(g))
      each_run(request, first, end, g,
               [&](std::uint32_t from, std::uint32_t until) { compare(request, trail, from, until, g); });
}

void Content::compare(const Request& request, const Trail& trail, std::uint32_t first, std::uint32_t end,
                      std::size_t group) {
  each_piece(
      first, end, group, trail,
      [&](std::uint32_t layer, std::uint32_t from, std::uint32_t count, const Rows& expected, const Rows& found,
          std::size_t bytes) {
        request.read(layer, from, count, found, group);
        if (failed_ || std::memcmp(expected_.data(), found_.data(), bytes) == 0) return;
        sync();
        if (failed_) return;
        const auto streams = engine_.store(group)->streams();
        for (std::size_t s = 0; s < streams.size(); ++s) {
          const std::uint32_t row = streams[s].row_bytes;
          for (std::uint32_t i = 0; i < count; ++i) {
            if (std::memcmp(expected.streams[s] + std::size_t{i} * row, found.streams[s] + std::size_t{i} * row, row) ==
                0)
              continue;
            const Page page = request.row(group)[(from + i) / engine_.page_size()];
            return violated(fmt::format(
                "request {} reuses wrong bytes for token {} in layer {}, stream '{}': page {} of group '{}', last "
                "handed to request {}",
                request.id(), from + i, layer, streams[s].name, page, engine_.pool(group).group(),
                engine_.pool(group).last_owner(page)));
          }
        }
      });
}

void Content::sync() {
  for (std::size_t g = 0; g < engine_.groups() && !failed_; ++g)
    if (const auto done = engine_.sync(g); !done) {
      violated(fmt::format("the store of group '{}' failed: {}", engine_.pool(g).group(), done.error().text));
      failed_ = true;
    }
}

void Content::violated(std::string sentence) {
  constexpr std::size_t kKept = 8;
  ++violations_;
  if (reports_.size() < kKept) reports_.push_back(std::move(sentence));
}

}  // namespace canopy::replay
