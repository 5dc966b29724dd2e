#pragma once

#include <canopy/feed/tree_listener.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

namespace canopy::python {

namespace nb = nanobind;

/// Keeps which nodes came to an index and left it, with their words, until Python takes them: for the KV events of
/// another engine's cache. It grows until then.
class Changes final : public TreeListener {
 public:
  /// The object by which Python calls a namespace. REQUIRES: before any of its nodes.
  void name(NamespaceId space, nb::object given);

  /// All since the last call, oldest first, as tuples:
  ///
  ///   ("added", node, parent, space, words)    words: those of its units and `overlap` more, as bytes of int64
  ///   ("split", node, upper, units)            the first `units` of the node are the new node `upper`, above it
  ///   ("removed", node)
  ///   ("cleared",)
  ///
  /// A node is a small number that another one may get when it is removed; 0 is the root of each namespace.
  nb::list take();

  std::string begin(const Facts& facts) override;
  void space(NamespaceId, std::string_view, std::string_view) override {}
  void added(const event::NodeAdded& node, const std::uint32_t* words) override;
  void filled(NodeId, std::uint8_t, Units, const std::uint32_t*) override {}
  void tombstoned(const event::NodeTombstoned&) override {}
  void split(const event::NodeSplit& node) override;
  void removed(const event::NodeRemoved& node) override;
  void cleared(const event::Cleared&) override;
  bool turn() override { return false; }
  void resync() override {}

 private:
  enum class Kind : std::uint8_t { added, split, removed, cleared };
  struct Change {
    Kind kind{};
    std::uint32_t node = 0, other = 0;   ///< slots; the parent, or the upper half
    std::uint32_t space = 0, words = 0;  ///< split: units
  };

  Units overlap_ = 0;
  std::vector<nb::object> spaces_;
  std::vector<Change> changes_;
  std::vector<std::int64_t> words_;  ///< of all that was added, one after the other
};

}  // namespace canopy::python
