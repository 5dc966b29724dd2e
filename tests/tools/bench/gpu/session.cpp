#include "session.h"

#include <fmt/format.h>

#include <algorithm>

namespace canopy::bench::gpu {

Spread tenths_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    return samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1) + 0.5)];
  };
  return {at(0.5), at(0.1), at(0.9), samples.size()};
}

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("wrong bytes: ") + what);
}

void Batch::queue(const Device& device) {
  std::size_t first = 0, failed = 0;
  cuda::MemcpyAttributes attributes;
  device.check("cuMemcpyBatchAsync",
               device.driver().memcpy_batch_async(to.data(), from.data(), bytes.data(), to.size(), &attributes, &first,
                                                  1, &failed, device.stream));
}

namespace {

Spread rate_of(std::uint64_t bytes, const Spread& seconds) {
  const auto count = static_cast<double>(bytes);
  return {count / seconds.median, count / seconds.high, count / seconds.low, seconds.samples};
}

Scale scale_for(const Device& device, double seconds) {
  constexpr std::uint64_t kMiB = 1 << 20, kGiB = 1 << 30;
  Scale scale;
  if (!device.fake) {
    // Two pools, or a pool and a buffer of the same size, must fit beside the memory of others.
    const std::uint64_t room = device.free_bytes() / 4;
    scale.pool = std::min(room, seconds < 60 ? 2 * kGiB : 8 * kGiB);
    scale.moved = std::min(scale.pool / 4, seconds < 60 ? 256 * kMiB : 512 * kMiB);
    scale.roofline = std::min(room / 2, 4 * kGiB);
    scale.flushed = std::min(room / 8, 128 * kMiB);
    scale.segment = 128 * kMiB;
    return scale;
  }
  scale.pool = 8 * kMiB;
  scale.moved = kMiB / 2;
  scale.roofline = kMiB;
  scale.flushed = kMiB / 16;
  scale.segment = 2 * kMiB;
  scale.samples = scale.least = 5;
  return scale;
}

}  // namespace

Session::Session(Report& to, const Registry& plugins, std::unique_ptr<Device> device, double seconds)
    : report(to),
      registry(plugins),
      device_(std::move(device)),
      scale_(scale_for(*device_, seconds)),
      flush_(std::make_unique<Buffer>(*device_, 2 * scale_.flushed)) {}

void Session::begin(std::string section, double seconds) {
  section_ = std::move(section);
  section_end_ = now() + seconds * share;
  cells_ = 1;
}

double Session::cell() {
  const double seconds = std::max(section_end_ - now(), 0.0) / static_cast<double>(cells_);
  if (cells_ > 1) --cells_;
  return seconds;
}

void Session::add(std::string name, Kind kind, const Spread& value, std::string note) {
  Row& added = report.rows.emplace_back();
  added.section = section_;
  added.name = std::move(name);
  added.kind = kind;
  added.ours = value;
  added.note = std::move(note);
}

void Session::rate(std::string name, std::uint64_t bytes, const Spread& seconds, double roofline, std::string note) {
  row_bytes_ = bytes;
  add(std::move(name), Kind::rate, rate_of(bytes, seconds), std::move(note));
  if (roofline > 0) report.rows.back().original = Spread{roofline, roofline, roofline};
}

void Session::peer(const std::string& name, const Spread& seconds) {
  Row& row = report.rows.back();
  const bool is_rate = row.kind == Kind::rate;
  const Spread value = is_rate ? rate_of(row_bytes_, seconds) : seconds;
  if (row.floor && (value.median > row.floor->median) != is_rate) return;
  row.floor = value;
  row.per = "peer: " + name;
}

bool Session::peer(Batch& batch) {
  constexpr std::size_t kMostPieces = 16384;  // the CPU queues each one
  if (!device_->driver().memcpy_batch_async || batch.to.size() > kMostPieces) return false;
  peer(fmt::format("cuMemcpyBatchAsync, {} pieces of {}", batch.to.size(), quantity(batch.bytes[0], Unit::bytes)),
       time_on_stream(1, [&](std::size_t) { batch.queue(*device_); }));
  return true;
}

void Session::at_least(const std::string& id, double value, double limit, const std::string& what) {
  Finding& finding = findings[id];
  if (value / limit >= finding.margin) return;
  finding = {value / limit, what};
}

void Session::share_of(const std::string& id, const Spread& other, double limit) {
  const double part = last().ours.median / other.median;
  at_least(id, part, limit, fmt::format("{:.3f} ({})", part, last().name));
}

}  // namespace canopy::bench::gpu
