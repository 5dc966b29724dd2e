// A server's loop over a prefix cache, without a model: requests arrive, prefill in chunks, decode in one batch, are
// retracted when the pool is full, and finish. server_loop.c, .rs and .go do the same over the C interface and print
// the same line.
//
//   server_loop ENGINE_FILE [PLUGIN_FOLDER]      (PREFIX/lib/canopy/plugins; default: those of the source tree)

#include <canopy/engine/engine.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <vector>

namespace {

using namespace canopy;

constexpr std::uint32_t kRequests = 2000, kBatch = 512, kAdmitted = 8, kChunk = 2048, kStepUs = 20'000;

/// The requests: one of 40 system prompts, then tokens of their own; every 16th is long.
class Arrivals {
 public:
  struct Arrival {
    std::vector<Token> prompt;
    std::uint32_t output = 0;
  };
  Arrival next() {
    const std::uint32_t prefix = random(40), shared = 1024 + 64 * prefix;
    const std::uint32_t own = (200 + random(3000)) * (number_ % 16 == 15 ? 8 : 1);
    Arrival made{{}, 1 + random(256)};
    for (std::uint32_t i = 0; i < shared; ++i) made.prompt.push_back(100'000 * prefix + i);
    for (std::uint32_t i = 0; i < own; ++i) made.prompt.push_back(10'000'000 + 50'000 * number_ + i);
    ++number_;
    return made;
  }

 private:
  std::uint32_t random(std::uint32_t below) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(state_ >> 33) % below;
  }
  std::uint64_t state_ = 35;
  std::uint32_t number_ = 0;
};

struct Running {
  Request request;
  std::uint32_t output = 0;  ///< tokens that it still generates
};

class Server {
 public:
  explicit Server(Engine& engine) : engine_(engine) {}

  void serve() {
    for (std::uint64_t step = 0; begun_ < kRequests || !running_.empty() || !retracted_.empty(); ++step) {
      engine_.turn(step * kStepUs);
      admit();
      std::vector<Running> going;
      for (Running& each : running_)
        if (advance(each)) going.push_back(std::move(each));
      running_ = std::move(going);
    }
  }
  std::uint64_t rows() const { return rows_; }

 private:
  /// Resumes retracted requests, and begins new ones if there are none.
  void admit() {
    for (std::uint32_t i = 0; i < kAdmitted && running_.size() < kBatch; ++i) {
      if (!retracted_.empty()) {
        retracted_.front().request.resume();
        running_.push_back(std::move(retracted_.front()));
        retracted_.pop_front();
      } else if (begun_ < kRequests) {
        begin(arrivals_.next());
      }
    }
  }
  void begin(const Arrivals::Arrival& arrival) {
    RequestSpec spec;
    spec.prompt = arrival.prompt;
    spec.output_limit = arrival.output;
    spec.chunk = kChunk;
    running_.push_back({engine_.begin(spec), arrival.output});
    ++begun_;
  }

  /// Makes one step of a request: a chunk of its prefill, or a token. Returns false if it no longer runs.
  bool advance(Running& one) {
    Request& request = one.request;
    const auto length = static_cast<std::uint32_t>(request.tokens().size()), computed = request.computed();
    if (computed == length && one.output == 0) {
      for (const Page page : request.row()) rows_ = rows_ * 31 + page;  // a kernel would read them
      request.finish(length);
      return false;
    }
    const std::uint32_t to = computed < length ? std::min(computed + kChunk, length) : length + 1;
    if (!request.reserve(to)) {
      request.retract();
      retracted_.push_back(std::move(one));
      return false;
    }
    if (computed < length) {
      request.commit(to);
    } else {
      request.append(length);  // the model's choice
      request.advance(to);
      --one.output;
    }
    return true;
  }

  Engine& engine_;
  Arrivals arrivals_;
  std::vector<Running> running_;
  std::deque<Running> retracted_;
  std::uint32_t begun_ = 0;
  std::uint64_t rows_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fputs("usage: server_loop ENGINE_FILE [PLUGIN_FOLDER]\n", stderr), 2;
  const auto engine = Engine::open(argv[1], argc > 2 ? argv[2] : "");
  if (!engine) return std::fprintf(stderr, "%s\n", engine.error().text.c_str()), 2;
  Server server(**engine);
  server.serve();
  const Counters& counters = (*engine)->counters();
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf(
      "%llu requests, %llu prompt tokens, %llu reused, %llu evicted, %llu retracted, rows %016llx, %llu violations, "
      "digest %016llx\n",
      number(counters.finished), number(counters.prompt_tokens), number(counters.hit_tokens),
      number(counters.evicted_tokens), number(counters.retracted), number(server.rows()),
      number((*engine)->ledger().violations()), number((*engine)->digest()));
  return (*engine)->ledger().violations() == 0 ? 0 : 1;
}
