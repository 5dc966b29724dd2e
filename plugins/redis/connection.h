#pragma once

#include <canopy/support/file.h>
#include <sys/socket.h>

#include <deque>
#include <string>

#include "command.h"
#include "outbox.h"
#include "resp_reader.h"

namespace canopy::redis {

class Connection;

/// What connections ask for and tell. Commands move: the one in a call of these functions is in no queue.
class ConnectionUser {
 public:
  /// Puts the command into the outbox. False: it is not wanted any more, and nothing was put there.
  virtual bool encode(Command& command, Outbox& outbox) = 0;
  /// Where a string that answers the command goes; as ReplySink::place().
  virtual std::byte* place(const Command& command, std::uint64_t bytes) = 0;
  /// An element of the answer to a command. After the last one the command is the user's.
  virtual void answer(Connection& from, Command& command, const Element& element) = 0;
  /// The connection could not be opened, or is lost, and `why`. `useless`: the server had not answered anything on it.
  virtual void closed(Connection& which, const std::string& why, bool useless) = 0;

 protected:
  ~ConnectionUser() = default;
};

struct Credentials {
  std::string user, password;  ///< both empty: none
};

/// One socket to a server: sends commands in the order in which they come, reads the answers in the same order. Never
/// waits. The user calls on_event() when epoll says so and flush() after it has added commands.
class Connection {
 public:
  /// Commands are sent while answers of at most so many bytes are on their way, or of two records: the server keeps
  /// answers in its own memory, and what comes too late must be read all the same.
  static constexpr std::uint64_t kWindow = 4 << 20;

  /// `server` is the user's number of the server.
  Connection(ConnectionUser& user, int epoll, Way way, std::size_t server, std::uint64_t record_bytes)
      : user_(user),
        replies_(*this),
        reader_(replies_),
        epoll_(epoll),
        record_bytes_(record_bytes),
        server_(server),
        way_(way) {}
  ~Connection() { drop(); }
  Connection(const Connection&) = delete;

  enum class State { closed, connecting, greeting, ready };
  State state() const { return state_; }
  Way way() const { return way_; }
  std::size_t server() const { return server_; }
  /// Commands that were not answered yet.
  std::size_t load() const { return waiting_.size() + sent_.size(); }
  /// Since when nothing was heard and nothing could be sent although an answer is due; kNever: none is due.
  Micros silent_since() const { return silent_since_; }
  static constexpr Micros kNever = ~Micros{0};

  /// Begins to connect. False: errno says why not. `number` is the user's for the address. REQUIRES: state() is closed.
  bool open(const sockaddr_storage& address, socklen_t length, std::size_t number, const Credentials& credentials,
            Micros now);
  std::size_t address_number() const { return address_number_; }
  void add(Command command) { waiting_.push_back(command); }
  /// Puts a command in front of those that wait.
  void add_first(Command command) { waiting_.push_front(command); }
  /// Sends what can be sent.
  void flush(Micros now);
  void on_event(std::uint32_t events, Micros now);
  /// Closes the socket, and tells the user.
  enum class Blame { server, ours };
  void lose(const std::string& why, Blame blame = Blame::server);
  /// The call has ended: its memory is not touched from now on, and answers to it are read and dropped.
  void forget(const Call* call);
  /// Takes the commands that were sent and not answered, and those that wait.
  std::deque<Command> take_sent();
  std::deque<Command> take_waiting();

 private:
  struct Replies final : ReplySink {
    explicit Replies(Connection& to) : connection(to) {}
    std::byte* place(std::uint64_t bytes) override;
    void element(const Element& element) override;
    Connection& connection;
  };

  void drop();
  void watch(bool writable);
  void greet(const Element& element);
  bool encode_some();
  bool receive(Micros now);

  ConnectionUser& user_;
  Replies replies_;
  RespReader reader_;
  Outbox outbox_;
  std::deque<Command> waiting_, sent_;
  UniqueFd socket_;
  Credentials credentials_;
  std::string trouble_;  ///< why the connection cannot go on; empty: it can
  const int epoll_;
  const std::uint64_t record_bytes_;
  const std::size_t server_;
  std::size_t address_number_ = 0;
  std::uint64_t expected_ = 0;  ///< bytes of values that answers will have
  Micros silent_since_ = kNever;
  const Way way_;
  State state_ = State::closed;
  bool watches_writable_ = false, said_something_ = false;
};

}  // namespace canopy::redis
