#pragma once

#include <canopy/support/result.h>
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

/// A request as a recording tells it.
struct RecordedRequest {
  std::uint64_t begun_us = 0;  ///< of the engine's clock
  std::string space;           ///< name of its namespace; empty: the shared one
  std::uint32_t output = 0;    ///< tokens of its answer
  /// As many tokens as the prompt had. Those of whole pages are the prompt's own. What follows the last whole page was
  /// never kept, and no recording has it: tokens stand there that no other request has.
  std::vector<Token> prompt;
};

/// The requests of a recording that carries tokens, in the order in which they began: those that began and ended in it,
/// and whose prompts the index had got. The recording is read once, through a mirror; only what runs is in memory.
class RecordedRequests {
 public:
  /// The error says why the file is no recording, or that it has no tokens and how it gets them.
  static Result<std::unique_ptr<RecordedRequests>> open(const std::string& path);
  RecordedRequests(const RecordedRequests&) = delete;

  /// False at the end.
  bool next(RecordedRequest& request);
  double progress() const;                              ///< 0..1
  std::uint64_t left_out() const { return left_out_; }  ///< requests so far that are not whole in it

 private:
  struct Waiting {
    std::uint64_t id = 0;
    bool ended = false, whole = false;
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
  std::span<const Event> events_;                            ///< of the recording, from the next commit on
  std::deque<Waiting> waiting_;                              ///< in the order in which they began
  std::unordered_map<std::uint64_t, std::uint64_t> number_;  ///< of those in waiting_, by id: how many began before
  std::uint64_t commit_ = 0, taken_ = 0, left_out_ = 0;      ///< taken_: of waiting_, from its front
  Token fresh_ = ~Token{0};                                  ///< the next token that no other request has
};

}  // namespace canopy::inspector
