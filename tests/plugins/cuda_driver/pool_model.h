#pragma once
/// A pool in host memory whose rows were placed by walking it, and plain loops that say what each kernel must do to
/// it. Nothing here uses the address formula of the kernels.

#include <canopy/base/random.h>
#include <cuda/kernels_launch.h>

#include <memory>
#include <vector>

namespace cuda_test {

using namespace canopy;
using Bytes = std::vector<std::byte>;

/// Heap memory of exactly that many bytes behind `skew` bytes, so that a sanitizer sees the first byte too many.
class Block {
 public:
  Block(std::size_t bytes, std::size_t skew) : skew_(skew), bytes_(bytes), memory_(new std::byte[skew + bytes]) {}
  std::byte* data() { return memory_.get() + skew_; }
  std::size_t size() const { return bytes_; }
  Bytes copy() const { return {memory_.get(), memory_.get() + skew_ + bytes_}; }
  void assign(const Bytes& all) { std::copy(all.begin(), all.end(), memory_.get()); }
  std::size_t skew() const { return skew_; }

 private:
  std::size_t skew_, bytes_;
  std::unique_ptr<std::byte[]> memory_;
};

struct Shape {
  std::vector<std::uint32_t> row_bytes;      ///< by stream
  std::vector<std::uint32_t> token_padding;  ///< by stream: bytes after each row
  std::uint32_t layers = 1, page_size = 1, segment_pages = 1, segments = 1;
  std::uint32_t stride_padding = 0;  ///< bytes after each page, each layer and each segment
  std::uint32_t skew = 0;            ///< bytes by which the base address is not aligned
};

class PoolModel {
 public:
  PoolModel(const Shape& shape, Random& prng) : shape_(shape) {
    view_ = {};
    view_.streams = static_cast<std::uint32_t>(shape.row_bytes.size());
    view_.layers = shape.layers;
    view_.page_size = shape.page_size;
    view_.segment_pages = shape.segment_pages;
    rows_.resize(view_.streams);
    for (std::uint32_t s = 0; s < view_.streams; ++s) place(s);
    for (Block& block : streams_) fill(block, prng);
  }

  static void fill(Block& block, Random& prng) {
    Bytes all(block.skew() + block.size());
    for (std::byte& byte : all) byte = static_cast<std::byte>(prng.next());
    block.assign(all);
  }

  const KVView& view() const { return view_; }
  const Shape& shape() const { return shape_; }
  std::uint32_t pages() const { return shape_.segments * shape_.segment_pages; }
  Block& stream(std::uint32_t s) { return streams_[s]; }
  /// Returns the offset of a row in copy() of its stream.
  std::size_t row(std::uint32_t s, std::uint32_t layer, std::uint32_t page, std::uint32_t token) const {
    return shape_.skew + rows_[s][(std::size_t{layer} * pages() + page) * shape_.page_size + token];
  }

 private:
  /// Walks the stream from its first byte to its last, noting each row as it comes by.
  void place(std::uint32_t s) {
    KVStream& stream = view_.stream[s];
    std::vector<std::size_t>& rows = rows_[s];
    rows.resize(std::size_t{shape_.layers} * pages() * shape_.page_size);
    std::size_t at = 0, end = 0;
    for (std::uint32_t segment = 0; segment < shape_.segments; ++segment) {
      for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) {
        for (std::uint32_t in_segment = 0; in_segment < shape_.segment_pages; ++in_segment) {
          const std::uint32_t page = segment * shape_.segment_pages + in_segment;
          for (std::uint32_t token = 0; token < shape_.page_size; ++token) {
            rows[(std::size_t{layer} * pages() + page) * shape_.page_size + token] = at;
            end = at + shape_.row_bytes[s];
            at = end + shape_.token_padding[s];
          }
          at += shape_.stride_padding;
          if (segment == 0 && layer == 0 && in_segment == 0) stream.page_stride = at;
        }
        at += shape_.stride_padding;
        if (segment == 0 && layer == 0) stream.layer_stride = at;
      }
      at += shape_.stride_padding;
      if (segment == 0) stream.segment_stride = at;
    }
    streams_.emplace_back(end, shape_.skew);
    stream.base = streams_.back().data();
    stream.row_bytes = shape_.row_bytes[s];
    stream.token_stride = shape_.row_bytes[s] + shape_.token_padding[s];
  }

  Shape shape_;
  KVView view_;
  std::vector<Block> streams_;
  std::vector<std::vector<std::size_t>> rows_;  ///< by stream: [layer][page][token]
};

}  // namespace cuda_test
