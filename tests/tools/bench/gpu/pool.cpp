#include "pool.h"

#include <bench/subject.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>

namespace canopy::bench::gpu {

std::uint64_t Pool::Shape::page_bytes() const {
  return std::accumulate(rows.begin(), rows.end(), std::uint64_t{0}) * page_size * layers;
}

Pool::Pool(Session& session, const Shape& shape) {
  const Device& device = *session.device();
  std::string streams;
  for (std::size_t s = 0; s < shape.rows.size(); ++s)
    streams += fmt::format("{}r{}: {}", s ? ", " : "", s, shape.rows[s]);
  const std::uint64_t headroom = std::min<std::uint64_t>(device.total_bytes / 64, std::uint64_t{2} << 30);
  store_ = need(make_store(session.registry, "cuda", {shape.page_size, shape.segment_pages, shape.pages},
                           fmt::format("layers: {}\nstreams: {{ {} }}\nahead: {}\nheadroom: {}\n", shape.layers,
                                       streams, shape.ahead, headroom)));
  store_->use_stream(device.stream);
  const KVView& view = store_->view();
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
