#include "input_sum.h"

#include <canopy/base/figures.h>
#include <canopy/base/random.h>
#include <fmt/format.h>
#include <xxhash.h>

namespace canopy::lab {

void InputSum::add(const workload::ClientRequest& client) {
  ++requests_;
  const auto add = [&](std::uint64_t value) { hash_ = splitmix64(hash_ ^ value); };
  const auto add_bytes = [&](const auto& all) { add(XXH3_64bits(all.data(), all.size() * sizeof(*all.data()))); };
  add(client.arrival_ms);
  add(static_cast<std::uint32_t>(client.priority));
  add(client.output_tokens);
  add(client.hints);
  add_bytes(client.space);
  add_bytes(client.prompt);
  if (!client.answer.empty()) add_bytes(client.answer);
  for (const Retention& retention : client.retention) {
    add(retention.tokens);
    add(retention.us);
    add(static_cast<std::uint64_t>(static_cast<std::int64_t>(retention.priority)));
  }
}

Doubts doubts_between(const InputSum& first, const InputSum& later, const std::string& what) {
  if (first == later) return {};
  return {
      {Doubt::Kind::input, 1,
       first.requests() == later.requests()
           ? fmt::format("the input changed between two readings: {} read other requests than the first reading", what)
           : fmt::format("the input changed between two readings: {} read {}, the first reading {}", what,
                         plural(later.requests(), "request"), grouped(first.requests()))}};
}

}  // namespace canopy::lab
