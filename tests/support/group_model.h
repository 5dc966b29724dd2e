#pragma once

#include <conformance/model/index_walk.h>
#include <conformance/model/mismatch.h>

#include <canopy/prefix_index.h>

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace canopy::test {

/// What an index with several groups must do, said without a tree: for each chain of pages, which page number each
/// group has there, or none. A boundary can be reused when, in every group, the last min(reach, depth) units are
/// resident; what a lock may need is never let go; nothing is lost.
class GroupModel {
 public:
  using Chain = std::vector<std::uint32_t>;  ///< whole pages of units, as units_of names them
  using Pages = std::array<Page, kMaxGroups>;

  GroupModel(Units page_size, std::vector<Units> reaches, Units overlap = 0)
      : page_(page_size), overlap_(overlap), reaches_(std::move(reaches)) {}

  /// What an index compares of these words: themselves, or with an overlap of 1 pairs. REQUIRES: then below 2^16.
  static Chain units_of(std::span<const std::uint32_t> words, Units overlap);

  /// Units of the deepest boundary that every group can serve.
  Units match(const Chain& words) const;
  /// Units of `words` that the index has a node for: something here or further down is resident, or locked.
  Units known(const Chain& words) const;
  Page page(const Chain& words, Units depth, std::size_t group) const;

  /// Takes in what was brought for [from, end) of `words`; what it must be given back, by group.
  std::array<std::vector<Page>, kMaxGroups> insert(const Chain& words, Units from, Units end,
                                                   const std::array<std::vector<Page>, kMaxGroups>& brought);
  /// Pages that have left; complains of any that a lock needs or that was not there.
  void left(std::size_t group, std::span<const Page> pages);
  /// After all of them have: what left took along what no boundary could use without it, all pages in groups that
  /// reach less far and that no lock holds; and in a whole-path group nothing hangs below a gap.
  void check_shape();

  /// A request that uses `words` up to `length`, in each group from `from` on.
  struct Lock {
    Chain words;
    std::array<Units, kMaxGroups> from{};
  };
  std::map<int, Lock> locks;
  /// A lock holds less of a group; what it is known by, the last page of what would be its last group, it keeps.
  void relax(int lock, std::size_t group, Units from);
  /// Where the hold of a group under a lock begins: the page in which its last reach does.
  Units needed_from(const Lock& lock, std::size_t group) const;

  /// Everything visit() and sizes() tell.
  void check(const PrefixIndex& index) const;

 private:
  bool is_held(const Chain& words, std::size_t group) const;

  Units page_, overlap_;
  std::vector<Units> reaches_;
  std::map<Chain, Pages> chains_;                    ///< by all words up to the end of the page
  std::vector<std::pair<std::size_t, Chain>> gone_;  ///< what left since the last check_shape, by group
};

}  // namespace canopy::test
