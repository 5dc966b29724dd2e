#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace canopy::fleet {

/// How fast a simulated worker is.
struct Speed {
  std::uint32_t prefill_tokens_a_second = 10'000;
  std::uint32_t step_ms = 25;  ///< in which each running request decodes a token
};

/// What a worker is busy with, by a simple model of it: prompts are computed one after the other, and each request then
/// decodes at one pace, however many there are. Times are microseconds and never go back.
class Load {
 public:
  explicit Load(const Speed& speed) : speed_(speed) {}

  /// A request starts to wait of which `compute` tokens are not resident. Returns when its first token is there.
  std::uint64_t add(std::uint64_t now_us, std::uint64_t compute, std::uint32_t output, std::uint64_t blocks) {
    prefill_until_ = std::max(prefill_until_, now_us) + compute * 1'000'000 / speed_.prefill_tokens_a_second;
    running_.push({prefill_until_ + std::uint64_t{output} * speed_.step_ms * 1000, blocks});
    blocks_ += blocks;
    return prefill_until_;
  }
  /// Requests that have ended are forgotten.
  void reach(std::uint64_t now_us) {
    now_ = now_us;
    for (; !running_.empty() && running_.top().end_us <= now_us; running_.pop()) blocks_ -= running_.top().blocks;
  }

  std::uint64_t requests() const { return running_.size(); }
  std::uint64_t blocks() const { return blocks_; }  ///< of requests that wait or run
  std::uint64_t prefill_tokens() const {            ///< still to be computed
    return prefill_until_ <= now_ ? 0 : (prefill_until_ - now_) * speed_.prefill_tokens_a_second / 1'000'000;
  }

 private:
  struct Running {
    std::uint64_t end_us = 0, blocks = 0;
    friend bool operator>(const Running& a, const Running& b) { return a.end_us > b.end_us; }
  };

  Speed speed_;
  std::uint64_t now_ = 0, prefill_until_ = 0, blocks_ = 0;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
};

}  // namespace canopy::fleet
