/// `canopy export`: over HTTP and once, across the end of a feed, and what it refuses. And the dashboard that reads it.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <vector>

#include "program.h"

using namespace cli;

namespace {

const std::string kReplay = "replay " + (kSource / "configs/engines/sliding_window.yaml").string() + " --workload " +
                            (kSource / "configs/workloads/chat.yaml").string() + " --mode timed --pace 200 --feed ";

std::string feed_name() { return "export-" + std::to_string(::getpid()); }

/// A connection that has sent this; -1 if no server listens. Waits for answers for at most five seconds.
int sent(int port, const std::string& ask) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{5, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0 &&
      ::send(socket, ask.data(), ask.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(ask.size()))
    return socket;
  ::close(socket);
  return -1;
}

/// Returns the answer with its headers; empty if no server listens.
std::string scraped(int port, const std::string& ask = "GET /metrics HTTP/1.0\r\n\r\n") {
  std::string answer;
  const int socket = sent(port, ask);
  if (socket >= 0) {
    char part[4096];
    for (ssize_t got = 0; (got = ::recv(socket, part, sizeof(part), 0)) > 0;)
      answer.append(part, static_cast<std::size_t>(got));
  }
  ::close(socket);
  return answer;
}

/// The port that an exporter has printed.
int port_of(const Workshop& workshop) {
  int port = 0;
  REQUIRE(soon([&] {
    const std::string out = slurp(workshop.path / "export.out");
    return has(out, "\n") && std::sscanf(out.c_str(), "http://127.0.0.1:%d/metrics", &port) == 1;
  }));
  return port;
}

}  // namespace

TEST_CASE("export: waits for a feed, serves it, says when it ends, and finds it again") {
  const Workshop workshop;
  const std::string name = feed_name();
  Started exporter(workshop, "export", "export --feed " + name + " --port 0 --names canopy --names vllm");
  const int port = port_of(workshop);
  const std::string up = "canopy_feed_up{feed=\"" + name + "\"} ";
  const std::string attached = "canopy_feed_attaches_total{feed=\"" + name + "\"} ";
  CHECK(has(scraped(port), "200 OK"));
  CHECK(has(scraped(port), up + "0"));
  const auto says = [&](const std::string& words) {  // the thread that looks for the feed is not the one that serves
    return soon([&] { return has(slurp(workshop.path / "export.err"), words); });
  };
  CHECK(says("waiting: the feed '" + name + "': there is no feed with this name"));
  {
    Started served(workshop, "served", kReplay + name);
    REQUIRE(soon([&] { return has(scraped(port), attached + "1"); }));
    const std::string text = scraped(port);
    CHECK(has(text, up + "1"));
    CHECK(has(text, "vllm:kv_cache_usage_perc{model_name=\"" + name + "\",engine=\"0\"} "));
    served.end(SIGTERM);
    REQUIRE(soon([&] { return has(scraped(port), up + "0"); }));
    CHECK_FALSE(has(scraped(port), "canopy_tree_nodes{"));
    CHECK(says("the engine has ended"));
  }
  Started served(workshop, "served", kReplay + name);
  REQUIRE(soon([&] { return has(scraped(port), attached + "2"); }));
  const Ended ended = exporter.end(SIGINT);
  CHECK(ended.status == 130);
  CHECK(scraped(port).empty());
  CHECK_FALSE(has(ended.err, "every address"));
}

TEST_CASE("export: each metric that the dashboard names is exported") {
  const Workshop workshop;
  const std::string name = feed_name() + "-board";
  Started served(workshop, "served", kReplay + name);
  Ended once;
  // A figure of requests is there once one has come.
  REQUIRE(soon([&] {
    once = run_canopy(workshop, "export --once --feed " + name + " --label pod=one");
    return once.status == 0;
  }));
  CHECK(has(once.out, "canopy_feed_up{feed=\"" + name + "\",pod=\"one\"} 1"));
  const auto board = nlohmann::json::parse(slurp(kSource / "configs/grafana/canopy.json"));
  // The tests of tiers have those of a tier: this engine has none.
  const auto is_of_tier = [](const std::string& words) {
    return has(words, "canopy_tier") || has(words, "canopy_lane") || has(words, "canopy_fetches");
  };
  std::set<std::string> named;
  std::set<int> ids;
  std::set<std::pair<int, int>> cells;  // cells of Grafana's grid, which is 24 wide
  const std::regex metric("canopy_[a-z_]+"), label("\\{\\{([a-z_]+)\\}\\}");
  for (const auto& panel : board.at("panels")) {
    const std::string title = panel.at("title");
    CAPTURE(title);
    CHECK(ids.insert(panel.at("id").get<int>()).second);
    CHECK(!panel.at("type").get<std::string>().empty());
    const auto& place = panel.at("gridPos");
    for (int x = place.at("x"), end = x + place.at("w").get<int>(); x < end; ++x)
      for (int y = place.at("y"), bottom = y + place.at("h").get<int>(); y < bottom; ++y)
        CHECK((x < 24 && cells.insert({x, y}).second));
    std::set<std::string> letters;
    for (const auto& target : panel.at("targets")) {
      const std::string query = target.at("expr"), legend = target.value("legendFormat", "");
      CHECK(letters.insert(target.at("refId")).second);
      for (std::sregex_iterator at(legend.begin(), legend.end(), label), end; at != end && !is_of_tier(query); ++at)
        CHECK_MESSAGE(has(once.out, (*at)[1].str() + "=\""), legend);
      for (std::sregex_iterator at(query.begin(), query.end(), metric), end; at != end; ++at) named.insert(at->str());
    }
  }
  CHECK(named.size() > 20);
  std::erase_if(named, is_of_tier);
  named.erase("canopy_hit_rate");  // absent before the first request that this exporter sees
  for (const std::string& one : named) CHECK_MESSAGE(has(once.out, "\n" + one + "{"), one);
}

TEST_CASE("export: what cannot be is refused with a sentence") {
  const Workshop workshop;
  const auto refused = [&](const std::string& arguments, const std::string& sentence) {
    const Ended ended = run_canopy(workshop, "export --feed none-" + feed_name() + " " + arguments);
    CHECK_MESSAGE(ended.status == 2, arguments);
    CHECK_MESSAGE(has(ended.err, sentence), ended.err);
  };
  refused("--once", "there is no feed with this name");
  refused("--listen nowhere", "--listen nowhere: expected an IP address of this machine, such as 127.0.0.1");
  refused("--listen 203.0.113.7 --port 0", "203.0.113.7:0: cannot listen");
  refused("--label model", "--label model: expected NAME=VALUE");
  refused("--label le=1", "'le' is not a name for a label: the figures already have this label");
  refused("--label 1a=1", "expected letters, digits and _");
  refused("--label a=1 --label a=2", "'a' is given twice");
  refused("--port 65536", "65536");
  refused("--names tgi", "tgi");
  refused("--once --port 1", "--once");
}

TEST_CASE("export: a wildcard address is said aloud") {
  const Workshop workshop;
  Started exporter(workshop, "export", "export --feed " + feed_name() + " --port 0 --listen 0.0.0.0");
  CHECK(soon([&] { return has(slurp(workshop.path / "export.err"), "0.0.0.0 means every address of this machine"); }));
  CHECK(soon([&] { return has(slurp(workshop.path / "export.out"), "http://0.0.0.0:"); }));
  CHECK(exporter.end(SIGTERM).status == 143);
}

TEST_CASE("export: clients that send half a request, or too much of one, silence it for no other") {
  const Workshop workshop;
  Started exporter(workshop, "export", "export --feed " + feed_name() + " --port 0");
  const int port = port_of(workshop);
  std::vector<int> slow;
  for (const int count : {40, 400}) {  // more than it has connections
    CAPTURE(count);
    for (int i = 0; i < count; ++i)
      slow.push_back(sent(port, "GET /metrics HTTP/1.1\r\nHost: x\r\nX-a: " + std::string(i % 2 ? 3000 : 1, 'a')));
    const auto began = std::chrono::steady_clock::now();
    CHECK(has(scraped(port), "200 OK"));
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(1));
  }
  char byte = 0;
  CHECK(::recv(slow.back(), &byte, 1, 0) == 0);  // within its two seconds
  for (const int socket : slow) ::close(socket);
  scraped(port, "GET /metrics HTTP/1.1\r\nX-a: " + std::string(3'000'000, 'a'));
  CHECK(has(scraped(port, "GET /metrics HTTP/1.1\r\nX-a: " + std::string(9'000, 'a')), " 431 "));
  CHECK(has(scraped(port, "\x16\x03\x01\x02\r\n\r\n"), "400 Bad Request"));
  CHECK(has(run_canopy(workshop, "export --feed " + feed_name() + " --port " + std::to_string(port)).err,
            "cannot listen: Address already in use; choose another port with --port"));
  CHECK(has(scraped(port), "200 OK"));
  CHECK(has(scraped(port, "GET /metrics?a=b HTTP/1.1\r\nHost: localhost\r\n\r\n"), "canopy_feed_up"));
  CHECK(has(scraped(port, "HEAD /metrics HTTP/1.1\r\nHost: 127.0.0.1:9400\r\n\r\n"), "200 OK"));
  CHECK_FALSE(has(scraped(port, "HEAD /metrics HTTP/1.1\r\nHost: 127.0.0.1:9400\r\n\r\n"), "canopy_feed_up"));
  CHECK(has(scraped(port, "GET / HTTP/1.1\r\nHost: 127.0.0.1:9400\r\n\r\n"), "404 Not Found"));
  // A page whose own name was made to lead here must not read the figures.
  for (const char* host : {"Host: evil.example\r\n", "Host: localhost\r\nHost: evil.example\r\n", ""})
    CHECK(has(scraped(port, std::string("GET /metrics HTTP/1.1\r\n") + host + "\r\n"), "403 Forbidden"));
  CHECK(has(scraped(port, "POST /metrics HTTP/1.1\r\nHost: 127.0.0.1:9400\r\n\r\n"), "405 Method Not Allowed"));
  CHECK(exporter.end(SIGTERM).status == 143);
}
