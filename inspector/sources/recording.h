#pragma once

#include <canopy/feed/header.h>
#include <canopy/feed/shared_mapping.h>
#include <canopy/support/result.h>

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace canopy::inspector {

/// A feed in a file, mapped into memory. It has whole commits only: half of one at the end is left out.
class Recording {
 public:
  /// Looks at the header alone: scan() must reach the end before anything else is asked. The error says why the file is
  /// no recording.
  static Result<std::unique_ptr<Recording>> begin(const std::string& path);
  /// Goes on finding its operations, through so many events at most. True when it has found them all.
  bool scan(std::uint64_t events);
  /// How much of the file it has gone through, from 0 to 1.
  double scanned() const { return end_ == 0 ? 1 : static_cast<double>(next_) / static_cast<double>(end_); }
  /// begin() and scan() in one: an error as well if the file holds no whole operation.
  static Result<std::unique_ptr<Recording>> open(const std::string& path);
  static constexpr const char* kNothing = "the recording holds no whole operation";
  Recording(const Recording&) = delete;

  const FeedShape& header() const { return shape_; }
  std::uint64_t commits() const { return marks_.empty() ? 0 : commits_; }
  /// The events of commits [first, end), numbered from 0.
  std::span<const Event> events(std::uint64_t first, std::uint64_t end) const;
  /// The commit, numbered from 1, with which a request began; 0 if the recording does not have it.
  std::uint64_t begun(std::uint64_t request) const {
    const auto found = begun_.find(request);
    return found == begun_.end() ? 0 : found->second;
  }
  /// Whether it ends in the middle of an operation: the process that wrote it did not end normally.
  bool cut_short() const { return whole_ != end_; }
  /// Whether the file was made shorter since it was opened: events behind its new end are none.
  bool shrank() const { return memory_.cut(); }

 private:
  static constexpr std::uint64_t kStride = 1024;  ///< commits between two marks
  Recording() = default;
  std::uint64_t event_of(std::uint64_t commit) const;

  SharedMapping memory_;
  FeedShape shape_;
  const Event* events_ = nullptr;
  std::uint64_t commits_ = 0, whole_ = 0;  ///< whole_: events up to the last commit
  std::uint64_t next_ = 0, end_ = 0;       ///< events: the next to scan, and all
  std::unordered_map<std::uint64_t, std::uint64_t> begun_;
  std::vector<std::uint64_t> marks_;  ///< the event at which every kStride-th commit begins
};

}  // namespace canopy::inspector
