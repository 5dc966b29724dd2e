#pragma once

#include <canopy/base/registry.h>
#include <canopy/engine/engine.h>
#include <replay/content.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "faulty.h"
#include "operation.h"
#include "reached.h"
#include "residence.h"
#include "tenancy.h"

namespace canopy::check {

/// Runs operations on an engine and its requests, and checks them. After every operation: the ledger; the bytes of
/// every reused token; each match against a walk over the whole index; each admission against its outcome; each refusal
/// against the pages of the pools. After every 64th operation, and after every lie: the audit. Throws a test::Mismatch
/// if a check fails.
class Trial {
 public:
  struct Live {
    std::uint64_t name;
    Request request;
    replay::Trail trail;
    std::uint32_t space;
    bool aside = false;  ///< true if it is retracted
    std::uint32_t known() const { return static_cast<std::uint32_t>(request.tokens().size()); }
  };

  /// Begins a trial. `faults`: the faults of the engine's components; may be null (they cannot fail). REQUIRES: all
  /// arguments outlive the trial.
  Trial(Engine& engine, const Registry& registry, Faults* faults, bool inserts_at_finish);

  /// Runs an operation. Returns false if it was impossible, and did nothing.
  bool apply(const Operation& operation);
  /// Ends all requests and empties the index: every page must come back. A lie must have been detected.
  void finish();

  const Engine& engine() const { return engine_; }
  std::span<const Live> lives() const { return lives_; }
  std::size_t pins() const { return pins_.size(); }
  /// Returns true if the engine has tenants.
  bool tenants() const { return tenancy_.any(); }
  /// Returns true if the last operation was a refused reservation.
  bool refused() const { return refused_; }
  /// Returns true if a lie of a component was detected. The engine is wrong from then on, and the program must end.
  bool over() const { return over_; }
  /// Returns the tokens of the request that finished in the last operation; empty if none did.
  std::span<const Token> left() const { return left_; }
  const Reached& reached() const { return reached_; }

 private:
  bool do_it(const Operation& operation);
  bool begin(const Operation& operation);
  bool serve(const Operation& operation);
  bool reserve(Live& live, std::uint64_t tokens, std::uint64_t soon);
  bool move_on(Live& live, std::uint64_t tokens, bool commits);
  bool finish(Live& live, std::uint64_t tokens);
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
  Fetch fetched_for(std::uint64_t name);
  void turn(std::uint64_t us);
  bool set_floor(const std::string& tenant, std::uint64_t floor);
  bool arm(const Operation& operation);
  void use_wrong_image();
  void check_refused(std::uint64_t damaged);
  void run_out();
  void everything_leaves();

  bool fits_beside(std::uint32_t matched, const RequestSpec& spec) const;
  Live& start(const RequestSpec& spec, std::uint64_t name, std::uint32_t space);
  Live* find(std::uint64_t name);
  NamespaceId space_of(std::uint32_t number);
  std::uint64_t may_have(std::size_t group) const;
  void must_not_fit(const Live& live, std::uint64_t tokens, std::uint64_t soon) const;
  bool draining() const;
  /// Returns true if a component may have failed since `happened`, so that less can be expected.
  bool may_fail(std::uint64_t happened) const { return faults_ && (faults_->armed() || faults_->happened != happened); }
  std::uint64_t happened() const { return faults_ ? faults_->happened : 0; }
  void audit();
  std::optional<std::string_view> tenant_of(const Operation& operation) const;
  void look(const char* after);

  Engine& engine_;
  const Registry& registry_;
  Faults* faults_;
  bool inserts_at_finish_, refused_ = false, over_ = false;
  replay::Content content_;
  Residence residence_;
  Tenancy tenancy_;
  std::vector<Live> lives_;
  std::vector<NodeId> pins_;
  std::vector<std::pair<std::uint64_t, Fetch>> fetches_;  ///< by the number of their request
  std::uint64_t now_us_ = 0;
  std::array<NamespaceId, kMostSpaces> spaces_{};
  std::array<bool, kMostSpaces> interned_{};
  std::vector<Token> left_;
  Reached reached_;
};

}  // namespace canopy::check
