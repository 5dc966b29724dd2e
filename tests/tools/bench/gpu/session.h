#pragma once

#include <bench/clock.h>
#include <bench/report.h>
#include <canopy/base/option_walkers.h>
#include <canopy/base/registry.h>

#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "device.h"

namespace canopy::bench::gpu {

/// Returns the median, and the 10th and 90th percentile. REQUIRES: not empty.
Spread tenths_of(std::vector<double> samples);
void require(bool holds, const char* what);  ///< throws "wrong bytes: what"
/// Returns the value; throws an error.
template <class T>
T need(Result<T> made) {
  if (!made) throw std::runtime_error(made.error().text);
  return std::move(*made);
}

/// The number of bytes that are moved: fewer if the memory, the time or the device is small.
struct Scale {
  std::uint64_t pool = 0;      ///< bytes of a store's pool
  std::uint64_t moved = 0;     ///< bytes that one timed move has at most
  std::uint64_t roofline = 0;  ///< bytes of the copies for comparison, and of both ways across the bus
  std::uint64_t flushed = 0;   ///< bytes copied between two samples to empty the L2
  std::uint64_t segment = 0;   ///< bytes of a segment of the pools whose growth is timed
  std::size_t samples = 30, least = 5;
};

/// Scattered pieces, for the driver's own call that moves many pieces.
struct Batch {
  std::vector<DevicePtr> to, from;
  std::vector<std::size_t> bytes;
  void queue(const Device& device);
};

/// One run of the sections: measures, collects rows and acceptance figures, and divides the time.
class Session {
 public:
  Session(Report& report, const Registry& registry, std::unique_ptr<Device> device, double seconds);

  Report& report;
  const Registry& registry;
  Device* device() const { return device_.get(); }
  const Scale& scale() const { return scale_; }

  /// Begins a section of `seconds`, which its cells share: one, until cells() sets another number.
  void begin(std::string section, double seconds);
  void cells(std::size_t count) { cells_ = std::max<std::size_t>(count, 1); }

  /// Calls `work` until there are enough samples, or at most `most`, or the cell's time is over.
  template <class Work>
  void repeat(Work&& work, std::size_t each = 1, std::size_t most = ~std::size_t{0}) {
    const double end = now() + cell();
    for (std::size_t n = 0; n < scale_.least || (n < std::min(most, scale_.samples) && now() < end); n += each) work();
  }
  /// Returns the seconds of one `work(i)` on the device's stream, between events on both sides of `calls` calls. Copies
  /// more than the L2 between two samples, which also keeps the device busy until everything is queued.
  template <class Work>
  Spread time_on_stream(std::size_t calls, Work&& work) {
    constexpr std::size_t kQueued = 5;
    std::vector<double> seconds;
    std::vector<std::unique_ptr<Event>> events;
    for (std::size_t i = 0; i < 2 * kQueued; ++i) events.push_back(std::make_unique<Event>(*device_));
    std::size_t call = 0;
    for (std::size_t i = 0; i < calls; ++i) work(call++);  // anything that is made on first use is made now
    device_->wait(device_->stream);
    repeat(
        [&] {
          for (std::size_t i = 0; i < kQueued; ++i) {
            device_->copy(flush_->at + scale_.flushed, flush_->at, scale_.flushed, device_->stream);
            events[2 * i]->record(device_->stream);
            for (std::size_t n = 0; n < calls; ++n) work(call++);
            events[2 * i + 1]->record(device_->stream);
          }
          device_->wait(device_->stream);
          for (std::size_t i = 0; i < kQueued; ++i)
            seconds.push_back(events[2 * i + 1]->since(*events[2 * i]) / static_cast<double>(calls));
        },
        kQueued);
    return tenths_of(std::move(seconds));
  }

  void time(std::string name, const Spread& seconds, std::string note = {}) {
    add(std::move(name), Kind::time, seconds, std::move(note));
  }
  /// Adds a rate of `bytes` per sample, beside a roofline unless that is 0.
  void rate(std::string name, std::uint64_t bytes, const Spread& seconds, double roofline, std::string note = {});
  /// Adds another way to do the work of the last row; the fastest one stays.
  void peer(const std::string& name, const Spread& seconds);
  /// Times the batch as a peer of the last row. Returns false if the driver has no such call or the pieces are too
  /// many.
  bool peer(Batch& batch);
  const Row& last() const { return report.rows.back(); }

  /// Records `value` for an acceptance figure, which must reach `limit`, or must not exceed it. Keeps the worst case.
  void at_least(const std::string& id, double value, double limit, const std::string& what);
  void at_most(const std::string& id, double value, double limit, const std::string& what) {
    at_least(id, limit, value, what);
  }
  /// Records the last row's share of its roofline, or of its peer's rate.
  void share_at_least(const std::string& id, double limit) { share_of(id, *last().original, limit); }
  void peers_at_least(const std::string& id, double limit) { share_of(id, *last().floor, limit); }
  struct Finding {
    double margin = std::numeric_limits<double>::infinity();  ///< below 1: missed
    std::string what;
  };
  std::map<std::string, Finding> findings;

  double share = 1;                                    ///< share of the usual budget
  double device_copy = 0, to_host = 0, to_device = 0;  ///< bytes a second, read and written counted; 0: not measured

 private:
  /// Begins a cell. Returns the seconds that it may take.
  double cell();
  void add(std::string name, Kind kind, const Spread& value, std::string note);
  void share_of(const std::string& id, const Spread& other, double limit);

  std::unique_ptr<Device> device_;
  Scale scale_;
  std::unique_ptr<Buffer> flush_;
  std::string section_;
  double section_end_ = 0;
  std::size_t cells_ = 1;
  std::uint64_t row_bytes_ = 0;  ///< bytes per sample of the last row
};

}  // namespace canopy::bench::gpu
