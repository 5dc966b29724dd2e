#pragma once

#include <canopy/support/result.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace canopy::workload {

/// How many tokens each request's answer had, by the request's name. A log says so long after the request came, so it
/// is read once for this before it is read for the requests.
class LogOutputs {
 public:
  /// A part of an answer, or all of it.
  struct Part {
    std::string_view request;  ///< empty: the line says nothing of an answer
    std::uint64_t tokens = 0;
    bool adds = false;  ///< to what was said before; otherwise the greatest counts
  };
  /// Reads all lines. What is wrong with one is told when it is read for the requests.
  static Result<LogOutputs> read(const std::string& path, const std::function<Part(std::string_view)>& part);

  /// 0 of a request whose answer is not there.
  std::uint32_t of(std::string_view request) const;
  bool empty() const { return tokens_.empty(); }

 private:
  std::unordered_map<std::string, std::uint64_t> tokens_;
};

}  // namespace canopy::workload
