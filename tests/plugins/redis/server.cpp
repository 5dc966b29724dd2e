#include "server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <program/mismatch.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "reply_text.h"

namespace canopy::test {

namespace {

std::string in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    const std::string file = std::string(folder) + "/" + name;
    if (::access(file.c_str(), X_OK) == 0) return file;
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
  }
  return {};
}

bool is_free(std::uint16_t port) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET, address.sin_port = htons(port), address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

/// One whose number plus 10,000, where a cluster's servers talk to each other, is free as well. Below the ports that
/// the system gives to clients.
std::uint16_t free_port() {
  static int next = 12'000 + ::getpid() % 5'000;
  for (int tries = 0; tries < 10'000; ++tries, ++next) {
    if (next > 21'000) next = 12'000;
    const auto port = static_cast<std::uint16_t>(next);
    if (is_free(port) && is_free(static_cast<std::uint16_t>(port + 10'000))) {
      ++next;
      return port;
    }
  }
  disagree("no two free ports");
}

UniqueFd connected(const std::string& path, std::uint16_t port) {
  UniqueFd socket(::socket(path.empty() ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int result = -1;
  if (path.empty()) {
    sockaddr_in address{};
    address.sin_family = AF_INET, address.sin_port = htons(port), address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    result = ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  } else {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    result = ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  if (result != 0) socket.reset();
  return socket;
}

}  // namespace

std::string server_program() {
  if (const char* given = std::getenv("VALKEY_SERVER"); given && *given) return given;
  for (const char* name : {"redis-server", "valkey-server", "redis-check-rdb"})
    if (std::string file = in_path(name); !file.empty()) return file;
  std::printf("SKIPPED: no redis-server here (scripts/install test brings one)\n");
  std::fflush(stdout);
  return {};
}

Server::Server(Listens listens, std::vector<std::string> options) : listens_(listens), options_(std::move(options)) {
  if (folder_.path().empty()) disagree("no temporary folder can be made");
  if (listens_ == Listens::loopback) port_ = free_port();
  start();
}

Server::~Server() { kill(); }

std::string Server::address() const {
  return listens_ == Listens::loopback ? "127.0.0.1:" + std::to_string(port_) : (folder_.path() / "s").string();
}

void Server::start() {
  const std::string program = server_program();
  std::vector<std::string> words{"redis-server",
                                 "--port",
                                 std::to_string(port_),
                                 "--bind",
                                 "127.0.0.1",
                                 "--save",
                                 "",
                                 "--appendonly",
                                 "no",
                                 "--dir",
                                 folder_.path().string(),
                                 "--logfile",
                                 (folder_.path() / "log").string()};
  if (listens_ == Listens::unix_socket) words.insert(words.end(), {"--unixsocket", address()});
  words.insert(words.end(), options_.begin(), options_.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::execv(program.c_str(), arguments.data());
    ::_exit(127);
  }
  for (int i = 0; i < 1000; ++i) {
    if (connect()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  disagree("{} does not serve at {}", program, address());
}

void Server::kill() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  process_ = -1;
}
void Server::stop() {
  ::kill(process_, SIGSTOP);
  int status = 0;
  ::waitpid(process_, &status, WUNTRACED);
}
void Server::go_on() { ::kill(process_, SIGCONT); }

UniqueFd Server::connect() const { return connected(port_ ? "" : address(), port_); }

std::string Server::say(const std::vector<std::string>& words) const {
  const UniqueFd socket = connect();
  std::string command = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) command += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  if (::send(socket.get(), command.data(), command.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(command.size()))
    return {};
  ReplyText replies(0);
  redis::RespReader reader(replies);
  char bytes[4096];
  while (!replies.text().ends_with(".\n")) {
    const ssize_t got = ::recv(socket.get(), bytes, sizeof bytes, 0);
    if (got <= 0 || !feed(reader, {bytes, static_cast<std::size_t>(got)}, 4096)) break;
  }
  return replies.text();
}

std::uint64_t Server::info(const std::string& section, const std::string& field) const {
  const std::string all = say({"INFO", section});
  const std::size_t at = all.find(field);
  return at == std::string::npos ? 0 : std::strtoull(all.c_str() + at + field.size(), nullptr, 10);
}

Cluster::Cluster() {
  for (std::size_t i = 0; i < kNodes; ++i)
    nodes_.push_back(std::make_unique<Server>(
        Server::Listens::loopback,
        std::vector<std::string>{"--cluster-enabled", "yes", "--cluster-node-timeout", "1000",
                                 "--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0",
                                 "--cluster-config-file", "nodes.conf"}));
  const auto text_of = [](const std::string& reply) {  // "text 0 abc.\n"
    const std::size_t begin = reply.find(' ', reply.find(' ') + 1) + 1;
    return reply.substr(begin, reply.size() - begin - 2);
  };
  for (auto& node : nodes_) ids_.push_back(text_of(node->say({"CLUSTER", "MYID"})));
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<std::string> words{"CLUSTER", "ADDSLOTS"};
    for (std::uint16_t slot = 0; slot < 16384; ++slot)
      if (owner(slot) == i) words.push_back(std::to_string(slot));
    nodes_[i]->say(words);
    nodes_[i]->say({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
  }
  for (std::size_t i = 1; i < kNodes; ++i)
    nodes_[0]->say({"CLUSTER", "MEET", "127.0.0.1", std::to_string(nodes_[i]->port())});
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const auto wait_for = [&](auto&& true_of) {
    for (std::size_t i = 0; i < kNodes;) {
      if (true_of(i)) ++i;
      else if (std::chrono::steady_clock::now() > until) disagree("the cluster did not come together: node {}", i);
      else std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  };
  wait_for([&](std::size_t i) {
    const std::string info = nodes_[i]->say({"CLUSTER", "INFO"});
    return info.find("cluster_known_nodes:6") != std::string::npos && info.find("cluster_size:3") != std::string::npos;
  });
  for (std::size_t i = 3; i < kNodes; ++i) nodes_[i]->say({"CLUSTER", "REPLICATE", ids_[i - 3]});
  wait_for([&](std::size_t i) {
    return nodes_[i]->say({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos &&
           (i < 3 ? nodes_[i]->info("replication", "connected_slaves:") == 1
                  : nodes_[i]->say({"INFO", "replication"}).find("master_link_status:up") != std::string::npos);
  });
}

std::string Cluster::addresses() const { return nodes_[1]->address() + ", " + nodes_[2]->address(); }

}  // namespace canopy::test
