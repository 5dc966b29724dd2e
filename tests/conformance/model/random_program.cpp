#include "random_ops.h"

#include <program/history.h>

#include <algorithm>
#include <array>

namespace canopy::test {

namespace {

struct Weight {
  Verb verb;
  std::uint32_t weight;
  bool may_be_off;
};

constexpr std::array kWeights{
    Weight{Verb::match, 30'000, false}, Weight{Verb::insert, 38'000, false}, Weight{Verb::release, 14'000, true},
    Weight{Verb::evict, 5'000, true},   Weight{Verb::peek, 4'000, true},     Weight{Verb::own, 2'500, true},
    Weight{Verb::drop, 3'500, true},    Weight{Verb::remap, 500, true},      Weight{Verb::flush, 25, true},
    Weight{Verb::clear, 15, true},      Weight{Verb::policy, 200, true},     Weight{Verb::state, 500, true},
    Weight{Verb::find, 8'000, true},    Weight{Verb::hold, 8'000, true},
};
/// Weights in worlds with named groups.
constexpr std::array kGroupWeights{Weight{Verb::relax, 20'000, true}, Weight{Verb::evict, 15'000, true}};
/// Weights in worlds with tenants.
constexpr std::array kTenantWeights{Weight{Verb::assign, 400, false}, Weight{Verb::evict, 5'000, true},
                                    Weight{Verb::policy, 300, true}, Weight{Verb::keep, 6'000, true},
                                    Weight{Verb::unkeep, 4'000, true}};
/// Pools of a page or two have few special cases, which a program soon reaches, so every second world is large.
constexpr std::array<std::uint32_t, 8> kCapacities{1, 2, 64, 64, 4'096, 4'096, 4'096, 4'096};
/// Tombstones must be refilled while their prefix is in the tree, so worlds of several groups are smaller.
constexpr std::array<std::uint32_t, 8> kGroupCapacities{2, 16, 64, 64, 256, 256, 256, 1'024};

constexpr std::uint32_t kHistory = 256, kLocks = 12, kOwners = 4, kFound = 6;

class Draw {
 public:
  Draw(std::uint64_t seed, WorldConfig& config) : prng_(seed), config_(config) {
    config_.capacity = (config.groups.empty() ? kCapacities : kGroupCapacities)[prng_.below(kCapacities.size())];
    for (const Weight& kind : kWeights) add(kind);
    if (!config.groups.empty())
      for (const Weight& kind : kGroupWeights) add(kind);
    if (config.tenants > 0) {
      config_.namespaces = std::max(config_.namespaces, 1 + prng_.below(8));
      for (const Weight& kind : kTenantWeights) add(kind);
    }
    keeps_ = !prng_.one_in(4), continues_ = !prng_.one_in(4), chunks_ = prng_.one_in(2), urgent_ = prng_.one_in(2);
    alphabet_ = prng_.one_in(8) ? ~std::uint32_t{0} : 4;
    // With long keys in every world, each tree would have only a few nodes.
    longest_ = std::array<std::uint32_t, 3>{3, 8, 24}[prng_.below(3)];
  }

  Operation operation() {
    Operation made;
    made.verb = verb();
    switch (made.verb) {
      case Verb::match:
        key(made), as(made, 3);
        break;
      case Verb::peek:
        key(made);
        break;
      case Verb::insert:
        key(made), as(made, 3);
        made.chunked = chunks_ && prng_.one_in(4);
        made.priority = urgent_ ? static_cast<std::int32_t>(prng_.below(4)) - 1 : 0;
        for (const GroupSettings& group : config_.groups)
          if (group.reach != kWholePath && prng_.one_in(2)) made.from[group.name] = depth_in(made.words);
        break;
      case Verb::release:
        made.name = lock_name(), made.finished = prng_.one_in(2);
        break;
      case Verb::evict:
        made.count = prng_.one_in(200) ? prng_.below(config_.capacity + 2) : prng_.below(6);
        if (!of_tenant(made)) break;
        if (!prng_.one_in(4)) made.most = prng_.one_in(4) ? prng_.below(8) : static_cast<std::uint32_t>(made.number());
        break;
      case Verb::flush:
        made.space = space();
        break;
      case Verb::own:
        made.as = owner_name();
        made.count = prng_.below(prng_.one_in(100) ? config_.capacity + 2 : 8);
        break;
      case Verb::drop:
        made.name = owner_name();
        break;
      case Verb::remap:
        made.count = prng_.below(8);
        break;
      case Verb::policy:
        if (of_tenant(made) && !prng_.one_in(3))
          made.to = config_.tenant_policies[prng_.below(static_cast<std::uint32_t>(config_.tenant_policies.size()))];
        break;
      case Verb::assign:
        made.space = static_cast<NamespaceId>(prng_.below(config_.namespaces + 1)), made.of = tenant();
        break;
      case Verb::keep:
      case Verb::unkeep:
        made.name = lock_name();
        break;
      case Verb::find:
        key(made);
        made.as = found_name();
        break;
      case Verb::hold:
        made.name = found_name();
        if (keeps_ && prng_.one_in(3)) made.as = lock_name();
        break;
      case Verb::relax:
        made.name = lock_name();
        made.count = depth_in(kept_[prng_.below(kLocks)].words);
        break;
      default:  // clear, state
        break;
    }
    if (takes_group(made.verb) && !config_.groups.empty())
      made.group = config_.groups[prng_.below(static_cast<std::uint32_t>(config_.groups.size()))].name;
    return made;
  }

 private:
  void add(const Weight& kind) {
    weights_.push_back(kind);
    if (kind.may_be_off && prng_.one_in(4)) weights_.back().weight = 0;
    total_ += weights_.back().weight;
  }

  Verb verb() {
    std::uint32_t at = prng_.below(total_);
    std::size_t i = 0;
    while (at >= weights_[i].weight) at -= weights_[i++].weight;
    return weights_[i].verb;
  }

  /// Returns a depth of whole pages, at most one page past the end of the words.
  std::uint32_t depth_in(const std::vector<std::uint32_t>& words) {
    return prng_.below(static_cast<std::uint32_t>(words.size()) / config_.page_size + 2) * config_.page_size;
  }

  NamespaceId space() { return static_cast<NamespaceId>(prng_.below(config_.namespaces)); }
  TenantId tenant() { return static_cast<TenantId>(prng_.below(config_.tenants + 1)); }
  /// Restricts half of the operations to a tenant. Returns true for these.
  bool of_tenant(Operation& made) {
    if (config_.tenants == 0 || prng_.one_in(2)) return false;
    made.of = tenant();
    return true;
  }
  std::string lock_name() { return "l" + std::to_string(prng_.below(kLocks)); }
  std::string owner_name() { return "o" + std::to_string(prng_.below(kOwners)); }
  std::string found_name() { return "f" + std::to_string(prng_.below(kFound)); }

  /// Stores the lock of an operation under the name `n`; an insert mostly continues the lock that had the name.
  void as(Operation& made, std::uint32_t n) {
    if (!keeps_ || !prng_.one_in(n)) return;
    const std::uint32_t lock = prng_.below(kLocks);
    made.as = "l" + std::to_string(lock);
    Operation& last = kept_[lock];
    if (made.verb == Verb::insert && continues_ && !prng_.one_in(4)) {
      made.name = made.as;
      made.space = last.space;
      made.words = last.words;
      if (made.words.size() > config_.page_size * 64) made.words.resize(config_.page_size);
      append(made.words);
      history_.remember(prng_, made.space, made.words);
    }
    last.space = made.space, last.words = made.words;
  }

  void key(Operation& made) {
    made.space = space();
    if (history_.begin(prng_, made)) {
      if (made.words.size() > config_.page_size * 64) made.words.resize(config_.page_size * 3);
      if (!prng_.one_in(4)) append(made.words);
    } else {
      append(made.words);
    }
    history_.remember(prng_, made.space, made.words);
  }

  /// Appends words so that lengths are at, just before and just after whole pages, where rounding errors occur.
  void append(std::vector<std::uint32_t>& words) {
    std::uint32_t pages = 0;
    while (pages < longest_ && !prng_.one_in(4)) ++pages;
    if (prng_.one_in(2'000)) pages = 512;
    std::uint32_t length = pages * config_.page_size + config_.overlap;
    switch (prng_.below(6)) {
      case 0:
        length += 1;
        break;
      case 1:
        length -= length > 0;
        break;
      case 2:
        length += prng_.below(config_.page_size + 1);
        break;
      default:
        break;
    }
    for (std::uint32_t i = 0; i < length; ++i) words.push_back(1 + prng_.below(alphabet_));
  }

  Random prng_;
  WorldConfig& config_;
  std::vector<Weight> weights_;
  std::uint32_t total_ = 0, alphabet_ = 4, longest_ = 8;
  bool keeps_ = true, continues_ = true, chunks_ = true, urgent_ = true;
  program::History history_{kHistory};
  std::array<Operation, kLocks> kept_;  ///< the last words under each name
};

}  // namespace

Program random_program(std::uint64_t seed, WorldConfig config, std::size_t operations) {
  Program program{seed, std::move(config), {}};
  Draw draw(seed, program.config);
  program.operations.reserve(operations);
  for (std::size_t i = 0; i < operations; ++i) program.operations.push_back(draw.operation());
  return program;
}

}  // namespace canopy::test
