#include <canopy/plugin.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

// Policies that serve well for a while and then fail, each in one call and in one way.
namespace {

using canopy::NodeFacts;
using canopy::Rank;
using canopy::RequestFacts;

enum class Call { rank, volatility, describe, spare, evicted, reads_prints, arrived, ended };

[[noreturn]] void fail_by_throwing() { throw std::runtime_error("its table is full"); }
[[noreturn]] void fail_by_throwing_a_number() { throw 7; }
[[noreturn]] void fail_by_crashing() {
  std::raise(SIGSEGV);
  std::_Exit(9);
}
[[noreturn]] void fail_by_dividing() {
  std::raise(SIGFPE);
  std::_Exit(9);
}
[[noreturn]] void fail_by_aborting() { std::abort(); }
[[noreturn]] void fail_by_leaving() { std::exit(0); }
[[noreturn]] void fail_by_hanging() {
  for (;;) ::pause();
}
/// Down to an end that no stack has room for.
int dive(volatile int& depth) {
  volatile char here[4096];
  here[0] = static_cast<char>(depth);
  depth = depth + 1;
  return depth < 0 ? 0 : dive(depth) + here[0];
}
[[noreturn]] void fail_by_diving() {
  volatile int depth = 0;
  std::_Exit(dive(depth));
}

template <Call Where, void (*Fail)(), int After>
struct Failing final : canopy::EvictionStrategy {
  Rank rank(const NodeFacts& node) override {
    meet<Call::rank>();
    return {~node.last_access, 0};
  }
  canopy::Volatility volatility() const override {
    meet<Call::volatility>();
    return canopy::Volatility::none;
  }
  canopy::PolicyText describe() const override {
    meet<Call::describe>();
    return {};
  }
  bool spare(const NodeFacts&) override {
    meet<Call::spare>();
    return false;
  }
  void evicted(const NodeFacts&, const canopy::Eviction&) override { meet<Call::evicted>(); }
  canopy::Prints reads_prints() const override {
    meet<Call::reads_prints>();
    return canopy::Prints::none;
  }
  void arrived(const RequestFacts&) override { meet<Call::arrived>(); }
  void ended(const RequestFacts&, canopy::Path&) override { meet<Call::ended>(); }

 private:
  template <Call Here>
  void meet() const {
    if (Here == Where && ++met_ > After) Fail();
  }
  mutable int met_ = 0;
};

struct ThrowsAtTheEnd final : canopy::EvictionStrategy {
  Rank rank(const NodeFacts& node) override { return {0, node.last_access}; }
  ~ThrowsAtTheEnd() override { fail_by_throwing_a_number(); }
};

template <Call Where, void (*Fail)(), int After = 20>
constexpr CanopyComponent policy(const char* name) {
  return canopy::provide<canopy::EvictionStrategy, Failing<Where, Fail, After>>(name, "fails, in one way");
}

}  // namespace

CANOPY_PLUGIN("1.0.0", policy<Call::rank, fail_by_throwing>("throws_in_rank"),
              policy<Call::rank, fail_by_throwing_a_number, 0>("throws_in_first_rank"),
              policy<Call::volatility, fail_by_throwing>("throws_in_volatility"),
              policy<Call::describe, fail_by_throwing, 0>("throws_in_describe"),
              policy<Call::spare, fail_by_throwing>("throws_in_spare"),
              policy<Call::evicted, fail_by_throwing>("throws_in_evicted"),
              policy<Call::reads_prints, fail_by_throwing, 0>("throws_in_reads_prints"),
              policy<Call::arrived, fail_by_throwing>("throws_in_arrived"),
              policy<Call::ended, fail_by_throwing>("throws_in_ended"), policy<Call::rank, fail_by_crashing>("crashes"),
              policy<Call::evicted, fail_by_dividing>("divides"), policy<Call::spare, fail_by_aborting>("aborts"),
              policy<Call::rank, fail_by_leaving>("leaves"), policy<Call::evicted, fail_by_hanging>("hangs"),
              policy<Call::arrived, fail_by_diving>("dives"),
              canopy::provide<canopy::EvictionStrategy, ThrowsAtTheEnd>("throws_at_the_end", "in its destructor"));
