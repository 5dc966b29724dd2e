/// `canopy serve` over HTTP: the files, the recording, which requests are refused, and what clients cost that are
/// silent, malformed or too many.
#include <support/folder.h>

#include <list>
#include <random>
#include <ranges>

#include "served.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;
using namespace std::chrono_literals;

namespace {

constexpr unsigned char kPage[] = {'p', 'a', 'g', 'e'}, kPacked[] = {0x1f, 0x8b, 1, 2, 3};
const PageFile kFiles[] = {{"/", "text/html; charset=utf-8", kPage},
                           {"/inspector.wasm", "application/wasm", kPacked, true}};

Served all_feeds() { return {.kind = protocol::Serves::feeds}; }
WebSettings with_files(protocol::Limits limits = {}) {
  WebSettings settings;
  settings.files = kFiles;
  settings.limits = limits;
  return settings;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
bool is_status(const std::string& answer, int status) {
  return answer.starts_with(fmt::format("HTTP/1.1 {} ", status));
}

}  // namespace

TEST_CASE("serve: files need no token, and each answer has the headers that keep other sites out") {
  const ServedPage served(all_feeds(), with_files());
  const auto ask = [&](const std::string& line, const std::string& headers = "") {
    return WebClient(served.port()).ask(line, headers);
  };
  const std::string page = ask("GET /");
  CHECK(is_status(page, 200));
  CHECK(page.ends_with("\r\n\r\npage"));
  for (const char* header : {"Content-Type: text/html; charset=utf-8\r\n", "Content-Length: 4\r\n",
                             "X-Content-Type-Options: nosniff\r\n", "Referrer-Policy: no-referrer\r\n",
                             "Cache-Control: no-store\r\n", "Cross-Origin-Resource-Policy: same-origin\r\n",
                             "Content-Security-Policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; "})
    for (const std::string& answer : {page, ask("HEAD /"), ask("GET /none"), ask("DELETE /")})
      if (!has(header, "Content-Type:") && !has(header, "Length")) CHECK_MESSAGE(has(answer, header), header);
      else CHECK_MESSAGE(has(page, header), header);
  CHECK(ask("GET /?a=b").ends_with("page"));
  const std::string head = ask("HEAD /");
  CHECK(is_status(head, 200));
  CHECK(has(head, "Content-Length: 4\r\n"));
  CHECK(head.ends_with("\r\n\r\n"));
  for (const char* line : {"POST /", "PUT /", "DELETE /feed", "OPTIONS /recording", "BREW /"})
    CHECK_MESSAGE(is_status(ask(line), 405), line);
  CHECK(is_status(ask("POST /", "Content-Length: 3\r\n"), 405));
  CHECK(has(ask("POST /"), "Allow: GET, HEAD\r\n"));
  for (const char* line : {"GET /none", "GET /../etc/passwd", "GET //", "GET http://127.0.0.1/"})
    CHECK_MESSAGE(is_status(ask(line), 404), line);
  CHECK(is_status(ask("GET /feed"), 426));

  CHECK(is_status(ask("GET /inspector.wasm"), 406));
  CHECK(is_status(ask("GET /inspector.wasm", "Accept-Encoding: br, gzip;q=0\r\n"), 406));
  const std::string packed = ask("GET /inspector.wasm", "Accept-Encoding: br;q=1.0, gzip;q=0.5\r\n");
  CHECK(is_status(packed, 200));
  CHECK(has(packed, "Content-Encoding: gzip\r\n"));
  CHECK(has(packed, "Content-Type: application/wasm\r\n"));
  CHECK(packed.ends_with(std::string("\r\n\r\n\x1f\x8b\x01\x02\x03")));
}

TEST_CASE("serve: a connection carries one request after another") {
  const ServedPage served(all_feeds(), with_files());
  WebClient client(served.port());
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\nHEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string both = client.ask("GET /none");
  CHECK(both.find("page") < both.rfind("HTTP/1.1 200"));
  CHECK(both.rfind("HTTP/1.1 200") < both.find("HTTP/1.1 404"));
}

TEST_CASE("serve: a recording is sent to those that have the token, as it is at that moment") {
  const Folder folder;
  std::string bytes(3'000'001, 'x');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i >> 7);
  const std::string path = folder.file("run.feed", bytes);
  const ServedPage served({.kind = protocol::Serves::recording, .name = path}, with_files());
  const auto ask = [&](const std::string& line, const std::string& token) {
    return WebClient(served.port()).ask(line, token.empty() ? "" : "Authorization: " + token + "\r\n");
  };
  for (const std::string& wrong : {std::string(), std::string("Bearer"), "Bearer " + kToken + "0", kToken,
                                   "Bearer " + kToken.substr(1), std::string("Bearer ")})
    CHECK_MESSAGE(is_status(ask("GET /recording", wrong), 401), wrong);
  const std::string whole = ask("GET /recording", "Bearer " + kToken);
  CHECK(is_status(whole, 200));
  CHECK(has(whole, "Content-Length: 3000001\r\n"));
  CHECK(whole.substr(whole.find("\r\n\r\n") + 4) == bytes);
  const std::string head = ask("HEAD /recording", "Bearer " + kToken);
  CHECK(has(head, "Content-Length: 3000001\r\n"));
  CHECK(head.ends_with("\r\n\r\n"));
  folder.file("run.feed", "short");
  CHECK(ask("GET /recording", "Bearer " + kToken).ends_with("\r\n\r\nshort"));
  std::filesystem::remove(path);
  CHECK(is_status(ask("GET /recording", "Bearer " + kToken), 404));
  const ServedPage feeds(all_feeds(), with_files());
  CHECK(is_status(WebClient(feeds.port()).ask("GET /recording", "Authorization: Bearer " + kToken + "\r\n"), 404));

  TestPage page(served.port());
  CHECK(page.text_with("serves") ==
        R"({"serves":"recording","name":"run.feed","controls":false,"version":"canopy test","bytes":0})");
}

TEST_CASE("serve: a foreign Host or Origin is refused") {
  WebSettings settings = with_files();
  settings.hosts = {"Canopy.example.org"};
  const ServedPage served(all_feeds(), settings);
  const auto with_host = [&](const std::string& hosts) {
    WebClient client(served.port());
    client.send("GET / HTTP/1.1\r\n" + hosts + "Connection: close\r\n\r\n");
    return client.rest();
  };
  for (const char* own : {"127.0.0.1", "127.0.0.1:7780", "localhost:1", "LocalHost", "[::1]:9", "canopy.example.org",
                          "canopy.EXAMPLE.org:443"})
    CHECK_MESSAGE(is_status(with_host(fmt::format("Host: {}\r\n", own)), 200), own);
  for (const char* foreign : {"evil.example", "evil.example:7780", "127.0.0.1.evil.example", "127.0.0.2", "", "[::1",
                              "localhost:x", "localhost:7780:1", "localhost.", "10.0.0.1", "[::2]"})
    CHECK_MESSAGE(is_status(with_host(fmt::format("Host: {}\r\n", foreign)), 403), foreign);
  CHECK(is_status(with_host(""), 403));
  CHECK(is_status(with_host("Host: localhost\r\nHost: localhost\r\n"), 403));

  const auto upgraded = [&](const std::string& headers, const std::string& host = "",
                            const std::string& path = "/feed") {
    return WebClient(served.port()).upgrade(headers, host, path);
  };
  const std::string own = fmt::format("127.0.0.1:{}", served.port());
  CHECK(upgraded("") == 101);
  CHECK(upgraded("Origin: http://" + own + "\r\n") == 101);
  CHECK(upgraded("Origin: https://canopy.example.org\r\n", "canopy.example.org") == 101);
  CHECK(upgraded("Origin: http://localhost:8888\r\n", "localhost:8888") == 101);  // a tunnel
  for (const std::string& foreign :
       {std::string("http://evil.example"), std::string("null"), std::string("http://127.0.0.1"), "ftp://" + own, own,
        "http://localhost:" + std::to_string(served.port()), "http://" + own + "/", std::string()})
    CHECK_MESSAGE(upgraded("Origin: " + foreign + "\r\n") == 403, foreign);
  CHECK(upgraded("Origin: http://" + own + "\r\nOrigin: http://evil.example\r\n") == 403);
  CHECK(upgraded("", "evil.example") == 403);
  CHECK(upgraded("", "", "/") == 200);
  CHECK(upgraded("", "", "/none") == 404);
}

TEST_CASE("serve: a client that is slow, large or malformed costs only its own connection") {
  protocol::Limits limits;
  limits.request = 300ms;
  const ServedPage served(all_feeds(), with_files(limits));
  WebClient silent(served.port()), half(served.port());
  half.send("GET / HTTP/1.1\r\nHost: loc");
  std::list<WebClient> many;
  for (int i = 0; i < 40; ++i) many.emplace_back(served.port()).send("GET / HTTP/1.1\r\nX: ");
  CHECK(is_status(WebClient(served.port()).ask("GET /"), 200));
  CHECK(half.rest().empty());
  CHECK(silent.rest().empty());
  CHECK(is_status(WebClient(served.port()).ask("GET /", "X: " + std::string(9000, 'x') + "\r\n"), 431));
  CHECK(is_status(WebClient(served.port()).ask("GET /", "X: " + std::string(1'000'000, 'x') + "\r\n"), 431));
  CHECK(is_status(WebClient(served.port()).ask("\x16\x03\x01\x02"), 400));

  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    WebClient client(served.port());
    client.wait_at_most(5ms);
    std::string bytes(random() % 3000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    // Some of it looks like the beginning of a request.
    if (round % 3 == 0) bytes = "GET / HTTP/1.1\r\nHost: localhost\r\n" + bytes + "\r\n\r\n";
    client.send(bytes);
    client.more();
  }
  CHECK(is_status(WebClient(served.port()).ask("GET /"), 200));
}

TEST_CASE("serve: of 256 connections the silent one that has waited longest makes room, and pages stay") {
  const ServedPage served(all_feeds(), with_files());
  TestPage page(served.port());
  CHECK_FALSE(page.text_with("serves").empty());
  std::vector<std::unique_ptr<WebClient>> clients;
  for (int i = 0; i < 300; ++i) clients.push_back(std::make_unique<WebClient>(served.port()));
  std::size_t answered = 0, closed = 0;
  // Connections are accepted in their order: when the last one has its answer, all were.
  for (const auto& client : std::views::reverse(clients)) {
    client->send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const std::string got = client->more() ? client->taken() : "";
    answered += has(got, " 200 ");
    closed += got.empty();
  }
  CHECK(answered == 255);
  CHECK(closed == 45);
  page.client.say("attach none-" + std::to_string(::getpid()));
  CHECK(has(page.text_with("error"), "there is no feed with this name"));
  // Clients that begin a request and do not end it keep no other one out.
  clients.clear();
  for (int i = 0; i < 400; ++i) {
    clients.push_back(std::make_unique<WebClient>(served.port()));
    clients.back()->send("GET / HT");
  }
  CHECK(soon([&] { return is_status(WebClient(served.port()).ask("GET /"), 200); }));
  clients.clear();
  CHECK(soon([&] { return is_status(WebClient(served.port()).ask("GET /"), 200); }));
}

TEST_CASE("serve: a server that cannot listen says why") {
  const ServedPage served(all_feeds(), with_files());
  const auto why = [](const std::string& listen, int port) {
    WebSettings settings;
    settings.listen = listen;
    settings.port = static_cast<std::uint16_t>(port);
    const auto server = WebServer::open(settings, all_feeds());
    return server ? std::string() : server.error().text;
  };
  CHECK(why("127.0.0.1", served.port()) ==
        fmt::format("127.0.0.1:{}: cannot listen: Address already in use; choose another port with --port",
                    served.port()));
  CHECK(has(why("203.0.113.7", 0), "203.0.113.7:0: cannot listen: Cannot assign requested address"));
  CHECK(*http::is_every_address("0.0.0.0"));
  CHECK(*http::is_every_address("::"));
  CHECK_FALSE(*http::is_every_address("127.0.0.1"));
  CHECK(http::is_every_address("nowhere").error().text ==
        "--listen nowhere: expected an IP address of this machine, such as 127.0.0.1");
}
