#include "stage.h"

#include "group_world.h"
#include <conformance/model/mismatch.h>
#include "request_world.h"
#include <conformance/model/world.h>

namespace canopy::test {

namespace {

class WorldStage final : public Stage {
 public:
  explicit WorldStage(const WorldConfig& config) : world_(config) {}
  Outcome apply(std::string_view line) override { return world_.apply(operation_from(line)); }
  void finish() override { world_.finish(); }

 private:
  World world_;
};

}  // namespace

std::unique_ptr<Stage> stage_of(const WorldConfig& config) {
  if (config.requests) return std::make_unique<RequestWorld>(config);
  if (!config.groups.empty()) return std::make_unique<GroupWorld>(config);
  if (config.words_are_pages) disagree("words=pages is for an engine with groups=, or for requests");
  return std::make_unique<WorldStage>(config);
}

}  // namespace canopy::test
