#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace canopy::inspector {

/// Values by number, in blocks that are allocated when first written, because numbers may be few and far apart. Copies
/// share blocks until one of them writes.
template <class Value, std::size_t kBlock>
class SharedBlocks {
 public:
  Value& operator[](std::size_t number) {
    if (blocks_.size() <= number / kBlock) blocks_.resize(number / kBlock + 1);
    auto& block = blocks_[number / kBlock];
    if (!block) block = std::make_shared<Block>();
    else if (block.use_count() > 1) block = std::make_shared<Block>(*block);
    return (*block)[number % kBlock];
  }
  /// Returns the value, or an empty one if it was never written.
  const Value& operator[](std::size_t number) const {
    static const Value kNone{};
    return number / kBlock < blocks_.size() && blocks_[number / kBlock] ? (*blocks_[number / kBlock])[number % kBlock]
                                                                        : kNone;
  }
  std::size_t size() const { return blocks_.size() * kBlock; }  ///< every number that was written is smaller
  void clear() { blocks_.clear(); }
  /// Calls visit(number) for every number in a block that was written.
  template <class Visit>
  void each_written(Visit&& visit) const {
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      for (std::size_t i = 0; blocks_[b] && i < kBlock; ++i) visit(static_cast<std::uint32_t>(b * kBlock + i));
  }

 private:
  using Block = std::array<Value, kBlock>;
  std::vector<std::shared_ptr<Block>> blocks_;
};

}  // namespace canopy::inspector
