#include "program.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace {

using namespace cli;

/// The driver library that programs open while it lives.
struct Driver {
  explicit Driver(const fs::path& library) { ::setenv("CANOPY_CUDA_DRIVER", library.c_str(), 1); }
  ~Driver() {
    ::unsetenv("CANOPY_CUDA_DRIVER");
    ::unsetenv("FAKE_CUDA_FAIL");
  }
};

const fs::path kFake = kBin.parent_path() / "fake_cuda" / "libfake_cuda.so";

}  // namespace

TEST_CASE("a bench of a fake GPU executes every section, finds the bytes right, and says that it is a fake") {
  const Driver driver(kFake);
  const Workshop workshop;
  const std::string json = (workshop.path / "figures.json").string();
  const Ended run = run_canopy(workshop, "bench gpu --budget 2 --json " + json);
  REQUIRE_MESSAGE(run.status == 0, (run.out + run.err));
  CHECK(has(run.out, "these are not GPU figures"));
  const auto figures = nlohmann::json::parse(slurp(json));
  CHECK(figures["fake_device"] == true);
  CHECK(figures["failures"].empty());
  std::set<std::string> sections;
  for (const auto& row : figures["rows"]) {
    CAPTURE(row.dump());
    sections.insert(std::string(row["section"]).substr(0, std::string(row["section"]).find(':')));
    CHECK(row["ours"]["low"] <= row["ours"]["median"]);
    CHECK(row["ours"]["median"] <= row["ours"]["high"]);
    CHECK(row["ours"]["median"] > 0);
    CHECK(row["ours"]["samples"] > 0);
  }
  for (const char* const section : {"rooflines", "kernels", "bus", "bus-beside-work", "growth", "demotion"})
    CHECK_MESSAGE(sections.contains(section), section);
  // Times of a fake are not those of a GPU.
  CHECK(figures["acceptance"].size() > 10);
  for (const auto& demand : figures["acceptance"]) {
    CAPTURE(demand.dump());
    CHECK(demand["verdict"] == "not measured");
  }
}

TEST_CASE("a bench of a GPU that fails a copy ends with exit code 1 and the driver's own words") {
  const Driver driver(kFake);
  ::setenv("FAKE_CUDA_FAIL", "cuLaunchKernel:1:719", 1);
  const Workshop workshop;
  const Ended run = run_canopy(workshop, "bench gpu --budget 1 --only kernels");
  CHECK(run.status == 1);
  CHECK_MESSAGE(has(run.out, "CUDA_ERROR_LAUNCH_FAILED"), run.out);
}

TEST_CASE("a bench without a GPU says why nothing was measured") {
  const Driver driver("/no/such/libcuda.so");
  const Workshop workshop;
  const Ended run = run_canopy(workshop, "bench gpu --budget 1 --only kernels");
  CHECK(run.status == 2);
  CHECK(run.out.empty());
  CHECK_MESSAGE(has(run.err, "no GPU was available: "), run.err);
  const Ended unknown = run_canopy(workshop, "bench gpu --only nowhere");
  CHECK(unknown.status == 2);
  CHECK_MESSAGE(has(unknown.err, "no section is called 'nowhere'"), unknown.err);
}
