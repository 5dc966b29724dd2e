#pragma once

#include <canopy/base/result.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// What `canopy-dev bench` and `canopy-dev bench gpu` measured: rows, their files, and the change since an older file.
namespace canopy::bench {

/// The median of the repetitions and how far they spread: the least and the most, or for a GPU the 10th and the 90th
/// percentile.
struct Spread {
  double median = 0, low = 0, high = 0;
  std::size_t samples = 0;  ///< 0: not recorded
};

enum class Kind {
  time,   ///< seconds
  bytes,  ///< of memory
  share,  ///< of something that `per` or the name says
  rate,   ///< bytes a second
};

/// Another way to do the same work.
struct Peer {
  std::string name;
  Spread value;
};

/// One line: what was measured, beside what it is compared with, where there is such.
struct Row {
  std::string section, name;
  Kind kind = Kind::time;
  std::string per;  ///< "a node", "a request"
  Spread ours;
  std::optional<Spread> floor, original;  ///< the least work that must be done; the original's algorithm
  std::string note{};
  // `canopy-dev bench gpu` alone:
  std::optional<double> of_roofline{};  ///< share of the device's own copy of one large piece
  std::vector<Peer> peers{};
  bool on_gpu = false;
};

/// An acceptance figure: what was demanded and what was measured.
struct Demand {
  enum class Verdict { met, missed, not_measured };
  std::string id, demand, measured;
  Verdict verdict = Verdict::not_measured;
};

/// The GPU that was measured.
struct Gpu {
  std::string device;  ///< empty: there is none
  std::string why;     ///< why there is none
  bool fake = false;   ///< a driver library without a GPU behind it: its figures are not a GPU's
  int driver_version = 0;
  int clock_khz = 0, memory_clock_khz = 0;  ///< the highest; 0: not known
  std::uint64_t free_bytes = 0, total_bytes = 0;
  double budget = 0, took = 0;  ///< seconds
};

struct Report {
  std::string index, source;  ///< of `canopy-dev bench`; source: what the replays ran, empty if none did
  bool quick = false;
  bool incomplete = false;  ///< it was stopped before its end
  std::optional<Gpu> gpu;   ///< of `canopy-dev bench gpu`
  std::vector<Row> rows;
  std::vector<Demand> demands;
  std::vector<std::string> remarks;   ///< sentences: what was left out and why, which answers were compared
  std::vector<std::string> failures;  ///< sentences: wrong bytes, calls that failed
};

/// Writes JSON, all of it or nothing.
Result<std::monostate> write_report(const Report& report, const std::string& path);
/// What `canopy-dev bench --json` wrote. Not for a GPU's file.
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
