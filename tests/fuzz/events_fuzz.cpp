/// Hostile sequences of KV events without a socket: from messages to a follower's feed and its reader. Bytes are steps:
/// messages of a few publishers in any order, live or replayed, whose batches store, remove and clear blocks of few
/// names, or are the bytes themselves.
#include <bridge/follower.h>
#include <canopy/feed/reader.h>
#include <canopy/kv_events/codec.h>

#include <mirror/mirror.h>
#include <array>

#include "fuzz.h"

namespace {

using namespace canopy;
using kv_events::EventKind;
using kv_events::Field;

constexpr std::size_t kSources = 2;
constexpr std::uint32_t kPage = 2;

/// The input, from which steps take what they need; zeros behind its end.
class Steps {
 public:
  explicit Steps(std::string_view bytes) : bytes_(bytes) {}
  bool more() const { return at_ < bytes_.size(); }
  std::uint8_t byte() { return more() ? static_cast<std::uint8_t>(bytes_[at_++]) : std::uint8_t{0}; }
  std::string_view bytes(std::size_t count) {
    const std::string_view taken = bytes_.substr(at_, count);
    return at_ += taken.size(), taken;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

kv_events::Event event_of(Steps& steps, kv_events::EventBatch& batch) {
  const std::uint8_t what = steps.byte(), how = steps.byte();
  kv_events::Event event;
  if (what % 16 == 0) return event;  // cleared
  const bool stores = what % 4 != 1;
  event.kind = stores ? EventKind::stored : EventKind::removed;
  std::array<kv_events::BlockHash, 8> hashes;
  const std::size_t count = 1 + how % 8U;
  for (std::size_t i = 0; i < count; ++i)
    hashes[i] = kv_events::signed_hash((how & 8) != 0 ? steps.byte() % 16 : (what >> 4) + static_cast<int>(i));
  batch.set_hashes(event, {hashes.data(), count});
  if ((how & 16) != 0) batch.set_text(event, Field::medium, (how & 32) != 0 ? "CPU" : "DISK");
  if ((how & 64) != 0) event.group = steps.byte() % 6, event.set_present(Field::group_idx);
  if (!stores) return event;
  if ((how & 128) != 0)
    event.parent = kv_events::signed_hash(steps.byte() % 16), event.set_present(Field::parent_block_hash);
  else event.set_nil(Field::parent_block_hash);
  std::array<Token, 64> tokens{};
  const bool odd = (what & 8) != 0 && steps.byte() % 4 == 0;  // other sizes, pairs, salts, too few tokens
  const std::uint8_t kind = odd ? steps.byte() : std::uint8_t{0};
  event.block_size = (kind & 1) != 0 ? 3 : kPage;
  event.set_present(Field::block_size);
  event.token_pairs = (kind & 2) != 0;
  if ((kind & 4) != 0) batch.set_text(event, Field::cache_salt, "s");
  if ((kind & 8) != 0) batch.set_text(event, Field::extra_keys, steps.bytes(steps.byte() % 8));
  if ((kind & 16) != 0) batch.set_text(event, Field::kv_cache_spec_kind, "sliding_window");
  std::size_t words = count * kPage * (event.token_pairs ? 2 : 1);
  if ((kind & 32) != 0) words = (kind & 64) != 0 ? 0 : 2;
  for (std::size_t i = 0; i < words; ++i) tokens[i] = (what >> 5) + static_cast<Token>(i % 3);
  batch.set_tokens(event, {tokens.data(), words});
  return event;
}

class Fuzzed {
 public:
  Fuzzed() : follower_({{FeedConfig::Kind::heap, "fuzz", 1 << 12, true, false}, {"a", "b"}, true, false}) {}

  void run(std::string_view bytes) {
    about_ = bytes;
    Steps steps(bytes);
    while (steps.more()) step(steps);
    for (std::size_t source = 0; source < kSources; ++source) end_replays(source);
    turn(3'000'000);
    // A clear of each publisher leaves nothing, whatever came before.
    for (std::uint16_t w = 0; w < follower_.names().workers(); ++w) clear(w);
    if (follower_.tree()) EXPECT(follower_.tree()->blocks().count() == 0, about_);
    if (follower_.tree()) EXPECT(follower_.tree()->copies() == 0 && follower_.tree()->orphans() == 0, about_);
    turn(1'000);
    if (mirror_) EXPECT(mirror_->node_count() == 0, about_);
  }

 private:
  void step(Steps& steps) {
    const std::uint8_t what = steps.byte();
    const std::size_t source = what & 1;
    switch (what >> 1 & 7) {
      case 0:
        return follower_.reconnected(source);
      case 1:
        return end_replays(source);
      case 2:
        return turn(std::uint64_t{steps.byte()} * 10'000);
      default:
        break;
    }
    const std::uint8_t order = steps.byte();
    // Mostly the next number; at times one of a few, or the bytes' own.
    std::uint64_t& next = next_[source][what >> 4 & 1];
    const std::uint64_t sequence = (order & 1) != 0 ? order >> 4 : next;
    next = sequence + 1;
    kv_events::EventBatch batch;
    batch.time = time_ += (order & 2) != 0 ? 0 : 1;
    if ((order & 4) != 0) batch.time = steps.byte();
    batch.rank = what >> 4 & 1;
    const std::size_t events = (what >> 5) % 5;
    for (std::size_t i = 0; i < events; ++i) batch.events.push_back(event_of(steps, batch));
    std::string payload;
    kv_events::write_batch(batch, (what & 128) != 0 ? kv_events::Form::maps : kv_events::Form::arrays, payload);
    if (order == 0xFF) payload = steps.bytes(steps.byte());
    take(source, {"t", sequence, payload, false}, (order & 8) != 0);
  }

  void take(std::size_t source, const kv_events::Message& message, bool replayed) {
    follower_.take(source, message, replayed, now_);
    if (!follower_.trouble().empty()) fuzz::expect_sentence(follower_.trouble());
    turn(1'000);
  }

  void clear(std::uint16_t worker) {
    const bridge::Sender& sender = follower_.names().sender(worker);
    kv_events::EventBatch batch;
    batch.events.emplace_back();  // cleared
    batch.rank = sender.rank;
    batch.time = time_ += 1e9;  // a restart, whatever its number
    std::string payload;
    kv_events::write_batch(batch, kv_events::Form::maps, payload);
    follower_.take(sender.source, {sender.topic, 0, payload, false}, false, now_);
    end_replays(sender.source);
  }

  /// A replay that brings nothing; each ends a wait.
  void end_replays(std::size_t source) {
    int rounds = 0;
    while (const auto from = follower_.wants_replay(source)) {
      EXPECT(++rounds <= 1000, about_);
      follower_.replay_ended(source, *from, now_);
    }
  }

  void turn(std::uint64_t us) {
    follower_.turn(now_ += us);
    EXPECT(follower_.failure().empty(), about_);
    if (!follower_.has_feed()) return;
    if (!reader_) {
      FeedHeader& header = follower_.sink().writer().header();
      reader_ = std::make_unique<FeedReader>(header);
      mirror_ = std::make_unique<inspector::Mirror>(header);
      follower_.turn(now_ += 2'000'000);
    }
    std::array<Event, 256> events;
    for (std::size_t count = 0;;) {
      const auto outcome = reader_->read(events.data(), events.size(), count);
      if (outcome == FeedReader::Outcome::nothing) break;
      if (outcome == FeedReader::Outcome::lapped) mirror_->lost();
      else mirror_->take({events.data(), count});
    }
    if (!mirror_->in_step()) return;
    EXPECT(mirror_->drift() == 0 && mirror_->damaged() == 0 && mirror_->unknown_events() == 0, about_);
    EXPECT(mirror_->node_count() == follower_.tree()->runs().count(), about_);
  }

  bridge::Follower follower_;
  std::unique_ptr<FeedReader> reader_;
  std::unique_ptr<inspector::Mirror> mirror_;
  std::array<std::array<std::uint64_t, 2>, kSources> next_{};
  double time_ = 1e9;
  std::uint64_t now_ = 0;
  std::string_view about_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  Fuzzed().run(fuzz::text_of(data, size));
  return 0;
}
