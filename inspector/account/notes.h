#pragma once

#include <canopy/base/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::inspector {

/// A moment that the user marked, and what is to be said about it.
struct Note {
  std::uint64_t commit = 0;
  std::string text;  ///< one line; may be empty
  friend bool operator==(const Note&, const Note&) = default;
};

/// Notes by commit, at most one for each. As text they have a line each, below a first line that says what they are:
///
///   canopy notes 1
///   1024 here the hit rate falls
class Notes {
 public:
  static constexpr std::size_t kMost = 10'000, kMostBytes = 200;  ///< notes, and bytes of one
  static constexpr std::string_view kFirstLine = "canopy notes 1";

  /// Reads a text; an empty one has no notes. `last`: the highest commit that there is. The error names the place,
  /// `NAME:LINE:COLUMN`.
  static Result<Notes> parse(std::string_view text, const std::string& name, std::uint64_t last);
  std::string text() const;

  const std::vector<Note>& all() const { return all_; }  ///< by commit
  /// Returns the note of a commit, or null.
  const Note* at(std::uint64_t commit) const;
  /// Sets the note of a commit. Keeps only what can be shown in one line, and at most kMostBytes. Does nothing if there
  /// are kMost.
  void set(std::uint64_t commit, std::string_view text);
  void remove(std::uint64_t commit);
  friend bool operator==(const Notes&, const Notes&) = default;

 private:
  std::vector<Note> all_;
};

}  // namespace canopy::inspector
