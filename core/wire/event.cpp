#include <canopy/wire/codec.h>

#include <algorithm>

#include "field_table.h"

namespace canopy::wire {
namespace {

constexpr std::array<std::string_view, kFields> kFieldNames = {
    "block_hashes",
    "parent_block_hash",
    "token_ids",
    "block_size",
    "lora_id",
    "medium",
    "lora_name",
    "extra_keys",
    "group_idx",
    "kv_cache_spec_kind",
    "kv_cache_spec_sliding_window",
    "locality",
    "ownership",
    "cache_salt",
    "session_id",
    "lookahead_token_ids",
};

/// Fields that vLLM alone sends, and those that SGLang alone sends.
constexpr Field kOfVllm[] = {
    Field::extra_keys, Field::group_idx, Field::kv_cache_spec_kind, Field::kv_cache_spec_sliding_window,
    Field::locality,   Field::ownership, Field::lookahead_token_ids};

bool any_present(const Event& event, std::span<const Field> fields) {
  return std::any_of(fields.begin(), fields.end(), [&](Field field) { return event.is_present(field); });
}

}  // namespace

std::string_view name_of(EventKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

std::string_view name_of(Field field) { return kFieldNames[static_cast<std::size_t>(field)]; }

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
  for (const char byte : digest.substr(digest.size() - std::min<std::size_t>(digest.size(), 8)))
    hash.value = hash.value << 8 | static_cast<std::uint8_t>(byte);
  hash.digest_at = static_cast<std::uint32_t>(bytes.size());
  hash.digest_bytes = static_cast<std::uint16_t>(digest.size());
  bytes += digest;
  return hash;
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
    const bool of_vllm = any_present(event, kOfVllm);
    if (batch.form == Form::arrays) {
      const std::string_view dialect = of_vllm || event.is_present(Field::lora_name) ? "A3"
                                       : event.is_present(Field::medium)             ? "A2"
                                                                                     : "A1";
      found = std::max(found, dialect);
    } else if (of_vllm) {
      return "M1";
    } else if (event.kind == EventKind::stored) {
      // vLLM sends lora_name always, SGLang where there is one.
      found = event.is_present(Field::lora_name) && !event.has(Field::lora_name)                           ? "M1"
              : event.is_present(Field::lora_name) && !event.is_present(Field::cache_salt) && found == "-" ? "-"
                                                                                                           : "M2";
      if (found != "-") return found;
    }
  }
  return found;
}

}  // namespace canopy::wire
