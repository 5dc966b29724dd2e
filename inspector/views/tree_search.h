#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mirror/mirror.h>

namespace canopy::inspector {

/// Returns the tokens in a text: `t 12 845 9`, or at least two numbers separated by spaces, commas or brackets. Returns
/// nothing for any other text: a single number is a node.
std::optional<std::vector<Token>> parse_prefix(std::string_view text);

/// The end of a prefix in the tree: the nodes that contain its last known token, in every namespace.
struct PrefixMatch {
  std::size_t tokens = 0;            ///< tokens of the prefix that are in the tree
  std::vector<std::uint64_t> nodes;  ///< ids; several if siblings or namespaces begin alike
};
/// Finds the end of a prefix. Compares the children of every node on the way. REQUIRES: mirror.has_words().
PrefixMatch find_prefix(const Mirror& mirror, std::span<const Token> prefix);

/// A search: its result in words, its hits, and the hit that is shown.
class TreeSearch {
 public:
  struct Hit {
    std::uint64_t node = 0;  ///< id; 0: the namespace
    NamespaceId space{};
  };

  /// Searches for a node's name, a prefix, or a part of a namespace's name. Afterwards the first result is the one
  /// shown.
  void look_for(const Mirror& mirror, std::string_view wanted);
  /// Steps to the next (or the previous) result that was not evicted meanwhile. Returns false if there is no other.
  bool step(const Mirror& mirror, bool back = false);
  void clear() { *this = TreeSearch(); }
  /// Sets the message of a search that did not read the tree.
  void say(std::string sentence) { *this = TreeSearch(), sentence_ = std::move(sentence); }

  const Hit* hit() const { return at_ < hits_.size() ? &hits_[at_] : nullptr; }
  std::size_t hits() const { return hits_.size(); }
  /// Returns the result in words, and the position of the one shown. Empty if nothing was searched for.
  std::string sentence() const;

 private:
  static bool is_there(const Mirror& mirror, const Hit& hit);

  std::vector<Hit> hits_;
  std::size_t at_ = 0;
  std::string sentence_;
};

}  // namespace canopy::inspector
