#include "batch_json.h"

#include <canopy/kv_events/codec.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace canopy::app {
namespace {

using namespace kv_events;
using Json = nlohmann::ordered_json;

Json hash_json(const EventBatch& batch, const BlockHash& hash) {
  if (hash.digest_bytes > 0) {
    std::string hex;
    for (const char byte : batch.digest_of(hash)) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return hex;
  }
  if (hash.negative) return static_cast<std::int64_t>(hash.value);
  return hash.value;
}

Json tokens_json(const EventBatch& batch, const kv_events::Event& event) {
  Json list = Json::array();
  const auto tokens = batch.tokens_of(event);
  for (std::size_t i = 0; i < tokens.size(); i += event.token_pairs ? 2 : 1)
    list.push_back(event.token_pairs ? Json{tokens[i], tokens[i + 1]} : Json(tokens[i]));
  return list;
}

Json value_json(const EventBatch& batch, const kv_events::Event& event, Field field) {
  switch (field) {
    case Field::block_hashes: {
      Json list = Json::array();
      for (const BlockHash& hash : batch.hashes_of(event)) list.push_back(hash_json(batch, hash));
      return list;
    }
    case Field::parent_block_hash:
      return hash_json(batch, event.parent);
    case Field::token_ids:
      return tokens_json(batch, event);
    case Field::block_size:
      return event.block_size;
    case Field::lora_id:
      return event.lora_id;
    case Field::group_idx:
      return event.group;
    case Field::kv_cache_spec_sliding_window:
      return event.sliding_window;
    case Field::extra_keys:
    case Field::locality:
    case Field::ownership:
    case Field::lookahead_token_ids: {
      // A map whose keys are not texts cannot be represented as JSON.
      const Json value = Json::from_msgpack(batch.text_of(event, field), true, false);
      return value.is_discarded() ? Json("not shown: cannot be represented as JSON") : value;
    }
    default:
      return batch.text_of(event, field);
  }
}

}  // namespace

std::string_view word_of(Order order) {
  constexpr std::string_view kWords[] = {"first", "next", "ahead", "late", "repeated", "restart"};
  return kWords[static_cast<std::size_t>(order)];
}

std::string json_of(const Message& message, Order order, const EventBatch& batch) {
  Json events = Json::array();
  for (const kv_events::Event& event : batch.events) {
    Json one = {{"type", name_of(event.kind)}};
    for (std::size_t i = 0; i < kFields; ++i)
      if (const auto field = static_cast<Field>(i); event.is_present(field))
        one[std::string(name_of(field))] = event.has(field) ? value_json(batch, event, field) : Json(nullptr);
    events.push_back(std::move(one));
  }
  Json line = {{"topic", message.topic},  {"sequence", message.sequence},
               {"order", word_of(order)}, {"dialect", dialect_of(batch)},
               {"time", batch.time},      {"rank", batch.rank ? Json(*batch.rank) : Json(nullptr)}};
  if (batch.unknown_events > 0) line["unknown_events"] = batch.unknown_events;
  if (batch.unknown_fields > 0) line["unknown_fields"] = batch.unknown_fields;
  line["events"] = std::move(events);
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace canopy::app
