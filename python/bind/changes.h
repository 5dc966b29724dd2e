#pragma once

#include <canopy/feed/tree_listener.h>
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace canopy::python {

namespace nb = nanobind;

/// Records the nodes that are added to an index and removed from it, with their words, until Python takes the record:
/// for the KV events of another engine's cache. The record grows until then. If there is no memory for it, it begins
/// again: its next changes are that all is cleared, and every node that there is.
class Changes final : public TreeListener {
 public:
  /// Sets the Python object for a namespace. REQUIRES: none of its nodes was added yet; make_room() has room for its
  /// number.
  void name(NamespaceId space, nb::object given);
  void make_room(std::size_t spaces) { spaces_.resize(std::max(spaces_.size(), spaces), nb::none()); }
  /// Returns true if there are changes, whose namespaces must keep their numbers.
  bool any() const { return !changes_.empty(); }

  /// Returns the changes since the last call, oldest first, as tuples:
  ///
  ///   ("added", node, parent, space, words)    words: those of its units and `overlap` more, as bytes of int64
  ///   ("split", node, upper, units)            the first `units` of the node are the new node `upper`, above it
  ///   ("removed", node)
  ///   ("cleared",)
  ///
  /// A node is a small number, which another node may get once it is removed; 0 is the root of each namespace.
  nb::list take();

  std::string begin(const Facts& facts) override;
  void space(NamespaceId, std::string_view, std::string_view) override {}
  void added(const event::NodeAdded& node, const std::uint32_t* words) override;
  void filled(NodeId, std::uint8_t, Units, const std::uint32_t*) override {}
  void tombstoned(const event::NodeTombstoned&) override {}
  void split(const event::NodeSplit& node) override;
  void removed(const event::NodeRemoved& node) override;
  void cleared(const event::Cleared&) override;
  bool turn() override { return lost_; }
  void resync() override;

 private:
  enum class Kind : std::uint8_t { added, split, removed, cleared };
  struct Change {
    Kind kind{};
    std::uint32_t node = 0, other = 0;   ///< slots; the parent, or the upper half
    std::uint32_t space = 0, words = 0;  ///< split: units
  };

  void record(const Change& change, const std::uint32_t* words = nullptr) noexcept;
  void lose() noexcept;

  Units overlap_ = 0;
  bool lost_ = false;  ///< changes are missing, because there was no memory for them
  std::vector<nb::object> spaces_;
  std::vector<Change> changes_;
  std::vector<std::int64_t> words_;  ///< words of all added nodes, one after the other
};

}  // namespace canopy::python
