#pragma once

#include <iterator>
#include <list>
#include <optional>
#include <span>
#include <vector>

#include "run.h"

namespace canopy::replay {

/// A client's request: waiting, in prefill or decode, or retracted.
struct Job {
  workload::ClientRequest client;
  std::uint64_t number = 0;    ///< in the order of arrival, from 1
  std::uint64_t answer = 0;    ///< names what the model answers
  std::uint32_t abort_at = 0;  ///< computed tokens at which its client aborts; 0: never
  bool has_waited = false;
  std::uint64_t processed = 0;  ///< prompt tokens that the server had computed when it arrived
  NamespaceId space{};
  Fetch fetch{};  ///< what comes for it from a tier below
  enum class Asked : std::uint8_t { no, early, now };
  Asked asked = Asked::no;                     ///< whether it was asked for: while it waited, or when it could start
  std::uint64_t load_us = 0;                   ///< how long what was asked for before `fetch` took, simulated
  std::optional<std::uint64_t> waits_us = {};  ///< it had room then, and waited for its fetch
  std::uint64_t waited_us = 0;                 ///< and did so before
  std::optional<Request> request;              ///< from its first start on
  std::optional<Trail> trail;
  std::uint32_t offered = 0;  ///< its whole pages up to this token were offered to the index

  std::uint32_t prompt() const { return static_cast<std::uint32_t>(client.prompt.size()); }
  std::uint32_t total() const { return prompt() + client.output_tokens; }
  std::span<const Token> tokens() const { return request ? request->tokens() : std::span<const Token>(client.prompt); }
  std::uint32_t known() const { return static_cast<std::uint32_t>(tokens().size()); }
  /// As which it starts, or starts again.
  RequestSpec spec(std::uint32_t chunk) const {
    return {tokens(), space, client.priority, client.hints, total() - known(), 1, chunk};
  }
};
using Jobs = std::list<Job>;

/// The requests of a timed replay that wait: retracted ones, those that have arrived, and perhaps the next one to come.
/// Where the order is that of arrival, a request is read when the ones before it have started, so that a long queue
/// takes no memory; with a tier below, as many as may run at once are read as they arrive. Any other order needs all
/// that have arrived.
class WaitingQueue {
 public:
  /// REQUIRES: `run` outlives it.
  explicit WaitingQueue(Run& run) : run_(run) {}

  /// Reads the requests that have arrived, and the next one if nothing else waits.
  Result<std::monostate> fill(std::uint64_t now_ms, std::uint64_t processed);
  /// Puts the requests that have arrived in the order of the options. Looks each up in the index, if that order asks
  /// so.
  void order(std::uint64_t now_ms, std::uint64_t processed);

  /// Asks for what a tier below has of the requests that wait, so that the copies run while others compute. The first
  /// ones come first; what they bring holds a quarter of the pool at most, since the pool serves those that run.
  void fetch_ahead(std::uint64_t now_ms);
  /// Asks for what a tier below has of one request.
  void fetch(Job& job, Job::Asked when, std::uint64_t now_ms);
  /// Gives back what was fetched for requests that still wait. False: there was nothing.
  bool drop_fetches();

  /// When, at the earliest, a request arrives or one that waits for its fetch has waited enough; kUnlimited: neither
  /// will be.
  std::uint64_t next_ms(std::uint64_t now_ms) const;
  /// Whether a request that has arrived waits for its fetch.
  bool waits_for_fetch(std::uint64_t now_ms) const;

  bool empty() const { return jobs_.empty(); }
  std::size_t size() const { return jobs_.size(); }
  /// REQUIRES: place < size().
  Jobs::iterator at(std::size_t place) { return std::next(jobs_.begin(), static_cast<std::ptrdiff_t>(place)); }
  void drop(Jobs::iterator job) {
    jobs_.erase(job);
    dropped_ = false;
  }
  /// It runs now.
  void move(Jobs::iterator job, Jobs& running) {
    running.splice(running.end(), jobs_, job);
    dropped_ = false;
  }
  /// A retracted request waits again, before all others.
  void put_back(Jobs& running, Jobs::iterator job) { jobs_.splice(jobs_.begin(), running, job); }

 private:
  bool reads_ahead() const;
  bool fetches_ahead() const { return run_.engine.host_tier() && jobs_.size() <= run_.options.running; }
  std::uint32_t abort_at(const Job& job) const;
  scheduling::Waiter look_up(const Job& job, bool in_cache) const;

  Run& run_;
  Jobs jobs_;
  bool source_ended_ = false;
  bool dropped_ = false;  ///< fetches were given back so that the first one can start: none is begun ahead until then
  std::uint64_t read_ = 0;
  std::vector<scheduling::Waiter> waiters_;
};

}  // namespace canopy::replay
