#include "subscribe_command.h"

#include <canopy/support/figures.h>
#include <canopy/support/printable.h>
#include <canopy/wire/codec.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <map>
#include <memory>
#include <optional>

#include "batch_json.h"
#include "cli_options.h"
#include "commands.h"
#include "follow_command.h"
#include "terminal.h"

namespace canopy::app {
namespace {

enum class Print { table, json };

/// Blocks that a batch or a whole stream stores and removes, and how often it clears.
struct Counts {
  std::uint64_t stored = 0, removed = 0, clears = 0;
  void add(const wire::EventBatch& batch) {
    for (const wire::Event& event : batch.events) {
      if (event.kind == wire::EventKind::stored) stored += event.hashes.count;
      else if (event.kind == wire::EventKind::removed) removed += event.hashes.count;
      else ++clears;
    }
  }
};

/// The streams of a file. A publisher is known by topic and rank, and its sequence numbers are its own.
class Decoder {
 public:
  Decoder(const std::string& path, Print print)
      : path_(path),
        print_(print),
        grid_({"sequence", "stored", "removed", "cleared", "time", "rank", "order", "dialect", "topic"}) {}

  int run(std::string_view content) {
    wire::RecordedStream stream(content);
    wire::Message message;
    auto next = stream.next(message);
    for (; next && *next; next = stream.next(message))
      if (!message.is_end) take(message);
    if (print_ == Print::table) grid_.print(Terminal::of_stdout());
    print_totals();
    if (!next) return unusable(fmt::format("{}: {}", path_, next.error().text));
    return unreadable_ > 0 ? kUnusable : kFine;
  }

 private:
  void take(const wire::Message& message) {
    ++messages_;
    if (const auto read = wire::read_batch(message.payload, batch_); !read) {
      ++unreadable_;
      unusable(
          fmt::format("{}: message {} with sequence {}: {}", path_, messages_, message.sequence, read.error().text));
      return;
    }
    Counts counts;
    counts.add(batch_);
    all_.add(batch_);
    unknown_events_ += batch_.unknown_events, unknown_fields_ += batch_.unknown_fields;
    const wire::Order order =
        watches_[{std::string(message.topic), batch_.rank}].see(message.sequence, batch_.time, counts.clears > 0);
    ++dialects_[std::string(wire::dialect_of(batch_))];
    if (print_ == Print::json) {
      fmt::print("{}\n", json_of(message, order, batch_));
      return;
    }
    grid_.row(
        {{fmt::format("{}", message.sequence)},
         {grouped(counts.stored)},
         {grouped(counts.removed)},
         {counts.clears > 0 ? "yes" : "-"},
         {fmt::format("{:.6f}", batch_.time)},
         {batch_.rank ? fmt::format("{}", *batch_.rank) : "-"},
         {std::string(word_of(order)), order == wire::Order::next || order == wire::Order::first ? nullptr : "33"},
         {std::string(wire::dialect_of(batch_))},
         {std::string(message.topic)}});
  }

  /// On stderr beside JSON, whose lines are for programs.
  void print_totals() const {
    std::FILE* const out = print_ == Print::json ? stderr : stdout;
    fmt::print(out, "{}: {} stored, {} removed, {} and {}\n", plural(messages_, "message"),
               plural(all_.stored, "block"), plural(all_.removed, "block"), plural(all_.clears, "clear"),
               plural(watches_.size(), "publisher"));
    wire::SequenceWatch all;
    for (const auto& [publisher, watch] : watches_) {
      all.gaps += watch.gaps, all.missing += watch.missing, all.repaired += watch.repaired;
      all.repeated += watch.repeated, all.restarts += watch.restarts;
    }
    fmt::print(out, "{} ({} missing, {} repaired), {} repeated, {}\n", plural(all.gaps, "gap"), grouped(all.missing),
               grouped(all.repaired), grouped(all.repeated), plural(all.restarts, "restart"));
    std::string dialects;
    for (const auto& [name, count] : dialects_)
      if (name != "-") dialects += fmt::format("{}{} {}", dialects.empty() ? "" : ", ", name, grouped(count));
    if (!dialects.empty()) fmt::print(out, "dialects: {}\n", dialects);
    if (unknown_events_ + unknown_fields_ > 0)
      fmt::print(out, "left out: {} and {} that this version does not know\n", plural(unknown_events_, "event"),
                 plural(unknown_fields_, "field"));
  }

  const std::string path_;
  const Print print_;
  Grid grid_;
  wire::EventBatch batch_;
  std::map<std::pair<std::string, std::optional<std::int64_t>>, wire::SequenceWatch> watches_;
  Counts all_;
  std::uint64_t messages_ = 0, unreadable_ = 0, unknown_events_ = 0, unknown_fields_ = 0;
  std::map<std::string, std::uint64_t> dialects_;  ///< batches of each
};

int subscribe(const std::string& path, Print print) {
  const Result<std::string> content = stream_content(path);
  if (!content) return unusable(content.error().text);
  return Decoder(path, print).run(*content);
}

}  // namespace

void add_subscribe(CLI::App& program, int& status) {
  auto arguments = std::make_shared<FollowArguments>();
  auto print = std::make_shared<Print>(Print::table);
  auto* command = program.add_subcommand(
      "subscribe",
      "Make a feed of the KV events of servers that know nothing of Canopy, such as vLLM and SGLang (docs/attach.md); "
      "or decode a recorded stream of them, in any dialect (docs/events.md)");
  command->add_option("endpoints", arguments->endpoints,
                      "where a server publishes, such as tcp://127.0.0.1:5557; several are shown side by side");
  repeated(command->add_option("--replay", arguments->replays,
                               "where the server sends again what was missed, one for each endpoint in their order"));
  auto* from = command->add_option("--from", arguments->from, "a recorded stream instead of servers");
  command->add_option("--name", arguments->name, "of the feed, for canopy top and canopy-inspector attach");
  command->add_option("--record", arguments->record,
                      "record the feed to this file instead; only a recording is replaced");
  command->add_flag("--tokens", arguments->tokens,
                    "the feed carries the tokens of prompts, so that a prefix can be looked up");
  command->add_flag("--repeats-are-reports", arguments->repeats_are_reports,
                    "a block that is stored again is no second copy: for vLLM's kv_cache_report_mode=full");
  command
      ->add_option("--events", arguments->events,
                   "events of the feed's ring, 32 bytes each: more than the largest tree needs to be told at once. "
                   "1048576 if not given")
      ->check(whole(1024, std::uint64_t{1} << 28));
  auto* printed = command
                      ->add_option("--print", *print,
                                   "table: a message a line, then totals; json: a message a line, totals on stderr")
                      ->needs(from)
                      ->transform(CLI::CheckedTransformer(
                          std::map<std::string, Print>{{"table", Print::table}, {"json", Print::json}}));
  command->callback(
      [=, &status] { status = printed->count() > 0 ? subscribe(arguments->from, *print) : follow(*arguments); });
}

}  // namespace canopy::app
