#include "notes.h"

#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <mirror/clean_text.h>

#include <algorithm>
#include <charconv>

namespace canopy::inspector {
namespace {

/// Returns the text up to a length, cut between two characters.
std::string_view cut_to(std::string_view text, std::size_t most) {
  std::size_t end = 0;
  for (std::size_t length = 0; end < text.size() && end + length <= most; end += length) {
    length = std::max<std::size_t>(1, utf8_length(text.substr(end)));
    if (end + length > most) break;
  }
  return text.substr(0, end);
}

auto place_of(auto& notes, std::uint64_t commit) {
  return std::lower_bound(notes.begin(), notes.end(), commit,
                          [](const Note& note, std::uint64_t at) { return note.commit < at; });
}

}  // namespace

const Note* Notes::at(std::uint64_t commit) const {
  const auto found = place_of(all_, commit);
  return found != all_.end() && found->commit == commit ? &*found : nullptr;
}

void Notes::set(std::uint64_t commit, std::string_view text) {
  auto found = place_of(all_, commit);
  if (found == all_.end() || found->commit != commit) {
    if (all_.size() == kMost) return;
    found = all_.insert(found, {commit, {}});
  }
  found->text = clean_text(cut_to(text, kMostBytes));
}

void Notes::remove(std::uint64_t commit) {
  std::erase_if(all_, [&](const Note& note) { return note.commit == commit; });
}

std::string Notes::text() const {
  std::string text(kFirstLine);
  text += '\n';
  for (const Note& note : all_) {
    text += std::to_string(note.commit);
    if (!note.text.empty()) text += ' ' + note.text;
    text += '\n';
  }
  return text;
}

Result<Notes> Notes::parse(std::string_view text, const std::string& name, std::uint64_t last) {
  Notes notes;
  if (text.empty()) return notes;
  std::size_t number = 0;
  const auto wrong = [&](std::size_t column, const std::string& what) {
    return Error{name + ':' + std::to_string(number) + ':' + std::to_string(column) + ": " + what};
  };
  while (!text.empty()) {
    ++number;
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (number == 1) {
      if (line == kFirstLine) continue;
      return wrong(1, "expected '" + std::string(kFirstLine) + "', found " + in_quotes(line));
    }
    if (line.empty()) continue;
    std::uint64_t commit = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), commit);
    const auto digits = static_cast<std::size_t>(end - line.data());
    if (error != std::errc() || (digits < line.size() && line[digits] != ' '))
      return wrong(1, "expected a commit, a space and a text, found " + in_quotes(line));
    if (commit == 0 || commit > last)
      return wrong(1, "expected a commit from 1 to " + grouped(last) + ", found " + std::to_string(commit));
    if (notes.at(commit)) return wrong(1, "commit " + std::to_string(commit) + " has a note already");
    const std::string_view words = line.substr(std::min(digits + 1, line.size()));
    if (words.size() > kMostBytes)
      return wrong(digits + 2 + kMostBytes, "a note has at most " + std::to_string(kMostBytes) +
                                                " bytes, this one has " + std::to_string(words.size()));
    if (notes.all_.size() == kMost) return wrong(1, "there are more than " + grouped(kMost) + " notes");
    notes.set(commit, words);
  }
  return notes;
}

}  // namespace canopy::inspector
