/// `tiers:` and `model:` of an engine's file: what need not be said, and what is refused.
#include <fmt/format.h>

#include "engine_texts.h"

using namespace canopy;
using namespace canopy::test;

TEST_CASE("tiers config: what need not be said") {
  std::string values;
  for (const OptionHelp& option : describe_engine_config(plugins()))
    if ((option.name.starts_with("tiers.") || option.name.starts_with("model.")) && !option.value.empty())
      values += option.name + "=" + option.value + " ";
  CHECK(values ==
        "model.extra=none model.rank=0 model.ranks=1 model.replicated=false tiers.host.eviction=lru "
        "tiers.host.write=write_back tiers.host.bandwidth=0 tiers.host.latency=0 tiers.storage.write=on_evict "
        "tiers.storage.least=0 tiers.storage.bandwidth=0 tiers.storage.within=2s tiers.recompute.per_token=0 "
        "tiers.recompute.per_token_depth=0 tiers.prefetch.policy=worthwhile tiers.prefetch.max=30s ");
}

TEST_CASE("tiers config: a model is identified by its name, its revision and the type of its rows") {
  for (const std::string_view missing : {"name", "revision", "dtype"}) {
    std::string model;
    for (const std::string_view key : {"name", "revision", "dtype"})
      if (key != missing) model += fmt::format("{}{}: x", model.empty() ? "" : ", ", key);
    const std::string message = wrong(fmt::format("page_size: 4\n{}model: {{ {} }}\n", kGroup, model));
    CHECK_MESSAGE(message.starts_with(fmt::format("t:3:8: model has no '{}'; expected the ", missing)), message);
  }
}

TEST_CASE("tiers config: a rank is one of those that there are") {
  const auto ranks = [](int rank, int ranks_of_all) {
    return fmt::format(
        "page_size: 4\n{}model: {{ name: m, revision: r, dtype: bf16, rank: {}, ranks: {} }}\n"
        "tiers: {{ host: {{ capacity: 64 }}, storage: {{ in: sim_storage }} }}\n",
        kGroup, rank, ranks_of_all);
  };
  CHECK(good(ranks(1, 2)).model.rank == 1);
  CHECK(wrong(ranks(2, 2)).find("model.rank = 2, and there are 2: the last one is 1") != std::string::npos);
}
