/// Inputs that change while they are read, or from one reading to the next.
#include <canopy/engine/engine.h>
#include <doctest/doctest.h>
#include <support/folder.h>

#include <filesystem>
#include <fstream>
#include <span>

#include <conformance/model/plugins.h>
#include <lab/node_replay.h>
#include <lab/trace.h>
#include <workload/trace_formats.h>

using namespace canopy;

namespace {

/// Requests from memory.
class Listed final : public workload::RequestSource {
 public:
  explicit Listed(std::span<const workload::ClientRequest> all) : all_(all) {}
  Result<bool> next(workload::ClientRequest& request) override {
    if (all_.empty()) return false;
    request = all_.front();
    all_ = all_.subspan(1);
    return true;
  }
  double progress() const override { return 0; }

 private:
  std::span<const workload::ClientRequest> all_;
};

std::vector<workload::ClientRequest> requests_of(std::uint32_t count) {
  std::vector<workload::ClientRequest> all(count);
  for (std::uint32_t i = 0; i < count; ++i) all[i].arrival_ms = i, all[i].prompt.assign(32, i % 5);
  return all;
}

lab::InputSum sum_of(const std::vector<workload::ClientRequest>& requests) {
  lab::InputSum sum;
  for (const workload::ClientRequest& request : requests) sum.add(request);
  return sum;
}

lab::NodeReplay replayed(const std::vector<workload::ClientRequest>& requests, const lab::InputSum& read) {
  Listed source(requests);
  auto replay = lab::replay_nodes(source, read, {.page_size = 16, .capacity = 1600}, test::plugins(), {});
  REQUIRE(replay);
  return std::move(*replay);
}

std::string line(std::uint64_t time_ms) {
  return "{\"time_ms\": " + std::to_string(time_ms) + ", \"tokens\": [1, 2, 3]}\n";
}

}  // namespace

TEST_CASE("a replay beside a curve that reads another input than the curve did is a doubt") {
  const auto requests = requests_of(40);
  const lab::InputSum read = sum_of(requests);
  CHECK(replayed(requests, read).is_sound());
  auto grown = requests_of(42);
  const lab::NodeReplay more = replayed(grown, read);
  CHECK_FALSE(more.is_sound());
  REQUIRE(more.doubts.size() == 1);
  CHECK(more.doubts[0].kind == Doubt::Kind::input);
  CHECK(more.doubts[0].sentence ==
        "the input changed between two readings: this replay read 42 requests, the first reading 40");
  auto other = requests;
  other[7].prompt[31] = 99;
  CHECK(replayed(other, read).doubts.size() == 1);
  other = requests, other[7].arrival_ms = 8;
  CHECK(replayed(other, read).doubts.size() == 1);
}

TEST_CASE(
    "a trace that grows or is cut at a line's end while it is read is a doubt, and so is one that is overwritten") {
  const test::Folder folder;
  const std::string path = folder.at("trace.jsonl");
  const auto doubts_after = [&](auto&& change) {
    std::string text;
    for (std::uint64_t i = 0; i < 20'000; ++i) text += line(i);  // more than is read at once
    std::ofstream(path) << text;
    auto source = workload::open_trace(path);
    REQUIRE(source);
    workload::ClientRequest request;
    REQUIRE(*(*source)->next(request));
    change();
    for (auto more = (*source)->next(request); more && *more;) more = (*source)->next(request);
    return (*source)->doubts();
  };
  CHECK(doubts_after([] {}).empty());
  const Doubts cut = doubts_after([&] { std::filesystem::resize_file(path, line(0).size() * 10); });
  REQUIRE(cut.size() == 1);
  CHECK(cut[0].kind == Doubt::Kind::input);
  CHECK(cut[0].sentence.starts_with(path + ": the file was changed while it was read: it had "));
  CHECK(doubts_after([&] { std::ofstream(path, std::ios::app) << line(1); }).size() == 1);
}

TEST_CASE("times that go backwards are a note, with their number") {
  auto requests = requests_of(10);
  Listed in_order(requests);
  CHECK(lab::read_trace(in_order, {}, {})->notes.empty());
  requests[4].arrival_ms = 1;
  requests[5].arrival_ms = 2;
  Listed back(requests);
  const auto trace = lab::read_trace(back, {}, {});
  REQUIRE(trace->notes.size() == 1);
  CHECK(trace->notes[0].starts_with("2 requests of the input arrived, by its times, before an earlier one"));
}
