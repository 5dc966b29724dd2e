#pragma once

#include <canopy/base/result.h>
#include <canopy/kv_events/event.h>

#include <string>
#include <string_view>
#include <variant>

/// KV events as vLLM and SGLang publish them: the payload of a message, in MessagePack. docs/events.md lists the
/// dialects.
namespace canopy::kv_events {

/// Reads a payload in any dialect and replaces the content of `batch`. Each event may be a map or an array; keys of
/// maps may come in any order. Unknown kinds of events, keys and positions are skipped and counted.
///
/// An error names the byte, what was found and what was expected; the batch is then empty. A payload may be hostile: at
/// most a constant times its size is allocated, whatever lengths it claims. REQUIRES: less than 4 GiB.
Result<std::monostate> read_batch(std::string_view payload, EventBatch& batch);

/// Appends the batch to `payload`: the fields that are present, in the order of releases. In arrays, a field that is
/// absent before one that is present is nil, and fields that never had a position are a map behind the last one, as
/// SGLang 0.5.19 sends cache_salt. The shortest MessagePack is written. That is byte for byte what msgspec writes, with
/// two exceptions: msgspec gives a longer header to structs that could have more than 15 fields (vLLM 0.33), and SGLang
/// has lora_name at the end.
void write_batch(const EventBatch& batch, Form form, std::string& payload);

/// Returns the dialect of a batch that was read, as docs/events.md names it: "A1", "A2", "A3", "M1", "M2"; "-" if the
/// batch does not show it.
std::string_view dialect_of(const EventBatch& batch);

}  // namespace canopy::kv_events
