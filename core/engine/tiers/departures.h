#pragma once

#include <canopy/prefix_index.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace canopy {

/// What one eviction takes out of an index: the path of each node, in the order of leaving. A node on the path of the
/// one before it is left out, since that path has its pages too: a chain that is evicted from its end is one path.
class Departures final : public LeavingVisitor {
 public:
  explicit Departures(std::size_t groups) : groups_(groups) {}

  struct Departure {
    Key key;
    Units begin = 0;  ///< depth from which on the path is evicted
    std::int32_t priority = 0;
    GroupPages pages;
  };

  void leaving(const Leaving& node) override {
    if (on_last_path(node)) {
      nodes_.back().begin = std::min(nodes_.back().begin, node.facts.begin);
      return;
    }
    if (words_.size() + node.words.size() > kMostWords) {
      forgotten_ += node.facts.length;
      return;
    }
    nodes_.push_back({node.facts.space, node.facts.begin, node.facts.priority, words_.size(), node.words.size(),
                      pages_.size(), node.pages[0].size()});
    words_.insert(words_.end(), node.words.begin(), node.words.end());
    for (std::size_t g = 0; g < groups_; ++g) pages_.insert(pages_.end(), node.pages[g].begin(), node.pages[g].end());
  }

  std::size_t size() const { return nodes_.size(); }
  /// Valid until the next call of leaving() or clear().
  Departure operator[](std::size_t i) const {
    const Node& node = nodes_[i];
    Departure departure{
        {node.space, std::span(words_).subspan(node.first_word, node.words)}, node.begin, node.priority, {}};
    for (std::size_t g = 0; g < groups_; ++g)
      departure.pages[g] = std::span(pages_).subspan(node.first_page + g * node.pages, node.pages);
    return departure;
  }
  /// Units of nodes that were too many to remember.
  std::uint64_t forgotten() const { return forgotten_; }
  void clear() {
    nodes_.clear();
    words_.clear();
    pages_.clear();
    forgotten_ = 0;
    if (words_.capacity() > kUsualWords) words_.shrink_to_fit(), pages_.shrink_to_fit();
  }

 private:
  static constexpr std::size_t kMostWords = std::size_t{1} << 24, kUsualWords = std::size_t{1} << 20;
  struct Node {
    NamespaceId space;
    Units begin;
    std::int32_t priority;
    std::size_t first_word, words, first_page, pages;
  };

  bool on_last_path(const Leaving& node) const {
    if (nodes_.empty() || nodes_.back().space != node.facts.space || nodes_.back().words < node.words.size())
      return false;
    const auto last = words_.begin() + static_cast<std::ptrdiff_t>(nodes_.back().first_word);
    return std::equal(node.words.begin(), node.words.end(), last);
  }

  std::size_t groups_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> words_;
  std::vector<Page> pages_;
  std::uint64_t forgotten_ = 0;
};

}  // namespace canopy
