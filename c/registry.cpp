#include <dlfcn.h>

#include <filesystem>

#include "handles.h"
#include "policy.h"

namespace canopy::c {
namespace {

namespace fs = std::filesystem;

/// Returns the plugins' folder: beside this library if it is installed, or beside its folder in a build tree.
fs::path own_folder() {
  static const int here = 0;
  Dl_info found{};
  if (!::dladdr(&here, &found) || !found.dli_fname) return "plugins";
  std::error_code failed;
  const fs::path library = fs::canonical(found.dli_fname, failed).parent_path();
  const fs::path installed = library / "canopy/plugins";
  return fs::is_directory(installed, failed) ? installed : library.parent_path() / "plugins";
}

/// Returns an error for the refusals of a registry from number `from` on.
canopy_code fail_refused(const Registry& registry, std::size_t from) {
  std::string all;
  for (std::size_t i = from; i < registry.refusals().size(); ++i)
    all += fmt::format("{}{}: {}", all.empty() ? "" : "\n", registry.refusals()[i].file.string(),
                       registry.refusals()[i].why);
  return fail(CANOPY_REFUSED, all);
}

}  // namespace

std::shared_ptr<Registry> registry_of(canopy_registry* handle) {
  if (handle) return handle->registry;
  static const std::shared_ptr<Registry> own = [] {
    auto made = std::make_shared<Registry>();
    made->scan(own_folder(), Trust::as_ourselves);
    return made;
  }();
  return own;
}

}  // namespace canopy::c

using namespace canopy;
using namespace canopy::c;

canopy_code canopy_registry_create(const char* plugins, canopy_registry** registry) {
  constexpr const char* kName = "canopy_registry_create";
  if (!registry) return fail_without(kName, "registry");
  *registry = nullptr;
  return caught(kName, [&]() -> canopy_code {
    auto made = std::make_unique<canopy_registry>(canopy_registry{std::make_shared<Registry>()});
    if (plugins && !fs::is_directory(plugins)) return fail(CANOPY_NOT_FOUND, kName, "{} is no folder", plugins);
    if (plugins) made->registry->scan(plugins, Trust::strict);
    else made->registry->scan(own_folder(), Trust::as_ourselves);
    // Other files of the folder stay usable, but a folder of which nothing is used is a mistake.
    if (made->registry->offers().empty() && !made->registry->refusals().empty())
      return fail_refused(*made->registry, 0);
    *registry = made.release();
    return CANOPY_OK;
  });
}

canopy_code canopy_registry_add_plugin(canopy_registry* registry, const char* file) {
  constexpr const char* kName = "canopy_registry_add_plugin";
  if (!registry) return fail_without(kName, "registry");
  if (!file) return fail_without(kName, "file");
  return caught(kName, [&]() -> canopy_code {
    const std::size_t before = registry->registry->refusals().size();
    registry->registry->add(file, Trust::strict);
    return registry->registry->refusals().size() == before ? CANOPY_OK : fail_refused(*registry->registry, before);
  });
}

canopy_code canopy_registry_add_policy(canopy_registry* registry, const canopy_policy* policy) {
  constexpr const char* kName = "canopy_registry_add_policy";
  if (!registry) return fail_without(kName, "registry");
  return caught(kName, [&]() -> canopy_code {
    canopy_code code = CANOPY_OK;
    const auto table = read_policy(kName, policy, code);
    if (!table) return code;
    const auto added = registry->registry->add<EvictionStrategy>(table->name, table->summary,
                                                                 [table] { return CPolicy::create(table); });
    return added ? CANOPY_OK : fail(CANOPY_REFUSED, added.error().text);
  });
}

void canopy_registry_destroy(canopy_registry* registry) { delete registry; }
