#include "events_command.h"

#include <canopy/base/figures.h>
#include <canopy/kv_events/codec.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "batch_json.h"
#include "events_attach.h"
#include "events_stat.h"
#include "program.h"
#include "stream_file.h"
#include "terminal.h"

namespace canopy::app {
namespace {

enum class Print { table, json };

/// Prints the messages of a recorded stream, each on a line, then totals.
class Decoder {
 public:
  explicit Decoder(Print print)
      : print_(print),
        grid_({"sequence", "stored", "removed", "cleared", "time", "rank", "order", "dialect", "topic"}) {}

  int run(const std::string& path) {
    const int status =
        file_.read(path, [&](const kv_events::Message& message, const StreamFile::Publisher&, kv_events::Order order,
                             const kv_events::EventBatch& batch) { take(message, order, batch); });
    if (file_.messages == 0) return status;
    if (print_ == Print::table) grid_.print(Terminal::of_stdout());
    print_totals();
    const int verdict = print_doubts(file_.doubts(), print_ == Print::json ? stderr : stdout,
                                     print_ == Print::json ? Terminal::of_stderr() : Terminal::of_stdout());
    return status == kFine ? verdict : status;
  }

 private:
  struct Counts {
    std::uint64_t stored = 0, removed = 0, clears = 0;  ///< Blocks; for `clears`, events.
    void add(const kv_events::EventBatch& batch) {
      for (const kv_events::Event& event : batch.events) {
        if (event.kind == kv_events::EventKind::stored) stored += event.hashes.count;
        else if (event.kind == kv_events::EventKind::removed) removed += event.hashes.count;
        else ++clears;
      }
    }
  };

  void take(const kv_events::Message& message, kv_events::Order order, const kv_events::EventBatch& batch) {
    Counts counts;
    counts.add(batch);
    all_.add(batch);
    unknown_events_ += batch.unknown_events, unknown_fields_ += batch.unknown_fields;
    if (print_ == Print::json) {
      fmt::print("{}\n", json_of(message, order, batch));
      return;
    }
    grid_.row({{fmt::format("{}", message.sequence)},
               {grouped(counts.stored)},
               {grouped(counts.removed)},
               {counts.clears > 0 ? "yes" : "-"},
               {fmt::format("{:.6f}", batch.time)},
               {batch.rank ? fmt::format("{}", *batch.rank) : "-"},
               {std::string(word_of(order)),
                order == kv_events::Order::next || order == kv_events::Order::first ? nullptr : "33"},
               {std::string(kv_events::dialect_of(batch))},
               {std::string(message.topic)}});
  }

  /// Prints totals, on stderr if stdout has JSON.
  void print_totals() const {
    std::FILE* const out = print_ == Print::json ? stderr : stdout;
    fmt::print(out, "{}: {} stored, {} removed, {} and {}\n", plural(file_.messages, "message"),
               plural(all_.stored, "block"), plural(all_.removed, "block"), plural(all_.clears, "clear"),
               plural(file_.publishers(), "publisher"));
    fmt::print(out, "{}\n", file_.gaps_in_words());
    if (unknown_events_ + unknown_fields_ > 0)
      fmt::print(out, "left out: {} and {} that this version does not know\n", plural(unknown_events_, "event"),
                 plural(unknown_fields_, "field"));
  }

  const Print print_;
  StreamFile file_;
  Grid grid_;
  Counts all_;
  std::uint64_t unknown_events_ = 0, unknown_fields_ = 0;
};

}  // namespace

void add_events(CLI::App& program, int& status) {
  auto* events =
      program.add_subcommand("events", "Show servers that send KV events, as vLLM and SGLang do, or a recorded stream");
  events->group("Look");
  events->require_subcommand(1);
  auto file = std::make_shared<std::string>();
  auto lines = std::make_shared<bool>(false);
  auto* decode = events->add_subcommand("decode", "Print the messages of a recorded stream, one per line, then totals");
  decode->add_option("file", *file, "the recorded stream")->required();
  decode->add_flag("--lines", *lines, "print each message with all its fields as a line of JSON; totals go to stderr");
  decode->callback([=, &status] { status = Decoder(*lines ? Print::json : Print::table).run(*file); });
  auto* stat = events->add_subcommand("stat", "Count the events, blocks, gaps and bytes of a recorded stream");
  stat->add_option("file", *file, "the recorded stream")->required();
  auto reports = std::make_shared<bool>(false);
  stat->add_flag("--repeats-are-reports", *reports,
                 "do not count a block that is stored again as a second copy: for vLLM's kv_cache_report_mode=full");
  stat->callback([=, &status] { status = count_events(*file, *reports); });
  add_events_attach(*events, status);
}

}  // namespace canopy::app
