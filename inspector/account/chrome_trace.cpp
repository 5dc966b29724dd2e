#include "chrome_trace.h"

#include <canopy/base/printable.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace canopy::inspector {
namespace {

/// Process number of the counters and marks; tenants follow.
constexpr std::uint32_t kCacheProcess = 1;

/// Writes the events of a trace, one a line.
class Writer {
 public:
  explicit Writer(bool by_clock) : by_clock_(by_clock) {}

  std::uint64_t time(const HistoryMoment& moment) const { return by_clock_ ? moment.us : moment.commit; }
  void name(const char* what, std::uint32_t process, std::uint32_t thread, std::string_view text) {
    add("M", what, process, thread, 0, ",\"args\":{\"name\":" + json_text(text) + "}");
  }
  void slice(std::string_view text, std::uint32_t process, std::uint32_t thread, std::uint64_t from, std::uint64_t to,
             const std::string& args = {}) {
    std::string rest = ",\"dur\":" + std::to_string(to > from ? to - from : 0);
    if (!args.empty()) rest += ",\"args\":{" + args + "}";
    add("X", text, process, thread, from, rest);
  }
  void counter(std::string_view text, std::uint64_t at, const std::string& args) {
    add("C", text, kCacheProcess, 0, at, ",\"args\":{" + args + "}");
  }
  void instant(std::string_view text, std::uint64_t at) { add("i", text, kCacheProcess, 0, at, ",\"s\":\"g\""); }
  std::string end() { return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events_ + "\n]}\n"; }

 private:
  void add(const char* phase, std::string_view text, std::uint32_t process, std::uint32_t thread, std::uint64_t at,
           const std::string& rest) {
    if (!events_.empty()) events_ += ",\n";
    events_ += std::string("{\"ph\":\"") + phase + "\",\"name\":" + json_text(text) +
               ",\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(thread) +
               ",\"ts\":" + std::to_string(at) + rest + "}";
  }

  bool by_clock_;
  std::string events_;
};

void write_counters(Writer& writer, const History& history, std::size_t first, std::size_t end) {
  const auto pair = [](const std::string& name, std::uint64_t value) {
    return json_text(name) + ":" + std::to_string(value);
  };
  for (std::size_t i = first; i < end; ++i) {
    const Bucket& bucket = history.buckets()[i];
    const std::uint64_t at = writer.time({bucket.commits.last, bucket.last_us});
    if (const std::uint64_t prompt = bucket.counts[Count::prompt])
      writer.counter("hit rate, %", at, pair("hit", bucket.counts[Count::hit] * 100 / prompt));
    writer.counter("evicted tokens", at, pair("evicted", bucket.counts[Count::evicted]));
    if (history.has_requests()) writer.counter("running requests", at, pair("running", bucket.running));
    for (std::size_t g = 0; g < bucket.pools.size() && g < history.groups(); ++g) {
      const MirrorPool::Sums& pages = bucket.pools[g].pages;
      writer.counter("pages of " + history.group_name(g), at,
                     pair("evictable", pages.evictable) + "," + pair("protected", pages.protected_) + "," +
                         pair("owned", pages.owned) + "," + pair("free", pages.free));
    }
  }
}

void write_request(Writer& writer, const RequestSpan& span, std::uint32_t thread, std::uint64_t now) {
  const std::uint32_t process = kCacheProcess + 1 + span.tenant;
  const auto or_now = [&](const HistoryMoment& moment) { return moment ? writer.time(moment) : now; };
  const std::uint64_t begun = writer.time(span.begun), end = or_now(span.ended);
  const std::uint64_t started = std::min(or_now(span.started), end), computed = std::min(or_now(span.computed), end);
  writer.slice("request " + std::to_string(span.id), process, thread, begun, end,
               "\"prompt\":" + std::to_string(span.prompt) + ",\"hit\":" + std::to_string(span.matched) +
                   ",\"missed\":" + std::to_string(span.missed) + ",\"reason\":" + json_text(reason_name(span.reason)) +
                   ",\"retractions\":" + std::to_string(span.retractions));
  if (started > begun) writer.slice("waiting", process, thread, begun, started);
  if (computed > started) writer.slice("prefill", process, thread, started, computed);
  if (end > std::max(started, computed)) writer.slice("decode", process, thread, std::max(started, computed), end);
}

}  // namespace

std::string chrome_trace(const History& history, CommitRange range, const Doubts& doubts) {
  if (range.empty()) range = history.all();
  const auto [first, end] = history.places(range);
  const bool by_clock = !history.empty() && history.buckets().back().last_us > history.buckets().front().first_us;
  Writer writer(by_clock);
  writer.name("process_name", kCacheProcess, 0, "cache");
  for (const Doubt& doubt : doubts) {
    const Bucket from = first < end ? history.buckets()[first] : Bucket{};
    writer.instant("doubt: " + doubt.sentence, writer.time({from.commits.first, from.first_us}));
  }
  if (first >= end) return writer.end();
  write_counters(writer, history, first, end);
  for (const HistoryMark& mark : history.marks())
    if (range.has(mark.at.commit)) writer.instant(mark.text, writer.time(mark.at));
  // Slices of a thread must not overlap: a request takes the first thread of its tenant that is free.
  std::vector<std::vector<std::uint64_t>> free_from(history.tenants().size());
  const std::uint64_t now = writer.time(history.last());
  for (const RequestSpan& span : history.spans()) {
    if (span.begun.commit > range.last || (span.ended && span.ended.commit < range.first)) continue;
    std::vector<std::uint64_t>& threads = free_from[span.tenant];
    const std::uint64_t begun = writer.time(span.begun);
    auto thread = std::find_if(threads.begin(), threads.end(), [&](std::uint64_t free) { return free <= begun; });
    if (thread == threads.end()) {
      if (threads.empty())
        writer.name("process_name", kCacheProcess + 1 + span.tenant, 0,
                    "tenant " + history.tenants()[span.tenant].name);
      thread = threads.insert(thread, 0);
    }
    *thread = span.ended ? std::max(writer.time(span.ended), begun) : std::max(now, begun);
    write_request(writer, span, static_cast<std::uint32_t>(thread - threads.begin()) + 1, now);
  }
  return writer.end();
}

}  // namespace canopy::inspector
