#include "subject.h"

#include <canopy/config/yaml_options.h>

#include "baseline_index.h"

namespace canopy::bench {
namespace {

template <class Interface>
Result<std::shared_ptr<Interface>> make(const Registry& registry, const std::string& name,
                                        const typename Interface::Context& context, const std::string& text = {}) {
  YamlNode node;
  if (!text.empty()) {
    auto parsed = parse_yaml(text, name);
    if (!parsed) return parsed.error();
    node = std::move(*parsed);
  }
  Complaints complaints;
  YamlOptions options(node, name, complaints);
  auto made = registry.create<Interface>(name, options, context);
  options.finish();
  if (!complaints.empty()) return Error{complaints.front()};
  return made;
}

}  // namespace

Result<Subject> make_subject(const Registry& registry, const std::string& name, Units page_size, std::uint64_t capacity,
                             const std::string& options) {
  auto policy = make<EvictionStrategy>(registry, "lru", {});
  if (!policy) return policy.error();
  const Group group{"full", kWholePath, capacity, policy->get()};
  const PrefixIndex::Context context{page_size, 0, {&group, 1}};
  if (name.empty()) return Subject{*policy, std::make_shared<BaselineIndex>(context)};
  auto index = make<PrefixIndex>(registry, name, context, options);
  if (!index) return index.error();
  return Subject{*policy, *index};
}

Result<std::shared_ptr<SlotAllocator>> make_allocator(const Registry& registry, const std::string& name,
                                                      std::uint32_t segment_pages) {
  return make<SlotAllocator>(registry, name, {segment_pages});
}

Result<std::shared_ptr<KVStore>> make_store(const Registry& registry, const std::string& name,
                                            const KVStore::Context& context, const std::string& options) {
  return make<KVStore>(registry, name, context, options);
}

}  // namespace canopy::bench
