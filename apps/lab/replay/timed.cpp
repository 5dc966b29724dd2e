#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>

#include "commit_steps.h"
#include "run.h"
#include "times.h"
#include "waiting_queue.h"

namespace canopy::replay {
namespace {

/// A small scheduler that uses a cache as real ones do: requests start in an order chosen by the options, chunked
/// prefill, one decoded token per step. When pages run out, the youngest request is retracted.
class Scheduler {
 public:
  explicit Scheduler(Run& run) : run_(run), queue_(run) {}

  Result<std::monostate> operator()() {
    auto done = serve();
    run_.report.started = waits_.count();
    run_.report.answered = firsts_.count();
    run_.report.mean_wait_ms = waits_.mean();
    run_.report.p95_wait_ms = waits_.percentile(95);
    run_.report.p50_ttft_ms = firsts_.percentile(50);
    run_.report.p95_ttft_ms = firsts_.percentile(95);
    run_.report.prefill_seconds = static_cast<double>(all_prefill_us_) / 1e6;
    return done;
  }

 private:
  Result<std::monostate> serve() {
    for (;;) {
      run_.turn(now_ms_ * 1000);
      auto admitted = admit();
      if (!admitted) return admitted.error();
      if (!running_.empty()) {
        if (!run_.may_go_on()) return std::monostate{};  // the destructor aborts running requests
        step();
        ++run_.report.steps;
        if (in_vain_ > kMostInVain)
          return Error{fmt::format(
              "nothing advances after request {}: requests were retracted {} times in a row before one had room for "
              "another token; a larger pool or fewer requests at once help",
              grouped(run_.report.requests), grouped(in_vain_))};
      } else if (queue_.empty()) {
        return std::monostate{};
      } else if (const bool waits = queue_.waits_for_fetch(now_ms_);
                 waits || queue_.at(0)->client.arrival_ms > now_ms_) {
        const std::uint64_t then_ms = queue_.next_ms(now_ms_);
        if (waits) run_.idled((then_ms - now_ms_) * 1000);
        now_ms_ = then_ms;
      } else if (!queue_.drop_fetches()) {
        // Nothing runs, so no page will be released: a request that does not fit now never will.
        reject(queue_.at(0));
      }
    }
  }

  /// Starts requests that have arrived and fit, in order. None overtakes the first that waits for pages. One that waits
  /// for its fetch holds up only those that would take its place, or the pages that it will need.
  Result<std::monostate> admit() {
    bool ordered = false, again = true;
    // A request that starts makes the next step longer, perhaps too long for those that wait, so they are checked
    // again.
    while (again) {
      const std::size_t before = running_.size();
      std::size_t passed = 0;
      std::uint32_t kept = 0;  // tokens that those need
      while (running_.size() + passed < run_.options.running) {
        if (auto more = queue_.fill(now_ms_, processed_); !more) return more.error();
        if (!ordered) queue_.order(now_ms_, processed_);
        if (!ordered) queue_.fetch_ahead(now_ms_);
        ordered = true;
        if (passed == queue_.size() || queue_.at(passed)->client.arrival_ms > now_ms_) break;
        const auto job = queue_.at(passed);
        const Start start = this->start(job, kept);
        if (start == Start::no_room) break;
        if (start == Start::not_ready) {
          ++passed;
          kept += job->total();
        }
      }
      again = passed > 0 && running_.size() > before;
    }
    return std::monostate{};
  }

  enum class Start : std::uint8_t { taken, not_ready, no_room };

  /// Takes a request out of the queue: runs it beside `kept` tokens of others, or rejects it if it can never fit.
  Start start(Jobs::iterator at, std::uint32_t kept) {
    Job& job = *at;
    if (job.waits_us) job.waited_us += now_ms_ * 1000 - *std::exchange(job.waits_us, {});
    const RequestSpec arrival = job.spec(run_.options.prefill_tokens);
    RequestSpec all = arrival;
    all.output_limit += kept;
    const Admission::Verdict verdict = run_.engine.admits(all).verdict;
    if (kept > 0 && verdict == Admission::Verdict::never) return waits_for_room(job);
    if (verdict == Admission::Verdict::never) {
      reject(at);
      return Start::taken;
    }
    const bool ready = verdict != Admission::Verdict::now || has_come(job);
    if (verdict == Admission::Verdict::now && ready) {
      const bool is_new = !job.request;
      const std::uint32_t brought = job.fetch.done() ? job.fetch.tokens() : 0;
      job.load_us += job.fetch.took_us();
      if (is_new) job.request.emplace(run_.begin(arrival, std::move(job.fetch)));
      else job.request->resume();
      began(job, brought);
      job.fetch_begun = Job::FetchBegun::no;
      // Takes the pages of the whole prompt now. Otherwise another request could start with pages promised to this one.
      const std::uint32_t first_chunk = job.request->matched() + run_.options.prefill_tokens;
      if (job.request->reserve(job.known(), first_chunk)) {
        run(at, is_new);
        return Start::taken;
      }
      if (is_new) {
        run_.take_back();
        job.request.reset();
      } else {
        job.request->retract();
      }
    }
    return ready ? waits_for_room(job) : Start::not_ready;
  }

  Start waits_for_room(Job& job) {
    run_.report.waited += !std::exchange(job.has_waited, true);
    return Start::no_room;
  }

  /// Drops a waiting request that can never fit. One that ran before, and was retracted, is counted already.
  void reject(Jobs::iterator at) {
    if (at->request) {
      ++run_.report.rejected;
      forget(*at);
    } else {
      run_.reject(at->client);
    }
    queue_.drop(at);
  }

  /// Forgets the commits of a request that ends.
  void forget(const Job& job) {
    std::uint64_t oldest = run_.report.steps;
    for (const Job& other : running_)
      if (&other != &job) oldest = std::min(oldest, other.began);
    commits_.ended(job.request->id(), run_.report.steps, oldest);
  }

  /// Returns true if a request that could start has waited enough for its fetch. If a fetch ended while it waited,
  /// fetches again, because some of its prefix may have left the pools since.
  bool has_come(Job& job) {
    if (job.fetch.done() && job.fetch_begun != Job::FetchBegun::now) queue_.fetch(job, Job::FetchBegun::now, now_ms_);
    if (job.fetch.done() || job.fetch.ready(next_step_us())) return true;
    job.waits_us = now_ms_ * 1000;
    return false;
  }

  /// Returns the duration of the next step with the requests that run now; 0 if none runs.
  std::uint64_t next_step_us() const {
    std::uint32_t budget = run_.options.prefill_tokens;
    std::uint64_t prefill_us = 0;
    for (const Job& job : running_) {
      const std::uint32_t computed = job.request->computed();
      const std::uint32_t chunk = std::min(budget, job.known() - std::min(job.known(), computed));
      budget -= chunk;
      prefill_us += run_.engine.tiers().recompute_us(chunk, computed);
    }
    return running_.empty() ? 0 : std::max<std::uint64_t>(run_.options.step_ms * std::uint64_t{1000}, prefill_us);
  }

  /// Records that a request has begun after waiting for its fetch, which brought `brought` tokens.
  void began(Job& job, std::uint32_t brought) {
    const std::uint32_t matched = job.request->matched(), prompt = job.known();
    const std::uint32_t resident = matched - std::min(matched, brought);
    job.fetch = {};
    const std::uint64_t wait_us = std::exchange(job.waited_us, 0);
    run_.loaded(std::exchange(job.load_us, 0), wait_us);
    run_.weighed(wait_us + run_.engine.tiers().recompute_us(prompt - matched, matched),
                 run_.engine.tiers().recompute_us(prompt - resident, resident));
  }

  void run(Jobs::iterator at, bool is_new) {
    Job& job = *at;
    const std::uint32_t matched = job.request->matched();
    job.offered = 0;
    job.began = run_.report.steps;
    if (is_new) {
      in_vain_ = 0;
      run_.count(job.client, matched);
      waits_.add(now_ms_ - job.client.arrival_ms);
    }
    if (!is_new) commits_.came_back(job.request->id(), matched);
    if (run_.content) {
      if (!job.trail) job.trail.emplace(job.space);
      job.trail->follow(job.tokens());
      run_.content->check(*job.request, *job.trail, 0, matched);
    }
    queue_.move(at, running_);
    run_.report.most_running = std::max(run_.report.most_running, static_cast<std::uint32_t>(running_.size()));
  }

  void step() {
    std::uint32_t budget = run_.options.prefill_tokens;
    prefill_us_ = 0;
    for (auto at = running_.begin(); at != running_.end();) {
      if (at->abort_at && at->request->computed() >= at->abort_at) {
        forget(*at);
        at = running_.erase(at);  // its client aborted, and so does the destructor
        ++run_.report.aborted;
      } else if (at->request->computed() >= at->total()) {
        forget(*at);
        at->request->finish(at->request->computed());
        at = running_.erase(at);
        in_vain_ = 0;
      } else if (advance(*at, budget)) {
        ++at;
      } else if (std::next(at) != running_.end()) {
        retract(std::prev(running_.end()));  // no page is free: the youngest is retracted
      } else if (running_.size() > 1 || !queue_.drop_fetches()) {
        // The last one needs what is held for those that wait: without that it would come back and find the same.
        at = retract(at);
      }
    }
    now_ms_ += std::max<std::uint64_t>(run_.options.step_ms, (prefill_us_ + 999) / 1000);
    all_prefill_us_ += prefill_us_;
    for (const std::uint64_t arrival_ms : answered_) firsts_.add(now_ms_ - arrival_ms);
    answered_.clear();
  }

  /// Advances by a chunk of prefill or one decoded token. Returns false if there is no page for it.
  bool advance(Job& job, std::uint32_t& budget) {
    if (run_.options.rematch && job.request->computed() < job.known()) rematch(job);
    const std::uint32_t known = job.known(), computed = job.request->computed();
    std::uint32_t until = known + 1;
    if (computed < known) {
      until = computed + std::min(budget, known - computed);
      if (until == computed) return true;  // other requests have used up this step's prefill
    }
    if (!job.request->reserve(until)) return false;
    if (until <= known) {
      budget -= until - computed;
      prefill_us_ += run_.engine.tiers().recompute_us(until - computed, computed);
      processed_ += until - computed;
    } else {
      job.request->append(job.answer_token(known - job.prompt()));
      ++run_.report.output_tokens;
      in_vain_ = 0;
    }
    if (run_.content) {
      job.trail->follow(job.tokens());
      run_.content->write(*job.request, *job.trail, computed, until);
    }
    commit(job, until);
    // The step that computes the last token of a prompt computes the first one of its answer.
    if (until >= job.prompt() && job.client.output_tokens > 0 && !std::exchange(job.has_answered, true))
      answered_.push_back(job.client.arrival_ms);
    return true;
  }

  /// Reuses what others have computed of its prompt since it was matched.
  void rematch(Job& job) {
    const std::uint32_t gained = job.request->rematch(), until = job.request->computed();
    run_.report.rematched_tokens += gained;
    if (gained > 0 && run_.content) run_.content->check(*job.request, *job.trail, until - gained, until);
  }

  /// Inserts new whole pages at once, and checks the pages that replace them if another request was faster.
  void commit(Job& job, std::uint32_t computed) {
    const std::uint32_t before = job.request->committed(), whole = run_.engine.whole_pages(computed);
    if (whole <= std::max(before, job.offered)) return job.request->advance(computed);
    job.offered = whole;
    const std::uint32_t repointed = job.request->commit(computed);
    run_.report.repointed_tokens += repointed;
    run_.report.computed_twice_tokens += computed_twice(job, before, before + repointed);
    commits_.committed(job.request->id(), whole, run_.report.steps);
    if (run_.content) run_.content->check(*job.request, *job.trail, before, before + repointed);
  }

  /// Returns how many of the tokens of these replaced pages another request committed since this one began.
  std::uint32_t computed_twice(const Job& job, std::uint32_t from, std::uint32_t end) const {
    const Units page_size = run_.engine.page_size();
    std::uint32_t twice = 0;
    for (std::uint32_t token = from; token < end; token += page_size) {
      const Page page = job.request->row()[token / page_size];
      const std::uint64_t other = page != 0 ? run_.engine.pool(0).last_owner(page) : 0;
      if (other != job.request->id() && commits_.committed_since(other, token, job.began)) twice += page_size;
    }
    return twice;
  }

  /// Retracts a request. Its committed pages stay in the tree, so it can continue from there.
  Jobs::iterator retract(Jobs::iterator at) {
    at->request->retract();
    ++run_.report.retracted;
    ++in_vain_;
    const auto next = std::next(at);
    queue_.put_back(running_, at);
    return next;
  }

  Run& run_;
  Jobs running_;  ///< oldest first
  WaitingQueue queue_;
  Times waits_, firsts_;  ///< until the first start; until the first token of the answer
  CommitSteps commits_;
  std::vector<std::uint64_t> answered_;  ///< arrivals of those whose first token comes with this step
  static constexpr std::uint64_t kMostInVain = 10'000;
  std::uint64_t in_vain_ = 0;  ///< retractions since a request began, ended or had room for a token of its answer
  std::uint64_t now_ms_ = 0;
  std::uint64_t prefill_us_ = 0, all_prefill_us_ = 0;  ///< Time of this step, and of all, by the engine's costs.
  std::uint64_t processed_ = 0;                        ///< prompt tokens computed so far
};

}  // namespace

Result<std::monostate> run_timed(Run& run) { return Scheduler(run)(); }

}  // namespace canopy::replay
