#include "events_stat.h"

#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <canopy/kv_events/codec.h>
#include <fmt/format.h>

#include <array>
#include <unordered_map>
#include <unordered_set>

#include "program.h"
#include "stream_file.h"
#include "terminal.h"

namespace canopy::app {
namespace {

/// Copies of a publisher's blocks by hash. A hash may be stored for several groups, media and tenants: it is held until
/// it was removed the same number of times.
using Held = std::unordered_map<std::uint64_t, std::uint64_t>;

class Counter {
 public:
  explicit Counter(bool repeats_are_reports) : repeats_are_reports_(repeats_are_reports) {}

  void take(const kv_events::Message& message, const StreamFile::Publisher& publisher,
            const kv_events::EventBatch& batch) {
    ++dialects_[std::string(kv_events::dialect_of(batch))];
    unknown_events_ += batch.unknown_events, unknown_fields_ += batch.unknown_fields;
    if (batches_ == 0 || batch.time < first_time_) first_time_ = batch.time;
    if (batches_++ == 0 || batch.time > last_time_) last_time_ = batch.time;
    largest_ = std::max(largest_, message.payload.size());
    Held& held = held_[publisher];
    publisher_ = publisher;
    for (const kv_events::Event& event : batch.events) take(event, batch, held);
  }

  void print(const StreamFile& file) const {
    const auto& [stores, removals, clears] = events_;
    Table table;
    table.row("messages", fmt::format("{} with {}, the largest {}; {}", grouped(file.messages), bytes(file.bytes),
                                      bytes(largest_), plural(file.publishers(), "publisher")));
    table.row("time", batches_ == 0 ? "-" : duration(last_time_ - first_time_));
    table.row("sequences", file.gaps_in_words());
    table.row("events",
              fmt::format("{} stored, {} removed, {} cleared", grouped(stores), grouped(removals), grouped(clears)));
    table.row("blocks", fmt::format("{} stored, {} removed, {} distinct", grouped(stored_), grouped(removed_),
                                    grouped(distinct_.size())));
    std::uint64_t held = 0;
    for (const auto& [publisher, blocks] : held_) held += blocks.size();
    table.row("held at the end", plural(held, "block"));
    if (again_ > 0)
      table.row("stored again",
                fmt::format("{} of the same group and medium while they were held{}", plural(again_, "block"),
                            repeats_are_reports_ ? ": reports, not copies"
                                                 : "; if they are reports, see --repeats-are-reports"));
    table.row("tokens", grouped(tokens_));
    std::string sizes, dialects;
    for (const auto& [size, count] : sizes_) sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", size);
    table.row("tokens per block", sizes.empty() ? "-" : sizes);
    for (const auto& [name, count] : dialects_)
      dialects +=
          fmt::format("{}{} {}", dialects.empty() ? "" : ", ", name == "-" ? "not known" : name, grouped(count));
    table.row("dialects", dialects.empty() ? "-" : dialects);
    table.row("parents unknown", plural(orphans_, "event"));
    table.row("removed unknown", plural(strangers_, "block"));
    table.row("not understood", fmt::format("{}, {} and {}", plural(file.unreadable, "message"),
                                            plural(unknown_events_, "event"), plural(unknown_fields_, "field")));
    table.print(Terminal::of_stdout());
    fmt::print("\n");
  }

 private:
  void take(const kv_events::Event& event, const kv_events::EventBatch& batch, Held& held) {
    ++events_[static_cast<std::size_t>(event.kind)];
    if (event.kind == kv_events::EventKind::cleared) return copies_[publisher_].clear(), held.clear();
    const auto hashes = batch.hashes_of(event);
    if (event.kind == kv_events::EventKind::removed) {
      removed_ += hashes.size();
      for (const kv_events::BlockHash& hash : hashes) {
        const auto found = held.find(hash.value);
        copies_[publisher_].erase(copy_of(hash, event, batch));
        if (found == held.end()) ++strangers_;
        else if (--found->second == 0) held.erase(found);
      }
      return;
    }
    stored_ += hashes.size();
    tokens_ += event.token_pairs ? event.tokens.count / 2 : event.tokens.count;
    ++sizes_[event.block_size];
    if (event.has(kv_events::Field::parent_block_hash)) orphans_ += !held.contains(event.parent.value);
    for (const kv_events::BlockHash& hash : hashes) {
      distinct_.insert(hash.value);
      const bool again = !copies_[publisher_].insert(copy_of(hash, event, batch)).second;
      again_ += again;
      if (!again || !repeats_are_reports_) ++held[hash.value];
    }
  }

  /// Returns the name of a block's copy: its hash, group and medium.
  static std::string copy_of(const kv_events::BlockHash& hash, const kv_events::Event& event,
                             const kv_events::EventBatch& batch) {
    return fmt::format("{:x} {} {}", hash.value, event.group, batch.text_of(event, kv_events::Field::medium));
  }

  bool repeats_are_reports_;
  StreamFile::Publisher publisher_;  ///< that of the batch that is counted
  std::map<StreamFile::Publisher, std::unordered_set<std::string>> copies_;
  std::uint64_t again_ = 0;  ///< Blocks that were stored while a copy of theirs was held.

  std::map<StreamFile::Publisher, Held> held_;
  std::unordered_set<std::uint64_t> distinct_;
  std::map<std::int64_t, std::uint64_t> sizes_;  ///< Stored events by tokens of a block.
  std::map<std::string, std::uint64_t> dialects_;
  std::array<std::uint64_t, 3> events_{};  ///< By kv_events::EventKind.
  std::uint64_t batches_ = 0, stored_ = 0, removed_ = 0, tokens_ = 0;
  std::uint64_t orphans_ = 0;    ///< Stored events behind a block that is not held.
  std::uint64_t strangers_ = 0;  ///< Removed blocks that were not held.
  std::uint64_t unknown_events_ = 0, unknown_fields_ = 0;
  std::size_t largest_ = 0;
  double first_time_ = 0, last_time_ = 0;
};

}  // namespace

int count_events(const std::string& path, bool repeats_are_reports) {
  StreamFile file;
  Counter counter(repeats_are_reports);
  const int status =
      file.read(path, [&](const kv_events::Message& message, const StreamFile::Publisher& publisher, kv_events::Order,
                          const kv_events::EventBatch& batch) { counter.take(message, publisher, batch); });
  if (file.messages == 0) return status;
  counter.print(file);
  const int verdict = print_doubts(file.doubts(), stdout, Terminal::of_stdout());
  return status == kFine ? verdict : status;
}

}  // namespace canopy::app
