/// `tiers:` and `model:` of an engine's file: what need not be said, what is refused, and what is said to be of no use.
#include <fmt/format.h>

#include "engine_texts.h"

using namespace canopy;
using namespace canopy::test;

namespace {

/// A pool of 100,000 tokens, and a tier below it that has `host`; `more` are lines beside it.
EngineConfig tiered(const std::string& host, const std::string& more = "") {
  return good(
      "page_size: 4\ngroups: { full: { capacity: 100000, allocator: free_list, eviction: lru } }\n"
      "model: { name: m, revision: r, dtype: bf16 }\n"
      "tiers:\n  host: { capacity: 1000000" +
      host + " }\n" + more);
}

/// What is said of all that is of no use, a line each.
std::string of_no_use(const EngineConfig& config) {
  std::string all;
  for (const std::string& sentence : pointless_parts(config, plugins())) all += sentence + "\n";
  return all;
}

}  // namespace

TEST_CASE("tiers config: what need not be said") {
  std::string values;
  for (const OptionHelp& option : describe_engine_config(plugins()))
    if ((option.name.starts_with("tiers.") || option.name.starts_with("model.")) && !option.value.empty())
      values += option.name + "=" + option.value + " ";
  CHECK(values ==
        "model.extra=none model.rank=0 model.ranks=1 model.replicated=false tiers.host.eviction=lru "
        "tiers.host.write=write_back tiers.host.hits=2 tiers.host.ahead=0 tiers.host.least=0 "
        "tiers.host.in_flight=268435456 tiers.host.bandwidth=0 tiers.host.latency=0 "
        "tiers.host.kv_bytes=0 tiers.storage.write=on_evict tiers.storage.ahead=5 tiers.storage.least=0 "
        "tiers.storage.in_flight=268435456 tiers.storage.budget=0 tiers.storage.keep=0 "
        "tiers.storage.bandwidth=0 tiers.storage.latency=0 tiers.storage.find_within=20000 "
        "tiers.storage.within=2000000 tiers.storage.trust_again=3600 tiers.recompute.fixed=0 "
        "tiers.recompute.per_token=0 tiers.recompute.per_token_depth=0 tiers.recompute.margin=100 "
        "tiers.recompute.learn=false tiers.prefetch.policy=worthwhile tiers.prefetch.base=2000000 "
        "tiers.prefetch.per_1k=100000 tiers.prefetch.max=30000000 tiers.prefetch.share=25 ");
}

TEST_CASE("tiers config: a model is told by its name, its revision and the type of its rows") {
  for (const std::string_view missing : {"name", "revision", "dtype"}) {
    std::string model;
    for (const std::string_view key : {"name", "revision", "dtype"})
      if (key != missing) model += fmt::format("{}{}: x", model.empty() ? "" : ", ", key);
    const std::string said = wrong(fmt::format("page_size: 4\n{}model: {{ {} }}\n", kGroup, model));
    CHECK_MESSAGE(said.starts_with(fmt::format("t:3:8: model has no '{}'; expected the ", missing)), said);
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

TEST_CASE("tiers config: a tier that is fetched from too slowly is of no use") {
  // A token of 1 KiB takes a millisecond in the lane; a token at the end of the pool's 100,000 takes 100 us and more.
  const std::string slow = ", bandwidth: 1024000, kv_bytes: 1024";
  CHECK(of_no_use(tiered(slow, "  recompute: { per_token: 2000000 }\n")) == "");
  CHECK(of_no_use(tiered(slow, "  recompute: { per_token: 100000 }\n")) ==
        "tiers.host is of no use: a token of 1.0 KiB takes 1.0 ms at 0.00102 GB/s, and computing one 100.0 us at most: "
        "nothing will be fetched from it\n");
  // No prompt is longer than the pool: that attention makes a token dear behind a million others is no help.
  CHECK(of_no_use(tiered(slow, "  recompute: { per_token: 100000, per_token_depth: 20000 }\n")) == "");
  CHECK(of_no_use(tiered(slow, "  recompute: { per_token: 100000, per_token_depth: 2000 }\n"))
            .starts_with("tiers.host is of no use: "));
  // What a token takes is not said, and there are no rows that would tell.
  CHECK(of_no_use(tiered(", bandwidth: 1024000", "  recompute: { per_token: 100000 }\n")) == "");
}

TEST_CASE("tiers config: a storage that is put nothing, or that simulates nothing, is said to be so") {
  const auto stored = [](const std::string& storage) {
    return of_no_use(tiered("", "  storage: { in: sim_storage" + storage + " }\n"));
  };
  CHECK(stored("") == "");
  CHECK(stored(", ahead: 0") ==
        "tiers.storage is of no use: with `ahead: 0` the host tier evicts for room alone, and what is evicted for room "
        "is not put\n");
  CHECK(stored(", write: none") ==
        "tiers.storage has what others put there, and nothing of this engine: `write: none`\n");
  CHECK(stored(", least: 100000") == "");
  CHECK(stored(", least: 100001") ==
        "tiers.storage is of no use: no prefix that fits the pools is as long as `least`, 100,001 tokens\n");
  CHECK(stored(", bandwidth: 1G, latency: 1") == "");
  for (const char* latency : {", latency: 1", ", latency: 200"})
    CHECK(stored(latency) ==
          "tiers.storage.latency is of a simulated storage: without a bandwidth nothing is simulated\n");
}
