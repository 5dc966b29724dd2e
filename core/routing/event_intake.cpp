#include <canopy/routing/event_intake.h>

#include <algorithm>
#include <string>

namespace canopy::routing {
namespace {

using wire::Field;

/// Whether a list of extra keys has one. In MessagePack, c0 is nil; 90 to 9f, dc and dd begin a list.
bool has_keys(std::string_view packed) {
  if (packed.empty()) return false;
  const auto first = static_cast<unsigned char>(packed[0]);
  const std::size_t head = first >= 0x90 && first <= 0x9f ? 1 : first == 0xdc ? 3 : first == 0xdd ? 5 : 0;
  if (head == 0) return first != 0xc0;
  if (packed.size() < head) return true;
  packed.remove_prefix(head);
  return !std::all_of(packed.begin(), packed.end(), [](char c) { return static_cast<unsigned char>(c) == 0xc0; });
}

/// vLLM names the kind of a group since 0.22; SGLang has one group. Other kinds leave blocks out of a prefix.
bool is_full_attention(const wire::EventBatch& batch, const wire::Event& event) {
  const std::string_view kind = batch.text_of(event, Field::kv_cache_spec_kind);
  return kind.empty() || kind.find("full") != std::string_view::npos || kind.find("mla") != std::string_view::npos;
}

Name beginning_of(const wire::EventBatch& batch, const wire::Event& event) {
  const std::string_view salt = batch.text_of(event, Field::cache_salt);
  if (const std::string_view name = batch.text_of(event, Field::lora_name); !name.empty()) return root_of(name, salt);
  return root_of(event.has(Field::lora_id) ? std::to_string(event.lora_id) : std::string(), salt);
}

}  // namespace

void IntakeCounts::add(const IntakeCounts& other) {
  stored += other.stored, removed += other.removed, clears += other.clears;
  unknown_parents += other.unknown_parents, unknown_removed += other.unknown_removed;
  other_sizes += other.other_sizes, other_groups += other.other_groups, extra_keys += other.extra_keys;
  no_tokens += other.no_tokens, other_media += other.other_media;
}

std::optional<Tier> tier_of(std::string_view medium) {
  if (medium.empty() || medium == "GPU") return Tier::device;
  if (medium == "CPU" || medium == "CPU_PINNED") return Tier::host;
  if (medium == "STORAGE" || medium == "DISK" || medium == "EXTERNAL") return Tier::storage;
  return std::nullopt;
}

void EventIntake::take(const wire::EventBatch& batch) {
  for (const wire::Event& event : batch.events) {
    switch (event.kind) {
      case wire::EventKind::stored:
        store(batch, event);
        break;
      case wire::EventKind::removed:
        remove(batch, event);
        break;
      case wire::EventKind::cleared:
        carry_out();
        ++counts_.clears;
        if (!event.has(Field::medium)) index_.clear(worker_);
        else if (const auto tier = tier_of(batch.text_of(event, Field::medium))) index_.clear(worker_, *tier);
    }
  }
  carry_out();
}

Name EventIntake::name_of(std::uint64_t hash) {
  // Mostly the last block of the event before.
  if (!changes_.empty() && changes_.back().hash == hash && changes_.back().name != 0) return changes_.back().name;
  carry_out();
  return index_.name_of(worker_, hash);
}

void EventIntake::carry_out() {
  constexpr std::size_t kAhead = 16, kBetween = 8;
  const std::size_t count = changes_.size();
  for (std::size_t i = 0; i < count + kAhead; ++i) {
    if (i < count) index_.prefetch_hash(worker_, changes_[i].hash);
    if (i >= kBetween && i - kBetween < count) {
      const Change& next = changes_[i - kBetween];
      // Of a removal the name must be read first.
      if (const Name name = next.name != 0 ? next.name : index_.name_of(worker_, next.hash)) index_.prefetch_name(name);
    }
    if (i < kAhead) continue;
    const Change& change = changes_[i - kAhead];
    if (change.name != 0) index_.store(worker_, change.tier, change.hash, change.name);
    else if (index_.remove(worker_, change.tier, change.hash)) ++counts_.removed;
    else ++counts_.unknown_removed;
  }
  changes_.clear();
}

void EventIntake::restart() { index_.clear(worker_); }

bool EventIntake::name(const wire::EventBatch& batch, const wire::Event& event) {
  const std::size_t blocks = event.hashes.count, size = index_.block_tokens();
  const auto refused = [&](std::uint64_t& count) {
    count += blocks;
    return false;
  };
  if (event.block_size != static_cast<std::int64_t>(size)) return refused(counts_.other_sizes);
  if (has_keys(batch.text_of(event, Field::extra_keys))) return refused(counts_.extra_keys);
  std::span<const Token> tokens = batch.tokens_of(event);
  if (event.token_pairs) {
    firsts_.clear();
    for (std::size_t i = 0; i < tokens.size(); i += 2) firsts_.push_back(tokens[i]);
    tokens = firsts_;
  }
  if (tokens.size() != blocks * size) return refused(counts_.no_tokens);
  Name last = event.has(Field::parent_block_hash) ? name_of(event.parent.value) : beginning_of(batch, event);
  if (last == 0) return refused(counts_.unknown_parents);
  names_.clear();
  for (std::size_t i = 0; i < blocks; ++i) names_.push_back(last = next_name(last, tokens.subspan(i * size, size)));
  return true;
}

void EventIntake::store(const wire::EventBatch& batch, const wire::Event& event) {
  if (!is_full_attention(batch, event)) {
    if (event.has(Field::group_idx)) other_groups_.insert(event.group);
    counts_.other_groups += event.hashes.count;
    return;
  }
  const auto tier = tier_of(batch.text_of(event, Field::medium));
  if (!tier) {
    counts_.other_media += event.hashes.count;
    return;
  }
  if (!name(batch, event)) return;
  const std::span<const wire::BlockHash> hashes = batch.hashes_of(event);
  for (std::size_t i = 0; i < hashes.size(); ++i) changes_.push_back({hashes[i].value, names_[i], *tier});
  counts_.stored += hashes.size();
}

void EventIntake::remove(const wire::EventBatch& batch, const wire::Event& event) {
  const auto tier = tier_of(batch.text_of(event, Field::medium));
  if (!tier || (event.has(Field::group_idx) && other_groups_.contains(event.group))) return;
  for (const wire::BlockHash& hash : batch.hashes_of(event)) changes_.push_back({hash.value, 0, *tier});
}

}  // namespace canopy::routing
