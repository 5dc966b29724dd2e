#pragma once

#include <canopy/prefix_index.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace canopy {

/// The paths that one eviction removes from an index, in the order of removal. A node on the path of the previous one
/// is left out, since that path includes its pages: a chain that is evicted from its end is one path. A node for whose
/// path there is no memory is counted (forgotten), and nothing else of it is kept.
class Departures final : public LeavingVisitor {
 public:
  explicit Departures(std::size_t groups) : groups_(groups) {}

  struct Departure {
    NamespaceId space{};
    Units begin = 0;  ///< depth from which the path is evicted
    std::int32_t priority = 0;
    std::vector<std::uint32_t> words;  ///< words of the whole path; own memory, for a copy to keep
    std::size_t first_page = 0;        ///< its first place in the pages of all paths
  };

  void leaving(const Leaving& node) override;

  std::vector<Departure>& paths() { return paths_; }
  /// Returns the pages of one of paths(). Valid until the next call of leaving() or clear().
  GroupPages pages(const Departure& path) const {
    const std::size_t next = &path == &paths_.back() ? pages_.size() : (&path + 1)->first_page;
    const std::size_t count = (next - path.first_page) / groups_;
    GroupPages pages;
    for (std::size_t g = 0; g < groups_; ++g) pages[g] = std::span(pages_).subspan(path.first_page + g * count, count);
    return pages;
  }
  /// Returns the units of nodes that were too many to store, or had no memory.
  std::uint64_t forgotten() const { return forgotten_; }
  /// Returns the number of nodes of forgotten() that had no memory.
  std::uint64_t lacked() const { return lacked_; }
  void clear() {
    paths_.clear();
    pages_.clear();
    words_ = 0;
    forgotten_ = lacked_ = 0;
    if (pages_.capacity() > kUsualPages) std::vector<Page>().swap(pages_);
  }

 private:
  static constexpr std::size_t kMostWords = std::size_t{1} << 24, kUsualPages = std::size_t{1} << 20;

  bool on_last_path(const Leaving& node) const;

  std::size_t groups_;
  std::vector<Departure> paths_;
  std::vector<Page> pages_;  ///< pages of each path, group by group
  std::size_t words_ = 0;    ///< words of all paths
  std::uint64_t forgotten_ = 0, lacked_ = 0;
};

}  // namespace canopy
