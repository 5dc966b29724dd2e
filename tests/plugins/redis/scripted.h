#pragma once

#include <canopy/base/file.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace canopy::test {

/// A server within the test: it keeps values as Redis does, and answers by a script what a test wants otherwise. So
/// cases that a real server shows once in a while come when they are asked for, and where there is no real server.
class ScriptedServer {
 public:
  struct Received {
    std::vector<std::string> words;
    bool asking = false;  ///< ASKING came right before it
  };
  /// Returns an answer, byte for byte. Nothing: Redis' own answer. kHangUp: the connection is closed.
  using Script = std::function<std::optional<std::string>(const Received&)>;
  static constexpr const char* kHangUp = "hang up";

  explicit ScriptedServer(Script script = {});
  ~ScriptedServer() { stop(); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void script(Script script);
  /// Nothing listens any more, and all connections are closed. What is kept stays.
  void stop();
  /// It listens again where it did.
  void start();
  /// Commands of a name that came.
  std::uint64_t received(const std::string& command) const;
  std::size_t records() const;
  /// Changes every record that is kept.
  void change(const std::function<void(std::string&)>& how);

 private:
  struct Client {
    UniqueFd socket;
    std::string unread;
    bool asking = false;
  };
  void run();
  bool serve(Client& client);
  std::string answer(const Received& received);

  mutable std::mutex mutex_;
  Script script_;
  std::map<std::string, std::string> kept_;
  std::map<std::string, std::uint64_t> received_;
  int port_ = 0;
  UniqueFd listener_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

/// Returns true if a command is about a record, and not about the epoch of a space or the cluster.
inline bool is_of_record(const ScriptedServer::Received& received) {
  return received.words.size() > 1 && received.words[1].starts_with("c1:") &&
         received.words[1].find("epoch") == std::string::npos;
}

}  // namespace canopy::test
