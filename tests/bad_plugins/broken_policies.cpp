#include <canopy/plugin.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

// Policies that load well and then break the contract, each in one way.
namespace {

using canopy::NodeFacts;
using canopy::Rank;

struct Policy : canopy::EvictionStrategy {
  Rank rank(const NodeFacts& node) override { return {0, node.last_access}; }
};

/// A good one, beside which the others must fail alone.
struct Sound final : Policy {};

struct Restless final : Policy {
  Rank rank(const NodeFacts& node) override { return {0, node.last_access + ++calls_}; }
  std::uint64_t calls_ = 0;
};

/// By a clock too coarse for two questions in a row to notice.
struct ClockReader final : Policy {
  Rank rank(const NodeFacts& node) override { return {static_cast<std::uint64_t>(::time(nullptr)), node.last_access}; }
};

struct ByAddress final : Policy {
  Rank rank(const NodeFacts& node) override { return {reinterpret_cast<std::uintptr_t>(node.tag), 0}; }
};

struct Crasher final : Policy {
  void evicted(const NodeFacts&, const canopy::Eviction&) override { std::raise(SIGSEGV); }
};

struct Hanger final : Policy {
  void arrived(const canopy::RequestFacts&) override {
    for (;;) ::pause();
  }
};

struct Thrower final : Policy {
  Rank rank(const NodeFacts&) override { throw std::runtime_error("its table of ranks is full"); }
};

struct Terminator final : Policy {
  Rank rank(const NodeFacts& node) noexcept override { return promised(node); }

 private:
  static Rank promised(const NodeFacts& node) {
    if (node.length > 0) throw 7;
    return {};
  }
};

struct Quitter final : Policy {
  bool spare(const NodeFacts&) override { std::_Exit(0); }
};

template <class T>
constexpr CanopyComponent policy(const char* name) {
  return canopy::provide<canopy::EvictionStrategy, T>(name, "breaks the contract, but for the sound one");
}

}  // namespace

CANOPY_PLUGIN("1.0.0", policy<Sound>("sound"), policy<Restless>("restless"), policy<ClockReader>("clock_reader"),
              policy<ByAddress>("by_address"), policy<Crasher>("crasher"), policy<Hanger>("hanger"),
              policy<Thrower>("thrower"), policy<Terminator>("terminator"), policy<Quitter>("quitter"));
