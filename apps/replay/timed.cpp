#include <answer.h>

#include <algorithm>
#include <deque>
#include <list>

#include "run.h"

namespace canopy::replay {
namespace {

/// A request that wants to run: new, or set aside on its way.
struct Pending {
  workload::ClientRequest client;  ///< if it was set aside: with what it had answered so far in its prompt
  std::uint64_t answer = 0;        ///< names what the model answers
  std::uint32_t answered = 0;      ///< tokens of it that are in the prompt
  std::uint32_t abort_at = 0;      ///< computed tokens at which its client gives up; 0 never
  bool has_waited = false, has_run = false;
};

/// One on its way through prefill and decode.
struct Running {
  Pending what;
  Request request;
  Trail trail;
  std::uint32_t prompt;  ///< tokens it began with
  std::uint32_t computed;
  std::uint32_t offered = 0;  ///< whole pages of it were last offered to the index at this many tokens

  std::uint32_t total() const { return prompt + what.client.output_tokens; }
  std::uint32_t known() const { return static_cast<std::uint32_t>(request.tokens().size()); }
};

/// A serving engine's scheduler, as small as it can be while still doing to a cache what real ones do: first
/// come first served, chunked prefill, one decoded token a step, and the youngest gives way when pages run out.
class Scheduler {
 public:
  explicit Scheduler(Run& run) : run_(run) {}

  Result<std::monostate> operator()() {
    for (;;) {
      auto admitted = admit();
      if (!admitted) return admitted.error();
      if (!running_.empty()) {
        step();
        now_ms_ += run_.options.step_ms;
        ++run_.report.steps;
      } else if (queue_.empty()) {
        return std::monostate{};
      } else if (queue_.front().client.arrival_ms > now_ms_) {
        now_ms_ = queue_.front().client.arrival_ms;
      } else {
        // Nothing runs, so nothing will ever be released: what does not fit now never will.
        ++run_.report.rejected;
        queue_.pop_front();
      }
    }
  }

 private:
  /// Whoever has arrived and fits, in order. Nobody overtakes the first who must wait.
  Result<std::monostate> admit() {
    while (running_.size() < run_.options.running) {
      if (queue_.empty()) {
        Pending next;
        auto more = run_.next(next.client);
        if (!more) return more.error();
        if (!*more) break;
        next.answer = workload::prompt_hash(next.client.prompt);
        next.abort_at = abort_at(next);
        queue_.push_back(std::move(next));
      }
      if (queue_.front().client.arrival_ms > now_ms_ || !start(queue_.front())) break;
      queue_.pop_front();
    }
    return std::monostate{};
  }

  /// Drawn once for a request, however often it is set aside.
  std::uint32_t abort_at(const Pending& what) {
    const std::uint64_t lot = workload::splitmix64(what.answer ^ ++drawn_);
    const std::uint64_t total = what.client.prompt.size() + what.client.output_tokens;
    return total > 0 && lot % 1000 < run_.options.abort_permille ? static_cast<std::uint32_t>(1 + lot / 1000 % total)
                                                                 : 0;
  }

  /// False if it must wait. A request that can never run is rejected, and that is the end of it.
  bool start(Pending& what) {
    const workload::ClientRequest& client = what.client;
    const NamespaceId space = run_.engine.intern({client.space, {}, {}});
    const Arrival arrival{client.prompt, space, client.priority, 0, client.output_tokens, 1};
    const Admission::Verdict verdict = run_.engine.admits(arrival).verdict;
    if (verdict == Admission::Verdict::never) {
      ++run_.report.rejected;
      if (!what.has_run) run_.count(client, 0);
      return true;
    }
    const auto prompt = static_cast<std::uint32_t>(client.prompt.size());
    if (verdict == Admission::Verdict::now) {
      Request request = run_.engine.begin(arrival);
      // Its whole prompt at once: what others have been promised is not there for a newcomer to be let in on.
      if (request.reserve(prompt)) {
        run(std::move(what), std::move(request), space);
        return true;
      }
    }
    run_.report.waited += !std::exchange(what.has_waited, true);
    return false;
  }

  void run(Pending what, Request request, NamespaceId space) {
    const std::uint32_t matched = request.matched();
    if (!std::exchange(what.has_run, true)) run_.count(what.client, matched);
    const auto prompt = static_cast<std::uint32_t>(what.client.prompt.size());
    Running next{std::move(what), std::move(request), Trail(space), prompt, matched};
    if (run_.content) {
      next.trail.follow(next.request.tokens());
      run_.content->check(next.request, next.trail, 0, matched);
    }
    running_.push_back(std::move(next));
    run_.report.most_running = std::max(run_.report.most_running, static_cast<std::uint32_t>(running_.size()));
  }

  void step() {
    std::uint32_t budget = run_.options.prefill_tokens;
    for (auto at = running_.begin(); at != running_.end();) {
      if (at->what.abort_at && at->computed >= at->what.abort_at) {
        at = running_.erase(at);  // its client has gone: the destructor aborts
        ++run_.report.aborted;
      } else if (at->computed >= at->total()) {
        at->request.finish(at->computed);
        at = running_.erase(at);
      } else if (advance(*at, budget)) {
        ++at;
      } else if (std::next(at) != running_.end()) {
        retract(std::prev(running_.end()));  // no page to be had: the youngest gives way
      } else {
        at = retract(at);
      }
    }
  }

  /// A chunk of prefill or one decoded token; false if there is no page for it.
  bool advance(Running& running, std::uint32_t& budget) {
    const std::uint32_t known = running.known();
    std::uint32_t until = known;
    if (running.computed < known) {
      until = running.computed + std::min(budget, known - running.computed);
      if (until == running.computed) return true;  // others have used up this step's prefill
    } else {
      until = known + 1;
    }
    if (!running.request.reserve(until)) return false;
    if (until <= known) budget -= until - running.computed;
    if (until > known) {
      running.request.append(
          workload::answer_token(running.what.answer, running.what.answered + known - running.prompt));
      ++run_.report.output_tokens;
    }
    if (run_.content) {
      running.trail.follow(running.request.tokens());
      run_.content->write(running.request, running.trail, running.computed, until);
    }
    running.computed = until;
    commit(running);
    return true;
  }

  /// Makes whole new pages reusable at once, and looks at the pages that another request turned out to have.
  void commit(Running& running) {
    const std::uint32_t before = running.request.committed(), whole = run_.engine.whole_pages(running.computed);
    if (whole <= std::max(before, running.offered)) return;
    running.offered = whole;
    const std::uint32_t repointed = running.request.commit(running.computed);
    run_.report.repointed_tokens += repointed;
    if (run_.content) run_.content->check(running.request, running.trail, before, before + repointed);
  }

  /// Sets a request aside: what it has computed stays reusable, so that it can go on from there.
  std::list<Running>::iterator retract(std::list<Running>::iterator at) {
    commit(*at);
    Pending again = std::move(at->what);
    const auto tokens = at->request.tokens();
    const std::uint32_t decoded = at->known() - at->prompt;
    again.answered += decoded;
    again.client.output_tokens -= decoded;
    again.client.prompt.assign(tokens.begin(), tokens.end());
    ++run_.report.retracted;
    queue_.push_front(std::move(again));
    return running_.erase(at);
  }

  Run& run_;
  std::list<Running> running_;  ///< oldest first
  std::deque<Pending> queue_;   ///< those set aside, and at most one that has not run yet
  std::uint64_t now_ms_ = 0, drawn_ = 0;
};

}  // namespace

Result<std::monostate> run_timed(Run& run) { return Scheduler(run)(); }

}  // namespace canopy::replay
