#pragma once

#include <canopy/types.h>
#include <canopy/wire/event.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace canopy::attach {

/// The sender of events: a publisher is known by the endpoint or file it is heard at, its topic and its rank.
struct Sender {
  std::size_t source = 0;
  std::string topic;
  std::optional<std::int64_t> rank;
};

/// What a block's place depends on beside its tokens, as an event tells it.
struct Keys {
  std::string label;                 ///< of a prompt's first block, for people: "salt s1"; empty: none
  std::vector<std::uint64_t> extra;  ///< for each hash of the event; empty: nothing
};
/// Of a stored event: salt, adapter, and vLLM's extra keys.
Keys keys_of(const wire::EventBatch& batch, const wire::Event& event);

/// The numbers that a feed has for workers, namespaces and groups, and what people call them.
class Names {
 public:
  static constexpr std::uint32_t kMostSpaces = 4096;
  /// `sources`: endpoints or files.
  explicit Names(std::vector<std::string> sources) : sources_(std::move(sources)) {}

  /// The number of a sender, new or known; nothing: there are too many. Replayed messages of older releases have no
  /// topic: they are the source's only sender of that rank.
  std::optional<std::uint16_t> worker(const Sender& sender);
  std::size_t workers() const { return senders_.size(); }
  const Sender& sender(std::uint16_t worker) const { return senders_[worker]; }
  /// By what differs between them: endpoint, topic, rank. Empty while there is only one.
  std::string worker_name(std::uint16_t worker) const;

  /// Of a worker's blocks with this label. Where there are too many, all others are one.
  std::uint32_t space(std::uint16_t worker, const std::string& label);
  std::size_t spaces() const { return space_list_.size(); }
  std::string space_name(std::uint32_t space) const;

  /// The group of an event's medium and group_idx; nothing: there are kMaxGroups others.
  std::optional<std::uint8_t> group(const wire::EventBatch& batch, const wire::Event& event);
  std::size_t groups() const { return group_names_.size(); }
  const std::string& group_name(std::size_t group) const { return group_names_[group]; }

 private:
  std::vector<std::string> sources_;
  std::vector<Sender> senders_;
  std::map<std::pair<std::uint16_t, std::string>, std::uint32_t> space_of_;
  std::vector<std::pair<std::uint16_t, std::string>> space_list_;
  std::map<std::pair<std::string, std::int64_t>, std::uint8_t> group_of_;
  std::vector<std::string> group_names_;
};

}  // namespace canopy::attach
