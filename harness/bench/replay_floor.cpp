#include "replay_floor.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "replay_source.h"

namespace canopy::bench {
namespace {

struct FloorTook {
  double compare = 0, copy = 0;
};

Result<FloorTook> replay_in(const Setting& setting, Units page_size, const ReplayPlan& plan, FloorStyle style) {
  auto source = open_source(setting.options);
  if (!source) return source.error();
  FloorMemory words(plan.words(), style), page_numbers(plan.words() / page_size, style);
  std::vector<Page> brought;
  FloorTook took;
  std::size_t piece = 0;
  workload::ClientRequest client;
  for (const ReplayPlan::Request& request : plan.requests()) {
    auto more = source->requests->next(client);
    if (!more) return more.error();
    const std::uint32_t* prompt = client.prompt.data();
    if (brought.size() < client.prompt.size()) {
      brought.resize(client.prompt.size());
      std::iota(brought.begin(), brought.end(), Page{1});
    }
    bool same = true;
    double start = now();
    for (; piece < request.pieces_end; ++piece) {
      same &= words.compare(plan.pieces()[piece].at, prompt, plan.pieces()[piece].count);
      prompt += plan.pieces()[piece].count;
    }
    took.compare += now() - start;
    if (!same) return Error{"canopy bench: the index matched words that were never inserted; its answers are wrong"};
    const auto [at, count] = request.added;
    start = now();
    words.copy(at, prompt, count);
    page_numbers.copy(at / page_size, brought.data(), count / page_size);
    took.copy += now() - start;
  }
  return took;
}

}  // namespace

Result<std::monostate> ReplayFloor::take_turns(const Setting& setting, Units page_size, const ReplayPlan& plan) {
  for (Way& way : ways) {
    const auto took = replay_in(setting, page_size, plan, way.style);
    if (!took) return took.error();
    way.compare.add(took->compare);
    way.copy.add(took->copy);
    way.all.add(took->compare + took->copy);
  }
  return std::monostate{};
}

const ReplayFloor::Way& ReplayFloor::best(bool streaming) const {
  const auto worse = [&](const Way& a, const Way& b) {
    if (a.style.streaming != b.style.streaming) return a.style.streaming != streaming;
    return a.all.spread().median > b.all.spread().median;
  };
  return *std::max_element(ways.begin(), ways.end(), worse);
}

std::string ReplayFloor::tried() const {
  std::string text;
  for (const Way& way : ways)
    text += fmt::format("{}{:.1f} ms with {}", text.empty() ? "" : ", ", way.all.spread(1e3).median, way.name);
  return text;
}

}  // namespace canopy::bench
