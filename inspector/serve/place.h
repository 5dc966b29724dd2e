#pragma once

#include <cstddef>
#include <utility>

namespace canopy::inspector {

/// A place among things that are counted: adds one to the count for its lifetime.
class Place {
 public:
  explicit Place(std::size_t& count) : count_(&count) { ++count; }
  Place(Place&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
  ~Place() {
    if (count_) --*count_;
  }

 private:
  std::size_t* count_;
};

}  // namespace canopy::inspector
