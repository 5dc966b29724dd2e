/// The requests of a recording, as a trace.
#include <doctest/doctest.h>
#include <support/engines.h>
#include <support/folder.h>

#include <sources/recorded_requests.h>

using namespace canopy;
using namespace canopy::test;
using inspector::RecordedRequest;
using inspector::RecordedRequests;

TEST_CASE("a request that does not end in its recording is left out, and none of those behind it") {
  const Folder folder;
  const std::string path = folder.at("run.feed");
  {
    const auto engine = engine_of(std::string(kSmall) + "feed: { file: { path: " + path + ", tokens: true } }\n");
    leave(*engine, tokens(100, 9));
    const auto prompt = tokens(500, 9);
    const Request open = engine->begin(arrival(prompt));
    leave(*engine, tokens(200, 9));
    leave(*engine, tokens(300, 9));
    engine->feed()->finish();
    REQUIRE(engine->feed()->failure().empty());
  }
  const auto requests = RecordedRequests::open(path);
  REQUIRE_MESSAGE(requests, (requests ? "" : requests.error().text));
  RecordedRequest request;
  for (const Token first : {100U, 200U, 300U}) {
    REQUIRE((*requests)->next(request));
    CHECK(request.prompt.size() == 9);
    CHECK(request.prompt[0] == first);
  }
  CHECK_FALSE((*requests)->next(request));
  CHECK((*requests)->left_out() == 1);
}

TEST_CASE("requests that ended before they were admitted are not in the trace of a recording, and are no gap in it") {
  const Folder folder;
  const std::string path = folder.at("run.feed");
  {
    const auto engine = engine_of(std::string(kSmall) + "feed: { file: { path: " + path + ", tokens: true } }\n");
    leave(*engine, tokens(100, 9));
    for (int tries = 0; tries < 3; ++tries) {
      const auto prompt = tokens(100, 9);  // all of its whole pages are in the tree
      Request request = engine->begin(arrival(prompt));
      CHECK_FALSE(request.reserve(400));
    }
    leave(*engine, tokens(200, 9));
    engine->feed()->finish();
    REQUIRE(engine->feed()->failure().empty());
  }
  const auto requests = RecordedRequests::open(path);
  REQUIRE_MESSAGE(requests, (requests ? "" : requests.error().text));
  RecordedRequest request;
  for (const Token first : {100U, 200U}) {
    REQUIRE((*requests)->next(request));
    CHECK(request.prompt[0] == first);
  }
  CHECK_FALSE((*requests)->next(request));
  CHECK((*requests)->left_out() == 0);
}
