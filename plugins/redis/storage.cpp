#include <canopy/base/own_fd.h>
#include <canopy/helpers/storage_of_one_process.h>
#include <canopy/plugin.h>
#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "calls.h"
#include "mailbox.h"
#include "password.h"

namespace canopy::redis {

namespace {

Micros now() {
  return static_cast<Micros>(
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

constexpr Micros kFlushPatience = 1'000'000;

OwnFd epoll() {
  OwnFd epoll([] { return UniqueFd(::epoll_create1(EPOLL_CLOEXEC)); });
  if (!epoll) throw std::system_error(errno, std::generic_category(), "no file descriptor for epoll");
  return epoll;
}

/// Records on Redis, Valkey, or a cluster of them. The caller's thread puts calls into a mailbox; a thread of the
/// storage communicates with the servers. For one process (StorageOfOneProcess).
class RedisStorage final : public PageStorage {
 public:
  struct Config {
    std::string at = "127.0.0.1:6379";
    bool cluster = false;
    std::string user, password_from, password_file;
    std::uint32_t connections = 2;
    std::uint32_t refresh = 10;

    void visit(Options& o) {
      o.text("at", at, 4096,
             "HOST:PORT of the server, or the path of its unix socket; for a cluster, some of its servers, separated "
             "by commas");
      o.flag("cluster", cluster, "the servers are a Redis Cluster");
      o.text("user", user, 256, "user name for AUTH; empty: the default user");
      o.text("password_from", password_from, 256, "environment variable that contains the password");
      o.text("password_file", password_file, 4096, "file whose first line is the password");
      o.number("connections", connections, 1, 16,
               "connections to each server for gets; there is one more for queries and one for puts");
      o.number("refresh", refresh, 1, 3600, "time until a flush by another process is seen", Unit::s);
    }
  };

  RedisStorage(const Config& config, const Context& context)
      : epoll_(epoll()),
        calls_(context, settings(config, context), Micros{config.refresh} * 1'000'000, mailbox_, epoll_.get()) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, mailbox_.posted(), &event) != 0)
      throw std::system_error(errno, std::generic_category(), "epoll");
    thread_ = std::thread([this] { run(); });
  }
  ~RedisStorage() override {
    mailbox_.stop();
    thread_.join();
  }

  StorageTraits traits() const override {
    return {.exact = false, .shared = true, .durable = true, .batch = 64, .calls = 8};
  }

  void find(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
            std::uint64_t within_us) override {
    mailbox_.post(call(Call::Kind::find, ticket, space, keys, within_us));
  }
  void find_each(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                 std::uint64_t within_us) override {
    mailbox_.post(call(Call::Kind::find_each, ticket, space, keys, within_us));
  }
  void get(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<std::byte* const> records, std::uint64_t within_us) override {
    Call& to = call(Call::Kind::get, ticket, space, keys, within_us);
    to.records.assign(records.begin(), records.end());
    mailbox_.post(to);
  }
  void put(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
           std::span<const std::byte* const> records, std::uint64_t within_us, std::uint32_t keep_s) override {
    Call& to = call(Call::Kind::put, ticket, space, keys, within_us);
    to.records.assign(records.begin(), records.end());
    to.keep_s = keep_s;
    mailbox_.post(to);
  }
  void remove(const PageKey& space, std::span<const PageKey> keys) override {
    mailbox_.post(call(Call::Kind::remove, 0, space, keys, 1'000'000));
  }
  bool flush(const PageKey& space) override {
    return mailbox_.flush(call(Call::Kind::flush, 0, space, {}, 0), kFlushPatience);
  }

  std::size_t poll(std::span<StorageDone> done) override { return mailbox_.poll(done); }
  int descriptor() const override { return mailbox_.told(); }
  /// A server's records belong to all its users, and take no memory of this process.
  StorageUse use() const override { return {kUnlimited, kUnlimited, kUnlimited, mailbox_.broken() ? 1U : 0U}; }

 private:
  static Network::Settings settings(const Config& config, const Context& context) {
    auto servers = read_addresses(config.at);
    if (!servers) throw std::invalid_argument(servers.error().text);
    if (servers->size() > 1 && !config.cluster)
      throw std::invalid_argument("`at` names " + std::to_string(servers->size()) +
                                  " servers; only those of a cluster belong together (`cluster: true`)");
    auto password = read_password(config.password_from, config.password_file);
    if (!password) throw std::invalid_argument(password.error().text);
    if (!config.user.empty() && password->empty())
      throw std::invalid_argument("`user` needs a password: `password_from` or `password_file`");
    return {std::move(*servers),
            config.cluster,
            {config.user, std::move(*password)},
            config.connections,
            context.record_bytes};
  }

  Call& call(Call::Kind kind, std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
             std::uint64_t within_us) {
    Call& call = mailbox_.blank();
    call.kind = kind, call.ticket = ticket, call.space = space;
    call.keys.assign(keys.begin(), keys.end());
    call.fates.assign(kind == Call::Kind::find ? 0 : keys.size(), Fate::failed);
    constexpr Micros kYears = Micros{1} << 60;
    call.deadline = now() + std::min(within_us, kYears);
    return call;
  }

  /// An exception, which is one of memory, may leave the calls half done, and the time for a call goes on: all fail.
  void run() noexcept {
    try {
      serve();
    } catch (...) {
      std::fputs("canopy: redis: there is no memory; the storage is not used any longer\n", stderr);
      mailbox_.break_down();
    }
  }
  void serve() {
    std::vector<Call*> posted;
    std::array<epoll_event, 64> events;
    while (mailbox_.take(posted)) {
      calls_.set_time(now());
      for (Call* call : posted) calls_.begin(*call);
      posted.clear();
      const Micros again = calls_.turn(), after = now();
      const int wait_ms = again > after ? static_cast<int>((again - after + 999) / 1000) : 0;
      const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms);
      calls_.set_time(now());
      for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (event.data.ptr != nullptr) calls_.on_event(event.data.ptr, event.events);  // otherwise calls were posted
      }
    }
  }

  OwnFd epoll_;
  Mailbox mailbox_;
  Calls calls_;
  std::thread thread_;
};

}  // namespace

}  // namespace canopy::redis

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::PageStorage, canopy::StorageOfOneProcess<canopy::redis::RedisStorage>>(
                           "redis", "records on Redis, Valkey, or a cluster of them, shared with other processes"));
