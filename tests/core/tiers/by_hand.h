#pragma once

#include <canopy/page_storage.h>
#include <canopy/plugin.h>
#include <support/engines.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <utility>

/// An engine over a storage whose calls the test ends by hand.
namespace canopy::test {

/// Keeps records in memory, and ends calls when the test calls end(), or each at the next poll.
class ByHand final : public PageStorage {
 public:
  struct Config {
    bool at_once = false;
    void visit(Options& options) { options.flag("at_once", at_once, "each poll ends all calls"); }
  };
  struct Call {
    std::uint64_t ticket = 0;
    char kind = ' ';
    std::vector<PageKey> keys;
    std::vector<std::byte*> to;
    std::vector<const std::byte*> from;
    std::vector<Fate> fates;
    PageKey space{};       ///< the space of a put
    bool flushed = false;  ///< its space was flushed since it began
  };
  /// The one of the engine that was made last.
  static inline ByHand* last = nullptr;
  /// Those of the engine that was made last, by group.
  static inline std::vector<ByHand*> of_groups;
  static inline bool throws = false, lies = false, repeats = false;

  ByHand(const Config& config, const Context& context) : at_once_(config.at_once), context_(context) {
    last = this;
    of_groups.push_back(this);
  }

  void use_memory(std::span<std::byte> some) override { memory.push_back(some); }
  void find(std::uint64_t ticket, const PageKey&, std::span<const PageKey> keys, std::uint64_t) override {
    if (throws) throw std::runtime_error("no");
    begun.push_back({ticket, 'f', {keys.begin(), keys.end()}, {}, {}, {}});
  }
  void find_each(std::uint64_t ticket, const PageKey&, std::span<const PageKey> keys, std::uint64_t) override {
    begun.push_back({ticket, 'e', {keys.begin(), keys.end()}, {}, {}, {}});
  }
  void get(std::uint64_t ticket, const PageKey&, std::span<const PageKey> keys, std::span<std::byte* const> records,
           std::uint64_t) override {
    begun.push_back({ticket, 'g', {keys.begin(), keys.end()}, {records.begin(), records.end()}, {}, {}});
  }
  void put(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<const std::byte* const> records, std::uint64_t, std::uint32_t) override {
    begun.push_back({ticket, 'p', {keys.begin(), keys.end()}, {}, {records.begin(), records.end()}, {}, space, false});
  }
  void remove(const PageKey&, std::span<const PageKey> keys) override {
    for (const PageKey& key : keys) kept.erase(key.bits), ++removed;
  }
  bool flush(const PageKey& space) override {
    if (throws) throw std::runtime_error("no");
    for (Call& call : begun) call.flushed |= call.kind == 'p' && call.space == space;
    std::erase_if(kept, [&](const auto& record) { return spaces_[record.first] == space; });
    return reachable;
  }

  /// Does the work of all calls of a kind; the next poll returns them.
  void end(char kind, Fate fate = Fate::done) {
    const auto of_kind = [&](const Call& call) { return call.kind == kind; };
    for (Call& call : begun)
      if (of_kind(call)) ended.push_back({run(call, fate), std::move(call)});
    std::erase_if(begun, of_kind);
  }
  std::size_t poll(std::span<StorageDone> done) override {
    reported_.clear();
    for (const char kind : {'f', 'e', 'g', 'p'})
      if (at_once_) end(kind);
    std::size_t count = 0;
    for (auto& [one, call] : ended) {
      reported_.push_back(std::move(call));
      done[count] = one;
      done[count++].fates = reported_.back().fates;
    }
    ended.clear();
    if (count > 0) ended_last_ = done[count - 1].ticket;
    if (std::exchange(lies, false)) done[count++] = {4711, Fate::done, 3, {}};
    if (std::exchange(repeats, false)) done[count++] = {ended_last_, Fate::done, 0, {}};
    return count;
  }
  StorageTraits traits() const override { return {.batch = 4}; }
  StorageUse use() const override { return {.lacked = lacked}; }

  std::uint64_t record_bytes() const { return context_.record_bytes; }

  std::map<std::array<std::uint64_t, 4>, std::vector<std::byte>> kept;
  std::vector<std::span<std::byte>> memory;  ///< arguments of use_memory()
  std::vector<Call> begun;
  std::vector<std::pair<StorageDone, Call>> ended;
  std::size_t removed = 0;
  std::uint64_t lacked = 0;
  bool reachable = true;

 private:
  StorageDone run(Call& call, Fate fate) {
    StorageDone done{call.ticket, fate, 0, {}};
    if (call.kind == 'f') {
      while (fate == Fate::done && done.found < call.keys.size() && kept.contains(call.keys[done.found].bits))
        ++done.found;
      return done;
    }
    call.fates.assign(call.keys.size(), fate);
    for (std::size_t i = 0; fate == Fate::done && i < call.keys.size(); ++i) {
      const auto record = kept.find(call.keys[i].bits);
      if (call.kind == 'p') {
        if (call.flushed) continue;
        kept[call.keys[i].bits].assign(call.from[i], call.from[i] + context_.record_bytes);
        spaces_[call.keys[i].bits] = call.space;
      } else if (record == kept.end()) call.fates[i] = Fate::absent;
      else if (call.kind == 'g') std::ranges::copy(record->second, call.to[i]);
    }
    if (fate == Fate::done) done.fate = fate_of(call.fates);
    return done;
  }

  bool at_once_;
  Context context_;
  std::deque<Call> reported_;
  std::map<std::array<std::uint64_t, 4>, PageKey> spaces_;  ///< the space of each record that was ever put
  std::uint64_t ended_last_ = 0;
};

inline constexpr CanopyComponent kOwn[] = {provide<PageStorage, ByHand>("by_hand", "ends calls when a test says so")};

inline const Registry& registry() {
  static const Registry all = registry_with(kOwn);
  return all;
}

/// 16 pages of 4 tokens, a host tier of 12 pages of which half is kept free, and a storage in real time.
inline std::unique_ptr<Engine> stored_engine(const std::vector<std::string>& changes = {}, const Tune& tune = {}) {
  auto document = parse_yaml(std::string(kSmall) +
                                 "model: { name: m, revision: r, dtype: bf16 }\n"
                                 "tiers: { host: { capacity: 48 }, storage: { in: by_hand } }\n",
                             "test");
  for (const std::string& change : changes) REQUIRE(set_value(*document, change));
  auto config = read_engine_config(*document, registry());
  REQUIRE_MESSAGE(config, (config ? "" : config.error().text));
  config->storage_tier.kept_free_percent = 50;
  if (tune) tune(*config);
  ByHand::of_groups.clear();
  auto engine = Engine::create(*config, registry());
  REQUIRE_MESSAGE(engine, (engine ? "" : engine.error().text));
  return std::move(*engine);
}

inline std::uint64_t in_host(const Engine& engine) {
  const Sizes sizes = state_of(engine).below->index->sizes(0);
  return sizes.evictable + sizes.protected_;
}
inline std::uint64_t brings(const Engine& engine, BringOutcome outcome) {
  return engine.tiers().counters().at(Counter::fetches_storage, outcome);
}

/// Calls and bytes are shown as pending that the storage has not ended. After a turn.
inline void check_pending(const Engine& engine) {
  const CounterValues& shown = engine.tiers().counters();
  for (const auto& [kind, lane] :
       {std::pair{'f', StorageLane::find}, {'g', StorageLane::get}, {'p', StorageLane::put}}) {
    std::uint64_t calls = 0, bytes = 0;
    for (const ByHand::Call& call : ByHand::last->begun) {
      if (call.kind != kind) continue;
      ++calls;
      if (kind != 'f') bytes += call.keys.size() * ByHand::last->record_bytes();
    }
    CAPTURE(kind);
    REQUIRE(shown.at(Counter::pending_calls_storage, lane) == calls);
    REQUIRE(shown.at(Counter::pending_bytes_storage, lane) == bytes);
  }
}

/// A prompt of ten pages is in the storage, and nowhere else.
inline std::vector<Token> put_down(Engine& engine, Token first = 100) {
  auto prompt = tokens(first, 41);
  leave(engine, prompt);
  engine.make_free(0, 16);
  engine.turn(1);
  ByHand::last->end('p');
  engine.turn(1);
  REQUIRE(in_host(engine) == 0);
  REQUIRE(ByHand::last->kept.size() == 10);
  return prompt;
}

}  // namespace canopy::test
