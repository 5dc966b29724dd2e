/// Reading of a feed for `canopy top`.
#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "commands.h"
#include "interrupt.h"

namespace canopy::app {

using inspector::Attachment;
using inspector::Mirror;

bool Watched::take() {
  std::vector<Event> events(4096);
  bool any = false;
  for (const auto began = std::chrono::steady_clock::now(); std::chrono::steady_clock::now() < began + kLookEvery;) {
    std::size_t count = 0;
    switch (attachment->reader().read(events.data(), events.size(), count)) {
      case FeedReader::Outcome::nothing:
        return any;
      case FeedReader::Outcome::lapped:
        mirror.lost();
        came = any = true;
        ++laps;
        break;
      case FeedReader::Outcome::events:
        mirror.take({events.data(), count}, sums.watch(mirror));
        any = came = true;
    }
  }
  return any;
}

std::string no_state_of(const std::string& feed, bool came, const char* time) {
  return fmt::format(
      "the feed '{}': {}", feed,
      came ? fmt::format("its events came faster than they were read for {}, so its state is not known; a "
                         "larger ring (`events` in the engine's feed) helps",
                         time)
           : fmt::format("no events came for {}; its engine serves no request and is not polled", time));
}

Result<std::unique_ptr<Watched>> watch(const std::string& wanted) {
  using namespace std::chrono_literals;
  std::string name = wanted;
  if (name.empty()) {
    const auto names = Attachment::names();
    if (names.empty())
      return Error{
          "no process publishes a feed now; `canopy replay ... --feed NAME` does, or feed: { shm: { name: NAME } } in "
          "an engine's file"};
    if (names.size() > 1) return Error{fmt::format("expected --feed NAME; there are {}", fmt::join(names, ", "))};
    name = names[0];
  }
  auto attachment = Attachment::attach(name);
  if (!attachment) return attachment.error();
  Mirror mirror((*attachment)->header());
  auto watched = std::make_unique<Watched>(Watched{name, std::move(*attachment), std::move(mirror)});
  for (auto waited = 0ms;; waited += Watched::kLookEvery) {
    watched->take();
    if (watched->mirror.in_step()) return watched;
    if (const std::string gone = watched->attachment->gone(); !gone.empty())
      return Error{"the feed '" + name + "': " + gone};
    if (Interrupt::came())
      return Error{fmt::format("the feed '{}': {} came before any event", name, Interrupt::name())};
    if (waited > 10s) return Error{no_state_of(name, watched->came, "10 s")};
    std::this_thread::sleep_for(Watched::kLookEvery);
  }
}

}  // namespace canopy::app
