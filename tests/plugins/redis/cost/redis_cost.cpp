/// The cost of records over a server, in processor seconds per GB: the storage redis, hiredis with one pipeline, and a
/// bare socket between two processes, which hands over the same bytes. They take turns in one run.
///
///   redis_cost [ROUNDS [RECORD_KIB...]]      the server is the one that tests/plugins/redis starts, over its unix
///   socket
#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "../server.h"
#include "../storage.h"

namespace {

using namespace canopy;
using namespace canopy::test;

constexpr std::size_t kBatch = 16;  // records of a call
constexpr std::uint64_t kBytesOfTurn = 384u << 20;

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// Returns the processor time of all threads of this process, including the kernel's part.
double own_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

double seconds_of_process(pid_t process) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

struct Memory {
  explicit Memory(std::size_t bytes) : from(static_cast<std::byte*>(std::aligned_alloc(4096, bytes))), size(bytes) {
    std::memset(from, 0x37, bytes);
  }
  ~Memory() { std::free(from); }
  Memory(const Memory&) = delete;
  std::byte* from;
  std::size_t size;
};

constexpr std::uint32_t kRound = 100'000;  // more batches than a round has
std::uint32_t batches_of(std::size_t record_bytes) {
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, kBytesOfTurn / (kBatch * record_bytes)));
}

/// Moves batches to the other side, which keeps them, and back.
class Mover {
 public:
  virtual ~Mover() = default;
  virtual void put(std::uint32_t batch, std::byte* records, std::size_t record_bytes) = 0;
  virtual void get(std::uint32_t batch, std::byte* records, std::size_t record_bytes) = 0;
  virtual pid_t other() const = 0;
};

class Ours final : public Mover {
 public:
  Ours(const Server& server, std::size_t record_bytes)
      : server_(server),
        storage_(make<PageStorage>("redis", context_of(record_bytes), "{ at: " + server.address() + " }")) {}
  void put(std::uint32_t batch, std::byte* records, std::size_t record_bytes) override {
    const std::byte* each[kBatch];
    for (std::size_t i = 0; i < kBatch; ++i) each[i] = records + i * record_bytes;
    storage_->put(1, kSpace, blocks_of(batch, kBatch), each, 60'000'000, 0);
    wait();
  }
  void get(std::uint32_t batch, std::byte* records, std::size_t record_bytes) override {
    std::byte* each[kBatch];
    for (std::size_t i = 0; i < kBatch; ++i) each[i] = records + i * record_bytes;
    storage_->get(1, kSpace, blocks_of(batch, kBatch), each, 60'000'000);
    wait();
  }
  pid_t other() const override { return server_.process(); }

 private:
  void wait() {
    StorageDone done;
    pollfd readable{storage_->descriptor(), POLLIN, 0};
    while (storage_->poll({&done, 1}) == 0) ::poll(&readable, 1, 1000);
    if (done.fate != Fate::done) disagree("a call of the bench ended with fate {}", static_cast<int>(done.fate));
  }
  const Server& server_;
  std::shared_ptr<PageStorage> storage_;
};

class Hiredis final : public Mover {
 public:
  explicit Hiredis(const Server& server) : server_(server), context_(::redisConnectUnix(server.address().c_str())) {}
  ~Hiredis() override { ::redisFree(context_); }
  void put(std::uint32_t batch, std::byte* records, std::size_t record_bytes) override {
    for (std::size_t i = 0; i < kBatch; ++i) {
      const std::string name = name_of(batch, i);
      const char* words[] = {"SET", name.c_str(), reinterpret_cast<const char*>(records + i * record_bytes), "NX"};
      const std::size_t sizes[] = {3, name.size(), record_bytes, 2};
      ::redisAppendCommandArgv(context_, 4, words, sizes);
    }
    for (std::size_t i = 0; i < kBatch; ++i) ::freeReplyObject(reply(REDIS_REPLY_STATUS));
  }
  void get(std::uint32_t batch, std::byte* records, std::size_t record_bytes) override {
    for (std::size_t i = 0; i < kBatch; ++i) {
      const std::string name = name_of(batch, i);
      const char* words[] = {"GET", name.c_str()};
      const std::size_t sizes[] = {3, name.size()};
      ::redisAppendCommandArgv(context_, 2, words, sizes);
    }
    for (std::size_t i = 0; i < kBatch; ++i) {
      redisReply* const one = reply(REDIS_REPLY_STRING);
      std::memcpy(records + i * record_bytes, one->str, record_bytes);
      ::freeReplyObject(one);
    }
  }
  pid_t other() const override { return server_.process(); }

 private:
  static std::string name_of(std::uint32_t batch, std::size_t i) { return fmt::format("hiredis:{:064}:{}", batch, i); }
  redisReply* reply(int type) {
    void* one = nullptr;
    if (::redisGetReply(context_, &one) != REDIS_OK || static_cast<redisReply*>(one)->type != type)
      disagree("hiredis: {}", context_->errstr);
    return static_cast<redisReply*>(one);
  }
  const Server& server_;
  redisContext* context_;
};

/// The other process keeps the bytes of each batch, and hands them back.
class Floor final : public Mover {
 public:
  explicit Floor(std::size_t record_bytes) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) disagree("no pair of sockets");
    process_ = ::fork();
    socket_ = ends[process_ == 0];
    ::close(ends[process_ != 0]);
    if (process_ == 0) serve(record_bytes);
    char ready;
    receive(&ready, 1);
  }
  ~Floor() override {
    ::close(socket_);
    ::waitpid(process_, nullptr, 0);
  }
  void put(std::uint32_t batch, std::byte* records, std::size_t record_bytes) override {
    ask('p', batch);
    send(records, kBatch * record_bytes);
    char answer;
    receive(&answer, 1);
  }
  void get(std::uint32_t batch, std::byte* records, std::size_t record_bytes) override {
    ask('g', batch);
    receive(records, kBatch * record_bytes);
  }
  pid_t other() const override { return process_; }

 private:
  [[noreturn]] void serve(std::size_t record_bytes) {
    const std::size_t bytes = kBatch * record_bytes, batches = batches_of(record_bytes);
    const Memory kept(batches * bytes);  // touched already, as a server's is that has run for a while
    send("k", 1);
    for (Question what; receive(&what, sizeof what);) {
      std::byte* const batch = kept.from + what.batch % kRound % batches * bytes;
      if (what.kind == 'g') {
        send(batch, bytes);
        continue;
      }
      receive(batch, bytes);
      send("k", 1);
    }
    ::_exit(0);
  }
  struct Question {
    char kind;
    std::uint32_t batch;
  };
  void ask(char kind, std::uint32_t batch) {
    const Question what{kind, batch};
    send(&what, sizeof what);
  }
  void send(const void* from, std::size_t bytes) {
    for (const char* at = static_cast<const char*>(from); bytes > 0;) {
      const ssize_t now = ::send(socket_, at, bytes, MSG_NOSIGNAL);
      if (now <= 0) return;
      at += now, bytes -= static_cast<std::size_t>(now);
    }
  }
  bool receive(void* to, std::size_t bytes) {
    for (char* at = static_cast<char*>(to); bytes > 0;) {
      const ssize_t now = ::recv(socket_, at, bytes, 0);
      if (now <= 0) return false;
      at += now, bytes -= static_cast<std::size_t>(now);
    }
    return true;
  }
  int socket_ = -1;
  pid_t process_ = -1;
};

struct Spent {
  std::vector<double> own, other;  ///< processor seconds a GB, one a round
};

double median(std::vector<double> figures) {
  std::sort(figures.begin(), figures.end());
  return figures[figures.size() / 2];
}

void measure(Mover& mover, Spent& put, Spent& get, std::byte* records, std::size_t record_bytes, std::uint32_t round) {
  const std::uint32_t batches = batches_of(record_bytes);
  const double gigabytes = 1e-9 * static_cast<double>(batches * kBatch * record_bytes);
  for (const bool puts : {true, false}) {
    const double own = own_seconds(), other = seconds_of_process(mover.other());
    for (std::uint32_t i = 0; i < batches; ++i)
      puts ? mover.put(round * kRound + i, records, record_bytes)
           : mover.get(round * kRound + i, records, record_bytes);
    Spent& spent = puts ? put : get;
    spent.own.push_back((own_seconds() - own) / gigabytes);
    spent.other.push_back((seconds_of_process(mover.other()) - other) / gigabytes);
  }
}

void measure_size(std::size_t record_bytes, std::uint32_t rounds) {
  const Server server;
  const Memory records(kBatch * record_bytes);
  const char* names[] = {"bare socket", "hiredis", "storage redis"};
  Spent put[3], get[3];
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < 3; ++i) {
      std::unique_ptr<Mover> mover;
      if (i == 0) mover = std::make_unique<Floor>(record_bytes);
      if (i == 1) mover = std::make_unique<Hiredis>(server);
      if (i == 2) mover = std::make_unique<Ours>(server, record_bytes);
      measure(*mover, put[i], get[i], records.from, record_bytes, round);
      server.say({"FLUSHALL", "SYNC"});
    }
  }
  for (const bool puts : {true, false}) {
    const Spent* spent = puts ? put : get;
    const double floor = median(spent[0].own) + median(spent[0].other);
    for (std::size_t i = 0; i < 3; ++i) {
      const double own = median(spent[i].own), other = median(spent[i].other);
      fmt::print("{} {:>5} KiB x {}  {:<14} client {:.3f}  other side {:.3f}  both {:.3f} s/GB  {:.2f} x bare socket\n",
                 puts ? "put" : "get", record_bytes >> 10, kBatch, names[i], own, other, own + other,
                 (own + other) / floor);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (server_program().empty()) return 77;
  const auto rounds = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 5);
  std::vector<std::size_t> sizes;
  for (int i = 2; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10) << 10);
  if (sizes.empty()) sizes = {64 << 10, 256 << 10, 2048 << 10, 8192 << 10};
  for (const std::size_t size : sizes) measure_size(size, std::max(1u, rounds));
  return 0;
}
