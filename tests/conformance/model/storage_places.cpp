#include "storage_places.h"

#include <canopy/base/option_walkers.h>
#include <canopy/base/temporary_folder.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "plugins.h"

namespace canopy::test {

namespace {

/// The options with which a storage of Canopy is tested.
struct Variant {
  const char *name, *options;
  bool faulty = false;
};
constexpr Variant kVariants[] = {
    {"sim_storage", ""},
    {"sim_storage", "linger: 5"},
    {"sim_storage", "capacity: 400Ki"},
    {"sim_storage", "absent: 9, forgets: 9, late: 9, failed: 9, full: 9", true},
    {"slots", "capacity: 8MiB"},
    {"slots", "capacity: 8MiB, engine: threads, direct: false"},
};

std::string joined(const std::string& one, const std::string& other) {
  return one + (one.empty() || other.empty() ? "" : ", ") + other;
}

/// A place without anything outside the process.
class Nowhere final : public StoragePlace {
 public:
  explicit Nowhere(std::string options) : options_(std::move(options)) {}
  std::string options() const override { return options_; }

 private:
  std::string options_;
};

class InFolder final : public StoragePlace {
 public:
  explicit InFolder(std::string more) : more_(std::move(more)) {
    if (folder_.path().empty()) disagree("no temporary folder can be created");
  }
  std::string options() const override { return joined("path: " + folder_.path().string(), more_); }

 private:
  TemporaryFolder folder_{"canopy-storage"};
  std::string more_;
};

bool has_option(const Offer& offer, std::string_view name) {
  const auto options = help_of(offer.component->options);
  return std::any_of(options.begin(), options.end(), [&](const OptionHelp& option) { return option.name == name; });
}

std::unique_ptr<StoragePlace> place_for(bool folder, const std::string& options) {
  if (folder) return std::make_unique<InFolder>(options);
  return std::make_unique<Nowhere>(options);
}

}  // namespace

std::shared_ptr<PageStorage> StorageKind::open(const StoragePlace& at, const PageStorage::Context& context) const {
  return make<PageStorage>(name, context, "{ " + at.options() + " }");
}

std::vector<StorageKind> storage_kinds() {
  std::vector<StorageKind> kinds;
  const char* const given = std::getenv("CANOPY_STORAGE_OPTIONS");
  for (const std::string& name : names_of<PageStorage>()) {
    const Offer& offer = *plugins().find(PageStorage::kInterface, name);
    const bool folder = has_option(offer, "path");
    if (has_option(offer, "at") && !given) {
      std::fprintf(stderr, "not tried: %s: CANOPY_STORAGE_OPTIONS names no server\n", name.c_str());
      continue;
    }
    const auto add = [&](const std::string& options, bool faulty) {
      kinds.push_back({name, joined(name, options), faulty, [=] { return place_for(folder, options); }});
    };
    const auto is_of_it = [&](const Variant& variant) { return variant.name == name; };
    if (std::none_of(std::begin(kVariants), std::end(kVariants), is_of_it)) add(given ? given : "", false);
    else if (!given)
      for (const Variant& variant : kVariants)
        if (is_of_it(variant)) add(variant.options, variant.faulty);
  }
  if (kinds.empty()) disagree("it needs a server: CANOPY_STORAGE_OPTIONS must name one, such as 'at: cache-1:7001'");
  return kinds;
}

}  // namespace canopy::test
