#pragma once

#include <canopy/engine/engine.h>
#include <canopy/engine/engine_config.h>
#include <canopy/key_codec.h>
#include <canopy/loading/registry.h>

#include <memory>
#include <vector>

#include "fleet.h"

namespace canopy::fleet {

/// Workers that are engines of one configuration, each with its own cache. A request is served as `canopy replay` does
/// it one by one: it is matched, inserted and ends, so that one worker gives the figures of a replay. The router sees
/// what each engine holds now, as events without delay or loss would tell it.
class EngineCaches final : public Caches {
 public:
  static Result<std::unique_ptr<EngineCaches>> create(const EngineConfig& config, const Registry& registry,
                                                      std::size_t workers);

  std::size_t workers() const override { return engines_.size(); }
  std::uint32_t block_tokens() const override { return engines_.front()->page_size(); }
  void look(const workload::ClientRequest& client, std::vector<scheduling::RouteWorker>& workers) override;
  std::optional<std::uint32_t> serve(std::size_t worker, const workload::ClientRequest& client) override;
  std::uint64_t violations() const override;
  std::vector<std::string> reports() const override;

 private:
  EngineCaches() = default;

  /// A codec's words.
  struct Words final : Scratch {
    std::vector<std::uint32_t> room;
    std::span<std::uint32_t> words(std::size_t count) override {
      if (room.size() < count) room.resize(count);
      return {room.data(), count};
    }
  };

  std::vector<std::unique_ptr<Engine>> engines_;
  Words words_;
  std::vector<Token> answer_;
};

}  // namespace canopy::fleet
