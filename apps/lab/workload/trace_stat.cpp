#include "trace_stat.h"

#include <canopy/base/random.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace canopy::workload {
namespace {

/// Adds to bars whose edges double: [0, first), [first, 2 first), ...
void doubling(std::vector<Bar>& bars, std::uint64_t first, std::uint64_t value, std::uint64_t tokens,
              std::uint64_t count) {
  const std::uint64_t ratio = value / first;
  const auto place = static_cast<std::size_t>(std::bit_width(ratio));
  for (std::size_t i = bars.size(); i <= place; ++i) {
    const std::uint64_t from = i == 0 ? 0 : first << (i - 1);
    bars.push_back({from, first << i});
  }
  bars[place].count += count;
  bars[place].tokens += tokens;
}

/// Adds to bars between edges that were chosen for people; the last has no end.
template <std::size_t N>
void between(std::vector<Bar>& bars, const std::uint64_t (&edges)[N], std::uint64_t value, std::uint64_t tokens,
             std::uint64_t count) {
  if (bars.empty())
    for (std::size_t i = 0; i < N; ++i) bars.push_back({edges[i], i + 1 < N ? edges[i + 1] : 0});
  const auto place = static_cast<std::size_t>(std::upper_bound(edges, edges + N, value) - edges) - 1;
  bars[place].count += count;
  bars[place].tokens += tokens;
}

constexpr std::uint64_t kSecond = 1000, kMinute = 60 * kSecond, kHour = 60 * kMinute;
constexpr std::uint64_t kGaps[] = {0,           kSecond,      10 * kSecond, 30 * kSecond, kMinute,   2 * kMinute,
                                   5 * kMinute, 10 * kMinute, 30 * kMinute, kHour,        6 * kHour, 24 * kHour};
/// Ten minutes, as a power of two of the narrowest bucket: a bucket that became twice as wide still divides it.
constexpr std::uint64_t kBucket = 1172, kWindow = 512 * kBucket;
constexpr std::size_t kMostBuckets = 240;
constexpr std::uint64_t kWorkingWindow = 10 * kMinute;
constexpr double kPopular[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1};
constexpr std::uint64_t kUses[] = {1, 2, 3, 5, 9, 17, 65, 257, 1025, 4097};
constexpr std::uint64_t kTurns[] = {1, 2, 3, 4, 5, 7, 11, 21, 51};

}  // namespace

TraceStat::TraceStat(std::uint64_t unit) : units_(1024), buckets_(1), width_ms_(kBucket) { facts_.unit = unit; }

TraceFacts::Moment TraceStat::moment(std::size_t bucket) const {
  const std::size_t window = std::max<std::size_t>(kWindow / width_ms_, 1);
  TraceFacts::Moment moment{(bucket + 1) * width_ms_, facts_.requests,        facts_.prompt_tokens,
                            facts_.reused_tokens,     facts_.distinct_tokens, 0};
  for (std::size_t i = bucket + 1 - std::min(bucket + 1, window); i <= bucket; ++i)
    moment.working_tokens += buckets_[i];
  return moment;
}

void TraceStat::pass(std::uint64_t ms) {
  while (ms / width_ms_ >= kMostBuckets) {
    // Two buckets become one. The moment at the end of the second stays.
    width_ms_ *= 2;
    const std::size_t count = (buckets_.size() + 1) / 2;
    for (std::size_t i = 0; i < count; ++i)
      buckets_[i] = buckets_[2 * i] + (2 * i + 1 < buckets_.size() ? buckets_[2 * i + 1] : 0);
    buckets_.resize(count);
    for (std::size_t i = 0; 2 * i + 1 < facts_.moments.size(); ++i) facts_.moments[i] = facts_.moments[2 * i + 1];
    facts_.moments.resize(facts_.moments.size() / 2);
  }
  while (buckets_.size() <= ms / width_ms_) {
    facts_.moments.push_back(moment(buckets_.size() - 1));
    buckets_.push_back(0);
  }
}

void TraceStat::work(const Unit& unit) {
  if (const auto before = working_.find(unit.last_ms); unit.uses > 0 && before != working_.end()) {
    before->second -= unit.tokens;
    working_tokens_ -= unit.tokens;
  }
  working_[now_ms_] += unit.tokens;
  working_tokens_ += unit.tokens;
}

TraceStat::Unit& TraceStat::at(std::uint64_t print) {
  if (4 * (used_ + 1) > 3 * units_.size()) grow();
  print |= 1;  // 0 means free
  std::size_t place = splitmix64(print) & (units_.size() - 1);
  while (units_[place].print != 0 && units_[place].print != print) place = (place + 1) & (units_.size() - 1);
  if (units_[place].print == 0) {
    units_[place].print = print;
    ++used_;
  }
  return units_[place];
}

void TraceStat::grow() {
  std::vector<Unit> old(2 * units_.size());
  old.swap(units_);
  for (const Unit& unit : old) {
    if (unit.print == 0) continue;
    std::size_t place = splitmix64(unit.print) & (units_.size() - 1);
    while (units_[place].print != 0) place = (place + 1) & (units_.size() - 1);
    units_[place] = unit;
  }
}

void TraceStat::add(const TraceRecord& record) {
  if (facts_.requests == 0) first_ms_ = now_ms_ = record.time_ms;
  // Times may go back in a trace merged from several clocks.
  now_ms_ = std::max(now_ms_, record.time_ms);
  pass(now_ms_ - first_ms_);
  for (; !working_.empty() && working_.begin()->first + kWorkingWindow < now_ms_; working_.erase(working_.begin()))
    working_tokens_ -= working_.begin()->second;
  ++facts_.requests;
  const std::uint64_t length = record.length(), step = record.block ? record.block : facts_.unit;
  if (record.block) facts_.unit = record.block;
  facts_.prompt_tokens += length;
  facts_.output_tokens += record.output_tokens;
  facts_.longest_prompt = std::max(facts_.longest_prompt, length);
  std::uint32_t retained = 0;
  for (const Retention& retention : record.retention) {
    retained = std::max(retained, retention.tokens);
    facts_.longest_retention_ms = std::max(facts_.longest_retention_ms, retention.us / 1000);
  }
  facts_.retained_requests += !record.retention.empty();
  facts_.retained_tokens += std::min<std::uint64_t>(retained, length);

  std::uint64_t print = splitmix64(step);
  for (const char c : record.space) print = splitmix64(print ^ static_cast<unsigned char>(c));
  std::uint64_t reused = 0, brought = 0, turn = 1, ends = 0;
  bool known = length > 0;  // true while all units so far were there
  const std::uint64_t whole = length / step * step;
  for (std::uint64_t from = 0, i = 0; from < length; from += step, ++i) {
    const std::uint64_t tokens = std::min(step, length - from);
    if (record.block) {
      print = splitmix64(print ^ splitmix64(record.ids[i] + 1));
    } else {
      for (std::uint64_t j = from; j < from + tokens; ++j) print = splitmix64(print + record.tokens[j] + 1);
    }
    if (tokens < step) print = splitmix64(print ^ tokens);
    Unit& unit = at(print);
    const bool there = known && unit.uses > 0;
    if (there) {
      reused += tokens;
      between(facts_.gaps_ms, kGaps, now_ms_ - unit.last_ms, tokens, 1);
      doubling(facts_.gaps_tokens, 65'536, facts_.distinct_tokens - new_until_[unit.last_by], tokens, 1);
      if (unit.turn > 0 && from + step < whole) turn = unit.turn + std::uint64_t{1};
    } else if (unit.uses == 0) {
      brought += tokens;
      unit.tokens = static_cast<std::uint32_t>(tokens);
    }
    doubling(facts_.depths, 512, from, tokens, there ? tokens : 0);
    if (tokens == step) known = there;
    work(unit);
    if (unit.uses++ > 0) buckets_[(unit.last_ms - first_ms_) / width_ms_] -= unit.tokens;
    else unit.first_ms = now_ms_;
    buckets_.back() += unit.tokens;
    unit.last_ms = now_ms_;
    unit.last_by = static_cast<std::uint32_t>(new_until_.size());
    if (from + step == whole) ends = print;
  }
  facts_.distinct_tokens += brought;
  new_until_.push_back(facts_.distinct_tokens);
  facts_.working_most = std::max(facts_.working_most, working_tokens_);
  facts_.reused_tokens += reused;
  if (length >= step && known) ++facts_.resent_requests;
  doubling(facts_.prompts, 256, length, length, 1);
  if (record.turn == 0) facts_.turns_given = false;
  const std::uint64_t number = record.turn ? record.turn : turn;
  between(facts_.turns, kTurns, number, length, 1);
  // A prompt that ends in a part that others have too, such as a system prompt, begins no new conversation.
  if (whole > 0)
    if (Unit& end = at(ends); end.uses == 1) end.turn = static_cast<std::uint32_t>(number);
  TraceFacts::Tenant& tenant = facts_.tenants[record.space];
  ++tenant.requests;
  tenant.prompt_tokens += length;
  tenant.reused_tokens += reused;
}

TraceFacts TraceStat::facts() const {
  TraceFacts facts = facts_;
  facts.span_ms = now_ms_ - first_ms_;
  facts.window_ms = std::max(kWindow, width_ms_);
  facts.working_window_ms = kWorkingWindow;
  if (facts.requests > 0) facts.moments.push_back(moment(buckets_.size() - 1));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> uses;  // and tokens
  for (const Unit& unit : units_) {
    if (unit.uses == 0) continue;
    between(facts.uses, kUses, unit.uses, unit.tokens, 1);
    if (unit.uses > 1) between(facts.lifetimes, kGaps, unit.last_ms - unit.first_ms, unit.tokens, 1);
    uses.emplace_back(unit.uses, unit.tokens);
  }
  std::sort(uses.begin(), uses.end(), std::greater<>());
  std::uint64_t distinct = 0, prompts = 0;
  for (auto at = uses.begin(); const double share : kPopular) {
    const double wanted = share * static_cast<double>(facts.distinct_tokens);
    for (; at != uses.end() && static_cast<double>(distinct + at->second) <= wanted; ++at) {
      distinct += at->second;
      prompts += std::uint64_t{at->first} * at->second;
    }
    const double part =
        at == uses.end() ? 0 : static_cast<double>(at->first) * (wanted - static_cast<double>(distinct));
    if (facts.prompt_tokens > 0)
      facts.popular.push_back(
          {share, (static_cast<double>(prompts) + part) / static_cast<double>(facts.prompt_tokens)});
  }
  return facts;
}

}  // namespace canopy::workload
