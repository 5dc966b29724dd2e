#include <bridge/common.h>
#include <bridge/names.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <nlohmann/json.hpp>

namespace canopy::bridge {
namespace {

using kv_events::Field;

/// Returns the elements of extra_keys as text, one for each hash. An element without keys is empty.
std::vector<std::string> extra_keys_of(const kv_events::EventBatch& batch, const kv_events::Event& event) {
  std::vector<std::string> texts;
  if (!event.has(Field::extra_keys)) return texts;
  const auto value = nlohmann::json::from_msgpack(batch.text_of(event, Field::extra_keys), true, false);
  if (!value.is_array() || value.size() != event.hashes.count) return texts;
  for (const auto& each : value)
    texts.push_back(each.is_null() || (each.is_array() && each.empty())
                        ? std::string()
                        : each.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  return texts;
}

/// Returns true if a message with this topic may be of a known sender; replayed ones of older releases have no topic.
bool may_be_of(const Sender& known, std::size_t source, const std::string& topic) {
  return known.source == source && (known.topic == topic || known.topic.empty() || topic.empty());
}

}  // namespace

Keys keys_of(const kv_events::EventBatch& batch, const kv_events::Event& event) {
  Keys keys;
  const auto add = [&](const std::string& part) { keys.label += (keys.label.empty() ? "" : ", ") + part; };
  if (event.has(Field::cache_salt)) add(fmt::format("salt {}", batch.text_of(event, Field::cache_salt)));
  if (event.has(Field::lora_name)) add(fmt::format("adapter {}", batch.text_of(event, Field::lora_name)));
  else if (event.has(Field::lora_id)) add(fmt::format("adapter {}", event.lora_id));
  const std::vector<std::string> texts = extra_keys_of(batch, event);
  if (std::all_of(texts.begin(), texts.end(), [](const std::string& text) { return text.empty(); })) return keys;
  if (keys.label.empty() && !texts[0].empty()) add("keys " + texts[0]);
  for (const std::string& text : texts) keys.extra.push_back(text.empty() ? 0 : XXH3_64bits(text.data(), text.size()));
  return keys;
}

std::optional<std::uint16_t> Names::only_worker(std::size_t source, const std::string& topic) const {
  std::optional<std::uint16_t> only;
  for (std::size_t i = 0; i < senders_.size(); ++i) {
    if (!may_be_of(senders_[i], source, topic)) continue;
    if (only) return {};
    only = static_cast<std::uint16_t>(i);
  }
  return only;
}

std::optional<std::uint16_t> Names::worker(const Sender& sender) {
  for (std::size_t i = 0; i < senders_.size(); ++i) {
    Sender& known = senders_[i];
    if (known.rank != sender.rank || !may_be_of(known, sender.source, sender.topic)) continue;
    if (known.topic.empty()) known.topic = sender.topic;
    return static_cast<std::uint16_t>(i);
  }
  if (senders_.size() == Common::kWorkers) return std::nullopt;
  senders_.push_back(sender);
  return static_cast<std::uint16_t>(senders_.size() - 1);
}

std::string Names::worker_name(std::uint16_t worker) const {
  const Sender& sender = senders_[worker];
  const auto differs = [&](auto&& field) {
    return std::any_of(senders_.begin(), senders_.end(),
                       [&](const Sender& each) { return field(each) != field(sender); });
  };
  std::string name;
  const auto add = [&](const std::string& part) { name += (name.empty() ? "" : " ") + part; };
  if (differs([](const Sender& each) { return each.source; })) add(sources_[sender.source]);
  if (differs([](const Sender& each) { return each.topic; }) && !sender.topic.empty()) add(sender.topic);
  if (differs([](const Sender& each) { return each.rank; }))
    add(sender.rank ? fmt::format("rank {}", *sender.rank) : "no rank");
  return name;
}

std::uint32_t Names::space(std::uint16_t worker, const std::string& label) {
  const std::pair key(worker, label);
  if (const auto known = space_of_.find(key); known != space_of_.end()) return known->second;
  // Beyond this limit there is only room for each worker's "other namespaces".
  if (space_list_.size() >= kMostSpaces && label != "other namespaces") return space(worker, "other namespaces");
  const auto number = static_cast<std::uint32_t>(space_list_.size());
  space_of_.emplace(key, number);
  space_list_.push_back(key);
  return number;
}

std::string Names::space_name(std::uint32_t space) const {
  const auto& [worker, label] = space_list_[space];
  const std::string name = worker_name(worker);
  return name.empty() || label.empty() ? name + label : name + ", " + label;
}

bool Names::may_be_full(const kv_events::EventBatch& batch, const kv_events::Event& event) {
  const std::string_view kind = batch.text_of(event, Field::kv_cache_spec_kind);
  if (event.kind != kv_events::EventKind::stored) return false;
  for (const std::string_view partial : {"window", "mamba", "chunk", "local", "cross", "linear"})
    if (kind.find(partial) != kind.npos) return false;
  return true;
}

std::optional<std::uint8_t> Names::group(const kv_events::EventBatch& batch, const kv_events::Event& event) {
  const std::string medium(event.has(Field::medium) ? batch.text_of(event, Field::medium) : "GPU");
  const std::int64_t index = event.has(Field::group_idx) ? event.group : 0;
  const auto known = group_of_.find({medium, index});
  if (known != group_of_.end()) return known->second;
  if (group_names_.size() == kMaxGroups) return std::nullopt;
  const std::string_view kind = batch.text_of(event, Field::kv_cache_spec_kind);
  const bool full = may_be_full(batch, event);
  if (!full && !has_full_ && group_names_.size() + 1 == kMaxGroups) return std::nullopt;
  has_full_ |= full;
  const auto number = static_cast<std::uint8_t>(group_names_.size());
  group_of_.emplace(std::pair(medium, index), number);
  group_names_.push_back(index == 0     ? medium
                         : kind.empty() ? fmt::format("{}, group {}", medium, index)
                                        : fmt::format("{}, group {} ({})", medium, index, kind));
  return number;
}

}  // namespace canopy::bridge
