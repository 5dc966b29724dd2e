#pragma once

#include <canopy/base/random.h>
#include <canopy/base/registry.h>
#include <canopy/engine/engine.h>
#include <replay/content.h>

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <program/operation.h>
#include "faulty.h"
#include "reached.h"
#include "residence.h"
#include "subject.h"
#include "tenancy.h"

namespace canopy::check {

using program::Operation, program::Verb;

/// Runs operations on an engine and its requests, and checks them. After every operation: the ledger; the bytes of
/// every reused token; each match against a walk over the whole index, and against what was committed since the last
/// flush; each admission against its outcome; each refusal against the pages of the pools; prefixes under retention.
/// After every 64th operation, every lie and every refusal of memory: the audit, and counters against its own. Throws a
/// test::Mismatch if a check fails.
class Trial {
 public:
  struct Live {
    std::string name;  ///< empty: it lasts for one operation
    Request request;
    replay::Trail trail;
    std::uint32_t space;
    bool aside = false;                   ///< true if it is retracted
    std::uint64_t us = 0;                 ///< microseconds for which its retention lasts
    std::uint32_t prompt = 0, found = 0;  ///< tokens; found: by its last match, until it is admitted
    bool admitted = false;
    std::uint32_t known() const { return static_cast<std::uint32_t>(request.tokens().size()); }
  };

  /// Begins a trial. `faults`: the faults of the engine's components; may be null (they cannot fail). REQUIRES: all
  /// arguments outlive the trial.
  Trial(Engine& engine, const Registry& registry, Faults* faults, bool inserts_at_finish, std::uint32_t flips = 0);
  /// Begins a trial of an engine that another one may replace. `rank`: its number among the ranks.
  Trial(Subject& subject, const Registry& registry, unsigned rank = 0);
  ~Trial();
  Trial(const Trial&) = delete;

  /// Runs an operation. Returns false if it was impossible, and did nothing.
  bool apply(const Operation& operation);
  /// Ends all requests and empties the index: every page must come back. A lie must have been detected.
  void finish();

  const Engine& engine() const { return *engine_; }
  std::span<const Live> lives() const { return lives_; }
  std::size_t pins() const { return pins_.size(); }
  /// Returns true if the engine has tenants.
  bool tenants() const { return parts_->tenancy.any(); }
  /// Returns true if the last operation was a refused reservation.
  bool refused() const { return refused_; }
  /// Makes it one of several ranks. `lacks`: becomes true when one of them is refused memory. REQUIRES: it outlives
  /// this.
  void beside(const std::atomic<bool>& lacks) { lacks_ = &lacks; }
  /// Returns true if memory was refused in a way that ranks may feel differently: to this one or to another.
  bool may_part() const { return (scarce() > 0 || (lacks_ && *lacks_)) && engine_->tiers().has_storage(); }
  /// Returns true if a lie of a component was detected. The engine is wrong from then on, and the program must end.
  bool over() const { return over_; }
  /// Returns the tokens of the request that finished in the last operation; empty if none did.
  std::span<const Token> left() const { return left_; }
  std::uint32_t left_space() const { return left_space_; }  ///< the number of its namespace
  const Reached& reached() const { return reached_; }

 private:
  std::size_t group_of(const Operation& operation) const;
  static std::uint32_t number_of(NamespaceId space) { return static_cast<std::uint32_t>(space); }
  bool do_it(const Operation& operation);
  bool begin(const Operation& operation);
  bool serve(const Operation& operation);
  bool reserve(Live& live, std::uint64_t tokens, std::uint64_t soon);
  bool move_on(Live& live, std::uint64_t tokens, bool commits);
  bool finish(Live& live, std::uint64_t tokens);
  void admit(Live& live);
  void drop(const Live& live);
  bool retract(Live& live);
  bool rematch(Live& live);
  bool resume(Live& live);
  bool flush(std::uint32_t space);
  bool use_policy(std::size_t group, const std::string& name);
  bool resize(std::size_t group, std::uint64_t pages);
  bool pin(std::uint64_t place);
  bool unpin(std::uint64_t place);
  bool fetch(const Operation& operation);
  Fetch fetched_for(std::string_view name);
  void turn(std::uint64_t us);
  bool bring(const Operation& operation);
  bool may_not_fail() const;
  std::uint64_t may_leave_early() const;
  void check_ahead();
  bool set_share(const Operation& operation);
  bool flush_unknown();
  bool reopen(const std::string& index);
  bool fork();
  void end_child();
  bool arm(const Operation& operation);
  void use_wrong_image();
  void check_refused(std::uint64_t damaged);
  void run_out();
  void everything_leaves();
  void recovers();
  void check_kept();
  void check_figures();
  void forgive();
  bool is_of_memory(std::string_view report) const;

  bool fits_beside(std::uint32_t matched, const RequestSpec& spec) const;
  Live& start(const RequestSpec& spec, const std::string& name, std::uint32_t space);
  Live* find(std::string_view name);
  NamespaceId space_of(std::uint32_t number);
  std::uint64_t may_have(std::size_t group) const;
  std::size_t missing_pages(const Live& live, std::size_t group, std::uint64_t tokens, std::uint64_t soon) const;
  void must_have_tried(const Live& live, std::uint64_t tokens, std::uint64_t soon) const;
  void must_not_fit(const Live& live, std::uint64_t tokens, std::uint64_t soon) const;
  bool draining() const;
  /// Returns true if a component may have failed since `happened`, so that less can be expected.
  bool may_fail(std::uint64_t had) const { return faults_ && (faults_->armed() || happened() != had); }
  std::uint64_t happened() const { return faults_ ? faults_->happened + scarce() : 0; }
  std::uint64_t scarce() const { return faults_ ? faults_->scarcity.refused() : 0; }
  /// Calls the engine: memory that is refused is refused to this call.
  template <class Call>
  decltype(auto) ask(Call&& call) {
    const Scarcity::Call counts(faults_ ? &faults_->scarcity : nullptr);
    return call();
  }
  void audit();
  std::optional<std::string_view> tenant_of(const Operation& operation) const;
  void look(const char* after);

  /// Parts of the present engine.
  struct Parts {
    replay::Content content;
    Residence residence;
    Tenancy tenancy;
    Parts(Engine& engine, std::uint32_t flips) : content(engine), residence(engine, flips), tenancy(engine) {}
  };
  struct Awaited {
    std::string request;  ///< its name
    Fetch fetch;
    std::vector<Token> tokens;
    std::uint32_t space;
  };
  struct Kept {
    std::vector<Token> tokens;
    std::uint32_t space;
    Units length;
    std::uint64_t until_us;
  };
  /// Prefixes that may be found, by the number of their namespace: those that were committed since its last flush.
  class Known {
   public:
    void add(std::span<const Token> tokens) {
      visit(tokens, [&](std::uint64_t print) { prints_.insert(print); });
    }
    bool has(std::span<const Token> tokens) const {
      std::uint64_t last = 0;
      visit(tokens, [&](std::uint64_t print) { last = print; });
      return tokens.empty() || prints_.contains(last);
    }
    void clear() { prints_.clear(); }

   private:
    template <class Visit>
    static void visit(std::span<const Token> tokens, Visit&& visit) {
      std::uint64_t print = 0;
      for (const Token token : tokens) visit(print = splitmix64(print + token + 1));
    }
    std::unordered_set<std::uint64_t> prints_;
  };
  void forget(const Awaited& fetch);
  void must_never_fit(const RequestSpec& spec, const std::string& reason) const;
  void must_be_known(const Live& live, std::uint32_t tokens) const;

  Subject* subject_ = nullptr;  ///< may be null (the engine is the caller's)
  Engine* engine_;
  const Registry& registry_;
  Faults* faults_;
  unsigned rank_ = 0;
  bool few_a_path_ = false;  ///< a path keeps only some of its states: not that of a fork that is locked
  bool inserts_at_finish_, refused_ = false, over_ = false;
  std::uint32_t flips_;  ///< bits in which the engine's words differ from the tokens
  std::optional<Parts> parts_;
  std::vector<Live> lives_;
  std::vector<NodeId> pins_;
  std::vector<Awaited> fetches_;
  /// Prompts of fetches that were dropped or given to a request before they were done: each goes on to its end.
  std::vector<std::pair<std::vector<Token>, std::uint32_t>> dropped_;
  std::vector<Kept> kept_;
  std::array<Operation, 8> recent_;  ///< Verb::bring of the prompts that finished last; without tokens: none yet
  std::array<Known, kMostSpaces> known_;
  std::array<std::uint64_t, kMaxGroups> limits_{};  ///< limits of the pools, in pages, as they were given
  Counters counters_;                               ///< counters of the present engine
  std::uint64_t now_us_ = 0, forgiven_ = 0;
  pid_t child_ = 0;
  std::array<NamespaceId, kMostSpaces> spaces_{};
  std::array<bool, kMostSpaces> interned_{};
  std::vector<Token> left_;
  std::uint32_t left_space_ = 0;
  Reached reached_;
  const std::atomic<bool>* lacks_ = nullptr;  ///< true once any rank lacked memory; null: there is only one rank
};

}  // namespace canopy::check
