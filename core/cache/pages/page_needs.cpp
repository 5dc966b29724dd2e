#include <canopy/engine/page_needs.h>

#include <algorithm>
#include <numeric>

namespace canopy {

std::size_t PageNeeds::row_length(std::uint64_t tokens) const {
  const std::uint64_t pages = (tokens + page_size - 1) / page_size;
  return (pages + every - 1) / every * every;
}

std::size_t PageNeeds::first_needed(std::uint64_t computed) const {
  const std::uint64_t units = computed > overlap ? computed - overlap : 0, period = std::uint64_t{page_size} * grid;
  const std::uint64_t boundary = units / period * period;
  return reach >= boundary ? 0 : (boundary - reach) / page_size;
}

std::size_t PageNeeds::peak(std::uint64_t matched, std::size_t taken, std::uint64_t prompt, std::uint64_t total,
                            std::uint64_t chunk) const {
  const std::size_t own = matched / page_size;
  if (whole_path()) return count(own, row_length(total)) + taken;
  std::size_t most = 0;
  const auto step = [&](std::uint64_t from, std::uint64_t until) {
    const std::size_t first = first_needed(from);
    const std::size_t shared = first < own ? std::min(taken, count(first, own)) : 0;
    most = std::max(most, shared + count(std::max(own, first), row_length(until)));
  };
  // The need never decreases from one period to the next, because newly allocated pages outnumber those no longer
  // shared. It is therefore enough to check the last `differ` steps, one per distinct position in the period.
  const std::uint64_t period = std::uint64_t{page_size} * grid;
  if (matched < prompt) {
    const std::uint64_t width = chunk ? chunk : prompt - matched, steps = (prompt - matched + width - 1) / width;
    const std::uint64_t differ = std::min(steps, period / std::gcd(period, width) + 1);
    for (std::uint64_t k = steps - differ; k < steps; ++k)
      step(matched + k * width, std::min(prompt, matched + (k + 1) * width));
  }
  if (const std::uint64_t first = std::max(matched, prompt); first < total) {
    step(total - 1, total);
    // Within a period the need grows up to its last token.
    if (const std::uint64_t last = (total - std::min<std::uint64_t>(total, overlap)) / period * period + overlap;
        last > first && last <= total)
      step(last - 1, last);
  }
  return most;
}

}  // namespace canopy
