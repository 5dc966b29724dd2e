#include "events_attach.h"

#include <bridge/follower.h>
#include <canopy/base/endpoint.h>
#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <canopy/base/run_files.h>
#include <canopy/kv_events/codec.h>
#include <canopy/kv_events/subscription.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>

#include "cli_options.h"
#include "commands.h"
#include "interrupt.h"
#include "peer_lines.h"
#include "stream_file.h"
#include "terminal.h"

namespace canopy::app {
namespace {

using bridge::Follower;
using kv_events::Subscription;
using Clock = std::chrono::steady_clock;

struct FollowArguments {
  std::vector<std::string> endpoints, replays;
  std::string from, feed, record;
  std::uint64_t events = 0;  ///< Events in the feed's ring. 0: the default.
  bool tokens = false, repeats_are_reports = false;
};

/// Runs a follower and its feed, with messages from servers or a file.
class Following {
 public:
  explicit Following(const FollowArguments& arguments)
      : arguments_(arguments), follower_(options_of(arguments)), began_(Clock::now()) {}

  int run() { return arguments_.from.empty() ? run_live() : run_file(); }

 private:
  /// Prints a message on stderr, unless servers cause too many.
  template <class... Values>
  void say(fmt::format_string<Values...> text, Values&&... values) {
    lines_.say(fmt::format(text, std::forward<Values>(values)...));
  }
  static Follower::Options options_of(const FollowArguments& arguments) {
    Follower::Options options;
    const bool is_file = arguments.feed.empty();
    options.feed.kind = is_file ? FeedConfig::Kind::file : FeedConfig::Kind::shm;
    options.feed.name = is_file ? arguments.record : arguments.feed;
    options.feed.tokens = arguments.tokens;
    options.feed.events = arguments.events;
    options.sources = arguments.from.empty() ? arguments.endpoints : std::vector{arguments.from};
    options.repairs = !arguments.from.empty() || !arguments.replays.empty();
    options.repeats_are_reports = arguments.repeats_are_reports;
    return options;
  }
  std::uint64_t now_us() const {
    return stream_us_ + static_cast<std::uint64_t>(
                            std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began_).count());
  }

  int run_file() {
    const Result<std::string> content = stream_content(arguments_.from);
    if (!content) return unusable(content.error().text);
    kv_events::RecordedStream stream(*content);
    kv_events::Message message;
    auto next = stream.next(message);
    for (; next && *next && !Interrupt::came(); next = stream.next(message)) {
      pass_time(message);
      take(0, message, false);
      if (const std::string failure = follower_.failure(); !failure.empty()) return unusable(failure);
      follower_.turn(stream_us_);  // as between the messages of a live server
    }
    const bool stopped = Interrupt::came();
    // The remaining missing messages are not in the file.
    while (const auto from = follower_.wants_replay(0)) follower_.replay_ended(0, *from, stream_us_);
    follower_.mend(stream_us_);
    began_ = Clock::now();
    if (!next) say("{}: {}", arguments_.from, next.error().text);
    if (const std::string failure = follower_.failure(); !failure.empty()) return unusable(failure);
    if (stopped)
      unusable(fmt::format("canopy events attach: {} stopped it after {}; the rest of {} was not read",
                           Interrupt::name(), plural(messages_, "message"), arguments_.from));
    if (!follower_.has_feed())
      return stopped ? end(Interrupt::exit_code())
                     : unusable(arguments_.from + ": no block is stored in it, so there is no feed");
    fmt::print("{}", follower_.report());
    for (std::uint16_t w = 0; w < follower_.names().workers(); ++w) fmt::print("{}\n", worker_words(w));
    const int verdict = print_doubts(follower_.doubts(), stdout, Terminal::of_stdout());
    std::fflush(stdout);
    if (stopped) return end(Interrupt::exit_code());
    if (arguments_.feed.empty()) return end(next && follower_.unreadable() == 0 ? verdict : kUnusable);
    say("the feed stays until Ctrl-C");
    follower_.set_lost(0, "the stream has ended");
    while (!Interrupt::came()) {
      if (!turn()) return end(kUnusable);
      ::usleep(20'000);
    }
    return end(Interrupt::exit_code());
  }
  /// Advances the feed's clock, which follows the publishers' clock and never goes back.
  void pass_time(const kv_events::Message& message) {
    if (message.is_end || !kv_events::read_batch(message.payload, batch_)) return;
    if (!first_time_) first_time_ = batch_.time;
    constexpr double kMostSeconds = 1e9;
    const double seconds = batch_.time - *first_time_;
    if (seconds > 0 && seconds < kMostSeconds)
      stream_us_ = std::max(stream_us_, static_cast<std::uint64_t>(seconds * 1e6));
  }

  int run_live() {
    std::vector<Subscription::Source> sources;
    for (std::size_t i = 0; i < arguments_.endpoints.size(); ++i) {
      const std::string& endpoint = arguments_.endpoints[i];
      sources.push_back({endpoint, arguments_.replays.empty() ? "" : arguments_.replays[i]});
      if (endpoint.find('*') != std::string::npos && is_open_to_other_machines(endpoint))
        say("{}: any machine that reaches this one can send events to it", endpoint);
    }
    auto opened = Subscription::open(sources);
    if (!opened) return unusable(opened.error().text);
    Subscription& subscription = **opened;
    for (std::size_t i = 0; i < sources.size(); ++i)
      if (subscription.has_replay(i)) subscription.request_replay(i, 0);
    while (!Interrupt::came()) {
      if (const auto received = subscription.next(20)) take(subscription, *received);
      for (std::size_t i = 0; i < sources.size(); ++i)
        if (subscription.has_replay(i) && !subscription.is_replaying(i))
          if (const auto from = follower_.wants_replay(i)) subscription.request_replay(i, *from);
      if (!turn()) return end(kUnusable);
      say_what_is_missing(subscription);
    }
    return end(Interrupt::exit_code());
  }

  void take(Subscription& subscription, const Subscription::Received& received) {
    using What = Subscription::Received::What;
    const std::size_t source = received.source;
    const std::string& endpoint = arguments_.endpoints[source];
    switch (received.what) {
      case What::message:
        return take(source, received.message, received.replayed);
      case What::no_message:
        return say("{}: {}", endpoint, received.flaw);
      case What::replay_ended:
        if (received.silent && subscription.is_connected(source))
          say("{}: the replay socket does not answer", arguments_.replays[source]);
        return follower_.replay_ended(source, received.from, now_us());
      case What::connected:
        say("{}: connected", endpoint);
        follower_.set_lost(source, "");
        if (!subscription.has_replay(source)) return;
        follower_.reconnected(source);
        if (!subscription.is_replaying(source))
          subscription.request_replay(source, follower_.wants_replay(source).value_or(0));
        return;
      case What::disconnected:
        if (!subscription.is_connected(source)) follower_.set_lost(source, "the connection was lost; trying again");
        return say("{}: the connection was lost; trying again", endpoint);
    }
  }

  void take(std::size_t source, const kv_events::Message& message, bool replayed) {
    const bool had_feed = follower_.has_feed();
    follower_.take(source, message, replayed, arguments_.from.empty() ? now_us() : stream_us_);
    ++messages_;
    say_trouble();
    if (!had_feed && follower_.has_feed()) {
      if (arguments_.feed.empty()) say("recording to {}", arguments_.record);
      else say("the feed '{0}' is available: canopy top --feed {0}, canopy-inspector attach {0}", arguments_.feed);
    }
  }

  void say_trouble() {
    if (follower_.trouble() != reported_trouble_) say("{}", reported_trouble_ = follower_.trouble());
  }

  /// Returns false if the feed has failed.
  bool turn() {
    follower_.turn(now_us());
    say_trouble();
    lines_.turn();
    return follower_.failure().empty();
  }

  /// Reports once what is missing for a feed, if there is none after some seconds.
  void say_what_is_missing(const Subscription& subscription) {
    constexpr std::uint64_t kPatienceUs = 3'000'000;
    if (reported_idle_ || follower_.has_feed() || now_us() < kPatienceUs) return;
    reported_idle_ = true;
    for (std::size_t i = 0; i < arguments_.endpoints.size(); ++i) {
      const std::string& endpoint = arguments_.endpoints[i];
      if (!subscription.is_connected(i)) say("{}: no server there yet; trying again", endpoint);
      else if (messages_ == 0) say("{}: connected, but no message has arrived; an idle server sends none", endpoint);
      else say("{}: messages have arrived, but no block was stored so far", endpoint);
    }
  }

  std::string worker_words(std::uint16_t worker) const {
    std::string name = follower_.names().worker_name(worker);
    if (!name.empty()) name += ": ";
    return fmt::format("{}{}, {}", printable(name), plural(follower_.tree()->blocks_of(worker), "block"),
                       follower_.state_of(worker));
  }

  int end(int status) {
    follower_.finish();
    if (const std::string failure = follower_.failure(); !failure.empty()) return unusable(failure);
    return status;
  }

  const FollowArguments& arguments_;
  PeerLines lines_{"canopy events attach: "};
  Follower follower_;
  Clock::time_point began_;
  kv_events::EventBatch batch_;
  std::optional<double> first_time_;
  std::uint64_t stream_us_ = 0, messages_ = 0;
  std::string reported_trouble_;
  bool reported_idle_ = false;
};

/// Returns what is wrong with the arguments as a whole. May be empty (nothing).
std::string flaw_of(const FollowArguments& arguments) {
  if (arguments.from.empty() == arguments.endpoints.empty())
    return "expected either endpoints of servers, such as tcp://127.0.0.1:5557, or a recorded stream with --from";
  if (arguments.feed.empty() == arguments.record.empty())
    return "expected either --feed NAME, to which canopy top and canopy-inspector attach, or --record FILE";
  if (!arguments.replays.empty() && arguments.replays.size() != arguments.endpoints.size())
    return fmt::format("{} and {}: each endpoint needs its own --replay, in the same order; or give none",
                       plural(arguments.endpoints.size(), "endpoint"), plural(arguments.replays.size(), "--replay"));
  for (const auto* list : {&arguments.endpoints, &arguments.replays})
    for (const std::string& endpoint : *list)
      if (const std::string flaw = flaw_of_endpoint(endpoint); !flaw.empty()) return flaw;
  for (const std::string& endpoint : arguments.replays)
    if (std::find(arguments.endpoints.begin(), arguments.endpoints.end(), endpoint) != arguments.endpoints.end())
      return fmt::format("--replay {}: events are published there; a replay socket has another endpoint", endpoint);
  for (std::size_t i = 0; i < arguments.endpoints.size(); ++i)
    if (std::find(arguments.endpoints.begin(), arguments.endpoints.begin() + std::ptrdiff_t(i),
                  arguments.endpoints[i]) != arguments.endpoints.begin() + std::ptrdiff_t(i))
      return fmt::format("{} is named twice", arguments.endpoints[i]);
  if (!arguments.feed.empty()) {
    FeedConfig feed;
    feed.kind = FeedConfig::Kind::shm;
    feed.name = arguments.feed;
    if (const std::string flaw = flaw_of_name(feed); !flaw.empty()) return "--feed" + flaw;
  }
  return {};
}

int follow(const FollowArguments& arguments) {
  if (const std::string flaw = flaw_of(arguments); !flaw.empty()) return unusable("canopy events attach: " + flaw);
  const RunFile input{"--from", arguments.from};
  const std::array<RunFile, 2> outputs{
      {{"--record", arguments.record},
       {"the recording, until it is whole,", arguments.record.empty() ? "" : FeedSink::part_of(arguments.record)}}};
  if (auto apart = check_run_files({&input, 1}, outputs); !apart) return unusable(apart.error().text);
  const Interrupt interrupt;  // before the feed, which must remove its shared memory or file
  return Following(arguments).run();
}

}  // namespace

void add_events_attach(CLI::App& events, int& status) {
  auto arguments = std::make_shared<FollowArguments>();
  auto* command = events.add_subcommand(
      "attach",
      "Make a feed from the KV events of servers that do not use Canopy, such as vLLM and SGLang (docs/events.md)");
  command->add_option(
      "endpoints", arguments->endpoints,
      "endpoint at which a server publishes, such as tcp://127.0.0.1:5557; several are shown side by side");
  repeated(command->add_option(
      "--replay", arguments->replays,
      "endpoint at which a server sends missed events again; one for each endpoint, in the same order"));
  command->add_option("--from", arguments->from, "read a recorded stream instead of servers");
  command->add_option("--feed", arguments->feed, "name of the feed, for canopy top and canopy-inspector attach");
  command->add_option("--record", arguments->record,
                      "record the feed to this file instead; only a recording is replaced");
  command->add_flag("--tokens", arguments->tokens,
                    "include the tokens of prompts in the feed, so that prefixes can be searched");
  command->add_flag("--repeats-are-reports", arguments->repeats_are_reports,
                    "do not count a block that is stored again as a second copy: for vLLM's kv_cache_report_mode=full");
  command
      ->add_option("--events", arguments->events,
                   "size of the feed's ring in events of 32 bytes: more than twice the nodes of the largest tree; "
                   "default: 1048576")
      ->check(whole(1024, std::uint64_t{1} << 28));
  command->callback([=, &status] { status = follow(*arguments); });
}

}  // namespace canopy::app
