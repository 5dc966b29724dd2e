#pragma once

#include <canopy/engine/ledger.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace canopy {

/// An error message that is formatted without memory from the heap, so that it can report that there is none. A longer
/// one than Ledger::kMostBytes is cut. REQUIRES: its arguments are texts and integers.
class Sentence {
 public:
  template <class... Args>
  explicit Sentence(fmt::format_string<Args...> format, Args&&... args) noexcept
      : size_(std::min(fmt::format_to_n(text_, Ledger::kMostBytes, format, std::forward<Args>(args)...).size,
                       Ledger::kMostBytes)) {
    text_[size_] = '\0';
  }
  std::string_view view() const { return {text_, size_}; }
  operator std::string_view() const { return view(); }
  const char* c_str() const { return text_; }

 private:
  char text_[Ledger::kMostBytes + 1];
  std::size_t size_;
};

}  // namespace canopy
