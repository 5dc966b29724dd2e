/// `events:` of an engine's file, and the endpoints in it.
#include <canopy/base/endpoint.h>
#include <canopy/engine/engine_file.h>
#include <conformance/model/plugins.h>
#include <doctest/doctest.h>

using namespace canopy;
using canopy::test::plugins;

namespace {

Result<EngineConfig> read(const std::string& events) {
  auto document = parse_yaml(
      "page_size: 16\n"
      "groups: { full: { capacity: 64, allocator: free_list, eviction: lru } }\n"
      "events: " +
          events + "\n",
      "t");
  REQUIRE(document);
  return read_engine_config(*document, plugins());
}

std::string wrong(const std::string& events) {
  const auto config = read(events);
  return config ? std::string() : config.error().text;
}

}  // namespace

TEST_CASE("events config: read, dumped and read again") {
  const auto config = read(
      "{ zmq: { publish: tcp://127.0.0.1:5557, replay: ipc:///run/r, topic: kv@pod-1@llama, dialect: arrays, hashes: "
      "vllm, "
      "seed: 42 } }");
  REQUIRE(config);
  const KVEventsConfig& events = config->events;
  CHECK(events.on);
  CHECK(events.publish == "tcp://127.0.0.1:5557");
  CHECK(events.replay == "ipc:///run/r");
  CHECK(events.topic == "kv@pod-1@llama");
  CHECK(events.dialect == KVEventsConfig::Dialect::arrays);
  CHECK(events.hashes == KVEventsConfig::Hashes::vllm);
  CHECK(events.seed == "42");
  const std::string dumped = dump_engine_config(*config, plugins());
  CHECK(dumped.find("\nevents: { zmq: { publish: ") != std::string::npos);
  auto again = parse_yaml(dumped, "again");
  REQUIRE(again);
  const auto read_again = read_engine_config(*again, plugins());
  REQUIRE(read_again);
  CHECK(dump_engine_config(*read_again, plugins()) == dumped);

  CHECK(read("zmq")->events.publish == "tcp://127.0.0.1:5557");
  CHECK(read("{ zmq: {} }")->events.on);
  for (const char* none : {"off", "{ off: {} }"}) {
    CHECK_FALSE(read(none)->events.on);
    CHECK(dump_engine_config(*read(none), plugins()).find("events") == std::string::npos);
  }
}

TEST_CASE("events config: what is wrong is said with its place and the nearest name") {
  CHECK(
      wrong("zmp").find(
          "t:3:9: events = 'zmp' is not a choice (KV events, as SGLang and vLLM publish them). Did you mean 'zmq'?") ==
      0);
  CHECK(wrong("{ zmq: { publsh: x } }").find("t:3:18: events.zmq has no option 'publsh'. Did you mean 'publish'?") ==
        0);
  CHECK(wrong("{ zmq: { publish: 5557 } }") ==
        "t:3:27: events.zmq.publish = '5557' is not an endpoint; expected tcp://HOST:PORT or ipc://PATH");
  CHECK(wrong("{ zmq: { replay: tcp://127.0.0.1 } }").find("expected tcp://HOST:PORT, a port from 0 to 65535") !=
        std::string::npos);
  CHECK(wrong("{ zmq: { replay: tcp://127.0.0.1:5557 } }").find("is where the events are published") !=
        std::string::npos);
  // If the system chooses the ports, they are two.
  for (const char* any : {"tcp://127.0.0.1:*", "tcp://127.0.0.1:0"})
    CHECK(wrong(std::string("{ zmq: { publish: '") + any + "', replay: '" + any + "' } }") == "");
  CHECK(wrong("{ zmq: { dialect: map } }").find("maps") != std::string::npos);
  CHECK(wrong("[zmq]").find("events is expected to be one of off, zmq") != std::string::npos);
  CHECK(wrong("{ zmq: 3 }").find("events.zmq.publish = '3' is not an endpoint") != std::string::npos);
}

TEST_CASE("endpoints: which are, and which other machines can reach") {
  for (const char* good :
       {"tcp://127.0.0.1:0", "tcp://*:5557", "tcp://[::1]:5557", "tcp://lo:*", "ipc:///tmp/x", "ipc://@x"})
    CHECK_MESSAGE(flaw_of_endpoint(good).empty(), good);
  for (const char* bad :
       {"", "tcp://", "tcp://:1", "tcp://h:65536", "tcp://h:1x", "tcp://a b:1", "udp://h:1", "ipc://"})
    CHECK_MESSAGE(!flaw_of_endpoint(bad).empty(), bad);
  CHECK(!flaw_of_endpoint("ipc://" + std::string(200, 'x')).empty());
  for (const char* open : {"tcp://*:1", "tcp://0.0.0.0:1", "tcp://10.0.0.7:1", "tcp://eth0:1", "tcp://[::]:1"})
    CHECK_MESSAGE(is_open_to_other_machines(open), open);
  for (const char* closed : {"tcp://127.0.0.1:1", "tcp://localhost:1", "tcp://[::1]:1", "ipc:///tmp/x"})
    CHECK_MESSAGE(!is_open_to_other_machines(closed), closed);
}
