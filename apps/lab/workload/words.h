#pragma once

#include <canopy/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace canopy::workload {

/// A tokenizer without a model: equal words are equal tokens, numbered in order of first use. A word is a run of up to
/// eight letters and digits with the space before it, a character of a script without spaces, or any other character.
/// Lengths are close to those of a model's tokenizer for English text, but not equal.
class Words {
 public:
  /// Appends the tokens of `text`.
  void append(std::string_view text, std::vector<Token>& tokens);
  std::size_t known() const { return numbers_.size(); }

 private:
  std::unordered_map<std::string, Token> numbers_;
};

}  // namespace canopy::workload
