#pragma once

#include <canopy/base/file.h>
#include <canopy/base/result.h>
#include <canopy/types.h>

#include <cstdint>
#include <memory>
#include <string>

namespace canopy::verify {

/// The parts of a recording's name: POLICY_pageP_MODE_seedS.jsonl[.gz].
struct Setup {
  std::string policy;
  Units page = 1, overlap = 0;
};
Result<Setup> setup_of(const std::string& path);

/// The lines of a regular file that may be gzipped. Nothing is ignored: bytes after the gzip stream and a truncated
/// stream are errors.
class RecordingLines {
 public:
  static Result<std::unique_ptr<RecordingLines>> open(const std::string& path);
  ~RecordingLines();
  RecordingLines(const RecordingLines&) = delete;

  /// Reads the next line, without its end. Returns false after the last one. An error names the file.
  Result<bool> next(std::string& line);

 private:
  struct Inflater;
  explicit RecordingLines(std::string path);
  /// Reads more text. Returns false at the end of the file.
  Result<bool> fill();

  std::string path_;
  UniqueFd file_;
  std::unique_ptr<Inflater> inflater_;  ///< may be null (the file is plain text)
  std::string raw_, text_;
  std::size_t at_ = 0;  ///< position in text_
  bool begun_ = false;
};

}  // namespace canopy::verify
