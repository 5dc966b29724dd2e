// `reports_` and `room_` together always have kReports texts, each with memory for kMostBytes. A violation moves one
// text from `room_` to `reports_`, so it needs no memory. Once `room_` is empty, violations are only counted.

#include <canopy/base/printable.h>
#include <canopy/engine/ledger.h>

#include <utility>

#include <cache/guard/sentence.h>

namespace canopy {
namespace {

/// Returns the start of a text that a report has room for, without a part of a character.
std::string_view cut(std::string_view text) {
  if (text.size() < Ledger::kMostBytes) return text;  // a longer one may have been cut before
  text = text.substr(0, Ledger::kMostBytes);
  std::size_t last = text.size() - 1;
  while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
  return utf8_length(text.substr(last)) > 0 ? text : text.substr(0, last);
}

}  // namespace

Ledger::Ledger() : room_(kReports) {
  reports_.reserve(kReports);
  for (std::string& text : room_) text.reserve(kMostBytes);
}

void Ledger::check(const std::string& group, const Occupancy& pool, const Sizes& index, Units page_size,
                   std::uint64_t owned, std::uint64_t moving, const char* after) {
  ++checks_;
  const std::uint64_t evictable = index.evictable / page_size, protected_ = index.protected_ / page_size;
  const std::uint64_t sum = pool.free + evictable + protected_ + owned + moving;
  if (sum == pool.capacity && index.evictable % page_size == 0 && index.protected_ % page_size == 0) return;
  const Sentence moved(" + moving {}", moving);
  violated(Sentence(
      "group '{}' after {}: free {} + evictable {} + protected {} + owned {}{} = {} pages, but the pool has {}: {} {}",
      group, after, pool.free, evictable, protected_, owned, moving > 0 ? std::string_view(moved) : "", sum,
      pool.capacity, sum < pool.capacity ? pool.capacity - sum : sum - pool.capacity,
      sum < pool.capacity ? "have no owner" : "are counted twice"));
}

void Ledger::violated(std::string_view sentence) noexcept {
  ++violations_;
  if (upper_) upper_->violated(Sentence("{}{}", as_, sentence));
  if (room_.empty()) return;
  reports_.push_back(std::move(room_.back()));
  reports_.back() = cut(sentence);
  room_.pop_back();
}

}  // namespace canopy
