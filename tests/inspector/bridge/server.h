#pragma once
/// A server of KV events that is a plain map: what the tests hold the followed tree to.
#include <canopy/kv_events/codec.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace attach_test {

using canopy::Token;
namespace kv_events = canopy::kv_events;

constexpr std::uint32_t kPage = 2;
using Path = std::vector<Token>;  ///< all tokens from the first of the prompt on

struct Sent {
  std::uint64_t sequence = 0;
  std::string payload;
};

class Server {
 public:
  Server(std::uint64_t seed, int rank) : random_(seed), rank_(rank) { say({}, true); }

  /// A batch of random events.
  void act() {
    const std::size_t kind = random_() % 100;
    if (kind < 2) return clear();
    kv_events::EventBatch batch;
    for (std::size_t i = 0, n = 1 + random_() % 3; i < n; ++i)
      if (random_() % 100 < 60) store(batch);
      else remove(batch);
    say(std::move(batch), false);
  }
  void clear() { blocks_.clear(), say({}, true); }
  /// Everything is gone, and it begins at 0.
  void restart() {
    blocks_.clear();
    ring.clear();
    sequence_ = 0;
    say({}, random_() % 2 == 0);
  }

  /// Blocks and their groups; one that no group has is there while something hangs below it.
  std::map<Path, unsigned> tree() const {
    std::map<Path, unsigned> all;
    for (const auto& [path, copies] : blocks_) {
      unsigned groups = 0;
      for (std::size_t g = 0; g < copies.size(); ++g) groups |= (copies[g] > 0 ? 1U : 0U) << g;
      if (groups == 0) continue;
      all[path] |= groups;
      for (std::size_t n = kPage; n < path.size(); n += kPage)
        all[Path(path.begin(), path.begin() + std::ptrdiff_t(n))];
    }
    return all;
  }

  std::vector<Sent> ring;  ///< since it began

 private:
  static constexpr std::array<const char*, 2> kMedia = {"GPU", "CPU"};
  using Copies = std::array<int, 2>;

  static kv_events::BlockHash hash_of(const Path& path) {
    std::uint64_t hash = 1469598103934665603U;
    for (const Token token : path) hash = (hash ^ token) * 1099511628211U;
    return kv_events::signed_hash(static_cast<std::int64_t>(hash));
  }
  void store(kv_events::EventBatch& batch) {
    Path path;
    if (!blocks_.empty() && random_() % 3 != 0) {
      auto at = blocks_.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(random_() % blocks_.size()));
      if (at->second[0] + at->second[1] > 0) path = at->first;
    }
    const std::size_t group = random_() % 4 == 0;
    kv_events::Event event;
    event.kind = kv_events::EventKind::stored;
    if (path.empty()) event.set_nil(kv_events::Field::parent_block_hash);
    else event.set_present(kv_events::Field::parent_block_hash), event.parent = hash_of(path);
    std::vector<kv_events::BlockHash> hashes;
    Path tokens;
    for (std::size_t i = 0, n = 1 + random_() % 4; i < n; ++i) {
      for (std::size_t k = 0; k < kPage; ++k)
        tokens.push_back(static_cast<Token>(random_() % 2)), path.push_back(tokens.back());
      hashes.push_back(hash_of(path));
      ++blocks_[path][group];
    }
    batch.set_hashes(event, hashes);
    batch.set_tokens(event, tokens);
    event.set_present(kv_events::Field::block_size), event.block_size = kPage;
    batch.set_text(event, kv_events::Field::medium, kMedia[group]);
    batch.events.push_back(event);
  }
  void remove(kv_events::EventBatch& batch) {
    const std::size_t group = random_() % 4 == 0;
    std::vector<Path> there;
    for (const auto& [path, copies] : blocks_)
      if (copies[group] > 0) there.push_back(path);
    std::shuffle(there.begin(), there.end(), random_);
    there.resize(std::min<std::size_t>(there.size(), 1 + random_() % 4));
    if (there.empty()) return;
    kv_events::Event event;
    event.kind = kv_events::EventKind::removed;
    std::vector<kv_events::BlockHash> hashes;
    for (const Path& path : there) hashes.push_back(hash_of(path)), --blocks_[path][group];
    batch.set_hashes(event, hashes);
    batch.set_text(event, kv_events::Field::medium, kMedia[group]);
    batch.events.push_back(event);
  }
  void say(kv_events::EventBatch batch, bool clears) {
    if (clears) batch.events.push_back({});
    batch.time = time_ += 0.25;
    batch.rank = rank_;
    Sent sent{sequence_++, {}};
    kv_events::write_batch(batch, random_() % 2 ? kv_events::Form::maps : kv_events::Form::arrays, sent.payload);
    ring.push_back(std::move(sent));
  }

  std::mt19937_64 random_;
  int rank_;
  double time_ = 1e9;
  std::uint64_t sequence_ = 0;
  std::map<Path, Copies> blocks_;
};

}  // namespace attach_test
