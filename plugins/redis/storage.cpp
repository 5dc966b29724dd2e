#include <canopy/base/own_fd.h>
#include <canopy/helpers/async_calls.h>
#include <canopy/plugin.h>
#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "calls.h"
#include "mailbox.h"
#include "password.h"

namespace canopy::redis {

namespace {

constexpr Micros kPatience = 1'000'000;  // with a remove, and with a flush

OwnFd epoll() {
  OwnFd epoll([] { return UniqueFd(::epoll_create1(EPOLL_CLOEXEC)); });
  if (!epoll) throw std::system_error(errno, std::generic_category(), "no file descriptor for epoll");
  return epoll;
}

/// Records on Redis, Valkey, or a cluster of them. The caller's thread puts calls into a mailbox; a thread of the
/// storage communicates with the servers.
class RedisStorage final : public StorageTransport<Call> {
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

  RedisStorage(const Config& config, const PageStorage::Context& context)
      : epoll_(epoll()),
        mailbox_(calls_),
        work_(context, settings(config, context), Micros{config.refresh} * 1'000'000, mailbox_, epoll_.get()) {
    if (!calls_.open_descriptor())
      throw std::system_error(errno, std::generic_category(), "no file descriptor for results");
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

  void begin(Call& call) override { mailbox_.post(call); }
  void remove(const PageKey& space, std::span<const PageKey> keys) override {
    mailbox_.post(mailbox_.own(Call::Kind::remove, space, keys, monotonic_us() + kPatience));
  }
  bool flush(const PageKey& space) override {
    return mailbox_.flush(mailbox_.own(Call::Kind::flush, space, {}, 0), kPatience);
  }
  /// A server's records belong to all its users, and take no memory of this process.
  StorageUse use() const override { return {kUnlimited, kUnlimited, kUnlimited, calls_.is_broken() ? 1U : 0U}; }

 private:
  static Network::Settings settings(const Config& config, const PageStorage::Context& context) {
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
      work_.set_time(monotonic_us());
      for (Call* call : posted) work_.begin(*call);
      posted.clear();
      const Micros again = work_.turn(), after = monotonic_us();
      const int wait_ms = again > after ? static_cast<int>((again - after + 999) / 1000) : 0;
      const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms);
      work_.set_time(monotonic_us());
      for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (event.data.ptr != nullptr) work_.on_event(event.data.ptr, event.events);  // otherwise calls were posted
      }
    }
  }

  OwnFd epoll_;
  Mailbox mailbox_;
  Calls work_;
  std::thread thread_;
};

}  // namespace

}  // namespace canopy::redis

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::PageStorage, canopy::AsyncStorage<canopy::redis::RedisStorage>>(
                           "redis", "records on Redis, Valkey, or a cluster of them, shared with other processes"));
