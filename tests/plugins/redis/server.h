#pragma once

#include <canopy/base/file.h>
#include <canopy/base/temporary_folder.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace canopy::test {

/// The program that serves: $VALKEY_SERVER, redis-server, or redis-check-rdb, which is the same program under another
/// name and all that Debian's redis-tools has of it. Empty: there is none, and stdout says that the test is skipped.
std::string server_program();

/// A server that a test runs in a temporary folder, without persistence. Ended with this object, and with the test.
class Server {
 public:
  enum class Listens { unix_socket, loopback };
  /// `options` are the server's own: {"--maxmemory", "10mb"}. Serves when this returns.
  explicit Server(Listens listens = Listens::unix_socket, std::vector<std::string> options = {});
  ~Server();
  Server(const Server&) = delete;

  std::string address() const;  ///< as the storage's option `at` has it
  std::uint16_t port() const { return port_; }
  pid_t process() const { return process_; }

  void kill();   ///< -9
  void start();  ///< again, with nothing in it
  void stop();   ///< SIGSTOP
  void go_on();  ///< SIGCONT

  /// A client that says nothing.
  UniqueFd connect() const;
  /// Sends a command and returns its answer: "status 0 OK.\n". An element a line, as ReplyText has them.
  std::string say(const std::vector<std::string>& words) const;
  /// A number in what INFO answers: "exists:calls=" for example. 0 if it is not there.
  std::uint64_t info(const std::string& section, const std::string& field) const;

 private:
  const Listens listens_;
  const std::vector<std::string> options_;
  const TemporaryFolder folder_{"canopy-server"};
  std::uint16_t port_ = 0;
  pid_t process_ = -1;
};

/// Three masters and three replicas, which belong together when this is made.
class Cluster {
 public:
  Cluster();
  Server& node(std::size_t i) { return *nodes_[i]; }  ///< 0 to 2: the masters, with a third of the slots each
  std::string id(std::size_t i) const { return ids_[i]; }
  std::string addresses() const;  ///< addresses of two of them
  static constexpr std::size_t kNodes = 6;
  static std::size_t owner(std::uint16_t slot) { return slot / 5462; }

 private:
  std::vector<std::unique_ptr<Server>> nodes_;
  std::vector<std::string> ids_;
};

}  // namespace canopy::test
