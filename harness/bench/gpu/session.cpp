#include "session.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "sections.h"

namespace canopy::bench::gpu {

Spread tenths_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    return samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1) + 0.5)];
  };
  return {at(0.5), at(0.1), at(0.9), samples.size()};
}

Spread rate_of(double bytes, const Spread& seconds) {
  return {bytes / seconds.median, bytes / seconds.high, bytes / seconds.low, seconds.samples};
}

std::string size_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("wrong bytes: ") + what);
}

namespace {

Scale scale_for(const Device* device, double seconds) {
  constexpr std::uint64_t kMiB = 1 << 20, kGiB = 1 << 30;
  Scale scale;
  if (device && !device->fake) {
    // Two pools, or a pool and a buffer as large, must fit beside what others have.
    const std::uint64_t room = device->free_bytes() / 4;
    scale.pool = std::min(room, seconds < 60 ? 2 * kGiB : 8 * kGiB);
    scale.moved = std::min(scale.pool / 4, seconds < 60 ? 256 * kMiB : 512 * kMiB);
    scale.roofline = std::min(room / 2, 4 * kGiB);
    scale.flushed = std::min(room / 8, 128 * kMiB);
    scale.launched = 4 * kMiB;
    scale.segment = 128 * kMiB;
    return scale;
  }
  scale.pool = 8 * kMiB;
  scale.moved = kMiB / 2;
  scale.roofline = kMiB;
  scale.flushed = kMiB / 16;
  scale.launched = kMiB / 8;
  scale.segment = device ? 2 * kMiB : 128 * kMiB;
  if (device) scale.samples = scale.least = 5;
  return scale;
}

}  // namespace

Session::Session(Report& to, const Registry& plugins, std::unique_ptr<Device> device, double seconds)
    : report(to), registry(plugins), device_(std::move(device)), scale_(scale_for(device_.get(), seconds)) {
  if (device_) flush_ = std::make_unique<Buffer>(*device_, 2 * scale_.flushed);
}

void Session::begin(std::string name, double seconds, std::size_t cells) {
  section_ = std::move(name);
  section_end_ = now() + seconds * share;
  cells_ = std::max<std::size_t>(cells, 1);
}

double Session::cell() {
  const double seconds = std::max(section_end_ - now(), 0.0) / static_cast<double>(cells_);
  if (cells_ > 1) --cells_;
  return seconds;
}

Row& Session::row(std::string name, Kind kind, Spread value, std::string note) {
  Row& added = report.rows.emplace_back();
  added.section = section_;
  added.name = std::move(name);
  added.kind = kind;
  added.ours = value;
  added.note = std::move(note);
  added.on_gpu = true;
  return added;
}

Row& Session::rate(std::string name, double bytes, const Spread& seconds, double roofline, std::string note) {
  const Spread rates = rate_of(bytes, seconds);
  Row& added = row(std::move(name), Kind::rate, rates, std::move(note));
  if (roofline > 0) added.of_roofline = rates.median / roofline;
  return added;
}

void Session::at_least(const std::string& id, double value, double limit, const std::string& what) {
  Finding& finding = findings[id];
  if (value / limit >= finding.margin) return;
  finding.margin = value / limit;
  finding.what = what;
}
void Session::at_most(const std::string& id, double value, double limit, const std::string& what) {
  at_least(id, limit, value, what);
}

void Session::flush() { device_->copy(flush_->at + scale_.flushed, flush_->at, scale_.flushed, device_->stream); }

void Session::need_rooflines(bool bus) {
  if (bus ? to_host > 0 : device_copy > 0) return;
  const std::string section = section_;
  const double end = section_end_;
  const std::size_t cells = cells_;
  measure_rooflines(*this, bus);
  section_ = section;
  section_end_ = std::max(end, now());
  cells_ = cells;
}

}  // namespace canopy::bench::gpu
