#pragma once

#include "flat_index.h"
#include "operation.h"
#include "victim_order.h"

#include <canopy/eviction_strategy.h>
#include <canopy/prefix_index.h>
#include <canopy/slot_allocator.h>

#include <array>
#include <map>
#include <memory>
#include <string>

namespace canopy::test {

/// How much of what must be tested a program reached.
struct Coverage {
  std::uint64_t operations = 0, splits = 0, left = 0, left_beside_locks = 0, left_as_new_leaf = 0, spare_pages = 0,
                hits = 0, refused_locks = 0, out_of_pages = 0, walks = 0, most_nodes = 0;
  void add(const Coverage& other);
};

/// An index and an allocator, driven as an engine drives them, beside the models of what they must do. After
/// every operation all answers, sums and owners are compared; a Mismatch says what differs.
class World {
 public:
  explicit World(const WorldConfig& config);

  /// Operations that name a lock or held pages nobody has are passed over: so a program stays a program when
  /// parts of it are deleted.
  Outcome apply(const Operation& operation);
  /// Lets go of everything, empties the index by eviction, and checks that no page is missing.
  void finish();

  const Coverage& coverage() const { return coverage_; }

 private:
  enum class LockState { held, let_go, forgotten };
  struct Receipt {
    Lock lock;
    LockState state = LockState::held;
    NamespaceId space{};
    Chain chain;  ///< what it holds
  };

  Key key_of(const Operation& operation) const { return {operation.space, operation.words}; }
  Outcome match(const Operation& operation);
  Outcome insert(const Operation& operation);
  Outcome insert_nowhere(const Operation& operation, const Lock& stale);
  Outcome release(const Operation& operation);
  Outcome evict(std::size_t count);
  Outcome flush(NamespaceId space);
  Outcome clear();
  Outcome peek(const Key& key);
  Outcome hold(const Operation& operation);
  Outcome drop(const std::string& name);
  Outcome remap(std::uint32_t count);
  Outcome state();

  /// Pages of the allocator, evicting if there are too few; nothing if even that does not help.
  std::vector<Page> obtain(std::size_t count);
  void give_back(std::span<const Page> pages);
  void keep(const std::string& name, Receipt receipt);
  void let_go(Receipt& receipt, const RequestFacts* finished);
  void check_lock(const Lock& lock, ChainView chain);
  void check_sums();

  WorldConfig config_;
  std::shared_ptr<SlotAllocator> allocator_;
  std::array<std::shared_ptr<EvictionStrategy>, 2> policies_;  ///< outlive the index
  std::size_t policy_ = 0;
  std::shared_ptr<PrefixIndex> index_;
  bool remembers_ = true;  ///< false: an index that keeps nothing, and all pages stay the caller's

  FlatIndex flat_;
  VictimOrder order_;
  std::map<std::string, Receipt> receipts_;
  std::map<std::string, std::vector<Page>> held_;
  std::uint64_t held_pages_ = 0;
  Coverage coverage_;
};

}  // namespace canopy::test
