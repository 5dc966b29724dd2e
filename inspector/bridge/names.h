#pragma once

#include <canopy/kv_events/event.h>
#include <canopy/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace canopy::bridge {

/// A publisher of events, identified by its endpoint or file, its topic and its rank.
struct Sender {
  std::size_t source = 0;
  std::string topic;
  std::optional<std::int64_t> rank;
};

/// The keys of an event's blocks beside their tokens.
struct Keys {
  std::string label;                 ///< Keys of a prompt's first block as text: "salt s1". May be empty (none).
  std::vector<std::uint64_t> extra;  ///< For each hash of the event, a hash of its extra keys. May be empty (none).
};
/// Returns salt, adapter and vLLM's extra keys of a stored event.
Keys keys_of(const kv_events::EventBatch& batch, const kv_events::Event& event);

/// A feed's numbers of workers, namespaces and groups, and their names.
class Names {
 public:
  static constexpr std::uint32_t kMostSpaces = 4096;
  /// `sources`: endpoints or files.
  explicit Names(std::vector<std::string> sources) : sources_(std::move(sources)) {}

  /// Returns the number of a sender, new or known; nothing if there are too many. Replayed messages of older releases
  /// have no topic: they belong to the source's only sender of that rank.
  std::optional<std::uint16_t> worker(const Sender& sender);
  /// Returns the number of the only known sender of a source and a topic, for a message whose rank cannot be read;
  /// nothing if there is none, or several.
  std::optional<std::uint16_t> only_worker(std::size_t source, const std::string& topic) const;
  std::size_t workers() const { return senders_.size(); }
  const Sender& sender(std::uint16_t worker) const { return senders_[worker]; }
  /// Returns what differs between workers: endpoint, topic, rank. Empty while there is only one.
  std::string worker_name(std::uint16_t worker) const;

  /// Returns the namespace of a worker's blocks with this label. At the limit, all further labels share one.
  std::uint32_t space(std::uint16_t worker, const std::string& label);
  std::size_t spaces() const { return space_list_.size(); }
  std::string space_name(std::uint32_t space) const;

  /// Returns the group of an event's medium and group_idx; nothing if there are kMaxGroups others. The last number is
  /// kept for a group of full attention as long as none has come: it decides how long a prefix is, and windows may come
  /// first.
  std::optional<std::uint8_t> group(const kv_events::EventBatch& batch, const kv_events::Event& event);
  /// Returns true if a stored event may be of a group of full attention. A removed event never says of which kind its
  /// group is, and a group that is not known has nothing to remove.
  static bool may_be_full(const kv_events::EventBatch& batch, const kv_events::Event& event);
  std::size_t groups() const { return group_names_.size(); }
  const std::string& group_name(std::size_t group) const { return group_names_[group]; }

 private:
  std::vector<std::string> sources_;
  std::vector<Sender> senders_;
  std::map<std::pair<std::uint16_t, std::string>, std::uint32_t> space_of_;
  std::vector<std::pair<std::uint16_t, std::string>> space_list_;
  std::map<std::pair<std::string, std::int64_t>, std::uint8_t> group_of_;
  std::vector<std::string> group_names_;
  bool has_full_ = false;  ///< A group has a number that may be one of full attention.
};

}  // namespace canopy::bridge
