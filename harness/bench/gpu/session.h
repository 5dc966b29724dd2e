#pragma once

#include <bench/clock.h>
#include <bench/report.h>
#include <canopy/loading/registry.h>

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device.h"

namespace canopy::bench::gpu {

/// The median, and the 10th and 90th percentile. REQUIRES: not empty.
Spread tenths_of(std::vector<double> samples);
/// Seconds for `bytes` as bytes a second.
Spread rate_of(double bytes, const Spread& seconds);
std::string size_text(std::uint64_t bytes);  ///< 128 B, 64 KiB, 1.5 GiB
void require(bool holds, const char* what);  ///< throws "wrong bytes: what"

/// How much is moved: less where the memory, the time or the device is small.
struct Scale {
  std::uint64_t pool = 0;      ///< bytes of a store's pool
  std::uint64_t moved = 0;     ///< bytes that one timed move has at most
  std::uint64_t roofline = 0;  ///< of the copies that rates are compared with, and of both ways across the bus
  std::uint64_t flushed = 0;   ///< copied between two samples, to empty the L2
  std::uint64_t launched = 0;  ///< a smaller move takes longer to launch than to do
  std::uint64_t segment = 0;   ///< of the pools whose growth is timed
  std::size_t samples = 30, least = 5;
};

/// One run of the sections: collects rows and acceptance figures, and divides the time.
class Session {
 public:
  Session(Report& report, const Registry& registry, std::unique_ptr<Device> device, double seconds);

  Report& report;
  const Registry& registry;
  Device* device() const { return device_.get(); }
  const Scale& scale() const { return scale_; }

  /// A section is given `seconds` of the usual budget, which its cells share. `name` is the section of its rows.
  void begin(std::string name, double seconds, std::size_t cells);
  /// Begins a cell. Returns the seconds that it may take.
  double cell();

  Row& row(std::string name, Kind kind, Spread value, std::string note = {});
  /// A rate of `bytes` per sample, beside a roofline if there is one.
  Row& rate(std::string name, double bytes, const Spread& seconds, double roofline, std::string note = {});

  /// Notes `value` for an acceptance figure, which must reach `limit`, or must not exceed it. The worst case is kept.
  void at_least(const std::string& id, double value, double limit, const std::string& what);
  void at_most(const std::string& id, double value, double limit, const std::string& what);
  struct Finding {
    double margin = std::numeric_limits<double>::infinity();  ///< below 1: missed
    std::string what;
    bool on_gpu = true;
  };
  std::map<std::string, Finding> findings;

  /// REQUIRES, for all below: there is a device.
  /// Seconds of one `work(i)` on the device's stream, between events on both sides of `calls` calls. Between two
  /// samples more than the L2 is copied, which also keeps the device busy until all is queued.
  template <class Work>
  Spread time_on_stream(std::size_t calls, Work&& work) {
    std::vector<double> seconds;
    const double end = now() + cell();
    std::vector<std::unique_ptr<Event>> events;
    constexpr std::size_t kQueued = 5;
    for (std::size_t i = 0; i < 2 * kQueued; ++i) events.push_back(std::make_unique<Event>(*device_));
    std::size_t call = 0;
    for (std::size_t i = 0; i < calls; ++i) work(call++);  // what is made on first use is made now
    device_->wait(device_->stream);
    while (seconds.size() < scale_.least || (seconds.size() < scale_.samples && now() < end)) {
      for (std::size_t i = 0; i < kQueued; ++i) {
        flush();
        events[2 * i]->record(device_->stream);
        for (std::size_t n = 0; n < calls; ++n) work(call++);
        events[2 * i + 1]->record(device_->stream);
      }
      device_->wait(device_->stream);
      for (std::size_t i = 0; i < kQueued; ++i)
        seconds.push_back(events[2 * i + 1]->since(*events[2 * i]) / static_cast<double>(calls));
    }
    return tenths_of(std::move(seconds));
  }
  /// Seconds of a call by this thread's clock, until it returns.
  template <class Work>
  Spread time_call(Work&& work) {
    std::vector<double> seconds;
    const double end = now() + cell();
    while (seconds.size() < scale_.least || (seconds.size() < scale_.samples && now() < end))
      seconds.push_back(seconds_of(work));
    return tenths_of(std::move(seconds));
  }

  double share = 1;                                    ///< of the usual budget
  double device_copy = 0, to_host = 0, to_device = 0;  ///< bytes a second, read and written counted; 0: not measured
  void need_rooflines(bool bus);

 private:
  void flush();

  std::unique_ptr<Device> device_;
  Scale scale_;
  std::unique_ptr<Buffer> flush_;
  std::string section_;
  double section_end_ = 0;
  std::size_t cells_ = 1;
};

}  // namespace canopy::bench::gpu
