#pragma once

#include <canopy/base/doubts.h>
#include <canopy/base/result.h>
#include <canopy/feed/header.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace canopy::inspector {

/// The bytes of a recording. They stay at their place as long as the object lives.
class RecordedBytes {
 public:
  virtual ~RecordedBytes() = default;
  virtual std::span<const std::byte> bytes() const = 0;
  /// Returns true if the end of the bytes was lost since the beginning; zeros are read there.
  virtual bool cut() const { return false; }
};

/// A recorded feed. It contains only whole commits: a partial one at the end is left out.
class Recording {
 public:
  /// Reads only the header: scan() must reach the end before other functions are called. The error says why this is not
  /// a recording; `name` names it there.
  static Result<std::unique_ptr<Recording>> begin(std::unique_ptr<RecordedBytes> bytes, const std::string& name);
  /// Maps a file into memory.
  static Result<std::unique_ptr<Recording>> begin(const std::string& path);
  /// Continues to find operations, through at most `events` events. Returns true when all are found.
  bool scan(std::uint64_t events);
  /// Returns the scanned part of the file, from 0 to 1.
  double scanned() const { return end_ == 0 ? 1 : static_cast<double>(next_) / static_cast<double>(end_); }
  /// Calls begin() with a file, and scan(). Also returns an error if the file has no whole operation.
  static Result<std::unique_ptr<Recording>> open(const std::string& path);
  static constexpr const char* kNothing = "the recording contains no whole operation";
  Recording(const Recording&) = delete;

  const FeedShape& header() const { return shape_; }
  std::uint64_t commits() const { return marks_.empty() ? 0 : commits_; }
  /// Returns the events of commits [first, end), numbered from 0.
  std::span<const Event> events(std::uint64_t first, std::uint64_t end) const;
  /// Returns the commit, numbered from 1, with which a request began; 0 if the recording does not contain it.
  std::uint64_t begun(std::uint64_t request) const {
    const auto found = std::lower_bound(begun_.begin(), begun_.end(), Begun{request, 0});
    return found == begun_.end() || found->first != request ? 0 : found->second;
  }
  /// Returns the reasons why the file is not what its writer wrote: it was cut or damaged, or its writer has not ended
  /// it. Empty for a whole recording, and for a whole one of an earlier version, which had no mark of its end.
  Doubts doubts() const;
  /// Returns them, and whether the bytes are others than those that were scanned. Reads all bytes again: for figures
  /// that were made of them.
  Doubts doubts_at_end() const;
  /// Returns true if the file was shortened since it was opened; there are no events after its new end.
  bool shrank() const { return memory_->cut(); }

 private:
  static constexpr std::uint64_t kStride = 1024;  ///< commits between two marks
  Recording() = default;
  std::uint64_t event_of(std::uint64_t commit) const;

  std::unique_ptr<RecordedBytes> memory_;
  FeedShape shape_;
  std::uint32_t mark_ = 0;                            ///< one of RecordingEnd
  std::uint64_t marked_events_ = 0, marked_sum_ = 0;  ///< events and their sum, by the mark
  bool partial_ = false;                              ///< the file ends within an event
  RecordingSum sum_{FeedShape{}};                     ///< sum of the scanned part
  const Event* events_ = nullptr;
  std::uint64_t commits_ = 0, whole_ = 0;                 ///< whole_: events up to the last commit
  std::uint64_t next_ = 0, end_ = 0;                      ///< event numbers: the next to scan, and the end
  using Begun = std::pair<std::uint64_t, std::uint64_t>;  ///< a request, and the commit with which it began
  std::vector<Begun> begun_;                              ///< sorted once all are found
  std::vector<std::uint64_t> marks_;                      ///< event at which every kStride-th commit begins
};

}  // namespace canopy::inspector
