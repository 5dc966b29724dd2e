#pragma once

#include <canopy/loading/registry.h>
#include <canopy/support/result.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace canopy::bench {

struct Options {
  bool quick = false;           ///< smaller trees, fewer requests and repetitions: about 20 s
  std::string only;             ///< rows whose name contains it
  std::string index = "radix";  ///< what is measured; any index that the registry has
  std::string trace;            ///< Mooncake JSONL; empty: a generated workload takes its place
};

/// What repetitions came to: the one in the middle, the least and the most.
struct Spread {
  double median = 0, low = 0, high = 0;
};

enum class Kind {
  time,   ///< seconds
  bytes,  ///< of memory
  share,  ///< of something that `per` names
};

/// One line: the index beside the least that must be done (the floor) and the original's algorithm, where there
/// are such.
struct Row {
  std::string section, name;
  Kind kind = Kind::time;
  std::string per;  ///< "a node", "a request"
  Spread ours;
  std::optional<Spread> floor, original;
  std::string note;
};

struct Report {
  std::string index, source;  ///< source: what the replays ran, empty if none did
  bool quick = false;
  std::vector<Row> rows;
  std::vector<std::string> remarks;  ///< sentences: what was left out and why, which answers were compared
};

/// Called when a row begins: how many of all are done, 0..1, and how many rows that is.
using Progress = std::function<void(double, std::uint64_t)>;

/// Measures, one thread, everything in this process. An error if no row is called so, no index has the name, or a
/// trace cannot be read.
Result<Report> run(const Options& options, const Registry& registry, const Progress& progress);

/// JSON, written whole or not at all.
Result<std::monostate> write_report(const Report& report, const std::string& path);
Result<Report> read_report(const std::string& path);

/// How a row changed since another report.
struct Change {
  double share = 0;     ///< 0.1: a tenth more than then
  bool beyond = false;  ///< the two do not overlap, from the least repetition to the most
};
/// Nothing if the old report has no such row.
std::optional<Change> change_since(const Report& old, const Row& row);
/// Why the two cannot be compared, or nothing.
std::optional<std::string> cannot_compare(const Report& old, const Report& now);

}  // namespace canopy::bench
