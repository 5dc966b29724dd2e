#include <canopy/kv_events/codec.h>
#include <canopy/kv_events/msgpack.h>

#include <algorithm>

#include "field_table.h"

namespace canopy::kv_events {
namespace {

/// Fields that only vLLM sends.
constexpr Field kOfVllm[] = {
    Field::extra_keys, Field::group_idx, Field::kv_cache_spec_kind, Field::kv_cache_spec_sliding_window,
    Field::locality,   Field::ownership, Field::lookahead_token_ids};

bool is_of_vllm(const Event& event) {
  return std::ranges::any_of(kOfVllm, [&](Field field) { return event.is_present(field); });
}

}  // namespace

std::string_view name_of(EventKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

std::string_view name_of(Field field) { return kFieldTable[static_cast<std::size_t>(field)].name; }

void EventBatch::set_text(Event& event, Field field, std::string_view text) {
  event.texts[static_cast<std::size_t>(field)] = {static_cast<std::uint32_t>(bytes.size()),
                                                  static_cast<std::uint32_t>(text.size())};
  bytes += text;
  event.set_present(field);
}

void EventBatch::set_hashes(Event& event, std::span<const BlockHash> list) {
  event.hashes = {static_cast<std::uint32_t>(hashes.size()), static_cast<std::uint32_t>(list.size())};
  hashes.insert(hashes.end(), list.begin(), list.end());
  event.set_present(Field::block_hashes);
}

void EventBatch::set_tokens(Event& event, std::span<const Token> list) {
  event.tokens = {static_cast<std::uint32_t>(tokens.size()), static_cast<std::uint32_t>(list.size())};
  tokens.insert(tokens.end(), list.begin(), list.end());
  event.set_present(Field::token_ids);
}

BlockHash EventBatch::add_digest(std::string_view digest) {
  BlockHash hash;
  hash.value = big_endian(digest.substr(digest.size() - std::min<std::size_t>(digest.size(), 8)));
  hash.digest_at = static_cast<std::uint32_t>(bytes.size());
  hash.digest_bytes = static_cast<std::uint16_t>(digest.size());
  bytes += digest;
  return hash;
}

bool EventBatch::clears() const {
  return std::ranges::any_of(events, [](const Event& event) { return event.kind == EventKind::cleared; });
}

void EventBatch::clear() {
  time = 0, has_rank = true, rank.reset(), form = Form::maps, unknown_events = unknown_fields = 0;
  events.clear(), hashes.clear(), tokens.clear(), bytes.clear();
}

bool tokens_match_hashes(const Event& event) {
  const std::uint64_t entries = event.token_pairs ? event.tokens.count / 2 : event.tokens.count;
  return entries == std::uint64_t{event.hashes.count} * static_cast<std::uint64_t>(event.block_size);
}

std::string_view dialect_of(const EventBatch& batch) {
  std::string_view found = "-";
  for (const Event& event : batch.events) {
    if (event.kind == EventKind::cleared) continue;
    const bool of_vllm = is_of_vllm(event), names_adapter = event.is_present(Field::lora_name);
    if (batch.form == Form::arrays) {
      const bool has_medium = event.is_present(Field::medium);
      found = std::max<std::string_view>(found, of_vllm || names_adapter ? "A3" : has_medium ? "A2" : "A1");
    } else if (of_vllm) {
      return "M1";
    } else if (event.kind == EventKind::stored) {
      // vLLM always sends lora_name, SGLang only if there is an adapter.
      if (names_adapter && !event.has(Field::lora_name)) return "M1";
      if (!names_adapter || event.is_present(Field::cache_salt)) return "M2";
    }
  }
  return found;
}

}  // namespace canopy::kv_events
