#include "tree_search.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/names.h>

#include <algorithm>
#include <charconv>

namespace canopy::inspector {

std::optional<std::vector<Token>> parse_prefix(std::string_view text) {
  constexpr std::string_view kApart = " \t\n,[]";
  const bool marked = text.starts_with("t ");
  if (marked) text.remove_prefix(2);
  std::vector<Token> tokens;
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(kApart), text.size()));
    if (text.empty()) break;
    Token token = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), token);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (error != std::errc() || (!text.empty() && kApart.find(text.front()) == std::string_view::npos)) return {};
    tokens.push_back(token);
  }
  if (tokens.empty() || (tokens.size() == 1 && !marked)) return {};
  return tokens;
}

PrefixMatch find_prefix(const Mirror& mirror, std::span<const Token> prefix) {
  PrefixMatch found;
  std::vector<std::uint32_t> open;  // first siblings of lists that may continue the prefix
  for (const Mirror::Space& space : mirror.spaces())
    if (space.first_child != 0) open.push_back(space.first_child);
  while (!open.empty()) {
    std::uint32_t slot = open.back();
    open.pop_back();
    for (; slot != 0; slot = mirror.node(slot).next) {
      const MirrorNode& node = mirror.node(slot);
      if (node.begin >= prefix.size()) continue;
      const std::span<const Token> rest = prefix.subspan(node.begin);
      const auto same = static_cast<std::size_t>(
          std::mismatch(rest.begin(), rest.end(), node.words.begin(), node.words.end()).first - rest.begin());
      if (same == 0) continue;
      const std::size_t known = node.begin + same;
      if (known > found.tokens) found = {known, {}};
      if (known == found.tokens) found.nodes.push_back(node.id);
      if (same == node.length && known < prefix.size() && node.first_child != 0) open.push_back(node.first_child);
    }
  }
  return found;
}

void TreeSearch::look_for(const Mirror& mirror, std::string_view wanted) {
  clear();
  while (wanted.ends_with(' ')) wanted.remove_suffix(1);
  if (wanted.empty()) return;
  std::uint32_t slot = 0, life = 0;
  if (parse_node_name(wanted, slot, life)) {
    const MirrorNode& node = mirror.node(slot);
    if (node.id != 0 && (life == 0 || life == life_of(node.id))) {
      hits_.push_back({node.id, node.space});
      sentence_ = fmt::format("node {}", node_name(node.id));
    } else {
      sentence_ = fmt::format("there is no node {} at this moment", wanted);
    }
    return;
  }
  if (const auto prefix = parse_prefix(wanted)) {
    if (!mirror.has_words()) {
      sentence_ =
          "This feed carries no tokens, and its digests are keyed, so prefixes cannot be searched. To allow it, set "
          "`tokens: true` in the feed in the engine's file, as in `feed: { shm: { name: NAME, tokens: true } }`. Every "
          "reader of the feed can then read the prompts.";
      return;
    }
    const PrefixMatch match = find_prefix(mirror, *prefix);
    for (const std::uint64_t id : match.nodes) hits_.push_back({id, mirror.find(id)->space});
    sentence_ = match.tokens == 0                ? fmt::format("no cached prefix begins with {}", prefix->front())
                : match.tokens == prefix->size() ? fmt::format("the prefix is here, {}", plural(match.tokens, "token"))
                                                 : fmt::format("{} of the prefix's {} tokens are here",
                                                               grouped(match.tokens), grouped(prefix->size()));
    return;
  }
  for (std::uint32_t s = 0; s < mirror.spaces().size(); ++s) {
    const NamespaceId space{s};
    if (mirror.spaces()[s].first_child != 0 && space_name(mirror, space).find(wanted) != std::string::npos)
      hits_.push_back({0, space});
  }
  sentence_ = hits_.empty() ? fmt::format("no namespace with '{}' has anything cached", wanted)
                            : fmt::format("namespaces with '{}'", wanted);
}

bool TreeSearch::is_there(const Mirror& mirror, const Hit& hit) {
  return hit.node != 0 ? mirror.find(hit.node) != nullptr
                       : mirror.spaces()[static_cast<std::size_t>(hit.space)].first_child != 0;
}

bool TreeSearch::step(const Mirror& mirror, bool back) {
  for (std::size_t tried = 1; tried < hits_.size(); ++tried) {
    at_ = (at_ + (back ? hits_.size() - 1 : 1)) % hits_.size();
    if (is_there(mirror, hits_[at_])) return true;
  }
  return false;
}

std::string TreeSearch::sentence() const {
  if (hits_.size() < 2) return sentence_;
  return fmt::format("{}: {} of {}, n: next, N: previous", sentence_, grouped(at_ + 1), grouped(hits_.size()));
}

}  // namespace canopy::inspector
