#include "stop_condition.h"

#include <algorithm>

namespace canopy {

void StopCondition::wait_for(const Command& command) {
  *this = {};
  command_ = command;
  if (command.until == Condition::hit_rate) command_.amount = std::min<std::uint64_t>(command.amount, 1001);
  waiting_ = true;
}

void StopCondition::evicted(std::size_t group, std::size_t pages) {
  if (waits_for(Condition::evicted) && group == command_.group && pages > 0)
    reason_ = Sentence("{} pages were evicted", pages);
}

void StopCondition::began(std::uint64_t request, NamespaceId space, std::uint32_t matched, std::uint32_t reusable) {
  if (waits_for(Condition::request) && request >= command_.amount) reason_ = Sentence("request {} began", request);
  if (waits_for(Condition::missed) && matched < reusable &&
      (command_.amount == kAnySpace || command_.amount == static_cast<std::uint64_t>(space)))
    reason_ = Sentence("request {} missed: {} of {} tokens were found", request, matched, reusable);
}

void StopCondition::admitted(std::uint32_t prompt, std::uint32_t hit) {
  if (!waits_for(Condition::hit_rate)) return;
  const std::size_t place = admitted_++ % kRequests;
  prompt_sum_ += prompt - std::uint64_t{prompts_[place]};
  hit_sum_ += hit - std::uint64_t{hits_[place]};
  prompts_[place] = prompt, hits_[place] = hit;
  if (admitted_ < kRequests || hit_sum_ * 1000 >= command_.amount * prompt_sum_) return;
  const std::uint64_t permille = (hit_sum_ * 1000 + prompt_sum_ / 2) / prompt_sum_;
  reason_ = Sentence("the hit rate of the last {} requests is {}.{} %", kRequests, permille / 10, permille % 10);
}

void StopCondition::free_pages(std::uint64_t pages) {
  if (waits_for(Condition::free) && pages < command_.amount) reason_ = Sentence("{} pages are free", pages);
}

std::optional<Sentence> StopCondition::take_reason() {
  if (reason_) waiting_ = false;
  return std::exchange(reason_, std::nullopt);
}

}  // namespace canopy
