#pragma once

#include "group_model.h"
#include <conformance/model/operation.h>
#include "stage.h"

#include <canopy/eviction_strategy.h>
#include <canopy/prefix_index.h>
#include <canopy/slot_allocator.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace canopy::test {

/// An index with several groups and an allocator for each, beside the model of what their reaches demand. Answers
/// of a group carry its name: "window.pages". Depths and sizes are told in units, or in pages where words are.
class GroupWorld final : public Stage {
 public:
  explicit GroupWorld(const WorldConfig& config);

  Outcome apply(std::string_view line) override;
  void finish() override;

 private:
  using Brought = std::array<std::vector<Page>, kMaxGroups>;
  struct Part {
    std::string name;
    std::uint32_t capacity;  ///< pages
    std::shared_ptr<SlotAllocator> allocator;
    std::shared_ptr<EvictionStrategy> policy;
  };
  struct Receipt {
    Lock lock;
    int number = 0;  ///< in the model
  };

  Outcome match(const Operation& operation);
  Outcome insert(const Operation& operation);
  Outcome release(const std::string& name);
  Outcome evict(std::size_t group, std::size_t pages);
  Outcome relax(const Operation& operation);
  Outcome peek(const Operation& operation);
  Outcome state() const;

  /// Nothing for a group that only other worlds of the story have.
  std::optional<std::size_t> group(const std::string& name) const;
  Units told(Units units) const { return config_.words_are_pages ? units / config_.page_size : units; }
  Units meant(Units depth) const { return config_.words_are_pages ? depth * config_.page_size : depth; }
  Receipt& held(const std::string& name);
  void keep(const std::string& name, const Lock& lock, GroupModel::Chain chain);
  void let_go(const std::string& name);
  /// What the lock says and what it shows, compared with the model and as answers.
  Outcome shown(const Lock& lock, const GroupModel::Lock& expected);
  std::optional<Brought> obtain(const Operation& operation, Units below, Units end);
  void give_back(const GroupPages& pages);
  Outcome take_out(const GroupPages& left);
  void check();

  WorldConfig config_;
  std::vector<Part> parts_;
  std::shared_ptr<PrefixIndex> index_;
  GroupModel model_;
  std::map<std::string, Receipt> receipts_;
  int next_ = 1;
};

}  // namespace canopy::test
