#include "subject.h"

#include <canopy/engine/engine_file.h>
#include <fmt/format.h>

#include <algorithm>

#include "draw.h"

namespace canopy::check {
namespace {

void replace(std::string& text, std::string_view what, const std::string& by) {
  if (const std::size_t at = text.find(what); at != text.npos) text.replace(at, what.size(), by);
}

/// Returns true if a storage neither loses nor refuses records.
bool is_sound(const ComponentConfig& storage) {
  const auto options = parse_yaml(storage.options.empty() ? "{}" : storage.options, "options");
  return !storage.name.empty() && options &&
         std::ranges::none_of(
             std::array{"absent", "forgets", "damaged", "late", "failed", "full"}, [&](const char* name) {
               const YamlNode* const value = options->kind == YamlNode::Kind::map ? options->find(name) : nullptr;
               return value && value->scalar != "0";
             });
}

}  // namespace

Result<std::unique_ptr<Subject>> Subject::create(const std::string& text, const Registry& registry, unsigned rank,
                                                 unsigned ranks, Agreement* agreement) {
  const auto document = parse_yaml(text, "engine");
  if (!document) return document.error();
  auto config = read_engine_config(*document, registry);
  if (!config) return Error{config.error().text + "\n" + text};
  auto subject = std::make_unique<Subject>();
  std::string& storage = config->storage_tier.in.options;
  if (storage.find(kFolder) != storage.npos) {
    subject->folder_.emplace("canopy-check");
    replace(storage, kFolder, subject->folder_->path().string());
  }
  if (ranks > 1 && !config->model.name.empty()) {
    config->model.rank = rank, config->model.ranks = ranks;
    replace(storage, "seed: ", fmt::format("seed: {}", rank + 1));  // calls end at another time on each rank
  }
  auto engine = check::create(*config, registry, subject->faults, agreement);
  if (!engine) return Error{engine.error().text + "\n" + text};
  subject->config_ = std::move(*config);
  subject->agreement_ = agreement;
  subject->sound_ = is_sound(subject->config_.storage_tier.in);
  subject->engine_ = std::move(*engine);
  return subject;
}

Result<std::monostate> Subject::reopen(const std::string& index, const Registry& registry) {
  end();
  EngineConfig other = config_;
  other.index = {index, {}, {}};
  auto engine = check::create(other, registry, faults, agreement_);
  if (engine) config_ = std::move(other);
  else if (engine = check::create(config_, registry, faults, agreement_); !engine) return engine.error();
  engine_ = std::move(*engine);
  return std::monostate{};
}

}  // namespace canopy::check
