/// Tenants with shares on the command line: the report of a replay, `canopy top`, `canopy export` and `compare --by
/// tenant`.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "program.h"

using namespace cli;
using nlohmann::json;

namespace {

const std::string kMixed = " --workload " + (kSource / "configs/workloads/mixed.yaml").string() + " --store none ";
constexpr const char* kFile =
    "page_size: 16\nindex: radix\n"
    "groups: { full: { reach: path, capacity: 20000, allocator: free_list, eviction: lru } }\n";
constexpr const char* kTenants = "tenants: { tenant-0: { floor: 4000, weight: 2 }, tenant-1: { ceiling: 2000 } }\n";

}  // namespace

TEST_CASE("a replay's report has the tenants and their payments, and without shares nothing of it") {
  const Workshop workshop;
  const fs::path out = workshop.path / "out.json";
  const std::string with = workshop.file("with.yaml", std::string(kFile) + kTenants);
  const Ended run = run_canopy(workshop, "replay " + with + kMixed + "--json " + out.string());
  REQUIRE(run.status == 0);
  CHECK_MESSAGE(has(run.out, "of the pool"), run.out);
  CHECK(has(run.out, "evicted from"));
  CHECK_FALSE(has(run.out, "(no tenant)"));  // no request is without one
  const json all = json::parse(slurp(out));
  std::uint64_t requests = 0, prompt = 0, hit = 0, cached = 0, evicted = 0, paid = 0, taken = 0, payments = 0;
  for (const json& tenant : all["tenants"]) {
    requests += tenant["requests"].get<std::uint64_t>(), prompt += tenant["prompt_tokens"].get<std::uint64_t>();
    hit += tenant["hit_tokens"].get<std::uint64_t>(), cached += tenant["cached"].get<std::uint64_t>();
    evicted += tenant["evicted"].get<std::uint64_t>(), paid += tenant["paid"].get<std::uint64_t>();
    taken += tenant["taken"].get<std::uint64_t>();
    if (tenant["name"] == "tenant-0") CHECK(tenant["floor"] == 4000);
    if (tenant["name"] == "tenant-0") CHECK(tenant["ceiling"] == nullptr);
    if (tenant["name"] == "tenant-1") CHECK(tenant["cached"] <= 2000);
  }
  for (const json& payment : all["payments"]) payments += payment["tokens"].get<std::uint64_t>();
  CHECK(requests == all["requests"]);
  CHECK(prompt == all["prompt_tokens"]);
  CHECK(hit == all["hit_tokens"]);
  CHECK(cached == all["resident_tokens"]);
  CHECK(evicted == all["evicted_tokens"]);
  CHECK(paid == taken);
  CHECK(paid == payments);
  CHECK(paid > 0);

  const std::string without = workshop.file("without.yaml", kFile);
  const Ended plain = run_canopy(workshop, "replay " + without + kMixed + "--json " + out.string());
  REQUIRE(plain.status == 0);
  CHECK_FALSE(has(plain.out, "tenant"));
  CHECK_FALSE(json::parse(slurp(out)).contains("tenants"));
}

TEST_CASE("compare --by tenant: hit rates, regret, the worst tenant and Jain's index, which is that of the rates") {
  const Workshop workshop;
  const fs::path out = workshop.path / "out.json";
  const std::string file = workshop.file("engine.yaml", std::string(kFile) + kTenants);
  const Ended run =
      run_canopy(workshop, "compare " + file + " --workload " + (kSource / "configs/workloads/mixed.yaml").string() +
                               " --policy lru,optimum --by tenant --json " + out.string());
  REQUIRE(run.status == 0);
  for (const char* words :
       {"hit rate by tenant", "mean of all tenants", "worst tenant", "Jain's index", "regretted tokens by tenant"})
    CHECK_MESSAGE(has(run.out, words), run.out);
  const json all = json::parse(slurp(out));
  REQUIRE(all["rows"].size() == 2);
  for (const json& row : all["rows"]) {
    double sum = 0, squares = 0, least = 2;
    std::uint64_t regret = 0;
    std::string worst;
    for (const json& slice : row["slices"]["namespace"]) {
      const double rate = slice["hit_rate"];
      sum += rate, squares += rate * rate;
      regret += slice["regret_tokens"].get<std::uint64_t>();
      if (rate < least) least = rate, worst = slice["name"];
    }
    const double tenants = static_cast<double>(row["slices"]["namespace"].size());
    CHECK(row["fairness"]["jain"].get<double>() == doctest::Approx(sum * sum / (tenants * squares)));
    CHECK(row["fairness"]["mean_hit_rate"].get<double>() == doctest::Approx(sum / tenants));
    CHECK(row["fairness"]["worst"] == worst);
    CHECK(row["fairness"]["worst_hit_rate"].get<double>() == doctest::Approx(least));
    CHECK(row["regret"]["tokens"] == regret);
  }
}

TEST_CASE("top and export show tenants of a running engine") {
  const Workshop workshop;
  const std::string name = "tenants-" + std::to_string(::getpid());
  const std::string file = workshop.file("engine.yaml", std::string(kFile) + kTenants);
  Started served(workshop, "served", "replay " + file + kMixed + "--pace 400 --feed " + name);
  Ended shown;
  REQUIRE(soon([&] { return has((shown = run_canopy(workshop, "top --once --feed " + name)).out, "evicted from"); }));
  CHECK_MESSAGE(has(shown.out, "Tenants  requests and hit rate since attached"), shown.out);
  CHECK(has(shown.out, "drift 0"));
  const Ended figures = run_canopy(workshop, "export --once --tenants 3 --feed " + name);
  CHECK(figures.status == 0);
  CHECK_MESSAGE(has(figures.out, "canopy_tenant_cached_tokens{feed=\"" + name + "\",tenant=\"(other)\"}"), figures.out);
  std::size_t rows = 0;
  for (std::size_t at = 0; (at = figures.out.find("\ncanopy_tenant_paid_tokens_total{", at)) != std::string::npos; ++at)
    ++rows;
  CHECK(rows == 4);
  served.end(SIGTERM);
}
