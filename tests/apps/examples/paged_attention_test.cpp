#include <fake_cuda/fake_cuda.h>
#include <paged_attention/processor.h>
#include <paged_attention/walk.h>

#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>
#include <numeric>

namespace {

using namespace canopy;
using namespace canopy::examples;

/// With plugins that look for the driver now.
WalkReport walk_with(const WalkOptions& options) {
  Registry registry;
  registry.scan(own_plugin_folder(), Trust::as_ourselves);
  return walk(registry, options);
}

void check_report(const WalkReport& report) {
  for (const std::string& complaint : report.complaints) FAIL_CHECK(complaint);
  CHECK(report.relocated_pages > 0);
  REQUIRE(report.comparisons.size() == 5);
  for (const Comparison& one : report.comparisons) {
    CHECK(one.pages.size() == (one.tokens + 15) / 16);
    CHECK((one.to_contiguous == 0) == !one.planted);
  }
  CHECK(report.comparisons[3].planted);
  // The prefix is in other pages after the move, and every request but the first has found it.
  const auto &before = report.comparisons[1], &after = report.comparisons[4];
  CHECK(std::vector(before.pages.begin(), before.pages.begin() + 6) !=
        std::vector(after.pages.begin(), after.pages.begin() + 6));
  CHECK(report.comparisons[0].reused == 0);
  CHECK(before.reused == 96);
  CHECK(after.reused == 96);
}

/// All threads of a grid, over K and V in one piece.
std::vector<float> attend(const Model& model, std::span<const Token> tokens, std::uint32_t threads) {
  auto keys = model.rows(Model::Row::key, 0, tokens, 0), values = model.rows(Model::Row::value, 0, tokens, 0);
  const auto query = model.query(0, tokens);
  std::vector<float> output(query.size());
  const Page page = 0;
  AttentionJob job{};
  job.view.page_size = static_cast<Units>(tokens.size());
  job.view.segment_pages = 1;
  job.view.stream[0] = {keys.data(), 0, 0, 0, model.row_bytes(), model.row_bytes()};
  job.view.stream[1] = {values.data(), 0, 0, 0, model.row_bytes(), model.row_bytes()};
  job.pages = &page;
  job.query = query.data();
  job.output = output.data();
  job.v = 1;
  job.tokens = static_cast<std::uint32_t>(tokens.size());
  job.query_heads = model.query_heads;
  job.kv_heads = model.kv_heads;
  job.head_dim = model.head_dim;
  job.element = model.element;
  job.scale = model.scale();
  for (std::uint32_t thread = 0; thread < threads; ++thread) attention_thread(job, thread, threads);
  return output;
}

}  // namespace

TEST_CASE("paged attention: equal to contiguous K and V on the host - also after pages were relocated") {
  check_report(walk_with({}));
  check_report(walk_with({"host", 0, Element::bf16}));
}

TEST_CASE("paged attention: a wrong page in a row makes the walk fail") {
  const WalkReport report = walk_with({"host", 0, Element::fp32, true});
  REQUIRE(report.complaints.size() == 1);
  CHECK(report.complaints[0].starts_with("C begins like A, pages have moved: the output is "));
}

TEST_CASE("paged attention: the same through a CUDA driver and nothing is left on the device") {
  REQUIRE(::setenv("CANOPY_CUDA_DRIVER", FAKE_CUDA, 1) == 0);
  for (const Element element : {Element::fp32, Element::bf16}) {
    fake_cuda_reset();
    check_report(walk_with({"cuda", 0, element}));
    FakeCudaLive live;
    fake_cuda_live(&live);
    CHECK(live.launches >= 20);  // two for each comparison and layer
    CHECK(live.allocations == 0);
    CHECK(live.bytes == 0);
    CHECK(live.streams == 0);
    CHECK(live.modules == 0);
    CHECK(live.queued == 0);
    CHECK(live.context_owners == 0);
  }
  ::unsetenv("CANOPY_CUDA_DRIVER");
}

TEST_CASE("paged attention: an error of the device is reported and nothing is left") {
  REQUIRE(::setenv("CANOPY_CUDA_DRIVER", FAKE_CUDA, 1) == 0);
  struct Refused {
    const char* call;
    std::uint64_t from, to;  ///< numbers of its calls; the first ones are the store's
  };
  for (const Refused& refused : {Refused{"cuModuleLoadData", 2, 2}, Refused{"cuModuleGetFunction", 16, 16},
                                 Refused{"cuStreamCreateWithPriority", 1, 4}, Refused{"cuMemAlloc_v2", 1, 12}}) {
    bool has_failed = false;
    for (std::uint64_t nth = refused.from; nth <= refused.to; ++nth) {
      CAPTURE(refused.call);
      CAPTURE(nth);
      fake_cuda_reset();
      fake_cuda_fail(refused.call, nth, 2, 1);
      try {
        static_cast<void>(walk_with({"cuda"}));
      } catch (const ExampleError& error) {
        has_failed = true;
        CHECK(std::string(error.what()).find("CUDA_ERROR_OUT_OF_MEMORY") != std::string::npos);
      }
      FakeCudaLive live;
      fake_cuda_live(&live);
      CHECK(live.allocations == 0);
      CHECK(live.streams == 0);
      CHECK(live.modules == 0);
      CHECK(live.context_owners == 0);
    }
    CHECK(has_failed);
  }
  ::unsetenv("CANOPY_CUDA_DRIVER");
}

TEST_CASE("paged attention: any number of threads gives the same bits and heads share K and V in groups") {
  std::vector<Token> tokens(77);
  std::iota(tokens.begin(), tokens.end(), Token{40});
  for (const std::uint32_t kv_heads : {1U, 2U, 4U}) {
    Model model;
    model.kv_heads = kv_heads;
    const auto alone = attend(model, tokens, 1);
    const auto expected = model.attention(0, tokens);
    for (std::size_t i = 0; i < alone.size(); ++i) CHECK(alone[i] == doctest::Approx(expected[i]).epsilon(1e-4));
    for (const std::uint32_t threads : {7U, 128U, 1'000U}) CHECK(attend(model, tokens, threads) == alone);
  }
}
