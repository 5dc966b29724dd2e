#include "publish_events.h"

#include <canopy/base/endpoint.h>
#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "interrupt.h"

namespace canopy::app {
namespace {

void say(const std::string& message) {
  std::fputs(fmt::format("canopy: {}\n", message).c_str(), stderr);
  std::fflush(stderr);
}

void say_where(const char* what, const std::string& endpoint) {
  if (endpoint.empty()) return;
  say(fmt::format("{} at {}", what, endpoint));
  if (is_open_to_other_machines(endpoint))
    say(fmt::format(
        "{} can be reached from other machines: any client that connects can read the tokens of all prompts",
        endpoint));
}

}  // namespace

Result<std::unique_ptr<kv_events::KVPublisher>> open_publisher(const KVEventsConfig& config) {
  if (!config.on) return std::unique_ptr<kv_events::KVPublisher>();
  auto publisher = kv_events::KVPublisher::open(config, kv_events::TreeQueue::WhenFull::wait);
  if (!publisher) return publisher;
  say_where("KV events are published", (*publisher)->published_at());
  say_where("past KV events are sent again on request", (*publisher)->replayed_at());
  return publisher;
}

void await_subscriber(const kv_events::KVPublisher& publisher) {
  while (publisher.figures().subscribers == 0 && !Interrupt::came())
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

replay::PublishedReport published_by(kv_events::KVPublisher& publisher) {
  publisher.flush();
  const kv_events::KVPublisher::Figures figures = publisher.figures();
  return {figures.batches, figures.bytes, figures.stored, figures.removed, figures.losses};
}

void end_publishing(kv_events::KVPublisher& publisher, bool stay) {
  publisher.flush();
  if (stay && !Interrupt::came()) say("the run has ended; past KV events are sent again on request until Ctrl-C");
  while (stay && !Interrupt::came()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  publisher.stop();
  const kv_events::KVPublisher::Figures figures = publisher.figures();
  fmt::print("KV events: {} batches with {}, {} stored and {} removed", grouped(figures.batches), bytes(figures.bytes),
             plural(figures.stored, "block"), grouped(figures.removed));
  if (figures.replayed > 0) fmt::print(", {} sent again", grouped(figures.replayed));
  if (figures.losses > 0) fmt::print("; cleared and sent again {}", plural(figures.losses, "time"));
  fmt::print("\n");
}

}  // namespace canopy::app
