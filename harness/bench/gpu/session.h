#pragma once

#include <canopy/kv_store.h>
#include <canopy/loading/registry.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <bench/clock.h>
#include "device.h"
#include "gpu_bench.h"

namespace canopy::bench::gpu {

/// How much is moved: less where the memory, the time or the device is small.
struct Scale {
  std::uint64_t pool = 0;      ///< bytes of a store's pool
  std::uint64_t moved = 0;     ///< bytes that one timed move has at most
  std::uint64_t roofline = 0;  ///< of the copies that everything is held against, and of both ways across the bus
  std::uint64_t flushed = 0;   ///< copied between two samples: the L2 holds none of what is timed next
  std::uint64_t launched = 0;  ///< what is smaller takes longer to launch than to do
  std::uint64_t segment = 0;   ///< of the pools whose growth is timed
  std::size_t samples = 30, least = 5;
};

/// One run of the sections: where figures go, how much time is left, and the acceptance figures as far as they are
/// known.
class Session {
 public:
  Session(Report& report, const Registry& registry, std::unique_ptr<Device> device, double seconds);

  Report& report;
  const Registry& registry;
  Device* device() const { return device_.get(); }
  const Scale& scale() const { return scale_; }

  /// A section is given `seconds` of the usual budget, which its cells share. `name` is what its lines stand under.
  void begin(std::string name, double seconds, std::size_t cells);
  /// A cell begins; how long it may take.
  double cell();

  Line& line(std::string name, Unit unit, Range value, std::string note = {});
  /// A rate of `bytes` per sample, beside a roofline if there is one.
  Line& rate(std::string name, double bytes, const Range& seconds, double roofline, std::string note = {});

  /// The worst case of an acceptance figure is kept. `value` against `limit`, which it must reach, or must not exceed.
  void at_least(const std::string& id, double value, double limit, const std::string& what);
  void at_most(const std::string& id, double value, double limit, const std::string& what);
  struct Finding {
    double margin = std::numeric_limits<double>::infinity();  ///< below 1: missed
    std::string what;
    bool on_gpu = true;
  };
  std::map<std::string, Finding> findings;

  /// REQUIRES, for all below: there is a device.
  /// Seconds of `work(i)` on the device's stream, each as events on both sides of `calls` calls see it. Between two
  /// samples something larger than the L2 is copied, which also keeps the device busy until all is queued.
  template <class Work>
  Range time_on_stream(std::size_t calls, Work&& work) {
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
    return range_of(std::move(seconds));
  }
  /// Seconds of a call by this thread's clock, until it returns.
  template <class Work>
  Range time_call(Work&& work) {
    std::vector<double> seconds;
    const double end = now() + cell();
    while (seconds.size() < scale_.least || (seconds.size() < scale_.samples && now() < end))
      seconds.push_back(seconds_of(work));
    return range_of(std::move(seconds));
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

/// The store as a configuration would have it, all of its segments with memory unless told otherwise. Its calls queue
/// on the device's stream.
class Pool {
 public:
  struct Shape {
    std::vector<std::uint32_t> rows;
    std::uint32_t layers = 1;
    Units page_size = 16;
    std::uint64_t pages = 0;
    std::uint32_t segment_pages = 0;
    std::uint32_t ahead = 0;
    std::uint32_t backed = ~std::uint32_t{0};  ///< segments that get memory
    std::uint64_t page_bytes() const;
  };
  /// Throws if the device has less memory than that.
  Pool(Session& session, const Shape& shape);

  KVStore& store() { return *store_; }
  Mover& mover() { return *mover_; }
  std::uint32_t backed() const { return backed_; }
  std::uint64_t pages() const { return order_.size(); }
  /// The next `count` pages in an order that is fixed and like a used pool's: two calls in a row share none.
  /// REQUIRES: count <= pages().
  std::span<const Page> next(std::size_t count);
  /// Throws what sync() of the store answers.
  void check();

 private:
  std::shared_ptr<KVStore> store_;
  std::unique_ptr<Mover> mover_;
  std::vector<Page> order_;
  std::size_t at_ = 0;
  std::uint32_t backed_ = 0;
};

std::string size_text(std::uint64_t bytes);  ///< 128 B, 64 KiB, 1.5 GiB
void require(bool holds, const char* what);  ///< throws "wrong bytes: what"

/// Sections, in the order of their names. Those of the host need no device.
void measure_rooflines(Session& session, bool bus);
void measure_rows_write(Session& session);
void measure_rows_read(Session& session);
void measure_page_copy(Session& session);
void measure_images(Session& session);
void measure_bus(Session& session);
void measure_beside(Session& session);
void measure_layouts(Session& session);
void measure_vmm(Session& session);
void measure_growth(Session& session);
void measure_drain(Session& session);
void measure_allocators(Session& session);
void measure_host_arena(Session& session);
void measure_shrinking(Session& session);
/// How long the store's plugin takes to open and to find that there is no driver, some times, each in a process of its
/// own. REQUIRES: no other thread, and nobody has opened it in this process.
std::vector<double> seconds_to_decline(const std::filesystem::path& plugin);
void measure_declining(Session& session, std::vector<double> seconds);

/// A1 to A13 as far as the session knows them.
std::vector<Demand> judge(const Session& session);

}  // namespace canopy::bench::gpu
