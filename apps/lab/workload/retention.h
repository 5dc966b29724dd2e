#pragma once

#include "json_line.h"
#include "text.h"

#include <canopy/retention.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

namespace canopy::workload {

// Retention in a line of a trace: "retention": [{"tokens": 1024, "seconds": 300, "priority": 50}]

inline constexpr std::uint64_t kMostRetentions = 1024;  ///< most items in a line
inline constexpr std::size_t kRetentionFields = 3;
/// The fields of an item, to be listed after the field "retention" of Kind::rows.
inline constexpr std::array<JsonField, kRetentionFields> kRetentionField = {
    {{"retention[].tokens", JsonField::Kind::whole, kMaxPromptTokens, "tokens", true},
     {"retention[].seconds", JsonField::Kind::number, 1'000'000'000, "seconds", true},
     {"retention[].priority", JsonField::Kind::integer, std::numeric_limits<std::int32_t>::max()}}};

/// Appends the items of the field "retention".
void read_retention(const JsonValue& rows, std::vector<Retention>& to);
/// Appends `, "retention": [...]`, or nothing if there is none.
void append_retention(std::string& line, const std::vector<Retention>& retention);

/// Counts requests that wish to keep more than their prompt. An engine cuts the wish to the prompt: no part of an
/// answer is kept.
class LongRetentions {
 public:
  void add(const std::vector<Retention>& retention, std::uint32_t prompt_tokens);
  /// Appends a note, if there are such requests.
  void add_note(std::vector<std::string>& notes) const;

 private:
  std::uint64_t requests_ = 0, tokens_ = 0;
};

}  // namespace canopy::workload
