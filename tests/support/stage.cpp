#include "stage.h"

#include "request_world.h"

#include <conformance/model/world.h>

namespace canopy::test {

namespace {

class IndexStage final : public Stage {
 public:
  explicit IndexStage(const WorldConfig& config) : config_(config), world_(config) {}
  Outcome apply(std::string_view line) override {
    Operation operation = program::operation_of(line, program::Runner::index);
    operation.words = words_in(config_, operation.words);
    return world_.apply(operation);
  }
  void finish() override { world_.finish(); }

 private:
  WorldConfig config_;
  World world_;
};

}  // namespace

std::unique_ptr<Stage> stage_of(const WorldConfig& config) {
  if (config.requests) return std::make_unique<RequestWorld>(config);
  return std::make_unique<IndexStage>(config);
}

}  // namespace canopy::test
