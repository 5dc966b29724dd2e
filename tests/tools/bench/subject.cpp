#include "subject.h"

#include <canopy/engine/engine_file.h>

#include "baseline_index.h"

namespace canopy::bench {
Result<Subject> make_subject(const Registry& registry, const std::string& name, Units page_size, std::uint64_t capacity,
                             const std::string& options, const std::string& policy_name) {
  auto policy = registry.make<EvictionStrategy>(policy_name, {});
  if (!policy) return policy.error();
  const Group group{"full", kWholePath, capacity, policy->get()};
  const PrefixIndex::Context context{page_size, 0, {&group, 1}};
  if (name.empty()) return Subject{*policy, std::make_shared<BaselineIndex>(context)};
  auto index = registry.make<PrefixIndex>(name, context, options);
  if (!index) return index.error();
  return Subject{*policy, *index};
}

Result<Subject> make_subject(const Setting& setting, bool original, Units page_size) {
  return make_subject(setting.registry, original ? std::string() : setting.options.index, page_size, kUnlimited);
}

Result<std::shared_ptr<SlotAllocator>> make_allocator(const Registry& registry, const std::string& name,
                                                      std::uint32_t segment_pages) {
  return registry.make<SlotAllocator>(name, {segment_pages});
}

Result<std::unique_ptr<Engine>> make_engine(const Registry& registry, const std::string& text, TreeListener* listener) {
  auto document = parse_yaml(text, "bench");
  if (!document) return document.error();
  auto config = read_engine_config(*document, registry);
  if (!config) return config.error();
  return Engine::create(*config, registry, listener);
}

Result<std::shared_ptr<KVStore>> make_store(const Registry& registry, const std::string& name,
                                            const KVStore::Context& context, const std::string& options) {
  return registry.make<KVStore>(name, context, options);
}

}  // namespace canopy::bench
