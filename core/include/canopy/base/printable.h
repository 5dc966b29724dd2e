#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace canopy {

// Foreign text (from a file, an argument, a plugin or a feed) must pass through one of these functions before it goes
// to a terminal or into a message. Otherwise it could move the cursor, set the title of the window, or display other
// text than it contains.

/// Returns the text on one line. Replaces control characters (C0, DEL and C1), characters that are invisible or change
/// the direction of writing, and bytes that are not UTF-8 by escapes such as \x1b or \u202e.
std::string printable(std::string_view text);
/// Returns the text as printable() does, but keeps line ends: for messages of several lines.
std::string printable_lines(std::string_view text);
/// Returns printable() text in single quotes, shortened after 48 bytes: for a value in a message.
std::string in_quotes(std::string_view text);

/// Returns the name of a namespace or tenant for people and labels: "(shared)" for the one without a name. What the
/// program itself calls something is in brackets, so a name that begins with a bracket or a quote is put in quotes:
/// different names never look the same. Filters nothing.
std::string shown_name(std::string_view name);

/// Returns printable() text as a field of a CSV file (RFC 4180), in double quotes if it needs them. A single quote
/// precedes a text that a spreadsheet would run as a formula.
std::string csv_field(std::string_view text);

/// Returns printable() text in double quotes, as JSON.
std::string json_text(std::string_view text);

/// Returns the length in bytes of the well-formed UTF-8 sequence at the start of a text; 0 if there is none. Surrogates
/// and overlong forms are not well-formed: they could hide a forbidden character from a check.
std::size_t utf8_length(std::string_view text);
/// Returns true if a terminal displays the character itself. REQUIRES: `character` is one well-formed sequence.
bool is_shown_as_itself(std::string_view character);

}  // namespace canopy
