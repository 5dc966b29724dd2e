#include "mooncake_line.h"

#include "counting_iterator.h"
#include "hints.h"
#include "shown.h"
#include "text.h"

#include <canopy/config/nearest_name.h>
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

namespace canopy::workload {
namespace {

using nlohmann::json;

struct Field {
  const char* name;
  std::uint64_t max;
  const char* what;
};

enum : std::size_t { kTimestamp, kInput, kOutput, kIds, kNeeded, kHints = kNeeded, kFields, kUnknown = kFields };
constexpr std::array<Field, kFields> kField = {{{"timestamp", 1'000'000'000'000'000, "milliseconds"},
                                                {"input_length", kMaxPromptTokens, "tokens"},
                                                {"output_length", kMaxPromptTokens, "tokens"},
                                                {"hash_ids", 0, nullptr},
                                                {"hints", ~std::uint64_t{0}, "bits"}}};
constexpr int kMaxDepth = 8;
constexpr const char* kWanted =
    "expected an object like {\"timestamp\": 0, \"input_length\": 700, "
    "\"output_length\": 50, \"hash_ids\": [1, 2]}";

/// Takes the events of the JSON reader and keeps a depth and a field, so nesting needs no memory. Not a document: that
/// would lose a number's own spelling, repeated keys and columns, which the messages name.
class LineHandler final : public nlohmann::json_sax<json> {
 public:
  /// `read`: bytes of the line that the JSON reader has taken so far; null where columns are not wanted.
  LineHandler(MooncakeLine& out, std::uint64_t block, std::size_t line_size, const std::size_t* read)
      : out_(out), block_(block), line_size_(line_size), read_(read) {}

  std::optional<LineProblem> problem;

  bool null() override { return refuse("null"); }
  bool boolean(bool value) override { return refuse(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) override {
    return value < 0 ? refuse(std::to_string(value)) : number_unsigned(static_cast<std::uint64_t>(value));
  }
  bool number_float(double, const std::string& text) override { return refuse(shown(text)); }
  bool string(std::string& text) override {
    if (field_ != kHints || depth_ != 2) return refuse('"' + shown(text) + '"');
    const auto hint = hint_named(text);
    if (!hint) return say(fmt::format("'hints' has \"{}\"; {}", shown(text), known_hints(text)), key_at_[kHints]);
    out_.hints |= *hint;
    return true;
  }
  bool binary(json::binary_t&) override { return refuse("binary"); }

  bool number_unsigned(std::uint64_t value) override {
    if (skipping()) return true;
    if (!wants_number() || value > (field_ == kIds ? max_id() : kField[field_].max))
      return refuse(std::to_string(value));
    switch (field_) {
      case kTimestamp:
        out_.timestamp = value;
        break;
      case kInput:
        out_.input_length = static_cast<std::uint32_t>(value);
        break;
      case kOutput:
        out_.output_length = static_cast<std::uint32_t>(value);
        break;
      case kHints:
        out_.hints = value;
        break;
      default:
        // No prompt needs more ids than this, and a line has room for 33 million.
        if (ids_++ < kMaxPromptTokens / block_ + 1) out_.hash_ids.push_back(value);
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (depth_ > 0 && !skipping()) return refuse("an object");
    return descend();
  }
  bool start_array(std::size_t) override {
    const bool may_be_list = depth_ == 1 && (field_ == kIds || field_ == kHints);
    if (!may_be_list && !skipping()) return refuse("a list");
    return descend();
  }
  bool end_object() override { return --depth_ > 0 || complete(); }
  bool end_array() override { return --depth_, true; }

  bool key(std::string& name) override {
    if (depth_ > 1) return true;
    field_ = 0;
    while (field_ < kFields && name != kField[field_].name) ++field_;
    if (field_ == kUnknown) {
      if (unknown_.size() < kKeptNames) unknown_.push_back(shown(name));
      return true;
    }
    if (read_) key_at_[field_] = *read_ - name.size() - 1;
    if (seen_[field_]) return say(fmt::format("'{}' is there twice; expected it once", name), key_at_[field_]);
    return seen_[field_] = true;
  }

  bool parse_error(std::size_t position, const std::string& last, const json::exception& why) override {
    constexpr int kNumberOverflow = 406;
    if (why.id == kNumberOverflow && skipping())
      return say(fmt::format("{} is beyond any number", shown(last)), position);
    if (why.id == kNumberOverflow) return refuse(shown(last));
    if (position > line_size_) return say("ends in the middle of its JSON; was the file cut off?", line_size_ + 1);
    return say(fmt::format("not JSON, at '{}'; {}", shown(last), kWanted), position);
  }

 private:
  static constexpr std::size_t kKeptNames = 8;  ///< of unknown keys, to find a mistyped one among

  bool skipping() const { return depth_ > 0 && field_ == kUnknown; }
  bool wants_number() const { return depth_ == (field_ == kIds ? 2 : 1); }

  bool descend() {
    if (depth_ == kMaxDepth) return say(fmt::format("nested deeper than {} levels; {}", kMaxDepth, kWanted));
    ++depth_;
    return true;
  }

  bool say(std::string text, std::size_t column = 0) {
    problem = LineProblem{column, std::move(text)};
    return false;
  }

  /// `found` is not allowed here. Within an unknown key everything is allowed.
  bool refuse(const std::string& found) {
    if (skipping()) return true;
    if (depth_ == 0) return say(fmt::format("the line is {}; {}", found, kWanted));
    const Field& field = kField[field_];
    if (field_ == kHints)
      return say(
          fmt::format("'hints' {} {}; expected a whole number, or a list of names", depth_ == 1 ? "is" : "has", found),
          key_at_[kHints]);
    if (field_ != kIds) {
      return say(fmt::format("'{}' is {}; expected a whole number of {} from 0 to {}", field.name, found, field.what,
                             field.max),
                 key_at_[field_]);
    }
    return say(depth_ == 1 ? fmt::format("'hash_ids' is {}; expected a list of whole numbers", found)
                           : fmt::format("id {} of 'hash_ids' is {}; expected a whole number from 0 to {}", ids_ + 1,
                                         found, max_id()),
               key_at_[kIds]);
  }
  /// A block's tokens start at id * block, which must not wrap: two ids would be one text.
  std::uint64_t max_id() const { return ~std::uint64_t{0} / block_; }

  bool complete() {
    for (std::size_t i = 0; i < kNeeded; ++i) {
      if (seen_[i]) continue;
      const std::string near = nearest_name(kField[i].name, unknown_);
      return say(fmt::format("'{}' is missing{}", kField[i].name, near.empty() ? "" : "; is '" + near + "' meant?"));
    }
    const std::uint64_t blocks = (out_.input_length + block_ - 1) / block_;
    if (ids_ == blocks) return true;
    return say(
        fmt::format("'hash_ids' has {} id{}; 'input_length' {} needs {}, one per {} token{}{}", ids_,
                    ids_ == 1 ? "" : "s", out_.input_length, blocks, block_, block_ == 1 ? "" : "s", other_block()),
        key_at_[kIds]);
  }
  /// Names a usual block size in which the line would be right.
  std::string other_block() const {
    for (std::uint64_t other = 1; other <= 65536; other *= 2)
      if (ids_ > 0 && (out_.input_length + other - 1) / other == ids_)
        return fmt::format("; is it a trace for --block-size {}?", other);
    return {};
  }

  MooncakeLine& out_;
  std::uint64_t block_;
  std::size_t line_size_;
  const std::size_t* read_;
  std::array<std::size_t, kFields> key_at_{};  ///< columns; 0: not known
  int depth_ = 0;
  std::size_t field_ = kUnknown;
  std::array<bool, kFields> seen_{};
  std::uint64_t ids_ = 0;
  std::vector<std::string> unknown_;
};

}  // namespace

std::optional<LineProblem> read_mooncake_line(std::string_view line, std::uint64_t block, MooncakeLine& out) {
  // The JSON reader takes a NUL for the end of its input and would ignore the rest.
  if (const std::size_t nul = line.find('\0'); nul != line.npos)
    return LineProblem{nul + 1, "a NUL byte; expected text"};
  out.hash_ids.clear();
  out.hints = 0;
  const char *first = line.data(), *end = first + line.size();
  LineHandler handler(out, block, line.size(), nullptr);
  if (json::sax_parse(first, end, &handler)) return {};
  if (!handler.problem) return LineProblem{0, fmt::format("not JSON; {}", kWanted)};
  if (handler.problem->column != 0) return std::move(handler.problem);
  // Once more, with columns: counting costs time that good lines need not spend.
  out.hash_ids.clear();
  std::size_t read = 0;
  LineHandler counting(out, block, line.size(), &read);
  json::sax_parse(CountingIterator{first, &read}, CountingIterator{end, &read}, &counting);
  return std::move(counting.problem);
}

}  // namespace canopy::workload
