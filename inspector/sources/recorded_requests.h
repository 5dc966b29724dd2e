#pragma once

#include <canopy/base/result.h>
#include <canopy/types.h>

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <mirror/mirror.h>
#include "recording.h"

namespace canopy::inspector {

/// A request from a recording.
struct RecordedRequest {
  std::uint64_t begun_us = 0;  ///< microseconds of the engine's clock
  std::string space;           ///< name of its namespace; empty: the shared one
  std::uint32_t output = 0;    ///< tokens of its answer
  /// The prompt's tokens. Whole pages are recorded. The rest after the last whole page was never kept, so it is filled
  /// with tokens that no other request has.
  std::vector<Token> prompt;
};

/// The requests of a recording that carries tokens, in order of their begin: those that began, were admitted and ended
/// in it, with prompts that the index received. The recording is read once, through a mirror; only running requests are
/// in memory.
class RecordedRequests {
 public:
  /// Opens a recording. The error says why the file is not a recording, or that it has no tokens and how to record
  /// them.
  static Result<std::unique_ptr<RecordedRequests>> open(const std::string& path);
  RecordedRequests(const RecordedRequests&) = delete;

  /// Reads the next request. Returns false at the end.
  bool next(RecordedRequest& request);
  double progress() const;  ///< 0..1
  /// Returns the doubts of the recording and of what was read of it so far.
  Doubts doubts() const;
  std::uint64_t left_out() const { return left_out_; }  ///< requests so far that are incomplete in the recording

 private:
  struct Waiting {
    std::uint64_t id = 0;
    bool ended = false, whole = false;
    bool tried = false;  ///< It ended before it was admitted.
    RecordedRequest request;
  };
  struct Watcher;

  explicit RecordedRequests(std::unique_ptr<Recording> recording)
      : recording_(std::move(recording)),
        mirror_(recording_->header()),
        events_(recording_->events(0, recording_->commits())) {}
  void take_commit();
  void end(Waiting& waiting);
  bool read_prompt(const MirrorRequest& request, std::vector<Token>& prompt);

  std::unique_ptr<Recording> recording_;
  Mirror mirror_;
  std::span<const Event> events_;                            ///< rest of the recording, from the next commit on
  std::deque<Waiting> waiting_;                              ///< in order of their begin
  std::unordered_map<std::uint64_t, std::uint64_t> number_;  ///< by id of a waiting request: how many began before
  std::uint64_t commit_ = 0, taken_ = 0, left_out_ = 0;      ///< taken_: number taken from the front of waiting_
  Token fresh_ = ~Token{0};                                  ///< next token that no other request has
};

}  // namespace canopy::inspector
