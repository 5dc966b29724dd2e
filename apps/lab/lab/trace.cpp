#include "trace.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_map>

#include <workload/arrival_order.h>
#include "input_sum.h"

namespace canopy::lab {
namespace {

/// Returns the bytes of the machine's memory that prompts may take; the rest is for the engines.
std::uint64_t most_bytes() {
  const auto all =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return all / 4 * 3;
}

class Replay final : public workload::RequestSource {
 public:
  explicit Replay(const Trace& trace) : trace_(trace) {}
  Result<bool> next(workload::ClientRequest& request) override {
    if (next_ == trace_.requests.size()) return false;
    request = trace_.requests[next_++];
    return true;
  }
  double progress() const override {
    return trace_.requests.empty() ? 1 : static_cast<double>(next_) / static_cast<double>(trace_.requests.size());
  }
  std::uint64_t seed() const override { return trace_.seed; }

 private:
  const Trace& trace_;
  std::size_t next_ = 0;
};

}  // namespace

Result<Trace> read_trace(workload::RequestSource& source, const ReadOptions& options, const Progress& progress) {
  Trace trace;
  trace.history = History(std::max<Units>(1, options.block / options.page_size));
  trace.cut = {options.page_size, options.codec ? options.codec->overlap() : 0, options.blocks};
  std::unordered_map<std::string, std::uint32_t> spaces;
  workload::ClientRequest client;
  std::vector<std::uint64_t> prints;
  struct Words final : Scratch {
    std::vector<std::uint32_t> room;
    std::span<std::uint32_t> words(std::size_t count) override {
      if (room.size() < count) room.resize(count);
      return {room.data(), count};
    }
  } scratch;
  std::uint64_t bytes_kept = 0;
  InputSum sum;
  workload::ArrivalOrder order;
  const std::uint64_t most = most_bytes();
  for (;;) {
    if (options.stopped && options.stopped()) {
      trace.stopped = true;
      break;
    }
    auto more = source.next(client);
    if (!more) return more.error();
    if (!*more) break;
    sum.add(client);
    order.add(client.arrival_ms);
    const auto [space, is_new] = spaces.emplace(client.space, static_cast<std::uint32_t>(spaces.size()));
    if (is_new) trace.spaces.push_back(client.space);
    trace.arrivals.push_back({client.arrival_ms, space->second, client.priority,
                              static_cast<std::uint32_t>(client.prompt.size()), client.output_tokens, client.turn});
    const std::span<const std::uint32_t> words =
        options.codec ? options.codec->encode(client.prompt, scratch) : std::span<const std::uint32_t>(client.prompt);
    print_units(trace.cut, static_cast<NamespaceId>(space->second), words, prints);
    trace.history.add(prints);
    if (options.blocks) {
      trace.history.numbers_of_last(client.prompt);
      client.output_tokens = trace.cut.units(client.output_tokens);
      for (Retention& retention : client.retention) retention.tokens = trace.cut.units(retention.tokens);
    }
    if (options.requests) {
      bytes_kept += (client.prompt.size() + client.answer.size()) * sizeof(Token);
      if (bytes_kept > most)
        return Error{
            fmt::format("request {}: the prompts up to here take {}, more than three quarters of this machine's "
                        "memory; `canopy compare --blocks` and `canopy compare --curve` need far less",
                        grouped(trace.arrivals.size()), bytes(bytes_kept))};
      trace.requests.push_back(client);
    }
    if (progress && trace.arrivals.size() % 64 == 0) progress(source.progress(), trace.arrivals.size());
  }
  trace.seed = source.seed();
  trace.hash = sum.hash();
  trace.doubts = source.doubts();
  trace.notes = source.notes();
  order.add_note(trace.notes);
  return trace;
}

std::uint64_t Trace::distinct_tokens() const {
  std::uint64_t all = 0;
  for (std::uint32_t request = 0; request < history.requests(); ++request)
    all += tokens(request, history.units(request)) - tokens(request, history.seen(request));
  return all;
}

std::unique_ptr<workload::RequestSource> replay_of(const Trace& trace) { return std::make_unique<Replay>(trace); }

}  // namespace canopy::lab
