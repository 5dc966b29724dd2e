#pragma once

#include <canopy/base/own_fd.h>
#include <sys/socket.h>

#include <deque>
#include <string>

#include "command.h"
#include "outbox.h"
#include "resp_reader.h"

namespace canopy::redis {

class Connection;

/// Supplies commands to connections and receives replies. A command passed to these functions is in no queue.
class ConnectionUser {
 public:
  /// Writes the command to the outbox. Returns false and writes nothing if the command is no longer wanted.
  virtual bool encode(Command& command, Outbox& outbox) = 0;
  /// Returns the memory for a string reply to the command; see ReplySink::place().
  virtual std::byte* place(const Command& command, std::uint64_t bytes) = 0;
  /// Receives an element of the reply to a command. After the last one the command belongs to the user.
  virtual void answer(Connection& from, Command& command, const Element& element) = 0;
  /// Called when the connection could not be opened or was lost, with the reason. `useless`: the server never replied
  /// on it.
  virtual void closed(Connection& which, const std::string& why, bool useless) = 0;

 protected:
  ~ConnectionUser() = default;
};

struct Credentials {
  std::string user, password;  ///< both may be empty (no credentials)
};

/// One socket to a server: sends commands in order and reads the replies in the same order. Never blocks. The user
/// calls on_event() on events of epoll, and flush() after adding commands.
class Connection {
 public:
  /// Commands are sent while pending replies have at most this many bytes, or two records. The limit exists because the
  /// server buffers replies in memory, and late replies must be read as well.
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
  /// Returns the number of commands without a reply.
  std::size_t load() const { return waiting_.size() + sent_.size(); }
  /// Returns the time since when nothing was received or could be sent although a reply is due; kNever if none is due.
  Micros silent_since() const { return silent_since_; }
  static constexpr Micros kNever = ~Micros{0};

  /// Begins to connect. Returns false and sets errno on failure. `number` is the user's for the address. REQUIRES:
  /// state() is closed.
  bool open(const sockaddr_storage& address, socklen_t length, std::size_t number, const Credentials& credentials,
            Micros now);
  std::size_t address_number() const { return address_number_; }
  void add(Command command) { waiting_.push_back(command); }
  /// Adds a command in front of the waiting ones.
  void add_first(Command command) { waiting_.push_front(command); }
  /// Sends as much as possible.
  void flush(Micros now);
  void on_event(std::uint32_t events, Micros now);
  /// Closes the socket and calls the user's closed().
  enum class Blame { server, ours };
  void lose(const std::string& why, Blame blame = Blame::server);
  /// Ends the use of a call's memory, because the call has ended. Its replies are read and dropped.
  void forget(const Call* call);
  /// Takes the commands without a reply: the sent ones, or the waiting ones.
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
  OwnFd socket_;
  Credentials credentials_;
  std::string trouble_;  ///< reason why the connection cannot go on; empty: it can
  const int epoll_;
  const std::uint64_t record_bytes_;
  const std::size_t server_;
  std::size_t address_number_ = 0;
  std::uint64_t expected_ = 0;  ///< bytes of values in expected replies
  Micros silent_since_ = kNever;
  const Way way_;
  State state_ = State::closed;
  bool watches_writable_ = false, has_answered_ = false;
};

}  // namespace canopy::redis
