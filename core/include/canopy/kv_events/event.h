#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::kv_events {

/// Part of one of the arrays of a batch. It has an offset, not a pointer, so that a batch may grow and move.
struct Part {
  std::uint32_t begin = 0, count = 0;
  friend bool operator==(const Part&, const Part&) = default;
};

/// The name of a block.
struct BlockHash {
  /// The number that was sent, in two's complement. For a digest the last 8 bytes, most significant first, as vLLM
  /// shortens digests to numbers.
  std::uint64_t value = 0;
  std::uint32_t digest_at = 0;     ///< Offset of the digest in EventBatch::bytes.
  std::uint16_t digest_bytes = 0;  ///< Length of the digest. 0: the hash was sent as a number.
  bool negative = false;           ///< True if the number was sent as a negative one: SGLang's numbers are signed.
};

inline constexpr std::size_t kMostDigestBytes = 64;
inline BlockHash signed_hash(std::int64_t number) { return {static_cast<std::uint64_t>(number), 0, 0, number < 0}; }

enum class EventKind : std::uint8_t { stored, removed, cleared };
/// Returns the name in messages: "BlockStored".
std::string_view name_of(EventKind kind);

/// Layout of events in MessagePack.
enum class Form : std::uint8_t {
  maps,    ///< {"type": "BlockStored", "block_hashes": [...], ...}: SGLang since 0.5.20, vLLM since 0.24.
  arrays,  ///< ["BlockStored", [...], ...]: releases before those. Some consumers, such as llm-d's, read only these.
};

/// The fields of all releases, in the order of maps. The first four are in every stored event.
enum class Field : std::uint8_t {
  block_hashes,
  parent_block_hash,
  token_ids,
  block_size,
  lora_id,
  medium,
  lora_name,
  extra_keys,
  group_idx,
  kv_cache_spec_kind,
  kv_cache_spec_sliding_window,
  locality,
  ownership,
  cache_salt,
  session_id,
  lookahead_token_ids,
};
inline constexpr std::size_t kFields = static_cast<std::size_t>(Field::lookahead_token_ids) + 1;
/// Returns the name in messages: "block_hashes".
std::string_view name_of(Field field);

/// One event. Its lists and texts are parts of the arrays of its batch. A field is absent, nil, or has a value.
/// Releases differ in the fields that are present, and a writer sends those.
struct Event {
  EventKind kind = EventKind::cleared;
  bool token_pairs = false;   ///< True if each entry of token_ids is a pair (SGLang with EAGLE): two of `tokens`.
  std::uint32_t present = 0;  ///< Bits by Field: fields that were sent, or are to be sent.
  std::uint32_t nil = 0;      ///< Bits by Field, a part of `present`: fields sent as nil.
  Part hashes;                ///< Part of EventBatch::hashes.
  Part tokens;                ///< Part of EventBatch::tokens.
  BlockHash parent;
  std::int64_t block_size = 0, lora_id = 0, group = 0, sliding_window = 0;
  /// Parts of EventBatch::bytes. Text for medium, lora_name, kv_cache_spec_kind, cache_salt and session_id. MessagePack
  /// as it was sent for extra_keys, locality, ownership and lookahead_token_ids, whose form differs between releases.
  Part texts[kFields];

  /// Returns true if the field is present and not nil.
  bool has(Field field) const { return (present & ~nil) >> static_cast<unsigned>(field) & 1u; }
  bool is_present(Field field) const { return present >> static_cast<unsigned>(field) & 1u; }
  void set_present(Field field) { present |= 1u << static_cast<unsigned>(field); }
  void set_nil(Field field) { set_present(field), nil |= 1u << static_cast<unsigned>(field); }
};

/// The payload of a message. Reading into the same batch again allocates nothing once its arrays are large enough.
struct EventBatch {
  double time = 0;                   ///< Seconds since 1970, on the publisher's clock.
  bool has_rank = true;              ///< False for a batch of two elements, without a rank, as vLLM 0.9 sends it.
  std::optional<std::int64_t> rank;  ///< Rank of a data parallel worker. Empty: nil.
  std::vector<Event> events;
  std::vector<BlockHash> hashes;
  std::vector<Token> tokens;
  std::string bytes;  ///< Texts, digests, and values in MessagePack.
  // Fields that read_batch() sets:
  Form form = Form::maps;  ///< Form of the first event.
  std::uint32_t unknown_events = 0, unknown_fields = 0;

  std::span<const BlockHash> hashes_of(const Event& event) const {
    return std::span(hashes).subspan(event.hashes.begin, event.hashes.count);
  }
  std::span<const Token> tokens_of(const Event& event) const {
    return std::span(tokens).subspan(event.tokens.begin, event.tokens.count);
  }
  /// Returns the text of a field. Empty if the field is absent or nil.
  std::string_view text_of(const Event& event, Field field) const {
    const Part part = event.texts[static_cast<std::size_t>(field)];
    return std::string_view(bytes).substr(part.begin, part.count);
  }
  /// Returns the bytes of a digest. Empty if the hash was sent as a number.
  std::string_view digest_of(const BlockHash& hash) const {
    return std::string_view(bytes).substr(hash.digest_at, hash.digest_bytes);
  }
  /// Returns true if any event is `cleared`.
  bool clears() const;
  // These append to the arrays of the batch and make the field present.
  void set_text(Event& event, Field field, std::string_view text);
  void set_hashes(Event& event, std::span<const BlockHash> list);
  void set_tokens(Event& event, std::span<const Token> list);
  /// Copies a digest into the batch. REQUIRES: at most kMostDigestBytes.
  BlockHash add_digest(std::string_view digest);
  /// Empties the batch and keeps the arrays' memory.
  void clear();
};

/// Returns true if a stored event has block_size tokens (or pairs) for each hash. vLLM omits hashes in groups with a
/// window, so an event without this property may be correct; the tokens of each hash are then unknown.
bool tokens_match_hashes(const Event& event);

}  // namespace canopy::kv_events
