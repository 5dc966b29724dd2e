#include "live_demo.h"

#include <sources/attachment.h>

#include <chrono>

#include "demo.h"

namespace canopy::demo {
namespace {

using namespace std::chrono_literals;

// The ring holds some minutes of events. Only this process can send commands to a feed in its heap.
const std::string kSettings[] = {"store=none", "feed={ heap: { events: 1M, controls: true } }"};

}  // namespace

/// The demo's requests, one seed after another. Waits as a client would.
class LiveDemo::Clients final : public workload::RequestSource {
 public:
  explicit Clients(LiveDemo& demo) : demo_(demo) {}

  Result<bool> next(workload::ClientRequest& request) override {
    for (;;) {
      auto more = source_->next(request);
      if (!more) return more.error();
      if (*more) break;
      source_ = requests(++seed_);
      round_began_ms_ = last_ms_;
    }
    request.arrival_ms += round_began_ms_;
    last_ms_ = request.arrival_ms;
    while (!stop_.stop_requested() && !may_come(request.arrival_ms)) {
      demo_.waiting_at_ = taken_;
      demo_.engine_->poll();
      std::this_thread::sleep_for(1ms);
    }
    ++taken_;
    return !stop_.stop_requested();
  }
  double progress() const override { return 0; }
  /// Ends the stream of requests once a stop is requested.
  void end_with(std::stop_token stop) { stop_ = std::move(stop); }

 private:
  bool may_come(std::uint64_t arrival_ms) const {
    if (!demo_.paced_) return taken_ < demo_.allowed_;
    return std::chrono::steady_clock::now() - began_ >= std::chrono::milliseconds(arrival_ms);
  }

  LiveDemo& demo_;
  std::stop_token stop_;
  std::uint64_t seed_ = 1, taken_ = 0, round_began_ms_ = 0, last_ms_ = 0;
  std::unique_ptr<workload::RequestSource> source_ = requests(1);
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

Result<std::unique_ptr<LiveDemo>> LiveDemo::make() {
  std::unique_ptr<LiveDemo> demo(new LiveDemo);
  demo->registry_.scan(own_plugin_folder(), Trust::as_ourselves);
  auto engine = make_engine(demo->registry_, kSettings);
  if (!engine) return engine.error();
  demo->engine_ = std::move(*engine);
  demo->clients_ = std::make_unique<Clients>(*demo);
  return demo;
}

void LiveDemo::start(bool paced) {
  paced_ = paced;
  thread_ = std::jthread([this](std::stop_token stop) {
    clients_->end_with(std::move(stop));
    replay::Options options = demo::options();
    options.content = false;
    static_cast<void>(replay::run(*engine_, *clients_, options, {}));
  });
}

void LiveDemo::run_to(std::uint64_t requests) {
  allowed_ = requests;
  while (waiting_at_ < requests) std::this_thread::sleep_for(1ms);
}

LiveDemo::~LiveDemo() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  // Lets the engine continue: a paused engine would wait forever.
  while (!inspector::Attachment::post(header(), {Command::Kind::go_on, 0, 0, {}})) std::this_thread::sleep_for(1ms);
}

}  // namespace canopy::demo
