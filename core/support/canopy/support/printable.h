#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace canopy {

// Text that is not our own (a file's, an argument's, a plugin's, a feed's) goes to a terminal or into a message through
// one of these. Otherwise it could move the cursor, set the window's title, or show other text than there is.

/// The text on one line. Control characters (C0, DEL and C1), characters that are not seen or turn the direction of
/// writing, and bytes that are not UTF-8 stand as \x1b or \u202e.
std::string printable(std::string_view text);
/// The same, but line ends stay: for a message of several lines.
std::string printable_lines(std::string_view text);
/// The same as printable() in single quotes, cut after 48 bytes: for a value in the middle of a sentence.
std::string in_quotes(std::string_view text);

/// Length in bytes of the well-formed UTF-8 sequence at the start of a text; 0 if there is none. Surrogates and
/// overlong forms are not well-formed: they would carry forbidden characters past a check.
std::size_t utf8_length(std::string_view text);
/// Whether a terminal shows the character as itself. REQUIRES: `character` is one well-formed sequence.
bool is_shown_as_itself(std::string_view character);

}  // namespace canopy
