#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mirror/mirror.h>

namespace canopy::inspector {

/// The tokens in a text: `t 12 845 9`, or two and more numbers, apart by spaces, commas or brackets. Nothing if it
/// is something else: one number alone is a node.
std::optional<std::vector<Token>> parse_prefix(std::string_view text);

/// Where a prefix ends in the tree: the nodes in which its last known token lies, in every namespace.
struct PrefixMatch {
  std::size_t tokens = 0;            ///< of the prefix that are in the tree
  std::vector<std::uint64_t> nodes;  ///< ids; several where siblings or namespaces begin alike
};
/// REQUIRES: mirror.has_words(). It compares the children of every node on the way.
PrefixMatch find_prefix(const Mirror& mirror, std::span<const Token> prefix);

/// What was looked for, what was found, and which of it is shown.
class TreeSearch {
 public:
  struct Hit {
    std::uint64_t node = 0;  ///< id; 0: the namespace
    NamespaceId space{};
  };

  /// A node's name, a prefix, or a part of a namespace's name. Afterwards the first hit is the one that is shown.
  void look_for(const Mirror& mirror, std::string_view wanted);
  /// The next (or the previous) hit that was not evicted meanwhile. False if there is no other.
  bool step(const Mirror& mirror, bool back = false);
  void clear() { *this = TreeSearch(); }
  /// Sets the result of a search that did not look into the tree.
  void say(std::string sentence) { *this = TreeSearch(), said_ = std::move(sentence); }

  const Hit* hit() const { return at_ < hits_.size() ? &hits_[at_] : nullptr; }
  std::size_t hits() const { return hits_.size(); }
  /// The result in words, and which hit is shown; empty if nothing was looked for.
  std::string sentence() const;

 private:
  static bool is_there(const Mirror& mirror, const Hit& hit);

  std::vector<Hit> hits_;
  std::size_t at_ = 0;
  std::string said_;
};

}  // namespace canopy::inspector
