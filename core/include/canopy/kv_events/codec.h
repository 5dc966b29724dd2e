#pragma once

#include <canopy/base/result.h>
#include <canopy/kv_events/event.h>

#include <string>
#include <string_view>
#include <variant>

/// KV events as vLLM and SGLang publish them: the payload of a message, in MessagePack. docs/events.md describes the
/// dialects.
namespace canopy::kv_events {

/// Reads a payload in any dialect and replaces the content of `batch`. Each event may be a map or an array; keys of
/// maps may come in any order. Unknown kinds of events, keys and positions are skipped and counted.
///
/// An error names the byte, what was found and what was expected; the batch is then empty. A payload may be hostile:
/// allocates at most a constant times its size, whatever lengths it contains. REQUIRES: it has less than 4 GiB.
Result<std::monostate> read_batch(std::string_view payload, EventBatch& batch);

/// Appends the batch to `payload`: the fields that are present, in the order of enum Field. In an array, an absent
/// field before a present one is nil, and fields without a position are in a map after the last one, as SGLang 0.5.19
/// sends cache_salt. The MessagePack is as short as possible, and byte for byte that of msgspec, with two exceptions:
/// msgspec writes a longer header for structs that could have more than 15 fields (vLLM 0.33), and SGLang has lora_name
/// at the end.
void write_batch(const EventBatch& batch, Form form, std::string& payload);

/// Returns the dialect of a batch that was read, by its name in docs/events.md: "A1", "A2", "A3", "M1", "M2"; "-" if
/// the batch does not show it.
std::string_view dialect_of(const EventBatch& batch);

}  // namespace canopy::kv_events
