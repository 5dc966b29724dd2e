#pragma once

#include <canopy/base/registry.h>
#include <canopy/engine/engine.h>
#include <canopy/eviction_strategy.h>
#include <canopy/kv_store.h>
#include <canopy/prefix_index.h>
#include <canopy/slot_allocator.h>

#include <memory>
#include <string>

#include "cases.h"

namespace canopy::bench {

/// An index with one whole-path group.
struct Subject {
  std::shared_ptr<EvictionStrategy> policy;  ///< outlives the index
  std::shared_ptr<PrefixIndex> index;
};

/// Returns the index with this name, with `options` in YAML; the original's algorithm if the name is empty.
Result<Subject> make_subject(const Registry& registry, const std::string& name, Units page_size, std::uint64_t capacity,
                             const std::string& options = {}, const std::string& policy = "lru");

/// Returns the index that is measured, without a limit, or the original's algorithm.
Result<Subject> make_subject(const Setting& setting, bool original, Units page_size);

Result<std::shared_ptr<SlotAllocator>> make_allocator(const Registry& registry, const std::string& name,
                                                      std::uint32_t segment_pages = 0);

/// Returns the engine of a configuration in YAML.
Result<std::unique_ptr<Engine>> make_engine(const Registry& registry, const std::string& text,
                                            TreeListener* listener = nullptr);

/// Returns a store with `options` in YAML.
Result<std::shared_ptr<KVStore>> make_store(const Registry& registry, const std::string& name,
                                            const KVStore::Context& context, const std::string& options);

}  // namespace canopy::bench
