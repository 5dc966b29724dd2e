#pragma once

#include <iterator>
#include <list>
#include <optional>
#include <span>
#include <vector>

#include <workload/answer.h>
#include "run.h"

namespace canopy::replay {

/// A client's request: waiting, in prefill or decode, or retracted.
struct Job {
  workload::ClientRequest client;
  std::uint64_t answer = 0;                       ///< identifies the model's answer if the source has no tokens of it
  std::uint32_t abort_at = 0;                     ///< number of computed tokens at which its client aborts; 0: never
  bool has_waited = false, has_answered = false;  ///< it waited for room; its first token was computed
  std::uint64_t processed = 0;                    ///< prompt tokens that the server had computed at its arrival
  NamespaceId space{};
  Fetch fetch{};  ///< its fetch from a tier below
  enum class FetchBegun : std::uint8_t { no, early, now };
  FetchBegun fetch_begun = FetchBegun::no;     ///< stage at which its fetch was begun, if it was
  std::uint64_t load_us = 0;                   ///< Simulated time that the fetches before `fetch` took.
  std::optional<std::uint64_t> waits_us = {};  ///< time from which it had room and waited for its fetch
  std::uint64_t waited_us = 0;                 ///< such waiting before
  std::optional<Request> request;              ///< set from its first start on
  std::optional<Trail> trail;
  std::uint32_t offered = 0;  ///< its whole pages up to this token were offered to the index
  std::uint64_t began = 0;    ///< step in which it started, or came back after a retraction

  std::uint32_t prompt() const { return static_cast<std::uint32_t>(client.prompt.size()); }
  std::uint32_t total() const { return prompt() + client.output_tokens; }
  Token answer_token(std::uint32_t i) const {
    return client.answer.empty() ? workload::answer_token(answer, i) : client.answer[i];
  }
  std::span<const Token> tokens() const { return request ? request->tokens() : std::span<const Token>(client.prompt); }
  std::uint32_t known() const { return static_cast<std::uint32_t>(tokens().size()); }
  /// Returns the specification for its start or restart.
  RequestSpec spec(std::uint32_t chunk) const {
    return {tokens(), space, client.priority, client.hints, total() - known(), 1, chunk, client.retention};
  }
};
using Jobs = std::list<Job>;

/// The waiting requests of a timed replay: retracted ones, those that have arrived, and possibly the next to arrive. In
/// order of arrival, a request is read only when the earlier ones have started, so that a long queue takes no memory.
/// With a tier below, as many requests as may run at once are read on arrival. Any other order needs all that have
/// arrived.
class WaitingQueue {
 public:
  /// REQUIRES: `run` outlives it.
  explicit WaitingQueue(Run& run) : run_(run) {}

  /// Reads the requests that have arrived, and the next one if nothing else waits.
  Result<std::monostate> fill(std::uint64_t now_ms, std::uint64_t processed);
  /// Sorts the requests that have arrived by the order of the options. Looks each up in the index if that order
  /// requires it.
  void order(std::uint64_t now_ms, std::uint64_t processed);

  /// Begins fetches from a tier below for waiting requests, so that the copies run while others compute. The first
  /// requests come first. Fetched prefixes take at most a quarter of the pool, because the pool serves running
  /// requests.
  void fetch_ahead(std::uint64_t now_ms);
  /// Begins a fetch from a tier below for one request.
  void fetch(Job& job, Job::FetchBegun when, std::uint64_t now_ms);
  /// Gives back what was fetched for waiting requests. Returns false if there was nothing.
  bool drop_fetches();

  /// Returns the earliest time at which a request arrives, or one that waits for its fetch has waited enough;
  /// kUnlimited if there is no such time.
  std::uint64_t next_ms(std::uint64_t now_ms) const;
  /// Returns true if a request that has arrived waits for its fetch.
  bool waits_for_fetch(std::uint64_t now_ms) const;

  bool empty() const { return jobs_.empty(); }
  std::size_t size() const { return jobs_.size(); }
  /// REQUIRES: place < size().
  Jobs::iterator at(std::size_t place) { return std::next(jobs_.begin(), static_cast<std::ptrdiff_t>(place)); }
  void drop(Jobs::iterator job) {
    jobs_.erase(job);
    dropped_ = false;
  }
  /// Moves a job to the running ones.
  void move(Jobs::iterator job, Jobs& running) {
    running.splice(running.end(), jobs_, job);
    dropped_ = false;
  }
  /// Returns a retracted request to the front of the queue.
  void put_back(Jobs& running, Jobs::iterator job) { jobs_.splice(jobs_.begin(), running, job); }

 private:
  bool reads_ahead() const;
  bool fetches_ahead() const { return run_.engine.tiers().has_host() && jobs_.size() <= run_.options.running; }
  std::uint32_t abort_at(const Job& job) const;
  scheduling::Waiter look_up(const Job& job, bool in_cache) const;

  Run& run_;
  Jobs jobs_;
  bool source_ended_ = false;
  bool dropped_ = false;  ///< fetches were given back to start the first request; none begins ahead until then
  std::vector<scheduling::Waiter> waiters_;
};

}  // namespace canopy::replay
