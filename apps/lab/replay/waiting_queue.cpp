#include "waiting_queue.h"

#include <algorithm>
#include <utility>

namespace canopy::replay {

bool WaitingQueue::reads_ahead() const {
  return run_.options.order.schedule != scheduling::Schedule::fcfs ||
         run_.options.order.priorities != scheduling::Priorities::ignored;
}

Result<std::monostate> WaitingQueue::fill(std::uint64_t now_ms, std::uint64_t processed) {
  while (!source_ended_ &&
         (jobs_.empty() || ((reads_ahead() || fetches_ahead()) && jobs_.back().client.arrival_ms <= now_ms))) {
    Job next;
    auto more = run_.next(next.client);
    if (!more) return more.error();
    if (!*more) {
      source_ended_ = true;
      break;
    }
    next.answer = workload::prompt_hash(next.client.prompt);
    next.abort_at = abort_at(next);
    next.processed = processed;
    next.space = run_.engine.intern({next.client.space, {}, {}});
    jobs_.push_back(std::move(next));
  }
  return std::monostate{};
}

void WaitingQueue::fetch(Job& job, Job::FetchBegun when, std::uint64_t now_ms) {
  const std::uint64_t now_us = now_ms * 1000;
  Fetch fetch = run_.engine.tiers().fetch(job.spec(run_.options.prefill_tokens));
  job.fetch_begun = when;
  run_.turn(now_us);  // completes a copy that takes no time
  // Fetched pages stay with the request if nothing is missing.
  if (fetch.done() && fetch.tokens() == 0 && job.fetch.tokens() > 0) return;
  job.load_us += job.fetch.took_us();
  job.fetch = std::move(fetch);
}

std::uint64_t WaitingQueue::next_ms(std::uint64_t now_ms) const {
  std::uint64_t next = kUnlimited;
  for (const Job& job : jobs_) {
    if (job.client.arrival_ms > now_ms) next = std::min(next, job.client.arrival_ms);
    else if (const std::uint64_t ready_us = job.fetch.ready_us(); ready_us > 0)
      next = std::min(next, std::max(now_ms + 1, (ready_us + 999) / 1000));
  }
  return next;
}

bool WaitingQueue::waits_for_fetch(std::uint64_t now_ms) const {
  return std::ranges::any_of(jobs_,
                             [&](const Job& job) { return job.client.arrival_ms <= now_ms && !job.fetch.ready(); });
}

void WaitingQueue::fetch_ahead(std::uint64_t now_ms) {
  if (!run_.engine.tiers().has_host() || dropped_) return;
  const std::uint64_t most = run_.capacity() / 4;
  std::uint64_t held = 0;
  std::uint32_t looked = 0;
  for (auto job = jobs_.begin(); job != jobs_.end() && job->client.arrival_ms <= now_ms; ++job) {
    if (looked++ == run_.options.running || held >= most) return;
    if (job->fetch_begun == Job::FetchBegun::no) fetch(*job, Job::FetchBegun::early, now_ms);
    held += job->fetch.tokens();
  }
}

bool WaitingQueue::drop_fetches() {
  dropped_ = true;
  bool any = false;
  for (Job& job : jobs_) {
    any |= job.fetch.tokens() > 0;
    job.fetch = {};
    job.fetch_begun = Job::FetchBegun::no;
    job.load_us = 0;
  }
  return any;
}

/// Draws the value once per request, even if the request is retracted and comes back.
std::uint32_t WaitingQueue::abort_at(const Job& job) const {
  const std::uint64_t lot = splitmix64(job.answer ^ job.client.number);
  const std::uint64_t total = job.total();
  return total > 0 && lot % 1000 < run_.options.abort_permille ? static_cast<std::uint32_t>(1 + lot / 1000 % total) : 0;
}

void WaitingQueue::order(std::uint64_t now_ms, std::uint64_t processed) {
  if (!reads_ahead()) return;
  const scheduling::Rules& rules = run_.options.order;
  std::vector<Jobs::iterator> arrived;
  for (auto job = jobs_.begin(); job != jobs_.end() && job->client.arrival_ms <= now_ms; ++job) arrived.push_back(job);
  if (arrived.size() < 2) return;
  const bool in_cache = scheduling::reads_cache(rules, arrived.size());
  waiters_.clear();
  for (const auto job : arrived) waiters_.push_back(look_up(*job, in_cache));
  const auto by_weight = [&](std::span<const NodeId> ends, std::span<std::uint32_t> order) {
    run_.engine.order_by_weight(ends, order);
  };
  const auto order = scheduling::waiting_order(waiters_, rules, processed, by_weight);
  const auto rest = arrived.size() == jobs_.size() ? jobs_.end() : std::next(arrived.back());
  for (const std::uint32_t at : order) jobs_.splice(rest, jobs_, arrived[at]);
}

scheduling::Waiter WaitingQueue::look_up(const Job& job, bool in_cache) const {
  scheduling::Waiter waiter;
  waiter.id = job.client.number;
  waiter.arrival = job.client.arrival_ms;
  waiter.priority = job.client.priority;
  waiter.output_limit = job.client.output_tokens;
  waiter.processed = job.processed;
  waiter.tokens = job.tokens();
  waiter.prompt = job.prompt();
  waiter.space = job.space;
  if (!in_cache) return waiter;
  const Found found = run_.engine.find(job.spec(run_.options.prefill_tokens));
  waiter.found = waiter.usable = found.length;
  waiter.node = found.node;
  return waiter;
}

}  // namespace canopy::replay
