#include "demo_engine.h"

#include <replay/demo.h>
#include <sources/attachment.h>
#include <workload/generator.h>

#include <chrono>

namespace canopy::inspector {
namespace {

using namespace std::chrono_literals;

// The ring holds some minutes. Only this process can send commands.
const std::string kSettings[] = {"store=none", "feed={ heap: { events: 1M, controls: true } }"};

}  // namespace

/// One demo workload after the other, each with the next seed. next() waits as long as a client would.
class DemoEngine::Clients final : public workload::RequestSource {
 public:
  explicit Clients(DemoEngine& demo) : demo_(demo) {}

  Result<bool> next(workload::ClientRequest& request) override {
    for (;;) {
      auto more = source_->next(request);
      if (!more) return more.error();
      if (*more) break;
      source_ = workload::demo_workload(++seed_);
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
  /// No request comes any more once a stop is requested.
  void end_with(std::stop_token stop) { stop_ = std::move(stop); }

 private:
  bool may_come(std::uint64_t arrival_ms) const {
    if (!demo_.paced_) return taken_ < demo_.allowed_;
    return std::chrono::steady_clock::now() - began_ >= std::chrono::milliseconds(arrival_ms);
  }

  DemoEngine& demo_;
  std::stop_token stop_;
  std::uint64_t seed_ = 1, taken_ = 0, round_began_ms_ = 0, last_ms_ = 0;
  std::unique_ptr<workload::RequestSource> source_ = workload::demo_workload(1);
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

Result<std::unique_ptr<DemoEngine>> DemoEngine::make() {
  std::unique_ptr<DemoEngine> demo(new DemoEngine);
  demo->registry_.scan(own_plugin_folder(), Trust::as_ourselves);
  auto engine = replay::make_demo_engine(demo->registry_, kSettings);
  if (!engine) return engine.error();
  demo->engine_ = std::move(*engine);
  demo->clients_ = std::make_unique<Clients>(*demo);
  return demo;
}

void DemoEngine::start(bool paced) {
  paced_ = paced;
  thread_ = std::jthread([this](std::stop_token stop) {
    clients_->end_with(std::move(stop));
    replay::Options options = replay::demo_options();
    options.content = false;
    static_cast<void>(replay::run(*engine_, *clients_, options, {}));
  });
}

void DemoEngine::run_to(std::uint64_t requests) {
  allowed_ = requests;
  while (waiting_at_ < requests) std::this_thread::sleep_for(1ms);
}

DemoEngine::~DemoEngine() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  // A paused engine would wait forever.
  while (!Attachment::post(header(), {Command::Kind::go_on, 0, 0, {}})) std::this_thread::sleep_for(1ms);
}

}  // namespace canopy::inspector
