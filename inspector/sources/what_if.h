#pragma once

#include <canopy/support/temporary_folder.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "child_process.h"
#include "comparison_file.h"

namespace canopy::inspector {

/// Runs `canopy compare` beside this program: which hit rates would an engine reach with other policies, at other
/// limits, with pages of another size? One child after another, one for each page size. Everything it writes lies in a
/// folder of its own, which is removed when the figures are there or the run ends.
class WhatIf {
 public:
  /// Lists apart by commas, as the options of `canopy compare` take them.
  struct Question {
    std::string trace;  ///< a trace, or a workload (.yaml, .yml)
    std::string policies, capacities, page_sizes;
  };
  enum class State : std::uint8_t { idle, running, done, failed };

  /// Path of `canopy`; empty: beside this program, or in $PATH.
  explicit WhatIf(std::string program = {}) : program_(std::move(program)) {}
  ~WhatIf() { end_run(); }
  WhatIf(const WhatIf&) = delete;

  /// Starts over. `engine`: the text of an engine's file, which the children read. Where that cannot be done the state
  /// is failed, and sentence() says why.
  void start(const Question& question, const std::string& engine);
  /// Ends the child; the state is idle then. Without one nothing happens.
  void cancel();
  /// Takes what the child has written, and starts the next. Call it now and then; it never waits.
  void look();

  State state() const { return state_; }
  /// How much is done, 0..1, as far as the children tell.
  double share() const;
  /// Running: what the child said last of its progress. Failed: why.
  const std::string& sentence() const { return sentence_; }
  /// Done: the figures, in the order of the page sizes, the policies and the limits.
  const std::vector<ComparedRow>& rows() const { return rows_; }
  /// Done: the trace that was read last, its requests and its prompt tokens.
  const ComparisonFile& trace() const { return trace_; }
  const Question& question() const { return question_; }
  /// Another number when there is another state or progress to show.
  std::uint64_t changes() const { return changes_; }

 private:
  void start_next();
  void finish_child(int exit_code);
  void hear(const std::string& line);
  void fail(std::string why);
  void end_run();

  std::string program_, found_;
  Question question_;
  std::vector<std::string> pages_;         ///< page sizes, as they were written
  std::size_t at_ = 0;                     ///< the one that runs
  std::optional<TemporaryFolder> folder_;  ///< of a run
  std::unique_ptr<ChildProcess> child_;
  State state_ = State::idle;
  double part_ = 0;  ///< of this child
  std::string sentence_, last_line_;
  std::vector<ComparedRow> rows_;
  ComparisonFile trace_;
  std::uint64_t changes_ = 0;
};

}  // namespace canopy::inspector
