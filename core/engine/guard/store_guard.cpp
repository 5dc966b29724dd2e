#include "guard/store_guard.h"

#include <fmt/format.h>

#include <algorithm>

namespace canopy {

std::string StoreGuard::flaw(Units page_size) {
  struct Shape {
    std::span<const Stream> streams;
    std::uint32_t layers = 0;
    const KvView* view = nullptr;
  };
  const Shape shape = ask("view", [&] { return Shape{store_->streams(), store_->layers(), &store_->view()}; });
  if (!shape.view) return component() + " threw when it was asked for its view";
  streams_ = shape.streams;
  view_ = shape.view;
  const std::string why = flaw_of(*shape.view, shape.layers, page_size);
  return why.empty() ? why : fmt::format("{} cannot be used: {}", component(), why);
}

std::string StoreGuard::flaw_of(const KvView& view, std::uint32_t layers, Units page_size) const {
  if (streams_.empty() || streams_.size() > kMaxStreams)
    return fmt::format("it has {} streams, expected 1 to {}", streams_.size(), kMaxStreams);
  if (view.streams != streams_.size())
    return fmt::format("its view has {} streams, and it has {}", view.streams, streams_.size());
  if (layers == 0 || view.layers != layers)
    return fmt::format("it has {} layers, and its view {}; expected the same number, at least 1", layers, view.layers);
  if (view.page_size != page_size)
    return fmt::format("its pages have {} tokens, and the engine's {}", view.page_size, page_size);
  if (view.segment_pages == 0) return "its segments have 0 pages";
  if (view.segments == 0) return "it has addresses for 0 segments";
  if (view.kernel_pages < view.segment_pages)
    return fmt::format("its segments lie {} pages apart, and have {}", view.kernel_pages, view.segment_pages);
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    const KvStream& stream = view.stream[s];
    const std::uint32_t row = streams_[s].row_bytes;
    if (row == 0 || stream.row_bytes != row)
      return fmt::format(
          "rows of its stream {} have {} bytes, and {} in its view; expected the same number, at least 1", s, row,
          stream.row_bytes);
    if (stream.token_stride < row || stream.page_stride < std::uint64_t{stream.token_stride} * (page_size - 1) + row)
      return fmt::format(
          "rows of its stream {} lie over one another: {} bytes from token to token and {} from page to "
          "page, for rows of {} bytes",
          s, stream.token_stride, stream.page_stride, row);
  }
  return {};
}

const char* StoreGuard::sync() {
  const char* const failed = ask("sync", [&] { return store_->sync(); });
  if (!failed) return nullptr;
  failure_ = fmt::format("{}, sync: {}", component(), failed);
  return failure_.c_str();
}

}  // namespace canopy
