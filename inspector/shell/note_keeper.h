#pragma once

#include <account/notes.h>
#include <canopy/base/result.h>

#include <functional>
#include <string>
#include <variant>

namespace canopy::inspector {

struct Timeline;

/// A place for the notes of recordings.
struct NoteStore {
  /// Returns the text that is kept for a recording; empty: none.
  std::function<Result<std::string>(const std::string& recording)> load;
  std::function<Result<std::monostate>(const std::string& recording, const std::string& text)> save;
  /// Returns the place in words, for messages.
  std::function<std::string(const std::string& recording)> place;
};

/// Reads the notes of a recording when it has been opened, and keeps each change. Stored notes that cannot be read are
/// not replaced; the next change tries again.
class NoteKeeper {
 public:
  void offer(NoteStore store) { store_ = std::move(store); }
  /// Call it when another source is shown.
  void forget() { loaded_ = false, kept_ = tried_ = {}; }
  /// `recording`: name of the recording that is shown; empty: there is none, and nothing is kept. Returns true if there
  /// is a new reason why notes are not kept.
  bool update(const std::string& recording, Timeline& time);

 private:
  NoteStore store_;
  bool loaded_ = false;
  Notes kept_;   ///< as they were last read or written
  Notes tried_;  ///< as they were at the last attempt
};

}  // namespace canopy::inspector
