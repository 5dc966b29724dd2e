#include <doctest/doctest.h>

#include <cmath>

#include <lab/curve.h>
#include <support/source_folder.h>
#include <workload/generator.h>
#include "lab_models.h"

using namespace canopy;
using namespace lab_models;

namespace {

/// The same prompts with `times` tokens for each.
std::vector<workload::ClientRequest> requests_of(const Prompts& prompts, std::uint32_t times) {
  std::vector<workload::ClientRequest> all;
  for (const Prompt& prompt : prompts) {
    workload::ClientRequest request;
    request.arrival_ms = all.size() * 1000;
    for (const std::uint32_t letter : prompt) request.prompt.insert(request.prompt.end(), times, letter);
    all.push_back(std::move(request));
  }
  return all;
}

std::vector<workload::ClientRequest> shipped(const std::string& name) {
  auto source = workload::open_generator(std::string(kSourceFolder) + "/configs/workloads/" + name, 0);
  REQUIRE_MESSAGE(source, (source ? "" : source.error().text));
  std::vector<workload::ClientRequest> all;
  workload::ClientRequest request;
  while (true) {
    const auto more = (*source)->next(request);
    REQUIRE(more);
    if (!*more) return all;
    all.push_back(request);
  }
}

lab::Curve curve_of(const std::vector<workload::ClientRequest>& requests, const lab::CurveBuilder::Options& options,
                    const std::vector<std::uint64_t>& capacities) {
  lab::CurveBuilder builder(options);
  for (const workload::ClientRequest& request : requests) builder.add(request);
  return builder.curve(capacities, {});
}

}  // namespace

TEST_CASE("a curve's points are the hits of LRU that trims leaves, in pages, after a warm-up") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Prompts prompts = random_prompts(seed, 40, 9, 3);
    std::vector<std::uint64_t> capacities;
    for (std::uint64_t pages = 1; pages <= 60; pages += 7) capacities.push_back(pages * 4 + pages % 4);
    for (const std::uint64_t warm_up : {0u, 11u}) {
      const lab::Curve curve = curve_of(requests_of(prompts, 4), {4, false, warm_up, 1}, capacities);
      REQUIRE(curve.points.size() == capacities.size());
      for (const lab::CurvePoint& point : curve.points) {
        const std::vector<std::size_t> hits = trimmed_lru(prompts, point.capacity_tokens / 4);
        std::size_t expected = 0, tokens = 0;
        for (std::size_t i = warm_up; i < hits.size(); ++i) {
          expected += 4 * hits[i];
          tokens += 4 * prompts[i].size();
        }
        CHECK(point.hit_tokens == expected);
        CHECK(curve.prompt_tokens == tokens);
        CHECK(point.hit_rate == doctest::Approx(static_cast<double>(expected) / static_cast<double>(tokens)));
        CHECK_FALSE(point.error);
      }
    }
  }
}

TEST_CASE("a curve ends where more brings nothing, and says where a half and nine tenths are reached") {
  const auto requests = shipped("mixed.yaml");
  const lab::Curve curve = curve_of(requests, {16, false, 0, 1}, {});
  const auto hits_at = [&](std::uint64_t capacity) {
    return curve_of(requests, {16, false, 0, 1}, {capacity}).points.front().hit_tokens;
  };
  REQUIRE(curve.points.size() > 20);
  CHECK(curve.points.back().capacity_tokens == curve.enough_tokens);
  CHECK(curve.points.back().hit_tokens == curve.infinite_tokens);
  CHECK(hits_at(curve.enough_tokens * 10) == curve.infinite_tokens);
  CHECK(hits_at(curve.enough_tokens - 16) < curve.infinite_tokens);
  CHECK(hits_at(curve.half_tokens) * 2 >= curve.infinite_tokens);
  CHECK(hits_at(curve.half_tokens - 16) * 2 < curve.infinite_tokens);
  CHECK(hits_at(curve.most_tokens) * 10 >= curve.infinite_tokens * 9);
  CHECK(hits_at(curve.most_tokens - 16) * 10 < curve.infinite_tokens * 9);
  for (std::size_t i = 1; i < curve.points.size(); ++i)
    CHECK(curve.points[i].hit_tokens >= curve.points[i - 1].hit_tokens);
}

TEST_CASE("a prefix is as old at a pool's edge as it stays there") {
  // Ten prompts of eight pages in turn, one a second: a pool of N prompts keeps each for N seconds.
  Prompts prompts;
  for (std::uint32_t i = 0; i < 400; ++i) prompts.push_back(Prompt(8, i % 10 + 1));
  const lab::Curve curve = curve_of(requests_of(prompts, 1), {1, false, 0, 1}, {80, 40});
  REQUIRE(curve.points.size() == 2);
  CHECK(curve.points[0].hit_tokens == 0);
  CHECK_FALSE(curve.points[0].stay_ms);
  CHECK(curve.points[1].hit_tokens == 8 * 390);
  CHECK(curve.points[1].stay_ms == 10'000);
}

TEST_CASE("blocks count a partial last block with the tokens that it has") {
  const std::vector<workload::ClientRequest> requests = requests_of({{1, 2, 3}, {1, 2, 3}, {1, 2}}, 3);
  const lab::Curve blocks = curve_of(requests, {4, true, 0, 1}, {100}),
                   pages = curve_of(requests, {4, false, 0, 1}, {100});
  CHECK(blocks.points[0].hit_tokens == 9 + 4);  // the last one ends inside a block that others continue
  CHECK(pages.points[0].hit_tokens == 8 + 4);
}

TEST_CASE("namespaces share nothing") {
  auto requests = requests_of({{1, 2}, {1, 2}}, 4);
  CHECK(curve_of(requests, {4, false, 0, 1}, {100}).points[0].hit_tokens == 8);
  requests[1].space = "other";
  CHECK(curve_of(requests, {4, false, 0, 1}, {100}).points[0].hit_tokens == 0);
}

TEST_CASE("a sample of fewer pages than a point needs is no curve") {
  const auto requests = shipped("chat.yaml");
  const auto flaw = [&](double share) {
    lab::CurveBuilder builder({16, false, 0, share});
    for (const workload::ClientRequest& request : requests) builder.add(request);
    return builder.flaw_of_sample();
  };
  CHECK(flaw(1).empty());
  CHECK(flaw(0.2).empty());
  CHECK_MESSAGE(flaw(1e-6).starts_with("a sample of 1e-06 has "), flaw(1e-6));
  CHECK(flaw(1e-6).ends_with(" of the trace; expected at least 32, so take a larger one"));
  CHECK(lab::CurveBuilder({16, false, 0, 1}).flaw_of_sample().empty());
}

TEST_CASE("a sample is right within the error that it says, and the error is not all there is") {
  std::size_t points = 0, right = 0;
  for (const char* name : {"mixed.yaml", "chat.yaml", "agents.yaml", "rag.yaml"}) {
    const auto requests = shipped(name);
    const lab::Curve exact = curve_of(requests, {16, false, 0, 1}, {});
    std::vector<std::uint64_t> capacities;
    for (const lab::CurvePoint& point : exact.points) capacities.push_back(point.capacity_tokens);
    const lab::Curve sample = curve_of(requests, {16, false, 0, 0.2}, capacities);
    REQUIRE(sample.points.size() > 10);
    CHECK(sample.least_capacity == 160 * 16);
    for (const lab::CurvePoint& point : sample.points) {
      const auto same = std::find(capacities.begin(), capacities.end(), point.capacity_tokens);
      REQUIRE(same != capacities.end());
      CHECK(point.capacity_tokens >= sample.least_capacity);
      REQUIRE(point.error);
      if (point.capacity_tokens * 10 > exact.enough_tokens) CHECK(*point.error < 0.08);
      ++points;
      const double truth = exact.points[static_cast<std::size_t>(same - capacities.begin())].hit_rate;
      right += std::abs(point.hit_rate - truth) <= *point.error;
    }
  }
  CAPTURE(right);
  CAPTURE(points);
  CHECK(right * 100 >= points * 90);
}
