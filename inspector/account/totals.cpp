#include "totals.h"

namespace canopy::inspector {

void RecentHits::add(std::uint32_t prompt, std::uint32_t hit) {
  auto& [old_prompt, old_hit] = last_[requests_++ % kRequests];
  prompt_ += std::uint64_t{prompt} - old_prompt;
  hit_ += std::uint64_t{hit} - old_hit;
  old_prompt = prompt, old_hit = hit;
}

std::optional<double> RecentHits::rate() const {
  if (prompt_ == 0) return {};
  return static_cast<double>(hit_) / static_cast<double>(prompt_);
}

}  // namespace canopy::inspector
