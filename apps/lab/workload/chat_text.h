#pragma once

#include "words.h"

#include <canopy/types.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace canopy::workload {

/// Milliseconds between two requests of a file of texts without times.
inline constexpr std::uint64_t kInventedGapMs = 100;

/// The tokens of a conversation, and where each answer begins and ends.
struct Conversation {
  std::vector<Token> tokens;
  std::vector<std::pair<std::size_t, std::size_t>> answers;
  std::size_t next_answer = 0;
  std::size_t last_end = 0;  ///< Behind the last answer; what follows has no answer.
};

/// Makes tokens of the messages of conversations, in the shapes that clients send: an author (`from` or `role`), a text
/// (`value` or `content`), or a list of parts, or no text but calls of tools; or, as in the Responses API, an item with
/// a `type` and no author. Everything that a model would read is in the tokens: the author (the system, a user, a tool
/// or the model, and the message's `name`), calls and their ids, reasoning, names of tools. A part that is no text (an
/// image) stands as the print of what it is.
class ChatText {
 public:
  /// Appends the messages of a list. Returns an error message, or nothing.
  std::string take(const nlohmann::json& messages, Conversation& to);
  /// Appends a text or a JSON value as its text, behind a mark.
  void append(const nlohmann::json& value, std::vector<Token>& to);

  std::size_t known() const { return words_.known(); }
  /// Adds a note if there were parts that are no text.
  void add_media_note(std::vector<std::string>& notes) const;

 private:
  /// `item`: whether the message before is an item without an author; then, whether this one is.
  std::string take_message(const nlohmann::json& message, std::size_t number, bool& item, Conversation& to);
  /// Appends all texts of a message. Returns false if it has no place for one.
  bool append_texts(const nlohmann::json& message, std::vector<Token>& to);
  void append_content(const nlohmann::json& content, std::vector<Token>& to);
  void append_part(const nlohmann::json& part, std::vector<Token>& to);

  Words words_;
  std::uint64_t media_ = 0;  ///< parts that are no text
};

}  // namespace canopy::workload
