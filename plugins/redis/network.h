#pragma once

#include <canopy/base/random.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "address.h"
#include "connection.h"
#include "lookup.h"
#include "record_name.h"
#include "slots_reply.h"

namespace canopy::redis {

/// Owner of the commands. REQUIRES: no function is called while another one runs, except fail() within send().
class CommandUser {
 public:
  virtual bool encode(Command& command, Outbox& outbox) = 0;                  ///< see ConnectionUser
  virtual std::byte* place(const Command& command, std::uint64_t bytes) = 0;  ///< see ReplySink
  virtual void answer(const Command& command, const Element& element) = 0;    ///< a reply is one element
  virtual void fail(const Command& command) = 0;                              ///< no server accepts the command
  virtual void say(const std::string& sentence) = 0;  ///< prints a message for the user on stderr

 protected:
  ~CommandUser() = default;
};

/// The servers: one, or those of a cluster. Sends a command to the server that owns its slot, follows redirections, and
/// opens connections on demand. An unreachable server fails commands at once and is retried after 50 ms, doubling up to
/// one second, without end.
class Network final : ConnectionUser {
 public:
  struct Settings {
    std::vector<Address> servers;  ///< not empty; the seeds of a cluster
    bool cluster = false;
    Credentials credentials;
    std::uint32_t connections = 2;  ///< connections to each server for gets
    std::uint64_t record_bytes = 0;
  };
  Network(Settings settings, CommandUser& user, int epoll);

  void send(const Command& command);
  /// Ends the use of a call's memory, because the call has ended before its commands had a reply.
  void forget(const Call* call);
  /// Sets the time of the following calls.
  void set_time(Micros now) { now_ = now; }
  /// Handles an event of epoll for a connection.
  void on_event(void* connection, std::uint32_t events) {
    static_cast<Connection*>(connection)->on_event(events, now_);
  }
  /// Sends what was added since the last call, drops connections that are too slow, and requests the map of slots.
  /// Returns the latest time for the next call.
  Micros turn();

 private:
  struct Server {
    Address address;
    Lookup lookup;
    std::vector<std::unique_ptr<Connection>> lines;  ///< connections for queries, for puts, and several for gets
    Micros down_until = 0, backoff = 0;
  };

  bool encode(Command& command, Outbox& outbox) override;
  std::byte* place(const Command& command, std::uint64_t bytes) override;
  void answer(Connection& from, Command& command, const Element& element) override;
  void closed(Connection& which, const std::string& why, bool useless) override;

  Server* server_at(const Address& address);
  Server* owner_of(std::uint16_t slot);
  Server* any_server();
  Connection& line_for(Server& server, Way way);
  bool start(Server& server, Connection& line);
  void give(Server& server, const Command& command, bool asking = false);
  void down(Server& server, const std::string& why);
  void fail(const Command& command);
  bool redirect(Server& from, Command command, std::string_view error);
  void take_map(Server& from);
  void complain(const Server& about, const std::string& why);

  const Settings settings_;
  CommandUser& user_;
  const int epoll_;
  std::vector<std::unique_ptr<Server>> servers_;  ///< the first ones are those of the settings
  std::vector<Server*> owners_;                   ///< owner of each slot; null: not known
  SlotsReply map_;
  bool wants_map_, requests_map_ = false;
  Micros map_requested_ = 0, now_ = 0;
  std::size_t turn_of_ = 0;  ///< next server for commands without a known owner
  Random random_;
  std::set<std::string> reported_;
};

}  // namespace canopy::redis
