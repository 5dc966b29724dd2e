#pragma once

#include <canopy/base/result.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// The results of `canopy-dev bench` and `canopy-dev bench gpu`: rows, their files, and the change since an older file.
namespace canopy::bench {

/// The median of the repetitions and their range: the least and the most, or for a GPU the 10th and the 90th
/// percentile.
struct Spread {
  double median = 0, low = 0, high = 0;
  std::size_t samples = 0;  ///< 0: not recorded
};

enum class Kind {
  time,   ///< seconds
  bytes,  ///< bytes of memory
  share,  ///< share of the thing that `per` or the name says
  rate,   ///< bytes a second
};

/// One line: a measurement, and the figures that it is compared with, if there are any.
struct Row {
  std::string section, name;
  Kind kind = Kind::time;
  std::string per;  ///< "a node", "a request"
  Spread ours;
  /// The least work that must be done, and the original's algorithm. For a GPU the best of the driver's own calls for
  /// the same work, and the device's own copy of one large piece.
  std::optional<Spread> floor{}, original{};
  std::string note{};
};

/// An acceptance figure: the demand and the measurement.
struct Demand {
  enum class Verdict { met, missed, not_measured };
  std::string id, demand, measured;
  Verdict verdict = Verdict::not_measured;
};

/// The GPU that was measured.
struct Gpu {
  std::string device;  ///< name of the device
  bool fake = false;   ///< true for a driver library without a GPU: the figures are not a GPU's
  int driver_version = 0;
  std::uint64_t free_bytes = 0, total_bytes = 0;
  double budget = 0, took = 0;  ///< seconds
};

struct Report {
  std::string index, source;  ///< only `canopy-dev bench`; source: name of the replays' requests, empty without replays
  bool quick = false;
  bool incomplete = false;  ///< true if it was stopped before its end
  std::optional<Gpu> gpu;   ///< only `canopy-dev bench gpu`
  std::vector<Row> rows;
  std::vector<Demand> demands;
  std::vector<std::string> remarks;   ///< messages: what was left out and why, which results were compared
  std::vector<std::string> failures;  ///< messages: wrong bytes, failed calls
};

/// Writes JSON, all of it or nothing.
Result<std::monostate> write_report(const Report& report, const std::string& path);
/// Reads a file of `canopy-dev bench --json`. Does not read a GPU's file.
Result<Report> read_report(const std::string& path);

/// The change of a row since another report.
struct Change {
  double share = 0;     ///< 0.1: a tenth more than before
  bool beyond = false;  ///< true if the ranges of their repetitions do not overlap
};
/// Returns the change of a row; nothing if the old report has no such row.
std::optional<Change> change_since(const Report& old, const Row& row);
/// Returns the reason why the two cannot be compared; nothing if they can.
std::optional<std::string> cannot_compare(const Report& old, const Report& now);

}  // namespace canopy::bench
