#pragma once

#include <canopy/support/result.h>
#include <canopy/types.h>
#include <zlib.h>

#include <string>

namespace canopy::verify {

/// What a recording's name says about it: POLICY_pageP_MODE_seedS.jsonl[.gz].
struct Setup {
  std::string policy;
  Units page = 1, overlap = 0;
};
Result<Setup> setup_of(const std::string& path);

/// The lines of a file that may be gzipped.
class RecordingLines {
 public:
  explicit RecordingLines(const std::string& path);
  ~RecordingLines();
  RecordingLines(const RecordingLines&) = delete;
  bool opened() const { return file_ != nullptr; }
  bool next(std::string& line);
  /// What is wrong with the compression; empty if nothing is.
  std::string damage() const;

 private:
  gzFile file_;
};

}  // namespace canopy::verify
