#pragma once

#include <canopy/loading/registry.h>
#include <canopy/support/result.h>

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// `canopy bench gpu`: what the GPU's store does with bytes, beside the rooflines of the same run and the driver's own
/// copies of as many bytes. What is timed has moved the right bytes first.
namespace canopy::bench::gpu {

struct Options {
  double budget = 240;  ///< seconds for all of it; sizes and repetitions shrink with it
  std::string only;     ///< sections whose name begins with it, such as B3
};

/// The repetition in the middle, and those that a tenth lies below and above.
struct Range {
  double median = 0, low = 0, high = 0;
  std::size_t samples = 0;
};
/// REQUIRES: not empty.
Range range_of(std::vector<double> samples);

enum class Unit {
  rate,   ///< bytes a second
  time,   ///< seconds
  share,  ///< of something that the name says
};

struct Peer {
  std::string name;
  Range value;
};

struct Line {
  std::string section;  ///< "B3 page copy"
  std::string name;
  Unit unit = Unit::rate;
  Range value;
  std::optional<double> of_roofline;
  std::vector<Peer> peers;
  std::string note;
  bool on_gpu = true;
};

struct Demand {
  enum class Verdict { met, missed, not_measured };
  std::string id, demand, measured;
  Verdict verdict = Verdict::not_measured;
};

struct Report {
  std::string device;  ///< empty: there is none
  std::string why;     ///< there is none
  bool fake = false;   ///< a driver library without a GPU behind it: its figures are not a GPU's
  int driver_version = 0;
  int clock_khz = 0, memory_clock_khz = 0;  ///< the highest; 0: not known
  std::uint64_t free_bytes = 0, total_bytes = 0;
  double budget = 0, took = 0;
  std::vector<Line> lines;
  std::vector<Demand> demands;
  std::vector<std::string> remarks;
  std::vector<std::string> failures;  ///< sentences: wrong bytes, calls that failed
};

using Progress = std::function<void(double, std::uint64_t)>;

/// An error if nothing asked for can be measured here: there is no device, or no section of the name. What fails on
/// the way is in `failures`, and the other sections are measured all the same.
/// `load` is asked for the plugins once, after the store's has been timed where there is no driver.
Result<Report> run(const Options& options, const std::function<Registry()>& load, const Progress& progress);

/// JSON, written whole or not at all.
Result<std::monostate> write_report(const Report& report, const std::string& path);

}  // namespace canopy::bench::gpu
