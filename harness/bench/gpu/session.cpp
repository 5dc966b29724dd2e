#include "session.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include <bench/subject.h>

namespace canopy::bench::gpu {

Range range_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    return samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1) + 0.5)];
  };
  return {at(0.5), at(0.1), at(0.9), samples.size()};
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

Line& Session::line(std::string name, Unit unit, Range value, std::string note) {
  Line& added = report.lines.emplace_back();
  added.section = section_;
  added.name = std::move(name);
  added.unit = unit;
  added.value = value;
  added.note = std::move(note);
  return added;
}

Line& Session::rate(std::string name, double bytes, const Range& seconds, double roofline, std::string note) {
  const Range rates{bytes / seconds.median, bytes / seconds.high, bytes / seconds.low, seconds.samples};
  Line& added = line(std::move(name), Unit::rate, rates, std::move(note));
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

std::uint64_t Pool::Shape::page_bytes() const {
  return std::accumulate(rows.begin(), rows.end(), std::uint64_t{0}) * page_size * layers;
}

Pool::Pool(Session& session, const Shape& shape) {
  const Device& device = *session.device();
  std::string streams;
  for (std::size_t s = 0; s < shape.rows.size(); ++s)
    streams += fmt::format("{}r{}: {}", s ? ", " : "", s, shape.rows[s]);
  const std::uint64_t headroom = std::min<std::uint64_t>(device.total_bytes / 64, std::uint64_t{2} << 30);
  auto made = make_store(session.registry, "cuda", {shape.page_size, shape.segment_pages, shape.pages},
                         fmt::format("layers: {}\nstreams: {{ {} }}\nahead: {}\nheadroom: {}\n", shape.layers, streams,
                                     shape.ahead, headroom));
  if (!made) throw std::runtime_error(made.error().text);
  store_ = std::move(*made);
  store_->use_stream(device.stream);
  const KvView& view = store_->view();
  const std::uint64_t segments = (shape.pages + view.segment_pages - 1) / view.segment_pages;
  const std::uint64_t wanted = std::min<std::uint64_t>(segments, shape.backed);
  while (backed_ < std::min<std::uint64_t>(wanted, view.segments) && store_->back(backed_)) ++backed_;
  check();
  if (backed_ < wanted)
    throw std::runtime_error(fmt::format("the GPU has memory for {} of {} segments of a pool", backed_, wanted));
  order_.resize(std::min<std::uint64_t>(shape.pages, std::uint64_t{backed_} * view.segment_pages));
  std::iota(order_.begin(), order_.end(), Page{0});
  std::shuffle(order_.begin(), order_.end(), std::mt19937(7));
  mover_ = std::make_unique<Mover>(device, view, order_.size());
}

std::span<const Page> Pool::next(std::size_t count) {
  if (at_ + count > order_.size()) at_ = 0;
  at_ += count;
  return std::span<const Page>(order_).subspan(at_ - count, count);
}

void Pool::check() {
  if (const char* failure = store_->sync()) throw std::runtime_error(failure);
}

}  // namespace canopy::bench::gpu
